"""Fitting: what the sections have to show, within a budget. Pure and deterministic.

Required sections come first, whole. The rest of the budget is shared out. Elastic sections take what the
others leave: their newest items in whole groups. Candidates are selected last.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from quire.context.piece import Content, Piece
from quire.errors import Irreducible, OverBudget, cut
from quire.items import Item, ToolCall, ToolResult
from quire.providers import NO_RESULT
from quire.sections import Candidates, Count, Input, Selection
from quire.state import (
    Scroll,
    View,
    groups,
    largest_sum,
    newest,
    newest_items,
    pending_calls,
    structural,
)
from quire.tokens import Budget, Counter, Share, share_out

TOOLS = "tool definitions"
ANSWER = "answer schema"
"""What these parts of a request are called."""

_ELASTIC = Share(weight=4)
"""The share of an elastic section that has none of its own."""


class Fitted(NamedTuple):
    """One section as it is shown: its items, their tokens, and the `rule` that left others out.

    Of what is `counted`, `answers` are for results that rendering adds for pending calls. `selection` is what
    was selected of candidates.
    """

    piece: Piece
    shown: Scroll
    counted: int
    rule: str = ""
    answers: int = 0
    selection: Selection | None = None

    @property
    def name(self) -> str:
        """The name of the section."""
        return self.piece.section.name


def fit(
    pieces: Sequence[Piece],
    *,
    budget: Budget,
    counter: Counter,
    schemas: int = 0,
    output: int = 0,
    count: Count | None = None,
) -> tuple[Fitted, ...]:
    """Fit the pieces into the budget, beside the counts of tool definitions and of the answer schema.

    Raises `OverBudget` if what is required does not fit. `count` counts one item, if there is a faster way
    than the counter's.
    """
    return _Fit(pieces, budget, counter, {TOOLS: schemas, ANSWER: output}, count or counter.count).fitted()


class Sums:
    """A counter whose total is the sum of its counts, for parts of a request that is totalled as a whole."""

    def __init__(self, key: str, count: Count) -> None:
        self.key = key
        self.count = count

    def total(self, counted: int) -> int:
        """Return the sum itself."""
        return counted


class Shown:
    """What one section shows, asked by id. A history is not copied."""

    def __init__(self, content: Content | Scroll, origin: View | None = None) -> None:
        scroll = content if isinstance(content, Scroll) else None
        self._view = content if isinstance(content, View) else scroll.view if scroll else None
        self._start = scroll.start if scroll else 0
        others = () if isinstance(content, View) else content
        self._items = {item.id: item for item in ((*scroll.before, *scroll.after) if scroll else others)}
        self._log_view = self._view or origin

    def __contains__(self, item_id: str) -> bool:
        if item_id in self._items:
            return True
        view = self._view
        position = None if view is None else view.log.find(item_id, view.end)
        if view is None or position is None:
            return False
        if position in view.shape.summaries:
            return True  # a summary is never left out
        return view.run_at(position) is not None and view.index_of(position) >= self._start

    def shows(self, ids: Sequence[str], is_same: Callable[[Item], bool]) -> bool:
        """Whether one of the ids is shown, and the item with the first id passes a test."""
        item, view = self._items.get(ids[0]), self._log_view
        if item is None and view is not None:
            position = view.log.find(ids[0], view.end)
            item = None if position is None else view.log.item(position)
        return item is not None and is_same(item) and any(item_id in self for item_id in ids)


class _Fit:
    def __init__(
        self,
        pieces: Sequence[Piece],
        budget: Budget,
        counter: Counter,
        beside: Mapping[str, int],
        count: Count,
        *,
        has_repeats: bool = False,
    ) -> None:
        self._has_repeats = has_repeats
        self._pieces = pieces
        self._budget = budget
        self._counter = counter
        self._beside = beside
        self._count = count
        self._sums = Sums(counter.key, count)
        self._room = largest_sum(budget.available, counter) - sum(beside.values())
        # By identity: the pieces keep their contents alive for as long as this.
        self._measured: dict[int, tuple[int, int]] = {}

    def fitted(self) -> tuple[Fitted, ...]:
        contents = _once([piece.content for piece in self._pieces])
        sizes = [0 if isinstance(content, Candidates) else self._size(content) for content in contents]
        left = self._room - sum(sizes)
        if left >= 0 and all(self._is_within_maximum(index, size) for index, size in enumerate(sizes)):
            found = [self._whole(index, content) for index, content in enumerate(contents)]
            return tuple(self._with_candidates(found, {}))
        repeats = any(one is not piece.content for one, piece in zip(contents, self._pieces, strict=True))
        return self._without_repeats(contents) if repeats else tuple(self._cut_down())

    def _without_repeats(self, contents: Sequence[Content]) -> tuple[Fitted, ...]:
        """Fit pieces of which some have items in common.

        A history has what no history before it has, and what must stay of it. Another section leaves out what
        must stay of a history, and in the end what is shown elsewhere.
        """
        pieces, sure = list(self._pieces), set[str]()
        for index in _by_precedence([piece.content for piece in pieces]):
            piece = pieces[index]
            if piece.is_elastic:
                stays = {item.id for item in piece.protected()} - sure
                kept = stays.union(item.id for item in contents[index])
                if len(kept) < len(piece.content):
                    items = tuple(item for item in piece.content if item.id in kept)
                    pieces[index] = piece._replace(content=items, source=piece.origin)
                sure |= stays
        for index, piece in enumerate(pieces):
            if piece.section.required and not piece.is_elastic:
                left = tuple(item for item in piece.content if item.id not in sure)
                pieces[index] = piece._replace(content=left)
        fit = _Fit(pieces, self._budget, self._counter, self._beside, self._count, has_repeats=True)
        fitted = zip(fit._cut_down(), self._pieces, strict=True)
        return tuple(one._replace(piece=piece) for one, piece in fitted)

    def _cut_down(self) -> list[Fitted]:
        """Fit the pieces in less room than they need, each within its grant."""
        elastic = [index for index, piece in enumerate(self._pieces) if piece.is_elastic]
        required = {
            index: piece.content
            for index, piece in enumerate(self._pieces)
            if piece.section.required and not piece.is_elastic
        }
        room = self._room - sum(map(self._size, required.values()))
        if room >= 0:
            try:
                return self._shared(elastic, required, room, {})
            except Irreducible:
                pass  # what must stay of a history is more than its share, and comes before all shares
        stays = {index: self._pieces[index].protected() for index in elastic}
        cores = {i: sum(map(self._count, items)) + self._answers(i) for i, items in stays.items()}
        if sum(cores.values()) > room:
            raise self._over({i: self._size(content) for i, content in required.items()} | cores, stays)
        return self._shared(elastic, required, room, cores)

    def _shared(
        self,
        elastic: Sequence[int],
        required: Mapping[int, Content],
        room: int,
        cores: Mapping[int, int],
    ) -> list[Fitted]:
        """Give each elastic and optional piece its grant; what one does not use is for the others."""
        sizes = [self._wanted(piece.content) for piece in self._pieces]
        wanted = {index: size for index, size in enumerate(sizes) if index not in required}
        grants = self._grants(room, wanted, cores)
        found = {index: self._newest(index, grants[index]) for index in elastic}
        left = room - sum(fitted.counted for fitted in found.values())
        found |= {index: self._whole(index, content) for index, content in required.items()}
        optional = {index: size for index, size in wanted.items() if index not in found}
        grants = self._grants(left, optional, {}) if optional else {}
        found |= {index: self._first(index, grants[index]) for index in optional}
        fitted = [found[index] for index in range(len(self._pieces))]
        if self._has_repeats:
            shown = _once([one.shown for one in fitted])
            fitted = [
                one if content is one.shown else self._whole(index, content)
                for index, (one, content) in enumerate(zip(fitted, shown, strict=True))
            ]
        return self._with_candidates(fitted, grants)

    def _grants(self, room: int, wanted: Mapping[int, int], cores: Mapping[int, int]) -> dict[int, int]:
        """Share the room out by section; what must stay is set aside first."""
        names = {self._pieces[index].section.name: index for index in wanted}
        kept = {name: cores.get(index, 0) for name, index in names.items()}
        shares = {name: _beyond(self._share(index), kept[name]) for name, index in names.items()}
        asked = {name: max(wanted[index] - kept[name], 0) for name, index in names.items()}
        granted = share_out(room - sum(kept.values()), asked, shares)
        return {index: kept[name] + granted[name] for name, index in names.items()}

    def _share(self, index: int) -> Share:
        section = self._pieces[index].section
        own = self._budget.shares.get(section.name, section.share)
        return own or (_ELASTIC if self._pieces[index].is_elastic else Share())

    def _is_within_maximum(self, index: int, size: int) -> bool:
        maximum = self._share(index).maximum
        return maximum is None or size <= maximum

    def _whole(self, index: int, content: Content | Scroll) -> Fitted:
        piece = self._pieces[index]
        if isinstance(content, Candidates):
            return Fitted(piece, Scroll(), 0)
        rule = "shown elsewhere" if len(content) < len(piece.content) else ""
        shown = Scroll(view=content) if isinstance(content, View) else Scroll(tuple(content))
        size, answers = self._measure(content)
        return Fitted(piece, shown, size, rule, answers)

    def _first(self, index: int, grant: int) -> Fitted:
        """Show the first groups of an optional section."""
        piece = self._pieces[index]
        if isinstance(piece.content, Candidates) or self._size(piece.content) <= grant:
            return self._whole(index, piece.content)
        shown = _first_groups(piece.content, grant, self._size)
        size, answers = self._measure(shown)
        return Fitted(piece, Scroll(shown), size, "more than its share", answers)

    def _with_candidates(self, fitted: list[Fitted], grants: Mapping[int, int]) -> list[Fitted]:
        """Select from candidates in the room that is left, leaving their grants to those that come later."""
        contents = {index: piece.content for index, piece in enumerate(self._pieces)}
        waiting = {i: content for i, content in contents.items() if isinstance(content, Candidates)}
        left = self._room - sum(one.counted for one in fitted)
        for index, candidates in list(waiting.items()):
            del waiting[index]
            room = left - sum(grants.get(later, 0) for later in waiting)
            maximum = self._share(index).maximum
            room = max(room if maximum is None else min(room, maximum), 0)
            fitted[index] = self._selected(index, candidates, room, fitted)
            left -= fitted[index].counted
        return fitted

    def _selected(self, index: int, candidates: Candidates, room: int, others: Sequence[Fitted]) -> Fitted:
        rows = [Shown(one.shown, one.piece.origin) for one in others]
        earlier = [one.selection for one in others if one.selection is not None]

        def is_shown(ids: Sequence[str], is_same: Callable[[Item], bool]) -> bool:
            return any(row.shows(ids, is_same) for row in rows)

        selection = candidates.select(room, self._count, is_shown, earlier)
        rule = "best first" if len(selection) < len(candidates) else ""
        counted = sum(map(self._count, selection.items))
        return Fitted(self._pieces[index], Scroll(selection.items), counted, rule, selection=selection)

    def _newest(self, index: int, grant: int) -> Fitted:
        """Show the newest of an elastic section, cut in steps."""
        piece = self._pieces[index]
        size, answers = self._measure(piece.content)
        if size <= grant:
            return self._whole(index, piece.content)
        granted = max(grant - answers, 0)
        shown: Scroll | None = None
        if not piece.section.closely:
            try:
                shown = self._cut(piece, size - answers - self._going(index, size - answers, granted))
            except Irreducible:
                pass  # a whole step is more than may go
            else:
                if piece.apart is not None and len(shown) <= len(piece.protected()):
                    shown = None  # a step that leaves nothing but the input is too large
        if shown is None:
            shown = self._cut(piece, granted)
        return Fitted(piece, shown, shown.counted(self._sums) + answers, "oldest left out", answers)  # pyright: ignore

    def _cut(self, piece: Piece, tokens: int) -> Scroll:
        """Return the newest of a piece. The input counts as part of it, also if it is shown elsewhere."""
        closely, apart = piece.section.closely, piece.apart
        tokens = max(tokens, 0) + (0 if apart is None else self._count(apart))
        if isinstance(piece.content, View):
            source = piece.origin or piece.content
            cut = newest(source, tokens=tokens, counter=self._sums, closely=closely)  # pyright: ignore
            return cut if source is piece.content else Scroll(cut.before, piece.content, cut.start)
        items = piece.content if apart is None else (*piece.content, apart)
        kept = newest_items(items, tokens=tokens, counter=self._sums, stays=piece.stays(), closely=closely)  # pyright: ignore
        return Scroll(kept if apart is None else kept[:-1])

    def _going(self, index: int, asked: int, granted: int) -> int:
        """Return how many tokens of the oldest go: a multiple of a step, so that the cut seldom moves.

        The step is half of what the budget leaves beside all that is the same in every turn; or a quarter, an
        eighth and so on, if the room is smaller now. It does not depend on what a counter learns. A section
        that comes and goes, or changes in size, is given a quarter of the room from the start.
        """
        piece, maximum = self._pieces[index], self._share(index).maximum
        frame = sum(self._frame(piece) for piece in self._pieces if piece.is_elastic)
        static = self._static() + frame
        base = self._budget.available - sum(self._beside.values()) - static
        elsewhere = 0 if piece.apart is None else self._count(piece.apart)
        room = granted + elsewhere - frame
        if maximum is not None:
            base = min(base, maximum - frame)
        elif any(map(self._varies, self._pieces)):
            room = min(room, (self._room - static) * 3 // 4)
        step = max(base // 2, 1)
        while step * 3 <= room:
            step *= 2
        while step > 1 and step * 3 > room * 2:
            step //= 2
        surplus = max(asked + elsewhere - frame - room, 0)
        return -(-surplus // step) * step

    def _static(self) -> int:
        contents = (piece.content for piece in self._pieces if piece.section.stability == "static")
        return sum(map(self._wanted, contents))

    def _frame(self, piece: Piece) -> int:
        """Return the counts of instructions and the like in a history, which are shown in every turn."""
        if not isinstance(piece.content, View):
            return sum(self._count(item) for item in piece.content if structural(item))
        view = piece.origin or piece.content
        marks = view.log.positions("marks", 0, view.end)
        return sum(view.log.tokens(p, p + 1, self._sums) for p in marks if view.run_at(p) is not None)  # pyright: ignore

    def _varies(self, piece: Piece) -> bool:
        """Whether the size of a section changes between turns, other than by input that is recorded."""
        if piece.section.stability == "static" or piece.is_elastic:
            return False
        if not isinstance(piece.section, Input):
            return True
        views = [other.origin for other in self._pieces if other.origin is not None]
        return not all(
            any(view.log.find(item.id, view.end) is not None for view in views) for item in piece.content
        )

    def _size(self, content: Content | Scroll) -> int:
        return self._measure(content)[0]

    def _wanted(self, content: Content) -> int:
        """Return the tokens that a piece would take if there were room for all."""
        if not isinstance(content, Candidates):
            return self._size(content)
        return sum(map(self._count, content.select(None, self._count).items))

    def _answers(self, index: int) -> int:
        return self._measure(self._pieces[index].content)[1]

    def _measure(self, content: Content | Scroll) -> tuple[int, int]:
        """Return the counts of some content and of the results that rendering adds to it, and the latter."""
        known = self._measured.get(id(content))
        if known is None:
            piece = next((piece for piece in self._pieces if piece.content is content), None)
            answers = pending_tokens(content, self._count, piece and piece.source)
            if isinstance(content, View):
                known = content.counted(self._sums) + answers, answers  # pyright: ignore
            else:
                known = sum(map(self._count, content)) + answers, answers
            if piece is not None:
                self._measured[id(content)] = known
        return known

    def _over(self, needed: Mapping[int, int], stays: Mapping[int, Sequence[Item]]) -> OverBudget:
        """Return the error that names what is required, the largest first, and the largest item to blame."""
        sizes = {self._pieces[index].section.name: size for index, size in needed.items() if size}
        beside = {name: tokens for name, tokens in self._beside.items() if tokens}
        total = self._counter.total(sum(sizes.values()) + sum(beside.values()))
        framing = self._counter.total(0)
        quoted = {repr(name): size for name, size in sizes.items()} | beside
        blamed = [f"{name} {size:,}" for name, size in sorted(quoted.items(), key=lambda one: -one[1])]
        blamed += [f"framing {framing:,}"] if framing else []
        worst = max(needed, key=needed.__getitem__, default=-1)
        largest = None
        if needed.get(worst, 0) >= sum(beside.values()):
            largest = max(stays.get(worst, ()), key=self._count, default=None)
        item = f"; the largest is item {cut(largest.id)!r} with {self._count(largest):,}" if largest else ""
        over = total - self._budget.available
        return OverBudget(
            f"what is required takes {over:,} tokens more than the {self._budget.available:,} available: "
            f"{', '.join(blamed)}{item}",
            over,
            tuple(sorted(sizes | beside, key=lambda name: -(sizes | beside)[name])),
        )


def made_up_result(call: ToolCall) -> ToolResult:
    """Return the result that rendering adds for a pending call: no provider takes a call without one."""
    return ToolResult(call.call_id, call.name, NO_RESULT, id=f"{call.id}/no-result", created_at=0.0)


def pending_tokens(content: Content | Scroll, count: Count, source: View | None = None) -> int:
    """Return the counts of the results that rendering adds. No cut leaves out a pending call."""
    view = content if isinstance(content, View) else source
    if view is not None and (isinstance(content, View) or not view.pending()):
        return sum(count(made_up_result(call)) for call in view.pending())
    if isinstance(content, Candidates) or not any(isinstance(item, ToolCall) for item in content):
        return 0
    return sum(count(made_up_result(call)) for call in pending_calls(content))


def _once(contents: Sequence[Content | Scroll]) -> list[Content | Scroll]:
    """Return the contents with each item in one place only.

    An item of a view is shown there, because nothing may be taken from the middle of a history. Any other is
    shown by the first that has it. A content of which nothing is left out is returned as it is.
    """
    found = list(contents)
    rows: list[Shown] = []
    for index in _by_precedence(found):
        content = found[index]
        if isinstance(content, Candidates) or not len(content):
            continue
        if rows or not _is_view(content):
            new = {i.id: i for i in reversed(content) if not any(i.id in row for row in rows)}
            if len(new) < len(content):
                found[index] = content = tuple(reversed(new.values()))
        rows.append(Shown(content))
    return found


def _by_precedence(contents: Sequence[Content | Scroll]) -> list[int]:
    return sorted(range(len(contents)), key=lambda index: not _is_view(contents[index]))


def _is_view(content: Content | Scroll) -> bool:
    return isinstance(content, View) or (isinstance(content, Scroll) and content.view is not None)


def _first_groups(
    items: Sequence[Item], room: int, size: Callable[[Sequence[Item]], int]
) -> tuple[Item, ...]:
    """Return items from the first on, as far as whole groups fit."""
    kept: set[str] = set()
    for group in groups(items):
        room -= size(group.items)
        if room < 0:
            break
        kept.update(item.id for item in group.items)
    return tuple(item for item in items if item.id in kept)


def _beyond(share: Share, core: int) -> Share:
    """Return what is left of a share when what must stay is set aside."""
    if not core:
        return share
    most = None if share.maximum is None else max(share.maximum - core, 0)
    return Share(minimum=max(share.minimum - core, 0), maximum=most, weight=share.weight)
