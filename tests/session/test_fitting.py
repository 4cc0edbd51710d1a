"""What came of calls and does not fit on the record: it is refused alone, and never held."""

import asyncio

import pytest

from quire import Item, Note, Session, ToolCall, ToolResult
from quire.errors import CodecError, DuplicateId, QuireError
from quire.items import Message
from quire.session.offering import Unkept
from quire.stores import MemoryStore
from tests.session.test_steps import asked, result_of

THERE = Note("on the record")


def words(result: ToolResult, fault: Exception) -> ToolResult:
    assert isinstance(fault, Unkept)
    return ToolResult(result.call_id, result.name, f"not kept: {fault}")


def begun() -> tuple[Session, list[ToolCall]]:
    one, calls = asked(MemoryStore(), "a", "b", "c")
    one.append(THERE)
    asyncio.run(one.begin(*calls))
    return one, calls


UNFIT = [(THERE, DuplicateId), (Note(object()), CodecError)]


@pytest.mark.parametrize(("note", "error"), UNFIT)
def test_nothing_is_held_that_could_not_be_recorded(note: Note, error: type[QuireError]) -> None:
    async def steps() -> None:
        one, (_, second, _) = started
        with pytest.raises(error):
            await one.hold(result_of(second), note, of=second)
        assert one.held(second) == ()
        [kept] = await one.hold(result_of(second), note, of=second, instead=words)
        assert one.held(second) == (kept,) and "not kept: " in str(kept)

    started = begun()
    asyncio.run(steps())


@pytest.mark.parametrize(("note", "error"), UNFIT)
def test_what_does_not_fit_is_replaced_alone(note: Note, error: type[QuireError]) -> None:
    async def steps() -> None:
        one, calls = started
        first, second, third = calls
        items: list[Item] = [result_of(first), Note("beside"), result_of(second), note, result_of(third)]
        version = one.version
        with pytest.raises(error):
            await one.answer(calls, *items)
        assert one.version == version
        kept = await one.answer(calls, *items, instead=words)
        texts = [item.text for item in kept if isinstance(item, ToolResult)]
        assert (texts[0], texts[2]) == ("done", "done") and texts[1].startswith("not kept: ")
        assert len(kept) == 4 and one.standing() == []

    started = begun()
    asyncio.run(steps())


def test_what_somebody_says_is_never_replaced() -> None:
    async def steps() -> None:
        one, calls = started
        said = Message("user", "hello", id=THERE.id)
        with pytest.raises(DuplicateId):
            await one.answer(calls, *map(result_of, calls), said, instead=words)
        assert len(one.standing()) == 3

    started = begun()
    asyncio.run(steps())
