"""The context: what the model sees in one turn, and its receipt.

The receipt says what became of every candidate, by which rule, for how many tokens, and why. It is computed
on demand. A context of ten thousand items costs nothing to explain until somebody asks.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, takewhile
from typing import Literal, NamedTuple

from quire.compactors import Room
from quire.context.fit import ANSWER, TOOLS, Fitted
from quire.errors import UnknownId, UnknownKey, cut
from quire.items import Item, kind_of
from quire.providers import CachePlan, Provider, Rendered, provider_for
from quire.sections import Selection
from quire.state import EDIT, Scroll, View
from quire.tokens import Counter, Definition

Fate = Literal["shown", "pinned", "masked", "summarised", "hidden", "left out"]

_VISIBLE = ("shown", "pinned", "masked")
"""The fates of what the model sees."""

_REASONS = {
    "shown": "it is shown as it is",
    "pinned": "it is pinned, and so shown as it is",
    "masked": "a stub is shown for its content",
    "summarised": "a summary is shown in its place",
    "hidden": "an edit leaves it out",
}

_HELD = (
    "it is before the cut of {name!r}, which stays where it is until the room is full, so that a prompt "
    "cache can serve what follows; {free:,} tokens are free, and closely=True fills them"
)

_Identity = tuple[str, float]
"""An item by its id and time: two conversations may use one id for two items."""


class Entry(NamedTuple):
    """What became of one candidate. `tokens` are those it takes, or would have taken.

    `source` is the conversation or the document that a quote is from.
    """

    item_id: str
    kind: str
    section: str
    fate: Fate
    rule: str
    tokens: int
    reason: str
    source: str = ""


class Line(NamedTuple):
    """One section in short."""

    section: str
    tokens: int
    shown: int
    left_out: int
    note: str


class Receipt:
    """Why a context is as it is."""

    def __init__(
        self,
        fitted: Sequence[Fitted],
        counter: Counter,
        available: int,
        schemas: int = 0,
        output: int = 0,
        advice: Sequence[str] = (),
    ) -> None:
        self._fitted = fitted
        self._counter = counter
        self.available = available
        self.schemas = schemas
        self.output = output
        self.advice = tuple(advice)

    @property
    def counted(self) -> int:
        """The counts of all that is sent, tool definitions and the answer schema included."""
        return sum(fitted.counted for fitted in self._fitted) + self.schemas + self.output

    @property
    def tokens(self) -> int:
        """The tokens of the whole request, as the counter totals them."""
        return self._counter.total(self.counted)

    @property
    def selections(self) -> tuple[Selection, ...]:
        """What was selected of candidates, section by section."""
        return tuple(fitted.selection for fitted in self._fitted if fitted.selection is not None)

    def room(self, section: str) -> Room:
        """Return the room that a section may take while all else stays as it is."""
        # A compactor counts what is shown, and not the results that rendering adds to it.
        own = sum(fitted.counted - fitted.answers for fitted in self._fitted if fitted.name == section)
        others = self.tokens - self._counter.total(own)
        return Room(max(self.available - others, 0), self._counter)

    def lines(self) -> list[Line]:
        """Return a line for each section."""
        return [_line(fitted, self._free) for fitted in self._fitted]

    @property
    def _free(self) -> int:
        return self.available - self.tokens

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every candidate once, section by section, in the order it was recorded."""
        return tuple(self._entries.values())

    @cached_property
    def _entries(self) -> dict[_Identity, Entry]:
        """The entry of each candidate: that of the first section that shows it, else of the first."""
        found: dict[_Identity, Entry] = {}
        for fitted in self._fitted:
            for item, entry in _entries_of(fitted, self._counter, self._free):
                known = found.get((item.id, item.created_at))
                if known is None or (entry.fate in _VISIBLE and known.fate not in _VISIBLE):
                    found[item.id, item.created_at] = entry
        return found

    def explain(self, item: Item | str) -> Entry:
        """Return what became of one candidate.

        If two conversations use the same id, the entry of the first that is shown is returned.
        """
        item_id = item if isinstance(item, str) else item.id
        itself = None if isinstance(item, str) else self._entries.get((item.id, item.created_at))
        named = [entry for (known, _), entry in self._entries.items() if known == item_id]
        if not named:
            raise UnknownId(f"no item {cut(item_id)!r} was a candidate")
        return itself or next((entry for entry in named if entry.fate in _VISIBLE), named[0])

    def __str__(self) -> str:
        rows = [("section", "tokens", "shown", "left out", "")]
        rows += [(s, f"{tokens:,}", f"{n:,}", f"{gone:,}", note) for s, tokens, n, gone, note in self.lines()]
        beside = ((TOOLS, self.schemas), (ANSWER, self.output))
        rows += [(name, f"{tokens:,}", "", "", "") for name, tokens in beside if tokens]
        rows.append(("in all", f"{self.tokens:,}", "", "", f"of {self.available:,}"))
        first, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = [
            "  ".join((name.ljust(first), *map(str.rjust, cells, widths), note)).rstrip()
            for name, *cells, note in rows
        ]
        lines.insert(1, "-" * max(map(len, lines)))
        return "\n".join((*lines, *(f"! {note}" for note in self.advice)))


def _line(fitted: Fitted, free: int) -> Line:
    note = fitted.piece.failure or fitted.rule
    if fitted.cut and not fitted.piece.section.closely and free > 0:
        note += f"; {free:,} tokens stay free until the cut moves"
    if fitted.answers:
        note = "; ".join(filter(None, (note, f"{fitted.answers:,} tokens answer calls that wait")))
    shown = len(fitted.shown) if fitted.selection is None else len(fitted.selection)
    return Line(fitted.name, fitted.counted, shown, len(fitted.piece.content) - shown, note)


