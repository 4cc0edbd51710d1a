"""What turns give is kept before it is handed on, in a session or on a shelf; tools read copies."""

import asyncio
import json
from collections import deque
from typing import Any

import pytest

from quire.agent import tool
from quire.agent.turns import Shelf, Turn, Turns
from quire.errors import Damaged, InvalidValue
from quire.items import Note
from quire.session import Adding, Called, Calling, Hook, Session
from quire.state import Pool
from quire.stores import MemoryStore
from tests.agent.turns.playing import TOOLS, count, in_a_loop, look_up, remark, run_all, weigh


def opened(**options: Any) -> Session:
    return Session.open("ana/post", store=MemoryStore(), **options)


@in_a_loop
async def test_a_value_is_kept_when_it_is_handed_on() -> None:
    shelf = Shelf(window=deque(maxlen=2))
    turns = Turns(TOOLS, shelf)
    for turn in (Turn("weigh", {"parcel": "a"}), Turn("count", {"upto": 3})):
        await turns.put(turn)
    kept = [(len(shelf.pool), len(shelf.window)) async for _ in turns.run()]
    assert kept == [(1, 0), (1, 1), (1, 2), (1, 2)]
    assert [note.content for note in shelf.window] == [1, 2] and shelf.pool.get("a").content == 1


@in_a_loop
async def test_in_a_session_notes_go_to_its_pool_and_its_transcript() -> None:
    session = opened()
    turns = Turns(TOOLS, session)
    await run_all(turns, Turn("weigh", {"parcel": "a"}), Turn("count", {"upto": 2}))
    assert [note.key for note in session.pool] == ["a"]
    assert [item.content for item in session.view() if isinstance(item, Note)] == [0, 1]


@in_a_loop
async def test_the_same_note_is_kept_each_time_it_is_given() -> None:
    cached = Note("as before")

    @tool
    async def look() -> Note:
        return cached

    session = opened()
    await run_all(Turns([look], session), Turn(look), Turn(look))
    assert [item.content for item in session.view() if isinstance(item, Note)] == ["as before"] * 2


@in_a_loop
async def test_notes_of_a_list_are_kept_and_other_values_are_not() -> None:
    @tool
    async def mixed() -> list[Any]:
        return [Note(1, key="a"), "words", Note(2)]

    shelf = Shelf()
    assert await run_all(Turns([mixed], shelf), Turn(mixed)) != []
    assert (len(shelf.pool), len(shelf.window)) == (1, 1)


@in_a_loop
async def test_a_tool_reads_a_copy_of_the_pool() -> None:
    shelf, session = Shelf(), opened()
    for kept_in in (shelf, session):
        turns = Turns([weigh, look_up], kept_in)
        values = await run_all(turns, Turn("weigh", {"parcel": "abc"}), Turn("look_up", {"parcel": "abc"}))
        assert values[-1] == 3
    assert len(shelf.pool) == len(session.pool) == 1


@in_a_loop
async def test_a_pool_can_be_handed_in_by_name_and_is_a_copy_too() -> None:
    mine = Pool([Note(7, key="abc")])
    assert await run_all(Turns([look_up]), Turn("look_up", {"parcel": "abc", "pool": mine})) == [7]
    assert len(mine) == 1


@in_a_loop
async def test_a_note_that_is_refused_is_an_error_of_the_turn() -> None:
    def refuse(event: object) -> None:
        raise PermissionError

    session = opened(hooks=[Hook(refuse, (Adding,))])
    turn = Turn("weigh", {"parcel": "a"})
    with pytest.raises(PermissionError):
        await run_all(Turns([weigh], session), turn)
    assert turn.stop_reason == "error" and len(session.pool) == 0


@in_a_loop
async def test_hooks_of_the_session_hear_of_each_call() -> None:
    heard: list[Any] = []
    session = opened(hooks=[Hook(heard.append, (Calling, Called))])
    turns = Turns(TOOLS, session)
    await run_all(turns, Turn("remark", {"words": "a"}))
    with pytest.raises(LookupError):
        await run_all(turns, Turn("fail"))
    assert [(type(event).__name__, event.name) for event in heard] == [
        ("Calling", "remark"),
        ("Called", "remark"),
        ("Calling", "fail"),
        ("Called", "fail"),
    ]
    assert (heard[1].result.content, heard[1].fault, heard[3].fault) == ("a", None, "LookupError")


