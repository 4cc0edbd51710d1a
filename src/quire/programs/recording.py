"""The record of programs: each step of an attempt as it happens, and all of a run once it succeeded."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from quire.errors import Conflict
from quire.items import Item, Message, Note, ToolCall, ToolResult
from quire.session import Session
from quire.stores.streams import free_name

ATTEMPT = "attempt"
INTERMEDIATE = "intermediate"


async def begin(session: Session, label: str, *items: Item) -> tuple[str, tuple[Item, ...]]:
    """Begin a transcript of a label with some items: its name, and the items as they are kept.

    Nobody else has the name: it is chosen for the version that is written to.
    """
    while True:
        version, name = session.version, free_name(label, frozenset(session.transcripts))
        try:
            return name, await session.add(*items, to=name, expected=version)
        except Conflict:
            continue  # what others wrote is known by now


class Deeds:
    """What a program did in one run: each call with what it gave, each question with its answer, in order."""

    def __init__(self) -> None:
        self._deeds: list[list[Item]] = []

    def begin(self, *items: Item) -> list[Item]:
        """Begin with a call or a question; what comes of it is added to the list that is given."""
        deed = [*items]
        self._deeds.append(deed)
        return deed

    def __iter__(self) -> Iterator[Item]:
        """All that came to an end. A question that nobody answered is no part of a conversation."""
        for deed in self._deeds:
            if any(isinstance(item, ToolResult) or _is_answer(item) for item in deed):
                yield from (item for item in deed if isinstance(item, Message | ToolCall | ToolResult | Note))


async def record_run(session: Session, main: str, given: Message, deeds: Iterable[Item], answer: str) -> None:
    """Record a run that succeeded in the main transcript, all of it or nothing."""
    items: list[Item] = [given, *deeds, Message("assistant", answer)]
    await session.say(*_in_order(items), to=main)


def _in_order(items: Iterable[Item]) -> Iterator[Item]:
    """Items that are shown in this order: calls that ran side by side stand next to what they gave."""
    latest = float("-inf")
    for item in items:
        latest = max(latest, item.created_at)
        yield item if item.created_at == latest else replace(item, created_at=latest)


def _is_answer(item: Item) -> bool:
    return isinstance(item, Message) and item.role == "assistant"
