"""Replays a history under another compaction policy, and computes what the requests would have cost.

Each request is built and rendered as it would have been sent. The only assumption about caches is that a
provider serves the longest beginning that a request shares with the one before it, if it has at least the
`cache_minimum` of the model.
"""

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from itertools import pairwise
from typing import Any, NamedTuple

from quire.compactors import (
    Cascade,
    ClearToolResults,
    Compactor,
    Plan,
    Room,
    Summarize,
    TruncateOldest,
    record,
)
from quire.context.context import Context
from quire.context.fit import Piece
from quire.context.template import DEFAULT_MODEL, Template
from quire.errors import EditRefused, Irreducible, OverBudget, UnknownId
from quire.items import Edit, Item, Message
from quire.providers import provider_for
from quire.sections import Ask, History, Settings
from quire.state import Pool, Transcript, is_output
from quire.tokens import Budget, Counter, Definition, Prices, facts_for

KEEP_ALL = "keep-all"

POLICIES: dict[str, Compactor | None] = {
    "default": TruncateOldest(),
    "cut-to-25": TruncateOldest(floor=0.25, ceiling=0.8),
    "clear-in-batches": Cascade(ClearToolResults(), TruncateOldest()),
    "summarize": Summarize(unit="tokens", size=512),
    "sliding-window": TruncateOldest(floor=1.0),
    KEEP_ALL: None,
}
"""Policies by name. `None` keeps all items."""

USUAL_PRICES = Prices(1.0, 5.0, 0.1, 1.25)
"""Typical prices relative to the price of an input token."""

_UNBOUNDED = 2**40
"""A window that no history can fill."""

_WORD = "sum "
"""Simulated summaries repeat this word, which is about one token."""


class Call(NamedTuple):
    """One request: its tokens, the number a cache can serve, and whether a compaction came before it.

    `faults` counts what the provider would refuse. If a summary was written, `prompt` and `summary` are the
    input and output tokens for it.
    """

    tokens: int
    cached: int
    compacted: bool
    faults: int
    over_budget: bool
    prompt: int = 0
    summary: int = 0


class Replay(NamedTuple):
    """All requests of a conversation under one policy; `refused` counts those that did not fit.

    Requests with fewer than `cache_minimum` tokens are not cached.
    """

    calls: tuple[Call, ...]
    refused: int
    cache_minimum: int = 0

    def bill(self, prices: Prices = USUAL_PRICES) -> float:
        """The cost of all input and all summaries; by default in units of the price of an input token."""
        known = prices.for_all_input()

        def cost(call: Call) -> float:
            is_written = call.tokens >= self.cache_minimum
            return (
                call.cached * (known.cache_read or 0.0)
                + (call.tokens - call.cached) * ((known.cache_write if is_written else known.input) or 0.0)
                + call.prompt * (known.input or 0.0)
                + call.summary * (known.output or 0.0)
            )

        return sum(map(cost, self.calls))


def summed(replays: Sequence[Replay]) -> dict[str, Any]:
    """The figures of one policy over several histories."""
    calls = [call for replayed in replays for call in replayed.calls]
    sent = sum(call.tokens for call in calls)
    return {
        "cached_share": round(sum(call.cached for call in calls) / sent, 4) if sent else None,
        "peak": max((call.tokens for call in calls), default=0),
        "calls": len(calls),
        "compactions": sum(call.compacted for call in calls),
        "invalid": sum(call.faults > 0 for call in calls),
        "over_budget": sum(call.over_budget for call in calls),
        "refused": sum(replayed.refused for replayed in replays),
    }


def known_prices(model: str) -> Prices | None:
    """The prices of a model in USD for a million tokens; `None` if that of input or output is not known."""
    prices = facts_for(model).prices
    return None if prices.input is None or prices.output is None else prices


