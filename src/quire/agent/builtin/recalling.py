"""Looking things up: what was said and done before, and the documents of the scope."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Annotated

from msgspec import Meta

from quire.agent.tools import Tool, tool
from quire.agent.tools.output import Allowance
from quire.context import DEFAULT_MODEL
from quire.items import Item, Message
from quire.memory import Quote, Quotes, SelectedQuotes, Shorten, Tier, recalled
from quire.session import Session
from quire.tokens import Counter, checked_counter, counter_for, whole

RECALL, SEARCH_KNOWLEDGE = "recall", "search_knowledge"

_TOKENS = 1_024
_OPENING = "Found, in the order of time, each with the ids of its items and why it was found:"
_NOTHING = "Nothing was found."
_MOST_IDS = 3
_LOOKED_AT = 3
"""How many times more are weighed than are told, since some may be too long."""

_Limit = Annotated[int, Meta(ge=1, le=50)]


def recall_tools(*, tokens: int = _TOKENS, counter: Counter | None = None) -> list[Tool]:
    """The tools by which a model looks up what was said before and documents, so many tokens at a time.

    They find what is in the scope of the conversation they are called in, and nothing else. Where fewer
    tokens are shown, they tell less.
    """
    telling = _Telling(
        whole(tokens, "tokens", least=1),
        checked_counter(counter_for(DEFAULT_MODEL) if counter is None else counter),
    )
    return [_recall(telling), _search_knowledge(telling)]


def _recall(telling: "_Telling") -> Tool:
    @tool(name=RECALL, idempotent=True)
    def recall(
        question: str,
        session: Session,
        tiers: list[Tier] | None = None,
        conversation: str | None = None,
        limit: _Limit = 10,
        allowance: Allowance | None = None,
    ) -> str:
        """Look up what was said or done before, here or in other conversations, and what documents say.

        Args:
            question: What you want to know, with the words that were probably used.
            session: The conversation that asks.
            tiers: Where to look: knowledge, which is all conversations and documents, if left out; or of one
                conversation the newest (recent), what matters most (working) or its summaries (episodes).
            conversation: Of which conversation recent, working and episodes are; this one if left out.
            limit: How many to give at most.
            allowance: How much of it is shown; the agent fills it in.
        """
        where = session.place.conversation if conversation is None else conversation
        find = partial(
            recalled,
            session.memory,
            question,
            tiers=tiers or "knowledge",
            conversation=where,
            limit=limit,
            asked_in=[(session.place.conversation, item.id) for item in _this_turn(session)],
        )
        return telling.answer(find, session, limit, allowance)

    return recall


def _search_knowledge(telling: "_Telling") -> Tool:
    @tool(name=SEARCH_KNOWLEDGE, idempotent=True)
    def search_knowledge(
        question: str, session: Session, limit: _Limit = 10, allowance: Allowance | None = None
    ) -> str:
        """Look up what the documents say that were added for you.

        Args:
            question: What you want to know, with the words that are probably used in them.
            session: The conversation that asks.
            limit: How many passages to give at most.
            allowance: How much of it is shown; the agent fills it in.
        """
        find = partial(recalled, session.memory, question, limit=limit, documents=True)
        return telling.answer(find, session, limit, allowance)

    return search_knowledge


class _Telling:
    """Puts what was found into an answer of so many tokens."""

    def __init__(self, tokens: int, counter: Counter) -> None:
        self._tokens, self._count = tokens, counter.count

    def answer(
        self,
        find: Callable[[], Sequence[Quote]],
        session: Session,
        limit: int,
        allowance: Allowance | None,
    ) -> str:
        """The worthiest of what is found, in the order of time, and that may be told in the session."""
        shown = {item.id: item for item in _this_turn(session)}

        def is_shown(quote: Quote) -> bool:
            item = shown.get(quote.first)
            return item is not None and quote.is_of(item)

        while True:
            new = [quote for quote in find() if not is_shown(quote)]
            told = self._shown(new, limit, allowance)
            kept = [quote for quote in new if quote.key in told.keys]
            if session.steps.link(kept):
                break
        if not new:
            return _NOTHING
        return _text(told) if told.items else self._too_long(new[0])

    def _shown(self, quotes: Sequence[Quote], limit: int, allowance: Allowance | None) -> SelectedQuotes:
        """What is told in as many tokens as are shown; where nothing fits in them, what would be in all."""
        told = most = self._told(quotes, limit, self._tokens)
        tokens = self._tokens
        while allowance is not None and told.items and not allowance.holds(text := _text(told)):
            tokens = tokens * allowance.characters(text) // len(text)
            told = self._told(quotes, limit, tokens)
        return told if told.items else most

    def _told(self, quotes: Sequence[Quote], limit: int, tokens: int) -> SelectedQuotes:
        return Quotes(
            [_with_ids(quote) for quote in quotes[: _LOOKED_AT * limit]],
            name=RECALL,
            opening=_OPENING,
            closing="",
            limit=limit,
            tokens=tokens,
        ).select(None, self._count)

    def _too_long(self, best: Quote) -> str:
        """What is told where nothing fits: the ids of what was found."""
        said = f"What was found is longer than {self._tokens:,} tokens."
        named = f"{said} Its items: {_listed(best.covers)}."
        return named if self._count(Message("system", named)) <= self._tokens else said


def _this_turn(session: Session) -> list[Item]:
    """What came since the user spoke last: the model has that before it, be it by a stub."""
    came: list[Item] = []
    view = session.view()
    for item in reversed(view):
        position = view.log.find(item.id, view.end)
        came.append(item if position is None else view.log.item(position))
        if isinstance(item, Message) and item.role == "user":
            break
    return came


def _text(told: SelectedQuotes) -> str:
    return "".join(item.text for item in told.items if isinstance(item, Message))


def _with_ids(quote: Quote) -> Quote:
    """A quote that ends with the ids of its items, also where only a part of it is told."""
    ending = f" ({_listed(quote.covers) or quote.id}; {quote.why()})"
    told = quote._replace(line=f"{quote.line}{ending}")
    if quote.shorter is None:
        return told
    shorter: Shorten = partial(_shorter_with, ending, quote.line, quote.shorter)
    return told._replace(shorter=shorter)


def _shorter_with(ending: str, whole: str, shorter: Shorten, _: str, letters: int) -> str:
    return f"{shorter(whole, max(0, letters - len(ending)))}{ending}"


def _listed(ids: Iterable[str]) -> str:
    first, *rest = [*ids] or [""]
    more = len(rest) + 1 - _MOST_IDS
    return ", ".join([first, *rest[: _MOST_IDS - 1]]) + (f" and {more} more" if more > 0 else "")
