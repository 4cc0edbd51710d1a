"""Facts that changed: what holds now is shown first and in little room, what was is marked as earlier."""

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from quire.items import Item, Message
from quire.memory import Memory
from quire.memory.quotes import Quotes
from quire.memory.recall import recalled
from quire.session import Session
from quire.stores import MemoryStore
from quire.tokens import Measured

ROWS = tomllib.loads(Path(__file__).with_name("changed.toml").read_text("utf-8"))
TIGHT = 80
DAY = 86_400.0
_tokens = Measured("cl100k_base").text


class Changed(NamedTuple):
    """A fact that changed, as a row of the file has it."""

    older: str
    newer: str
    question: str
    of_past: str
    was: str
    now: str


def recorded(facts: list[Changed], others: int) -> Memory:
    """Facts in one conversation: all older ones, talk of other things, all newer ones, more such talk."""
    store = MemoryStore()
    said = [*(fact.older for fact in facts), *(f"Chapter {n} was dull." for n in range(others))]
    said += [fact.newer for fact in facts]
    said += [f"The crossword of day {n} took me {n + 3} minutes." for n in range(others)]
    session = Session.open("ana/one", store=store)
    for nth, text in enumerate(said):
        reply = Message("assistant", "Noted, thank you.", created_at=nth * DAY + 1)
        session.append(Message("user", text, created_at=nth * DAY), reply)
    return Memory(store, "ana")


@cache
def all_facts() -> Memory:
    return recorded([Changed(*row) for part in ("tuned", "kept") for row in ROWS[part]], 60)


def _count(item: Item) -> int:
    return _tokens(item.text) if isinstance(item, Message) else 0


def shown(memory: Memory, question: str, tokens: int) -> tuple[list[str], str]:
    """The first quotes, and the block that is shown in some tokens."""
    quotes = recalled(memory, question, at=400 * DAY, conversation="one")
    block = Quotes(quotes, tokens=tokens).select(None, _count)
    text = "".join(item.text for item in block.items if isinstance(item, Message))
    return [quote.line for quote in quotes[:10]], text


def _place(lines: list[str], value: str) -> int:
    return next((nth for nth, line in enumerate(lines) if value in line), len(lines))


@pytest.mark.parametrize("part", ["tuned", "kept"])
def test_what_holds_now_is_first_and_in_little_room_and_what_was_is_marked(part: str) -> None:
    facts = [Changed(*row) for row in ROWS[part]]
    is_shown = is_first = is_marked = is_past = 0
    for fact in facts:
        lines, block = shown(all_facts(), fact.question, TIGHT)
        is_shown += fact.now in block
        is_first += _place(lines, fact.now) < _place(lines, fact.was)
        quoted = [line for line in block.splitlines() if fact.was in line and fact.now not in line]
        is_marked += all("(earlier)" in line for line in quoted)
        is_past += fact.was in shown(all_facts(), fact.of_past, 256)[1]
    assert is_shown >= 0.9 * len(facts)
    assert is_first >= 0.9 * len(facts)
    assert is_marked >= 0.8 * len(facts)
    assert is_past >= 0.9 * len(facts)


@pytest.mark.parametrize("part", ["tuned", "kept"])
def test_what_holds_now_is_first_if_it_is_the_only_fact_of_its_kind(part: str) -> None:
    facts = [Changed(*row) for row in ROWS[part]]
    found = [(fact, shown(recorded([fact], 40), fact.question, TIGHT)[0]) for fact in facts]
    is_first = sum(_place(lines, fact.now) < _place(lines, fact.was) for fact, lines in found)
    assert is_first >= 0.9 * len(facts)
