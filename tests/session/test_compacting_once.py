"""A compactor may be given for one time: the session's own, where it has one, goes on afterwards."""

import asyncio

import pytest

from quire import Message, Session
from quire.compactors import Offload, Room, Summarize
from quire.errors import InvalidValue, WrongType
from quire.items import ToolResult
from quire.session import Compacting, hook
from quire.stores import MemoryStore
from quire.tokens import counter_for

MOVING = Offload(larger_than=20, keep=0, ceiling=0)


def looked_up(one: Session) -> ToolResult:
    one.user("look")
    return one.tool("a row; " * 100, call_id=one.call("read").call_id)


def test_it_makes_a_session_smaller_that_has_no_compactor() -> None:
    one = Session.open(store=MemoryStore())
    looked_up(one)
    outcome = asyncio.run(one.compact(by=MOVING))
    assert outcome and len(one.pool) == 1 and one.compaction is None
    assert "a row; " * 100 not in str([item for item in one.view() if isinstance(item, ToolResult)])


def test_a_room_may_come_with_it() -> None:
    one = Session.open(store=MemoryStore())
    for _ in range(3):
        looked_up(one)
    counter = counter_for("gpt-5.6")
    left = one.view().tokens(counter) - 50
    assert asyncio.run(one.compact(by=Offload(larger_than=20, keep=0), room=Room(left, counter)))
    assert 1 <= len(one.pool) <= 3


def test_the_compactor_of_the_session_stays_what_it_is() -> None:
    own = Summarize(floor=4, ceiling=8)
    one = Session.open(store=MemoryStore(), compactor=own)
    looked_up(one)
    assert asyncio.run(one.compact(by=MOVING)) and one.compaction is not None
    assert one.compaction.compactor is own


def test_hooks_hear_of_it_and_may_refuse() -> None:
    @hook(Compacting)
    async def refusing_for_once(_: Compacting) -> None:
        raise InvalidValue("not now")

    one = Session.open(store=MemoryStore(), hooks=[refusing_for_once])
    looked_up(one)
    outcome = asyncio.run(one.compact(by=MOVING))
    assert not outcome and outcome is not None and "refused" in outcome.reason and len(one.pool) == 0


def test_what_is_no_compactor_is_an_error_and_none_at_all_too() -> None:
    one = Session.open(store=MemoryStore())
    one.append(Message("user", "hello"))
    with pytest.raises(WrongType):
        asyncio.run(one.compact(by="smaller"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidValue, match="given one by use"):
        asyncio.run(one.compact())
