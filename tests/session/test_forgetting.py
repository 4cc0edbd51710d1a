"""Forgetting by example: what names an item goes with it, wherever it is; what only repeats it is found."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from quire import Agent, Budget, Session, Template, tool
from quire.agent.builtin import Role, delegating_tools, read_back_tools
from quire.compactors import Offload, Room
from quire.errors import Forgotten, StoreFailed
from quire.items import Message, Note, Pin, ToolCall, ToolResult
from quire.memory import Knowledge
from quire.models import Scripted
from quire.providers import PROVIDERS
from quire.sections import Ask, Catalogue, Custom, History, Instructions, Pooled
from quire.session import remove_conversation
from quire.stores import MemoryStore, Place, Store
from quire.stores.streams import LINKS
from quire.tokens import counter_for
from tests.session.opened import (
    SECRET,
    TEMPLATE,
    called,
    ids,
    kept_bytes,
    run,
    said,
    send,
    session,
    texts,
    twin,
    two,
    watch,
)
from tests.session.recalling import ASKED, QUOTING, looked_up, quoted, results, told


def opened(name: str, store: Store) -> Session:
    return Session.open(scope="ana", conversation=name, store=store)


async def _repeated(ask: Ask) -> list[Message]:
    return [
        Message("system", f"It was said: {item.text}") for item in ask.view() if isinstance(item, Message)
    ]


def test_receipts_lose_what_was_made_of_it_and_say_so() -> None:
    store = MemoryStore()
    one = session(store)
    past = one.user("swordfish")
    last = Template(Instructions("Be exact."), History(turns=1), budget=Budget(window=8_000))
    one.user("hi")
    without = send(one.build(last)).payload
    one.forget(past.id)
    assert one.receipts[0].payload().payload == without, "instructions are made of nothing"
    shown = Template(
        Instructions("Be brief."),
        History(),
        Custom("own", _repeated),
        Catalogue(),
        Pooled(),
        budget=Budget(window=8_000),
    )
    one.user("hello")
    sent = send(one.build(shown)).payload
    pin = one.user("PIN swordfish")
    note = one.pool.keep(Note("swordfish", key="card swordfish", description="of swordfish"))
    send(one.build(shown))
    one.forget(pin.id, note.id)
    assert b"swordfish" not in kept_bytes(store) and len(one.pool) == 0
    _, earlier, later = one.receipts
    assert earlier.payload().payload == sent, "what was made before it was said is not made of it"
    with pytest.raises(Forgotten):
        later.payload()


async def _shortened(ask: Ask) -> list[Any]:
    """Changed copies, under the same ids, of all but the first message."""
    items: list[Any] = list(ask.view())[1:]
    return [replace(one, content="In short.") if hasattr(one, "content") else one for one in items]


@pytest.mark.parametrize("wire", PROVIDERS)
def test_an_item_does_not_go_with_a_changed_copy_of_it_that_was_sent(wire: str) -> None:
    store = MemoryStore()
    one = session(store)
    secret = one.user(SECRET)
    asked, call = one.user("And lunch?"), called(one, "look")
    kept = [asked, call, one.tool("soup", call_id=call.call_id)]
    sent = send(one.build(Template(Custom("short", _shortened), budget=Budget(window=8_000))), wire)
    assert one.receipts[-1].payload().payload == sent.payload
    one.forget(secret.id)
    assert list(one.view())[1:] == kept and b"In short." not in kept_bytes(store)


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_history_with_tombstones_can_be_sent(wire: str) -> None:
    one = session()
    one.append(*said("a", "b"), Message("user", "c"), ToolCall("c1", "look", '{"q": 1}'))
    one.tool("found", call_id="c1")
    one.append(Message("assistant", "d"), Message("user", "e"))
    one.append(Pin(one.view()[0].id))
    one.forget()
    rendered = send(one.build(TEMPLATE), wire)
    assert PROVIDERS[wire].check(rendered.payload) == [] and "found" not in str(rendered.payload)


def test_a_context_built_before_is_not_sent_after() -> None:
    with two() as (one, other):
        first, second = one.user(SECRET), one.user("go on")
        context = one.build(TEMPLATE)
        one.forget(second.id)
        with pytest.raises(Forgotten):
            context.render("openai")
        context = one.build(TEMPLATE)
        other.forget(first.id)
        with pytest.raises(Forgotten):
            context.render("openai")
        assert "swordfish" not in str(one.build(TEMPLATE).render("openai").payload)


def test_without_ids_all_that_was_said_and_kept_goes() -> None:
    store = MemoryStore()
    one = session(store)
    one.append(*said(SECRET, SECRET, "go on"))
    one.pool.keep(Note(SECRET, key="k"))
    child = one.fork("x")
    child.assistant("seen")
    one.forget()
    child.refresh()
    assert texts(child.view()) == [*["[forgotten]"] * 3, "seen"] and b"swordfish" not in kept_bytes(store)
    child.forget()
    assert texts(child.view())[-1] == "[forgotten]"


def test_a_note_that_is_forgotten_takes_its_key_along_and_brings_nothing_back() -> None:
    store = MemoryStore()
    one = session(store)
    one.pool.keep(Note("an earlier one", key="card"))
    later, dropped = (one.pool.keep(Note("it", key=key)) for key in ("card", "swordfish"))
    one.pool.drop("swordfish")
    one.forget(later.id, dropped.id)
    assert b"swordfish" not in kept_bytes(store)
    assert len(one.pool) == len(session(twin(store)).pool) == 0, "what it replaced stays replaced"


@pytest.mark.parametrize("verb", ["merge", "fork"])
def test_a_merge_or_fork_during_which_it_is_forgotten(verb: str) -> None:
    store = MemoryStore()
    one, other = session(store), opened("other", store)
    one.user("go")
    secret = other.assistant(SECRET)
    note = one.pool.keep(Note(SECRET, key="k"))
    assert secret is not None
    left = [(other, secret.id), (one, note.id)]

    def step(name: str, place: Place | None) -> None:
        is_written = place is not None and place.conversation == ("q3" if verb == "merge" else "q3/x")
        if name == "before append" and is_written:
            while left:
                holder, item_id = left.pop(0)
                holder.forget(item_id)

    watch(store, step, ["append"])
    with suppress(Forgotten):
        one.merge(other) if verb == "merge" else one.fork("x")
    assert b"swordfish" not in kept_bytes(store)


def test_what_others_recalled_goes_and_nothing_else_of_theirs() -> None:
    store = MemoryStore()
    monday, secret = told(store)
    harbour = monday.user("The harbour is closed on Sundays.")
    tuesday, wednesday = quoted(store, "tuesday"), looked_up(store, "wednesday", limit=2)
    sent = send(tuesday.build(Template(Custom("own", _repeated), budget=Budget(window=8_000))))
    fork = wednesday.fork("x")
    plain = opened("plain", store)
    plain.user("What is a quire?")
    send(plain.build(TEMPLATE))
    assert "swordfish" in results(wednesday)[0] and kept_bytes(store).count(b"swordfish") >= 3
    monday.forget(harbour.id)
    assert plain.receipts[-1].payload() and "swordfish" in results(wednesday)[0]
    monday.forget(secret.id)
    assert b"swordfish" not in kept_bytes(store) and results(wednesday) == results(fork) == ["[forgotten]"]
    with pytest.raises(Forgotten):
        tuesday.receipts[0].payload()
    assert tuesday.receipts[1].payload().payload == sent.payload, "it was not made of a quote"
    assert "swordfish" not in str(send(tuesday.build(QUOTING)).payload)


def test_what_is_forgotten_while_another_quotes_it() -> None:
    store = MemoryStore()
    monday, secret = told(store)
    tuesday = opened("tuesday", store)
    tuesday.user(ASKED)
    forgetting = iter([secret.id])

    def step(name: str, place: Place | None) -> None:
        if name == "before append" and place is not None and place.conversation == LINKS:
            for item_id in forgetting:
                monday.forget(item_id)

    watch(store, step, ["append"])
    assert "swordfish" not in str(send(tuesday.build(QUOTING)).payload)
    assert b"swordfish" not in kept_bytes(store)


def test_a_conversation_that_is_removed_is_gone_where_it_was_quoted() -> None:
    store = MemoryStore()
    monday, _ = told(store)
    tuesday = quoted(store, "tuesday")
    remove_conversation(store, monday.place)
    assert b"swordfish" not in kept_bytes(store) and texts(tuesday.view()) == [ASKED]


def test_ids_of_ones_own_may_be_the_same_elsewhere() -> None:
    store = MemoryStore()
    monday, tuesday = opened("monday", store), opened("tuesday", store)
    monday.append(Message("user", "My passport number is X99-swordfish-4411.", id="1"))
    tuesday.append(Message("user", "The printer has the serial ZX-81.", id="1"))
    tuesday.user(ASKED)
    send(tuesday.build(QUOTING))
    monday.forget("1")
    assert "ZX-81" in str(send(tuesday.build(TEMPLATE)).payload)
    assert b"swordfish" not in kept_bytes(store) and b"ZX-81" in kept_bytes(store)


REMOVING = """
import sys
from quire.memory import Knowledge
from quire.stores import Store
with Store.open(sys.argv[1]) as store:
    Knowledge(store, scope="ana").remove("passport")
