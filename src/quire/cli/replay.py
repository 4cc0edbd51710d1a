"""Replay: what a compaction policy would have done to a recorded conversation.

Each call of the model is built and rendered as it would have been sent. The only assumption about caches is
that a provider serves the longest beginning that a request shares with the one before it.
"""

from collections.abc import Callable, Sequence
from itertools import takewhile
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
from quire.context import DEFAULT_MODEL, Context, Piece, Template
from quire.errors import Irreducible, OverBudget
from quire.items import Item, Message
from quire.providers import provider_for
from quire.sections import Ask, History, Settings
from quire.state import Pool, Transcript, is_output
from quire.tokens import Budget, Counter, Definition, Prices

KEEP_ALL = "keep-all"

POLICIES: dict[str, Compactor | None] = {
    "default": TruncateOldest(),
    "cut-to-25": TruncateOldest(floor=0.25, ceiling=0.8),
    "clear-in-batches": Cascade(ClearToolResults(), TruncateOldest()),
    "cut-to-75": TruncateOldest(floor=0.75),
    "summarize": Summarize(unit="tokens", size=512),
    "sliding-window": TruncateOldest(floor=1.0),
    "clear-each-call": Cascade(ClearToolResults(at_least=0, ceiling=0), TruncateOldest(floor=1.0)),
    KEEP_ALL: None,
}
"""Policies by name, to compare them. Without a compactor everything is kept."""

USUAL_PRICES = Prices(1.0, 5.0, 0.1, 1.25)
"""What most providers charge, relative to a token of input."""

_UNBOUNDED = 2**40
"""A window that nothing fills, to keep everything."""

_WORD = "sum "
"""Summaries are made of this word, about one token each."""


class Call(NamedTuple):
    """One call: its tokens, those that a cache can serve, and whether a compaction came before it.

    If a summary was written, `prompt` are the tokens that its writer read and `summary` those it wrote.
    """

    tokens: int
    cached: int
    compacted: bool
    faults: int
    over_budget: bool
    prompt: int = 0
    summary: int = 0


class Replay(NamedTuple):
    """All calls of a conversation under one policy; `refused` counts those that could not be made to fit."""

    calls: tuple[Call, ...]
    refused: int

    @property
    def tokens(self) -> int:
        """The tokens sent."""
        return sum(call.tokens for call in self.calls)

    @property
    def cached(self) -> int:
        """The tokens of these that a cache can serve."""
        return sum(call.cached for call in self.calls)

    @property
    def peak(self) -> int:
        """The tokens of the largest call."""
        return max((call.tokens for call in self.calls), default=0)

    @property
    def compactions(self) -> int:
        """The number of compactions."""
        return sum(call.compacted for call in self.calls)

    def bill(self, prices: Prices = USUAL_PRICES) -> float:
        """Return the cost of all input and summaries; by default one token of input costs 1."""
        known = prices.for_all_input()
        bills = (
            (self.cached, known.cache_read),
            (self.tokens - self.cached, known.cache_write),
            (sum(call.prompt for call in self.calls), known.input),
            (sum(call.summary for call in self.calls), known.output),
        )
        return sum(tokens * (price or 0.0) for tokens, price in bills)


def replay(
    items: Sequence[Item],
    compactor: Compactor | None,
    *,
    tokens: int | None,
    counter: Counter,
    model: str = DEFAULT_MODEL,
    volatile: int = 0,
    tools: Sequence[Definition] = (),
    progress: Callable[[int], None] | None = None,
) -> Replay:
    """Record the items one by one, and before each reply of the model build what would have been sent.

    `tokens` is the budget; None keeps everything. `volatile` adds a block of about that many tokens,
    different in each call. The definitions of `tools` are sent with each call. A requested summary is assumed
    to be written in the requested size.
    """
    budget = Budget(window=_UNBOUNDED if tokens is None else tokens)
    template = Template(History(), budget=budget, model=model)
    replayer = _Replayer(compactor, template, counter, Ask(tools=tools))
    calls: list[Call] = []
    refused = 0
    for before, item in zip((None, *items), items, strict=False):
        # The model is called right before its reply begins.
        if before is not None and is_output(item) and not is_output(before):
            words = f"State {len(calls)}:" + " now" * volatile
            try:
                calls.append(replayer.call((Message("system", words),) if volatile else ()))
            except (Irreducible, OverBudget):
                refused += 1
        replayer.transcript.append(item)
        if progress is not None:
            progress(1)
    return Replay(tuple(calls), refused)


class _Replayer:
    def __init__(self, compactor: Compactor | None, template: Template, counter: Counter, ask: Ask) -> None:
        self.transcript = Transcript()
        self._pool = Pool()
        self._compactor = compactor
        self._template = template
        self._counter = counter
        self._ask = ask
        self._wire = provider_for("openai")
        self._sizes: dict[int, tuple[dict[str, Any], int]] = {}
        self._before: Sequence[dict[str, Any]] = ()

    def call(self, block: Sequence[Item]) -> Call:
        """Compact if it is due, and build and render what would have been sent."""
        context = self._built(block)
        plan = self._compacted(context.room())
        if plan is not None:
            context = self._built(block)
        # Without a cache plan: its marks move with each call, and are no content to a cache.
        rendered = self._wire.render(context.items, model=context.model)
        messages, schemas = rendered.payload["messages"], context.receipt.schemas
        # Tool definitions come before all messages and are the same in each call.
        cached = self._shared(messages) + (schemas if self._before else 0)
        self._before = messages
        faults = len(self._wire.check(rendered.payload, context.model))
        tokens = sum(map(self._size, messages)) + schemas
        over = max(context.receipt.tokens, tokens) > context.receipt.available
        asked = plan.request if plan is not None else None
        prompt = 0 if asked is None else sum(map(self._counter.count, asked.prompt))
        return Call(tokens, cached, plan is not None, faults, over, prompt, asked.size if asked else 0)

    def _built(self, block: Sequence[Item]) -> Context:
        pieces = [Piece(History(), self.transcript.view)]
        if block:
            pieces.append(Piece(Settings("volatile"), block))
        return self._template.fit(tuple(pieces), self._ask, counter=self._counter)

    def _compacted(self, room: Room) -> Plan | None:
        plan = None if self._compactor is None else self._compactor.plan(self.transcript.view, room)
        if plan is None:
            return None
        text = None if plan.request is None else _WORD * plan.request.size
        return plan if record(self.transcript, plan, text=text, pool=self._pool) else None

    def _shared(self, messages: Sequence[dict[str, Any]]) -> int:
        """Return the tokens of the messages that this call and the one before it begin with."""
        pairs = zip(self._before, messages, strict=False)
        return sum(self._size(one) for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    def _size(self, message: dict[str, Any]) -> int:
        known = self._sizes.get(id(message))
        if known is None or known[0] is not message:
            items = self._wire.read_history([message])
            known = self._sizes[id(message)] = (message, sum(map(self._counter.count, items)))
        return known[1]
