"""Fitting: what the sections have to show, within a budget. Pure, and the same for the same.

What is required comes first, whole. The rest of the budget is shared out, and what is elastic takes what the
others leave: its newest, in whole groups, with the message to be answered always among it.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from quire.context.claims import Claims
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
from quire.errors import Irreducible, OverBudget, cut
from quire.items import Item
from quire.sections.sifted import Sifted
from quire.state import View
from quire.state.scroll import Scroll
from quire.tokens import Budget, Counter, Share
from quire.tokens.budget import share_out

_OLDEST = "oldest left out"
_REPEATED = "shown elsewhere"
_ELASTIC = Share(weight=4)
"""What a history has of a budget that is too small for all, unless it says otherwise: most of it."""


class Fitted(NamedTuple):
    """One section as it is shown: for how many tokens, and the `rule` that left others out."""

    piece: Piece
    shown: Scroll
    counted: int
    rule: str = ""

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
        # Of what the pieces have; they are kept for as long as this, so that no other content has their ids.
        self._sizes = {id(piece.content): self._sized(piece.content) for piece in pieces}

    def fitted(self) -> tuple[Fitted, ...]:
        contents = once(self._pieces)
        sizes = [self._size(content) for content in contents]
        fits = self._total(sum(sizes)) <= self._budget.available
        if fits and all(self._may_have(index, size) for index, size in enumerate(sizes)):
            return tuple(map(self._whole, range(len(contents)), contents, sizes))
        any_twice = any(one is not piece.content for one, piece in zip(contents, self._pieces, strict=True))
        kept = self._cut_down(any_twice)
        return tuple(kept[index] for index in range(len(self._pieces)))

    def _may_have(self, index: int, size: int) -> bool:
        most = self._share(index).maximum
        return most is None or size <= most

    def _cut_down(self, any_twice: bool) -> dict[int, Fitted]:
        """The same in less room: each within its grant."""
        claims = Claims(self._pieces, any_twice)
        contents = {index: claims.of(index) for index in range(len(self._pieces))}
        sizes = {index: self._size(content) for index, content in contents.items()}
        allowed = self._allowed(sum(sizes.values()))
        room = allowed - sum(sizes[index] for index in claims.fixed)
        if room >= 0:
            try:
                return self._shared(claims, sizes, allowed, {})
            except Irreducible:
                pass  # what must stay of something elastic is more than its share: it comes before all shares
        stays = {index: core(contents[index], self._source(index), self._sums) for index in claims.elastic}
        cores = {index: sum(map(self._count, items)) for index, items in stays.items()}
        if sum(cores.values()) > room:
            needed = {index: sizes[index] for index in claims.fixed} | cores
            raise self._over(needed, [item for items in stays.values() for item in items])
        return self._shared(Claims(self._pieces, any_twice), sizes, allowed, cores)

    def _allowed(self, most: int) -> int:
        """The largest sum of counts, up to one that is enough for all, whose total fits."""
        available = self._budget.available - self._schemas
        return bisect_right(range(most + 1), available, key=self._counter.total) - 1

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
        wanted = {index: self._size(claims.of(index)) for index in claims.optional}
        for index, grant in self._grants(left, wanted, {}).items() if wanted else ():
            kept[index] = self._cut(index, claims.of(index), grant)
            claims.settle(index, kept[index].shown)
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
        if isinstance(content, View):
            shown = cut_view(content, self._steps(index, grant), self._sums)
            return Fitted(piece, shown, shown.counted(self._sums), _OLDEST)
        if piece.is_elastic:
            kept = cut_newest(content, self._steps(index, grant), self._sums, self._source(index))
        else:
            kept = cut_last(content, grant, self._count)
        rule = _OLDEST if piece.is_elastic else "more than its share"
        return Fitted(piece, Scroll(kept), self._size(kept), rule)

    def _steps(self, index: int, grant: int) -> Steps:
        """In which steps the oldest go: told from what does not change between turns.

        What does change, or comes and goes, is given a quarter of the room, or the next level that is left
        for this section, so that a cut does not move to and fro with it.
        """
        within = self._frame_within()
        stable = self._budget.available - self._schemas - self._static() - within
        most = self._share(index).maximum
        base = stable if most is None else min(stable, most - within)
        room = min(grant - within, base)
        if base == stable and any(map(_comes_and_goes, self._pieces)):
            room = min(room, base - 1)
        return steps_in(room, base, within, grant)

    def _source(self, index: int) -> View | None:
        """The view that something elastic is from, which says what must stay of it."""
        piece = self._pieces[index]
        return piece.content if isinstance(piece.content, View) else piece.source

    def _static(self) -> int:
        """The counts of what is the same in each turn, outside of histories."""
        static = (piece.content for piece in self._pieces if piece.section.stability == "static")
        return sum(map(self._size, static)) + self._counter.total(0)

    def _frame_within(self) -> int:
        views = (piece.content for piece in self._pieces if isinstance(piece.content, View))
        return sum(frame_tokens(view, self._sums) for view in views)

    def _whole(self, index: int, content: Content, size: int) -> Fitted:
        piece = self._pieces[index]
        rule = _REPEATED if len(content) < len(piece.content) else ""
        shown = Scroll(view=content) if isinstance(content, View) else Scroll(tuple(content))
        return Fitted(piece, shown, size, rule)

    def _size(self, content: Content) -> int:
        size = self._sizes.get(id(content))
        return self._sized(content) if size is None else size

    def _sized(self, content: Content) -> int:
        if isinstance(content, View):
            return content.counted(self._counter)
        if isinstance(content, Sifted):
            return content.counted(self._sums)
        return sum(map(self._count, content))

    def _total(self, counted: int) -> int:
        return self._counter.total(counted) + self._schemas

    def _over(self, needed: Mapping[int, int], stays: Sequence[Item]) -> OverBudget:
        """Who is to blame, the largest first, and of what must stay of a history the largest item."""
        sizes = {self._pieces[index].section.name: size for index, size in needed.items() if size}
        over = self._total(sum(sizes.values())) - self._budget.available
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

    def _largest(self, stays: Sequence[Item]) -> str:
        if not stays:
            return ""
        item = max(stays, key=self._count)
        return f"; the largest that must stay is item {cut(item.id)!r} with {self._count(item):,}"


def _comes_and_goes(piece: Piece) -> bool:
    return piece.section.stability != "static" and not piece.is_elastic


def _beyond(share: Share, core: int) -> Share:
    """What is left of a share once what must stay is set aside."""
    if not core:
        return share
    most = None if share.maximum is None else max(share.maximum - core, 0)
    return Share(minimum=max(share.minimum - core, 0), maximum=most, weight=share.weight)
