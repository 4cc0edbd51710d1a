"""Fitting: what the sections have to show, within a budget. Pure and deterministic.

Required sections come first, whole. The rest of the budget is shared out. Elastic sections take what the
others leave: their newest items in whole groups. Candidates have room of a size that does not change while a
turn goes on: where more results arrive, the elastic sections make room.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import NamedTuple

from quire.compactors import Pointer, no_pointer, number_handle
from quire.context.shrink import Shrinking, Shrunk, plainly_cut, shorter_results
from quire.errors import Irreducible, OverBudget, cut
from quire.items import Item, Message, ToolResult
from quire.sections import Candidates, Count, Input, Selection, Settings, Stability
from quire.state import (
    Cut,
    Scroll,
    View,
    groups,
    is_user_message,
    newest,
    newest_from,
    pending_calls,
    protected_positions,
    structural,
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
"""What these parts of a request are called."""

ELSEWHERE = "shown elsewhere"
"""The rule that leaves out of one section what another shows."""

LEFT_OUT, SHORTENED = "oldest left out", "old results shortened"
"""The rules by which a history that is too long is shown."""

_ELASTIC = Share(weight=4)
"""The share of an elastic section that has none of its own."""

_FLOOR = 0.42
"""How much of its room a history that is cut shows at least, give or take the group at the cut."""

_TARGET, _WHOLE = 0.75, 0.25
"""How much of its room a history takes once results are shortened, and how much of it stays whole."""

_LEDGER, _LEAST_LEDGER = 0.05, 400
"""The most tokens of a ledger: a part of the window, or so many if that is less than a quarter of it."""

_WITH_LEDGER = 0.88
"""The part of the floor that is shown where a ledger tells of what is left out."""

_READ = 4
"""A history is read as far back as so many times its room; what is before that is left out."""

_ROUNDING = 8
"""The room for steps is rounded down to eighths of the whole: small changes beside it do not move them."""

Content = View | Sequence[Item]
"""A view or items; items that are `Candidates` are selected."""


Selected = Mapping[str, tuple[str, Sequence[Item]]]
"""By the name of a section: the turn in which it was last selected from candidates, and what it showed."""


class Piece(NamedTuple):
    """One section and its content. `source` is the view that the content of a history is from.

    `failure` says why an optional section has no content.
    """

    section: Settings
    content: Content
    failure: str | None = None
    source: View | None = None

    @property
    def origin(self) -> View | None:
        """The view that decides what must stay of the content."""
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
        """Return the ids that the source of a list protects; None if the list or view itself says it."""
        if self.source is None or isinstance(self.content, View):
            return None
        return {self.source.log.item(position).id for position in protected_positions(self.source)}

    def protected(self) -> Sequence[Item]:
        """Return the items that no cut leaves out."""
        return newest_from(self.content, len(self.content), self.protected_ids()).before


class Fitted(NamedTuple):
    """One section as it is shown: its items, their tokens, and the `rule` that left others out.

    Of what is `counted`, `answers` are for what rendering adds for pending calls and late results.
    `selection` is what was selected of candidates. `cut` says where a history is cut; `free` are the tokens
    that it could take if it were cut `closely`. `shortened` are the ids of results that are shown in a short
    form. The `ledger` is among the items that are shown.
    """

    piece: Piece
    shown: Scroll
    counted: int
    rule: str = ""
    answers: int = 0
    selection: Selection | None = None
    cut: Cut | None = None
    free: int = 0
    shortened: frozenset[str] = frozenset()
    ledger: Message | None = None

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
    """Fit the pieces into the budget, beside the counts of tool definitions and of the answer schema.

    Raises `OverBudget` if what is required does not fit. With `shortens_new`, results that were just given
    are shortened before that. What is shortened or left out of the view that is `readable` by a tool has a
    handle for it. `count` counts one item, if there is a faster way than the counter's. `cuts`
    say where sections were cut in the turn before: a cut stays where it is as long as all fits, so that
    caches hold, and so does what was `selected` in the same turn.
    An input that ends a history is fitted as its last item, and then shown by its own section.
    If something follows it, it stays in the history: at the end it would be a new question.
    """
    count, beside = count or counter.count, {TOOLS: schemas, ANSWER: output}
    questions = {_last_question(piece) for piece in pieces if piece.origin is not None}
    inputs = {
        index: piece
        for index, piece in enumerate(pieces)
        if isinstance(piece.section, Input) and not questions.isdisjoint(item.id for item in piece.content)
    }
    others = [piece._replace(content=()) if index in inputs else piece for index, piece in enumerate(pieces)]
    fitted = list(
        _Fit(
            others, budget, counter, beside, count, cuts or {}, shortens_new, readable, selected or {}
        ).fitted()
    )
    for index, piece in inputs.items():
        fitted[index] = Fitted(piece, Scroll(), 0, ELSEWHERE)
        for place, one in enumerate(fitted):
            ends = one.shown[-1:] == [*one.piece.content[-1:]] == [*piece.content]
            if one.piece.origin is not None and ends:
                fitted[place] = _without_input(one, count)
                fitted[index] = Fitted(piece, Scroll(tuple(piece.content)), count(one.shown[-1]))
    return tuple(fitted)


def _last_question(history: Piece) -> str | None:
    """Return the id of the last user message of a history, which it always shows."""
    content = history.content
    if isinstance(content, View):
        position = content.log.last_user(content.end)
        return None if position is None else content.log.item(position).id
    return next((item.id for item in reversed(content) if is_user_message(item)), None)


def _without_input(one: Fitted, count: Count) -> Fitted:
    """Return a history without its last item."""
    shown, (piece, content) = one.shown, (one.piece, one.piece.content)
    rest = without_last(content) if isinstance(content, View) else content[:-1]
    left = Scroll(tuple(shown)[:-1])
    if isinstance(rest, View) and shown.view is content and shown.start < len(content):
        left = Scroll(shown.before, rest, shown.start)
    piece = piece._replace(content=rest, source=piece.origin)
    return one._replace(piece=piece, shown=left, counted=one.counted - count(shown[-1]))


class Shown:
    """What one section shows, asked by id. A history is not copied."""

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
        self._sums = AsSent(counter.key, count)  # the parts of a request are totalled as a whole
        self._plain = Tally(counter.key, count)
        self._room = largest_sum(budget.available, counter) - sum(beside.values())
        self._since: dict[int, tuple[Shrunk | None, int]] = {}
        self._sizes = [self._measure(piece.content, piece.source) for piece in pieces]

    @property
    def _elastic(self) -> Iterable[int]:
        return (index for index, piece in enumerate(self._pieces) if piece.is_elastic)

    @cached_property
    def _protected(self) -> Mapping[int, Sequence[Item]]:
        """The items of the elastic sections that no cut leaves out."""
        return {index: self._pieces[index].protected() for index in self._elastic}

    def fitted(self) -> tuple[Fitted, ...]:
        found = [self._whole(index) for index in range(len(self._pieces))]
        once = self._each_once(found)
        is_within = all(one.counted <= self._most(index) for index, one in enumerate(once))
        if is_within and sum(one.counted for one in once) <= self._room:
            with_blocks = self._with_candidates(once, within=False)
            # Where a history is cut, it stays so if it fits only until more is selected.
            was_cut = any(self._since_last_cut(i)[0] for i in self._elastic)
            spare = self._spare(with_blocks) if self._blocks and was_cut else 0
            if sum(one.counted for one in with_blocks) + spare <= self._room:
                return tuple(with_blocks)
        cut_down = self._cut_down(found)
        left = self._room - sum(one.counted for one in cut_down)
        return tuple(one._replace(free=min(one.free, left)) if one.free else one for one in cut_down)

    def _cut_down(self, found: list[Fitted]) -> list[Fitted]:
        """Fit the pieces in less room than they need: what is required, what must stay, then by shares."""
        elastic = self._protected
        cores = {i: self._counted(i, items) + self._sizes[i][1] for i, items in elastic.items()}
        required = {i: one.counted for i, one in enumerate(found) if one.piece.is_required}
        room = self._room - sum(required.values())
        if sum(cores.values()) > room:
            return self._essentials(found, required | cores, sum(cores.values()) - room)
        reserved = min(sum(self._blocks.values()), room - sum(cores.values()))
        wanted = {i: self._sizes[i][0] for i in range(len(found)) if i not in {*required, *self._blocks}}
        grants = self._grants(room - reserved, wanted, {})
        if any(grants[index] < core for index, core in cores.items()):
            grants = self._grants(room - reserved, wanted, cores)
        spare = self._spare_since_last_cuts(found) if reserved else 0
        for index in elastic:
            found[index] = self._newest(index, grants[index], spare)
            spare -= max(found[index].counted - grants[index], 0)
        found = self._with_candidates(self._each_once(found))
        # What the elastic sections leave, because they are cut in steps, is for the optional ones.
        optional = {i: size for i, size in wanted.items() if i not in elastic}
        left = room - sum(found[index].counted for index in (*elastic, *self._blocks))
        grants = self._grants(left, optional, {}) if optional else {}
        for index in optional:
            found[index] = self._first(index, grants[index])
        return self._each_once(found)

    def _spare_since_last_cuts(self, found: Sequence[Fitted]) -> int:
        """Return what the candidates leave of their room beside histories shown from the last cuts."""
        since = {i: shrunk for i in self._elastic if (shrunk := self._since_last_cut(i)[0]) is not None}
        if not since:
            return 0
        kept = [
            one._replace(shown=since[index].shown, cut=since[index].cut) if index in since else one
            for index, one in enumerate(found)
        ]
        return self._spare(self._with_candidates(kept, within=False))

    def _spare(self, fitted: Sequence[Fitted]) -> int:
        return sum(tokens - fitted[index].counted for index, tokens in self._blocks.items())

    @cached_property
    def _blocks(self) -> Mapping[int, int]:
        """The most tokens of the sections with candidates: their shares if a history took all that it may.

        This does not change while a turn goes on.
        """
        rows = [index for index, piece in enumerate(self._pieces) if isinstance(piece.content, Candidates)]
        if not rows:
            return {}
        room = self._room - sum(
            self._sizes[index][0]
            for index, piece in enumerate(self._pieces)
            if piece.is_required and not _is_volatile(piece)
        )
        wanted = {
            index: max(room, 0) if index in rows or piece.is_elastic else self._sizes[index][0]
            for index, piece in enumerate(self._pieces)
            if not (piece.is_required or (_is_volatile(piece) and index not in rows and not piece.is_elastic))
        }
        grants = self._grants(max(room, 0), wanted, {})
        return {index: grants[index] for index in rows}

    def _essentials(self, found: list[Fitted], needed: Mapping[int, int], surplus: int) -> list[Fitted]:
        """Show what must stay and nothing else, with the largest results as short as they have to be."""
        for index in sorted(self._protected, key=lambda index: -needed[index]):
            piece, items = self._pieces[index], self._protected[index]
            shorter: dict[str, Item] = {}
            if piece.section.shortens and self._shortens_new:
                pinned, pointer = self._pinned_ids(piece), self._pointer(piece)
                shorter = shorter_results(items, pinned, piece.content, self._plain, surplus, pointer)
            shown = tuple(shorter.get(item.id, item) for item in items)
            counted, answers = self._counted(index, shown), self._sizes[index][1]
            surplus -= needed[index] - answers - counted
            one = Fitted(piece, Scroll(shown), counted + answers, LEFT_OUT, answers)
            found[index] = one._replace(shortened=frozenset(shorter))
        if surplus > 0:
            raise self._over(needed)
        for index, one in enumerate(found):
            if not (one.piece.is_required or one.piece.is_elastic):
                found[index] = self._first(index, 0)
        return self._with_candidates(self._each_once(found))

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

    def _most(self, index: int) -> int:
        maximum = self._share(index).maximum
        return self._room if maximum is None else maximum

    def _measure(self, content: Content | Scroll, source: View | None = None) -> tuple[int, int]:
        """Return the counts of some content and of the results that rendering adds to it, and the latter."""
        if isinstance(content, Candidates):
            return 0, 0
        answers = _pending_tokens(content, self._count, source)
        counted = content.counted(self._sums) if isinstance(content, View) else sum(map(self._count, content))
        return counted + answers, answers

    def _counted(self, index: int, items: Iterable[Item]) -> int:
        """Return the counts of items of a piece."""
        content, row = self._pieces[index].content, list(items)
        late = content.late_among(row) if isinstance(content, View) else ()
        return sum(map(self._count, row)) + sum(map(self._sums.late.count, late))

    def _late(self, shown: Scroll) -> int:
        """Return what of the counts of a view is for results that came late."""
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
        kept: set[str] = set()
        for group in groups(piece.content):
            grant -= self._measure(group.items)[0]
            if grant < 0:
                break
            kept.update(item.id for item in group.items)
        shown = tuple(item for item in piece.content if item.id in kept)
        counted, answers = self._measure(shown)
        return Fitted(piece, Scroll(shown), counted, "more than its share", answers)

    def _newest(self, index: int, grant: int, spare: int) -> Fitted:
        """Show the newest of an elastic section: from the cut of the turn before on, as long as that fits.

        Only that may take what is `spare` beside the grant.
        """
        piece, (counted, answers) = self._pieces[index], self._sizes[index]
        if counted <= grant:
            return self._whole(index)
        granted, content, stays = max(grant - answers, 0), piece.content, piece.protected_ids()
        if piece.section.closely:
            shown = newest(content, tokens=granted, counter=self._sums, stays=stays, closely=True)
            shrunk = plainly_cut(shown)
        else:
            shrunk = self._from_last_cut(index, granted, spare) or self._cut_anew(index, granted)
        shown = shrunk.shown if isinstance(content, View) else Scroll(tuple(shrunk.shown))
        counted = shown.counted(self._sums)
        free = 0 if piece.section.closely else max(granted - counted, 0)
        added = answers + self._late(shown)
        rule = LEFT_OUT if shrunk.cut is None or shrunk.cut.first else SHORTENED
        one = Fitted(piece, shown, counted + answers, rule, added, cut=shrunk.cut, free=free)
        return one._replace(shortened=shrunk.shortened, ledger=shrunk.ledger)

    def _from_last_cut(self, index: int, granted: int, spare: int) -> Shrunk | None:
        """Return what is shown from the last cut on; None if that is too much, or less than the floor."""
        shrunk, counted = self._since_last_cut(index)
        always, floor = self._floor(index, granted)
        return shrunk if always + int(floor * _WITH_LEDGER) <= counted <= granted + spare else None

    def _since_last_cut(self, index: int) -> tuple[Shrunk | None, int]:
        """Return what the last cut would show, and its count; None and nothing if there was no cut."""
        if index not in self._since:
            cut = self._cuts.get(self._pieces[index].section.name)
            shrunk = self._shrinking(index).since(cut) if cut else None
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
        """Return what gives the handles of a piece: none if no tool reads its view."""
        view, origin = self._readable, piece.origin
        if view is None or origin is None or origin.log is not view.log:
            return no_pointer
        return lambda item: number_handle(view, item.id)

    @cached_property
    def _ledger_tokens(self) -> int:
        """The most tokens of a ledger: a part of the window, which does not change from turn to turn."""
        window = self._budget.available
        return max(int(window * _LEDGER), min(_LEAST_LEDGER, window // 4))

    def _cut_anew(self, index: int, granted: int) -> Shrunk:
        """Cut so deep that the cut can stay where it is for some turns: down to the floor."""
        piece, (always, floor) = self._pieces[index], self._floor(index, granted)
        least = floor
        if piece.section.name not in self._cuts:
            least = max(self._least_by_steps(index, granted - always), floor)
        grown = least - floor
        # The turn at the cut is shown whole, unless it alone takes more than the floor.
        usual = min(always + least + floor, granted)
        room = granted - always
        target = min(always + int(room * _TARGET) + grown, granted)
        whole = int(room * _WHOLE) + grown
        shrinking = self._shrinking(index)
        try:
            return shrinking.anew(
                least=always + least,
                usual=usual,
                most=granted,
                spare=floor - int(floor * _WITH_LEDGER),
                whole_least=whole,
                target=target,
                reach=_READ * granted + grown,
            )
        except Irreducible:  # results that came late take more than a cut can know of
            stays = piece.protected_ids()
            return plainly_cut(newest(piece.content, tokens=granted, counter=self._sums, stays=stays))

    def _least_by_steps(self, index: int, room: int) -> int:
        """Return what a history without an earlier cut shows at least, beside what it always shows.

        What is left out grows in steps that count from the start of the log: so turns that know nothing of
        each other, such as those of a server that keeps no sessions, are cut at the same place.
        """
        unit = max(self._room // _ROUNDING, 1)
        room = room // unit * unit or room
        step = max(int(room * (1 - _FLOOR)), 1)
        counted, answers = self._sizes[index]
        length = counted - answers - self._always(index)
        steps = -((room - length) // step)  # rounded up
        return length - steps * step

    def _floor(self, index: int, granted: int) -> tuple[int, int]:
        """Return the count of what a history always shows, and of what it shows beside that at least.

        The room is measured without the volatile sections, so that the cut does not follow them. Where they
        leave the history little of the room, the floor is lower, so that the cut need not move in each turn.
        """
        always = self._always(index)
        steady = (i for i, one in enumerate(self._pieces) if not (one.is_elastic or _is_volatile(one)))
        room = min(self._room - sum(self._sizes[i][0] for i in steady), self._most(index)) - always
        return always, int(max(min(room * _FLOOR, (granted - always) * (1 - _FLOOR)), 0))

    def _always(self, index: int) -> int:
        """Return the count of what a history shows wherever it is cut: instructions, summaries and pins."""
        pinned, protected = self._pinned_ids(self._pieces[index]), self._protected[index]
        return self._counted(index, (item for item in protected if structural(item) or item.id in pinned))

    def _pinned_ids(self, piece: Piece) -> Collection[str]:
        view = piece.origin
        if view is None:
            return ()
        return {view.log.item(p).id for head in view.pins() for p in view.log.group(head, view.end)}

    def _each_once(self, fitted: Sequence[Fitted]) -> list[Fitted]:
        """Show each item in one place only: in a history, if it is in one, else in the first that has it.

        Nothing may be taken from the middle of a view.
        """
        found = list(fitted)
        rows: list[Shown] = []
        for index in sorted(range(len(found)), key=lambda index: found[index].shown.view is None):
            one = found[index]
            if rows or one.shown.view is None:
                new = {item.id: item for item in reversed([*one.shown])}
                for row in rows:
                    new = {item_id: item for item_id, item in new.items() if item_id not in row}
                if len(new) < len(one.shown):
                    items = tuple(reversed(new.values()))
                    counted, answers = self._measure(items)
                    rule = one.rule or ELSEWHERE
                    one = found[index] = one._replace(
                        shown=Scroll(items), counted=counted, rule=rule, answers=answers
                    )
            rows.append(Shown(one.shown))
        return found

    def _with_candidates(self, fitted: Sequence[Fitted], *, within: bool = True) -> list[Fitted]:
        """Select from candidates in their room; where that is not left, in what is left."""
        found = list(fitted)
        for index, tokens in self._blocks.items():
            found[index] = self._selected(index, tokens, found)
            left = self._room - sum(one.counted for one in found if one is not found[index])
            if within and found[index].counted > left:
                found[index] = self._selected(index, max(left, 0), found)
        return found

    def _selected(self, index: int, room: int, fitted: Sequence[Fitted]) -> Fitted:
        candidates, others = self._pieces[index].content, [*fitted[:index], *fitted[index + 1 :]]
        assert isinstance(candidates, Candidates)
        rows = [Shown(one.shown, one.piece.origin) for one in others]
        earlier = [one.selection for one in others if one.selection is not None]
        is_shown = partial(_is_shown, rows)
        turn, items = self._selected_before.get(self._pieces[index].section.name, ("", ()))
        is_same = turn and turn == candidates.turn and not any(map(self._is_moved, others))
        is_same = is_same and sum(map(self._count, items)) <= room
        selection = candidates.again(items, is_shown, earlier) if is_same else None
        if selection is None:
            selection = candidates.select(room, self._count, is_shown, earlier)
        rule = "best first" if len(selection) < len(candidates) else ""
        counted = sum(map(self._count, selection.items))
        return Fitted(self._pieces[index], Scroll(selection.items), counted, rule, selection=selection)

    def _is_moved(self, one: Fitted) -> bool:
        """Whether a section is cut at another place than in the request before."""
        return one.cut is not None and one.cut != self._cuts.get(one.name)

    def _over(self, needed: Mapping[int, int]) -> OverBudget:
        """Return the error that names what is required, the largest first, and the largest item to blame."""
        sizes = {self._pieces[index].section.name: size for index, size in needed.items()}
        sizes = {name: size for name, size in {**sizes, **self._beside}.items() if size}
        parts = sorted(sizes, key=lambda name: -sizes[name])
        over = self._counter.total(sum(sizes.values())) - self._budget.available
        worst = [index for index in self._protected if self._pieces[index].section.name in parts[:1]]
        largest = max((i for index in worst for i in self._protected[index]), key=self._count, default=None)
        total, room = self._counter.total, self._budget.available
        rows = ", ".join(f"{name} {total(sizes[name]):,}" for name in parts)
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
            f"{rows}{item}. {way[0].upper()}{way[1:]}",
            over,
            tuple(parts),
        )


def _is_volatile(piece: Piece) -> bool:
    return piece.section.stability == "volatile"


def _is_shown(rows: Sequence[Shown], ids: Sequence[str], is_same: Callable[[Item], bool]) -> bool:
    return any(row.shows(ids, is_same) for row in rows)


def _pending_tokens(content: Content, count: Count, source: View | None) -> int:
    """Return the counts of what rendering adds for pending calls, and to a list for late results.

    No provider takes a call without a result, so a call without one, or with a late one, has a neutral
    result. A late result follows as text under a heading; a view counts that. No cut leaves out a pending
    call.
    """
    if isinstance(content, View):
        return sum(placeholder_tokens(call, count) for call in content.pending())
    calls = [] if source is not None and not source.pending() else pending_calls(content)
    late = [] if source is None else source.late_among(content)
    return sum(placeholder_tokens(call, count) for call in calls) + sum(map(Late("", count).count, late))


def _beyond(share: Share, core: int) -> Share:
    """Return what is left of a share when what must stay is set aside."""
    if not core:
        return share
    most = None if share.maximum is None else max(share.maximum - core, 0)
    return Share(minimum=max(share.minimum - core, 0), maximum=most, weight=share.weight)
