"""Recall in a context: within its budget, of whole groups, nothing twice, each with its reason."""

import asyncio
from itertools import permutations
from pathlib import Path
from threading import Event
from typing import Any, get_args

import pytest
from hypothesis import given, strategies as st

from quire import Budget, Template
from quire.items import Message, ToolCall, ToolResult
from quire.memory import Memory, Recall, Tier, recalled
from quire.memory.index import Index
from quire.sections import History, Input, Instructions
from quire.session import Session
from quire.stores import MemoryStore, Store
from quire.tokens import counter_for
from tests.memory.talks import built, opened, quoted, talk, texts
from tests.session.opened import send

HELP = Instructions("Help.")
ASKED = "Which word opens the locker?"
SEVERAL = [
    tiers for many in (2, 3, 4) for tiers in permutations(get_args(Tier), many) if "knowledge" in tiers
]


def test_a_call_comes_back_with_its_result() -> None:
    store = MemoryStore()
    session = opened(store=store)
    session.append(ToolCall("c1", "find_invoice", '{"customer": "Ferris"}'))
    session.append(ToolResult("c1", "find_invoice", "invoice 77 is unpaid"))
    talk(store)
    session.user("Is the invoice of Ferris paid?")
    block = quoted(built(session, HELP, History(), Recall(limit=1)))
    assert "find_invoice" in block and "Ferris" in block and "unpaid" in block


def test_another_conversation_is_named_and_another_scope_is_not_read() -> None:
    store = MemoryStore()
    talk(store)
    for place, is_found in (("ana/two", True), ("bo/two", False)):
        session = opened(place, store)
        session.user(ASKED)
        block = quoted(built(session, Recall()))
        assert ("heliotrope" in block) is is_found and ("conversation one" in block) is is_found
        assert ASKED not in block, "the question is no answer"


@pytest.mark.parametrize("said", ["Yes.", "ok", "Why?", "Thanks!", "And then?", "zebra"])
def test_a_turn_that_asks_for_nothing_brings_nothing_back(said: str) -> None:
    store = MemoryStore()
    talk(store)
    session = opened("ana/two", store)
    session.user(said)
    assert not quoted(built(session, Recall(), History()))


