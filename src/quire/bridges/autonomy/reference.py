"""Autonomy's reference to an agent: what is sent to it, and what comes back."""

import asyncio
import json
from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, TypedDict

from quire.agent import Decisions, Delta, Done, Ended, Recorded, Reply, Words
from quire.agent.reply import Stop
from quire.bridges.autonomy.hosting import Hosted
from quire.bridges.autonomy.memory import Memory
from quire.bridges.autonomy.messages import content_in, messages_of, text_content
from quire.items import Message, ToolCall
from quire.node import Node, State
from quire.node.worker import Worker

Sent = str | Mapping[str, Any] | Sequence[Any]
"""A text, a content, a message of the user, or several of these."""


_LIMIT = "limit_reached"
_UNDONE: dict[Stop, tuple[str, str]] = {
    "requests": (_LIMIT, "This ended before it was done: max_iterations was reached."),
    "seconds": (_LIMIT, "This ended before it was done: max_execution_time was reached."),
    "calls": (_LIMIT, "This ended before it was done: as many calls were made as there may be."),
    "cost": (_LIMIT, "This ended before it was done: it cost as much as it may."),
    "length": ("cut_off", "This ended before it was done: the model had no room for more."),
    "refused": ("refused", "The model refused to say more."),
    "interrupted": ("interrupted", "This was interrupted before it was done."),
}
"""The phase and the words of a last message, by why a reply ends where it is not done."""


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

        Where the agent asks the user something, that is the last, and the next message is the answer to it;
        what is to be approved of is decided by `decide`. Where it ended before it was done, the last says
        why. After `timeout` seconds it is a `TimeoutError`; what was said until then is kept.
        """
        worker = self._worker(scope, conversation)
        return await _answered(worker, worker.send(_input(message)), timeout)

    async def decide(
        self, decisions: Decisions, scope: str = "", conversation: str = "", timeout: float | None = None
    ) -> list[dict[str, Any]]:
        """Say of calls that wait for an approval whether they may be run, by their ids; what comes of it.

        `False` refuses, and a text refuses with the reason.
        """
        worker = self._worker(scope, conversation)
        return await _answered(worker, worker.decide(decisions), timeout)

    async def send_message(
        self,
        message: Mapping[str, Any],
        scope: str = "",
        conversation: str = "",
        timeout: float | None = None,
    ) -> list[dict[str, Any]]:
        """What `send` does, for one message of the user."""
        return await self.send(message, scope, conversation, timeout)

    def send_stream(
        self, message: Sent, scope: str = "", conversation: str = "", timeout: float | None = None
    ) -> AsyncGenerator[dict[str, Any], None]:
        """What `send` gives, as it comes: words in pieces, each marked as `partial`; all else whole.

        The time of who listens does not count for the `timeout`.
        """
        worker = self._worker(scope, conversation)
        return _told(worker, worker.send_stream(_input(message)), timeout)

    def decide_stream(
        self, decisions: Decisions, scope: str = "", conversation: str = "", timeout: float | None = None
    ) -> AsyncGenerator[dict[str, Any], None]:
        """What `decide` gives, as it comes."""
        worker = self._worker(scope, conversation)
        return _told(worker, worker.decide_stream(decisions), timeout)

    async def get_conversation_state(self, scope: str = "", conversation: str = "") -> ConversationState:
        """What a conversation does."""
        worker = self._worker(scope, conversation)
        return {
            "state": worker.state,
            "is_paused": worker.state == "waiting",
            "message_count": await self.memory.get_message_count(scope, conversation),
            "waiting_for": [_text(one) for one in _questions(worker, worker.waiting)],
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


async def _answered(
    worker: Worker, answer: Coroutine[Any, Any, Reply], timeout: float | None
) -> list[dict[str, Any]]:
    async with asyncio.timeout(timeout):
        reply = await answer
    return [*messages_of(reply.items), *_last_words(worker, reply)]


async def _told(
    worker: Worker, deltas: AsyncGenerator[Delta, None], timeout: float | None
) -> AsyncGenerator[dict[str, Any], None]:
    """What is told, as messages. The time is stopped while who listens is at work."""
    clock, left = asyncio.get_running_loop().time, timeout
    async with aclosing(deltas):
        while True:
            began = clock()
            async with asyncio.timeout(left):
                delta = await anext(deltas, None)
            left = None if left is None else left - (clock() - began)
            if delta is None:
                return
            for one in _messages(worker, delta):
                yield one


def _messages(worker: Worker, delta: Delta) -> Iterable[dict[str, Any]]:
    match delta:
        case Words(text):
            yield {"role": "assistant", "content": text_content(text), "partial": True}
        case Recorded(items):
            yield from messages_of(item for item in items if isinstance(item, ToolCall))
        case Ended(result):
            yield from messages_of([result])
        case Done(reply):
            yield from _last_words(worker, reply)
        case _:
            return


def _last_words(worker: Worker, reply: Reply) -> Iterable[dict[str, Any]]:
    """What is told after an answer and is not kept: what a person is asked, or why it is not done."""
    yield from _questions(worker, reply.waiting)
    if reply.stop in _UNDONE:
        phase, words = _UNDONE[reply.stop]
        yield {"role": "assistant", "content": text_content(words), "phase": phase}


def _questions(worker: Worker, waiting: Iterable[ToolCall]) -> Iterable[dict[str, Any]]:
    """What a person is asked: questions, which a message answers, and approvals, which `decide` gives."""
    asking = {tool.name for tool in worker.agent.tools if tool.asks_person}
    for call in waiting:
        asks = call.name in asking
        yield {
            "role": "assistant",
            "content": text_content(_question(call) if asks else _approval(call)),
            "phase": "waiting_for_input" if asks else "waiting_for_approval",
            "tool_call_id": call.call_id,
            "id": call.id,  # of its own, also where several calls of a reply have the same one
        }


def _question(call: ToolCall) -> str:
    try:
        asked: Any = json.loads(call.arguments).get("question")
    except (ValueError, AttributeError):
        asked = None
    return asked if isinstance(asked, str) else call.arguments


def _approval(call: ToolCall) -> str:
    return f"{call.name} is to be approved of before it is run with {call.arguments}."


def _text(message: Mapping[str, Any]) -> str:
    return str(message["content"]["text"])
