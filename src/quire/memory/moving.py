"""How far an index says that places were read, and how that moves: at once with what goes and comes."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from quire.memory.index import Gone, Index, Only
from quire.memory.leaf import Leaf
from quire.memory.marking import Mark
from quire.memory.portions import MOST_AT_ONCE, portions_of_keys


class _Marked(NamedTuple):
    """What an index says of how far a place was read, and what that means."""

    said: bytes | None
    mark: Mark | None


class Moving:
    """The marks of an index as they were last looked at; a move succeeds only from there."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._marks: dict[str, _Marked] = {}

    def mark(self, name: str) -> Mark | None:
        """How far the index says that a place was read, whoever read it."""
        said, known = self._index.mark(name), self._marks.get(name)
        if known is None or known.said != said:
            known = _Marked(said, None if said is None else msgspec.msgpack.decode(said, type=Mark))
            self._marks[name] = known
        return known.mark

    def said(self, name: str) -> bytes | None:
        """The mark that was looked at last, as the index has it."""
        return self._marks[name].said

    def move(self, name: str, mark: Mark | None, gone: Sequence[Gone], leaves: Sequence[Leaf]) -> bool:
        """Change the index at once from what was marked; whether nobody did before."""
        since = self._marks[name].said
        said = None if mark is None else msgspec.msgpack.encode(mark)
        if said == since and not gone and not leaves:
            return True
        self._marks[name] = _Marked(said, mark)
        return self._index.move_mark(name, since, said, gone=gone, leaves=leaves)

    def let_go(self, name: str) -> bool:
        """Take out all that there is of a place, few leaves at a time; whether nobody changed it before.

        The mark stays until the last of them: whoever comes meanwhile sees that its place is gone, too.
        """
        mark = self.mark(name)
        for keys in portions_of_keys(self._many_keys(name))[:-1]:
            some = Gone(source=name, keys=frozenset(keys), is_forgotten=False)  # it is wiped with the last
            if not self.move(name, mark, [some], ()):
                return False
        is_gone = self.move(name, None, [Gone(source=name)], ())
        del self._marks[name]
        return is_gone

    def _many_keys(self, name: str) -> list[str]:
        """The keys of what is there of a place, if they are more than go at once."""
        only = Only(sources=frozenset((name,)))
        if len(self._index.newest(MOST_AT_ONCE + 1, only)) <= MOST_AT_ONCE:
            return []
        return sorted({leaf.key for leaf in self._index.newest(len(self._index), only)})
