"""The record of programs: each step of an attempt as it happens, and all of a run once it succeeded."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from quire.agent.calls import uncertain
from quire.items import Item, Message, Note, ToolCall, ToolResult
from quire.session import Session
from quire.stores.store import checked_name
from quire.stores.threads import STORE

ATTEMPT = "attempt"
INTERMEDIATE = "intermediate"

STOPPED = "the program was stopped"
"""Why nobody knows whether a call was done that has no result."""

PROGRAM = "quire.program"
"""Whose calls those of a program are: by the `agent_id` they are told from what a model said before them."""

_within: ContextVar[list[Item] | None] = ContextVar("quire_done_within_a_call", default=None)


@contextmanager
def doing_within() -> Generator[list[Item], None, None]:
    """What a tool does itself, and leaves to be recorded by the program that calls it meanwhile."""
    done: list[Item] = []
    token = _within.set(done)
    try:
        yield done
    finally:
        _within.reset(token)


def done_within(items: Iterable[Item]) -> None:
    """Leave what a tool did itself to the program that calls it, if one does."""
    done = _within.get()
    if done is not None:
        done += items


async def begin(session: Session, label: str, *items: Item) -> tuple[str, tuple[Item, ...]]:
    """Begin a transcript of a label with some items: its name, and the items as they are kept."""
    name = await STORE.do(session.new, label)
    return name, await session.aio.append(*items, to=name)


class Deeds:
    """What a program did in one run: each call with what it gave, each question with its answer, in order."""

    def __init__(self) -> None:
        self._deeds: list[list[Item]] = []

    def begin(self, *items: Item) -> list[Item]:
        """Begin with a call or a question; what comes of it is added to the list that is given."""
        deed = [*items]
        self._deeds.append(deed)
        return deed

    def called(self) -> list[tuple[ToolCall, ToolResult, tuple[Note, ...]]]:
        """Each call of a tool, its result, and the notes beside it. One that has no result is uncertain."""
        return [_called(deed[0], deed[1:]) for deed in self._deeds if deed and isinstance(deed[0], ToolCall)]

    def __iter__(self) -> Iterator[Item]:
        """All that came to an end. A question that nobody answered is no part of a conversation."""
        for deed in self._deeds:
            if any(isinstance(item, ToolResult) or _is_answer(item) for item in deed):
                yield from (item for item in deed if isinstance(item, Message | ToolCall | ToolResult | Note))


async def record_run(
    session: Session,
    main: str | Callable[[], str],
    deeds: Iterable[Item],
    given: Message | None = None,
    answer: str | None = None,
) -> None:
    """Record a run that succeeded in the main transcript, all of it or nothing.

    What ran side by side stands next to what it gave, and nothing has to be changed for that: a transcript
    shows a call together with its result, and an answer has the time of its question.
    """
    said = [] if answer is None else [Message("assistant", answer)]
    items: list[Item] = [*([] if given is None else [given]), *deeds, *said]
    if items:
        await session.aio.append(*items, to=main if isinstance(main, str) else checked_name(main()))


def _called(call: ToolCall, came: Sequence[Item]) -> tuple[ToolCall, ToolResult, tuple[Note, ...]]:
    found = (item for item in came if isinstance(item, ToolResult) and item.call_id == call.call_id)
    result = next(found, None) or uncertain(call, STOPPED)
    return call, result, tuple(item for item in came if isinstance(item, Note))


def _is_answer(item: Item) -> bool:
    return isinstance(item, Message) and item.role == "assistant"
