"""Recall: what was said and kept before comes back, within a budget, and one can tell why."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Literal, Unpack

from quire.errors import InvalidValue, WrongType
from quire.items import Message
from quire.memory.distinct import distinct
from quire.memory.embedding import Embed, Embedding, at_home
from quire.memory.index import Found
from quire.memory.leaf import Leaf
from quire.memory.memory import Memory
from quire.memory.quoted_text import CLOSING, OPENING, opening_of
from quire.memory.quoting import Quoted, quote_of, quote_of_episode
from quire.memory.tiers import Tier, checked_tiers
from quire.sections import Ask, Options, Settings
from quire.sections.quote import Heard, Quote
from quire.sections.quotes import Quotes
from quire.tokens.numbers import whole

Role = Literal["system", "developer", "user"]

_TOKENS = 1_024
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
) -> Sequence[Quote]:
    """What would be told, the worthiest first: `limit` of them, and more in case some are shown already.

    Without a `limit` there are as many as a usual budget of tokens has room for.

    The tiers `recent`, `working` and `episodes` are of one conversation, and need no question. Several take
    turns: the best of each, then the next of each. With `documents`, only what documents say. An `embedding`
    stands beside the words of the question.
    """
    wanted = checked_tiers(tiers)
    many = _MOST if limit is None else _BEYOND * whole(limit, "a limit", least=1)
    if documents:
        return _answers(memory, question, conversation, many, at, embedding, documents=True)
    if wanted == ("knowledge",):
        return _of_tier(memory, "knowledge", question, conversation, many, at, embedding)
    rows = [_of_tier(memory, tier, question, conversation, many, at, embedding) for tier in wanted]
    return list(_in_turns(rows))


def _in_turns(rows: Sequence[Sequence[Quote]]) -> Iterator[Quote]:
    """One of each row after the other, and each quote once: no row takes the room of the others."""
    heard = Heard()
    left = [iter(row) for row in rows]
    while left:
        for row in list(left):
            quote = next((quote for quote in row if not heard.has(quote)), None)
            if quote is None:
                left.remove(row)
            else:
                heard.add((quote,))
                yield quote


def _of_tier(
    memory: Memory,
    tier: Tier,
    question: str,
    conversation: str | None,
    limit: int,
    at: float | None,
    embedding: Embedding | None,
) -> Sequence[Quote]:
    if tier == "knowledge":
        if not question.strip():
            return []
        return _answers(memory, question, conversation, limit, at, embedding)
    if tier == "episodes":
        return [quote_of_episode(one, conversation) for one in reversed(memory.episodes(conversation, limit))]
    if tier == "working":
        leaves = memory.working(conversation, limit)
        return [quote_of(leaf, conversation, partial(_matters, leaf)) for leaf in leaves]
    newest = reversed(memory.recent(conversation, limit))
    return [quote_of(leaf, conversation, lambda: "it is among the newest") for leaf in newest]


def _answers(
    memory: Memory,
    question: str,
    conversation: str | None,
    limit: int,
    at: float | None,
    embedding: Embedding | None,
    *,
    documents: bool = False,
) -> Quoted:
    def search(many: int) -> Found:
        return memory.search(question, limit=many, at=at, documents=documents, embedding=embedding)

    return Quoted(distinct(search, question, limit), conversation)


def told_block(
    quotes: Sequence[Quote],
    *,
    name: str = "recall",
    opening: str | None = None,
    role: Role = "user",
    limit: int | None = None,
    tokens: int | None = None,
) -> Quotes:
    """Quotes as they are told: in a block that says that they are, and that none of them can end."""
    return Quotes(
        quotes,
        name=name,
        opening=OPENING if opening is None else opening_of(opening),
        closing=CLOSING,
        role=role,
        limit=limit,
        tokens=tokens,
    )


def _matters(leaf: Leaf) -> str:
    return f"it matters, {leaf.importance:.2f} of 1"


class Recall(Settings):
    """What answers the question at hand, from one tier or several, quoted in the order of time.

    As many as `tokens` have room for, and `limit` of them at most where one is given; none that the history
    shows already. The question is the input, or else the last message of the user.
    """

    def __init__(
        self,
        *tiers: Tier,
        limit: int | None = None,
        tokens: int = _TOKENS,
        memory: Memory | None = None,
        embed: Embed | None = None,
        opening: str | None = None,
        role: Role = "user",
        name: str = "recall",
        **options: Unpack[Options],
    ) -> None:
        """Without a `memory`, it is that of the session in which the context is built.

        With `embed`, a callable of texts that gives vectors, these move what words have found. What is
        quoted is data, in a message of the user; another `role` is for who trusts all that was recorded.
        """
        super().__init__(name, **(Options(required=False, independent=True) | options))
        if self.required or self.keeps != "first":
            raise InvalidValue("what is recalled is optional, and the worthiest of it stays")
        if role not in ("system", "developer", "user"):
            raise InvalidValue("what is recalled is told by the system, the developer or the user")
        if not isinstance(memory, Memory | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"what recalls is a Memory, not {type(memory).__name__}")
        self._tiers = checked_tiers(tiers or ("knowledge",))
        self._limit = None if limit is None else whole(limit, "a limit of quotes", least=1)
        self._tokens = whole(tokens, "tokens for quotes", least=1)
        self._memory, self._opening = memory, opening
        self._embedding = None if embed is None else Embedding(embed)
        self._role: Role = role

    async def items(self, ask: Ask) -> Quotes:
        """What may be told; which of it is, is settled when it is known what else is shown."""
        memory = self._memory or (ask.memory() if ask.memory is not None else None)
        if not isinstance(memory, Memory):
            raise InvalidValue("there is no memory to recall from: build in a session, or give Recall one")
        find = partial(
            recalled,
            memory,
            question_of(ask),
            tiers=self._tiers,
            conversation=ask.conversation,
            limit=self._limit,
            at=ask.now or None,
            embedding=self._embedding,
        )
        # What may wait for a disk, or takes more than a few milliseconds, lets others go on meanwhile.
        is_quick = memory.is_quick and self._embedding is None
        quotes = find() if is_quick else await asyncio.to_thread(at_home, asyncio.get_running_loop(), find)
        return told_block(
            quotes,
            name=self.name,
            opening=self._opening,
            role=self._role,
            limit=self._limit,
            tokens=self._tokens,
        )


def question_of(ask: Ask) -> str:
    """What is asked: the input, or else what the user said last."""
    if isinstance(ask.input, Message):
        return ask.input.text
    said = reversed(ask.view("main")) if "main" in ask.views else ()
    return next((item.text for item in said if isinstance(item, Message) and item.role == "user"), "")
