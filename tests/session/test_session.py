"""A session by example: how it is opened, what its verbs record, what was before."""

import asyncio
import threading
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from quire.errors import (
    Conflict,
    DuplicateId,
    EditRefused,
    InvalidValue,
    OutOfRange,
    UnknownHook,
    UnknownId,
    UnknownKey,
    WrongType,
)
from quire.items import Hide, Item, Message, Note, Span, ToolCall, ToolResult
from quire.session import Session, current_session
from quire.stores import MemoryStore, SQLiteStore
from tests.session.opened import apart, ids, said, session, texts


def test_what_was_said_is_there_when_it_is_opened_again() -> None:
    store = MemoryStore()
    first = Session.open("ana/q3", store=store)
    first.system("Be brief.")
    first.user("How did Q3 go?")
    first.assistant("Let me look.", calls=[ToolCall("c1", "look", '{"q": 3}')])
    first.tool("up 4 %", call_id="c1")
    first.assistant("Up by 4 %.")
    again = Session.open(scope="ana", conversation="q3", store=store)
    assert list(again.view()) == list(first.view())
    assert [type(item) for item in again.view()] == [Message, Message, Message, ToolCall, ToolResult, Message]
    assert again.version == 6
    assert list(apart(store).view()) == list(first.view())


def test_a_session_on_a_path(tmp_path: Path) -> None:
    for name in ("chat.db", "chat.jsonl"):
        one = Session.open("q3", store=tmp_path / name)
        one.user("hello")
        assert texts(Session.open("q3", store=str(tmp_path / name)).view()) == ["hello"]


def test_addresses() -> None:
    store = MemoryStore()
    assert Session.open("q3", store=store).place == ("", "q3")
    assert Session.open("ana/", store=store).place == ("ana", "")
    assert Session.open("a%2Fb/c%25", store=store).place == ("a/b", "c%")
    assert str(Session.open(scope="a/b", conversation="c%", store=store).place) == "a%2Fb/c%25"
    for wrong in ("a/b/c", "a\nb", "%ff"):
        with pytest.raises(InvalidValue):
            Session.open(wrong, store=store)
    with pytest.raises(InvalidValue, match="not by both"):
        Session.open("a/b", scope="a", store=store)
    with pytest.raises(WrongType):
        Session.open(cast(Any, 5), store=store)


def test_verbs_give_what_they_recorded() -> None:
    one = session()
    assert one.user("hello") is one.view()[0]
    call = one.call("look", {"q": 1})
    assert call.arguments == '{"q":1}'
    assert one.tool("found", call_id=call.call_id).name == "look"
    assert one.developer("Be kind.").role == "developer"
    assert one.handoff("billing", from_agent="front").to_agent == "billing"
    assert one.assistant(calls=[]) is None
    with pytest.raises(UnknownId, match="say the name"):
        one.tool("x", call_id="nobody")


def test_pins_and_undo() -> None:
    one = session()
    hello = one.user("hello")
    one.append(*said("a", "b", "c"))
    with pytest.raises(UnknownId, match="no edit"):
        one.undo()
    edit = one.append(Hide((Span(hello.id, hello.id),)))[0]
    assert hello.id not in ids(one.view())
    one.undo()
    assert hello.id in ids(one.view())
    with pytest.raises(UnknownId):
        one.undo()
    pin = one.pin(hello.id)
    with pytest.raises(UnknownId):
        one.undo("nobody")
    with pytest.raises(UnknownKey):
        one.undo(to="nobody")
    one.undo(pin.id)
    assert one.view().fate(hello.id).state == "shown" and edit.id


def test_an_error_adds_nothing() -> None:
    one = session()
    first = one.user("hello")
    before = one.version
    for wrong, fault in [
        ([first], DuplicateId),
        ([Message("user", "x", id="a"), Message("user", "y", id="a")], DuplicateId),
        ([Message("user", "x"), Hide((Span("nobody", "nobody"),))], UnknownId),
        ([Hide((Span(first.id, first.id),))], EditRefused),
        ([5], WrongType),
    ]:
        with pytest.raises(fault):
            one.append(*cast(Any, wrong))
    with pytest.raises(InvalidValue, match="begin with a dot"):
        one.user("x", to=".pool")
    with pytest.raises(InvalidValue):
        one.user("x", to="")
    assert one.version == before and texts(one.view()) == ["hello"]


