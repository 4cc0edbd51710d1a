"""What a section quotes from elsewhere: candidates by their worth, told in the order of time.

What is shown already is not quoted, and only as much is told as there is room for, the worthiest first. Which
that is, is known when a context is fitted and not before.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import islice
from typing import Literal, overload

from quire.items import Item, Message
from quire.sections.digests import Names
from quire.sections.quote import Heard, Key, Quote
from quire.sections.quote_room import Room
from quire.sections.unshown import Shown, unshown

Count = Callable[[Item], int]


class Told:
    """What is told, and the quotes that are in it."""

    def __init__(self, items: tuple[Message, ...] = (), quotes: Sequence[Quote] = ()) -> None:
        self.items = items
        self.quotes = quotes

    @cached_property
    def kept(self) -> frozenset[Key]:
        """What the quotes are known by."""
        return frozenset(quote.key for quote in self.quotes)


class Quotes(Sequence[Item]):
    """Quotes, the worthiest first."""

    def __init__(
        self,
        quotes: Sequence[Quote],
        *,
        name: str,
        opening: str,
        closing: str = "",
        role: Literal["system", "developer", "user"] = "user",
        limit: int | None = None,
        tokens: int | None = None,
        shown: tuple[Shown, ...] = (),
    ) -> None:
        """`limit` is how many are told at most, and `tokens` how long that may be; `shown` say what is.

        They are told between `opening` and `closing`. What is quoted is nobody's wish: the user's role is
        that of data. Quotes may be made as they are asked for, since most are never told.
        """
        self._quotes = quotes
        self._name, self._limit, self._tokens = name, limit, tokens
        self._opening, self._closing = opening, closing
        self._role: Literal["system", "developer", "user"] = role
        self._shown = shown
        # One is told in one fitting, which asks several times, and of several of what others show.
        self._known: dict[int | None, tuple[Told, dict[Key, str]]] = {}
        self._lengths: dict[str, int] = {}
        self._remarks: dict[Key, str] = {}

    @cached_property
    def _items(self) -> tuple[Message, ...]:
        """Each by itself, for whoever looks at candidates; most are never told."""
        return tuple(map(self._alone, self._quotes))

    def __len__(self) -> int:
        return len(self._quotes)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        return self._items[index]

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def candidates(self) -> Iterator[tuple[Quote, Item]]:
        """Each of them, with the message that it would be by itself; the same of other times come last."""
        yield from zip(self._quotes, self._items, strict=True)
        for quote in self._quotes:
            yield from ((other, self._alone(other)) for other in quote.others)

    def why(self, quote: Quote) -> str:
        """Why one of them was found, and whether it was too long when they were told last."""
        return "; ".join(filter(None, (quote.why(), self._remarks.get(quote.key))))

    def without(self, *shown: Shown) -> "Quotes":
        """Those of which nothing is shown already. Only those that would be told are asked about."""
        return self._with(self._quotes, (*self._shown, *shown))

    def retold(self, change: Callable[[Item], Item]) -> "Quotes":
        """The same in other words, as a message by message change has them."""
        quotes = [
            self._changed(quote, change)._replace(
                others=[self._changed(other, change) for other in quote.others]
            )
            for quote in self._quotes
        ]
        return self._with(quotes, self._shown)

    def _changed(self, quote: Quote, change: Callable[[Item], Item]) -> Quote:
        new = change(self._alone(quote))
        return quote._replace(line=new.text) if isinstance(new, Message) else quote

    def _alone(self, quote: Quote) -> Message:
        return self._message(quote.line, (quote.id,), quote.id)

    def _with(self, quotes: Sequence[Quote], shown: tuple[Shown, ...]) -> "Quotes":
        same = Quotes(
            quotes,
            name=self._name,
            opening=self._opening,
            closing=self._closing,
            role=self._role,
            limit=self._limit,
            tokens=self._tokens,
            shown=shown,
        )
        same._lengths, same._remarks = self._lengths, self._remarks
        return same

    def _is_shown(self, quote: Quote) -> bool:
        shown = False
        for is_shown in self._shown:  # a generator would take longer, and this is asked very often
            shown = shown or is_shown(quote)
        return shown

    def told(self, tokens: int | None, count: Count) -> Told:
        """As many as there is room for: what is too long is passed over, since a shorter one may do."""
        most = min((limit for limit in (tokens, self._tokens) if limit is not None), default=None)
        if most not in self._known:
            self._remarks.clear()
            told = self._told(most, count)
            self._known[most] = told, dict(self._remarks)
        told, remarks = self._known[most]
        self._remarks.clear()
        self._remarks.update(remarks)
        return told

    def _told(self, most: int | None, count: Count) -> Told:
        kept = self._within(most, count)
        while kept:
            telling = self._telling(kept)
            if most is None or count(telling) <= most:
                return Told((telling,), kept)
            kept.pop()  # together they may be a little longer than one by one
        return Told()

    def _within(self, most: int | None, count: Count) -> list[Quote]:
        """The worthiest that are no longer than that, each counted by itself: all at once would be slow."""
        if most is None:
            return list(islice(self._new(), self._limit))
        around = "\n".join(filter(None, (self._opening, self._closing)))
        length = partial(self._length, count=count)
        # A long one leaves room for others, where there may be others.
        longest = most if self._limit == 1 else most // 2
        room = Room(most - length(around), longest, length, self._remarks)
        for quote in self._new():
            room.offer(quote)
            if len(room.kept) == self._limit or room.is_full:
                break
        return room.kept

    def _new(self) -> Iterator[Quote]:
        """Those of which nothing is shown, each once."""
        heard = Heard()
        for quote in unshown(self._quotes, lambda one: heard.has(one) or self._is_shown(one)):
            heard.add((quote,))
            yield quote

    def _length(self, text: str, count: Count) -> int:
        """The tokens of a message of one line."""
        known = self._lengths.get(text)
        if known is None:
            known = self._lengths[text] = count(self._line(text) if text else self._message("", ()))
        return known

    def _line(self, text: str) -> Message:
        """A text with the end of its line, which mostly costs nothing beside the text."""
        return Message(self._role, f"{text}\n", id=f"{self._name}/{text[:32]}", created_at=0.0)

    def _telling(self, quotes: Sequence[Quote]) -> Message:
        lines = [self._opening] if self._opening else []
        heading = ""
        for quote in _in_order(quotes):
            if quote.heading and quote.heading != heading:
                lines.append(quote.heading)
            heading = quote.heading
            lines.append(quote.line)
        if self._closing:
            lines.append(self._closing)
        return self._message("\n".join(lines), sorted(quote.id for quote in quotes))

    def _message(self, text: str, quoted: Sequence[str], own_id: str = "") -> Message:
        found = own_id or Names(self._name).of("quotes", *quoted, text)
        return Message(self._role, text, id=found, created_at=0.0)


def _in_order(quotes: Sequence[Quote]) -> list[Quote]:
    """In the order of time. What has none is told source by source, that with the worthiest first."""
    nth = {source: place for place, source in enumerate(dict.fromkeys(quote.source for quote in quotes))}
    return sorted(quotes, key=lambda quote: (quote.at, 0 if quote.at else nth[quote.source], quote.order))
