"""What a section quotes from elsewhere: candidates by their worth, told in the order of time.

What is shown already is not quoted, and only as much is told as there is room for, the worthiest first. Which
that is, is known when a context is fitted and not before.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Literal, NamedTuple, overload

from quire.items import Item, Message
from quire.sections.digests import Names

Count = Callable[[Item], int]
Shown = Callable[[str], bool]
"""Whether the item of an id is shown already."""

Shorter = Callable[[str, int], str]
"""What matters most of a line, in at most so many letters, and marked as a part."""

_TOO_LITTLE = 4
"""Tokens in which no line worth telling has room."""

_FEWEST_LETTERS = 200
"""A part of a line that is shorter than this says too little to be worth its mark."""

_MOST_MISSES = 20
"""After so many in a row that have no room, there is hardly one that has: and each takes a while to count."""

_IN_PART = "it is long, and told in part"
_TOO_LONG = "it is longer than the room that was left"


class Quote(NamedTuple):
    """One candidate. `line` is how it is told, below a `heading` that those from one place share.

    `covers` are the ids of all that it stands for: where one of them is shown already, it is not told. `why`
    says why it was found, when somebody asks. A line that is long has a `shorter` one for want of room.
    """

    id: str
    line: str
    heading: str
    at: float
    order: int
    covers: Collection[str]
    why: Callable[[], str]
    score: float = 0.0
    source: str = ""
    shorter: Shorter | None = None


class Told(NamedTuple):
    """What is told, and the ids of the quotes that are in it."""

    items: tuple[Message, ...]
    kept: frozenset[str]


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
        that of data.
        """
        self._quotes = tuple(quotes)
        self._name, self._limit, self._tokens = name, limit, tokens
        self._opening, self._closing = opening, closing
        self._role: Literal["system", "developer", "user"] = role
        self._shown = shown
        # One is told in one fitting, which asks several times, and of several of what others show.
        self._known: dict[int | None, tuple[Told, dict[str, str]]] = {}
        self._lengths: dict[str, int] = {}
        self._remarks: dict[str, str] = {}

    @cached_property
    def _items(self) -> tuple[Message, ...]:
        """Each by itself, for whoever looks at candidates; most are never told."""
        return tuple(self._message(quote.line, (quote.id,), quote.id) for quote in self._quotes)

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

    def why(self, quote_id: str) -> str:
        """Why one of them was found, and whether it was too long when they were told last."""
        found = next((quote.why() for quote in self._quotes if quote.id == quote_id), "")
        return "; ".join(filter(None, (found, self._remarks.get(quote_id))))

    def without(self, is_shown: Shown) -> "Quotes":
        """Those of which nothing is shown already. Only those that would be told are asked about."""
        return self._with(self._quotes, (*self._shown, is_shown))

    def retold(self, change: Callable[[Item], Item]) -> "Quotes":
        """The same in other words, as a message by message change has them."""
        quotes = [
            quote._replace(line=new.text) if isinstance(new := change(item), Message) else quote
            for quote, item in zip(self._quotes, self._items, strict=True)
        ]
        return self._with(quotes, self._shown)

    def likely(self) -> set[str]:
        """The ids of what is told if there is room for it."""
        return {item_id for quote in self._quotes[: self._limit] for item_id in quote.covers}

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
        return any(is_shown(item_id) for item_id in quote.covers for is_shown in self._shown)

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
                return Told((telling,), frozenset(quote.id for quote in kept))
            kept.pop()  # together they may be a little longer than one by one
        return Told((), frozenset())

    def _within(self, most: int | None, count: Count) -> list[Quote]:
        """The worthiest that are no longer than that, each counted by itself: all at once would be slow."""
        if most is None:
            return list(islice((quote for quote in self._quotes if not self._is_shown(quote)), self._limit))
        frame = self._length("", count)
        around = "\n".join(filter(None, (self._opening, self._closing)))
        left = most - (self._length(around, count) if around else frame)
        # A long one leaves room for others, where there may be others.
        longest = most if self._limit == 1 else most // 2
        kept: list[Quote] = []
        headings, misses = {""}, 0
        for quote in self._quotes:
            heading = 0 if quote.heading in headings else self._length(quote.heading, count) - frame
            room = left - heading if quote.shorter is None else min(left, longest) - heading
            fitting = self._fitting(quote, room + frame, count)
            if fitting is None:
                misses += 1
            elif not self._is_shown(quote):
                left -= self._length(fitting.line, count) - frame + heading
                kept.append(fitting)
                headings.add(quote.heading)
                misses = 0
            if len(kept) == self._limit or left < _TOO_LITTLE or misses == _MOST_MISSES:
                break
        return kept

    def _fitting(self, quote: Quote, room: int, count: Count) -> Quote | None:
        """A quote within so many tokens: whole, or what matters most of it where that can be told."""
        line, letters = quote.line, len(quote.line)
        while (length := self._length(line, count)) > room:
            letters = max(0, min(letters - 1, letters * room // length * 9 // 10))
            if quote.shorter is None or letters < _FEWEST_LETTERS:
                self._remarks[quote.id] = _TOO_LONG
                return None
            line = quote.shorter(quote.line, letters)
        if line is quote.line:
            return quote
        self._remarks[quote.id] = _IN_PART
        return quote._replace(line=line)

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
        for quote in sorted(quotes, key=lambda quote: (quote.at, quote.order)):
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
