"""Autonomy's reference to an agent: what is sent to it, and what comes back."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from quire.agent import Done, Ended, Recorded, Words
from quire.bridges.autonomy.hosting import Hosted
from quire.bridges.autonomy.memory import Memory
from quire.bridges.autonomy.messages import content_in, messages_of, text_content
from quire.items import Message, ToolCall
from quire.node import Node, State
from quire.node.worker import Worker

Sent = str | Mapping[str, Any] | Sequence[Any]
"""A text, a content, a message of the user, or several of these."""


class ConversationState(TypedDict):
    """What a conversation does; `waiting_for` are the questions that a person is to answer."""

    state: State
    is_paused: bool
    message_count: int
    waiting_for: list[str]


class AgentReference:
    """An agent on a node. Its conversations are apart, by scope and name; each is answered in order."""

    def __init__(self, node: Node, hosted: Hosted) -> None:
        self._node = node
        self._hosted = hosted

    def __repr__(self) -> str:
        return f"<AgentReference {self.name!r}>"

    @property
    def name(self) -> str:
        """The agent's name."""
        return self._hosted.name

    @property
    def memory(self) -> Memory:
        """All that was said in its conversations."""
        return self._hosted.memory

    async def send(
        self, message: Sent, scope: str = "", conversation: str = "", timeout: float | None = None
    ) -> list[dict[str, Any]]:
        """The messages that answer one: replies, calls of tools and their results, the last reply last.

        Where the agent asks the user something, that is the last, and the next message is the answer to it.
        After `timeout` seconds it is a `TimeoutError`; what was said until then is kept.
        """
        async with asyncio.timeout(timeout):
            reply = await self._worker(scope, conversation).send(_input(message))
        return [*messages_of(reply.items), *_questions(reply.waiting)]

    async def send_message(
        self,
        message: Mapping[str, Any],
        scope: str = "",
        conversation: str = "",
        timeout: float | None = None,
    ) -> list[dict[str, Any]]:
        """What `send` does, for one message of the user."""
        return await self.send(message, scope, conversation, timeout)

    async def send_stream(
        self, message: Sent, scope: str = "", conversation: str = "", timeout: float | None = None
    ) -> AsyncGenerator[dict[str, Any], None]:
        """What `send` gives, as it comes: words in pieces, each marked as `partial`; all else whole."""
        async with asyncio.timeout(timeout):
            deltas = self._worker(scope, conversation).send_stream(_input(message))
            try:
                async for delta in deltas:
                    for one in _told(delta):
                        yield one
            finally:
                await deltas.aclose()

    async def get_conversation_state(self, scope: str = "", conversation: str = "") -> ConversationState:
        """What a conversation does."""
        worker = self._worker(scope, conversation)
        waiting = [call for call, standing in worker.agent.session.standing() if standing != "begun"]
        return {
            "state": worker.state,
            "is_paused": worker.state == "waiting",
            "message_count": await self.memory.get_message_count(scope, conversation),
            "waiting_for": [_text(one) for one in _questions(waiting)] if worker.state == "waiting" else [],
        }

    async def is_paused(self, scope: str = "", conversation: str = "") -> bool:
        """Whether a conversation waits for a person."""
        return self._worker(scope, conversation).state == "waiting"

    def _worker(self, scope: str, conversation: str) -> Worker:
        worker = self._node.worker(self.name, scope, conversation)
        self._hosted.refresh(worker.agent)
        return worker


def _input(message: Sent) -> Message:
    return Message("user", content_in(message))


def _told(delta: object) -> Iterable[dict[str, Any]]:
    match delta:
        case Words(text):
            yield {"role": "assistant", "content": text_content(text), "partial": True}
        case Recorded(items):
            yield from messages_of(item for item in items if isinstance(item, ToolCall))
        case Ended(result):
            yield from messages_of([result])
        case Done(reply):
            yield from _questions(reply.waiting)
        case _:
            return


def _questions(waiting: Iterable[ToolCall]) -> Iterable[dict[str, Any]]:
    for call in waiting:
        yield {
            "role": "assistant",
            "content": text_content(_question(call)),
            "phase": "waiting_for_input",
            "tool_call_id": call.call_id,
        }


def _question(call: ToolCall) -> str:
    """The question that a call asks; of one that is to be approved, the call."""
    try:
        asked: Any = json.loads(call.arguments).get("question")
    except (ValueError, AttributeError):
        asked = None
    return asked if isinstance(asked, str) else f"May {call.name} be run with {call.arguments}?"


def _text(message: Mapping[str, Any]) -> str:
    return str(message["content"]["text"])
