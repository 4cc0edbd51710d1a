"""Quotes: what memory found, shown as one block of lines in the order of time.

The block is selected when the rest of a context is fitted. Then it is known what is shown already, which is
not quoted, and how much room is left, which the best quotes get.
"""

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Literal, NamedTuple, overload

from quire.items import Item, Message
from quire.sections import Candidate, Candidates, Count, IsShown, Selection, stable_id

Key = tuple[str, str]
"""The source and the id of a quote."""

Role = Literal["system", "developer", "user"]

Shorten = Callable[[str, int], str]
"""Returns the most relevant part of a line in at most so many characters, marked as a part."""

_COMMON_BEGINNING = 32
"""Two texts with so many equal characters at the beginning are taken for excerpts of one text."""

_LEAST_TOKENS = 4
"""In fewer tokens there is no room for any line."""

_LEAST_CHARACTERS = 200
"""A shorter part of a line is not worth the mark that it is a part."""

_MOST_MISSES = 20
"""After so many quotes in a row that do not fit, the search for one that does ends: counting takes time."""


class Quote(NamedTuple):
    """One candidate. `line` is its text in the block, under a `heading` that quotes of one place share.

    `covers` are the ids of the items it stands for. If one of them is shown already, it is not quoted. The
    first of these was created `at` that time and contains all or part of the `text`. `why` returns the reason
    it was found. `shorter` shortens a long line. `others` are the same words at other times with no higher
    score: one of them may be quoted if this one is shown already.
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
    shorter: Shorten | None = None
    text: str = ""
    others: "Sequence[Quote]" = ()

    @property
    def key(self) -> Key:
        """What identifies it: two sources may use the same id."""
        return self.source, self.id

    @property
    def first(self) -> str:
        """The id of the first item it stands for."""
        return self.covers[0] if self.covers else self.id

    def is_of(self, item: Item) -> bool:
        """Whether it quotes this item, which has the id of its first.

        Two conversations may use one id for two items, even at the same time: then the texts differ. A fork
        or a merge keeps items as they are, except that the result of a fork is a new item with the same text.
        """
        if item.created_at == self.at:
            return not isinstance(item, Message) or _may_be_one(_texts(item), self.text)
        return isinstance(item, Message) and bool(self.text) and item.text == self.text

    def is_same(self, other: "Quote") -> bool:
        """Whether it quotes the same as another with the same first."""
        if self.text == other.text:
            return True
        is_several = len(self.covers) > 1 or len(other.covers) > 1
        return self.at == other.at and (is_several or _may_be_one([self.text], other.text))


def _texts(message: Message) -> list[str]:
    return [part for part in message.parts if isinstance(part, str) and part.strip()]


def _may_be_one(texts: Sequence[str], other: str) -> bool:
    """Whether texts may be of one item: one contains the other, or both have the same beginning."""
    if not texts or not other:
        return True
    length = _COMMON_BEGINNING
    return any(text in other or other in text or text[:length] == other[:length] for text in texts)


class QuoteSet:
    """Quotes, by what they quote: the same item may be found in two conversations."""

    def __init__(self, quotes: Iterable[Quote] = ()) -> None:
        self._new = list(quotes)  # sorted in when somebody asks, which is rare
        self._quotes: dict[str, list[Quote]] = {}

    def add(self, quote: Quote) -> None:
        """Add one quote."""
        self._new.append(quote)

    def has(self, quote: Quote) -> bool:
        """Whether the same is quoted, from whatever source."""
        while self._new:
            new = self._new.pop()
            self._quotes.setdefault(new.first, []).append(new)
        known = self._quotes.get(quote.first) if self._quotes else None
        return known is not None and any(map(quote.is_same, known))


def not_shown(quotes: Iterable[Quote], is_shown: Callable[[Quote], bool]) -> Iterator[Quote]:
    """Yield the quotes that are not shown, best first.

    Another time of the same words takes the place of one that is shown, at the rank of its own score.
    """
    waiting: list[Quote] = []

    def turn(quote: Quote) -> Iterator[Quote]:
        if not is_shown(quote):
            yield quote
        elif quote.others:
            insort(waiting, quote.others[0]._replace(others=quote.others[1:]), key=lambda one: -one.score)

    for quote in quotes:
        while waiting and 0 < quote.score <= waiting[0].score:
            yield from turn(waiting.pop(0))
        yield from turn(quote)
    while waiting:
        yield from turn(waiting.pop(0))


class SelectedQuotes(Selection):
    """The quotes that a block shows, and the block as a message."""

    def __init__(
        self, block: "Quotes", items: tuple[Message, ...], quotes: Sequence[Quote], remarks: dict[Key, str]
    ) -> None:
        self.items: tuple[Item, ...] = items
        self.quotes = quotes
        self._block, self._remarks = block, remarks

    def __len__(self) -> int:
        return len(self.quotes)

    @cached_property
    def keys(self) -> frozenset[Key]:
        """The keys of the quotes."""
        return frozenset(quote.key for quote in self.quotes)

    def reason(self, quote: Quote) -> str:
        """Return why a quote was found, and whether it was too long."""
        return "; ".join(filter(None, (quote.why(), self._remarks.get(quote.key))))

    def candidates(self) -> Iterator[Candidate]:
        """Yield every quote as a message of its own; the same words at other times come last."""
        for quote in self._block.all_quotes():
            item = self._block.single(quote)
            yield Candidate(item, quote.key in self.keys, self.reason(quote), quote.source)


class Quotes(Candidates):
    """Quotes, best first, of which a block is made.

    At most `limit` are shown, in at most `tokens` tokens, between the lines `opening` and `closing`. Quotes
    are data, so their role is the user's. A sequence may make its quotes on demand, because most are never
    shown.
    """

    def __init__(
        self,
        quotes: Sequence[Quote],
        *,
        name: str,
        opening: str,
        closing: str = "",
        role: Role = "user",
        limit: int | None = None,
        tokens: int | None = None,
    ) -> None:
        self._quotes = quotes
        self._name, self._limit, self._tokens = name, limit, tokens
        self._opening, self._closing, self._role = opening, closing, role
        self._lengths: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._quotes)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        quotes = self._quotes[index]
        return self.single(quotes) if isinstance(quotes, Quote) else [*map(self.single, quotes)]

    def all_quotes(self) -> Iterator[Quote]:
        """Yield each quote, and then the same words at other times."""
        yield from self._quotes
        for quote in self._quotes:
            yield from quote.others

    def single(self, quote: Quote) -> Message:
        """Return one quote as a message of its own."""
        return Message(self._role, quote.line, id=quote.id, created_at=quote.at)  # pyright: ignore

    def changed(self, change: Callable[[Item], Item]) -> "Quotes":
        """Return the same quotes with their lines changed by a function of messages."""

        def change_line(quote: Quote) -> Quote:
            new = change(self.single(quote))
            return quote._replace(line=new.text) if isinstance(new, Message) else quote

        quotes = [
            change_line(quote)._replace(others=[*map(change_line, quote.others)]) for quote in self._quotes
        ]
        return Quotes(
            quotes,
            name=self._name,
            opening=self._opening,
            closing=self._closing,
            role=self._role,  # pyright: ignore
            limit=self._limit,
            tokens=self._tokens,
        )

    def select(
        self,
        tokens: int | None,
        count: Count,
        is_shown: IsShown | None = None,
        earlier: Sequence[Selection] = (),
    ) -> SelectedQuotes:
        """Return the best quotes that are not shown already and fit; one that is too long is skipped."""
        most = min((limit for limit in (tokens, self._tokens) if limit is not None), default=None)
        remarks: dict[Key, str] = {}
        new = self._new(is_shown, earlier)
        kept = list(islice(new, self._limit)) if most is None else self._fitting(new, most, count, remarks)
        while kept:
            block = self._block(kept)
            if most is None or count(block) <= most:
                return SelectedQuotes(self, (block,), kept, remarks)
            kept.pop()  # together they may be a little longer than one by one
        return SelectedQuotes(self, (), (), remarks)

    def _new(self, is_shown: IsShown | None, earlier: Sequence[Selection]) -> Iterator[Quote]:
        """Yield the quotes of which nothing is shown or quoted, each once."""
        selections = (one for one in earlier if isinstance(one, SelectedQuotes))
        known = QuoteSet(quote for one in selections for quote in one.quotes)

        def is_known(quote: Quote) -> bool:
            if known.has(quote):
                return True
            return is_shown is not None and is_shown(quote.covers or (quote.id,), quote.is_of)

        for quote in not_shown(self._quotes, is_known):
            known.add(quote)
            yield quote

    def _fitting(
        self, quotes: Iterable[Quote], most: int, count: Count, remarks: dict[Key, str]
    ) -> list[Quote]:
        """Return the best quotes that fit, each counted by itself: counting the whole block would be slow."""

        def length(line: str) -> int:
            known = self._lengths.get(line)
            if known is None:
                text = f"{line}\n" if line else ""
                message = Message(self._role, text, id=f"{self._name}/{line[:32]}", created_at=0.0)  # pyright: ignore
                known = self._lengths[line] = count(message)
            return known

        around = "\n".join(filter(None, (self._opening, self._closing)))
        # A long quote leaves room for others, if there may be others.
        room = _Room(most - length(around), most if self._limit == 1 else most // 2, length, remarks)
        for quote in quotes:
            room.offer(quote)
            if len(room.kept) == self._limit or room.is_full:
                break
        return room.kept

    def _block(self, quotes: Sequence[Quote]) -> Message:
        lines = [self._opening] if self._opening else []
        heading = ""
        for quote in _by_time(quotes):
            if quote.heading and quote.heading != heading:
                lines.append(quote.heading)
            heading = quote.heading
            lines.append(quote.line)
        text = "\n".join((*lines, self._closing) if self._closing else lines)
        own_id = stable_id(self._name, "quotes", *sorted(quote.id for quote in quotes), text)
        return Message(self._role, text, id=own_id, created_at=0.0)  # pyright: ignore


class _Room:
    """A number of tokens, and the quotes that are `kept` in them.

    `length` returns the tokens of a message of one line. A quote that can be shortened takes at most
    `longest`, unless that is too little for a useful part.
    """

    def __init__(
        self, tokens: int, longest: int, length: Callable[[str], int], remarks: dict[Key, str]
    ) -> None:
        self.kept: list[Quote] = []
        self._left, self._longest, self._length = tokens, longest, length
        self._frame, self._remarks = length(""), remarks
        self._headings, self._misses = {""}, 0

    @property
    def is_full(self) -> bool:
        """Whether there is no use in offering more."""
        return self._left < _LEAST_TOKENS or self._misses == _MOST_MISSES

    def offer(self, quote: Quote) -> None:
        """Keep a quote if it fits, shortened if need be."""
        heading = 0 if quote.heading in self._headings else self._length(quote.heading) - self._frame
        room = self._frame - heading
        line = quote.line if quote.shorter is None else self._shortened(quote.line, quote.shorter, room)
        if self._length(line) > self._left + room:
            self._remarks[quote.key] = "it is longer than the room that was left"
            self._misses += 1
            return
        if line is not quote.line:
            self._remarks[quote.key] = "it is long, and told in part"
            quote = quote._replace(line=line)
        self._left -= self._length(line) - room
        self._headings.add(quote.heading)
        self.kept.append(quote)
        self._misses = 0

    def _shortened(self, whole: str, shorter: Shorten, beside: int) -> str:
        room = min(self._left, self._longest) + beside
        line, characters = whole, len(whole)
        while (length := self._length(line)) > room and characters > _LEAST_CHARACTERS:
            estimate = characters * room // length * 9 // 10
            characters = max(_LEAST_CHARACTERS, min(characters - 1, estimate))
            line = shorter(whole, characters)
        return line


def _by_time(quotes: Sequence[Quote]) -> list[Quote]:
    """Sort quotes by time. Those without a time are sorted by source, the one with the best quote first."""
    nth = {source: place for place, source in enumerate(dict.fromkeys(quote.source for quote in quotes))}
    return sorted(quotes, key=lambda quote: (quote.at, 0 if quote.at else nth[quote.source], quote.order))
