"""Comparison of a model's replies to a whole and to a compacted conversation."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Unpack

import msgspec

from quire.compactors import Compactor, record
from quire.context import Context, Piece, Template
from quire.errors import InvalidValue, Irreducible, OverBudget
from quire.items import Item, Message, ToolCall
from quire.models import AnyModel, Asked, summarized
from quire.sections import Ask, History
from quire.session import Session, wait_for
from quire.state import Pool, Transcript, View, is_edit, is_output
from quire.tokens import Budget

_UNBOUNDED = 2**40
"""A window for any conversation."""


class Answered(NamedTuple):
    """An answer of a model: its calls as names with arguments, its text, and the tokens of the request."""

    calls: tuple[tuple[str, Any], ...]
    text: str
    tokens: int

    def __str__(self) -> str:
        """The calls, or the text if there are none."""
        calls = [f"{name}({msgspec.json.encode(values).decode()})" for name, values in self.calls]
        return ", ".join(calls) or repr(self.text)


class Difference(NamedTuple):
    """A reply that changed after a compaction.

    `number` counts the requests from 1, and `before` is the id of the item that the model answered. `whole`
    and `compacted` are the two replies. If the compacted request did not fit, `compacted` is None, and
    `fault` says why.
    """

    number: int
    before: str
    whole: Answered
    compacted: Answered | None
    fault: str = ""

    def __str__(self) -> str:
        """One line: the request, and both replies."""
        return f"request {self.number}: {self.whole} → {self.compacted or self.fault}"


class Comparison(NamedTuple):
    """The comparison of a model's replies to a conversation, whole and compacted.

    `changed` counts the requests that a compaction changed: only those are sent. `differences` are the
    replies whose calls differ; the texts of replies are not compared.
    """

    requests: int
    changed: int
    compactions: int
    differences: tuple[Difference, ...]

    def __str__(self) -> str:
        """The counts, and a line for each difference."""
        head = f"{self.requests:,} requests, {self.changed:,} changed by {self.compactions:,} compactions"
        return "\n".join((f"{head}, {len(self.differences):,} replies differ", *map(str, self.differences)))


def compare(
    conversation: Session | View | Sequence[Item],
    compactor: Compactor | None,
    *,
    model: AnyModel,
    budget: Budget | int,
    writer: AnyModel | None = None,
    **options: Unpack[Asked],
) -> Comparison:
    """Replay a conversation, and before each reply ask the model with all of it, and with it compacted.

    Both replays continue with the recorded reply. `budget` limits a compacted request; without a compactor it
    is cut as a template cuts. `writer` writes summaries, by default the model. The other arguments are those
    of `Model.ask`: ask with `options={"temperature": 0}`. In a test:
    `assert not compare(session, Summarize(), model=model, budget=8_000).differences`.
    """
    items = conversation.view() if isinstance(conversation, Session) else conversation
    recorded = items.recorded() if isinstance(items, View) else list(items)
    content = [item for item in recorded if not is_edit(item)]
    if not any(map(is_output, content)):
        raise InvalidValue("there is no reply in the conversation")
    window = budget if isinstance(budget, Budget) else Budget(window=budget)
    return wait_for(_Replays(compactor, model, writer or model, window, options).run(content))


class _Replays:
    """Two replays of one conversation: the first whole, the second compacted."""

    def __init__(
        self, compactor: Compactor | None, model: AnyModel, writer: AnyModel, budget: Budget, options: Asked
    ) -> None:
        self._compactor, self._model, self._writer, self._options = compactor, model, writer, options
        self._ask, self._pool = Ask(tools=options.get("tools", ())), Pool()
        self._whole = Template(History(), budget=Budget(window=_UNBOUNDED), model=model.name)
        self._fitted = Template(History(), budget=budget, model=model.name)
        self._transcripts = Transcript(), Transcript()
        self._compactions = 0

    async def run(self, items: Sequence[Item]) -> Comparison:
        """Record the items one by one in both replays, and compare before each reply."""
        requests, changed, differences = 0, 0, list[Difference]()
        self._record(items[0])
        for earlier, item in pairwise(items):
            if is_output(item) and not is_output(earlier):
                requests += 1
                whole = self._build(self._whole, 0)
                compacted, fault = await self._compacted()
                if compacted is None or list(compacted.items) != list(whole.items):
                    changed += 1
                    whole_answer = await self._answer(whole)
                    answer = None if compacted is None else await self._answer(compacted)
                    if answer is None or answer.calls != whole_answer.calls:
                        differences.append(Difference(requests, earlier.id, whole_answer, answer, fault))
            self._record(item)
        return Comparison(requests, changed, self._compactions, tuple(differences))

    def _record(self, item: Item) -> None:
        for transcript in self._transcripts:
            transcript.append(item)

    def _build(self, template: Template, number: int) -> Context:
        return template.fit((Piece(History(), self._transcripts[number].view),), self._ask)

    async def _compacted(self) -> tuple[Context | None, str]:
        """The context after due compactions, or why none fits."""
        try:
            context = self._build(self._fitted, 1)
            while (plan := self._plan(context)) is not None:
                text = None if plan.request is None else await summarized(self._writer, plan.request)
                if not record(self._transcripts[1], plan, text=text, pool=self._pool):
                    break
                self._compactions += 1
                context = self._build(self._fitted, 1)
        except (Irreducible, OverBudget) as fault:
            return None, str(fault)
        return context, ""

    def _plan(self, context: Context) -> Any:
        compactor = self._compactor
        return None if compactor is None else compactor.plan(self._transcripts[1].view, context.room())

    async def _answer(self, context: Context) -> Answered:
        parsed = await self._model.ask(context.items, **self._options)
        calls = [(item.name, _arguments_of(item)) for item in parsed.items if isinstance(item, ToolCall)]
        texts = [item.text for item in parsed.items if isinstance(item, Message)]
        return Answered(tuple(calls), "\n".join(texts), context.receipt.tokens)


def _arguments_of(call: ToolCall) -> Any:
    """The decoded arguments, so that order and spaces do not matter; text that is not JSON stays text."""
    try:
        return msgspec.json.decode(call.arguments or "{}")
    except msgspec.DecodeError:
        return call.arguments
