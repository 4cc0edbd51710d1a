"""Recall: the section that quotes earlier messages, notes and documents, within a budget and with reasons."""

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
from quire.memory.hits import SameWords, SearchResult, find_distinct
from quire.memory.leaf import KNOWLEDGE, Leaf
from quire.memory.memory import Memory, checked_question
from quire.memory.quotes import BAR, Key, Quote, Quotes, identities, line_start, one_line, quote_line
from quire.memory.ranking import Question
from quire.memory.tiers import Episode, Tier, checked_tiers
from quire.memory.times import DAY, shown_at
from quire.sections import Ask, Options, Settings
from quire.stores.threads import RECALLING
from quire.tokens import whole

_TOKENS = 1_024
_MAX_QUOTES = 200
"""How many quotes are found if there is no limit."""

_LONG = 128
"""Tokens of a long quote. Without a `limit`, as many quotes are wanted as fit at this length."""

_SPARE = 8
"""The search finds this many times the limit, because some quotes may be shown already."""

_MAX_PLACES = 5
"""A quote names at most so many other days, or other documents, that have the same words."""

_LONGEST_TITLE = 100


class Recall(Settings):
    """The section that quotes answers to the question, from one tier or several, in the order of time.

    It shows as many quotes as fit in `tokens`, at most `limit`, and none that the history shows already. The
    question is the input, or else the last user message.
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
            raise InvalidValue("recall must be optional and keep the best quotes: leave both options out")
        if not isinstance(memory, Memory | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(
                f"Recall(memory=…) must be a Memory, as session.memory is, not {type(memory).__name__}"
            )
        self._tiers = checked_tiers(tiers or ("knowledge",))
        self._limit = None if limit is None else whole(limit, "a limit of quotes", least=1)
        self._tokens = whole(tokens, "tokens for quotes", least=1)
        self._memory = memory
        self._trust: Origin | None = None if trust is None else checked_origin(trust)

    def question(self, ask: Ask) -> str:
        """Return the question: the input, or else the last user message; empty if there is none."""
        asked = _question_of(ask)
        return "" if asked is None else asked.text

    async def items(self, ask: Ask) -> Quotes:
        """Return candidates, from which `Quotes.select` chooses when the rest of the context is known."""
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
        why_none = _TOO_WEAK if is_weak(quotes) else ""
        return Quotes(
            quotes, name=self.name, limit=self._limit, tokens=self._tokens, turn=turn, why_none=why_none
        )


_TOO_WEAK = "it has too little of the question, so the question is likely about something else"
"""The reason of every quote if none is shown."""

_EARLIER = "earlier"
"""The remark on an outdated quote."""


def _question_of(ask: Ask) -> Message | None:
    """Return the message that asks: the input, or else the last user message."""
    if isinstance(ask.input, Message):
        return ask.input
    newest = reversed(ask.view("main")) if "main" in ask.views else ()
    return next((item for item in newest if isinstance(item, Message) and item.role == "user"), None)


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
    messages in `asked_in`, by conversation and id, are the question and are not returned. Neither is anything
    after `until`, so that quotes stay the same during a turn. With `evident`, the result `is_weak` if the
    best match is weak: the question may have nothing to do with the record. With `trust`, nothing below that
    origin is returned.
    """
    chosen, own, when = checked_tiers(tiers), tuple(asked_in), now() if at is None else at
    count = _MAX_QUOTES if limit is None else _SPARE * whole(limit, "a limit", least=1)
    checked_question(question)

    def search(limit: int) -> SearchResult:
        return memory.search(question, limit=limit, at=when, documents=documents, asked_in=own, trust=trust)

    def quotes(tier: Tier) -> Sequence[Quote]:
        if tier == "knowledge":
            groups, is_evident = (
                find_distinct(search, count, evident=evident) if question.strip() else ((), True)
            )
            if until is not None:
                earlier = ([hit for hit in group if hit.leaf.at <= until] for group in groups)
                groups = [group for group in earlier if group]
            return HitQuotes(groups, conversation, is_weak=evident and not is_evident)
        if tier == "episodes":
            newest = reversed(memory.episodes(conversation, count))
            return [_quote_episode(episode, conversation, memory.zone) for episode in newest]
        asked = Question.of(question, when).terms
        quote = partial(quote_leaf, conversation=conversation, asked=asked, zone=memory.zone)
        if tier == "working":
            leaves = memory.working(conversation, count)
            return [quote(leaf, why=partial(_importance, leaf)) for leaf in leaves]
        return [
            quote(leaf, why=lambda: "among the newest") for leaf in memory.recent(conversation, count)[::-1]
        ]

    if documents or chosen == ("knowledge",):
        return quotes("knowledge")
    quotes_by_tier: dict[Tier, list[Quote]] = {}
    for tier in chosen:
        of_tier = quotes(tier)
        if not is_weak(of_tier):
            quotes_by_tier[tier] = [q for q in of_tier if not is_below(q.origin, trust or "external")]
    answers = {quote.key: quote for quote in quotes_by_tier.get("knowledge", ())}
    return list(_in_turns(list(quotes_by_tier.values()), answers))


