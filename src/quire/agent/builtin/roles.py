"""Kinds of agents that work can be given to: what each sees of the conversation, and what comes back."""

from collections.abc import Callable
from typing import Literal

import msgspec

from quire.agent.agent import Agent
from quire.errors import InvalidValue, WrongType
from quire.session import Session
from quire.tokens import named, whole

Make = Callable[[Session], Agent]
"""Makes an agent for a conversation."""

Returns = Literal["answer", "summary", "all"]
"""What comes back: the final answer, a summary of what was done, or all that was said."""


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of agent that work can be given to.

    It `sees` nothing but its brief, all of the conversation, or its last so many turns. Whatever it does is
    said in a conversation of its own, and nothing of it in that of who gave the work.
    """

    name: str
    description: str
    make: Make
    sees: Literal["brief", "all"] | int = "brief"
    returns: Returns = "answer"

    def __post_init__(self) -> None:
        named(self.name, "the name of a role")
        if not callable(self.make):  # pyright: ignore[reportUnnecessaryComparison]
            raise WrongType(f"a role is made by a function, not {type(self.make).__name__}")
        if self.sees not in ("brief", "all"):
            whole(self.sees, "the turns that a role sees", least=1)
        if self.returns not in ("answer", "summary", "all"):
            raise InvalidValue("what comes back of a role is its answer, a summary or all")
