"""Fitting: what the sections have to show, within a budget. Pure, and the same for the same.

What is required comes first, whole. The rest of the budget is shared out, and what is elastic takes what the
others leave: its newest, in whole groups, with the message to be answered always among it.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from quire.context.cutting import Count, Steps, Sums, core, cut_last, cut_newest, cut_view, frame_tokens
from quire.context.gathering import Piece
from quire.errors import Irreducible, OverBudget, cut
from quire.items import Item
from quire.state import View
from quire.state.scroll import Scroll
from quire.tokens import Budget, Counter, Share
from quire.tokens.budget import share_out

_OLDEST = "oldest left out"
_ELASTIC = Share(weight=4)
"""What a history has of a budget that is too small for all, unless it says otherwise: most of it."""


class Fitted(NamedTuple):
    """One section as it is shown: `counted` of the `asked` tokens, and the `rule` that left others out."""

    piece: Piece
    shown: Scroll
    counted: int
    asked: int
    rule: str = ""

    @property
    def name(self) -> str:
        """The section's name."""
        return self.piece.section.name

    @property
    def is_whole(self) -> bool:
        """Whether all of it is shown."""
        return self.counted == self.asked


def fit(
    pieces: Sequence[Piece],
    *,
    budget: Budget,
    counter: Counter,
    schemas: int = 0,
    count: Count | None = None,
) -> tuple[Fitted, ...]:
    """The pieces within the budget, beside `schemas` tokens of tool definitions.

    `OverBudget` where what is required is more than that. `count` counts one item, if there is a faster way
    than the counter's.
    """
    return _Fit(pieces, budget, counter, schemas, count or counter.count).fitted()


