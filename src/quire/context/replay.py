"""Replay: what a compaction policy would have done to a recorded conversation.

Each call of the model is built and rendered as it would have been sent. The only assumption about caches is
that a provider serves the longest beginning that a request shares with the one before it.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from quire.compactors import (
    RATES,
    Cascade,
    ClearToolResults,
    Compactor,
    Plan,
    Planner,
    Rates,
    Request,
    Room,
    Summarize,
    TruncateOldest,
    checked_compactor,
    record,
)
from quire.context.fit import pending_tokens
from quire.context.piece import Piece
from quire.context.template import Template
from quire.errors import InvalidValue, Irreducible, OverBudget, cut
from quire.items import Item, Message, Summary
from quire.providers import Provider, provider_for
from quire.sections import Ask, History, Settings
from quire.state import Pool, Transcript, checked_items, is_output
from quire.tokens import Budget, Counter, Definition, schema_tokens, whole

KEEP_ALL = "keep-all"
_CHOICE = (ClearToolResults(), TruncateOldest())

POLICIES: dict[str, Compactor | None] = {
    "default": TruncateOldest(),
    "planner": Planner(*_CHOICE),
    "clear-in-batches": Cascade(ClearToolResults(), TruncateOldest()),
    "cut-to-75": TruncateOldest(floor=0.75),
    "summarize": Summarize(unit="tokens", size=512),
    "sliding-window": TruncateOldest(floor=1.0),
    "clear-each-call": Cascade(ClearToolResults(at_least=0, ceiling=0), TruncateOldest(floor=1.0)),
    KEEP_ALL: None,
}
"""Policies by name, to compare them. Without a compactor everything is kept."""


def compactor_for(policy: str, model: str | None = None) -> Compactor | None:
    """Return the compactor of a policy; a planner uses the prices of the model."""
    if policy not in POLICIES:
        raise InvalidValue(f"no policy {cut(str(policy))!r}; there are {', '.join(POLICIES)}")
    return Planner(*_CHOICE, model=model) if policy == "planner" else POLICIES[policy]


UNBOUNDED = 2**40
"""A window that nothing fills, to keep everything."""

_WORD = "summary "
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

    def bill(self, rates: Rates = RATES) -> float:
        """Return the cost of all input and summaries; by default one token of input costs 1."""
        sent = sum(
            rates.read * call.cached + rates.write * (call.tokens - call.cached) for call in self.calls
        )
        return sent + sum(rates.input * call.prompt + rates.output * call.summary for call in self.calls)


def replay(
    items: Sequence[Item],
    compactor: Compactor | None,
    *,
    tokens: int | None,
    counter: Counter,
    model: str = "gpt-5.6",
    volatile: int = 0,
    tools: Sequence[Definition] = (),
    progress: Callable[[int], None] | None = None,
) -> Replay:
    """Record the items one by one, and before each reply of the model build what would have been sent.

    `tokens` is the budget; None keeps everything. `volatile` adds a block of about that many tokens,
    different in each call. The definitions of `tools` are sent with each call. A requested summary is assumed
    to be written in the requested size.
    """
    given = checked_items(items)
    whole(volatile, "volatile", least=0)
    template = Template(History(), budget=Budget(window=UNBOUNDED if tokens is None else tokens), model=model)
    policy = None if compactor is None else checked_compactor(compactor)
    replayer = _Replayer(policy, template, counter, volatile, Ask(tools=tools))
    calls: list[Call] = []
    refused = 0
    for before, item in zip((None, *given), given, strict=False):
        # The model is called right before its reply begins.
        if before is not None and is_output(item) and not is_output(before):
            try:
                calls.append(replayer.call(len(calls)))
            except (Irreducible, OverBudget):
                refused += 1
        replayer.transcript.append(item)
        if progress is not None:
            progress(1)
    return Replay(tuple(calls), refused)


class _Replayer:
    def __init__(
        self, compactor: Compactor | None, template: Template, counter: Counter, volatile: int, ask: Ask
    ) -> None:
        self.transcript = Transcript()
        self._pool = Pool()
        self._compactor = compactor
        self._template = template
        self._counter = counter
        self._wire: Provider = provider_for("openai")
        self._volatile = volatile
        self._ask = ask
        self._schemas = schema_tokens(ask.tools, counter) if ask.tools else 0
        self._sizes: dict[int, tuple[dict[str, Any], int]] = {}
        self._before: Sequence[dict[str, Any]] = ()

    def call(self, number: int) -> Call:
        """Compact if it is due, and build and render what would have been sent."""
        words = f"State {number}:" + " now" * self._volatile
        block = (Message("system", words, id=f"volatile-{number}", created_at=0.0),) if self._volatile else ()
        plan = self._compacted(sum(map(self._counter.count, block)))
        pieces = [Piece(History(), self.transcript.view)]
        pieces += [Piece(Settings("volatile"), block)] if block else []
        context = self._template.fit(tuple(pieces), self._ask, counter=self._counter)
        # Without a cache plan: its marks move with each call, and are no content to a cache.
        rendered = self._wire.render(context.items, model=self._template.model)
        messages = rendered.payload["messages"]
        # Tool definitions come before all messages and are the same in each call.
        cached = self._shared(messages) + (self._schemas if number else 0)
        faults = len(self._wire.check(rendered.payload, self._template.model))
        tokens = sum(map(self._size, messages)) + self._schemas
        over = max(context.receipt.tokens, tokens) > self._template.budget.available
        asked = plan.request if plan is not None else None
        prompt = 0 if asked is None else sum(map(self._counter.count, asked.prompt))
        return Call(tokens, cached, plan is not None, faults, over, prompt, asked.size if asked else 0)

    def _compacted(self, block: int) -> Plan | None:
        if self._compactor is None:
            return None
        view = self.transcript.view
        beside = block + self._schemas + pending_tokens(view, self._counter.count)
        plan = self._compactor.plan(
            view, Room(max(self._template.budget.available - beside, 0), self._counter)
        )
        if plan is None:
            return None
        text = None if plan.request is None else _summary_of_size(plan.request, self._counter)
        return plan if record(self.transcript, plan, text=text, pool=self._pool).fate == "kept" else None

    def _shared(self, messages: list[dict[str, Any]]) -> int:
        """Return the tokens of the messages that this call and the one before it begin with."""
        shared = 0
        for one, other in zip(self._before, messages, strict=False):
            if one is not other and one != other:
                break
            shared += self._size(other)
        self._before = messages
        return shared

    def _size(self, message: dict[str, Any]) -> int:
        known = self._sizes.get(id(message))
        if known is None or known[0] is not message:
            items = self._wire.read_history([message])
            known = self._sizes[id(message)] = (message, sum(map(self._counter.count, items)))
        return known[1]


def _summary_of_size(request: Request, counter: Counter) -> str:
    """Return a text in place of a summary, in the requested size."""
    framed = counter.count(Summary("-"))

    def size(words: int) -> int:
        return counter.count(Summary(_WORD * words)) - framed

    return _WORD * max(bisect_right(range(1, request.size + 2), request.size, key=size), 1)