@in_a_loop
async def test_a_branch_has_copies_and_goes_its_own_way() -> None:
    for kept_in in (Shelf(), opened()):
        turns = Turns(TOOLS, kept_in)
        await run_all(turns, Turn("weigh", {"parcel": "a"}))
        await turns.put(waiting := Turn("weigh", {"parcel": "b"}, timeout=9))
        child = turns.branch("apart")
        (copy,) = child.waiting
        assert copy is not waiting and (copy.arguments, copy.timeout) == (waiting.arguments, 9)
        await run_all(child, Turn("weigh", {"parcel": "c"}))
        assert waiting.stop_reason is None and turns.waiting == (waiting,)
        assert [note.key for note in child.kept_in.pool or ()] == ["a", "b", "c"]
        assert [note.key for note in turns.kept_in.pool or ()] == ["a"]


@in_a_loop
async def test_parent_and_branch_run_side_by_side() -> None:
    turns = Turns([count])
    await turns.put(Turn(count, {"upto": 3}))
    child = turns.branch()
    both = await asyncio.gather(run_all(turns), run_all(child))
    assert [len(values) for values in both] == [3, 3]


@in_a_loop
async def test_turns_are_written_and_read_back_with_their_shelf() -> None:
    turns = Turns(TOOLS, Shelf(Pool(limit=4), deque(maxlen=3)))
    await run_all(turns, Turn("weigh", {"parcel": "a"}), Turn("remark", {"words": "x"}))
    await turns.put(Turn("weigh", {"parcel": "b"}))
    turns.pause()
    read = Turns.from_dict(json.loads(json.dumps(turns.to_dict())), TOOLS)
    assert isinstance(shelf := read.kept_in, Shelf) and read.is_paused
    assert (shelf.pool.limit, shelf.window.maxlen, len(shelf.window)) == (4, 3, 1)
    read.resume()
    await run_all(read)
    assert [note.key for note in shelf.pool] == ["a", "b"]


@in_a_loop
async def test_the_session_of_turns_is_given_again() -> None:
    session = opened()
    turns = Turns(TOOLS, session)
    await turns.put(Turn("weigh", {"parcel": "a"}))
    data = turns.to_dict()
    with pytest.raises(InvalidValue, match="session"):
        Turns.from_dict(data, TOOLS)
    await run_all(Turns.from_dict(data, TOOLS, session))
    assert len(session.pool) == 1
    with pytest.raises(InvalidValue):
        Turns.from_dict(data, [remark], session)


@in_a_loop
async def test_what_was_under_way_is_run_again_only_where_that_does_no_harm() -> None:
    saved: list[Any] = []

    async def each() -> Any:
        for number in range(2):
            yield number

    for harmless in (True, False):
        one = tool(each, name="each", idempotent=harmless)
        turns = Turns([one])
        await turns.put(Turn(one))
        saved = [turns.to_dict() async for _ in turns.run()]
        read = Turns.from_dict(json.loads(json.dumps(saved[0])), [one])
        assert [len(read.waiting), len(read.uncertain)] == ([1, 0] if harmless else [0, 1])
        assert len(Turns.from_dict(read.to_dict(), [one]).uncertain) == (0 if harmless else 1)
        for turn in read.uncertain:
            await read.put(turn)
        assert await run_all(read) == [0, 1]


@in_a_loop
async def test_a_turn_that_has_given_all_is_not_run_again() -> None:
    turns = Turns(TOOLS)
    await turns.put(Turn("remark", {"words": "a"}))
    (data,) = [turns.to_dict() async for _ in turns.run()]
    assert data["current"] is None and data["waiting"] == []


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"waiting": None}, "$.waiting"),
        ({"uncertain": "x"}, "$.uncertain"),
        ({"kept": []}, "$.kept"),
        ({"kept": {"pool": {}, "window": {}}}, "$.kept.pool.notes"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_place(change: dict[str, Any], path: str) -> None:
    with pytest.raises(Damaged) as caught:
        Turns.from_dict(Turns(TOOLS).to_dict() | change, TOOLS)
    assert caught.value.path == path