def _in_turns(rows: Sequence[Sequence[Quote]], answers: dict[Key, Quote]) -> Iterator[Quote]:
    """Yield one quote of each row in turn, each once; for a quote that is also an answer, the answer."""
    seen: set[tuple[str, float | str]] = set()
    for quote in (quote for turn in zip_longest(*rows) for quote in turn if quote is not None):
        if seen.isdisjoint(identities(quote)):
            seen.update(identities(quote))
            yield answers.get(quote.key, quote)


def _importance(leaf: Leaf) -> str:
    return f"importance {leaf.importance:.2f} of 1"


class HitQuotes(Sequence[Quote]):
    """Hits as quotes, in the same order. They are created on demand, because most are never shown."""

    def __init__(self, groups: Sequence[SameWords], conversation: str | None, *, is_weak: bool) -> None:
        """`is_weak`: whether the question is likely not about the record, so that none should be shown."""
        self._groups, self._conversation, self.is_weak = groups, conversation, is_weak
        self._quotes: dict[int, Quote] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        if index not in self._quotes:
            self._quotes[index] = quote_hits(self._groups[index], self._conversation)
        return self._quotes[index]


def is_weak(quotes: Sequence[Quote]) -> bool:
    """Whether quotes were found for a question that is likely not about the record."""
    return isinstance(quotes, HitQuotes) and quotes.is_weak


def quote_hits(group: SameWords, conversation: str | None) -> Quote:
    """Quote the best of the hits with the same words, and name the days or documents of the others."""
    best, zone = group[0], group[0].question.zone
    same = [hit.leaf for hit in group[1:]]
    also = _other_places(best.leaf, same, zone) if same else ""
    if best.is_outdated:
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

    `also` names other days or documents with the same words.
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
    """Return an episode as a quote. An episode by rule may be shown beside its items."""
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
    """Name the best and the last other days, or other documents, with the same words."""
    if leaf.source == KNOWLEDGE:
        names = dict.fromkeys(one_line(other.transcript) for other in same if other.source == KNOWLEDGE)
        names.pop(one_line(leaf.transcript), None)
        shown = [name[:_LONGEST_TITLE] for name in names][:_MAX_PLACES]
        return _also("in", shown, len(names), "documents")
    own = _day_number(leaf.at, zone)
    days = [day for day in dict.fromkeys(_day_number(other.at, zone) for other in same) if day != own]
    best = sorted({*days[:_MAX_PLACES], *(days and [max(days)])})
    return _also("on", [*map(_day, best)], len(days), "days")


def _also(preposition: str, names: Sequence[str], count: int, plural: str) -> str:
    more = f" and other {plural}" if len(names) < count else ""
    return f"also {preposition} {', '.join(names)}{more}" if names else ""


def _day_number(at: float, zone: tzinfo) -> int:
    return int(shown_at(at, zone) // DAY)


def _day(number: int) -> str:
    day = datetime.fromtimestamp(number * DAY, UTC)
    return f"{day.day} {day:%B %Y}"
