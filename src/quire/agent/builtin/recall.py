"""Tools to look things up: what was said before, documents, and long outputs that were moved to the pool."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Annotated

from msgspec import Meta

from quire.agent.tools import Allowance, Tool, tool
from quire.compactors import READ_BACK, read_back
from quire.context import DEFAULT_MODEL
from quire.items import Item, Message, ToolResult
from quire.memory import Quote, Quotes, SelectedQuotes, Shorten, Tier, recalled
from quire.session import Session, handle_of
from quire.tokens import Counter, checked_counter, counter_for, whole

_TOKENS, _TOKENS_BACK = 1_024, 2_000
_OPENING = "Found, in the order of time, each with the ids of its items and why it was found:"
_NOTHING = "Nothing was found."
_MOST_IDS = 3
_CANDIDATES = 3
"""How many times more quotes are considered than shown, because some may be too long."""

_Limit = Annotated[int, Meta(ge=1, le=50)]


def recall_tools(*, tokens: int = _TOKENS, counter: Counter | None = None) -> list[Tool]:
    """Tools by which a model looks up what was said before and documents, with answers of so many tokens.

    They search the scope of the conversation that calls them. Where there is less room, they show less.
    """
    counted = checked_counter(counter_for(DEFAULT_MODEL) if counter is None else counter)
    found = _Recall(whole(tokens, "tokens", least=1), counted)
    return [tool(one, idempotent=True) for one in (found.recall, found.search_knowledge)]


def bringing_back_tools(*, tokens: int = _TOKENS_BACK, counter: Counter | None = None) -> list[Tool]:
    """The tool by which a model reads what was moved to the pool, so many tokens at a time.

    It gives less where there is less room: what is read back is never cut and moved to the pool again.
    """
    whole(tokens, "tokens", least=1)
    counted = counter or counter_for(DEFAULT_MODEL)

    @tool(name=READ_BACK["name"], description=READ_BACK["description"], idempotent=True)
    def bring_back(handle: str, session: Session, start: int = 0, allowance: Allowance | None = None) -> str:
        """Read a long output that was moved out of the conversation.

        Args:
            handle: The handle, such as output-0123456789.
            start: The character from which to read; 0, the beginning, if left out.
        """
        counts = counted if allowance is None else _Within(counted, tokens, allowance)
        pool = session.pool.copy()
        session.steps.trace(note.id for note in pool if handle_of(note) == handle)
        return read_back(pool, handle, counts, tokens, start)

    return [bring_back]


class _Within:
    """A counter by which a result that an allowance does not hold has too many tokens."""

    def __init__(self, counter: Counter, tokens: int, allowance: Allowance) -> None:
        self._counter, self._tokens, self._allowance = counter, tokens, allowance
        self.key = f"{counter.key}, shown whole"

    def count(self, item: Item) -> int:
        """Tokens of one item."""
        counted = self._counter.count(item)
        is_too_much = isinstance(item, ToolResult) and not self._allowance.holds(item.text)
        return max(counted, self._tokens + 1) if is_too_much else counted

    def total(self, counted: int) -> int:
        """Tokens of a request."""
        return self._counter.total(counted)


class _Recall:
    """The tools, with answers of so many tokens."""

    def __init__(self, tokens: int, counter: Counter) -> None:
        self._tokens, self._count = tokens, counter.count

    def recall(
        self,
        question: str,
        session: Session,
        tiers: list[Tier] | None = None,
        conversation: str | None = None,
        limit: _Limit = 10,
    ) -> str:
        """Look up what was said or done before, here or in other conversations, and what documents say.

        Args:
            question: What you want to know, with the words that were probably used.
            tiers: Where to look: knowledge, which is all conversations and documents, if left out; or of one
                conversation the newest (recent), what matters most (working) or its summaries (episodes).
            conversation: Of which conversation recent, working and episodes are; this one if left out.
            limit: How many to give at most.
        """
        here = session.place.conversation
        find = partial(
            recalled,
            session.memory,
            question,
            tiers=tiers or "knowledge",
            conversation=here if conversation is None else conversation,
            limit=limit,
            asked_in=[(here, item.id) for item in _this_turn(session)],
        )
        return self._answer(find, session, limit)

    def search_knowledge(self, question: str, session: Session, limit: _Limit = 10) -> str:
        """Look up what the documents say that were added for you.

        Args:
            question: What you want to know, with the words that are probably used in them.
            limit: How many passages to give at most.
        """
        find = partial(recalled, session.memory, question, limit=limit, documents=True)
        return self._answer(find, session, limit)

    def _answer(self, find: Callable[[], Sequence[Quote]], session: Session, limit: int) -> str:
        """The best quotes in order of time."""
        while True:
            new = find()
            selected = self._select(new, limit)
            if session.steps.link([quote for quote in new if quote.key in selected.keys]):
                break  # otherwise a quote was forgotten meanwhile
        if not new:
            return _NOTHING
        return _text(selected) if selected.items else self._too_long(new[0])

    def _select(self, quotes: Sequence[Quote], limit: int) -> SelectedQuotes:
        candidates = [_with_ids(quote) for quote in quotes[: _CANDIDATES * limit]]
        section = Quotes(
            candidates, name="recall", opening=_OPENING, closing="", limit=limit, tokens=self._tokens
        )
        return section.select(None, self._count)

    def _too_long(self, best: Quote) -> str:
        words = f"What was found is longer than {self._tokens:,} tokens."
        with_ids = f"{words} Its items: {_listed(best.covers)}."
        return with_ids if self._count(Message("system", with_ids)) <= self._tokens else words


def _this_turn(session: Session) -> list[Item]:
    """The items since the last message of the user: the model sees them, if only as stubs."""
    items: list[Item] = []
    view = session.view()
    for item in reversed(view):
        position = view.log.find(item.id, view.end)
        items.append(item if position is None else view.log.item(position))
        if isinstance(item, Message) and item.role == "user":
            break
    return items


def _text(selected: SelectedQuotes) -> str:
    return "".join(item.text for item in selected.items if isinstance(item, Message))


def _with_ids(quote: Quote) -> Quote:
    """A quote that ends with the ids of its items, also where it is shortened."""
    ending = f" ({_listed(quote.covers) or quote.id}; {quote.why()})"
    extended = quote._replace(line=f"{quote.line}{ending}")
    if quote.shorter is None:
        return extended
    shorten: Shorten = quote.shorter

    def shorter(_: str, letters: int) -> str:
        return f"{shorten(quote.line, max(0, letters - len(ending)))}{ending}"

    return extended._replace(shorter=shorter)


def _listed(ids: Iterable[str]) -> str:
    first, *rest = [*ids] or [""]
    more = len(rest) + 1 - _MOST_IDS
    return ", ".join([first, *rest[: _MOST_IDS - 1]]) + (f" and {more} more" if more > 0 else "")
