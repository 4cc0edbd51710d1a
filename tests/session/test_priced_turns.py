"""A turn whose price nobody knows is not sent where USD are capped; what is asked beside has its price."""

import asyncio
from typing import Any

import pytest

from quire.compactors import Summarize
from quire.context import Template
from quire.errors import CapReached, InvalidValue
from quire.items import Message
from quire.models import Scripted
from quire.sections import History
from quire.session import Caps, Session
from quire.session.spending import own_prices, price_of
from quire.stores import MemoryStore
from quire.tokens import Budget, Prices, Usage
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


def cached(model: str | None) -> dict[str, Any]:
    """An answer to a prompt of which most was read from a cache."""
    given = answer(model)
    given["usage"]["prompt_tokens_details"] = {"cached_tokens": 900_000}
    return given


def test_cached_input_without_a_rate_of_its_own_costs_what_other_input_does() -> None:
    one = session(caps=Caps(cost=25), prices=OWN)
    for _ in range(2):
        one.user("q")
        build(one)
        one.record(cached("my-own-model"))
    assert (one.spending.cost, one.spending.unpriced) == (20, 0)
    own = {"my-own-model": Prices(input=10, output=0, cache_read=1)}
    other = session(prices=own)
    other.record(cached("my-own-model"))
    assert other.spending.cost == pytest.approx(1.9)
    assert price_of(Usage(input=1_000_000, cache_write=1_000_000), "my-own-model", own_prices(OWN)) == 10


def test_the_rate_that_is_missing_is_named_before_anything_is_sent() -> None:
    for own, missing in ((Prices(input=3), "output"), (Prices(output=3), "input")):
        one = session(caps=Caps(cost=1), prices={"my-own-model": own})
        one.user("q")
        with pytest.raises(InvalidValue, match=f"'my-own-model' is not known for {missing} tokens"):
            build(one)


@pytest.mark.parametrize("is_refused", [False, True])
def test_an_answer_that_names_no_model_is_of_the_one_that_was_asked(is_refused: bool) -> None:
    one = session(caps=Caps(cost=15), prices=OWN)
    one.user("q")
    template = Template(History(), budget=Budget(window=10_000), model="my-own-model")
    asyncio.run(one.build(template)).render("openai")
    if is_refused:
        with pytest.raises(InvalidValue):
            one.record(answer(None, 100), to=".own")
    else:
        one.record(answer(None, 100))
    assert (one.spending.cost, one.spending.unpriced) == (0.001, 0)
    build(one)


@pytest.mark.parametrize("caps", [Caps(cost=1), Caps(scope_cost=1)])
def test_a_writer_without_a_price_is_refused_when_the_session_is_opened(caps: Caps) -> None:
    writer, compactor = Scripted(["They talked."], name="writer"), Summarize(floor=4, ceiling=8)
    with pytest.raises(InvalidValue, match="'writer'"):
        session(caps=caps, compactor=compactor, model=writer)
    session(caps=caps, compactor=compactor, model=writer, prices=WRITER)
    session(caps=Caps(tokens=1), compactor=compactor, model=writer)


def test_so_is_one_that_is_to_write_what_a_fork_did() -> None:
    one = session(caps=Caps(cost=1))
    child = one.fork("x")
    child.user("hello")
    with pytest.raises(InvalidValue, match="'writer'"):
        asyncio.run(one.merge(child, keep="summary", model=Scripted(["Hello."], name="writer")))
    assert one.spending.requests == 0
