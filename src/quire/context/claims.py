"""Who shows what several sections bring, once there is no room for all of it.

What must stay of a history is shown there, so nobody else needs room for it. What is required has the rest of
its own; what a history had to leave out, another section may bring back.
"""

from collections.abc import Iterator, Sequence

from quire.context.cutting import staying_ids
from quire.context.gathering import Content, Piece
from quire.context.repeats import Seen, apart, by_say, without_twins
from quire.items import Item
from quire.sections import Quote, Quotes
from quire.state import Scroll, View, groups


class Claims:
    """What each piece may show, told from what others show for sure: more is known as parts are settled.

    Where no item is brought twice, which is the rule, there is nothing to tell.
    """

    def __init__(self, pieces: Sequence[Piece], any_twice: bool) -> None:
        self._pieces = pieces
        self._any_twice = any_twice
        self.elastic = [index for index in by_say(pieces) if pieces[index].is_elastic]
        self.fixed = [index for index, piece in enumerate(pieces) if _is_fixed(piece)]
        others = [i for i in range(len(pieces)) if i not in {*self.elastic, *self.fixed}]
        # What is shown need not be quoted, and what is only quoted takes from nobody.
        self.optional = sorted(others, key=lambda index: isinstance(pieces[index].content, Quotes))
        self._settled: dict[int, Seen] = {}
        self._stays: dict[int, frozenset[str]] = {}
        self._brought: dict[int, Seen] = {}

    def settle(self, index: int, shown: Scroll, quoted: Sequence[Quote] = ()) -> None:
        """Note what of a piece is shown, and what it quotes, now that it is known."""
        self._settled[index] = Seen(quoted)
        self._settled[index].add(shown)

    def of(self, index: int) -> Content:
        """What a piece may show."""
        content = self._pieces[index].content
        if isinstance(content, Quotes):
            return content.without(*(one.shows for one in self._taken(index)))
        if not self._any_twice:
            return content
        if index in self.elastic:
            return self._rest(index, [e for e in self._before(index, self.elastic) if self._meet(index, e)])
        taken = self._taken(index)
        return without_twins([item for item in content if not any(item.id in one for one in taken)])

    def _before(self, index: int, several: list[int]) -> list[int]:
        return several[: several.index(index)]

    def _taken(self, index: int) -> "list[Seen | _Both]":
        """What is shown elsewhere, as far as that is known by now."""
        kept = [self._kept(elastic) for elastic in self.elastic]
        if index in self.fixed:
            return [*kept, *map(self._brought_by, self._before(index, self.fixed))]
        settled = (self._settled.get(other) for other in self._before(index, self.optional))
        return [*kept, *map(self._brought_by, self.fixed), *(one for one in settled if one is not None)]

    def _kept(self, elastic: int) -> "Seen | _Both":
        """What a history shows: for sure, as long as it is not known what it shows."""
        settled = self._settled.get(elastic)
        return _Both(self._staying(elastic), self._brought_by(elastic)) if settled is None else settled

    def _brought_by(self, index: int) -> Seen:
        if index not in self._brought:
            self._brought[index] = Seen()
            self._brought[index].add(self._pieces[index].content)
        return self._brought[index]

    def _staying(self, index: int) -> frozenset[str]:
        if index not in self._stays:
            self._stays[index] = staying_ids(self._pieces[index])
        return self._stays[index]

    def _meet(self, index: int, other: int) -> bool:
        """Whether two histories may have items in common."""
        one, two = (self._pieces[place].origin for place in (index, other))
        return one is None or two is None or not apart(one, two)

    def _rest(self, index: int, earlier: list[int]) -> Content:
        """A history without what those before it have: whole groups that are new, and what must stay."""
        content = self._pieces[index].content
        if not earlier:
            return content
        had = Seen()
        for other in earlier:
            had.add(self._pieces[other].content)
        kept = {item.id for item in self._of_its_own(index, had)}
        before = [self._kept(other) for other in earlier]
        shown_before = {item_id for item_id in kept if any(item_id in one for one in before)}
        return tuple(item for item in content if item.id in kept and item.id not in shown_before)

    def _of_its_own(self, index: int, had: Seen) -> Iterator[Item]:
        content, stays = self._pieces[index].content, self._staying(index)
        for group in content.groups() if isinstance(content, View) else groups(content):
            if any(item.id in stays or item.id not in had for item in group.items):
                yield from group.items


class _Both:
    """What must stay of a history, as far as it brings it."""

    def __init__(self, stays: frozenset[str], brought: Seen) -> None:
        self._stays, self._brought = stays, brought

    def __contains__(self, item_id: str) -> bool:
        return item_id in self._stays and item_id in self._brought

    def shows(self, quote: Quote) -> bool:
        """Whether something of what a quote stands for is among it."""
        return not self._stays.isdisjoint(quote.covers) and self._brought.shows(quote)


def _is_fixed(piece: Piece) -> bool:
    """Whether a section is shown whole or not at all."""
    return piece.section.required and not piece.is_elastic
