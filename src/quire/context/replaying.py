"""What a policy would have done to a conversation: each call of the model as it would have been sent.

Nothing is guessed about caches but one thing: that a provider serves the longest beginning that a request
shares with the one before it.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from quire.compactors import RATIOS, Compactor, Plan, Request, Room, checked_compactor, rates_of, record
from quire.context.answers import answers_counted
from quire.context.context import Context
from quire.context.gathering import Piece
from quire.context.template import Template
from quire.errors import Irreducible, OverBudget
from quire.items import Item, Message, Summary
from quire.providers import Provider, provider_for
from quire.sections import Ask, History, Settings, function
from quire.state import Pool, Transcript, checked_items, is_output
from quire.tokens import Budget, Counter, Definition, Prices, checked_counter, schema_tokens, whole

UNBOUNDED = 2**40
"""A window that nothing fills, for keeping everything."""

_WORD = "summary "
"""What a summary is made of: about a token each."""


class Call(NamedTuple):
    """One call: its tokens, those that the one before it shares, and whether it was compacted for.

    Where a summary was written for that, `prompt` are the tokens that its writer read and `summary` those it
    wrote.
    """

    tokens: int
    cached: int
    compacted: bool
    faults: int
    over_budget: bool
    prompt: int = 0
    summary: int = 0


class Replay(NamedTuple):
    """All calls of a conversation under one policy; `refused` are those that could not be made to fit."""

    calls: tuple[Call, ...]
    refused: int

    @property
    def tokens(self) -> int:
        """Tokens sent."""
        return sum(call.tokens for call in self.calls)

    @property
    def cached(self) -> int:
        """Tokens of these that a cache can serve."""
        return sum(call.cached for call in self.calls)

    @property
    def peak(self) -> int:
        """Tokens of the largest call."""
        return max((call.tokens for call in self.calls), default=0)

    @property
    def compactions(self) -> int:
        """How often something was taken away."""
        return sum(call.compacted for call in self.calls)

    def bill(self, prices: Prices = RATIOS) -> float:
        """What the input costs, and summaries with it; without prices, where a token of input costs one."""
        rates = rates_of(prices)
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
    """Record the items one by one, and before each reply of the model build what it would have been sent.

    `tokens` is the budget, none for all there is; `volatile` adds a block of about that many tokens that is
    another one in each call; the definitions of `tools` are sent with each, the same ones. A summary that is
    asked for is taken to be written, in the size asked for.
    """
    given = checked_items(items)
    whole(volatile, "volatile", least=0)
    compactor = None if compactor is None else checked_compactor(compactor)
    progress = None if progress is None else function(progress, "progress")
    replayer = _Replayer(compactor, tokens, checked_counter(counter), model, volatile, Ask(tools=tools))
    return replayer.played(given, progress)


class _Replayer:
    def __init__(
        self,
        compactor: Compactor | None,
        tokens: int | None,
        counter: Counter,
        model: str,
        volatile: int,
        ask: Ask,
    ) -> None:
        self._transcript = Transcript()
        self._pool = Pool()
        self._compactor = compactor
        self._template = Template(
            History(), budget=Budget(window=UNBOUNDED if tokens is None else tokens), model=model
        )
        self._counter = counter
        self._wire: Provider = provider_for("openai")
        self._volatile = volatile
        self._ask = ask
        self._schemas = schema_tokens(ask.tools, counter) if ask.tools else 0
        self._sizes: dict[int, tuple[dict[str, Any], int]] = {}
        self._before: Sequence[dict[str, Any]] = ()

    def played(self, items: Sequence[Item], progress: Callable[[int], None] | None) -> Replay:
        calls: list[Call] = []
        refused = 0
        for number, due in enumerate(_dues(items)):
            if due:
                try:
                    calls.append(self._call(len(calls)))
                except (Irreducible, OverBudget):
                    refused += 1
            self._transcript.append(items[number])
            if progress is not None:
                progress(1)
        return Replay(tuple(calls), refused)

    def _call(self, number: int) -> Call:
        block = self._block(number)
        plan = self._compacted(sum(map(self._counter.count, block)))
        context = self._context(block)
        # Without a plan: marks for a cache stand elsewhere in each call, and no cache takes them for content.
        rendered = self._wire.render(context.items, model=self._template.model)
        messages = rendered.payload["messages"]
        # Definitions of tools come before all messages, and are the same in each call.
        cached = self._shared(messages) + (self._schemas if number else 0)
        faults = len(self._wire.check(rendered.payload, self._template.model))
        budget = self._template.budget.available
        tokens = sum(map(self._size, messages)) + self._schemas
        over = context.receipt.tokens > budget or tokens > budget
        asked = plan.request if plan is not None else None
        prompt = 0 if asked is None else sum(map(self._counter.count, asked.prompt))
        return Call(tokens, cached, plan is not None, faults, over, prompt, asked.size if asked else 0)

    def _compacted(self, block: int) -> Plan | None:
        if self._compactor is None:
            return None
        view = self._transcript.view
        beside = block + self._schemas + answers_counted(view, self._counter.count)
        plan = self._compactor.plan(
            view, Room(max(self._template.budget.available - beside, 0), self._counter)
        )
        if plan is None:
            return None
        text = None if plan.request is None else written(plan.request, self._counter)
        return plan if record(self._transcript, plan, text=text, pool=self._pool).fate == "kept" else None

    def _context(self, block: tuple[Item, ...]) -> Context:
        pieces = [Piece(History(), self._transcript.view)]
        if block:
            pieces.append(Piece(Settings("volatile"), block))
        return self._template.fit(tuple(pieces), self._ask, counter=self._counter)

    def _block(self, number: int) -> tuple[Item, ...]:
        if not self._volatile:
            return ()
        words = f"State {number}:" + " now" * self._volatile
        return (Message("system", words, id=f"volatile-{number}", created_at=0.0),)

    def _shared(self, messages: list[dict[str, Any]]) -> int:
        """Tokens of the messages that begin this call and the one before it."""
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


def _dues(items: Sequence[Item]) -> Iterator[bool]:
    """For each item whether the model is asked right before it: where its reply begins."""
    before: Item | None = None
    for item in items:
        yield before is not None and is_output(item) and not is_output(before)
        before = item


def written(request: Request, counter: Counter) -> str:
    """Words in the place of a summary, of the size that was asked for."""
    framed = counter.count(Summary("-"))

    def size(words: int) -> int:
        return counter.count(Summary(_WORD * words)) - framed

    return _WORD * max(bisect_right(range(1, request.size + 2), request.size, key=size), 1)