def replay(
    items: Sequence[Item],
    compactor: Compactor | None,
    *,
    tokens: int | None,
    counter: Counter,
    model: str = DEFAULT_MODEL,
    volatile: int = 0,
    tools: Sequence[Definition] = (),
    before: Sequence[Piece] = (),
    provider: str | None = "openai",
) -> Replay:
    """Record the items one by one, and build the request before each reply of the model.

    `tokens` is the budget; with `None` it is unlimited. `volatile` adds a block of about that many tokens,
    which differs in each request. `tools` and the pieces `before` the history are part of each request.
    Recorded edits that conflict with those of the policy are left out. Summaries are assumed to have the
    requested size. Each request is rendered for the `provider`, and its faults are counted; with `None`,
    which is much faster, it is only built.
    """
    budget = Budget(window=_UNBOUNDED if tokens is None else tokens)
    template = Template(History(), budget=budget, model=model)
    replayer = _Replayer(compactor, template, counter, Ask(tools=tools), before, provider)
    calls: list[Call] = []
    refused = 0
    replayer.transcript.extend(items[:1])
    for earlier, item in pairwise(items):
        # The model is called right before its reply begins.
        if is_output(item) and not is_output(earlier):
            words = f"State {len(calls)}:" + " now" * volatile
            try:
                calls.append(replayer.call((Message("system", words),) if volatile else ()))
            except (Irreducible, OverBudget):
                refused += 1
        # An edit on record may conflict with an edit of the policy.
        with suppress(EditRefused, UnknownId) if isinstance(item, Edit) else nullcontext():
            replayer.transcript.append(item)
    return Replay(tuple(calls), refused, replayer.cache_minimum)


class _Replayer:
    def __init__(
        self,
        compactor: Compactor | None,
        template: Template,
        counter: Counter,
        ask: Ask,
        before: Sequence[Piece],
        provider: str | None,
    ) -> None:
        self.transcript = Transcript()
        self.cache_minimum = facts_for(template.model).cache_minimum or 0
        self._pool = Pool()
        self._compactor = compactor
        self._template = template
        self._counter = counter
        self._ask = ask
        self._before = before
        self._wire = None if provider is None else provider_for(provider)
        self._previous: Context | None = None

    def call(self, block: Sequence[Item]) -> Call:
        """Compact if that is due, then build and render the request."""
        context = self._built(block)
        plan = compact(self.transcript, self._compactor, context.room(), self._pool)
        if plan is not None:
            context = self._built(block)
        faults = 0
        if self._wire is not None:
            # No cache plan is rendered, because its marks differ in each request.
            payload = self._wire.render(context.items, model=context.model).shared
            faults = len(self._wire.check(payload, context.model))
        count = self._counter.count
        tokens = context.items.counted(self._counter) + context.receipt.schemas
        cached = 0
        if self._previous is not None:
            # Tool definitions come before all messages and are the same in each call.
            shared, new = context.items[: context.shared], context.items[context.shared :]
            if len(shared) < len(new):  # count the smaller part
                cached = sum(map(count, shared)) + context.receipt.schemas
            else:
                cached = tokens - sum(map(count, new))
            cached = cached if cached >= self.cache_minimum else 0
        self._previous = context
        over = max(context.receipt.tokens, tokens) > context.receipt.available
        request = plan.request if plan is not None else None
        prompt = 0 if request is None else sum(map(count, request.prompt))
        return Call(tokens, cached, plan is not None, faults, over, prompt, request.size if request else 0)

    def _built(self, block: Sequence[Item]) -> Context:
        pieces = [*self._before, Piece(History(), self.transcript.view)]
        if block:
            pieces.append(Piece(Settings("volatile"), block))
        return self._template.fit(tuple(pieces), self._ask, counter=self._counter, previous=self._previous)


def compact(transcript: Transcript, compactor: Compactor | None, room: Room, pool: Pool) -> Plan | None:
    """Carry out the plan of a compactor, if it has one, and return the plan.

    A summary is assumed to have the requested size.
    """
    plan = None if compactor is None else compactor.plan(transcript.view, room)
    if plan is None:
        return None
    text = None if plan.request is None else _WORD * plan.request.size
    return plan if record(transcript, plan, text=text, pool=pool) else None
