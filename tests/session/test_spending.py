"""What is spent, by the list or by one's own prices; a cap of USD is no cap where nobody knows the price."""

import asyncio
from copy import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.context import Template
from quire.errors import CapReached, InvalidValue, WrongType
from quire.models import Scripted
from quire.sections import History
from quire.session import Caps, Session, Spending
from quire.session.metering import Metered
from quire.session.spending import check_caps, own_prices, price_of, spent_on
from quire.tokens import Budget, Prices, Usage
from tests.session.opened import session

OWN = {"my-own-model": Prices(input=10, output=0)}
MILLION = Usage(input=1_000_000)


def answer(model: str | None, tokens: int = 1_000_000) -> dict[str, Any]:
    said = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi"}}
    usage = {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}
    named = {} if model is None else {"model": model}
    return {"object": "chat.completion", **named, "choices": [said], "usage": usage}


def build(one: Session) -> None:
    asyncio.run(one.build(Template(History(), budget=Budget(window=10_000), model="gpt-5.6")))


def spent(*models: str | None) -> Spending:
    total = Spending()
    total.take(spent_on(MILLION, model) for model in models)
    return total


@pytest.mark.parametrize("caps", [Caps(cost=1_000.0), Caps(scope_cost=1_000.0)])
def test_a_cap_of_cost_does_not_let_pass_what_has_no_price(caps: Caps) -> None:
    one = session(caps=caps)
    one.user("q")
    build(one)
    one.record(answer("my-own-model"))
    with pytest.raises(InvalidValue, match=r"'my-own-model' is not known.*prices=.*cap tokens"):
        build(one)


def test_a_cap_of_tokens_needs_no_price() -> None:
    one = session(caps=Caps(tokens=10_000_000))
    one.user("q")
    one.record(answer("my-own-model"))
    build(one)
    assert one.spending.unpriced == 1


def test_what_will_have_no_price_is_refused_before_it_is_sent() -> None:
    with pytest.raises(InvalidValue, match="my-own-model"):
        check_caps(Caps(cost=5), Spending(), None, model="my-own-model")
    check_caps(Caps(tokens=5, scope_tokens=5), Spending(), None, model="my-own-model")
    check_caps(Caps(cost=5), Spending(), None, own_prices(OWN), model="openai/my-own-model-2026")
    check_caps(Caps(cost=5), Spending(), None, model="gpt-5.6")


def test_a_model_that_was_not_named_has_no_price() -> None:
    with pytest.raises(InvalidValue, match="a model that was not named"):
        check_caps(Caps(cost=5), spent(None), None)


def test_a_session_counts_by_prices_of_ones_own() -> None:
    one = session(prices=OWN, caps=Caps(cost=15))
    one.user("q")
    one.record(answer("my-own-model"))
    assert (one.spending.cost, one.spending.unpriced) == (10, 0)
    build(one)
    with one.draft() as draft:  # what is made of a session has its prices too
        draft.record(answer("my-own-model"))
    child = one.fork("x")
    child.record(answer("my-own-model"))
    assert child.spending.cost == 10
    with pytest.raises(CapReached, match="20 USD are spent; 15"):
        build(one)


def test_an_answer_that_cannot_be_kept_is_counted_by_ones_own_prices() -> None:
    one = session(prices=OWN)
    with pytest.raises(InvalidValue):
        one.record(answer("my-own-model"), to=".own")
    assert one.spending.cost == 10


def test_ones_own_prices_are_those_of_metered_models_too() -> None:
    metered = Metered(Scripted(["Hi"], name="my-own-model"), own_prices(OWN))
    asyncio.run(metered.ask([]))
    (entry,) = metered.written()
    total = Spending()
    total.take([entry.item])
    assert total.requests == 1 and total.unpriced == 0


def test_what_was_recorded_without_a_price_is_priced_once_it_is_said() -> None:
    total = spent("my-own-model", "my-own-model", "gpt-5.6", "theirs")
    assert total.unpriced == 3
    priced = total.priced(own_prices(OWN))
    assert (priced.unpriced, list(priced.unknown)) == (1, ["theirs"])
    assert priced.cost == pytest.approx(total.cost + 20)
    with pytest.raises(CapReached, match="20 USD"):
        check_caps(Caps(cost=15), spent("my-own-model", "my-own-model"), None, own_prices(OWN))


@pytest.mark.parametrize(
    ("model", "own", "price"),
    [
        ("my-own-model", "my-own-model", 1.0),
        ("My-Own-Model", "my-own-model", 1.0),
        ("openai/my-own-model", "my-own-model", 1.0),
        ("openai:my-own-model-2026-11-01", "my-own-model", 1.0),
        ("qwen3:8b", "qwen3", 1.0),
        ("my-own-modell", "my-own-model", None),
        ("not-my-own-model", "my-own-model", None),
        ("gpt-5.6", "gpt-5.6", 1.0),
        ("gpt-5.6-2026-07-01", "gpt-5.6", 1.0),
        ("gpt-5.6", "gpt", 4.0),  # the list knows the longer name
        ("gpt-5.6", "gpt-5.6-mine", 4.0),
    ],
)
def test_whose_price_it_is(model: str, own: str, price: float | None) -> None:
    assert price_of(MILLION, model, own_prices({own: Prices(input=1, output=1)})) == price


@pytest.mark.parametrize("wrong", [3, None, {"input": 3}])
def test_prices_are_prices(wrong: Any) -> None:
    with pytest.raises(WrongType, match="what a model costs is told by Prices"):
        session(prices={"my-own-model": wrong})


models = st.lists(st.sampled_from(["my-own-model", "theirs", "gpt-5.6", None]), max_size=8)


@pytest.mark.laws
@given(before=models, after=models)
def test_spending_is_added_and_taken_apart_again(before: list[str | None], after: list[str | None]) -> None:
    both = spent(*before)
    kept = copy(both)
    both.take(spent_on(MILLION, model) for model in after)
    for total in (both, kept + spent(*after)):
        assert total.unknown == spent(*before, *after).unknown
        assert total.since(kept).unknown == spent(*after).unknown
        assert total.since(kept).unpriced == spent(*after).unpriced
    assert kept.unknown == spent(*before).unknown  # a copy does not grow with what it was made of
