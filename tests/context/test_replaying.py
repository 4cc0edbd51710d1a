"""Replays: what a policy would have sent, call by call."""

import pytest

from quire.compactors import Request, Summarize
from quire.context import POLICIES, Call, Replay, replay
from quire.context.replay import _summary_of_size as written
from quire.errors import InvalidValue
from quire.items import Item, Message, Summary, ToolCall, ToolResult
from quire.tokens import Prices, counter_for, schema_tokens

COUNTER = counter_for("gpt-5.6")
WORDS = "The parcel left the depot at noon and is on its way. "


def conversation(turns: int) -> list[Item]:
    items: list[Item] = [Message("system", "You trace parcels. " * 20)]
    for number in range(turns):
        items += [
            Message("user", f"Where is parcel {number}?"),
            ToolCall(f"c{number}", "trace", f'{{"parcel": {number}}}'),
            ToolResult(f"c{number}", "trace", WORDS * 6),
            Message("assistant", "It is on its way."),
        ]
    return items


def played(policy: str, volatile: int = 0) -> Replay:
    tokens = None if policy == "keep-all" else 2_000
    return replay(conversation(60), POLICIES[policy], tokens=tokens, counter=COUNTER, volatile=volatile)


@pytest.mark.parametrize("policy", POLICIES)
def test_every_call_is_taken_and_fits(policy: str) -> None:
    done = played(policy)
    assert len(done.calls) == 120 and done.refused == 0
    assert not any(call.faults or call.over_budget for call in done.calls)
    assert policy == "keep-all" or done.peak <= 2_000
    assert all(0 <= call.cached < call.tokens for call in done.calls)


def test_steps_are_cheaper_than_a_window_that_slides() -> None:
    bills = {policy: played(policy).bill() for policy in POLICIES}
    assert bills["planner"] <= bills["default"] < bills["cut-to-75"] < bills["sliding-window"]
    assert bills["default"] < bills["keep-all"]
    assert played("keep-all").compactions == 0 < played("default").compactions


def test_a_volatile_block_costs_itself_and_no_more() -> None:
    plain, block = played("default"), played("default", volatile=100)
    assert block.tokens > plain.tokens
    assert block.cached / block.tokens > plain.cached / plain.tokens - 0.15


def test_tool_definitions_take_of_the_budget_and_are_served_by_the_cache() -> None:
    tools = [{"name": "trace", "description": "Trace one parcel. " * 40, "parameters": {"type": "object"}}]
    size = schema_tokens(tools, COUNTER)
    bare, armed = (
        replay(conversation(60), POLICIES["default"], tokens=2_000, counter=COUNTER, tools=given)
        for given in ((), tools)
    )
    assert size > 150 and armed.peak <= 2_000 and armed.compactions > bare.compactions
    assert armed.calls[0].tokens == bare.calls[0].tokens + size and armed.calls[0].cached == 0
    assert armed.calls[1].cached == bare.calls[1].cached + size
    assert not any(call.faults or call.over_budget for call in armed.calls)
    alone = replay(conversation(2), POLICIES["default"], tokens=size, counter=COUNTER, tools=tools)
    assert (len(alone.calls), alone.refused) == (0, 4)


def test_what_cannot_be_made_to_fit_is_refused_and_counted() -> None:
    items = [*conversation(3), Message("user", WORDS * 300), Message("assistant", "Long.")]
    done = replay(items, POLICIES["default"], tokens=2_000, counter=COUNTER)
    assert done.refused == 1 and len(done.calls) == 6


def test_summaries_are_paid_for() -> None:
    asks = Summarize(unit="tokens", size=200)
    done = replay(conversation(60), asks, tokens=2_000, counter=COUNTER)
    assert done.compactions == sum(call.summary > 0 for call in done.calls) > 0
    free = Prices(input=0.0, output=0.0, cache_read=0.1, cache_write=1.25)
    assert done.bill() > done.bill(free)


def test_a_summary_has_the_size_asked_for() -> None:
    asks = Summarize(unit="tokens", size=200)
    done = replay(conversation(60), asks, tokens=2_000, counter=COUNTER)
    at = next(number for number, call in enumerate(done.calls) if call.compacted)
    request = Request((), done.calls[at].summary, (), (), 0)
    framed = COUNTER.count(Summary("-"))
    assert 0 <= request.size - (COUNTER.count(Summary(written(request, COUNTER))) - framed) <= 1


def test_a_provider_without_a_cache_is_paid_for_every_token() -> None:
    done = Replay((Call(1_000, 900, False, 0, False),), 0)
    assert done.bill(Prices(15, 120)) == 15_000 == done.bill(Prices(15, 120, cache_read=15))
    assert done.bill(Prices(15, 120, cache_read=0)) == 1_500
    with pytest.raises(InvalidValue):
        done.bill(Prices(cache_read=1))


def test_progress_is_told() -> None:
    told: list[int] = []
    replay(conversation(3), None, tokens=None, counter=COUNTER, progress=told.append)
    assert sum(told) == len(conversation(3))


def test_nothing_said_is_nothing_sent() -> None:
    done = replay([], None, tokens=None, counter=COUNTER)
    assert (done.calls, done.tokens, done.peak, done.bill()) == ((), 0, 0, 0)