async def test_an_index_is_opened_beside_the_event_loop_and_delays_no_other_scope(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, goes_on, went_on = Event(), Event(), list[bool]()

    def open_slowly(store: Store, scope: str) -> Index:
        if scope == "ana":
            opening.set()
            went_on.append(goes_on.wait(60))
        return Index()

    monkeypatch.setattr("quire.memory.memory.open_index", open_slowly)
    with Store.open(tmp_path / "kept.db") as store:
        session = opened(store=store)
        session.user(ASKED)
        building = asyncio.create_task(session.aio.build(Template(Recall(), budget=Budget(window=1_000))))
        assert await asyncio.to_thread(opening.wait, 60)
        assert not Memory.of(store, "bo").search(ASKED).hits
        goes_on.set()
        await building
        assert went_on == [True]


def test_what_has_too_little_of_the_question_is_on_the_receipt_and_not_shown() -> None:
    store = MemoryStore()
    earlier = Session.open("ana/home", store=store)
    home = earlier.user("I live in Bonn.")
    for number in range(40):
        earlier.user(f"Tell me about topic {number}.")
        earlier.assistant(f"There is much to say, item {number}.")
    now = Session.open("ana/now", store=store)
    now.user("In which city do I live?")
    context = built(now, HELP, History(), Recall())
    assert quoted(context) == ""
    context.sent()
    for receipt in (context.receipt, now.receipts[-1]):
        entry = receipt.explain(home)
        assert (entry.section, entry.fate) == ("recall", "left out") and "too little" in entry.reason


def test_the_input_is_the_question() -> None:
    session = talk()
    asked = session.user(ASKED)
    session.user("And what about Oslo?")
    context = built(session, HELP, History(), Recall(limit=1), Input(), asked=asked)
    assert "heliotrope" in quoted(context)


@pytest.mark.laws
@given(
    st.integers(60, 3_000),
    st.integers(1, 400),
    st.integers(1, 12),
    st.sampled_from([ASKED, "Was it mild in Oslo?", "xyz", "day 7"]),
    st.integers(0, 40),
)
def test_quotes_are_whole_and_within_the_budget(
    window: int, tokens: int, limit: int, question: str, days: int
) -> None:
    session = talk(days=days)
    session.user(question)
    tiers: tuple[Tier, ...] = ("knowledge", "working", "episodes")
    context = built(session, History(), Recall(*tiers, limit=limit, tokens=tokens), window=window)
    shown = [
        entry for entry in context.receipt.entries if entry.section == "recall" and entry.fate == "shown"
    ]
    assert context.receipt.tokens <= window and context.tokens["recall"] <= tokens and len(shown) <= limit
    blocks = [item for item in context.items if isinstance(item, Message) and item.id.startswith("recall/")]
    assert sum(map(counter_for("gpt-5.6").count, blocks)) <= tokens
    quotes = recalled(session.memory, question, tiers=tiers, conversation="one", limit=60)
    lines = {quote.id: quote.line for quote in quotes}
    assert all(any(lines[entry.item_id] in block.text for block in blocks) for entry in shown)


# Tiers


def test_the_tiers_of_a_conversation() -> None:
    store = MemoryStore()
    session = talk(store, days=30)
    opened("ana/two", store).user("elsewhere")
    memory = Memory.of(store, "ana")
    assert [leaf.text for leaf in memory.recent("one", 1)] == [
        "Mild on day 29, with a little wind from the west."
    ]
    session.append(ToolCall("c9", "pay", "{}"), ToolResult("c9", "pay", "the bank refused", is_error=True))
    session.append(ToolCall("c10", "pay", "{}"), ToolResult("c10", "pay", "done"))
    assert memory.working("one", 1)[0].text.endswith("the bank refused")
    assert all(leaf.source == "one" for leaf in memory.working("one", 100))
    episodes = memory.episodes("one", 10)
    assert episodes and all(episode.by_rule and episode.source == "one" for episode in episodes)
    assert {leaf.source for leaf in memory.recent(limit=100)} == {"one", "two"}


@pytest.mark.laws
@given(st.sampled_from(SEVERAL), st.integers(0, 30), st.integers(1, 4))
def test_tiers_take_turns_and_lose_nothing(tiers: tuple[Tier, ...], days: int, limit: int) -> None:
    store = MemoryStore()
    talk(store, days=days)
    memory = Memory(store, "ana")

    def found(*some: Tier) -> list[str]:
        return [one.id for one in recalled(memory, ASKED, tiers=some, conversation="one", limit=limit)]

    together = found(*tiers)
    assert set(together) == {one for tier in tiers for one in found(tier)}
    assert len(together) == len(set(together))
    for tier in tiers:
        assert set(found(tier)[:limit]) <= set(together[: len(tiers) * limit])


# Quoted once


@pytest.mark.parametrize(("place", "window"), [("ana/lamps", 1_200), ("ana/other", 8_000)])
def test_two_sections_do_not_quote_the_same(place: str, window: int) -> None:
    store = MemoryStore()
    opened("ana/lamps", store).append(
        *(Message("user", f"the lamp number {n} costs {n}") for n in range(120))
    )
    sections = HELP, Recall(tokens=200), Recall(tokens=200, name="more"), History()
    asked = Message("user", "what does the lamp number 4 cost?")
    context = built(opened(place, store), *sections, window=window, asked=asked)
    lines = [line for text in texts(context) for line in text.splitlines() if "costs" in line]
    assert len(lines) > 10 and len(lines) == len(set(lines))


@pytest.mark.laws
@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from("123456")), min_size=1, max_size=12, unique=True),
    st.integers(0, 2),
    st.booleans(),
    st.sampled_from([130, 2_000]),
)
def test_everything_is_shown_or_quoted_once_whatever_the_ids(
    sayings: list[tuple[int, str]], asking: int, forked: bool, window: int
) -> None:
    store = MemoryStore()
    sessions = [opened(f"acme/{number}", store) for number in range(3)]
    for at, (number, item_id) in enumerate(sayings):
        text = f"The code of the lamp is lamp{number}x{item_id}."
        sessions[number].append(Message("user", text, id=item_id, created_at=float(at)))
    session = sessions[asking].fork("aside") if forked else sessions[asking]
    session.append(Message("user", "What is the code of the lamp?", id="9"))
    shown = str(texts(built(session, History(), Recall(tokens=400), window=window)))
    counts = {shown.count(f"lamp{number}x{item_id}.") for number, item_id in sayings}
    assert counts == {1} if window == 2_000 else counts <= {0, 1}


@pytest.mark.parametrize("is_reopened", [False, True])
@pytest.mark.parametrize("window", [900, 1_500])
def test_a_block_stays_beside_the_question_until_the_turn_ends(window: int, is_reopened: bool) -> None:
    """Each request extends the one before, also one of another process, unless the cut has moved."""
    store = MemoryStore()
    session, extended, quoting = talk(store), 0, 0
    template = Template(HELP, History(), Recall(tokens=400, limit=4), budget=Budget(window=window))
    for turn in range(3):
        session.user(f"Which word opens the locker, and how was the wind in Oslo on day {turn}?")
        last, cut = list[Any](), None
        for nth in range(9):
            session = Session.open("ana/one", store=store) if is_reopened else session
            context = session.build(template)
            request = send(context).payload["messages"]
            if last and context.cuts.get("history") == cut:
                assert request[: len(last)] == last and len(request) > len(last)
                extended += 1
            last, cut = request, context.cuts.get("history")
            blocks = [at for at, one in enumerate(request) if "<recalled>" in str(one["content"])]
            assert all(f"on day {turn}?" in str(request[at - 1]["content"]) for at in blocks)
            quoting += len(blocks)
            call = f"c{turn}.{nth}"
            found = f"In Oslo on day {nth % 5} the wind bent the locker. " * (1 + nth % 4)
            session.append(ToolCall(call, "look", "{}"), ToolResult(call, "look", found))
        session.assistant("Heliotrope, and mild.")
    assert extended > 10 and quoting > 20
