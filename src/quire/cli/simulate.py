"""The command `simulate`: histories replayed under compaction policies, and what each would have cost.

Each call of the model is built and rendered as it would have been sent. The only assumption about caches is
that a provider serves the longest beginning that a request shares with the one before it.
"""

from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Annotated, Any, NamedTuple

import typer

from quire.cli.histories import History as FileHistory, read_histories
from quire.cli.options import COUNTED_AS, AsJson, BudgetTokens, File, Source
from quire.cli.phrases import plural
from quire.cli.terminal import errors_reported, say, table, write_json
from quire.compactors import Cascade, ClearToolResults, Compactor, Plan, Summarize, TruncateOldest, record
from quire.context import DEFAULT_MODEL, Context, Piece, Template
from quire.errors import InvalidValue, Irreducible, OverBudget, cut
from quire.items import Item, Message
from quire.providers import provider_for
from quire.sections import Ask, History, Settings
from quire.state import Pool, Transcript, is_output
from quire.tokens import Budget, Counter, Definition, Prices, counter_for, facts_for

KEEP_ALL = "keep-all"

POLICIES: dict[str, Compactor | None] = {
    "default": TruncateOldest(),
    "cut-to-25": TruncateOldest(floor=0.25, ceiling=0.8),
    "clear-in-batches": Cascade(ClearToolResults(), TruncateOldest()),
    "summarize": Summarize(unit="tokens", size=512),
    "sliding-window": TruncateOldest(floor=1.0),
    KEEP_ALL: None,
}
"""Policies by name. Without a compactor everything is kept."""

USUAL_PRICES = Prices(1.0, 5.0, 0.1, 1.25)
"""What most providers charge, relative to a token of input."""

_UNBOUNDED = 2**40
"""A window that nothing fills."""

_WORD = "sum "
"""Summaries are made of this word, about one token each."""


def simulate(
    file: File,
    budget: BudgetTokens,
    policy: Annotated[
        list[str] | None, typer.Option(help="a policy to replay; may be repeated; all by default")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="count and charge as this model does; by default the one in the file")
    ] = None,
    source: Source = None,
    volatile: Annotated[int, typer.Option(min=0, help="tokens of a block that differs in each call")] = 0,
    json: AsJson = False,
) -> None:
    """Replay histories call by call under policies, and compare what each would have cost."""
    with errors_reported():
        names = list(dict.fromkeys((*(policy or POLICIES), KEEP_ALL)))
        if unknown := [name for name in names if name not in POLICIES]:
            raise InvalidValue(f"no policy {cut(unknown[0])!r}; there are {', '.join(POLICIES)}")
        histories = read_histories(file, source)
        counted_as = _model_for(histories, model)
        replays = {
            name: [
                replay(
                    history.items(source),
                    POLICIES[name],
                    tokens=None if name == KEEP_ALL else budget,
                    counter=counter_for(counted_as),
                    model=counted_as,
                    volatile=volatile,
                    tools=history.tools,
                )
                for history in histories
            ]
            for name in names
        }
        report = {
            "budget": budget,
            "model": counted_as,
            "volatile": volatile,
            **_figures(replays, counted_as),
        }
        if json:
            write_json(report)
        else:
            _print_report(report, file)


def _model_for(histories: Sequence[FileHistory], asked: str | None) -> str:
    found = sorted({history.model for history in histories if history.model is not None})
    if asked is None and len(found) > 1:
        raise InvalidValue(f"the histories are for {len(found)} models: choose one with --model")
    return asked or (found[0] if found else COUNTED_AS)


# The report


def _figures(replays: "dict[str, list[Replay]]", model: str) -> dict[str, Any]:
    """The figures of all policies; the bill is a ratio to that of keeping everything."""
    calls = sum(len(one.calls) for one in replays[KEEP_ALL])
    if not calls:
        raise InvalidValue("no model is called in it: no message is followed by a reply")
    own = facts_for(model).prices
    prices = USUAL_PRICES if own.input is None or own.output is None else own
    bills = {name: sum(one.bill(prices) for one in some) for name, some in replays.items()}
    policies = {name: summed(some) for name, some in replays.items()}
    for name, row in policies.items():
        row["bill"] = round(bills[name] / bills[KEEP_ALL], 4) if row["calls"] and bills[KEEP_ALL] else None
        row["usd"] = round(bills[name] / 1_000_000, 6) if row["calls"] and prices is own else None
    return {
        "model": model,
        "histories": len(replays[KEEP_ALL]),
        "calls": calls,
        "prices": "of the model" if prices is own else "usual",
        "policies": policies,
    }


def summed(replays: "list[Replay]") -> dict[str, Any]:
    """The figures of one policy, over all histories."""
    calls = [call for one in replays for call in one.calls]
    sent = sum(call.tokens for call in calls)
    return {
        "cached_share": round(sum(call.cached for call in calls) / sent, 4) if sent else None,
        "peak": max((call.tokens for call in calls), default=0),
        "calls": len(calls),
        "compactions": sum(call.compacted for call in calls),
        "invalid": sum(call.faults > 0 for call in calls),
        "over_budget": sum(call.over_budget for call in calls),
        "refused": sum(one.refused for one in replays),
    }


