"""What can be asked of an agent, and what can be said with it."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, cast

from quire.agent.limits import Limits
from quire.errors import InvalidValue
from quire.items import Content, Message, Part

Input = str | Message | Part | Sequence[Part]
"""What can be asked: a text, parts of content, or a message of the user."""


class Asking(TypedDict, total=False):
    """What can be said with a question.

    With `output`, a type, the answer is a value of it. `limits` are instead of the agent's own, and
    `parameters` are for the sections of the template.
    """

    output: Any
    limits: Limits | None
    parameters: Mapping[str, Any] | None


def message_of(input: Input) -> Message:
    """A question as a message of the user."""
    if isinstance(input, Message):
        if input.role != "user":
            raise InvalidValue(f"an agent is asked by the user, not by the {input.role}")
        message = input
    else:
        message = Message("user", cast(Content, tuple(input) if isinstance(input, list) else input))
    if not message.parts or message.content == "":
        raise InvalidValue("nothing is asked: the question has no words and no parts")
    return message
