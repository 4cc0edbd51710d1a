"""Fits the content of the sections into a budget. Pure and deterministic.

Required sections are shown whole. The other sections share the rest of the budget. Elastic sections, such as
a history, take the room that the others leave, and show their newest items in whole groups. The room of
candidates stays the same during a turn: elastic sections make room for tool results that arrive meanwhile.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import NamedTuple

from quire.compactors import Pointer, no_pointer, number_handle
from quire.context.shrink import Shrinking, Shrunk, as_shrunk, shorter_results
from quire.errors import Irreducible, OverBudget, cut
from quire.items import Item, Message, ToolResult
from quire.sections import Candidates, Count, Input, Selection, Settings, Stability
from quire.state import (
    Cut,
    Scroll,
    View,
    groups,
    is_structural,
    is_user_message,
    newest,
    newest_from,
    pending_calls,
    protected_positions,
    view_of_list,
    without_last,
)
from quire.tokens import (
    AsSent,
    Budget,
    Counter,
    Late,
    Share,
    Tally,
    largest_sum,
    placeholder_tokens,
    share_out,
)

TOOLS = "tool definitions"
ANSWER = "answer schema"
"""The names of these parts of a request."""

ELSEWHERE = "shown elsewhere"
"""The rule that leaves out an item that another section shows."""

LEFT_OUT, SHORTENED = "oldest left out", "old results shortened"
"""The rules that shrink a history that is too long."""

_ELASTIC = Share(weight=4)
"""The default share of an elastic section."""

_FLOOR = 0.42
"""A cut history fills at least this share of its room, give or take the group at the cut."""

_TARGET, _WHOLE = 0.75, 0.25
"""Shares of the room: what a history fills once results are shortened, and what of the newest stays whole."""

_LEDGER_SHARE, _MIN_LEDGER = 0.05, 400
"""The limit of a ledger: a share of the window, but at least 400 tokens, or a quarter of a small window."""

_WITH_LEDGER = 0.88
"""The share of the floor that a history has to fill if a ledger lists what was left out."""

_REACH = 4
"""A new cut reads a history as far back as this many times its room, and leaves out all earlier items."""

_ROUNDING = 8
"""The room that cuts depend on is rounded down to eighths, so that small changes do not move the cuts."""

Content = View | Sequence[Item]
"""A view or items. `Candidates` are items of which some are selected."""

Selected = Mapping[str, tuple[str, Sequence[Item]]]
"""By section: the turn in which its candidates were last selected, and the items that it showed."""


class Piece(NamedTuple):
    """One section and its content."""

    section: Settings
    content: Content
    failure: str | None = None
    """Why an optional section has no content."""
    source: View | None = None
    """The view that the content of a history was taken from."""

    @property
    def origin(self) -> View | None:
        """The view that decides which items of the content must stay."""
        return self.content if self.source is None and isinstance(self.content, View) else self.source

    @property
    def is_elastic(self) -> bool:
        """Whether it takes the room that the other sections leave."""
        return self.origin is not None or self.section.keeps == "newest"

    @property
    def is_required(self) -> bool:
        """Whether it is shown whole or the build fails."""
        return self.section.required and not (self.is_elastic or isinstance(self.content, Candidates))

    def protected_ids(self) -> Collection[str] | None:
        """Return the ids that must stay in a list taken from `source`; `None` if the content itself tells."""
        if self.source is None or isinstance(self.content, View):
            return None
        return {self.source.log.item(position).id for position in protected_positions(self.source)}

    def protected(self) -> Sequence[Item]:
        """Return the items that no cut leaves out."""
        return newest_from(self.content, len(self.content), self.protected_ids()).before


class Fitted(NamedTuple):
    """One section after fitting: its visible items and their tokens."""

    piece: Piece
    shown: Scroll
    counted: int
    """The sum of the token counts, `answers` included."""
    rule: str = ""
    """Why other items were left out."""
    answers: int = 0
    """The counts of what rendering adds for pending calls and late results."""
    selection: Selection | None = None
    cut: Cut | None = None
    """Where a history is cut."""
    free: int = 0
    """The tokens that a history could still fill if it were cut `closely`."""
    shortened: frozenset[str] = frozenset()
    """The ids of the results in a short form."""
    ledger: Message | None = None
    """The ledger, which is also among the visible items."""

    @property
    def name(self) -> str:
        """The name of the section."""
        return self.piece.section.name

    @property
    def stability(self) -> Stability:
        """How the section changes between turns."""
        return self.piece.section.stability


def fit(
    pieces: Sequence[Piece],
    *,
    budget: Budget,
    counter: Counter,
    schemas: int = 0,
    output: int = 0,
    count: Count | None = None,
    cuts: Mapping[str, Cut] | None = None,
    shortens_new: bool = False,
    readable: View | None = None,
    selected: Selected | None = None,
) -> tuple[Fitted, ...]:
    """Fit the pieces into the budget. Raises `OverBudget` if the required items do not fit.

    `schemas` and `output` are the counts of the tool definitions and of the answer schema. `count` counts one
    item, and may be faster than the counter. `cuts` and `selected` are those of the last turn: a cut stays
    while everything fits, and a selection stays during its turn, so that prompt caches hold. With
    `shortens_new`, new results are shortened before `OverBudget` is raised. `readable` is the view that a
    tool of the model can read: its shortened and left out items are listed with handles.

    An input that is the last item of a history is fitted as a part of it, and then shown by its own section.
    If other items follow it, it stays in the history: at the end it would look like a new question.
    """
    count, beside = count or counter.count, {TOOLS: schemas, ANSWER: output}
    questions = {_last_question(piece) for piece in pieces if piece.origin is not None}
    inputs = {
        index: piece
        for index, piece in enumerate(pieces)
        if isinstance(piece.section, Input) and not questions.isdisjoint(item.id for item in piece.content)
    }
    emptied = [piece._replace(content=()) if index in inputs else piece for index, piece in enumerate(pieces)]
    fitting = _Fit(
        emptied, budget, counter, beside, count, cuts or {}, shortens_new, readable, selected or {}
    )
    fitted = list(fitting.fitted())
    for index, piece in inputs.items():
        fitted[index] = Fitted(piece, Scroll(), 0, ELSEWHERE)
        for place, other in enumerate(fitted):
            ends_with_input = other.shown[-1:] == [*other.piece.content[-1:]] == [*piece.content]
            if other.piece.origin is not None and ends_with_input:
                fitted[place] = _without_input(other, count)
                fitted[index] = Fitted(piece, Scroll(tuple(piece.content)), count(other.shown[-1]))
    return tuple(fitted)


def _last_question(history: Piece) -> str | None:
    """Return the id of the last user message of a history, which it always shows."""
    content = history.content
    if isinstance(content, View):
        position = content.log.last_user(content.end)
        return None if position is None else content.log.item(position).id
    return next((item.id for item in reversed(content) if is_user_message(item)), None)


def _without_input(history: Fitted, count: Count) -> Fitted:
    """Return a history without its last item."""
    shown, piece, content = history.shown, history.piece, history.piece.content
    rest = without_last(content) if isinstance(content, View) else content[:-1]
    scroll = Scroll(tuple(shown)[:-1])
    if isinstance(rest, View) and shown.view is content and shown.start < len(content):
        scroll = Scroll(shown.before, rest, shown.start)
    piece = piece._replace(content=rest, source=piece.origin)
    return history._replace(piece=piece, shown=scroll, counted=history.counted - count(shown[-1]))


class Shown:
    """Looks up by id which items one section shows, without copying a history."""

    def __init__(self, shown: Scroll, origin: View | None = None) -> None:
        self._view, self._start = shown.view, shown.start
        self._items = {item.id: item for item in (*shown.before, *shown.after)}
        self._origin = origin if shown.view is None else shown.view

    def __contains__(self, item_id: str) -> bool:
        if item_id in self._items:
            return True
        view = self._view
        position = None if view is None else view.log.find(item_id, view.end)
        if view is None or position is None:
            return False
        if view.shows_summary(position):
            return True  # a summary is never left out
        return view.run_at(position) is not None and view.index_of(position) >= self._start

    def shows(self, ids: Sequence[str], is_same: Callable[[Item], bool]) -> bool:
        """Whether one of the ids is shown, and the item with the first id passes a test."""
        if not any(item_id in self for item_id in ids):
            return False
        item, view = self._items.get(ids[0]), self._origin
        if item is None and view is not None:
            position = view.log.find(ids[0], view.end)
            item = None if position is None else view.log.item(position)
        return item is not None and is_same(item)


class _Fit:
    """One fitting. Sections are named by their indexes, which are those of the pieces."""

    def __init__(
        self,
        pieces: Sequence[Piece],
        budget: Budget,
        counter: Counter,
        beside: dict[str, int],
        count: Count,
        cuts: Mapping[str, Cut],
        shortens_new: bool,
        readable: View | None,
        selected: Selected,
    ) -> None:
        self._pieces, self._budget, self._counter = pieces, budget, counter
        self._beside, self._count, self._cuts = beside, count, cuts
        self._shortens_new, self._readable, self._selected_before = shortens_new, readable, selected
        self._sums = AsSent(counter.key, count)  # with what rendering adds for late results
        self._plain = Tally(counter.key, count)  # without
        self._room = largest_sum(budget.available, counter) - sum(beside.values())
        self._since: dict[int, tuple[Shrunk | None, int]] = {}  # what `_since_last_cut` has computed
        # By section: the counts of its content with what rendering adds to it, and of that alone.
        self._sizes = [self._measure(piece.content, piece.source) for piece in pieces]

    @property
    def _elastic(self) -> Iterable[int]:
        return (index for index, piece in enumerate(self._pieces) if piece.is_elastic)

    @cached_property
    def _protected(self) -> Mapping[int, Sequence[Item]]:
        """The items of the elastic sections that no cut leaves out."""
        return {index: self._pieces[index].protected() for index in self._elastic}

    def fitted(self) -> tuple[Fitted, ...]:
        whole = [self._whole(index) for index in range(len(self._pieces))]
        each_once = self._each_once(whole)
        is_within = all(part.counted <= self._maximum(index) for index, part in enumerate(each_once))
        if is_within and _total(each_once) <= self._room:
            selected = self._with_candidates(each_once, within=False)
            # A cut stays if the whole history would fit only until the candidates fill their room.
            was_cut = any(self._since_last_cut(i)[0] for i in self._elastic)
            unused = self._unused_by_candidates(selected) if self._candidate_room and was_cut else 0
            if _total(selected) + unused <= self._room:
                return tuple(selected)
        cut_down = self._cut_down(whole)
        free = self._room - _total(cut_down)
        return tuple(part._replace(free=min(part.free, free)) if part.free else part for part in cut_down)

    def _cut_down(self, fitted: list[Fitted]) -> list[Fitted]:
        """Fit pieces that need more than the room: required ones, then protected items, then by shares."""
        candidate_room = self._candidate_room
        cores = {i: self._counted(i, items) + self._sizes[i][1] for i, items in self._protected.items()}
        required = {i: part.counted for i, part in enumerate(fitted) if part.piece.is_required}
        room = self._room - sum(required.values())
        if sum(cores.values()) > room:
            return self._essentials(fitted, required | cores, sum(cores.values()) - room)
        reserved = min(sum(candidate_room.values()), room - sum(cores.values()))
        wanted = {i: self._sizes[i][0] for i in range(len(fitted)) if i not in {*required, *candidate_room}}
        grants = self._grants(room - reserved, wanted, {})
        if any(grants[index] < core for index, core in cores.items()):
            grants = self._grants(room - reserved, wanted, cores)
        spare = self._spare_since_last_cuts(fitted) if reserved else 0
        for index in cores:
            fitted[index] = self._newest(index, grants[index], spare)
            spare -= max(fitted[index].counted - grants[index], 0)
        fitted = self._with_candidates(self._each_once(fitted))
        # Elastic sections are cut in steps, and leave room: the optional ones share it.
        optional = {i: size for i, size in wanted.items() if i not in cores}
        rest = room - sum(fitted[index].counted for index in (*cores, *candidate_room))
        grants = self._grants(rest, optional, {}) if optional else {}
        for index in optional:
            fitted[index] = self._first(index, grants[index])
        return self._each_once(fitted)

    def _spare_since_last_cuts(self, fitted: Sequence[Fitted]) -> int:
        """Return the room that candidates leave if the histories are shown from their last cuts."""
        parts = list(fitted)
        for index in self._elastic:
            shrunk, _ = self._since_last_cut(index)
            if shrunk is not None:
                parts[index] = parts[index]._replace(shown=shrunk.shown, cut=shrunk.cut)
        if not any(self._since_last_cut(index)[0] for index in self._elastic):
            return 0
        return self._unused_by_candidates(self._with_candidates(parts, within=False))

    def _unused_by_candidates(self, fitted: Sequence[Fitted]) -> int:
        return sum(tokens - fitted[index].counted for index, tokens in self._candidate_room.items())

    @cached_property
    def _candidate_room(self) -> Mapping[int, int]:
        """The room of each section with candidates: its share while the histories fill theirs.

        So the room does not change during a turn.
        """
        selecting = [i for i, piece in enumerate(self._pieces) if isinstance(piece.content, Candidates)]
        if not selecting:
            return {}
        sizes = [size for size, _ in self._sizes]
        steady = [index for index, piece in enumerate(self._pieces) if not _is_volatile(piece)]
        room = max(self._room - sum(sizes[index] for index in steady if self._pieces[index].is_required), 0)
        wanted = {index: sizes[index] for index in steady if not self._pieces[index].is_required}
        wanted |= dict.fromkeys((*selecting, *self._elastic), room)
        grants = self._grants(room, dict(sorted(wanted.items())), {})
        return {index: grants[index] for index in selecting}

    def _essentials(self, fitted: list[Fitted], needed: Mapping[int, int], surplus: int) -> list[Fitted]:
        """Show only required and protected items, with the largest new results shortened if necessary."""
        for index in sorted(self._protected, key=lambda index: -needed[index]):
            piece, items = self._pieces[index], self._protected[index]
            shorter: dict[str, Item] = {}
            if piece.section.shortens and self._shortens_new:
                pinned, pointer = self._pinned_ids(piece), self._pointer(piece)
                shorter = shorter_results(items, pinned, piece.content, self._plain, surplus, pointer)
            shown = tuple(shorter.get(item.id, item) for item in items)
            counted, answers = self._counted(index, shown), self._sizes[index][1]
            surplus -= needed[index] - answers - counted
            part = Fitted(piece, Scroll(shown), counted + answers, LEFT_OUT, answers)
            fitted[index] = part._replace(shortened=frozenset(shorter))
        for index, part in enumerate(fitted):
            if not (part.piece.is_required or part.piece.is_elastic):
                fitted[index] = self._first(index, 0)
        fitted = self._each_once(fitted)
        if surplus > 0 and _total(fitted) > self._room:  # `needed` has an item of two sections twice
            raise self._over(needed)
        return self._with_candidates(fitted)

    def _grants(self, room: int, wanted: Mapping[int, int], cores: Mapping[int, int]) -> dict[int, int]:
        """Share the room out by section. The cores, which are the protected items, are set aside first."""
        index_by_name = {self._pieces[index].section.name: index for index in wanted}
        core = {name: cores.get(index, 0) for name, index in index_by_name.items()}
        shares = {name: _beyond(self._share(index), core[name]) for name, index in index_by_name.items()}
        demand = {name: max(wanted[index] - core[name], 0) for name, index in index_by_name.items()}
        granted = share_out(room - sum(core.values()), demand, shares)
        return {index: core[name] + granted[name] for name, index in index_by_name.items()}

    def _share(self, index: int) -> Share:
        section = self._pieces[index].section
        own = self._budget.shares.get(section.name, section.share)
        return own or (_ELASTIC if self._pieces[index].is_elastic else Share())

    def _maximum(self, index: int) -> int:
        maximum = self._share(index).maximum
        return self._room if maximum is None else maximum

    def _measure(self, content: Content | Scroll, source: View | None = None) -> tuple[int, int]:
        """Return the counts of content with the results that rendering adds to it, and of these alone."""
        if isinstance(content, Candidates):
            return 0, 0
        answers = _pending_tokens(content, self._count, source)
        counted = content.counted(self._sums) if isinstance(content, View) else sum(map(self._count, content))
        return counted + answers, answers

    def _counted(self, index: int, items: Iterable[Item]) -> int:
        """Return the counts of items of a piece, with what rendering adds for late results among them."""
        content, items = self._pieces[index].content, list(items)
        late = content.late_among(items) if isinstance(content, View) else ()
        return sum(map(self._count, items)) + sum(map(self._sums.late.count, late))

    def _late(self, shown: Scroll) -> int:
        """Return the counts that rendering adds to a view for results that came late."""
        if shown.view is None or not shown.view.log.has_late:
            return 0
        return shown.counted(self._sums) - shown.counted(self._plain)

    def _whole(self, index: int) -> Fitted:
        piece, (counted, answers) = self._pieces[index], self._sizes[index]
        content = () if isinstance(piece.content, Candidates) else piece.content
        shown = Scroll(view=content) if isinstance(content, View) else Scroll(tuple(content))
        return Fitted(piece, shown, counted, answers=answers + self._late(shown))

    def _first(self, index: int, grant: int) -> Fitted:
        """Show the first groups of an optional section."""
        piece = self._pieces[index]
        if self._sizes[index][0] <= grant:
            return self._whole(index)
        fitting: set[str] = set()
        for group in groups(piece.content):
            grant -= self._measure(group.items)[0]
            if grant < 0:
                break
            fitting.update(item.id for item in group.items)
        shown = tuple(item for item in piece.content if item.id in fitting)
        counted, answers = self._measure(shown)
        return Fitted(piece, Scroll(shown), counted, "more than its share", answers)

    def _newest(self, index: int, grant: int, spare: int) -> Fitted:
        """Show the newest items of an elastic section, from its last cut on as long as these fit.

        Only items from the last cut on may fill the `spare` room as well.
        """
        piece, (counted, answers) = self._pieces[index], self._sizes[index]
        if counted <= grant:
            return self._whole(index)
        granted, content, stays = max(grant - answers, 0), piece.content, piece.protected_ids()
        if piece.section.closely:
            shown = newest(content, tokens=granted, counter=self._sums, stays=stays, closely=True)
            shrunk = as_shrunk(shown)
        else:
            shrunk = self._from_last_cut(index, granted, spare) or self._cut_anew(index, granted)
        shown = shrunk.shown if isinstance(content, View) else Scroll(tuple(shrunk.shown))
        counted = shown.counted(self._sums)
        free = 0 if piece.section.closely else max(granted - counted, 0)
        added = answers + self._late(shown)  # `counted` has the late results already
        rule = LEFT_OUT if shrunk.cut is None or shrunk.cut.first else SHORTENED
        part = Fitted(piece, shown, counted + answers, rule, added, cut=shrunk.cut, free=free)
        return part._replace(shortened=shrunk.shortened, ledger=shrunk.ledger)

    def _from_last_cut(self, index: int, granted: int, spare: int) -> Shrunk | None:
        """Return the items from the last cut on; `None` if they do not fit, or fill less than the floor."""
        shrunk, counted = self._since_last_cut(index)
        always, floor = self._floor(index, granted)
        return shrunk if always + int(floor * _WITH_LEDGER) <= counted <= granted + spare else None

    def _since_last_cut(self, index: int) -> tuple[Shrunk | None, int]:
        """Return the items from the last cut on, and their count; `None` and 0 if there was no cut."""
        if index not in self._since:
            cut = self._cuts.get(self._pieces[index].section.name)
            shrunk = self._shrinking(index).apply(cut) if cut else None
            self._since[index] = shrunk, 0 if shrunk is None else shrunk.shown.counted(self._sums)
        return self._since[index]

    def _shrinking(self, index: int) -> Shrinking:
        piece = self._pieces[index]
        view = piece.content if isinstance(piece.content, View) else view_of_list(piece.content)
        tokens = self._ledger_tokens if piece.section.ledger else 0
        return Shrinking(
            piece.section.name,
            view,
            piece.protected_ids(),
            self._sums,
            ledger_tokens=tokens,
            shortens=piece.section.shortens,
            pointer=self._pointer(piece),
        )

    def _pointer(self, piece: Piece) -> Pointer:
        """Return the function that gives handles for items of a piece, if a tool can read its view."""
        view, origin = self._readable, piece.origin
        if view is None or origin is None or origin.log is not view.log:
            return no_pointer
        return lambda item: number_handle(view, item.id)

    @cached_property
    def _ledger_tokens(self) -> int:
        """The limit of a ledger, which depends only on the window, so that it is the same in every turn."""
        window = self._budget.available
        return max(int(window * _LEDGER_SHARE), min(_MIN_LEDGER, window // 4))

    def _cut_anew(self, index: int, granted: int) -> Shrunk:
        """Cut down to the floor, so that the cut can stay for some turns."""
        piece, (always, floor) = self._pieces[index], self._floor(index, granted)
        room, least = granted - always, floor
        if piece.section.name not in self._cuts:
            least = max(self._least_by_steps(index, room), floor)
        above_floor = least - floor
        # The turn at the cut is shown whole, unless it alone takes more than the floor.
        usual = min(always + least + floor, granted)
        try:
            return self._shrinking(index).cut_again(
                least=always + least,
                usual=usual,
                most=granted,
                spare=floor - int(floor * _WITH_LEDGER),
                newest_whole=int(room * _WHOLE) + above_floor,
                target=min(always + int(room * _TARGET) + above_floor, granted),
                reach=_REACH * granted + above_floor,
            )
        except Irreducible:  # late results take more room than the cut can provide
            stays = piece.protected_ids()
            return as_shrunk(newest(piece.content, tokens=granted, counter=self._sums, stays=stays))

    def _least_by_steps(self, index: int, room: int) -> int:
        """Return the minimum for a history without an earlier cut, beside the items it always shows.

        The number of tokens left out grows in steps from the start of the log. So turns that do not know each
        other's cuts, such as those of a server without sessions, are cut at the same place.
        """
        unit = max(self._room // _ROUNDING, 1)
        room = room // unit * unit or room
        step = max(int(room * (1 - _FLOOR)), 1)
        counted, answers = self._sizes[index]
        length = counted - answers - self._always(index)
        steps = -((room - length) // step)  # rounded up
        return length - steps * step

    def _floor(self, index: int, granted: int) -> tuple[int, int]:
        """Return the count of the items that a history always shows, and the minimum for its other items.

        Volatile sections do not count here, so that the cut does not move with their size. If they leave the
        history little room, the floor is lower, so that the cut need not move in each turn.
        """
        always = self._always(index)
        steady = (i for i, piece in enumerate(self._pieces) if not (piece.is_elastic or _is_volatile(piece)))
        room = min(self._room - sum(self._sizes[i][0] for i in steady), self._maximum(index)) - always
        return always, int(max(min(room * _FLOOR, (granted - always) * (1 - _FLOOR)), 0))

    def _always(self, index: int) -> int:
        """Return the count of the items that every cut shows: instructions, summaries and pins."""
        pinned, protected = self._pinned_ids(self._pieces[index]), self._protected[index]
        return self._counted(index, (item for item in protected if is_structural(item) or item.id in pinned))

    def _pinned_ids(self, piece: Piece) -> Collection[str]:
        view = piece.origin
        if view is None:
            return ()
        return {view.log.item(p).id for head in view.pins() for p in view.log.group(head, view.end)}

    def _each_once(self, fitted: Sequence[Fitted]) -> list[Fitted]:
        """Show each item once: in a history that has it, or else in the first section that has it.

        Histories come first, because no item may be removed from the middle of a view.
        """
        parts = list(fitted)
        earlier: list[Shown] = []
        for index in sorted(range(len(parts)), key=lambda index: parts[index].shown.view is None):
            part = parts[index]
            if earlier or part.shown.view is None:
                unseen = {item.id: item for item in reversed([*part.shown])}  # of equal ids the first
                for shown in earlier:
                    unseen = {item_id: item for item_id, item in unseen.items() if item_id not in shown}
                if len(unseen) < len(part.shown):
                    items = tuple(reversed(unseen.values()))
                    counted, answers = self._measure(items)
                    rule = part.rule or ELSEWHERE
                    part = parts[index] = part._replace(
                        shown=Scroll(items), counted=counted, rule=rule, answers=answers
                    )
            earlier.append(Shown(part.shown))
        return parts

    def _with_candidates(self, fitted: Sequence[Fitted], *, within: bool = True) -> list[Fitted]:
        """Select candidates for their room. With `within`, the room is at most what the budget has left."""
        parts = list(fitted)
        for index, tokens in self._candidate_room.items():
            parts[index] = self._selected(index, tokens, parts)
            left = self._room - sum(part.counted for part in parts if part is not parts[index])
            if within and parts[index].counted > left:
                parts[index] = self._selected(index, max(left, 0), parts)
        return parts

    def _selected(self, index: int, room: int, fitted: Sequence[Fitted]) -> Fitted:
        candidates, others = self._pieces[index].content, [*fitted[:index], *fitted[index + 1 :]]
        assert isinstance(candidates, Candidates)
        sections = [Shown(part.shown, part.piece.origin) for part in others]
        earlier = [part.selection for part in others if part.selection is not None]
        is_shown = partial(_is_shown, sections)
        turn, items = self._selected_before.get(self._pieces[index].section.name, ("", ()))
        is_same_turn = turn and turn == candidates.turn and not any(map(self._has_moved, others))
        selection = None
        if is_same_turn and sum(map(self._count, items)) <= room:
            selection = candidates.again(items, is_shown, earlier)
        if selection is None:
            selection = candidates.select(room, self._count, is_shown, earlier)
        rule = "best first" if len(selection) < len(candidates) else ""
        counted = sum(map(self._count, selection.items))
        return Fitted(self._pieces[index], Scroll(selection.items), counted, rule, selection=selection)

    def _has_moved(self, part: Fitted) -> bool:
        """Whether the cut of a section is not that of the last request."""
        return part.cut is not None and part.cut != self._cuts.get(part.name)

    def _over(self, needed: Mapping[int, int]) -> OverBudget:
        """Return the error that names the required parts, the largest first, and their largest item."""
        sizes = {self._pieces[index].section.name: size for index, size in needed.items()}
        sizes = {name: size for name, size in {**sizes, **self._beside}.items() if size}
        parts = sorted(sizes, key=lambda name: -sizes[name])
        over = self._counter.total(sum(sizes.values())) - self._budget.available
        worst = [index for index in self._protected if self._pieces[index].section.name in parts[:1]]
        largest = max((i for index in worst for i in self._protected[index]), key=self._count, default=None)
        total, room = self._counter.total, self._budget.available
        counts = ", ".join(f"{name} {total(sizes[name]):,}" for name in parts)
        item, way = "", "a larger Budget(window=…) has room for it"
        if largest is not None:
            item = f"; the largest is item {cut(largest.id)!r} with {total(self._count(largest)):,}"
            pinned = {name for index in worst for name in self._pinned_ids(self._pieces[index])}
            if largest.id in pinned:
                way = f"undo its pin, or {way}"
            elif isinstance(largest, ToolResult):
                way = f"a session with compactor=Offload() moves it to the pool, or {way}"
        return OverBudget(
            f"what is required needs {room + over:,}, {over:,} tokens more than the {room:,} available: "
            f"{counts}{item}. {way[0].upper()}{way[1:]}",
            over,
            tuple(parts),
        )


def _total(fitted: Sequence[Fitted]) -> int:
    return sum(part.counted for part in fitted)


def _is_volatile(piece: Piece) -> bool:
    return piece.section.stability == "volatile"


def _is_shown(sections: Sequence[Shown], ids: Sequence[str], is_same: Callable[[Item], bool]) -> bool:
    return any(section.shows(ids, is_same) for section in sections)


def _pending_tokens(content: Content, count: Count, source: View | None) -> int:
    """Return the counts of what rendering adds to content.

    Providers refuse a call without a result. So rendering adds a neutral result to a pending call, which is
    never left out, and to a call with a late result, which follows as text under a heading. What it adds for
    late results is in the count of a view already, so here it is added only for a list.
    """
    if isinstance(content, View):
        return sum(placeholder_tokens(call, count) for call in content.pending())
    calls = [] if source is not None and not source.pending() else pending_calls(content)
    late = [] if source is None else source.late_among(content)
    return sum(placeholder_tokens(call, count) for call in calls) + sum(map(Late("", count).count, late))


def _beyond(share: Share, core: int) -> Share:
    """Return a share without the tokens of its core."""
    if not core:
        return share
    maximum = None if share.maximum is None else max(share.maximum - core, 0)
    return Share(minimum=max(share.minimum - core, 0), maximum=maximum, weight=share.weight)
