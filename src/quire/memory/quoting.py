"""How what was found is quoted: who said it, under the day it was said and where it is from."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import overload

from quire.memory.episodes import Episode
from quire.memory.excerpts import shorter_of
from quire.memory.index import Hit
from quire.memory.knowledge import KNOWLEDGE
from quire.memory.leaf import Leaf
from quire.memory.quoted_text import line_of, one_line
from quire.sections.quote import Quote

_SECONDS = 86_400


class Quoted(Sequence[Quote]):
    """Hits as quotes, in the same order, each made when it is asked for: most are never told."""

    def __init__(self, hits: Sequence[Hit], conversation: str | None) -> None:
        """What is from this conversation need not say so."""
        self._hits, self._conversation = hits, conversation
        self._made: list[Quote | None] = [None] * len(hits)

    def __len__(self) -> int:
        return len(self._hits)

    @overload
    def __getitem__(self, index: int) -> Quote: ...
    @overload
    def __getitem__(self, index: slice) -> list[Quote]: ...
    def __getitem__(self, index: int | slice) -> Quote | list[Quote]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        made = self._made[index]
        if made is None:
            hit = self._hits[index]
            why = partial(_why, hit)
            made = quote_of(hit.leaf, self._conversation, why, hit.score, hit.question.terms)
            self._made[index] = made
        return made


def quote_of(
    leaf: Leaf,
    conversation: str | None,
    why: Callable[[], str],
    score: float = 0.0,
    asked: Sequence[str] = (),
) -> Quote:
    """One leaf as a quote; of a long one the part with what was `asked`, where there is no room for all."""
    is_document = leaf.source == KNOWLEDGE
    where = one_line(leaf.transcript) if is_document else leaf.source
    return Quote(
        id=leaf.key,
        line=line_of(leaf.speaker, leaf.text),
        heading=f"[{where}]" if is_document else _dated(leaf.at, where, conversation),
        at=leaf.at,
        order=leaf.order,
        covers=leaf.ids,
        why=why,
        score=score,
        source=where,
        shorter=shorter_of(leaf, asked),
        text=leaf.text,
    )


def quote_of_episode(episode: Episode, conversation: str | None) -> Quote:
    """An episode as a quote. What it stands for may well be shown besides."""
    how = "by rule" if episode.by_rule else "written by a model"
    first = episode.ids[0]
    return Quote(
        id=f"episode/{first}",
        line=line_of("", episode.text),
        heading=_dated(episode.at, episode.source, conversation, "in short"),
        at=episode.at,
        order=0,
        covers=() if episode.by_rule else episode.ids,
        why=lambda: f"a summary of this conversation's past, {how}",
        source=episode.source,
        text=episode.text,
    )


def _why(hit: Hit) -> str:
    return hit.reason


def _dated(at: float, source: str, conversation: str | None, more: str = "") -> str:
    return _heading_of(int(at // _SECONDS), "" if source == conversation else source, more)


@lru_cache(maxsize=1_024)
def _heading_of(number: int, source: str, more: str) -> str:
    day = datetime.fromtimestamp(number * _SECONDS, UTC)
    told = f"{day:%A} {day.day} {day:%B %Y}"
    return f"[{', '.join(filter(None, (told, source and f'conversation {one_line(source)}', more)))}]"
