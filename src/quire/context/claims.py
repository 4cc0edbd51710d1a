"""Who shows what several sections bring, once there is no room for all of it.

What must stay of a history is shown there, so nobody else needs room for it. What is required has the rest of
its own; what a history had to leave out, another section may bring back.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from quire.context.cutting import staying_ids
from quire.context.gathering import Content, Piece
from quire.context.repeats import Seen, apart, by_say, without_twins
from quire.items import Item
from quire.sections.quotes import Quotes
from quire.state import View, groups
from quire.state.scroll import Scroll


class Claims:
    """What each piece may show, told from what others show for sure: more is known as parts are settled.

    Where no item is brought twice, which is the rule, there is nothing to tell.
    """

    def __init__(self, pieces: Sequence[Piece], any_twice: bool) -> None:
        self._pieces = pieces
        self._any_twice = any_twice
        self.elastic = [index for index in by_say(pieces) if pieces[index].is_elastic]
        self.fixed = [index for index, piece in enumerate(pieces) if _is_fixed(piece)]
        self.optional = [i for i in range(len(pieces)) if i not in {*self.elastic, *self.fixed}]
        self._settled: dict[int, Seen] = {}
        self._stays: dict[int, frozenset[str]] = {}
        self._brought: dict[int, Seen] = {}

    def settle(self, index: int, shown: Scroll) -> None:
        """Note what of a piece is shown, now that it is known."""
        self._settled[index] = Seen()
        self._settled[index].add(shown)

    def of(self, index: int) -> Content:
        """What a piece may show."""
        content = self._pieces[index].content
        if isinstance(content, Quotes):
            return content.without(partial(self._is_taken, index))
        if not self._any_twice:
            return content
        if index in self.elastic:
            return self._rest(index, [e for e in self._before(index, self.elastic) if self._meet(index, e)])
        return without_twins([item for item in content if not self._is_taken(index, item.id)])

    def _before(self, index: int, several: list[int]) -> list[int]:
        return several[: several.index(index)]

    def _is_taken(self, index: int, item_id: str) -> bool:
        if any(self._is_kept(elastic, item_id) for elastic in self.elastic):
            return True
        if index in self.fixed:
            return any(self._brings(other, item_id) for other in self._before(index, self.fixed))
        return any(self._brings(other, item_id) for other in self.fixed) or any(
            item_id in self._settled[other]
            for other in self._before(index, self.optional)
            if other in self._settled
        )

    def _is_kept(self, elastic: int, item_id: str) -> bool:
        """Whether a history shows an item: for sure, as long as it is not known what it shows."""
        settled = self._settled.get(elastic)
        if settled is not None:
            return item_id in settled
        return item_id in self._staying(elastic) and self._brings(elastic, item_id)

    def _brings(self, index: int, item_id: str) -> bool:
        brought = self._brought.get(index)
        if brought is None:
            brought = self._brought[index] = Seen()
            brought.add(self._pieces[index].content)
        return item_id in brought

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
        shown_before = {i for i in kept if any(self._is_kept(other, i) for other in earlier)}
        return tuple(item for item in content if item.id in kept and item.id not in shown_before)

    def _of_its_own(self, index: int, had: Seen) -> Iterator[Item]:
        content, stays = self._pieces[index].content, self._staying(index)
        for group in content.groups() if isinstance(content, View) else groups(content):
            if any(item.id in stays or item.id not in had for item in group.items):
                yield from group.items


def _is_fixed(piece: Piece) -> bool:
    """Whether a section is shown whole or not at all."""
    return piece.section.required and not piece.is_elastic
