"""Fitting: what the sections have to show, within a budget. Pure, and the same for the same.

What is required comes first, whole. The rest of the budget is shared out, and what is elastic takes what the
others leave: its newest, in whole groups, with the message to be answered always among it.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from quire.context.answers import answers_counted
from quire.context.blaming import over_budget
from quire.context.capacity import Capacity
from quire.context.claims import Claims
from quire.context.counts import Beside
from quire.context.cutting import (
    Count,
    Steps,
    Sums,
    core,
    cut_last,
    cut_newest,
    cut_view,
    frame_tokens,
    steps_in,
)
from quire.context.gathering import Content, Piece
from quire.context.repeats import once
from quire.errors import Irreducible, OverBudget, WrongType
from quire.items import Item
from quire.sections import Heard, Input, Quotes, Sifted, Told
from quire.state import Scroll, View
from quire.tokens import Budget, Counter, Share, checked_counter, share_out

_OLDEST = "oldest left out"
_REPEATED = "shown elsewhere"
_WORTHIEST = "the worthiest"
_ELASTIC = Share(weight=4)
"""What a history has of a budget that is too small for all, unless it says otherwise: most of it."""


class Fitted(NamedTuple):
    """One section as it is shown: for how many tokens, and the `rule` that left others out.

    Of what is `counted`, `answers` are for what rendering adds where calls wait. Of a section that quotes,
    `told` says what is in that which is shown.
    """

    piece: Piece
    shown: Scroll
    counted: int
    rule: str = ""
    answers: int = 0
    told: Told | None = None

    @property
    def name(self) -> str:
        """The section's name."""
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
    """The pieces within the budget, beside tokens of tool definitions, and of the schema of the answer.

    `OverBudget` where what is required is more than that. `count` counts one item, if there is a faster way
    than the counter's.
    """
    if not isinstance(budget, Budget):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"what is fitted into is a Budget, not {type(budget).__name__}")
    if not isinstance(pieces, Sequence) or not all(isinstance(piece, Piece) for piece in pieces):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType("what is fitted is a list of pieces, as gather gives it")
    beside = Beside(schemas, output)
    return _Fit(pieces, budget, checked_counter(counter), beside, count or counter.count).fitted()


