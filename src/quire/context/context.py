"""The context: what the model sees in one turn, and its receipt.

The receipt says what became of every candidate, by which rule, for how many tokens, and why. It is computed
on demand. A context of ten thousand items costs nothing to explain until somebody asks.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice, takewhile
from typing import Any, NamedTuple, Protocol

from msgspec.structs import replace

from quire.compactors import Room
from quire.context.entries import Entry, Explanation, Part, parts_of
from quire.context.fit import ANSWER, TOOLS, Fitted, Selected
from quire.context.html import receipt_html
from quire.context.shrink import ledger_name
from quire.context.table import Line, receipt_table
from quire.errors import InvalidValue, UnknownKey, cut
from quire.guesses import hint_attributes, hint_options
from quire.items import Item
from quire.providers import CachePlan, Provider, Rendered, provider_for
from quire.sections import Candidates, Selection
from quire.state import OF, Cut, Scroll, is_user_message
from quire.tokens import Counter, Definition


class Receipt:
    """Why a context is as it is: the tokens of each section, and the fate of each candidate."""

    def __init__(
        self,
        fitted: Sequence[Fitted],
        counter: Counter,
        available: int,
        schemas: int = 0,
        output: int = 0,
        advice: Sequence[str] = (),
        reserve: int | None = None,
    ) -> None:
        self.counter = counter
        self.available = available
        self.reserve = reserve
        """The tokens that the budget keeps free for the answer, beside those available."""
        self.schemas = schemas
        self.output = output
        self.advice = tuple(advice)
        self.counted = sum(one.counted for one in fitted) + schemas + output
        """The counts of all that is sent, tool definitions and the answer schema included."""
        self.tokens = counter.total(self.counted)
        """The tokens of the whole request, as the counter totalled them then: it may learn later."""
        free = max(available - self.tokens, 0)
        self._fitted = [one._replace(free=min(one.free, free)) for one in fitted]
        self.error: float | None = getattr(counter, "error", None)
        """How far off the counter was at most with the latest requests, as a share; None if not known."""

    @property
    def selections(self) -> Mapping[str, Selection]:
        """What was selected of candidates, by section."""
        return {one.name: one.selection for one in self._fitted if one.selection is not None}

    def room(self, section: str) -> Room:
        """Return the room that a section may take while all else stays as it is."""
        # A compactor counts what is shown, and not the results that rendering adds to it.
        own = sum(fitted.counted - fitted.answers for fitted in self._fitted if fitted.name == section)
        others = self.tokens - self.counter.total(own)
        return Room(max(self.available - others, 0), self.counter)

    def lines(self) -> list[Line]:
        """Return a line for each section."""
        return [line for fitted in self._fitted for line in _lines(fitted, self.counter)]

    def parts(self) -> list[Part]:
        """Return what explains the request, section by section."""
        return [part for fitted in self._fitted for part in parts_of(fitted, self.counter)]

    @cached_property
    def _explanation(self) -> Explanation:
        return Explanation(self.parts(), self.counter)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every candidate once, section by section."""
        return self._explanation.entries

    def explain(self, item: Item | str) -> Entry:
        """Return what became of one candidate.

        If two conversations use the same id, the entry of the first that is shown is returned.
        """
        return self._explanation.of(item)

    @property
    def beside(self) -> Mapping[str, int]:
        """The tokens of tool definitions and of the answer schema, if there are any."""
        return {name: tokens for name, tokens in ((TOOLS, self.schemas), (ANSWER, self.output)) if tokens}

    def __str__(self) -> str:
        return receipt_table(self)

    def _repr_html_(self) -> str:
        return receipt_html(self)


