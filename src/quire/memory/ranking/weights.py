"""What counts how much when leaves are ranked: all there is to tune, in one place."""

from msgspec import Struct

OFFSETS = (1, 2, 4, -1, -2)
"""A leaf lends its words to those so many places after it: much is said about what was said before."""

GRAIN = 256
"""Weights are whole parts of this, so that sums of them are exact in whatever order they are made."""

Lent = tuple[float, float]
"""Shares of the words in statements and of those in questions."""


class Weights(Struct, frozen=True, kw_only=True):
    """Found by search on conversations with known answers; the best is flat, so nothing hangs on a digit."""

    own_question: float = 0.5
    """Words in a leaf's own questions: whoever asks does not yet know."""
    before: Lent = (0.3, 1.0)
    """What a leaf is lent by the one before it; an answer follows its question."""
    two_before: float = 0.5
    """Mostly the same speaker, who goes on."""
    four_before: float = 0.1
    after: Lent = (0.3, 0.3)
    two_after: float = 0.1
    saturation: float = 1.2
    """How soon a word that comes again counts no more: k1 of BM25."""
    length: float = 0.75
    """How much a long leaf has to have more: b of BM25."""
    near: float = 0.3
    kind: float = 0.3
    name: float = 0.2
    """A word of a document's name, or of a heading above a piece of it."""
    speaker: float = 0.2
    """This and what follows are shares of the best score that words gave: said by the one who is named."""
    says_time: float = 0.1
    """For a question that asks when."""
    date: float = 0.3
    """From the time that is named."""
    said_then: float = 1.2
    """The same for a question that asks what was said then and nothing else: more than any word."""
    asks: float = -0.1
    """For a leaf that asks more than it tells."""
    vector: float = 0.35
    """The most that vectors count beside words where both agree; what stands out counts more."""

    def lent(self) -> tuple[Lent, ...]:
        """What a leaf has of its own words, then what it lends by `OFFSETS`, in whole grains."""
        plain = (
            (1.0, self.own_question),
            self.before,
            (self.two_before, self.two_before),
            (self.four_before, self.four_before),
            self.after,
            (self.two_after, self.two_after),
        )
        return tuple((in_grains(said), in_grains(asked)) for said, asked in plain)


def in_grains(share: float) -> float:
    """The nearest share that is a whole number of grains."""
    return round(share * GRAIN) / GRAIN
