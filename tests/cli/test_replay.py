"""What the documentation promises of replays."""

from typing import Any

from quire.cli.replay import POLICIES, Replay, replay
from quire.compactors import Summarize
from quire.items import Item, Message, ToolCall, ToolResult
from quire.tokens import Prices, counter_for, schema_tokens

COUNTER = counter_for("gpt-5.6")


def conversation(turns: int) -> list[Item]:
    items: list[Item] = [Message("system", "You trace parcels. " * 20)]
    for number in range(turns):
        items += [
            Message("user", f"Where is parcel {number}?"),
            ToolCall(f"c{number}", "trace", f'{{"parcel": {number}}}'),
            ToolResult(f"c{number}", "trace", "The parcel left the depot at noon and is on its way. " * 6),
            Message("assistant", "It is on its way."),
        ]
    return items


def played(policy: str, **more: Any) -> Replay:
    tokens = None if policy == "keep-all" else 2_000
    return replay(conversation(60), POLICIES[policy], tokens=tokens, counter=COUNTER, **more)


def test_every_call_of_a_replay_is_accepted_and_fits_and_steps_are_cheaper() -> None:
    bills = dict[str, float]()
    for policy in POLICIES:
        done = played(policy)
        bills[policy] = done.bill()
        assert len(done.calls) == 120 and done.refused == 0, policy
        assert not any(call.faults or call.over_budget for call in done.calls), policy
        assert policy == "keep-all" or done.peak <= 2_000
        assert all(0 <= call.cached < call.tokens for call in done.calls)
    assert bills["cut-to-25"] < bills["default"] < bills["cut-to-75"] < bills["sliding-window"]
    assert bills["default"] < bills["keep-all"]
    plain, block = played("default"), played("default", volatile=100)
    assert block.cached / block.tokens > plain.cached / plain.tokens - 0.15


def test_a_replay_counts_tools_summaries_and_refusals() -> None:
    tools = [{"name": "trace", "description": "Trace one parcel. " * 40, "parameters": {"type": "object"}}]
    bare, armed = played("default"), played("default", tools=tools)
    assert armed.peak <= 2_000 and armed.calls[0].tokens == bare.calls[0].tokens + schema_tokens(
        tools, COUNTER
    )
    done = replay(conversation(60), Summarize(unit="tokens", size=200), tokens=2_000, counter=COUNTER)
    assert done.compactions == sum(call.summary > 0 for call in done.calls) > 0
    assert done.bill() > done.bill(Prices(0.0, 0.0, 0.1, 1.25))
    progress: list[int] = []
    items = [*conversation(3), Message("user", "word " * 3_000), Message("assistant", "Long.")]
    refused = replay(items, POLICIES["default"], tokens=2_000, counter=COUNTER, progress=progress.append)
    assert (refused.refused, len(refused.calls), sum(progress)) == (1, 6, len(items))
