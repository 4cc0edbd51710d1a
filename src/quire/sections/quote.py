"""One thing that may be quoted, and what tells it from another of the same id."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from quire.items import Item, Message

Key = tuple[str, str]
"""Where a quote is from, and its id."""

Shorter = Callable[[str, int], str]
"""What matters most of a line, in at most so many letters, and marked as a part."""

_ALIKE = 32
"""Letters at the beginning of two texts by which they are taken for one, of which a part was left out."""


class Quote(NamedTuple):
    """One candidate. `line` is how it is told, below a `heading` that those from one place share.

    `covers` are the ids of all that it stands for: where one of them is shown already, it is not told. The
    first of these is from the time `at`, and has all or a part of the `text`. `why` says why it was found,
    when somebody asks. A line that is long has a `shorter` one for want of room. `others` are the same words
    of other times that are worth no more, in their order: one may be told where this is shown already.
    """

    id: str
    line: str
    heading: str
    at: float
    order: int
    covers: Sequence[str]
    why: Callable[[], str]
    score: float = 0.0
    source: str = ""
    shorter: Shorter | None = None
    text: str = ""
    others: "Sequence[Quote]" = ()

    @property
    def key(self) -> Key:
        """What it is known by: ids may be the same in two places."""
        return self.source, self.id

    @property
    def first(self) -> str:
        """The id of the first that it stands for."""
        return self.covers[0] if self.covers else self.id

    def is_of(self, item: Item) -> bool:
        """Whether it stands for this very item, which has the id of its first.

        Two conversations may give one id to two items, be it at one time: then their words tell them apart.
        Forks and merges keep an item as it is, but for the answer that a fork came to: that is said anew, in
        the same words.
        """
        if item.created_at == self.at:
            return not isinstance(item, Message) or _may_be_one(_texts(item), self.text)
        return isinstance(item, Message) and bool(self.text) and item.text == self.text

    def is_as(self, other: "Quote") -> bool:
        """Whether it tells what another tells that has the same first."""
        if self.text == other.text:
            return True
        is_several = len(self.covers) > 1 or len(other.covers) > 1
        return self.at == other.at and (is_several or _may_be_one([self.text], other.text))


def _texts(message: Message) -> list[str]:
    """The texts of a message one by one: in a quote, words for its media stand between them."""
    return [part for part in message.parts if isinstance(part, str) and part.strip()]


def _may_be_one(texts: Sequence[str], other: str) -> bool:
    """Whether texts may be of one item: one is a part of the other, or begins as an excerpt of it would."""
    if not texts or not other:
        return True
    return any(text in other or other in text or text[:_ALIKE] == other[:_ALIKE] for text in texts)


class Heard:
    """Quotes that are told: none of them is told again, as it may be found in two conversations."""

    def __init__(self, quotes: Iterable[Quote] = ()) -> None:
        self._new = list(quotes)  # put in order when somebody asks: mostly nobody does
        self._quotes: dict[str, list[Quote]] = {}

    def add(self, quotes: Iterable[Quote]) -> None:
        """Take in what is told."""
        self._new.extend(quotes)

    def has(self, quote: Quote) -> bool:
        """Whether it was told, under whatever name."""
        while self._new:
            told = self._new.pop()
            self._quotes.setdefault(told.first, []).append(told)
        known = self._quotes.get(quote.first) if self._quotes else None
        return known is not None and any(map(quote.is_as, known))