_COLUMNS = (
    ("cached_share", "cached", "{:.1%}"),
    ("bill", "bill", "{:.2f}"),
    ("usd", "USD", "{:,.4f}"),
    ("peak", "peak", "{:,}"),
    ("compactions", "compacted", "{:,}"),
    ("invalid", "invalid", "{:,}"),
    ("over_budget", "over", "{:,}"),
    ("refused", "refused", "{:,}"),
)
"""The printed figures: field, header and format."""


def _print_report(report: dict[str, Any], file: str) -> None:
    histories = f"{report['histories']:,} histories, " if report["histories"] > 1 else ""
    head = f"{file}: {histories}{plural(report['calls'], 'call')}, budget {report['budget']:,} tokens"
    say(f"{head}, {report['model']}\n")
    policies, is_own = report["policies"], report["prices"] == "of the model"
    columns = [column for column in _COLUMNS if is_own or column[0] != "usd"]
    rows = [("policy", *(header for _, header, _ in columns))]
    for name, row in policies.items():
        cells = ("-" if row[field] is None else style.format(row[field]) for field, _, style in columns)
        rows.append((name, *cells))
    table(rows)
    usual = "what most providers charge: 0.1 for a cached token, 1.25 for one that is not"
    prices = f"the prices of {report['model']}" if is_own else usual
    say(f"\nThe bill is a ratio to keep-all, at {prices}.")
    for name, row in policies.items():
        if row["refused"]:
            calls = plural(row["refused"], "call")
            say(f"! {name}: {calls} could not be made to fit: its bill is without them")


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

    def bill(self, prices: Prices = USUAL_PRICES) -> float:
        """The cost of all input and summaries; by default one token of input costs 1."""
        known = prices.for_all_input()
        costs = (
            call.cached * (known.cache_read or 0.0)
            + (call.tokens - call.cached) * (known.cache_write or 0.0)
            + call.prompt * (known.input or 0.0)
            + call.summary * (known.output or 0.0)
            for call in self.calls
        )
        return sum(costs)


def replay(
    items: Sequence[Item],
    compactor: Compactor | None,
    *,
    tokens: int | None,
    counter: Counter,
    model: str = DEFAULT_MODEL,
    volatile: int = 0,
    tools: Sequence[Definition] = (),
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
    replayer.transcript.extend(items[:1])
    for before, item in pairwise(items):
        # The model is called right before its reply begins.
        if is_output(item) and not is_output(before):
            words = f"State {len(calls)}:" + " now" * volatile
            try:
                calls.append(replayer.call((Message("system", words),) if volatile else ()))
            except (Irreducible, OverBudget):
                refused += 1
        replayer.transcript.append(item)
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
        self._previous: Context | None = None

    def call(self, block: Sequence[Item]) -> Call:
        """Compact if it is due, and build and render what would have been sent."""
        context = self._built(block)
        plan = self._compacted(context)
        if plan is not None:
            context = self._built(block)
        # Without a cache plan: its marks move with each call, and are no content to a cache.
        payload = self._wire.render(context.items, model=context.model).payload
        faults = len(self._wire.check(payload, context.model))
        count, schemas = self._counter.count, context.receipt.schemas
        tokens = sum(map(count, context.items)) + schemas
        cached = 0
        if self._previous is not None:
            # Tool definitions come before all messages and are the same in each call.
            cached = sum(map(count, _shared(self._previous.items, context.items))) + schemas
        self._previous = context
        over = max(context.receipt.tokens, tokens) > context.receipt.available
        asked = plan.request if plan is not None else None
        prompt = 0 if asked is None else sum(map(count, asked.prompt))
        return Call(tokens, cached, plan is not None, faults, over, prompt, asked.size if asked else 0)

    def _built(self, block: Sequence[Item]) -> Context:
        pieces = [Piece(History(), self.transcript.view)]
        if block:
            pieces.append(Piece(Settings("volatile"), block))
        return self._template.fit(tuple(pieces), self._ask, counter=self._counter, previous=self._previous)

    def _compacted(self, context: Context) -> Plan | None:
        """The plan that was carried out; None if none was due."""
        view = self.transcript.view
        plan = None if self._compactor is None else self._compactor.plan(view, context.room())
        if plan is None:
            return None
        text = None if plan.request is None else _WORD * plan.request.size
        return plan if record(self.transcript, plan, text=text, pool=self._pool) else None


def _shared(before: Sequence[Item], items: Sequence[Item]) -> list[Item]:
    """The items that two requests begin with."""
    pairs = zip(before, items, strict=False)
    return [item for _, item in takewhile(lambda pair: pair[0] == pair[1], pairs)]
