"""The agent: who answers in a conversation, with its model, its tools and what it sees."""

from collections.abc import Mapping
from copy import copy
from functools import cached_property
from typing import Any, Unpack

from quire.agent.answerer import Answerer
from quire.agent.asking import Asking, Input
from quire.agent.reply import Reply
from quire.agent.turns import Running, Turn, Turns
from quire.context import Context
from quire.session import wait_for


class Agent(Answerer):
    """Answers in one conversation. It keeps what is said in its session, and chooses what the model sees.

    The first argument is a session, or the instructions of an agent whose conversation is kept in memory
    alone. Without a template it sees its instructions and all that was said, within the model's window.
    """

    @cached_property
    def turns(self) -> Turns:
        """Calls of its tools that code decides on and no model: put, run, paused, branched and saved."""
        return Turns(self.tools, self.session)

    async def put(self, turn: Turn) -> None:
        """Put a turn behind those that wait."""
        await self.turns.put(turn)

    def run(self) -> Running[Turn]:
        """Run the turns that wait, until none is left; each with what it gives, as it comes."""
        return self.turns.run()

    def branch(self, name: str | None = None) -> "Agent":
        """The same agent in a fork of its conversation, with copies of the turns that wait.

        Both go their own ways. Without a name the fork has one of its own.
        """
        branch, turns = copy(self), self.turns.branch(name)
        session = turns.kept_in.session
        assert session is not None
        branch.turns = turns
        branch._begin_in(session)
        return branch

    def ask_sync(self, input: Input, **asking: Unpack[Asking]) -> Reply:
        """`ask` where nothing can be awaited, such as in scripts and notebooks."""
        return wait_for(self.ask(input, **asking))

    def preview_sync(self, *, parameters: Mapping[str, Any] | None = None) -> Context:
        """`preview` where nothing can be awaited."""
        return wait_for(self.preview(parameters=parameters))
