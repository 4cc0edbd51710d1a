"""Fitting: what the sections have to show, within a budget. Pure, and the same for the same.

What is required comes first, whole. The rest of the budget is shared out, and what is elastic takes what the
others leave: its newest, in whole groups, with the message to be answered always among it.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from quire.context.cutting import Count, cut_items, cut_view
from quire.context.gathering import Piece
from quire.errors import Irreducible, OverBudget, cut
from quire.items import Item
from quire.state import View
from quire.state.scroll import Scroll
from quire.tokens import Budget, Counter, Share
from quire.tokens.budget import share_out

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
        self._asked = [self._size(piece.content) for piece in pieces]

    def fitted(self) -> tuple[Fitted, ...]:
        if self._total(sum(self._asked)) <= self._budget.available:
            return tuple(self._whole(index) for index in range(len(self._pieces)))
        fixed = [index for index, piece in enumerate(self._pieces) if _is_fixed(piece)]
        room = self._allowed() - sum(self._asked[index] for index in fixed)
        if room < 0:
            raise self._over(fixed)
        kept = {index: self._whole(index) for index in fixed}
        kept |= self._shared(room, [index for index in range(len(self._pieces)) if index not in kept])
        return tuple(kept[index] for index in range(len(self._pieces)))

    def _allowed(self) -> int:
        """The largest sum of counts whose total fits."""
        available = self._budget.available - self._schemas
        return bisect_right(range(sum(self._asked)), available, key=self._counter.total) - 1

    def _shared(self, room: int, flexible: list[int]) -> dict[int, Fitted]:
        """What is elastic or optional, each within its grant; where the elastic needs more, it gets it."""
        grants = self._grants(room, flexible)
        kept: dict[int, Fitted] = {}
        for index in (index for index in flexible if self._pieces[index].is_elastic):
            rest = room - sum(fitted.counted for fitted in kept.values())
            kept[index] = self._elastic(index, grants[index], rest)
        left = room - sum(fitted.counted for fitted in kept.values())
        others = [index for index in flexible if index not in kept]
        for index, grant in self._grants(left, others).items():
            kept[index] = self._cut(index, grant)
        return kept

    def _grants(self, room: int, indexes: list[int]) -> dict[int, int]:
        names = {self._pieces[index].section.name: index for index in indexes}
        shares = {name: self._share(index) for name, index in names.items()}
        granted = share_out(room, {name: self._asked[index] for name, index in names.items()}, shares)
        return {names[name]: tokens for name, tokens in granted.items()}

    def _share(self, index: int) -> Share:
        section = self._pieces[index].section
        own = self._budget.shares.get(section.name, section.share)
        return own or (_ELASTIC if self._pieces[index].is_elastic else Share())

    def _elastic(self, index: int, grant: int, most: int) -> Fitted:
        try:
            return self._cut(index, grant)
        except Irreducible:
            try:
                return self._cut(index, most)
            except Irreducible as fault:
                stays = set(fault.parts)
                must = [item for item in self._pieces[index].content if item.id in stays]
                fixed = [i for i, piece in enumerate(self._pieces) if _is_fixed(piece)]
                raise self._over(fixed, (index, must)) from None

    def _cut(self, index: int, grant: int) -> Fitted:
        piece = self._pieces[index]
        if self._asked[index] <= grant:
            return self._whole(index)
        if isinstance(piece.content, View):
            shown = cut_view(piece.content, grant, self._step(grant), self._counter)
            return Fitted(piece, shown, shown.counted(self._counter), self._asked[index], "oldest left out")
        kept = cut_items(piece.content, grant, self._count, piece.section.keeps)
        rule = "oldest left out" if piece.section.keeps == "newest" else "more than its share"
        return Fitted(piece, Scroll(kept), self._size(kept), self._asked[index], rule)

    def _step(self, grant: int) -> int:
        """Half of what the conversation may take: told by what does not change from turn to turn."""
        static = (p.section.stability == "static" for p in self._pieces)
        stable = sum(asked for asked, is_static in zip(self._asked, static, strict=True) if is_static)
        half = (self._budget.available - self._schemas - stable) // 2
        return half if 0 < half <= grant else max(grant // 2, 1)

    def _whole(self, index: int) -> Fitted:
        content = self._pieces[index].content
        shown = Scroll(view=content) if isinstance(content, View) else Scroll(content)
        return Fitted(self._pieces[index], shown, self._asked[index], self._asked[index])

    def _size(self, content: View | tuple[Item, ...]) -> int:
        return content.counted(self._counter) if isinstance(content, View) else sum(map(self._count, content))

    def _total(self, counted: int) -> int:
        return self._counter.total(counted) + self._schemas

    def _over(self, fixed: list[int], stays: tuple[int, list[Item]] | None = None) -> OverBudget:
        """Who is to blame, the largest first, and of what must stay of a history the largest item."""
        sizes = {self._pieces[index].section.name: self._asked[index] for index in fixed}
        largest = ""
        if stays is not None:
            index, items = stays
            sizes[self._pieces[index].section.name] = sum(map(self._count, items))
            item = max(items, key=self._count)
            largest = f"; the largest that must stay is item {cut(item.id)!r} with {self._count(item):,}"
        over = max(self._total(sum(sizes.values())) - self._budget.available, 1)
        parts = sorted(sizes, key=lambda name: -sizes[name])
        told = [f"{name!r} {sizes[name]:,}" for name in parts]
        for what, size in (("tool definitions", self._schemas), ("framing", self._counter.total(0))):
            told += [f"{what} {size:,}"] if size else []
        return OverBudget(
            f"what is required is {over:,} more than the {self._budget.available:,} tokens there are: "
            f"{', '.join(told)}{largest}",
            over,
            tuple(parts),
        )


def _is_fixed(piece: Piece) -> bool:
    """Whether a section is shown whole or not at all."""
    return piece.section.required and not piece.is_elastic
