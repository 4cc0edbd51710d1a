"""Recall: what was said and kept before comes back as quotes, within a budget, with the reason why."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from functools import lru_cache, partial
from itertools import zip_longest
from typing import Any, Unpack

from quire.errors import InvalidValue, WrongType
from quire.items import Message, Origin, checked_origin, is_below, now
from quire.memory.embedding import run_with_loop
from quire.memory.excerpts import shortener
from quire.memory.found import Found, Said, distinct
from quire.memory.leaf import KNOWLEDGE, Leaf
from quire.memory.memory import Memory, checked_question
from quire.memory.quotes import (
    BAR,
    Key,
    Quote,
    Quotes,
    identities,
    line_start,
    one_line,
    quote_line,
)
from quire.memory.ranking import Question
from quire.memory.tiers import Episode, Tier, checked_tiers
from quire.memory.times import DAY, shown_at
from quire.sections import Ask, Options, Settings
from quire.stores.threads import RECALLING
from quire.tokens import whole

_TOKENS = 1_024
_MOST = 200
"""Quotes that are found if nothing limits them."""

_LONG = 128
"""Tokens of a long quote. If only tokens limit quotes, as many as fit at an eighth of that are found."""

_BEYOND = 8
"""How many times the limit is found, since some may be shown already."""

_MOST_OTHERS = 5
"""Other days, and other documents, that are named in a quote of the same words."""

_LONGEST_TITLE = 100


class Recall(Settings):
    """The section that quotes what answers the question, from one tier or several, in the order of time.

    It shows as many quotes as fit in `tokens`, at most `limit`, and none that the history shows already. The
    question is the input, or else the last message of the user.
    """

    def __init__(
        self,
        *tiers: Tier,
        limit: int | None = None,
        tokens: int = _TOKENS,
        memory: Memory | None = None,
        trust: Origin | None = None,
        name: str = "recall",
        **options: Unpack[Options],
    ) -> None:
        """Without a `memory`, use that of the session in which the context is built.

        With `trust`, such as `user`, only what has at least that origin is quoted.
        """
        super().__init__(name, **(Options(required=False, independent=True) | options))
        if self.required or self.keeps != "first":
            raise InvalidValue("recall is optional and keeps the best quotes: leave required and keeps alone")
        if not isinstance(memory, Memory | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(
                f"Recall(memory=…) is a Memory, as session.memory is, not {type(memory).__name__}"
            )
        self._tiers = checked_tiers(tiers or ("knowledge",))
        self._limit = None if limit is None else whole(limit, "a limit of quotes", least=1)
        self._tokens = whole(tokens, "tokens for quotes", least=1)
        self._memory = memory
        self._trust: Origin | None = None if trust is None else checked_origin(trust)

    def question(self, ask: Ask) -> str:
        """Return the question: the input, or else the last message of the user; empty if there is none."""
        asked = _question_of(ask)
        return "" if asked is None else asked.text

    async def items(self, ask: Ask) -> Quotes:
        """Return the quotes that may be shown; which are is decided when the rest of the context is known."""
        memory = self._memory or (ask.memory() if ask.memory is not None else None)
        if not isinstance(memory, Memory):
            raise InvalidValue("there is no memory to recall from: build in a session, or give Recall one")
        question = _question_of(ask)
        find = partial(
            recalled,
            memory,
            self.question(ask),
            tiers=self._tiers,
            conversation=ask.conversation,
            limit=self._limit or -(-self._tokens // _LONG),
            at=ask.now or None,
            asked_in=() if question is None else ((ask.conversation, question.id),),
            until=None if question is None else question.created_at,
            evident=True,
            trust=self._trust,
        )
        quotes = await RECALLING.do(run_with_loop, asyncio.get_running_loop(), find)
        turn = "" if question is None else question.id
        return Quotes(quotes, name=self.name, limit=self._limit, tokens=self._tokens, turn=turn)


_EARLIER = "earlier"
"""The remark on a quote of what has changed since."""


def _question_of(ask: Ask) -> Message | None:
    """Return the message that asks: the input, or else what the user said last."""
    if isinstance(ask.input, Message):
        return ask.input
    said = reversed(ask.view("main")) if "main" in ask.views else ()
    return next((item for item in said if isinstance(item, Message) and item.role == "user"), None)


def recalled(
    memory: Memory,
    question: str,
    *,
    tiers: Tier | Iterable[Tier] = "knowledge",
    conversation: str | None = None,
    limit: int | None = None,
    at: float | None = None,
    documents: bool = False,
    asked_in: Iterable[tuple[str, str]] = (),
    until: float | None = None,
    evident: bool = False,
    trust: Origin | None = None,
) -> Sequence[Quote]:
    """Return the quotes for a question, best first: more than `limit`, in case some are shown already.

    The tiers `recent`, `working` and `episodes` are of one conversation and need no question. Several tiers
    take turns: the best of each, then the next of each. With `documents`, only documents are searched. The
    messages in `asked_in`, each by its conversation and id, are the question and not found; nor is what was
    said after `until`, so that what is found stays while a turn goes on. With `evident`, as for a prompt that
    may ask for nothing recorded, nothing answers if the best shares too little with it. With `trust`, only
    what has at least that origin is found.
    """
    wanted, own, when = checked_tiers(tiers), tuple(asked_in), now() if at is None else at
    many = _MOST if limit is None else _BEYOND * whole(limit, "a limit", least=1)
    checked_question(question)

    def search(most: int) -> Found:
        return memory.search(question, limit=most, at=when, documents=documents, asked_in=own, trust=trust)

    def quotes(tier: Tier) -> Sequence[Quote]:
        if tier == "knowledge":
            found = distinct(search, many, evident=evident) if question.strip() else ()
            if until is not None:
                earlier = ([hit for hit in said if hit.leaf.at <= until] for said in found)
                found = [said for said in earlier if said]
            return HitQuotes(found, conversation)
        if tier == "episodes":
            newest = reversed(memory.episodes(conversation, many))
            return [_quote_episode(one, conversation, memory.zone) for one in newest]
        asked = Question.of(question, when).terms
        quote = partial(quote_leaf, conversation=conversation, asked=asked, zone=memory.zone)
        if tier == "working":
            leaves = memory.working(conversation, many)
            return [quote(leaf, why=partial(_importance, leaf)) for leaf in leaves]
        return [
            quote(leaf, why=lambda: "among the newest") for leaf in memory.recent(conversation, many)[::-1]
        ]

    if documents or wanted == ("knowledge",):
        return quotes("knowledge")
    rows = {
        tier: [one for one in quotes(tier) if not is_below(one.origin, trust or "external")]
        for tier in wanted
    }
    answers = {one.key: one for one in rows.get("knowledge", ())}
    return list(_in_turns(list(rows.values()), answers))


def _in_turns(rows: Sequence[Sequence[Quote]], answers: dict[Key, Quote]) -> Iterator[Quote]:
    """Yield one quote of each row after the other, each once, and as it answers if it does."""
    seen: set[tuple[str, float | str]] = set()
    for quote in (one for turn in zip_longest(*rows) for one in turn if one is not None):
        if seen.isdisjoint(identities(quote)):
            seen.update(identities(quote))
            yield answers.get(quote.key, quote)


def _importance(leaf: Leaf) -> str:
    return f"importance {leaf.importance:.2f} of 1"


class HitQuotes(Sequence[Quote]):
    """Hits as quotes, in the same order. Each is made on demand, because most are never shown."""

    def __init__(self, found: Sequence[Said], conversation: str | None) -> None:
        self._found, self._conversation = found, conversation
        self._made: dict[int, Quote] = {}

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        if index not in self._made:
            self._made[index] = quote_hits(self._found[index], self._conversation)
        return self._made[index]


def quote_hits(said: Said, conversation: str | None) -> Quote:
    """Quote the best of the hits with the same words; it says when or where else they were said."""
    best, zone = said[0], said[0].question.zone
    same = [hit.leaf for hit in said[1:]]
    also = _other_places(best.leaf, same, zone) if same else ""
    if best.is_earlier:
        also = "; ".join(filter(None, (_EARLIER, also)))
    why = partial(getattr, best, "reason")
    return quote_leaf(best.leaf, conversation, why, best.score, best.question.terms, also, zone)


def quote_leaf(
    leaf: Leaf,
    conversation: str | None,
    why: Callable[[], str],
    score: float = 0.0,
    asked: Sequence[str] = (),
    also: str = "",
    zone: tzinfo = UTC,
) -> Quote:
    """Return a leaf as a quote; a long one is shortened around the `asked` terms.

    `also` says when or where else the same words were said.
    """
    if leaf.source == KNOWLEDGE:
        where, start = one_line(leaf.transcript), BAR
        heading = _document_heading(leaf, where, also)
    else:
        where, start = leaf.source, line_start(leaf.speaker, also)
        heading = _heading(leaf.at, where, conversation, zone)
    said = leaf.said
    return Quote(
        id=leaf.key,
        line=quote_line(start, said),
        heading=heading,
        at=leaf.at,
        order=leaf.order,
        covers=leaf.ids,
        why=why,
        score=score,
        source=where,
        shorter=shortener(leaf, asked, start),
        text=said,
        origin=leaf.origin,
    )


def _quote_episode(episode: Episode, conversation: str | None, zone: tzinfo) -> Quote:
    """Return an episode as a quote. An episode by rule may be shown beside what it is about."""
    how = "by rule" if episode.by_rule else "written by a model"
    return Quote(
        id=f"episode/{episode.ids[0]}",
        line=quote_line(BAR, episode.text),
        heading=_heading(episode.at, episode.source, conversation, zone, "in short"),
        at=episode.at,
        order=0,
        covers=() if episode.by_rule else episode.ids,
        why=lambda: f"a summary of this conversation's past, {how}",
        source=episode.source,
        text=episode.text,
        made_of=episode.ids,
        origin=episode.origin,
    )


def _document_heading(leaf: Leaf, where: str, also: str) -> str:
    title = one_line(leaf.title)[:_LONGEST_TITLE]
    page = "" if leaf.page is None else f"page {leaf.page}"
    return f"[{', '.join(filter(None, (f'{where}: {title}' if title else where, page, also)))}]"


def _heading(at: float, source: str, conversation: str | None, zone: tzinfo, more: str = "") -> str:
    return _day_heading(_day_number(at, zone), "" if source == conversation else source, more)


@lru_cache(maxsize=1_024)
def _day_heading(number: int, source: str, more: str) -> str:
    day = f"{datetime.fromtimestamp(number * DAY, UTC):%A} {_day(number)}"
    return f"[{', '.join(filter(None, (day, source and f'conversation {one_line(source)}', more)))}]"


def _other_places(leaf: Leaf, same: Sequence[Leaf], zone: tzinfo) -> str:
    """Name other days on which the same was said, the best and the last; or other documents that say it."""
    if leaf.source == KNOWLEDGE:
        names = dict.fromkeys(one_line(other.transcript) for other in same if other.source == KNOWLEDGE)
        names.pop(one_line(leaf.transcript), None)
        return _listed(
            [name[:_LONGEST_TITLE] for name in names][:_MOST_OTHERS], len(names), "in", "documents"
        )
    own = _day_number(leaf.at, zone)
    days = [day for day in dict.fromkeys(_day_number(other.at, zone) for other in same) if day != own]
    best = sorted({*days[:_MOST_OTHERS], *(days and [max(days)])})
    return _listed([*map(_day, best)], len(days), "on", "days")


def _listed(named: Sequence[str], count: int, where: str, what: str) -> str:
    more = f" and other {what}" if len(named) < count else ""
    return f"also {where} {', '.join(named)}{more}" if named else ""


def _day_number(at: float, zone: tzinfo) -> int:
    return int(shown_at(at, zone) // DAY)


def _day(number: int) -> str:
    day = datetime.fromtimestamp(number * DAY, UTC)
    return f"{day.day} {day:%B %Y}"
