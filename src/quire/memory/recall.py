"""Recall: what was said and kept before comes back, within a budget, and one can tell why."""

import asyncio
from collections.abc import Sequence
from datetime import tzinfo
from functools import partial
from typing import Literal, Unpack

from quire.errors import InvalidValue, WrongType
from quire.items import Message
from quire.memory.answers import recalled
from quire.memory.dates import zone_of
from quire.memory.embedding import Embed, Embedding, at_home
from quire.memory.memory import Memory
from quire.memory.quoted_text import CLOSING, OPENING, opening_of
from quire.memory.quotes import Quote, Quotes
from quire.memory.tiers import Tier, checked_tiers
from quire.sections import Ask, Options, Settings
from quire.stores.threads import RECALLING
from quire.tokens import whole

Role = Literal["system", "developer", "user"]

_TOKENS = 1_024


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
        zone: str | tzinfo | None = None,
        opening: str | None = None,
        role: Role = "user",
        name: str = "recall",
        **options: Unpack[Options],
    ) -> None:
        """Without a `memory`, it is that of the session in which the context is built.

        With `embed`, a callable of texts that gives vectors, these move what words have found. Days are those
        of a `zone` ("Europe/Paris", or a `datetime.tzinfo`), or else of the memory. What is quoted is data,
        in a message of the user; another `role` is for who trusts all that was recorded.
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
        self._zone = None if zone is None else zone_of(zone)
        self._role: Role = role

    async def items(self, ask: Ask) -> Quotes:
        """What may be told; which of it is, is settled when it is known what else is shown."""
        memory = self._memory or (ask.memory() if ask.memory is not None else None)
        if not isinstance(memory, Memory):
            raise InvalidValue("there is no memory to recall from: build in a session, or give Recall one")
        question = asked_of(ask)
        find = partial(
            recalled,
            memory,
            question.text if question is not None else "",
            tiers=self._tiers,
            conversation=ask.conversation,
            limit=self._limit,
            at=ask.now or None,
            embedding=self._embedding,
            asked_in=() if question is None else ((ask.conversation, question.id),),
            zone=self._zone,
        )
        # What may wait for a disk, or takes more than a few milliseconds, lets others go on meanwhile.
        is_quick = memory.is_quick and self._embedding is None
        quotes = find() if is_quick else await RECALLING.do(at_home, asyncio.get_running_loop(), find)
        return told_block(
            quotes,
            name=self.name,
            opening=self._opening,
            role=self._role,
            limit=self._limit,
            tokens=self._tokens,
        )


def asked_of(ask: Ask) -> Message | None:
    """The message that asks: the input, or else what the user said last."""
    if isinstance(ask.input, Message):
        return ask.input
    said = reversed(ask.view("main")) if "main" in ask.views else ()
    return next((item for item in said if isinstance(item, Message) and item.role == "user"), None)
