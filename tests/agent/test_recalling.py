"""The tools by which a model looks things up: what was said before, and documents; never another scope's."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.agent import run
from quire.agent.builtin import recall_tools
from quire.items import Message
from quire.memory import Knowledge, Memory, recalled
from quire.session import Session, remove_conversation
from quire.stores import MemoryStore, Store
from quire.tokens import Measured
from tests.agent.answering import agent_of, call, results

WORDS = ("locker", "code", "heliotrope", "harbour", "violin", "kettle", "ladder", "moss")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


def asked(session: Session, question: str, name: str = "recall", **arguments: Any) -> str:
    """What a tool answers in a session."""
    tokens = arguments.pop("tokens", 1_024)
    found = {tool.name: tool for tool in recall_tools(tokens=tokens, counter=Measured())}[name]
    outcome = asyncio.run(run(found, {"question": question, **arguments}, session=session))
    assert not outcome.is_error, outcome.content
    return str(outcome.content)


def lived(store: Store, address: str = "ana/one", turns: int = 30) -> Session:
    """A conversation that began with a secret, long ago."""
    session = Session.open(address, store=store)
    session.user("My locker code is the word heliotrope.")
    for turn in range(turns):
        session.user(f"How is the weather in town {turn}?")
        session.assistant(f"In town {turn} it is sunny.")
    return session


def test_what_was_said_long_ago_with_its_day_speaker_source_and_ids() -> None:
    store = MemoryStore()
    said = lived(store)
    first = said.view().recorded()[0]
    told = asked(said, "What was the code of my locker?", limit=1)
    assert "user: My locker code is the word heliotrope." in told
    assert first.id in told and 'has "' in told
    assert "conversation" not in told.partition("\n")[2]  # it is this one
    elsewhere = asked(Session.open("ana/two", store=store), "What was the code of my locker?", limit=1)
    assert "conversation one]" in elsewhere and "20" in elsewhere


def test_the_order_of_worth_is_that_of_the_one_function_beneath() -> None:
    store = MemoryStore()
    session = lived(store)
    question = "What was the code of my locker?"
    best = recalled(Memory.of(store, "ana"), question, conversation="one", limit=1)[0]
    assert best.line in asked(session, question, limit=1)


def test_tiers_and_other_conversations() -> None:
    store = MemoryStore()
    lived(store)
    here = Session.open("ana/two", store=store)
    here.user("Nothing much.")
    here.assistant("Indeed.")
    here.user("And before?")
    newest = asked(here, "anything", tiers=["recent"], conversation="one", limit=2)
    assert "town 29" in newest and "town 3 " not in newest
    assert "Nothing much." in asked(here, "anything", tiers=["recent"])
    assert asked(here, "anything", tiers=["recent"], conversation="none") == "Nothing was found."


def test_what_the_model_sees_anyway_is_not_told_again() -> None:
    session = lived(MemoryStore())
    asking = session.user("What was the code of my locker?")
    told = asked(session, "What was the code of my locker?")
    assert "heliotrope" in told and asking.id not in told


def test_earlier_answers_of_the_tool_do_not_come_back() -> None:
    store = MemoryStore()
    lived(store)
    arguments = json.dumps({"question": "locker code"})
    agent = agent_of(call("recall", arguments), "It is heliotrope.", tools=recall_tools(), store=store)
    asyncio.run(agent.ask("What was my locker code?"))
    assert "heliotrope" in results(agent)[0].text
    told = asked(Session.open("ana/two", store=store), "What was the code of my locker?")
    assert "[called recall" not in told and "heliotrope" in told


def test_documents_alone() -> None:
    store = MemoryStore()
    session = lived(store)
    Knowledge(store, "ana").add_text("Lockers open with a key at the desk.", source="handbook/desk.md")
    told = asked(session, "How does a locker open?", "search_knowledge")
    assert "[handbook/desk.md]" in told and "at the desk" in told
    assert "heliotrope" not in told and "town" not in told
    both = asked(session, "How does a locker open, and what is its code?")
    assert "at the desk" in both and "heliotrope" in both


def test_documents_are_found_however_much_was_said() -> None:
    store = MemoryStore()
    session = Session.open("ana/one", store=store)
    session.append(*[Message("user", f"The locker key is at the desk, day {day}.") for day in range(3_000)])
    Knowledge(store, "ana").add_text("Lockers open with a key.", source="desk.md")
    session.user("Well?")
    assert "[desk.md]" in asked(session, "Where is the key of the locker at the desk?", "search_knowledge")


def test_documents_that_change_and_go() -> None:
    store = MemoryStore()
    session, knowledge = Session.open("ana/one", store=store), Knowledge(store, "ana")
    _, search = recall_tools()

    def found() -> str:
        return str(asyncio.run(run(search, {"question": "locker"}, session=session)).content)

    knowledge.add_text("# A\n\nThe locker is green.\n\n# B\n\nThe locker is old.", source="desk.md")
    assert "green" in found() and "old" in found()
    knowledge.add_text("# A\n\nThe locker is blue.\n\n# B\n\nThe locker is old.", source="desk.md")
    assert "blue" in found() and "green" not in found() and found().count("old") == 1
    knowledge.remove("desk.md")
    assert found() == "Nothing was found."
    knowledge.add_text("The locker is gone.", source="desk.md")
    remove_conversation(store, knowledge.place)
    assert found() == "Nothing was found."
    knowledge.add_text("The locker is new.", source="other.md")
    assert "new" in found()


def test_what_is_forgotten_is_not_told() -> None:
    session = lived(MemoryStore())
    asked(session, "locker code")
    session.forget(session.view().recorded()[0].id)
    assert "heliotrope" not in asked(session, "What was the code of my locker?")


def test_a_draft_looks_in_the_store_that_it_will_be_merged_into() -> None:
    async def drafted() -> str:
        async with lived(MemoryStore()).draft() as draft:
            outcome = await run(recall_tools()[0], {"question": "locker code"}, session=draft)
        return str(outcome.content)

    assert "heliotrope" in asyncio.run(drafted())


def test_a_scope_without_documents_says_so() -> None:
    assert asked(lived(MemoryStore()), "locker", "search_knowledge") == "Nothing was found."
    assert asked(Session.open("bob/one", store=MemoryStore()), "locker") == "Nothing was found."


def test_what_is_too_long_is_named_by_its_ids() -> None:
    session = Session.open("ana/one", store=MemoryStore())
    long = session.user("locker " * 400)
    session.assistant("I see. " * 200)  # ids are of many tokens or of few: a short one may have room
    session.user("The locker?")
    told = asked(session, "locker", tokens=60)
    assert "60 tokens" in told and long.id in told and "locker locker" not in told


@pytest.mark.laws
@given(own=st.lists(TEXTS, max_size=8), others=st.lists(TEXTS, min_size=1, max_size=8), question=TEXTS)
def test_nothing_of_another_scope_comes_back(own: list[str], others: list[str], question: str) -> None:
    store = MemoryStore()
    mine, theirs = Session.open("ana/one", store=store), Session.open("bob/one", store=store)
    for text in own:
        mine.user(f"mine: {text}")
    for text in others:
        theirs.user(f"theirs: {text}")
    Knowledge(store, "bob").add_text(f"theirs: {question}", source="theirs.md")
    for name in ("recall", "search_knowledge"):
        assert "theirs" not in asked(mine, question, name)
    for tier in ("recent", "working", "episodes"):
        assert "theirs" not in asked(mine, question, tiers=[tier])


@pytest.mark.laws
@given(texts=st.lists(TEXTS, min_size=1, max_size=12), question=TEXTS, tokens=st.integers(40, 400))
def test_an_answer_is_within_its_tokens(texts: list[str], question: str, tokens: int) -> None:
    session = Session.open("ana/one", store=MemoryStore())
    for text in texts:
        session.assistant(text)
    told = asked(session, question, tokens=tokens, limit=50)
    assert Measured().count(Message("system", told)) <= tokens


@pytest.mark.parametrize("arguments", [{"limit": 0}, {"limit": 10_000}, {"tiers": ["attic"]}])
def test_arguments_that_are_none(arguments: dict[str, Any]) -> None:
    session = lived(MemoryStore(), turns=1)
    outcome = asyncio.run(run(recall_tools()[0], {"question": "locker", **arguments}, session=session))
    assert outcome.is_error
