"""The same words said several times are quoted once, as they answer best."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from quire.items import Message
from quire.memory import Memory, Recall, recalled
from quire.sections import History, Instructions
from quire.session import Session
from quire.stores import MemoryStore
from tests.memory.talks import DAY, built, opened, quoted

START = 1_700_000_000.0
ON_CALL = "Who is on call for the gateway?"
PILL = "I took my migraine pill."
DAYS = [(4, 28), (5, 3), (5, 9), (6, 2), (7, 1)]


def at(month: int, day: int) -> float:
    return datetime(2026, month, day, 9, tzinfo=UTC).timestamp()


def mornings(days: int) -> MemoryStore:
    """Each morning the same is asked in a conversation of its own; at last the answer is another."""
    store = MemoryStore()
    channel = opened("ops/channel", store)
    channel.append(Message("user", "Olga is on call for the gateway from today.", created_at=START - 60))
    for day in range(days):
        asked = Message("user", ON_CALL, created_at=START + day * DAY)
        answer = Message("assistant", "Olga is on call for the gateway.", created_at=START + day * DAY + 5)
        opened(f"ops/{day}", store).append(asked, answer)
    new = Message("user", "Zadie is on call for the gateway from today.", created_at=START + days * DAY)
    channel.append(new)
    return store


@pytest.mark.parametrize("days", [15, 300])
def test_a_new_fact_is_quoted_among_many_repetitions(days: int) -> None:
    store = mornings(days)
    session = opened("ops/today", store)
    session.user(ON_CALL)
    block = quoted(built(session, History(), Recall(), window=8_000))
    assert "Zadie" in block and block.count("Olga is on call for the gateway.") == 1
    (same,) = [
        one for one in recalled(Memory(store, "ops"), ON_CALL) if one.text.endswith("for the gateway.")
    ]
    assert same.source == str(days - 1), "the newest, if the question does not say which"


LINES = ["the lamp is red", "the lamp is blue", "which lamp?", "a lamp", "red"]


@pytest.mark.laws
@given(st.lists(st.tuples(st.sampled_from(LINES), st.booleans()), max_size=40), st.integers(1, 4))
def test_each_line_of_a_speaker_is_found_once_and_none_is_crowded_out(
    lines: list[tuple[str, bool]], limit: int
) -> None:
    store = MemoryStore()
    for nth, (line, is_user) in enumerate(lines):
        one = Message("user" if is_user else "assistant", line, created_at=START + nth)
        opened(f"ops/{nth % 3}", store).append(one)
    memory = Memory(store, "ops")
    found = [(quote.line, quote.at) for quote in recalled(memory, "the red lamp", limit=limit)]
    assert len({line for line, _ in found}) == len(found)
    best: dict[tuple[str, str], float] = {}
    for hit in memory.search("the red lamp", limit=1_000).hits:
        best.setdefault((hit.leaf.speaker, hit.leaf.text), hit.leaf.at)
    assert {when for _, when in found} <= set(best.values())
    assert len(found) == min(8 * limit, len(best))


def diary(*last: Message) -> Session:
    session = opened("ana/diary")
    for month, day in DAYS:
        session.append(Message("user", PILL, created_at=at(month, day)))
        for n in range(20):
            walk = f"Walked {n} km to the lake, day {month}-{day}."
            session.append(Message("user", walk, created_at=at(month, day) + n + 1))
    session.append(*last)
    return session


def asked(session: Session, question: str, window: int = 500) -> str:
    session.append(Message("user", question, created_at=at(8, 1) + 5))
    return quoted(built(session, Instructions("Help."), History(), Recall(), window=window))


@pytest.mark.parametrize(
    ("when", "day"),
    [
        ("on 3 May 2026", "[Sunday 3 May 2026]"),
        ("on 28 April 2026", "[Tuesday 28 April 2026]"),
        ("in June 2026", "[Tuesday 2 June 2026]"),
    ],
)
def test_they_are_quoted_as_of_the_day_that_is_named_with_the_others(when: str, day: str) -> None:
    lines = asked(diary(), f"Did I take a migraine pill {when}?").splitlines()
    (nth,) = [nth for nth, line in enumerate(lines) if line.endswith(f": {PILL}")]
    assert lines[nth - 1] == day and lines[nth].startswith("user (also on ")
    block = "\n".join(lines)
    assert all(one in block for one in ("28 April", "3 May", "9 May", "2 June", "1 July"))


def test_they_are_quoted_as_of_the_conversation_that_answers() -> None:
    store, canned = MemoryStore(), "Done: your refund has been approved and the money is on its way."
    for n in range(12):
        when = at(4, 1) + n * 9 * DAY
        opened(f"acme/ticket-{n}", store).append(
            Message("user", f"Please refund my order {1000 + n}, the lamp broke.", created_at=when),
            Message("assistant", canned, created_at=when + 60),
        )
    session = opened("acme/now", store)
    lines = asked(session, "When was the refund of order 1003 approved?", window=4_000).splitlines()
    (nth,) = [nth for nth, line in enumerate(lines) if canned in line]
    assert "conversation ticket-3]" in "\n".join(lines[nth - 2 : nth])
