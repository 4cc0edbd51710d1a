"""What is sent to the conversations of a node, by their addresses, and what is known of them."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from typing import Unpack

from quire.agent import Asking, Decisions, Delta, Input, Reply
from quire.items import ToolCall
from quire.node.worker import State, Worker


class Sending(ABC):
    """The verbs for whoever finds the worker of a conversation."""

    @abstractmethod
    def worker(self, name: str, scope: str = "", conversation: str = "") -> Worker:
        """The worker of a conversation of an agent."""

    async def send(
        self, name: str, input: Input, *, scope: str = "", conversation: str = "", **asking: Unpack[Asking]
    ) -> Reply:
        """The answer of an agent to a message in a conversation, after those that were sent before it."""
        return await self.worker(name, scope, conversation).send(input, **asking)

    def send_stream(
        self, name: str, input: Input, *, scope: str = "", conversation: str = "", **asking: Unpack[Asking]
    ) -> AsyncGenerator[Delta, None]:
        """What `send` does, told as it comes."""
        return self.worker(name, scope, conversation).send_stream(input, **asking)

    async def decide(
        self,
        name: str,
        decisions: Decisions,
        *,
        scope: str = "",
        conversation: str = "",
        **asking: Unpack[Asking],
    ) -> Reply:
        """Say of calls that wait in a conversation whether they may be run, by their ids; then it goes on.

        With no decisions it goes on where a turn was left, such as by a crash.
        """
        return await self.worker(name, scope, conversation).decide(decisions, **asking)

    def decide_stream(
        self,
        name: str,
        decisions: Decisions,
        *,
        scope: str = "",
        conversation: str = "",
        **asking: Unpack[Asking],
    ) -> AsyncGenerator[Delta, None]:
        """What `decide` does, told as it comes."""
        return self.worker(name, scope, conversation).decide_stream(decisions, **asking)

    def waiting(self, name: str, *, scope: str = "", conversation: str = "") -> tuple[ToolCall, ...]:
        """The calls of a conversation that a person is to answer or to approve of."""
        return self.worker(name, scope, conversation).waiting

    def members(self, name: str, *, scope: str = "", conversation: str = "") -> tuple[str, ...]:
        """The conversations of those that work for one, as addresses on the node: each is sent to as any."""
        return self.worker(name, scope, conversation).members

    def state(self, name: str, *, scope: str = "", conversation: str = "") -> State:
        """What a conversation does."""
        return self.worker(name, scope, conversation).state
