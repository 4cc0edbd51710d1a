"""The context: what the model sees in one turn, and its receipt.

The receipt says for every candidate what became of it, by which rule, for how many tokens, and why. These
entries are computed only when they are read.
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
from quire.state import SOURCES, Cut, Scroll, is_user_message
from quire.tokens import Counter, Definition


class Receipt:
    """Explains a context: the tokens of each section, and the fate of each candidate."""

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
        """The tokens that the budget keeps free for the answer; they are not part of `available`."""
        self.schemas = schemas
        """The tokens of the tool definitions."""
        self.output = output
        """The tokens of the answer schema."""
        self.advice = tuple(advice)
        self.counted = sum(part.counted for part in fitted) + schemas + output
        """The sum of the counts of the whole request, with tool definitions and the answer schema."""
        self.tokens = counter.total(self.counted)
        """The tokens of the whole request, as estimated by the counter when the context was built."""
        free = max(available - self.tokens, 0)
        self._fitted = [part._replace(free=min(part.free, free)) for part in fitted]
        self.count_error: float | None = getattr(counter, "error", None)
        """The largest error of the counter in the latest requests, as a share; `None` if not known."""

    @property
    def selections(self) -> Mapping[str, Selection]:
        """The selections from candidates, by section."""
        return {part.name: part.selection for part in self._fitted if part.selection is not None}

    def room(self, section: str) -> Room:
        """Return the room that a section has if the other sections stay as they are."""
        # A compactor does not count the results that rendering adds to the visible items.
        own = sum(fitted.counted - fitted.answers for fitted in self._fitted if fitted.name == section)
        others = self.tokens - self.counter.total(own)
        return Room(max(self.available - others, 0), self.counter)

    def lines(self) -> list[Line]:
        """Return a line for each section."""
        return [line for fitted in self._fitted for line in _lines(fitted, self.counter)]

    def parts(self) -> list[Part]:
        """Return the parts that explain the request, one for each section."""
        return [part for fitted in self._fitted for part in parts_of(fitted, self.counter)]

    @cached_property
    def _explanation(self) -> Explanation:
        return Explanation(self.parts(), self.counter)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entry of every candidate, section by section."""
        return self._explanation.entries

    def explain(self, item: Item | str) -> Entry:
        """Return what became of a candidate, which is an item or its id.

        If items of two conversations have the id, the entry is that of the first visible one.
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
    """Yield the line of a section, and a line for its ledger if it has one."""
    masked, shortened = _masked(fitted), len(fitted.shortened)
    changed = ", ".join(f"{n:,} {how}" for n, how in ((masked, "masked"), (shortened, "shortened")) if n)
    notes = (
        fitted.piece.failure or fitted.rule,
        changed and f"of those shown, {changed}",
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
    """Return how many of the visible items are stubs."""
    view = fitted.shown.view
    if view is None or not view.was_edited:
        return 0
    runs = (run for _, run in view.shape.runs(fitted.shown.start))
    # The run of a mask has the masked position; that of a summary is empty.
    return sum(run.by >= 0 and run.start < run.stop and not run.pinned for run in runs)


class Split(NamedTuple):
    """A history that is split in two by quotes beside the question."""

    section: str
    behind: int
    """How many items of the history follow the quotes."""


class Observer(Protocol):
    """Follows the renderings of one context, and keeps a receipt of each that is sent."""

    def rendered(self, context: "Context", rendered: Rendered, plan: CachePlan) -> None:
        """Remember a rendering."""
        ...

    def sent(self, provider: str | None, parameters: Mapping[str, Any] | None) -> None:
        """Keep a receipt of the last rendering, or of the last one for a provider."""
        ...


@hint_attributes
class Context:
    """What the model sees in one request: items in order, and tools. Immutable.

    `shared` is the number of items from the start that the last context had too: a provider can serve these
    from its cache. `plan` has the cache marks for providers that use them.
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
            line.section: line.tokens for part in fitted for line in _lines(part, receipt.counter)
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

        Without `cache`, the payload has no fields for prompt caches: compatible services may refuse these.
        """
        wire, plan = provider_for(provider), self.plan if cache else replace(self.plan, keep="none")
        rendered = wire.render(
            self.items, model=model or self.model, tools=self.tools, plan=plan, strict=strict
        )
        if self.observer is not None:
            self.observer.rendered(self, rendered, plan)
        return rendered

    def sent(self, provider: str | None = None, *, parameters: Mapping[str, Any] | None = None) -> None:
        """Keep a receipt of this request in its session. Call it right before or after sending.

        The request is the last rendering of the context, or the last one for a `provider`. `parameters` are
        the arguments sent with the payload, such as `{"temperature": 0.2}`; by default they are unknown.
        """
        if self.observer is None:
            raise InvalidValue("no session built this context: there is none that could keep a receipt")
        self.observer.sent(provider, parameters)

    def room(self, section: str = "history") -> Room:
        """Return the room that a section has if the others stay as they are, for a compactor."""
        if section not in self.tokens:
            known = ", ".join(map(repr, self.tokens))
            raise UnknownKey(f"no section {cut(str(section))!r} in the context; there are {known}")
        return self.receipt.room(section)

    def explain(self, item: Item | str) -> Entry:
        """Return what became of one candidate."""
        return self.receipt.explain(item)


def _joined(fitted: Sequence[Fitted], key: str | None) -> tuple[Scroll, CachePlan, Split | None]:
    """Join all sections to one scroll, and return it with its cache plan and its split.

    The scroll has the view of the last section that takes the room left by the others.
    """
    elastic = [index for index, part in enumerate(fitted) if part.piece.is_elastic]
    middle = elastic[-1] if elastic else len(fitted) - 1
    before = [item for part in fitted[:middle] for item in part.shown]
    behind = fitted[middle + 1 :]
    quoted = [item for part in behind if part.selection is not None for item in part.shown]
    after = [item for part in behind if part.selection is None for item in part.shown]
    history = fitted[middle].shown if fitted else Scroll()
    # Quotes stand beside the question only if no other section follows the history.
    at_question = _at_question(history, quoted) if quoted and not after else None
    if at_question is None:
        after = [item for part in behind for item in part.shown]
        history, split = Scroll(history.before, history.view, history.start, tuple(after)), None
    else:
        history, split = at_question[0], Split(fitted[middle].name, at_question[1])
    scroll = Scroll((*before, *history.before), history.view, history.start, history.after)
    static = sum(len(part.shown) for part in takewhile(lambda part: part.stability == "static", fitted))
    volatile = (i for i, part in enumerate(fitted[:middle]) if part.stability == "volatile" and part.shown)
    first_volatile = next(volatile, None)
    slow = None if first_volatile is None else sum(len(part.shown) for part in fitted[:first_volatile])
    return scroll, CachePlan(static=static, slow=slow, key=key), split


def _at_question(shown: Scroll, quoted: Sequence[Item]) -> tuple[Scroll, int] | None:
    """Return a history with quotes after the last message of the user, and how many items follow them.

    So each request of a turn extends the one before. `None` if no item follows, or there is no such message.
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
    before = enumerate(shown.before, 1)  # the question is before the cut
    places = (n for n, item in before if is_user_message(item) and SOURCES not in item.extras)
    place = max(places, default=0)
    follows = len(shown.before) - place + in_view
    if not (place and follows):
        return None
    items = (*shown.before[:place], *quoted, *shown.before[place:])
    return Scroll(items, view, shown.start), follows


def shared_prefix(earlier: Scroll, later: Scroll) -> int:
    """Return how many items from the start two scrolls have in common."""
    added = later.added_since(earlier)
    if added is None:
        return _common(earlier, later)
    return earlier.stable_length + _common(earlier.after, chain(added, later.after))


def _common(first: Iterable[Item], second: Iterable[Item]) -> int:
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))
