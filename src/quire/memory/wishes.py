"""The section of wishes: standing instructions and preferences of the user that are no longer in view.

A summary may lose "never send mail before I have seen it", and a cut may leave out its message. So wishes
that are no longer in view are shown in a section of their own. Only the words of a person are wishes: not
those of a tool, a document or a model, and nothing that was pasted or quoted.
"""

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, Unpack

from quire.errors import InvalidValue
from quire.items import Item, Message, is_below
from quire.memory.embedding import run_with_loop
from quire.memory.follower import RECALL
from quire.memory.leaf import Leaf
from quire.memory.memory import Memory
from quire.memory.quotes import BAR, PART, Quote, Quotes, quote_line
from quire.memory.wish import Wish, in_force, wishes_of
from quire.sections import Ask, Options, Settings
from quire.state import View, keep_memo, memos, origin_of
from quire.stores.threads import RECALLING
from quire.tokens import whole

_TOKENS = 300
_OPENING = "What the user asked for in general; of two that differ the last holds:"

_MAX_READ = 1_000
"""The newest user messages that are read, at most."""


class Wishes(Settings):
    """The section of standing instructions, preferences and prohibitions that are not in view.

    The newest are chosen, and shown in the order of time. They come from the conversation and from the scope:
    other conversations, and notes that a person keeps. With `scope=False` only the conversation is read, and
    no memory is needed. The section changes when more wishes leave the view.
    """

    def __init__(
        self,
        *,
        scope: bool = True,
        tokens: int = _TOKENS,
        name: str = "wishes",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(name, **(Options(required=False, independent=scope, stability="slow") | options))
        self._tokens = whole(tokens, "tokens for wishes", least=1)
        self.reads_scope = scope
        """Whether other conversations are read, which may wait for a store."""

    async def items(self, ask: Ask) -> Quotes | tuple[Item, ...]:
        """Return candidates, from which `Quotes.select` chooses when the rest of the context is known."""
        view = ask.views.get("main")
        own = [] if view is None else [w for w in _wishes_in(view, ask.conversation) if _holds(view, w)]
        others = await self._of_scope(ask) if self.reads_scope else []
        known = {wish.leaf.key for wish in own}
        wishes = [*own, *(wish for wish in others if wish.leaf.key not in known)]
        wishes.sort(key=lambda wish: (wish.leaf.at, wish.number), reverse=True)
        quotes = [quote_wish(wish) for wish in in_force(wishes)]
        return Quotes(quotes, name=self.name, opening=_OPENING, closing="", tokens=self._tokens)

    async def _of_scope(self, ask: Ask) -> list[Wish]:
        memory = None if ask.memory is None else ask.memory()
        if not isinstance(memory, Memory):
            raise InvalidValue(
                "there is no memory to take wishes from: build in a session, or with scope=False"
            )
        find = partial(memory.wishes, ask.conversation)
        wishes: list[Wish] = await RECALLING.do(run_with_loop, asyncio.get_running_loop(), find)
        return wishes


class _Known(NamedTuple):
    """The wishes of a transcript up to a position."""

    end: int
    wishes: tuple[Wish, ...]


def _wishes_in(view: View, conversation: str) -> tuple[Wish, ...]:
    """Return the wishes of all user messages; each message is read once."""
    known = memos(view).get(Wishes)
    if not isinstance(known, _Known) or known.end > view.end:
        known = _Known(0, ())
    if known.end < view.end:
        positions = view.log.positions("users", known.end, view.end)[-_MAX_READ:]
        new = [wish for position in positions for wish in _wishes_at(view, position, conversation)]
        known = _Known(view.end, (*known.wishes, *new))
        keep_memo(view, Wishes, known)
    return known.wishes


def _wishes_at(view: View, position: int, conversation: str) -> Iterator[Wish]:
    message = view.log.item(position)
    if isinstance(message, Message):
        leaf = Leaf(
            source=conversation,
            key=message.id,
            order=position,
            stretch=0,
            ids=(message.id,),
            kind="said",
            at=message.created_at,
            speaker="user",
            text=message.text,
        )
        yield from wishes_of(leaf, prohibitions=True)


def _holds(view: View, wish: Wish) -> bool:
    """Whether a wish comes from a person, and was not hidden with `recall=False`, which no compactor sets."""
    if is_below(origin_of(view, view.get(wish.leaf.key)), "user"):
        return False
    fate = view.fate(wish.leaf.key)
    is_hidden = fate.state == "hidden" and fate.by is not None
    return not (is_hidden and view.get(str(fate.by)).extras.get(RECALL) is False)


def quote_wish(wish: Wish) -> Quote:
    """Quote a wish; a long sentence is shortened to its clause."""
    leaf = wish.leaf
    return Quote(
        id=f"{PART}{leaf.key}/{wish.number}",
        line=quote_line(BAR, wish.text),
        heading="",
        at=leaf.at,
        order=leaf.order,
        covers=leaf.ids,
        why=lambda: "the user asked for it in general",
        source=leaf.source,
        shorter=partial(_clause_alone, wish),
        text=leaf.text,
    )


def _clause_alone(wish: Wish, line: str, characters: int) -> str:
    return line if len(line) <= characters else quote_line(BAR, f"\u2026 {wish.clause} \u2026")
