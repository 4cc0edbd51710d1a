"""Several tiers share the room: none takes that of the others, and what one leaves the others have."""

from itertools import permutations

import pytest
from hypothesis import given, strategies as st

from quire import Session
from quire.context import Template
from quire.memory import Memory, Recall, Tier, recalled
from quire.memory.tiers import TIERS
from quire.sections import History, Instructions
from quire.stores import MemoryStore
from quire.tokens import Budget

SEVERAL = [tiers for many in (2, 3, 4) for tiers in permutations(TIERS, many) if "knowledge" in tiers]


def house(days: int) -> tuple[MemoryStore, Session]:
    store = MemoryStore()
    session = Session.open("a/b", store=store)
    session.user("The word for the locker is heliotrope.")
    for day in range(days):
        session.user(f"How warm was it on day {day}, and was there wind?")
        session.assistant(f"Mild on day {day}, a little wind from the west, some clouds.")
    return store, session


@pytest.mark.parametrize("limit", [None, 6])
@pytest.mark.parametrize("tiers", SEVERAL, ids="-".join)
def test_knowledge_is_told_beside_other_tiers(tiers: tuple[Tier, ...], limit: int | None) -> None:
    _, session = house(150)
    session.user("Which word opens the locker?")
    sections = Instructions("Help."), Recall(*tiers, limit=limit), History()
    context = session.build(Template(*sections, budget=Budget(window=1_500)))
    told = [one["content"] for one in context.render("openai")["messages"] if "<recalled>" in one["content"]]
    assert "heliotrope" in told[0]


@pytest.mark.laws
@given(st.sampled_from(SEVERAL), st.integers(0, 30), st.integers(1, 4))
def test_of_each_tier_the_first_ones_are_found_and_nothing_is_lost(
    tiers: tuple[Tier, ...], days: int, limit: int
) -> None:
    store, _ = house(days)
    memory = Memory(store, "a")

    def found(*some: Tier) -> list[str]:
        quotes = recalled(memory, "Which word opens the locker?", tiers=some, conversation="b", limit=limit)
        return [quote.id for quote in quotes]

    together = found(*tiers)
    assert set(together) == {one for tier in tiers for one in found(tier)}
    assert len(together) == len(set(together))
    for tier in tiers:
        assert set(found(tier)[:limit]) <= set(together[: len(tiers) * limit])