class _Fit:
    def __init__(
        self, pieces: Sequence[Piece], budget: Budget, counter: Counter, schemas: int, count: Count
    ) -> None:
        self._pieces = pieces
        self._budget = budget
        self._counter = counter
        self._schemas = schemas
        self._count = count
        self._sums = Sums(counter.key, count)
        self._asked = [self._size(piece.content) for piece in pieces]
        self._cores: dict[int, list[Item]] = {}  # of what is elastic: what must stay, once that matters

    def fitted(self) -> tuple[Fitted, ...]:
        if self._total(sum(self._asked)) <= self._budget.available:
            return tuple(self._whole(index) for index in range(len(self._pieces)))
        fixed = [index for index, piece in enumerate(self._pieces) if _is_fixed(piece)]
        room = self._allowed() - sum(self._asked[index] for index in fixed)
        if room < 0:
            raise self._over(fixed)
        kept = {index: self._whole(index) for index in fixed}
        flexible = [index for index in range(len(self._pieces)) if index not in kept]
        try:
            kept |= self._shared(room, flexible)
        except Irreducible:
            kept |= self._shared_with_cores(room, fixed, flexible)
        return tuple(kept[index] for index in range(len(self._pieces)))

    def _allowed(self) -> int:
        """The largest sum of counts whose total fits."""
        available = self._budget.available - self._schemas
        return bisect_right(range(sum(self._asked)), available, key=self._counter.total) - 1

    def _shared(self, room: int, flexible: list[int]) -> dict[int, Fitted]:
        """What is elastic or optional, each within its grant; what one does not use is for the others."""
        kept: dict[int, Fitted] = {}
        grants = self._grants(room, flexible)
        for index in (index for index in flexible if self._pieces[index].is_elastic):
            kept[index] = self._cut(index, grants[index])
        left = room - sum(fitted.counted for fitted in kept.values())
        others = [index for index in flexible if index not in kept]
        for index, grant in self._grants(left, others).items():
            kept[index] = self._cut(index, grant)
        return kept

    def _shared_with_cores(self, room: int, fixed: list[int], flexible: list[int]) -> dict[int, Fitted]:
        """The same, where what must stay of something elastic is more than its share."""
        elastic = [index for index in flexible if self._pieces[index].is_elastic]
        for index in elastic:
            piece = self._pieces[index]
            self._cores[index] = core(piece.content, piece.source, self._sums)
        if sum(map(self._core, elastic)) > room:
            raise self._over([*fixed, *elastic])
        try:
            return self._shared(room, flexible)
        except Irreducible:
            raise self._over([*fixed, *elastic]) from None

    def _core(self, index: int) -> int:
        return sum(map(self._count, self._cores.get(index, ())))

    def _grants(self, room: int, indexes: list[int]) -> dict[int, int]:
        names = {self._pieces[index].section.name: index for index in indexes}
        shares = {name: self._share(index) for name, index in names.items()}
        granted = share_out(room, {name: self._asked[index] for name, index in names.items()}, shares)
        return {names[name]: tokens for name, tokens in granted.items()}

    def _share(self, index: int) -> Share:
        section = self._pieces[index].section
        own = self._budget.shares.get(section.name, section.share)
        share = own or (_ELASTIC if self._pieces[index].is_elastic else Share())
        core = self._core(index)
        if core <= share.minimum:
            return share
        most = None if share.maximum is None else max(share.maximum, core)
        return Share(minimum=core, maximum=most, weight=share.weight)

    def _cut(self, index: int, grant: int) -> Fitted:
        piece, asked = self._pieces[index], self._asked[index]
        if asked <= grant:
            return self._whole(index)
        if isinstance(piece.content, View):
            shown = cut_view(piece.content, self._steps(grant), self._sums)
            return Fitted(piece, shown, shown.counted(self._sums), asked, _OLDEST)
        if piece.is_elastic:
            kept = cut_newest(piece.content, self._steps(grant), self._count, piece.source)
        else:
            kept = cut_last(piece.content, grant, self._count)
        rule = _OLDEST if piece.is_elastic else "more than its share"
        return Fitted(piece, Scroll(kept), self._size(kept), asked, rule)

    def _steps(self, grant: int) -> Steps:
        """In which steps the oldest go: told from what does not change between turns.

        What does change is given quarters of the room, so that a cut does not move to and fro with its size.
        """
        within = self._frame_within()
        stable = self._budget.available - self._schemas - self._static() - within
        quarter = stable // 4
        if quarter < 1 or grant < quarter:
            return Steps(grant, grant, max(grant // 2, 1))
        taken = max(stable - (grant - within), 0)
        steady = stable - -(-taken // quarter) * quarter + within
        return Steps(grant, steady if within < steady <= grant else grant, 2 * quarter)

    def _static(self) -> int:
        """The counts of what is the same in each turn, outside of histories."""
        sized = zip(self._pieces, self._asked, strict=True)
        static = (asked for piece, asked in sized if piece.section.stability == "static")
        return sum(static) + self._counter.total(0)

    def _frame_within(self) -> int:
        views = (piece.content for piece in self._pieces if isinstance(piece.content, View))
        return sum(frame_tokens(view, self._sums) for view in views)

    def _whole(self, index: int) -> Fitted:
        content = self._pieces[index].content
        shown = Scroll(view=content) if isinstance(content, View) else Scroll(content)
        return Fitted(self._pieces[index], shown, self._asked[index], self._asked[index])

    def _size(self, content: View | tuple[Item, ...]) -> int:
        return content.counted(self._counter) if isinstance(content, View) else sum(map(self._count, content))

    def _total(self, counted: int) -> int:
        return self._counter.total(counted) + self._schemas

    def _over(self, blamed: list[int]) -> OverBudget:
        """Who is to blame, the largest first, and of what must stay of a history the largest item."""
        sizes = {self._pieces[index].section.name: self._needed(index) for index in blamed}
        stays = [item for items in self._cores.values() for item in items]
        over = max(self._total(sum(sizes.values())) - self._budget.available, 1)
        parts = sorted(sizes, key=lambda name: -sizes[name])
        told = [f"{name!r} {sizes[name]:,}" for name in parts]
        for what, size in (("tool definitions", self._schemas), ("framing", self._counter.total(0))):
            told += [f"{what} {size:,}"] if size else []
        return OverBudget(
            f"what is required is {over:,} more than the {self._budget.available:,} tokens there are: "
            f"{', '.join(told)}{self._largest(stays)}",
            over,
            tuple(parts),
        )

    def _needed(self, index: int) -> int:
        return self._core(index) if index in self._cores else self._asked[index]

    def _largest(self, stays: list[Item]) -> str:
        if not stays:
            return ""
        item = max(stays, key=self._count)
        return f"; the largest that must stay is item {cut(item.id)!r} with {self._count(item):,}"


def _is_fixed(piece: Piece) -> bool:
    """Whether a section is shown whole or not at all."""
    return piece.section.required and not piece.is_elastic
