"""Entries say for each candidate of a request what became of it, by which rule, for how many tokens, and why.

The entries are computed from parts, one for each section. The part of a history refers to its view, its
visible items and its cut, all of which a receipt keeps: so an old request gives the same entries as when it
was built.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from quire.compactors import FORCED, FORCED_REASON, LEDGER, is_short_form
from quire.context.fit import ELSEWHERE, Fitted
from quire.context.shrink import is_ledger, ledger_name
from quire.errors import UnknownId, WrongType, cut
from quire.items import Item, Origin, kind_of, own_origin
from quire.state import EDIT, SOURCES, Cut, View, groups, origin_of
from quire.tokens import Counter

Fate = Literal["shown", "shortened", "pinned", "masked", "summarised", "hidden", "left out"]

VISIBLE = ("shown", "shortened", "pinned", "masked")
"""The fates of candidates that the model sees."""

_REASONS = {
    "shown": "it is shown as it is",
    "shortened": "some of its fields, or its first lines, are shown for its content",
    "pinned": "it is pinned, and so shown as it is",
    "masked": "a stub is shown for its content",
    "summarised": "a summary is shown in its place",
    "hidden": "an edit leaves it out",
    "left out": "others that ranked higher took the room, or it is shown already",
}

_CUT_STAYS = (
    "it is before the cut of {name!r}, which stays where it is until the room is full, so that a prompt "
    "cache can serve what follows; {free:,} tokens are free, and closely=True would show it"
)
_TOO_LARGE = (
    "it is before the cut of {name!r}: the items before the cut take {needed:,} tokens, and {free:,} are free"
)

Identity = tuple[str, float]
"""An item by its id and time: two conversations may use one id for two items."""


class Entry(NamedTuple):
    """What became of one candidate. `tokens` are those it takes, or would have taken.

    `source` is the conversation or the document that a quote is from. `origin` is the least trusted origin of
    its words.
    """

    item_id: str
    kind: str
    section: str
    fate: Fate
    rule: str
    tokens: int
    reason: str
    source: str = ""
    origin: Origin = "external"


class NotShown(NamedTuple):
    """The candidates of one section that are not visible for one reason; `first` and `last` are ids."""

    section: str
    fate: Fate
    reason: str
    items: int
    first: str
    last: str


def not_shown(entries: Iterable[Entry]) -> list[NotShown]:
    """Return the candidates that the model does not see, grouped by section, fate and reason."""
    groups_by_key: dict[tuple[str, Fate, str], list[str]] = {}
    for entry in entries:
        if entry.fate not in VISIBLE:
            groups_by_key.setdefault((entry.section, entry.fate, entry.reason), []).append(entry.item_id)
    return [NotShown(*key, len(ids), ids[0], ids[-1]) for key, ids in groups_by_key.items()]


def fallen_out(before: Iterable[Entry], after: Sequence[Entry]) -> list[Entry]:
    """Return the entries that were visible before and are not any more, each with the reason for it.

    Ledgers do not count, because each cut has a new one.
    """
    visible = {entry.item_id for entry in after if entry.fate in VISIBLE}
    reasons = {entry.item_id: entry.reason for entry in after}
    seen = (entry for entry in before if entry.fate in VISIBLE and not is_ledger(entry.section))
    fallen = [entry for entry in seen if entry.item_id not in visible]
    return [entry._replace(reason=reasons.get(entry.item_id, "it is no candidate")) for entry in fallen]


class Explained(NamedTuple):
    """An entry, and the time of its item."""

    created_at: float
    entry: Entry


class Part(NamedTuple):
    """One section of a request, with the data that explains its candidates."""

    name: str
    length: int
    """How many items of the request the section has."""
    rule: str = ""
    shown: Sequence[Item] = ()
    view: View | None = None
    """The view of a history; `is_filtered` if the section shows a list of items taken from it."""
    is_filtered: bool = False
    cut: Cut | None = None
    free: int = 0
    """The tokens that a cut in steps left free."""
    rows: Sequence[Explained] = ()
    """For a section without a view, the candidates not in `shown`; for a selection, all candidates."""

    def explained(self, counter: Counter) -> Iterator[Explained]:
        """Yield the entries of all candidates; those of a history in the order of recording."""
        if self.view is not None:
            yield from self._of_history(self.view, counter)
            return
        for item in self.shown:
            yield self._entry(item, "shown", "in full", counter.count(item))
        yield from self.rows

    def left_out(self, items: Sequence[Item], counter: Counter) -> list[Explained]:
        """Return the entries of the items of a list that are not shown."""
        shown, rows = {item.id for item in self.shown}, list[tuple[int, Explained]]()
        for number, group in enumerate(groups(items)):
            absent = (item for item in group.items if item.id not in shown)
            rows += [(number, self._left_out(item, counter.count(item))) for item in absent]
        return self._with_reasons(rows)

    def _left_out(self, item: Item, tokens: int) -> Explained:
        return self._entry(item, "left out", self.rule, tokens, f"there was no room for all of {self.name!r}")

    def _with_reasons(self, rows: Sequence[tuple[int, Explained]]) -> list[Explained]:
        """Return the entries of pairs of group and entry, with new reasons for those before the cut.

        To show one of these, all items from it to the cut would have to fit into the free tokens.
        """
        before_cut = [(group, row.entry) for group, row in rows if row.entry.rule == self.rule]
        if not (self.cut and self.free and before_cut):
            return [row for _, row in rows]
        size_by_group: dict[int, int] = {}  # the last group first
        for group, entry in reversed(before_cut):
            size_by_group[group] = size_by_group.get(group, 0) + entry.tokens
        needed = sum(size_by_group.values())
        stays, too_large = (
            reason.format(name=self.name, needed=needed, free=self.free)
            for reason in (_CUT_STAYS, _TOO_LARGE)
        )
        reason_by_group, counted = dict[int, str](), 0
        for group, size in size_by_group.items():
            counted += size
            reason_by_group[group] = too_large if counted > self.free else stays
        reason_by_id = {entry.item_id: reason_by_group[group] for group, entry in before_cut}
        return [
            Explained(at, entry._replace(reason=reason_by_id.get(entry.item_id, entry.reason)))
            for _, (at, entry) in rows
        ]

    def _of_history(self, view: View, counter: Counter) -> list[Explained]:
        shown = {item.id: item for item in self.shown}
        cut_at = view.log.find(self.cut.first, view.end) if self.cut else None
        first_kept = view.end if cut_at is None else cut_at
        rows: list[tuple[int, Explained]] = []
        for position, item in _candidates(view):
            fate, rule, reason = _fate_in(view, position)
            visible = shown.get(item.id) or view.shown_at(position) or item
            is_whole = visible is item  # then its token count may be cached
            tokens = view.log.tokens(position, position + 1, counter) if is_whole else counter.count(visible)
            if fate == "shown" and item.id in shown and not is_whole and is_short_form(visible):
                fate, rule, reason = "shortened", self.rule, _REASONS["shortened"]
            if fate not in VISIBLE or item.id in shown:
                row = self._entry(item, fate, rule, tokens, reason)
            elif self.is_filtered and (self.rule in ("", ELSEWHERE) or position >= first_kept):
                reason = f"{self.name!r} did not choose it"
                row = self._entry(item, "left out", "not chosen", tokens, reason)
            else:
                row = self._left_out(item, tokens)
            row = row._replace(entry=row.entry._replace(origin=origin_of(view, item)))
            rows.append((view.log.head(position), row))
        return self._with_reasons(rows)

    def _entry(self, item: Item, fate: Fate, rule: str, tokens: int, reason: str = "") -> Explained:
        reason = reason or _REASONS[fate]
        origin = origin_of(None, item)
        entry = Entry(item.id, kind_of(item), self.name, fate, rule, tokens, reason, origin=origin)
        return Explained(item.created_at, entry)


def parts_of(fitted: Fitted, counter: Counter) -> Iterator[Part]:
    """Yield the part of a section, and a part for its ledger if it has one.

    The ledger counts as an item of its history: its own part has the length 0.
    """
    part = _part_of(fitted, counter)
    yield part
    if fitted.ledger is not None:
        name, ledger = ledger_name(fitted.name), fitted.ledger
        sources = len(ledger.extras[SOURCES])
        reason = f"it says what was left out and still holds, from {sources:,} items"
        origin = origin_of(part.view, ledger)
        tokens = counter.count(ledger)
        entry = Entry(ledger.id, kind_of(ledger), name, "shown", LEDGER, tokens, reason, origin=origin)
        yield Part(name, 0, LEDGER, rows=[Explained(ledger.created_at, entry)])


def _part_of(fitted: Fitted, counter: Counter) -> Part:
    name, content = fitted.name, fitted.piece.content
    if fitted.selection is not None:
        return Part(name, len(fitted.shown), fitted.rule, rows=list(_selected(fitted, counter)))
    view = content if isinstance(content, View) else fitted.piece.source
    is_filtered = view is not None and content is not view
    shown = fitted.shown
    part = Part(name, len(shown), fitted.rule, shown, view, is_filtered, fitted.cut, fitted.free)
    if view is not None or len(shown) == len(content) or fitted.rule == ELSEWHERE:
        return part  # the section that shows an item explains it
    return part._replace(rows=part.left_out(content, counter))


def _selected(fitted: Fitted, counter: Counter) -> Iterator[Explained]:
    """Yield the entries of the candidates of a selection."""
    assert fitted.selection is not None
    for item, is_selected, reason, source, origin in fitted.selection.candidates():
        fate: Fate = "shown" if is_selected else "left out"
        rule = "selected" if is_selected else "not selected"
        tokens, kind = counter.count(item), kind_of(item)
        reason, origin = reason or _REASONS[fate], origin or own_origin(item)
        entry = Entry(item.id, kind, fitted.name, fate, rule, tokens, reason, source, origin)
        yield Explained(item.created_at, entry)


def _candidates(view: View) -> Iterator[tuple[int, Item]]:
    """Yield the recorded items with their positions; of the edits, only visible summaries."""
    for position, item in enumerate(view.log.items(0, view.end)):
        if view.log.head(position) != EDIT or view.fate_at(position).state == "shown":
            yield position, item


def _fate_in(view: View, position: int) -> tuple[Fate, str, str]:
    """Return what edits did to the item at a position: the fate, the rule and the reason."""
    state, by = view.fate_at(position)
    if state == "shown" and by is not None:
        return "shown", f"edit {by}", "it is shown as a quotation: it is distrusted"
    rule = f"edit {by}" if by else "in full"
    fate: Fate = "hidden" if state == "edit" else state
    is_forced = by is not None and FORCED in view.get(by).extras
    return fate, rule, f"{_REASONS[fate]}; {FORCED_REASON}" if is_forced else _REASONS[fate]


class Explanation:
    """The entries of a request: each candidate once, section by section."""

    def __init__(self, parts: Iterable[Part], counter: Counter) -> None:
        self._by_identity: dict[Identity, Entry] = {}
        for part in parts:
            for created_at, entry in part.explained(counter):
                earlier = self._by_identity.get((entry.item_id, created_at))
                # The first section that shows the item counts, or else the first section that has it.
                if earlier is None or (entry.fate in VISIBLE and earlier.fate not in VISIBLE):
                    self._by_identity[entry.item_id, created_at] = entry
        self.entries = tuple(self._by_identity.values())

    def of(self, item: Item | str) -> Entry:
        """Return the entry of a candidate; if several have its id, the first visible one."""
        if not isinstance(item, Item | str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"an item must be given itself or by its id, not {type(item).__name__}")
        item_id = item if isinstance(item, str) else item.id
        exact = None if isinstance(item, str) else self._by_identity.get((item.id, item.created_at))
        same_id = [entry for entry in self.entries if entry.item_id == item_id]
        if not same_id:
            raise UnknownId(f"no item {cut(item_id)!r} was a candidate")
        return exact or next((entry for entry in same_id if entry.fate in VISIBLE), same_id[0])
