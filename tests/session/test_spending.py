"""What a conversation spends, by the list of prices or one's own, and caps that stop a turn in time."""

from typing import Any

import pytest

from quire.compactors import Summarize
from quire.errors import CapReached, InvalidValue
from quire.models import Scripted
from quire.session import Caps
from quire.stores import MemoryStore
from quire.tokens import Prices
from tests.session.opened import TEMPLATE, answer, session, talk, two

OWN = {"my-own-model": Prices(input=10, output=0)}


def million(model: str | None = "my-own-model") -> dict[str, Any]:
    return answer("Hi", input=1_000_000, output=0, model=model)


def test_caps_stop_a_turn_before_it_is_sent() -> None:
    store = MemoryStore()
    one = session(store, caps=Caps(tokens=60))
    for words in "ab":
        one.user("hello")
        one.build(TEMPLATE)
        one.record(answer(words), provider="openai")
    with pytest.raises(CapReached, match=r"64.*60"):
        one.build(TEMPLATE)
    assert session(store).build(TEMPLATE) is not None
    with pytest.raises(CapReached):
        session(store, caps=Caps(cost=0.000001)).build(TEMPLATE)


def test_what_other_processes_spent_counts() -> None:
    with two(caps=Caps(tokens=30)) as (one, other):
        other.record(answer("a"), provider="openai")
        with pytest.raises(CapReached):
            one.build(TEMPLATE)


def test_a_cap_of_cost_does_not_let_pass_what_has_no_price() -> None:
    one = session(caps=Caps(cost=1_000.0))
    with pytest.raises(InvalidValue, match="my-own-model"):
        one.build(TEMPLATE, model="my-own-model")
    one.build(TEMPLATE)
    one.record(million(), provider="openai")
    with pytest.raises(InvalidValue, match="my-own-model"):
        one.build(TEMPLATE)
    again = session(caps=Caps(tokens=10_000_000))
    again.record(million(), provider="openai")
    again.build(TEMPLATE)
    assert again.spending.unpriced == 1


@pytest.mark.parametrize(("own", "missing"), [(Prices(input=3), "output"), (Prices(output=3), "input")])
def test_the_rate_that_is_missing_is_named_before_anything_is_sent(own: Prices, missing: str) -> None:
    one = session(caps=Caps(cost=1), prices={"my-own-model": own})
    with pytest.raises(InvalidValue, match=rf"my-own-model.*{missing}"):
        one.build(TEMPLATE, model="my-own-model")


def test_prices_of_ones_own() -> None:
    one = session(prices=OWN, caps=Caps(cost=15))
    one.record(million(), provider="openai")
    with one.draft() as draft:
        draft.record(million(), provider="openai")
    child = one.fork("x")
    child.record(million(), provider="openai")
    assert child.spending.cost == 10
    with pytest.raises(CapReached, match="20 USD"):
        one.build(TEMPLATE)


PRICED: list[tuple[str, str, float | None]] = [
    ("My-Own-Model", "my-own-model", 1.0),
    ("openai/my-own-model", "my-own-model", 1.0),
    ("openai:my-own-model-2026-11-01", "my-own-model", 1.0),
    ("qwen3:8b", "qwen3", 1.0),
    ("my-own-modell", "my-own-model", None),
    ("not-my-own-model", "my-own-model", None),
    ("gpt-5.6-2026-07-01", "gpt-5.6", 1.0),
    ("gpt-5.6", "gpt-5.6-mine", 4.0),
]


@pytest.mark.parametrize(("model", "own", "price"), PRICED)
def test_whose_price_it_is(model: str, own: str, price: float | None) -> None:
    one = session(prices={own: Prices(input=1, output=1)})
    one.record(million(model), provider="openai")
    assert (one.spending.cost, one.spending.unpriced) == ((price, 0) if price else (0, 1))


def test_what_is_read_from_a_cache_costs_what_other_input_does_unless_it_has_a_price() -> None:
    used = answer("Hi", input=1_000_000, output=0, cached=900_000, model="my-own-model")
    for prices, cost in ((OWN, 10.0), ({"my-own-model": Prices(input=10, output=0, cache_read=1)}, 1.9)):
        one = session(prices=prices)
        one.record(used, provider="openai")
        assert one.spending.cost == pytest.approx(cost)


def test_an_answer_that_names_no_model_is_of_the_one_that_was_asked() -> None:
    one = session(prices=OWN)
    one.user("q")
    one.build(TEMPLATE, model="my-own-model").render("openai")
    one.record(million(None))
    assert (one.spending.cost, one.spending.unpriced) == (10, 0)


def test_what_summaries_cost_is_spent_and_their_writer_has_a_price() -> None:
    writer = Scripted(["They talked."], name="my-own-model")
    with pytest.raises(InvalidValue, match="my-own-model"):
        session(caps=Caps(cost=1), compactor=Summarize(), model=writer)
    one = session(prices=OWN, caps=Caps(cost=1), compactor=Summarize(floor=4, ceiling=8), model=writer)
    talk(one, 6)
    one.compaction.run()
    assert one.spending.requests == 1 and one.spending.tokens > 0 and one.spending.unpriced == 0
    capped = session(caps=Caps(cost=1))
    child = capped.fork("x")
    child.user("hello")
    with pytest.raises(InvalidValue, match="my-own-model"):
        capped.merge(child, keep="summary", model=writer)
    assert capped.spending.requests == 0
