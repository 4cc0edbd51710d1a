"""The agent: who answers in a conversation, with its model, its tools and what it sees."""

from collections.abc import Mapping
from typing import Any, Unpack

from quire.agent.answerer import Answerer
from quire.agent.asking import Asking, Input
from quire.agent.reply import Reply
from quire.context import Context
from quire.session import wait_for


class Agent(Answerer):
    """Answers in one conversation. It keeps what is said in its session, and chooses what the model sees.

    The first argument is a session, or the instructions of an agent whose conversation is kept in memory
    alone. Without a template it sees its instructions and all that was said, within the model's window.
    """

    def ask_sync(self, input: Input, **asking: Unpack[Asking]) -> Reply:
        """`ask` where nothing can be awaited, such as in scripts and notebooks."""
        return wait_for(self.ask(input, **asking))

    def preview_sync(self, *, parameters: Mapping[str, Any] | None = None) -> Context:
        """`preview` where nothing can be awaited."""
        return wait_for(self.preview(parameters=parameters))