class _Fit:
    def __init__(
        self, pieces: Sequence[Piece], budget: Budget, counter: Counter, beside: Beside, count: Count
    ) -> None:
        self._pieces = pieces
        self._budget = budget
        self._counter = counter
        self._beside = beside
        self._count = count
        self._sums = Sums(counter.key, count)
        self._capacity = Capacity(budget.available - beside.tokens, counter)
        # Of what the pieces have; they are kept for as long as this, so that no other content has their ids.
        contents = [piece.content for piece in pieces if not isinstance(piece.content, Quotes)]
        self._sizes = {id(content): self._sized(content) for content in contents}

    def fitted(self) -> tuple[Fitted, ...]:
        contents = once(self._pieces)
        sizes = [0 if isinstance(content, Quotes) else self._size(content) for content in contents]
        left = self._capacity.most - sum(sizes)
        if left >= 0 and all(self._may_have(index, size) for index, size in enumerate(sizes)):
            return self._all_of(contents, sizes, left)
        both = zip(contents, self._pieces, strict=True)
        any_twice = any(one is not piece.content for one, piece in both if not isinstance(one, Quotes))
        kept = self._cut_down(any_twice)
        return tuple(kept[index] for index in range(len(self._pieces)))

    def _all_of(self, contents: Sequence[Content], sizes: Sequence[int], left: int) -> tuple[Fitted, ...]:
        """Everything, and of quotes as much as there is room for beside it."""
        found: list[Fitted] = []
        heard = Heard()
        for index, (content, size) in enumerate(zip(contents, sizes, strict=True)):
            if isinstance(content, Quotes):
                most = self._share(index).maximum
                grant = left if most is None else min(left, most)
                fitted = self._told(self._pieces[index], content.without(heard.has), grant)
                found.append(fitted)
                left -= fitted.counted
                heard.add(() if fitted.told is None else fitted.told.quotes)
            else:
                found.append(self._whole(index, content, size))
        return tuple(found)

    def _may_have(self, index: int, size: int) -> bool:
        most = self._share(index).maximum
        return most is None or size <= most

    def _cut_down(self, any_twice: bool) -> dict[int, Fitted]:
        """The same in less room: each within its grant."""
        claims = Claims(self._pieces, any_twice)
        contents = {index: claims.of(index) for index in range(len(self._pieces))}
        sizes = {index: self._size(content) for index, content in contents.items()}
        allowed = min(self._capacity.most, sum(sizes.values()))
        room = allowed - sum(sizes[index] for index in claims.fixed)
        if room >= 0:
            try:
                return self._shared(claims, sizes, allowed, {})
            except Irreducible:
                pass  # what must stay of something elastic is more than its share: it comes before all shares
        stays = {index: core(self._pieces[index], contents[index], self._sums) for index in claims.elastic}
        cores = {i: sum(map(self._count, kept)) + self._answers(contents[i]) for i, kept in stays.items()}
        if sum(cores.values()) > room:
            needed = {index: sizes[index] for index in claims.fixed} | cores
            raise self._over(needed, stays)
        return self._shared(Claims(self._pieces, any_twice), sizes, allowed, cores)

    def _shared(
        self, claims: Claims, sizes: Mapping[int, int], allowed: int, cores: Mapping[int, int]
    ) -> dict[int, Fitted]:
        """What is elastic or optional, each within its grant; what one does not use is for the others."""
        room = allowed - sum(sizes[index] for index in claims.fixed)
        wanted = {index: sizes[index] for index in sizes if index not in claims.fixed}
        grants = self._grants(room, wanted, cores)
        kept: dict[int, Fitted] = {}
        for index in claims.elastic:
            kept[index] = self._cut(index, claims.of(index), grants[index])
            claims.settle(index, kept[index].shown)
        for index in claims.fixed:
            content = claims.of(index)
            kept[index] = self._whole(index, content, self._size(content))
        left = allowed - sum(fitted.counted for fitted in kept.values())
        contents = {index: claims.of(index) for index in claims.optional}
        wanted = {index: self._size(content) for index, content in contents.items()}
        for index, grant in self._grants(left, wanted, {}).items() if wanted else ():
            is_first = index == claims.optional[0]
            kept[index] = self._cut(index, contents[index] if is_first else claims.of(index), grant)
            told = kept[index].told
            claims.settle(index, kept[index].shown, () if told is None else told.quotes)
        return kept

    def _grants(self, room: int, wanted: Mapping[int, int], cores: Mapping[int, int]) -> dict[int, int]:
        """Tokens for each place; what must stay is set aside before anything is shared out."""
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

    def _cut(self, index: int, content: Content, grant: int) -> Fitted:
        piece = self._pieces[index]
        size = self._size(content)
        if size <= grant:
            return self._whole(index, content, size)
        if isinstance(content, Quotes):
            return self._told(piece, content, grant)
        if not piece.is_elastic:
            last = cut_last(content, grant, self._size)
            return Fitted(piece, Scroll(last), self._size(last), "more than its share", self._answers(last))
        answers = self._answers(content)
        steps = self._steps(index, max(grant - answers, 0))
        if isinstance(content, View) and not piece.section.closely:
            shown = cut_view(piece, content, steps, self._sums)
        else:
            shown = Scroll(cut_newest(piece, content, steps, self._sums))
        return Fitted(piece, shown, shown.counted(self._sums) + answers, _OLDEST, answers)

    def _steps(self, index: int, grant: int) -> Steps:
        """In which steps the oldest go: told from what does not change between turns.

        What does change, or comes and goes, is given a quarter of the room, or the next level that is left
        for this section, so that a cut does not move to and fro with it.
        """
        if self._pieces[index].section.closely:
            return Steps(grant, grant, 1)
        within = self._frame_within()
        stable = self._capacity.steady - self._static() - within
        piece, most = self._pieces[index], self._share(index).maximum
        base = stable if most is None else min(stable, most - within)
        elsewhere = 0 if piece.apart is None else self._count(piece.apart)
        room = min(grant + elsewhere - within, base)
        if base == stable and any(map(self._comes_and_goes, self._pieces)):
            room = min(room, base - 1)
        return steps_in(room, base, within, grant, elsewhere)

    def _comes_and_goes(self, piece: Piece) -> bool:
        """Whether there is now more of it, now less, and it is not part of what a history has."""
        if piece.section.stability == "static" or piece.is_elastic:
            return False
        return not isinstance(piece.section, Input) or not all(map(self._is_recorded, piece.content))

    def _is_recorded(self, item: Item) -> bool:
        views = (piece.origin for piece in self._pieces if piece.origin is not None)
        return any(view.log.find(item.id, view.end) is not None for view in views)

    def _static(self) -> int:
        """The counts of what is the same in each turn, outside of histories."""
        static = (piece.content for piece in self._pieces if piece.section.stability == "static")
        return sum(map(self._size, static))

    def _frame_within(self) -> int:
        views = (piece.origin for piece in self._pieces if not isinstance(piece.content, Sifted))
        return sum(frame_tokens(view, self._sums) for view in views if view is not None)

    def _whole(self, index: int, content: Content, size: int) -> Fitted:
        piece = self._pieces[index]
        if isinstance(content, Quotes):
            return self._told(piece, content, None)
        rule = _REPEATED if len(content) < len(piece.content) else ""
        shown = Scroll(view=content) if isinstance(content, View) else Scroll(tuple(content))
        return Fitted(piece, shown, size, rule, self._answers(content))

    def _told(self, piece: Piece, quotes: Quotes, grant: int | None) -> Fitted:
        told = quotes.told(grant, self._count)
        rule = _WORTHIEST if len(told.quotes) < len(piece.content) else ""
        return Fitted(piece, Scroll(told.items), sum(map(self._count, told.items)), rule, told=told)

    def _size(self, content: Content) -> int:
        size = self._sizes.get(id(content))
        return self._sized(content) if size is None else size

    def _sized(self, content: Content) -> int:
        if isinstance(content, View):
            return content.counted(self._counter) + self._answers(content)
        if isinstance(content, Sifted):
            return content.counted(self._sums) + self._answers(content)
        if isinstance(content, Quotes):
            return sum(map(self._count, content.told(None, self._count).items))
        return sum(map(self._count, content)) + self._answers(content)

    def _answers(self, content: Content) -> int:
        return answers_counted(content, self._count)

    def _over(self, needed: Mapping[int, int], stays: Mapping[int, Sequence[Item]]) -> OverBudget:
        sizes = {self._pieces[index].section.name: size for index, size in needed.items()}
        worst = max(needed, key=needed.__getitem__, default=-1)
        # An item is named only of a history that takes the most: of the others their names say it all.
        blamed = stays.get(worst, ()) if needed.get(worst, 0) >= self._beside.tokens else ()
        largest = max(blamed, key=self._count, default=None)
        return over_budget(sizes, self._beside, self._budget.available, self._counter, largest)


def _beyond(share: Share, core: int) -> Share:
    """What is left of a share once what must stay is set aside."""
    if not core:
        return share
    most = None if share.maximum is None else max(share.maximum - core, 0)
    return Share(minimum=max(share.minimum - core, 0), maximum=most, weight=share.weight)