def test_named_transcripts_and_the_timeline() -> None:
    one = session()
    first = one.user("question")
    name = one.new("attempt")
    assert name == "attempt_a"
    one.append(first, to=name)
    one.assistant("wrong", to=name)
    assert one.new("attempt") == "attempt_b" and one.transcripts == ("main", "attempt_a")
    one.assistant("right")
    assert texts(one.timeline()) == ["question", "wrong", "right"]
    assert texts(one.timeline("main")) == ["question", "right"]
    assert texts(one.timeline(["attempt"])) == ["question", "wrong"]
    assert one.timeline("att") == [] and one.timeline([]) == []
    with pytest.raises(UnknownKey, match="'main', 'attempt_a'"):
        one.view("nobody")


def test_names_go_on_after_z() -> None:
    one = session()
    names: list[str] = []
    for _ in range(28):
        names.append(one.new("attempt"))
        one.user("x", to=names[-1])
    assert names[:2] == ["attempt_a", "attempt_b"] and names[25:] == ["attempt_z", "attempt_aa", "attempt_ab"]


def test_a_name_is_given_once_though_nothing_is_written_to_it_yet(tmp_path: Path) -> None:
    stores = [SQLiteStore(tmp_path / "chats.db") for _ in range(2)]
    one, other = (Session.open("ana/one", store=store) for store in stores)
    with one.draft() as draft:
        names = [one.new("attempt"), other.new("attempt"), draft.new("attempt"), one.new("try")]
        draft.user("hello", to=names[2])
    assert names == ["attempt_a", "attempt_b", "attempt_c", "try_a"]
    assert one.transcripts == ("main", "attempt_c") and len(one.view()) == 0
    assert Session.open("ana/one", store=SQLiteStore(tmp_path / "chats.db")).new("attempt") == "attempt_d"


def test_what_was_before() -> None:
    one = session()
    one.user("a")
    one.user("side", to="side")
    version = one.version
    one.assistant("b")
    first = one.view()[0].id
    one.append(*said("c"), Hide((Span(first, first),)))
    assert {name: texts(view) for name, view in one.at(version).items()} == {"main": ["a"], "side": ["side"]}
    assert texts(one.at(0)["main"]) == []
    assert texts(one.at(one.version)["main"]) == texts(one.view())
    for wrong in (-1, one.version + 1):
        with pytest.raises(OutOfRange):
            one.at(wrong)


def test_an_expected_version_is_kept_to() -> None:
    store = MemoryStore()
    one, other = apart(store), apart(store)
    one.user("a")
    assert other.version == 0
    with pytest.raises(Conflict) as fault:
        other.append(*said("b"), expected=0)
    assert other.refresh() or other.version == 1
    assert fault.value.expected == 0
    assert texts(other.append(*said("b"), expected=1)) == ["b"]


def test_async_verbs_record_the_same() -> None:
    one = session()

    async def talk() -> None:
        await asyncio.gather(*(one.add(Message("user", f"hello {n}")) for n in range(20)))

    asyncio.run(talk())
    assert sorted(texts(one.view())) == sorted(f"hello {n}" for n in range(20))


def test_threads_share_a_session() -> None:
    one = session()

    def talk(name: int) -> None:
        for n in range(25):
            one.user(f"{name} {n}")

    threads = [threading.Thread(target=talk, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(texts(one.view()))) == 100 == one.version


def test_the_session_at_work() -> None:
    one, other = session(), session()
    with pytest.raises(UnknownKey, match="no session is at work"):
        current_session()
    with one:
        assert current_session() is one
        with other:
            assert current_session() is other
        assert current_session() is one

    async def inside() -> Session:
        async with one:
            return await asyncio.create_task(asked())

    async def asked() -> Session:
        return current_session()

    assert asyncio.run(inside()) is one


def _other(_: Item) -> Item:
    return Note("x")


def test_two_tasks_may_be_inside_at_once() -> None:
    one = session()

    async def inside(first: asyncio.Event, second: asyncio.Event) -> None:
        async with one:
            first.set()
            await second.wait()
            assert current_session() is one

    async def both() -> None:
        a, b = asyncio.Event(), asyncio.Event()
        await asyncio.gather(inside(a, b), inside(b, a))

    asyncio.run(both())


def test_redaction_comes_before_everything() -> None:
    seen: list[str] = []

    def hide_numbers(item: Any) -> Any:
        if isinstance(item, Message):
            seen.append(item.text)
            return replace(item, content=item.text.replace("swordfish", "####"))
        return item

    store = MemoryStore()
    one = session(store, redact=hide_numbers)
    assert one.user("card swordfish").text == "card ####"
    assert seen == ["card swordfish"]
    assert b"swordfish" not in b"".join(entry.body for entry in store.read(one.place))
    with pytest.raises(WrongType, match="the same item"):
        session(redact=_other).user("hello")


def test_options_are_checked() -> None:
    with pytest.raises(UnknownHook):
        session(hooks=["nobody"])
    with pytest.raises(WrongType):
        session(hooks=[print])
