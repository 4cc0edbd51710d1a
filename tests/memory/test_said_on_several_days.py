"""What was said in the same words on several days is told as of the day that was asked for."""

import asyncio
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from quire import Session
from quire.agent import Agent
from quire.agent.builtin import recall_tools
from quire.context import Context, Template
from quire.items import Message, ToolCall, ToolResult
from quire.memory import Memory, Recall, recalled
from quire.models import Scripted
from quire.sections import History, Input, Instructions
from quire.stores import MemoryStore
from quire.tokens import Budget

DAYS = [(4, 28), (5, 3), (5, 9), (6, 2), (7, 1)]
PILL = "I took my migraine pill."
CANNED = "Done: your refund has been approved and the money is on its way."


def at(month: int, day: int) -> float:
    return datetime(2026, month, day, 9, tzinfo=UTC).timestamp()


def diary(*last: Message) -> Session:
    session = Session.open("ana/diary", store=MemoryStore())
    for month, day in DAYS:
        session.append(Message("user", PILL, created_at=at(month, day)))
        for n in range(20):
            walk = f"Walked {n} km to the lake, day {month}-{day}."
            session.append(Message("user", walk, created_at=at(month, day) + n + 1))
    session.append(*last)
    return session


def tickets() -> MemoryStore:
    store = MemoryStore()
    for n in range(12):
        opened = at(4, 1) + n * 9 * 86_400
        Session.open(f"acme/ticket-{n}", store=store).append(
            Message("user", f"Please refund my order {1000 + n}, the lamp broke.", created_at=opened),
            Message("assistant", CANNED, created_at=opened + 60),
        )
    return store


def built(session: Session, question: str, window: int = 500, limit: int | None = None) -> Context:
    session.append(Message("user", question, created_at=at(8, 1) + 5))
    sections = Instructions("Help."), History(), Recall("knowledge", limit=limit)
    return session.build(Template(*sections, budget=Budget(window=window)))


def told(context: Context) -> str:
    return str(context.render("openai")["messages"][-1]["content"])


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("Did I take a migraine pill on 3 May 2026?", "[Sunday 3 May 2026]"),
        ("Did I take a migraine pill on 28 April 2026?", "[Tuesday 28 April 2026]"),
        ("Did I take a migraine pill in June 2026?", "[Tuesday 2 June 2026]"),
    ],
)
def test_it_is_told_as_of_the_day_that_was_named(question: str, day: str) -> None:
    lines = told(built(diary(), question)).splitlines()
    (nth,) = [nth for nth, line in enumerate(lines) if line.endswith(f": {PILL}")]
    assert lines[nth - 1] == day


def test_the_other_days_are_said_beside_it() -> None:
    text = told(built(diary(), "On which days in May 2026 did I take a migraine pill?"))
    (line,) = [line for line in text.splitlines() if PILL in line]
    days = ["28 April 2026", "3 May 2026", "9 May 2026", "2 June 2026", "1 July 2026"]
    assert all(day in text for day in days) and line.startswith("user (also on ")


def test_it_is_told_as_of_the_conversation_that_answers() -> None:
    session = Session.open("acme/now", store=tickets())
    text = told(built(session, "When was the refund of order 1003 approved?", 4_000, limit=2))
    lines = text.splitlines()
    (nth,) = [nth for nth, line in enumerate(lines) if CANNED in line]
    assert "conversation ticket-3]" in "\n".join(lines[nth - 2 : nth])


def test_the_tool_tells_it_so_too() -> None:
    session = Session.open("acme/now", store=tickets())
    asked = json.dumps({"question": "When was the refund of order 1003 approved?", "limit": 2})
    template = Template(Instructions("Help."), History(), budget=Budget(window=8_000))
    model = Scripted([[ToolCall("c", "recall", asked)], "In April."])
    asyncio.run(Agent(session, template, model=model, tools=recall_tools()).ask("Look it up."))
    (result,) = [item for item in session.view() if isinstance(item, ToolResult)]
    assert "ticket-3]" in result.text and "ticket-11]" not in result.text


def test_what_is_shown_in_the_same_words_hides_no_other_day() -> None:
    today = Message("user", PILL, created_at=at(8, 1))
    context = built(diary(today), "On which days before today did I take my migraine pill?")
    text = told(context)
    (line,) = [line for line in text.splitlines() if PILL in line]
    assert sum(day in text for day in ("28 April", "3 May", "9 May", "2 June", "1 July")) == 5
    quoted = [
        entry for entry in context.receipt.entries if entry.fate == "shown" and entry.rule == "selected"
    ]
    assert any(line.endswith(PILL) for _ in quoted)


def chats(days: int, shown: int) -> Session:
    """A chat a day, the last of which has the same of some days before it."""
    store = MemoryStore()
    for nth in range(days):
        Session.open(f"ana/{min(nth, days - shown)}", store=store).append(
            Message("user", PILL, created_at=at(5, 1 + nth)),
            Message("assistant", "Noted.", created_at=at(5, 1 + nth) + 1),
        )
    return Session.open(f"ana/{days - shown}", store=store)


@pytest.mark.parametrize("shown", [1, 3, 7])
@pytest.mark.parametrize("question", ["On which days did I take my migraine pill?", "migraine pill"])
def test_the_next_day_is_told_where_the_last_ones_are_shown(shown: int, question: str) -> None:
    session = chats(12, shown)
    template = Template(Instructions("Help."), History(), Recall(), Input(), budget=Budget(window=4_000))
    asked = Message("user", question, created_at=at(6, 1))
    messages = session.build(template, input=asked).render("openai")["messages"]
    (text,) = [one["content"] for one in messages if "<recalled>" in one["content"]]
    (line,) = [line for line in text.splitlines() if PILL in line]
    assert f"{12 - shown} May 2026, conversation {11 - shown}]" in text
    assert all(f"{11 - shown - nth} May 2026" in line for nth in range(min(4, 11 - shown)))
    assert "Noted." not in text


@pytest.mark.laws
@given(st.lists(st.integers(0, 59), min_size=1, max_size=12, unique=True), st.data())
def test_whatever_day_is_named_it_is_told(days: list[int], data: st.DataObject) -> None:
    store = MemoryStore()
    session = Session.open("ana/diary", store=store)
    for day in sorted(days):
        session.append(Message("user", PILL, created_at=at(5, 1) + day * 86_400))
    day = data.draw(st.sampled_from(days))
    when = datetime.fromtimestamp(at(5, 1) + day * 86_400, UTC)
    question = f"Did I take a migraine pill on {when.day} {when:%B %Y}?"
    quotes = recalled(Memory(store, "ana"), question, at=at(8, 1))
    assert [quote.at for quote in quotes] == [when.timestamp()]