def _lines(fitted: Fitted, counter: Counter) -> Iterator[Line]:
    """Yield the line of a section, and one for the ledger of a history that has one."""
    masked, shortened = _masked(fitted), len(fitted.shortened)
    of_these = ", ".join(f"{n:,} {how}" for n, how in ((masked, "masked"), (shortened, "shortened")) if n)
    notes = (
        fitted.piece.failure or fitted.rule,
        of_these and f"of those shown, {of_these}",
        f"{fitted.free:,} tokens are free for the next turns" if fitted.cut and fitted.free else "",
        f"{fitted.answers:,} tokens answer calls that wait" if fitted.answers else "",
    )
    note = "; ".join(filter(None, notes))
    shown = len(fitted.shown) if fitted.selection is None else len(fitted.selection)
    ledger = 0 if fitted.ledger is None else counter.count(fitted.ledger)
    shown -= fitted.ledger is not None
    yield Line(fitted.name, fitted.counted - ledger, shown, len(fitted.piece.content) - shown, note)
    if fitted.ledger is not None:
        yield Line(ledger_name(fitted.name), ledger, 1, 0, "what was left out and still holds")


def _masked(fitted: Fitted) -> int:
    """Return how many of the items shown are stubs."""
    view = fitted.shown.view
    if view is None or not view.was_edited:
        return 0
    runs = (run for _, run in view.shape.runs(fitted.shown.start))
    return sum(run.by >= 0 and run.start < run.stop and not run.pinned for run in runs)


def _tokens(fitted: Fitted, counter: Counter) -> dict[str, int]:
    return {line.section: line.tokens for line in _lines(fitted, counter)}


class Split(NamedTuple):
    """A history in two: quotes stand beside the question in it, and so many of its items behind them."""

    section: str
    behind: int


class Observer(Protocol):
    """Keeps receipts of what is sent of one context."""

    def rendered(self, context: "Context", rendered: Rendered, plan: CachePlan) -> None:
        """Remember a rendering."""
        ...

    def sent(self, provider: str | None, parameters: Mapping[str, Any] | None) -> None:
        """Keep a receipt of the last rendering, or of the last one for a provider."""
        ...


@hint_attributes
class Context:
    """What the model sees in one request: items in order, and tools. It never changes.

    `shared` is how many items from the start it has in common with the context before it: so much can be
    served from a provider's cache. `plan` says so to providers that take cache marks.
    """

    def __init__(
        self,
        fitted: Sequence[Fitted],
        receipt: Receipt,
        *,
        tools: Sequence[Definition] = (),
        model: str | None = None,
        key: str | None = None,
        previous: "Context | None" = None,
        observer: Observer | None = None,
    ) -> None:
        self.observer = observer
        self.receipt = receipt
        self.tools = tuple(tools)
        self.model = model
        self.items, self.plan, self.split = _joined(fitted, key)
        self.tokens: Mapping[str, int] = {
            name: tokens for part in fitted for name, tokens in _tokens(part, receipt.counter).items()
        }
        self.cuts: Mapping[str, Cut] = {part.name: part.cut for part in fitted if part.cut}
        self.selected: Selected = {
            part.name: (part.piece.content.turn, tuple(part.shown))
            for part in fitted
            if isinstance(part.piece.content, Candidates)
        }
        self.shared = 0 if previous is None else shared_prefix(previous.items, self.items)

    def __repr__(self) -> str:
        return f"<Context of {len(self.items)} items, {self.receipt.tokens:,} tokens>"

    def _repr_html_(self) -> str:
        return receipt_html(self.receipt)

    @hint_options
    def render(
        self, provider: str | Provider, *, model: str | None = None, strict: bool = False, cache: bool = True
    ) -> Rendered:
        """Return the payload for a provider: `**context.render("openai")` are the arguments of its client.

        Without `cache`, it has no fields for prompt caches, which services with the same API may refuse.
        """
        wire, plan = provider_for(provider), self.plan if cache else replace(self.plan, keep="none")
        rendered = wire.render(
            self.items, model=model or self.model, tools=self.tools, plan=plan, strict=strict
        )
        if self.observer is not None:
            self.observer.rendered(self, rendered, plan)
        return rendered

    def sent(self, provider: str | None = None, *, parameters: Mapping[str, Any] | None = None) -> None:
        """Keep a receipt of this request in its session: it is about to be sent, or was sent.

        The request is the last rendering of the context, or the last one for a `provider`. The parameters are
        what is sent beside the payload, such as `{"temperature": 0.2}`; without them, they are unknown.
        """
        if self.observer is None:
            raise InvalidValue("no session built this context: there is none that could keep a receipt")
        self.observer.sent(provider, parameters)

    def room(self, section: str = "history") -> Room:
        """Return the room that a section may take while all else stays as it is, for a compactor."""
        if section not in self.tokens:
            known = ", ".join(map(repr, self.tokens))
            raise UnknownKey(f"no section {cut(str(section))!r} in the context; there are {known}")
        return self.receipt.room(section)

    def explain(self, item: Item | str) -> Entry:
        """Return what became of one candidate."""
        return self.receipt.explain(item)


