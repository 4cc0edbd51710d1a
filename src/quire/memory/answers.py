"""What would be told for a question, from one tier or several: quotes, the worthiest first."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from functools import partial
from typing import NamedTuple

from quire.items import now
from quire.memory.dates import zone_of
from quire.memory.distinct import distinct
from quire.memory.embedding import Embedding
from quire.memory.index import Found, Question
from quire.memory.leaf import Leaf
from quire.memory.memory import Memory
from quire.memory.quotes import Key, Quote, QuoteSet
from quire.memory.quoting import Quoted, quote_of, quote_of_episode
from quire.memory.tiers import Tier, checked_tiers
from quire.tokens import whole

_MOST = 200
"""How many are looked for where only tokens say how many are told: more have no room in a usual budget."""

_BEYOND = 8
"""How many times more is looked for than is told, since some of it may be shown already."""


def recalled(
    memory: Memory,
    question: str,
    *,
    tiers: Tier | Iterable[Tier] = "knowledge",
    conversation: str | None = None,
    limit: int | None = None,
    at: float | None = None,
    documents: bool = False,
    embedding: Embedding | None = None,
    asked_in: Iterable[tuple[str, str]] = (),
    zone: str | tzinfo | None = None,
) -> Sequence[Quote]:
    """What would be told, the worthiest first: `limit` of them, and more in case some are shown already.

    Without a `limit` there are as many as a usual budget of tokens has room for.

    The tiers `recent`, `working` and `episodes` are of one conversation, and need no question. Several take
    turns: the best of each, then the next of each. With `documents`, only what documents say. An `embedding`
    stands beside the words of the question. The turns it is `asked_in`, each by its conversation and its id,
    do not answer it. Days are those of the memory, unless a `zone` is given.
    """
    wanted = checked_tiers(tiers)
    many = _MOST if limit is None else _BEYOND * whole(limit, "a limit", least=1)
    own, days = tuple(asked_in), memory.zone if zone is None else zone_of(zone)
    asking = _Asking(memory, question, conversation, many, at, embedding, own, days)
    if documents:
        return asking.answers(documents=True)
    if wanted == ("knowledge",):
        return asking.of_tier("knowledge")
    rows = {tier: asking.of_tier(tier) for tier in wanted}
    answers = {quote.key: quote for quote in rows.get("knowledge", ())}
    return list(_in_turns(list(rows.values()), answers))


def _in_turns(rows: Sequence[Sequence[Quote]], answers: dict[Key, Quote]) -> Iterator[Quote]:
    """One of each row after the other, and each quote once: no row takes the room of the others.

    What is in several of them is told as it answers.
    """
    seen = QuoteSet()
    left = [iter(row) for row in rows]
    while left:
        for row in list(left):
            quote = next((quote for quote in row if not seen.has(quote)), None)
            if quote is None:
                left.remove(row)
            else:
                seen.add(quote)
                yield answers.get(quote.key, quote)


class _Asking(NamedTuple):
    """A question with all that is said of it."""

    memory: Memory
    question: str
    conversation: str | None
    limit: int
    at: float | None
    embedding: Embedding | None
    asked_in: tuple[tuple[str, str], ...]
    zone: tzinfo

    def of_tier(self, tier: Tier) -> Sequence[Quote]:
        """What one tier tells."""
        memory, conversation, zone = self.memory, self.conversation, self.zone
        if tier == "knowledge":
            return self.answers() if self.question.strip() else []
        if tier == "episodes":
            newest = reversed(memory.episodes(conversation, self.limit))
            return [quote_of_episode(one, conversation, zone) for one in newest]
        asked = Question.of(self.question, now() if self.at is None else self.at).terms
        quote = partial(quote_of, conversation=conversation, asked=asked, zone=zone)
        if tier == "working":
            leaves = memory.working(conversation, self.limit)
            return [quote(leaf, why=partial(_matters, leaf)) for leaf in leaves]
        leaves = memory.recent(conversation, self.limit)[::-1]
        return [quote(leaf, why=_is_new) for leaf in leaves]

    def answers(self, *, documents: bool = False) -> Quoted:
        """What answers, wherever it was said."""
        return Quoted(
            distinct(partial(self._search, documents), self.question, self.limit), self.conversation
        )

    def _search(self, documents: bool, many: int) -> Found:
        return self.memory.search(
            self.question,
            limit=many,
            at=self.at,
            documents=documents,
            embedding=self.embedding,
            asked_in=self.asked_in,
            zone=self.zone,
        )


def _matters(leaf: Leaf) -> str:
    return f"it matters, {leaf.importance:.2f} of 1"


def _is_new() -> str:
    return "it is among the newest"