assert "quire.session" not in sys.modules
"""


@pytest.mark.parametrize("by", ["this process", "a process without sessions"])
def test_a_document_that_is_removed_is_gone_where_it_was_recalled(tmp_path: Path, by: str) -> None:
    with Store.open(tmp_path / "kept.db") as store:
        knowledge = Knowledge(store, scope="ana")
        knowledge.add_text("My passport number is X99-swordfish-4411.", source="passport")
        knowledge.add_text("The harbour is closed on Sundays.", source="harbour")
        wednesday, tuesday = looked_up(store, "wednesday"), quoted(store, "tuesday")
        assert "swordfish" in results(wednesday)[0]
        if by == "this process":
            knowledge.remove("passport")
        else:
            subprocess.run([sys.executable, "-c", REMOVING, tmp_path / "kept.db"], check=True)
            tuesday.refresh()
        assert results(opened("wednesday", store)) == ["[forgotten]"] and b"harbour" in kept_bytes(store)
    assert not any(b"swordfish" in path.read_bytes() for path in tmp_path.iterdir())


WORDS = "BEGINSECRET " + "word " * 6_000 + "MIDSECRET " + "word " * 6_000 + "ENDSECRET"


@tool
async def look() -> str:
    """Look."""
    return WORDS


def _of_result(one: Session) -> str:
    return next(item.id for item in one.view() if isinstance(item, ToolResult) and item.name == "look")


def _of_note(one: Session) -> str:
    return next(note.id for note in one.pool)


@pytest.mark.parametrize("chosen", [_of_result, _of_note])
@pytest.mark.parametrize("by", ["agent", "compactor"])
def test_a_long_output_goes_from_results_pool_and_what_was_read_back(
    tmp_path: Path, chosen: Callable[[Session], str], by: str
) -> None:
    async def conversation(store: Store) -> None:
        one = session(store)
        if by == "agent":
            model = Scripted([[ToolCall("c1", "look")], "Looked."])
            await Agent(one, model=model, tools=[look]).ask("look")
        else:
            one.tool(WORDS, call_id=called(one, "look").call_id)
            one.append(*said(*(f"And {n}?" for n in range(16))))
            await one.aio.compaction.run(by=Offload(), room=Room(3_000, counter_for("gpt-4o")))
        [handle] = [note.key for note in one.pool]
        back = ToolCall("c2", "read_back", f'{{"handle": "{handle}"}}')
        await Agent(one, model=Scripted([[back], "Read."]), tools=read_back_tools()).ask("read it")
        await one.aio.forget(chosen(one))
        await one.aio.close()

    with Store.open(tmp_path / "kept.db") as store:
        run(conversation(store))
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not any(words in left for words in (b"BEGINSECRET", b"MIDSECRET", b"ENDSECRET"))


def test_the_brief_of_a_sub_agent_goes_with_the_call_that_gave_it() -> None:
    store = MemoryStore()
    one = session(store)
    role = Role(
        name="helper",
        description="helps",
        sees="brief",
        make=lambda theirs: Agent(theirs, model=Scripted(["It is weak."])),
    )
    call = ToolCall("c1", "delegate", f'{{"to":"helper","task":"Check {SECRET}"}}')
    run(Agent(one, model=Scripted([[call], "done"]), tools=delegating_tools(role)).ask("Is it weak?"))
    assert kept_bytes(store).count(b"swordfish") >= 2
    one.forget(next(item.id for item in one.view() if isinstance(item, ToolCall)))
    assert b"swordfish" not in kept_bytes(store)


@pytest.mark.parametrize("verb", ["replace", "scrub"])
def test_a_store_that_fails_is_told_and_forgets_the_next_time(verb: str) -> None:
    store, steps, fails = MemoryStore(), list[str](), [True]

    def step(name: str, _: Any) -> None:
        steps.append(name)
        if name == f"before {verb}" and fails[0]:
            raise StoreFailed("no space")

    one = session(store)
    first = one.user(SECRET)
    watch(store, step)
    with pytest.raises(StoreFailed):
        one.forget(first.id)
    fails[0] = False
    one.refresh()
    assert ids(one.view()) == [first.id] and b"swordfish" not in kept_bytes(store)
    assert "after scrub" in steps
