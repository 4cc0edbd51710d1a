"""What is in several tiers is told as it answers, whichever of them has it first."""

import pytest

from quire import Session
from quire.context import Template
from quire.items import Message, ToolCall, ToolResult
from quire.memory import Memory, Recall, Tier, recalled
from quire.sections import History, Instructions
from quire.stores import MemoryStore
from quire.tokens import Budget
from tests.memory.test_tiers_share import SEVERAL

DAY = 86_400.0
_BEFORE = "\n".join(f"order {nth}: shipped" for nth in range(600))
_AFTER = "\n".join(f"note {nth}: none" for nth in range(300))
CUSTOMER = f"{_BEFORE}\nphone: 555-0199\n{_AFTER}"
ASKED = "What is the phone number of customer C-4411?"


def customers(turns: int) -> tuple[MemoryStore, Session]:
    store = MemoryStore()
    session = Session.open("dev/repo", store=store)
    session.user("Please go on.")
    call = ToolCall("c", "get_customer", '{"customer_id": "C-4411"}')
    session.append(call, ToolResult("c", content=CUSTOMER, name="get_customer"))
    for nth in range(turns):
        session.user(f"Rename variable v{nth}.")
        session.assistant(f"Renamed v{nth}.")
    return store, session


@pytest.mark.parametrize("limit", [None, 8])
@pytest.mark.parametrize("tiers", [("knowledge",), *SEVERAL], ids="-".join)
def test_of_a_long_result_the_part_that_answers_is_told(tiers: tuple[Tier, ...], limit: int | None) -> None:
    _, session = customers(60)
    session.user(ASKED)
    sections = Instructions("Help."), History(), Recall(*tiers, limit=limit)
    context = session.build(Template(*sections, budget=Budget(window=2_200)))
    assert "555-0199" in str(context.render("openai")["messages"][-1]["content"])


@pytest.mark.parametrize("tier", ["working", "recent"])
def test_a_tier_by_itself_tells_that_part_too(tier: Tier) -> None:
    store, _ = customers(0)
    quotes = recalled(Memory(store, "dev"), ASKED, tiers=tier, conversation="repo")
    (long,) = [quote for quote in quotes if quote.shorter is not None]
    assert long.shorter is not None and "555-0199" in long.shorter(long.line, 400)


@pytest.mark.parametrize("tiers", [("working", "knowledge"), ("recent", "knowledge")], ids="-".join)
def test_the_other_days_are_said_whichever_tier_comes_first(tiers: tuple[Tier, ...]) -> None:
    store = MemoryStore()
    for day in range(3):
        pill = Message("user", "I took my migraine pill.", created_at=day * DAY)
        Session.open(f"ana/{day}", store=store).append(pill)
    best = recalled(Memory(store, "ana"), "Which pill do I take?", tiers=tiers, conversation="2")[0]
    assert "(also on 1 January 1970, 2 January 1970)" in best.line
