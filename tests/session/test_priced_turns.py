"""A turn whose price nobody knows is not sent where USD are capped; what is asked beside has its price."""

import asyncio

import pytest

from quire.compactors import Summarize
from quire.context import Template
from quire.errors import CapReached, InvalidValue
from quire.items import Message
from quire.models import Scripted
from quire.sections import History
from quire.session import Caps, Session
from quire.stores import MemoryStore
from quire.tokens import Budget, Prices
from tests.session.opened import said, session
from tests.session.test_spending import OWN, answer

WRITER = {"writer": Prices(input=1_000_000, output=0)}


def build(one: Session, model: str | None = "my-own-model") -> None:
    asyncio.run(one.build(Template(History(), budget=Budget(window=10_000)), model=model))


@pytest.mark.parametrize("caps", [Caps(cost=1_000.0), Caps(scope_cost=1_000.0)])
def test_a_model_without_a_price_is_refused_before_anything_is_sent(caps: Caps) -> None:
    one = session(caps=caps)
    one.user("q")
    with pytest.raises(InvalidValue, match="my-own-model"):
        build(one)
    build(one, "gpt-5.6")
    with pytest.raises(InvalidValue, match="my-own-model"), one.draft() as draft:
        build(draft)


def test_ones_own_prices_let_it_pass() -> None:
    one = session(caps=Caps(cost=15), prices=OWN)
    one.user("q")
    build(one)
    one.record(answer("my-own-model"))
    build(one, "openai/my-own-model")


def test_what_was_recorded_without_prices_counts_by_them() -> None:
    store = MemoryStore()
    for _ in range(2):
        session(store).record(answer("my-own-model"))
    other = Session.open("ana/other", store=store, caps=Caps(scope_cost=15), prices=OWN)
    with pytest.raises(CapReached, match="20 USD of the scope are spent; 15"):
        build(other)
    build(Session.open("ana/more", store=store, caps=Caps(scope_cost=25), prices=OWN))


def test_summaries_are_counted_by_ones_own_prices() -> None:
    writer = Scripted(["They talked.", "They talked more."], name="writer")

    async def talk() -> Session:
        compactor = Summarize(floor=4, ceiling=8)
        async with session(compactor=compactor, model=writer, prices=WRITER) as one:
            one.append(*said(*(f"{n}" for n in range(12))), Message("user", "last"))
            await one.compact()
        child = one.fork("x")
        child.user("hello")
        await one.merge(child, keep="summary", model=writer)
        return one

    spending = asyncio.run(talk()).spending
    assert (spending.requests, spending.unpriced) == (2, 0)
    assert spending.cost == spending.usage.input > 0
