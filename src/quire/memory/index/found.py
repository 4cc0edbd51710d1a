"""What a search gives: leaves with their scores, and the reasons in words when somebody asks."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from quire.memory.index.reasons import LENT_AFTER, LENT_BEFORE, reasons
from quire.memory.leaf import Leaf
from quire.memory.ranking import Question

Around = Callable[[Leaf, int, int], Sequence[Leaf]]
How = Literal["words", "vectors"]
"""By what leaves were found."""

_VECTORS = "close to the question by its vector"
_NAMED = "by whom or when the question names"


class Hit:
    """A leaf that was found. The best by words alone has a score of 1; cues may add to it."""

    __slots__ = ("_told", "leaf", "question", "score")

    def __init__(self, leaf: Leaf, score: float, question: Question, told: Callable[[Leaf], str]) -> None:
        self.leaf, self.score, self.question, self._told = leaf, score, question, told

    def __repr__(self) -> str:
        return f"Hit({self.leaf.key!r}, {self.score:.3f})"

    @property
    def reason(self) -> str:
        """Why it was found, in a few words; worked out when somebody asks."""
        return self._told(self.leaf)


class Found:
    """What was found for a question: `hits`, the best first."""

    def __init__(
        self,
        question: Question,
        best: Iterable[tuple[Leaf, float]],
        around: Around,
        how: How = "words",
        lacking: Sequence[Leaf] = (),
    ) -> None:
        """`lacking` are leaves that would be compared by their vectors, and have none yet."""
        self.question, self._around, self.lacking = question, around, lacking
        self.how: How = how
        self._note = ""
        self.hits = tuple(Hit(leaf, score, question, self._reason) for leaf, score in best)

    def noting(self, note: str) -> "Found":
        """The same, with something more to be said in each reason."""
        self._note = note
        return self

    def _reason(self, leaf: Leaf) -> str:
        return "; ".join(filter(None, (self._found_by(leaf), self._note)))

    def _found_by(self, leaf: Leaf) -> str:
        told = reasons(self.question, leaf, self._around(leaf, LENT_BEFORE, LENT_AFTER))
        return "; ".join(told) or (_VECTORS if self.how == "vectors" else _NAMED)

    @staticmethod
    def merged(found: Sequence["Found"], limit: int) -> "Found":
        """What was found in several places for one question, each leaf once, the best first."""
        best: dict[tuple[str, str, str], Hit] = {}
        for hit in (hit for one in found for hit in one.hits):
            key = (hit.leaf.source, hit.leaf.transcript, hit.leaf.key)
            if key not in best or best[key].score < hit.score:
                best[key] = hit
        together = Found(found[0].question, (), found[0]._around, found[0].how)
        together.hits = tuple(sorted(best.values(), key=lambda hit: -hit.score)[:limit])
        return together
