"""Ids may be the same in two conversations of a scope: an app may number messages anew in each."""

import asyncio
import json
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from quire import Session
from quire.agent import run
from quire.agent.builtin import recall_tools
from quire.context import Context, Template
from quire.items import Message, ToolCall, ToolResult
from quire.memory import Memory, Recall, recalled
from quire.memory.index import Index, InProcess
from quire.memory.index.lasting import Lasting
from quire.memory.index.lasting.sqlite import SQLiteTables
from quire.sections import History, Instructions
from quire.stores import MemoryStore, Store
from quire.tokens import Budget, Measured

VAT = Message("user", "Our VAT number is NO-4455.", id="1")
PRINTER = Message("user", "The printer on floor 3 is broken, serial ZX-81.", id="1")
ASKED = "What is our VAT number?"


def tickets(store: Store) -> tuple[Session, Session]:
    one, two = Session.open("acme/ticket-1", store=store), Session.open("acme/ticket-2", store=store)
    one.append(VAT, Message("assistant", "Noted.", id="2"))
    two.append(PRINTER, Message("assistant", "A technician comes on Monday.", id="2"))
    return one, two


def built(session: Session, *more: Recall, window: int = 3_000) -> Context:
    recall = Recall(tokens=400)
    template = Template(Instructions("Support."), History(), recall, *more, budget=Budget(window=window))
    return session.build(template)


def words(context: Context) -> str:
    return str(context.render("openai")["messages"])


@pytest.mark.parametrize("window", [3_000, 140])
def test_what_another_conversation_said_under_the_same_id_is_quoted(window: int) -> None:
    _, two = tickets(MemoryStore())
    two.append(*(Message("user", f"Is it Monday {number}?", id=str(3 + number)) for number in range(3)))
    two.append(Message("user", ASKED, id="9"))
    assert "NO-4455" in words(built(two, window=window))


def test_it_is_quoted_also_where_both_are_of_one_time() -> None:
    """As rows of an export are, which have the day alone."""
    store = MemoryStore()
    for name, item in (("ticket-1", VAT), ("ticket-2", PRINTER)):
        Session.open(f"acme/{name}", store=store).append(replace(item, created_at=86_400.0))
    two = Session.open("acme/ticket-2", store=store)
    two.append(Message("user", ASKED, id="9"))
    told = words(built(two))
    assert "NO-4455" in told and told.count("ZX-81") == 1


def test_a_call_and_its_result_are_quoted_though_their_ids_are_shown() -> None:
    store = MemoryStore()
    one, two = Session.open("acme/ticket-1", store=store), Session.open("acme/ticket-2", store=store)
    one.append(ToolCall("c", "look_up", '{"what": "VAT number"}', id="1"))
    one.append(ToolResult("c", "look_up", "NO-4455", id="2"))
    two.append(PRINTER, Message("user", ASKED, id="2"))
    assert "NO-4455" in words(built(two))


def test_each_has_its_own_entry_in_the_receipt() -> None:
    _, two = tickets(MemoryStore())
    two.append(Message("user", ASKED, id="3"))
    receipt = built(two).receipt
    entries = {(entry.section, entry.source): entry for entry in receipt.entries if entry.item_id == "1"}
    assert set(entries) == {("history", ""), ("recall", "ticket-1")}
    assert all(entry.fate == "shown" for entry in entries.values())
    assert receipt.explain(VAT) == entries["recall", "ticket-1"]
    assert receipt.explain(PRINTER) == receipt.explain("1") == entries["history", ""]


def test_two_that_could_be_quoted_have_fates_of_their_own() -> None:
    store = MemoryStore()
    tickets(store)
    three = Session.open("acme/ticket-3", store=store)
    three.append(Message("user", "What is the VAT number, and the serial of the printer?", id="3"))
    recall = Template(History(), Recall(tokens=400, limit=1), budget=Budget(window=3_000))
    receipt = three.build(recall).receipt
    fates = {entry.source: entry.fate for entry in receipt.entries if entry.item_id == "1"}
    assert sorted(fates) == ["ticket-1", "ticket-2"] and sorted(fates.values()) == ["left out", "shown"]


def test_several_tiers_have_both() -> None:
    store = MemoryStore()
    tickets(store)
    found = recalled(Memory.of(store, "acme"), ASKED, tiers=("recent", "knowledge"), conversation="ticket-2")
    assert {"NO-4455", "ZX-81"} <= {word.strip(".") for quote in found for word in quote.line.split()}


