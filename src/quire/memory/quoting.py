"""How what was found is quoted: who said it, under the day it was said and where it is from."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, tzinfo
from functools import lru_cache, partial
from typing import overload

from quire.memory.dates import shown_at
from quire.memory.distinct import Said
from quire.memory.episodes import Episode
from quire.memory.excerpts import shorter_of, worths_of
from quire.memory.index import Hit
from quire.memory.knowledge import KNOWLEDGE
from quire.memory.leaf import Leaf
from quire.memory.quoted_text import line_of, one_line, start_of
from quire.memory.quotes import Quote
from quire.memory.words import terms

_SECONDS = 86_400
_MOST_DAYS = 5
"""So many other days are told on which the same was said, and the last of them."""

_MOST_DOCUMENTS = 5
"""So many other documents are told in which the same stands."""

_MOST_APART = 32
"""So many times of the same are told apart: a window may well show the same of every day of a month."""

_LONGEST_TITLE = 100


class Quoted(Sequence[Quote]):
    """What was found as quotes, in the same order, each made when it is asked for: most are never told."""

    def __init__(self, found: Sequence[Said], conversation: str | None, *, with_others: bool = True) -> None:
        """What is from this conversation need not say so. The others of one have none of their own."""
        self._found, self._conversation, self._with_others = found, conversation, with_others
        self._made: list[Quote | None] = [None] * len(found)

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, index: int) -> Quote: ...
    @overload
    def __getitem__(self, index: slice) -> list[Quote]: ...
    def __getitem__(self, index: int | slice) -> Quote | list[Quote]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        made = self._made[index]
        if made is None:
            made = self._made[index] = self._quote(self._found[index])
        return made

    def _quote(self, said: Said) -> Quote:
        hit, zone = said[0], said[0].question.zone
        quote = quote_of(
            hit.leaf,
            self._conversation,
            partial(_why, hit),
            hit.score,
            hit.question.terms,
            _also(hit.leaf, [other.leaf for other in said[1:]], zone),
            zone,
        )
        if len(said) == 1 or not self._with_others:
            return quote
        return quote._replace(others=Quoted(_told_apart(said), self._conversation, with_others=False))


def _told_apart(said: Said) -> list[Said]:
    """The same at other times: what the question means less than the best, and the same of other days.

    One is told where those before it are shown, so of the others it names those after it first. What is only
    beside what was asked for ("Noted.") is the same on every day.
    """
    days, zone = _has_what_is_asked(said[0]), said[0].question.zone
    first: dict[tuple[float, int], int] = {}
    for nth, hit in enumerate(said):
        first.setdefault((hit.score, _number_of(hit.leaf.at, zone) if days else 0), nth)
    return [[said[nth], *said[nth + 1 :], *said[:nth]] for nth in list(first.values())[1:_MOST_APART]]


def _has_what_is_asked(hit: Hit) -> bool:
    return not worths_of(hit.question.terms).keys().isdisjoint(terms(hit.leaf.text))


def quote_of(
    leaf: Leaf,
    conversation: str | None,
    why: Callable[[], str],
    score: float = 0.0,
    asked: Sequence[str] = (),
    also: str = "",
    zone: tzinfo = UTC,
) -> Quote:
    """One leaf as a quote; of a long one the part with what was `asked`, where there is no room for all.

    `also` says when else the same was said, or where else it stands. The day is that of a `zone`.
    """
    is_document = leaf.source == KNOWLEDGE
    where = one_line(leaf.transcript) if is_document else leaf.source
    said_also = "" if is_document else also
    return Quote(
        id=leaf.key,
        line=line_of(leaf.speaker, leaf.said, said_also),
        heading=_placed(leaf, where, also) if is_document else _dated(leaf.at, where, conversation, zone),
        at=leaf.at,
        order=leaf.order,
        covers=leaf.ids,
        why=why,
        score=score,
        source=where,
        shorter=shorter_of(leaf, asked, start_of(leaf.speaker, said_also)),
        text=leaf.said,
    )


def quote_of_episode(episode: Episode, conversation: str | None, zone: tzinfo = UTC) -> Quote:
    """An episode as a quote. What it stands for may well be shown besides."""
    how = "by rule" if episode.by_rule else "written by a model"
    first = episode.ids[0]
    return Quote(
        id=f"episode/{first}",
        line=line_of("", episode.text),
        heading=_dated(episode.at, episode.source, conversation, zone, "in short"),
        at=episode.at,
        order=0,
        covers=() if episode.by_rule else episode.ids,
        why=lambda: f"a summary of this conversation's past, {how}",
        source=episode.source,
        text=episode.text,
    )


def _why(hit: Hit) -> str:
    return hit.reason


def _placed(leaf: Leaf, where: str, also: str) -> str:
    """Which document a leaf is of, what that is called, on which page it stands, and where else it does."""
    title = one_line(leaf.title)[:_LONGEST_TITLE]
    page = "" if leaf.page is None else f"page {leaf.page}"
    return f"[{', '.join(filter(None, (f'{where}: {title}' if title else where, page, also)))}]"


def _dated(at: float, source: str, conversation: str | None, zone: tzinfo, more: str = "") -> str:
    return _heading_of(_number_of(at, zone), "" if source == conversation else source, more)


def _also(leaf: Leaf, same: Sequence[Leaf], zone: tzinfo) -> str:
    """Where else the same is: on which other days it was said, or in which other documents it stands."""
    return _other_documents(leaf, same) if leaf.source == KNOWLEDGE else _other_days(leaf, same, zone)


def _other_documents(leaf: Leaf, same: Sequence[Leaf]) -> str:
    """The documents of those that answer best."""
    sources = dict.fromkeys(one_line(other.transcript) for other in same if other.source == KNOWLEDGE)
    sources.pop(one_line(leaf.transcript), None)
    if not sources:
        return ""
    told = [source[:_LONGEST_TITLE] for source in sources][:_MOST_DOCUMENTS]
    more = " and other documents" if len(told) < len(sources) else ""
    return f"also in {', '.join(told)}{more}"


def _other_days(leaf: Leaf, same: Sequence[Leaf], zone: tzinfo) -> str:
    """The days of those that answer best, and the last one."""
    if not same:
        return ""
    own = _number_of(leaf.at, zone)
    days = [day for day in dict.fromkeys(_number_of(other.at, zone) for other in same) if day != own]
    if not days:
        return ""
    told = sorted({*days[:_MOST_DAYS], max(days)})
    more = " and other days" if len(told) < len(days) else ""
    return f"also on {', '.join(map(_day_of, told))}{more}"


def _number_of(at: float, zone: tzinfo) -> int:
    return int(shown_at(at, zone) // _SECONDS)


def _day_of(number: int) -> str:
    day = datetime.fromtimestamp(number * _SECONDS, UTC)
    return f"{day.day} {day:%B %Y}"


@lru_cache(maxsize=1_024)
def _heading_of(number: int, source: str, more: str) -> str:
    told = f"{datetime.fromtimestamp(number * _SECONDS, UTC):%A} {_day_of(number)}"
    return f"[{', '.join(filter(None, (told, source and f'conversation {one_line(source)}', more)))}]"