def _entries_of(fitted: Fitted, counter: Counter, free: int) -> Iterator[tuple[Item, Entry]]:
    """Yield the entries of all candidates of one section, in the order they were recorded."""
    name, content = fitted.name, fitted.piece.content
    if fitted.selection is not None:
        for item, is_selected, reason, source in fitted.selection.candidates():
            fate: Fate = "shown" if is_selected else "left out"
            rule = "selected" if is_selected else "others ranked higher, or it is shown already"
            yield item, Entry(item.id, kind_of(item), name, fate, rule, counter.count(item), reason, source)
        return
    view = content if isinstance(content, View) else fitted.piece.source
    given = None if isinstance(content, View) else {item.id: item for item in content}
    gone = _left_out(fitted)
    for item in content if view is None else _candidates(view):
        fate, rule = ("shown", "in full") if view is None else _fate_in(view, item)
        reason = _REASONS[fate]
        if fate in _VISIBLE and item.id in gone:
            fate, rule, reason = "left out", fitted.rule, f"there was no room for all of {name!r}"
            if fitted.cut and not fitted.piece.section.closely and counter.count(item) <= free:
                reason = _HELD.format(name=name, free=free)
        elif fate in _VISIBLE and given is not None and item.id not in given:
            fate, rule, reason = "left out", "not chosen", f"{name!r} did not choose it"
        run = None if view is None else view.run_at(view.position(item.id))
        as_shown = given.get(item.id) if given is not None else run.stand_in if run is not None else None
        tokens = counter.count(as_shown or item)
        yield item, Entry(item.id, kind_of(item), name, fate, rule, tokens, reason)


def _candidates(view: View) -> Iterator[Item]:
    """Yield all content that was recorded, and the summaries that are shown."""
    for position, item in enumerate(view.log.items(0, view.end)):
        if view.log.head(position) != EDIT or view.fate(item.id).state == "shown":
            yield item


def _fate_in(view: View, item: Item) -> tuple[Fate, str]:
    state, by = view.fate(item.id)
    rule = f"edit {by}" if by else "in full"
    if state == "covered":
        return "summarised", rule
    return "hidden" if state == "edit" else state, rule


def _left_out(fitted: Fitted) -> set[str]:
    """Return the ids of what the section gave and does not show."""
    if len(fitted.shown) == len(fitted.piece.content):
        return set()
    shown = {item.id for item in fitted.shown}
    return {item.id for item in fitted.piece.content if item.id not in shown}


OnRender = Callable[["Context", Provider, str | None, Rendered], None]
"""Is called with each rendering of a context, the provider and the model."""


class Context:
    """Items in order, with the tools beside them. It never changes.

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
        on_render: OnRender | None = None,
    ) -> None:
        self._on_render = on_render
        self.receipt = receipt
        self.tools = tuple(tools)
        self.model = model
        self.items, self.plan = _joined(fitted, key)
        self.tokens: Mapping[str, int] = {part.name: part.counted for part in fitted}
        self.cuts: Mapping[str, str] = {part.name: part.cut for part in fitted if part.cut}
        self.shared = 0 if previous is None else shared_prefix(previous.items, self.items)

    def __repr__(self) -> str:
        return f"<Context of {len(self.items)} items, {self.receipt.tokens:,} tokens>"

    def render(self, provider: str | Provider, *, model: str | None = None, strict: bool = False) -> Rendered:
        """Return the payload for a provider: `**context.render("openai")` are the arguments of its client."""
        wire = provider_for(provider)
        model = model or self.model
        rendered = wire.render(self.items, model=model, tools=self.tools, plan=self.plan, strict=strict)
        if self._on_render is not None:
            self._on_render(self, wire, model, rendered)
        return rendered

    def room(self, section: str = "history") -> Room:
        """Return the room that a section may take while all else stays as it is, for a compactor."""
        if section not in self.tokens:
            raise UnknownKey(f"no section {cut(str(section))!r} in the context")
        return self.receipt.room(section)

    def explain(self, item: Item | str) -> Entry:
        """Return what became of one candidate."""
        return self.receipt.explain(item)


def _joined(fitted: Sequence[Fitted], key: str | None) -> tuple[Scroll, CachePlan]:
    """Join all sections to one scroll, and say how much of its beginning is stable.

    The last elastic section is the view in the scroll: what comes before it is the beginning.
    """
    elastic = [index for index, part in enumerate(fitted) if part.piece.is_elastic]
    middle = elastic[-1] if elastic else len(fitted) - 1
    before = [item for part in fitted[:middle] for item in part.shown]
    after = [item for part in fitted[middle + 1 :] for item in part.shown]
    grown = fitted[middle].shown if fitted else Scroll()
    scroll = Scroll((*before, *grown.before), grown.view, grown.start, tuple(after))
    static = sum(len(part.shown) for part in takewhile(lambda part: part.stability == "static", fitted))
    changing = (i for i, part in enumerate(fitted[:middle]) if part.stability == "volatile" and part.shown)
    volatile = next(changing, None)
    slow = None if volatile is None else sum(len(part.shown) for part in fitted[:volatile])
    return scroll, CachePlan(static=static, slow=slow, key=key)


def shared_prefix(earlier: Scroll, later: Scroll) -> int:
    """Return how many items from the start two scrolls have in common."""
    added = later.added_since(earlier)
    if added is None:
        return _common(earlier, later)
    return earlier.stable_length + _common(earlier.after, chain(added, later.after))


def _common(one: Iterable[Item], other: Iterable[Item]) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))
