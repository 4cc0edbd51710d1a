"""What is forgotten is gone: from memory, pool, receipts and store, in forks and for other readers."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from quire import Budget, Template
from quire.errors import Forgotten, StoreFailed, UnknownId
from quire.items import Mask, Message, Note, Pin, Span, Summary, ToolCall, ToolResult
from quire.providers import PROVIDERS
from quire.sections import Ask, Catalogue, Custom, History, Instructions, Pooled
from quire.session import Session
from quire.session.workspace import Written
from quire.stores import MemoryStore, Place
from quire.stores.streams import POOL
from quire.stores.tombstones import is_tombstone
from tests.session.opened import PLACE, SECRET, apart, said, session, texts


def kept_bytes(store: MemoryStore) -> bytes:
    places = [PLACE._replace(conversation=name) for name in store.conversations("ana")]
    return b"".join(entry.body for place in places for entry in store.read(place))


def recorded(one: Session) -> list[Written]:
    return one._ledger.recorded()  # pyright: ignore[reportPrivateUsage]


def test_a_tombstone_stays_where_it_was() -> None:
    store = MemoryStore()
    one = session(store)
    first = one.user(SECRET)
    one.append(*said("q"), Message("assistant", "I will not repeat it."))
    one.forget(first.id)
    assert is_tombstone(one.view()[0]) and one.view()[0].id == first.id
    assert texts(one.view())[0] == "[forgotten]"
    assert b"swordfish" not in kept_bytes(store)
    assert texts(apart(store).view()) == texts(one.view())
    with pytest.raises(UnknownId):
        one.forget("nobody")


def test_what_was_made_from_it_goes_too() -> None:
    store = MemoryStore()
    one = session(store)
    first = one.user(SECRET)
    second = one.append(*said("b", "c", "d"))
    one.append(ToolCall("c1", "look"))
    result = one.tool(SECRET * 50, call_id="c1")
    one.keep(Note(SECRET * 50, key="long", description="what look gave"))
    one.append(Mask(result.id, f"[{SECRET[:30]}…]"))
    one.append(Summary(f"They said {SECRET}.", (Span(first.id, second[0].id),)))
    one.append(*said("e"))
    one.forget(first.id, result.id)
    assert b"swordfish" not in kept_bytes(store)
    assert texts(one.view())[0] == "[forgotten]", "what the summary stood for is shown again"
    assert "long" not in one.pool


def test_receipts_say_that_something_was_forgotten() -> None:
    store = MemoryStore()
    one = session(store)

    async def copied(*_: object) -> list[Message]:
        return [Message("system", f"Known: {SECRET}", id="copy", created_at=0.0)]

    template = Template(
        Instructions("Be brief."), History(), Custom("known", copied), budget=Budget(window=8_000)
    )
    first = one.user(SECRET)
    asyncio.run(one.build(template)).render("openai")
    assert SECRET in str(one.receipts()[0].payload().payload)
    one.forget(first.id)
    assert b"swordfish" not in kept_bytes(store)
    with pytest.raises(Forgotten):
        one.receipts()[0].payload()


def test_forks_forget_with_it() -> None:
    store = MemoryStore()
    one = session(store)
    first = one.user(SECRET)
    child = one.fork("checker")
    child.assistant("seen")
    other = apart(store)
    one.forget(first.id)
    child.refresh()
    other.refresh()
    assert texts(child.view()) == ["[forgotten]", "seen"]
    assert texts(other.view()) == ["[forgotten]"]
    assert b"swordfish" not in kept_bytes(store)


@pytest.mark.parametrize("name", ["chat.db", "chat.jsonl"])
def test_no_file_has_it_any_more(tmp_path: Path, name: str) -> None:
    one = Session.open("ana/q3", store=tmp_path / name)
    first = one.user(SECRET)
    one.append(*said("a", "b", "c"))
    assert any(b"swordfish" in file.read_bytes() for file in tmp_path.iterdir())
    one.forget(first.id)
    assert not [file.name for file in tmp_path.iterdir() if b"swordfish" in file.read_bytes()]


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_history_with_tombstones_can_be_sent(wire: str) -> None:
    one = session()
    one.append(*said("a", "b"), Message("user", "c"), ToolCall("c1", "look", '{"q": 1}'))
    one.tool("found", call_id="c1")
    one.append(Message("assistant", "d"), Message("user", "e"))
    one.append(Pin(one.view()[0].id))
    one.forget(*(item.id for item in one.view()))
    template = Template(History(), Catalogue(), budget=Budget(window=8_000))
    rendered = asyncio.run(one.build(template)).render(wire)
    assert PROVIDERS[wire].check(rendered.payload) == []
    assert "found" not in str(rendered.payload)
    assert all(not isinstance(item, ToolResult) or item.text == "[forgotten]" for item in one.view())


def test_a_whole_conversation_with_forks_leaves_tombstones() -> None:
    store = MemoryStore()
    one = session(store)
    one.append(Message("user", SECRET), Message("assistant", SECRET), Message("user", "go on"))
    one.keep(Note(SECRET, key="k"))
    child = one.fork("x")
    child.assistant("seen")
    one.forget()
    child.refresh()
    assert texts(child.view()) == ["[forgotten]", "[forgotten]", "[forgotten]", "seen"]
    assert b"swordfish" not in kept_bytes(store)
    alone = Session.open("ana/alone", store=store)
    alone.user(SECRET)
    alone.forget()
    assert texts(alone.view()) == ["[forgotten]"] and b"swordfish" not in kept_bytes(store)


def test_every_summary_of_it_is_taken_back_also_under_others() -> None:
    one = session()
    first, second, third, *_ = one.append(*said("a", "b", "c", "d", "e", "f"))
    one.append(Summary("a and b", (Span(first.id, second.id),), id="s1"))
    one.append(Summary("a to c", (Span("s1", "s1"), Span(first.id, third.id)), id="s2"))
    one.forget(first.id)
    assert texts(one.view()) == ["[forgotten]", "b", "c", "d", "e", "f"]


def test_a_context_built_before_is_not_sent_after() -> None:
    one = session()
    first = one.user(SECRET)
    one.user("go on")
    context = asyncio.run(one.build(Template(History(), budget=Budget(window=8_000))))
    one.forget(first.id)
    with pytest.raises(Forgotten, match="build it again"):
        context.render("openai")


def test_the_description_of_a_note_goes_from_receipts_too() -> None:
    store = MemoryStore()
    one = session(store)
    note = one.keep(Note("n", key="k", description=SECRET))
    one.user("hello")
    asyncio.run(one.build(Template(History(), Catalogue(), budget=Budget(window=8_000)))).render("openai")
    one.forget(note.id)
    assert b"swordfish" not in kept_bytes(store)


class Dying(MemoryStore):
    """A store that fails when it is to forget."""

    is_dying = True

    def replace(self, place: Place, bodies: Mapping[int, bytes]) -> None:
        if self.is_dying:
            raise StoreFailed("no space")
        super().replace(place, bodies)


def test_what_was_begun_and_not_finished_is_finished_by_the_next() -> None:
    store = Dying()
    one = session(store)
    first = one.user(SECRET)
    other = apart(store)
    with pytest.raises(StoreFailed):
        one.forget(first.id)
    store.is_dying = False
    assert texts(session(store).view()) == ["[forgotten]"]
    other.refresh()
    assert texts(other.view()) == ["[forgotten]"] and b"swordfish" not in kept_bytes(store)


def test_a_fork_that_is_opened_first_finishes_it_too() -> None:
    store = Dying()
    one = session(store)
    first = one.user(SECRET)
    one.fork("x").assistant("seen")
    with pytest.raises(StoreFailed):
        one.forget(first.id)
    store.is_dying = False
    fork = Session.open(scope="ana", conversation="q3/x", store=store)
    assert texts(fork.view()) == ["[forgotten]", "seen"]
    one.refresh()
    one.user("later")
    assert [texts([item]) for _, item in apart(store).refresh()] == []
    assert b"swordfish" not in kept_bytes(store)


def test_a_context_is_not_sent_after_another_process_forgot() -> None:
    store = MemoryStore()
    one, other = apart(store), apart(store)
    first = other.user(SECRET)
    one.refresh()
    context = asyncio.run(one.build(Template(History(), budget=Budget(window=8_000))))
    other.user("go on")
    other.forget(first.id)
    with pytest.raises(Forgotten):
        context.render("openai")


async def _repeated(ask: Ask) -> list[Message]:
    last = [item for item in ask.view() if isinstance(item, Message)][-1]
    return [Message("system", f"The user just said: {last.text}")]


@pytest.mark.parametrize(
    "note",
    [
        Note({"x": 1}, key="k", description="pin swordfish"),
        Note({"x": 1}, key="k", description="the number\nis swordfish all right"),
        Note({"x": 1}, key="swordfish", description="a number"),
        Note("swordfish", key="k"),
    ],
)
def test_nothing_of_a_note_stays_in_receipts(note: Note) -> None:
    store = MemoryStore()
    one = session(store)
    one.user("hello")
    one.keep(note)
    template = Template(
        Instructions("Be brief."), History(), Catalogue(), Pooled(), budget=Budget(window=8_000)
    )
    asyncio.run(one.build(template)).render("openai")
    one.forget(note.id)
    assert b"swordfish" not in kept_bytes(store) and len(one.pool) == 0
    with pytest.raises(Forgotten):
        one.receipts()[0].payload()


def test_what_sections_made_of_a_short_message_goes_from_receipts() -> None:
    store = MemoryStore()
    one = session(store)
    template = Template(
        Instructions("Be brief."), History(), Custom("own", _repeated), budget=Budget(window=8_000)
    )
    one.user("hello")
    sent = asyncio.run(one.build(template)).render("openai").payload
    pin = one.user("PIN swordfish")
    asyncio.run(one.build(template)).render("openai")
    one.forget(pin.id)
    assert b"swordfish" not in kept_bytes(store)
    earlier, later = one.receipts()
    assert earlier.payload().payload == sent, "what was made before it was said is not made of it"
    with pytest.raises(Forgotten):
        later.payload()
    assert texts(later.items)[0] == "Be brief.", "what never changes is not made of it"


def test_a_key_goes_with_its_note_and_what_it_replaced_stays_away() -> None:
    store = MemoryStore()
    one = session(store)
    one.keep(Note("first", key="card swordfish"))
    second = one.keep(Note("second", key="card swordfish", id="n2"))
    one.keep(Note("other", key="other"))
    one.forget(second.id)
    assert [note.key for note in one.pool] == ["other"]
    first = next(item for stream, item in recorded(one) if stream == POOL)
    one.forget(first.id)
    assert b"swordfish" not in kept_bytes(store)
    assert [note.key for note in apart(store).pool] == ["other"]


def test_a_note_that_left_the_pool_leaves_no_key() -> None:
    store = MemoryStore()
    one = session(store)
    note = one.keep(Note("first", key="card swordfish"))
    one.drop(note.key or "")
    one.keep(Note("again", key="k"))
    one.forget(note.id)
    assert b"swordfish" not in kept_bytes(store)
    assert [note.key for note in one.pool] == ["k"] == [note.key for note in apart(store).pool]