def _joined(fitted: Sequence[Fitted], key: str | None) -> tuple[Scroll, CachePlan, Split | None]:
    """Join all sections to one scroll, and say how much of its beginning is stable, and what is split.

    The last elastic section is the view in the scroll: what comes before it is the beginning.
    """
    elastic = [index for index, part in enumerate(fitted) if part.piece.is_elastic]
    middle = elastic[-1] if elastic else len(fitted) - 1
    before = [item for part in fitted[:middle] for item in part.shown]
    behind = fitted[middle + 1 :]
    quoted = [item for part in behind if part.selection is not None for item in part.shown]
    after = [item for part in behind if part.selection is None for item in part.shown]
    grown = fitted[middle].shown if fitted else Scroll()
    at_question = (None if after else _at_question(grown, quoted)) if quoted else None
    if at_question is None:
        after = [item for part in behind for item in part.shown]
        at_question = Scroll(grown.before, grown.view, grown.start, tuple(after)), 0
    grown, follows = at_question
    split = Split(fitted[middle].name, follows) if follows else None
    scroll = Scroll((*before, *grown.before), grown.view, grown.start, grown.after)
    static = sum(len(part.shown) for part in takewhile(lambda part: part.stability == "static", fitted))
    changing = (i for i, part in enumerate(fitted[:middle]) if part.stability == "volatile" and part.shown)
    volatile = next(changing, None)
    slow = None if volatile is None else sum(len(part.shown) for part in fitted[:volatile])
    return scroll, CachePlan(static=static, slow=slow, key=key), split


def _at_question(shown: Scroll, quoted: Sequence[Item]) -> tuple[Scroll, int] | None:
    """Return a history with quotes beside the user's last message, and how many of its items follow them.

    So each request of a turn extends the one before. None if nothing follows, or there is no such message.
    """
    view, rest = shown.view, list[Item]()
    in_view = 0 if view is None else len(view) - shown.start
    for item in islice(() if view is None else reversed(view), in_view):
        if is_user_message(item):
            break
        rest.append(item)
    if view is not None and len(rest) < in_view:
        earlier = view.up_to(len(view) - len(rest)) if rest else None
        after = (*quoted, *reversed(rest))
        return None if earlier is None else (Scroll(shown.before, earlier, shown.start, after), len(rest))
    # The cut is behind the question.
    places = (n for n, item in enumerate(shown.before, 1) if is_user_message(item) and OF not in item.extras)
    place = max(places, default=0)
    follows = len(shown.before) - place + in_view
    if not (place and follows):
        return None
    rows = (*shown.before[:place], *quoted, *shown.before[place:])
    return Scroll(rows, view, shown.start), follows


def shared_prefix(earlier: Scroll, later: Scroll) -> int:
    """Return how many items from the start two scrolls have in common."""
    added = later.added_since(earlier)
    if added is None:
        return _common(earlier, later)
    return earlier.stable_length + _common(earlier.after, chain(added, later.after))


def _common(one: Iterable[Item], other: Iterable[Item]) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))
