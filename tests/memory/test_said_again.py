"""What was said again in the same words takes one place, and a question none before what answers it."""

import asyncio
import json

import pytest
from hypothesis import given, strategies as st

from quire import Session
from quire.agent import Agent
from quire.agent.builtin import recall_tools
from quire.context import Template
from quire.items import Message, ToolCall, ToolResult
from quire.memory import Memory, Recall, recalled
from quire.models import Scripted
from quire.sections import History, Instructions
from quire.stores import MemoryStore
from quire.tokens import Budget

DAY = 86_400.0
START = 1_700_000_000.0
ASKED = "Who is on call for the gateway?"
TEMPLATE = Template(Instructions("Help."), History(), Recall(), budget=Budget(window=8_000))


def mornings(days: int) -> MemoryStore:
    """Each morning the same is asked, in a conversation of its own; at last the answer is another."""
    store = MemoryStore()
    channel = Session.open("ops/channel", store=store)
    channel.append(Message("user", "Olga is on call for the gateway from today.", created_at=START - 60))
    for day in range(days):
        at = START + day * DAY
        Session.open(f"ops/{day}", store=store).append(
            Message("user", ASKED, created_at=at),
            Message("assistant", "Olga is on call for the gateway.", created_at=at + 5),
        )
    new = Message("user", "Zadie is on call for the gateway from today.", created_at=START + days * DAY)
    channel.append(new)
    return store


@pytest.mark.parametrize("days", [15, 60, 300])
def test_a_new_fact_is_quoted_among_many_mornings(days: int) -> None:
    session = Session.open("ops/today", store=mornings(days))
    session.user(ASKED)
    quoted = str(session.build(TEMPLATE).render("openai")["messages"])
    assert "Zadie" in quoted and quoted.count("Olga is on call for the gateway.") == 1


@pytest.mark.parametrize("days", [15, 60])
def test_the_tool_gives_it_too(days: int) -> None:
    session = Session.open("ops/today", store=mornings(days))
    call = ToolCall("c", "recall", json.dumps({"question": ASKED, "limit": 3}))
    template = Template(Instructions("Help."), History(), budget=Budget(window=8_000))
    agent = Agent(session, template, model=Scripted([[call], "Zadie."]), tools=recall_tools())
    asyncio.run(agent.ask("Tell me who to ring."))
    (result,) = [item for item in session.view() if isinstance(item, ToolResult)]
    assert "Zadie" in result.text and result.text.count("Olga is on call for the gateway.") == 1


def test_of_the_same_that_no_question_tells_apart_the_newest_is_told() -> None:
    memory = Memory(mornings(20), "ops")
    (told,) = [quote for quote in recalled(memory, ASKED) if quote.text == "Olga is on call for the gateway."]
    assert told.source == "19"


@pytest.mark.parametrize("said", [ASKED, "who is on call for the gateway", f"Again: {ASKED}"])
def test_who_asks_the_same_comes_after_all_that_tell_something(said: str) -> None:
    store = MemoryStore()
    session = Session.open("ops/one", store=store)
    for line in (said, "Zadie is.", said, "The gateway has a call button.", "Nothing of the kind."):
        session.user(line)
    texts = [quote.text for quote in recalled(Memory(store, "ops"), ASKED)]
    assert texts.count(said) == 1 and texts[-1] == said and "Zadie is." in texts


def test_a_question_that_also_tells_something_stays_in_its_place() -> None:
    said = "Who is on call for the gateway? It was Zadie when I looked."
    store = MemoryStore()
    Session.open("ops/one", store=store).user(said)
    Session.open("ops/two", store=store).user("The gateway is grey.")
    assert recalled(Memory(store, "ops"), ASKED)[0].text == said


LINES = ["the lamp is red", "the lamp is blue", "which lamp?", "a lamp", "red"]


@pytest.mark.laws
@given(st.lists(st.tuples(st.sampled_from(LINES), st.booleans()), max_size=40), st.integers(1, 4))
def test_each_line_of_a_speaker_is_found_once_and_none_is_crowded_out(
    lines: list[tuple[str, bool]], limit: int
) -> None:
    store = MemoryStore()
    for nth, (line, is_user) in enumerate(lines):
        one = Message("user" if is_user else "assistant", line, created_at=START + nth)
        Session.open(f"ops/{nth % 3}", store=store).append(one)
    memory = Memory(store, "ops")
    quotes = recalled(memory, "the red lamp", limit=limit)
    found = [(quote.line, quote.at) for quote in quotes]
    assert len({line for line, _ in found}) == len(found)
    best: dict[tuple[str, str], float] = {}
    for hit in memory.search("the red lamp", limit=1_000).hits:
        best.setdefault((hit.leaf.speaker, hit.leaf.text), hit.leaf.at)
    assert {at for _, at in found} <= set(best.values())
    assert len(found) == min(8 * limit, len(best))


@pytest.mark.parametrize("times", [(0.0, 1.0), (1.0, 0.0)])
def test_of_what_is_found_alike_the_newest_comes_first(times: tuple[float, float]) -> None:
    store = MemoryStore()
    names = ("Olga", "Zadie")
    for name, at in zip(names, times, strict=True):
        Session.open(f"ops/{name}", store=store).append(Message("user", f"{name} is on call", created_at=at))
    hits = Memory(store, "ops").search("Who is on call?").hits
    assert [hit.leaf.at for hit in hits] == [1.0, 0.0]


def test_so_many_are_looked_at_as_there_is_need() -> None:
    """A search that finds nothing twice is made once."""
    asked: list[int] = []
    memory = Memory(mornings(60), "ops")
    search = memory.search

    def counted(question: str, **options: object) -> object:
        asked.append(int(str(options["limit"])))
        return search(question, **options)  # type: ignore[arg-type]  # pyright: ignore

    memory.search = counted  # type: ignore  # pyright: ignore
    recalled(memory, "nobody said this", limit=2)
    assert asked == [64]
    recalled(memory, ASKED, limit=2)
    assert asked[1:] == [64, 128]
