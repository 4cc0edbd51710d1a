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

_TOO_LITTLE = 4
"""Tokens in which no line worth telling has room."""


class Quote(NamedTuple):
    """One candidate. `line` is how it is told, below a `heading` that those from one place share.

    `covers` are the ids of all that it stands for: where one of them is shown already, it is not told. `why`
    says why it was found, when somebody asks.
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
        role: Literal["system", "developer", "user"] = "system",
        limit: int | None = None,
        tokens: int | None = None,
        shown: tuple[Shown, ...] = (),
    ) -> None:
        """`limit` is how many are told at most, and `tokens` how long that may be; `shown` say what is."""
        self._quotes = tuple(quotes)
        self._name, self._opening, self._limit, self._tokens = name, opening, limit, tokens
        self._role: Literal["system", "developer", "user"] = role
        self._shown = shown
        self._known: dict[int | None, Told] = {}  # one is told in one fitting, which asks several times

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
        """Why one of them was found."""
        return next((quote.why() for quote in self._quotes if quote.id == quote_id), "")

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
        return Quotes(
            quotes,
            name=self._name,
            opening=self._opening,
            role=self._role,
            limit=self._limit,
            tokens=self._tokens,
            shown=shown,
        )

    def _is_shown(self, quote: Quote) -> bool:
        return any(is_shown(item_id) for item_id in quote.covers for is_shown in self._shown)

    def told(self, tokens: int | None, count: Count) -> Told:
        """As many as there is room for: what is too long is passed over, since a shorter one may do."""
        if tokens not in self._known:
            self._known[tokens] = self._told(tokens, count)
        return self._known[tokens]

    def _told(self, tokens: int | None, count: Count) -> Told:
        most = min((limit for limit in (tokens, self._tokens) if limit is not None), default=None)
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
        frame = count(self._message("", ()))
        left = most - (count(self._line(self._opening)) if self._opening else frame)
        kept: list[Quote] = []
        told = {""}
        for quote in self._quotes:
            if self._is_shown(quote):
                continue
            length = count(self._line(quote.line)) - frame
            if length <= left and quote.heading not in told:
                length += count(self._line(quote.heading)) - frame
            if length <= left:
                left -= length
                kept.append(quote)
                told.add(quote.heading)
            if len(kept) == self._limit or left < _TOO_LITTLE:
                break
        return kept

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
        return self._message("\n".join(lines), sorted(quote.id for quote in quotes))

    def _message(self, text: str, quoted: Sequence[str], own_id: str = "") -> Message:
        found = own_id or Names(self._name).of("quotes", *quoted, text)
        return Message(self._role, text, id=found, created_at=0.0)