def test_what_a_section_shows_is_not_left_out_for_another_of_its_id() -> None:
    store = MemoryStore()
    tickets(store)
    three = Session.open("acme/ticket-3", store=store)
    three.append(Message("user", ASKED, id="3"), *(Message("user", f"Rain {n}?") for n in range(30)))
    given_too = Instructions([PRINTER], name="given", required=False)
    template = Template(Recall(tokens=60), given_too, History(), budget=Budget(window=170))
    context = three.build(template, input=Message("user", ASKED))
    assert PRINTER in list(context.items) and "NO-4455" in words(context)


@pytest.mark.parametrize("lasting", [False, True])
def test_an_index_keeps_them_apart_and_forgets_one(lasting: bool, tmp_path: Path) -> None:
    with Store.open(tmp_path / "chats.db") as store:
        one, _ = tickets(store)
        tables = SQLiteTables(tmp_path / "kept.db-index")
        index: Index = Lasting(tables, "acme") if lasting else InProcess()
        memory = Memory(store, "acme", index=index)
        found = [memory.search(asked).hits[0].leaf for asked in ("VAT number", "printer serial")]
        assert [(leaf.source, leaf.key) for leaf in found] == [("ticket-1", "1"), ("ticket-2", "1")]
        one.forget("1")
        texts = [hit.leaf.text for hit in memory.search("VAT number printer serial").hits]
        assert any("ZX-81" in text for text in texts) and not any("NO-4455" in text for text in texts)
        index.close()


def test_the_tool_finds_what_has_the_id_of_something_in_this_turn() -> None:
    store = MemoryStore()
    _, two = tickets(store)
    two.append(Message("user", ASKED, id="3"))
    three = Session.open("acme/ticket-3", store=store)
    three.append(Message("user", ASKED, id="1"))
    for session in (two, three):
        (recall, _) = recall_tools(counter=Measured())
        assert "NO-4455" in str(asyncio.run(run(recall, {"question": ASKED}, session=session)).content)


def test_the_command_line_tells_them_apart(tmp_path: Path) -> None:
    pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")
    from tests.cli.conversing import ran

    path = tmp_path / "chats.db"
    with Store.open(path) as store:
        tickets(store)
    asked = ("recall", "VAT number or printer serial", "--scope", "acme", "--store", str(path), "--json")
    rows = json.loads(ran(*asked, "--limit", "1").stdout)["found"]
    assert [row["fits"] for row in rows] == [True]
    rows = json.loads(ran(*asked).stdout)["found"]
    found = {row["source"]: row["text"] for row in rows if row["id"] == "1"}
    assert "NO-4455" in found["ticket-1"] and "ZX-81" in found["ticket-2"]


@pytest.mark.parametrize("keep", ["all", "result"])
@pytest.mark.parametrize("who", ["parent", "fork", "other"])
def test_what_was_merged_is_the_same_and_told_once(keep: Literal["all", "result"], who: str) -> None:
    store = MemoryStore()
    parent = Session.open("acme/ticket-1", store=store)
    parent.append(Message("user", "Please check the safe.", id="1"))
    fork = parent.fork("checker")
    fork.append(Message("user", "Look.", id="2"), Message("assistant", "The safe code is 4455.", id="3"))
    parent.merge(fork, keep=keep)
    asking = {"parent": parent, "fork": fork, "other": Session.open("acme/ticket-2", store=store)}[who]
    asking.append(Message("user", "What is the code of the safe?", id="9"))
    assert words(built(asking)).count("4455") == 1


NUMBERS = ("one", "two", "three", "four")
SAYINGS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from("123456")), min_size=1, max_size=12, unique=True
)


@pytest.mark.laws
@given(SAYINGS, st.integers(0, 2), st.booleans(), st.sampled_from([130, 2_000]))
def test_whatever_their_ids_all_that_was_said_is_told_once(
    sayings: list[tuple[int, str]], asking: int, forked: bool, window: int
) -> None:
    """The history has what was said here, and the rest is quoted: nothing twice, and nothing left out."""
    store = MemoryStore()
    sessions = [Session.open(f"acme/{NUMBERS[number]}", store=store) for number in range(3)]
    for number, item_id in sayings:
        text = f"The code of the lamp is lamp{number}x{item_id}."
        sessions[number].append(Message("user", text, id=item_id))
    session = sessions[asking].fork("aside") if forked else sessions[asking]
    session.append(Message("user", "What is the code of the lamp?", id="9"))
    context = built(session, window=window)
    told = words(context)
    counts = {told.count(f"lamp{number}x{item_id}.") for number, item_id in sayings}
    assert counts == {1} if window == 2_000 else counts <= {0, 1}
    entries = [one for one in context.receipt.entries if one.section != "instructions" and one.item_id != "9"]
    assert len(entries) == len(sayings)
    assert sum(entry.fate == "shown" for entry in entries) == told.count("the lamp is lamp")
