"""Tools to search earlier conversation and documents, and to read outputs that were moved to the pool."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Annotated

from msgspec import Meta

from quire.agent.tools import Allowance, Tool, tool
from quire.compactors import READ_BACK, kept_under, read_back
from quire.context import DEFAULT_MODEL
from quire.errors import WrongType
from quire.items import Message
from quire.memory import Memory, Quote, Quotes, SelectedQuotes, Shorten, recalled
from quire.session import Session, add_sources, handle_of, hooked_recall, hooks_of, link_quotes, log_of
from quire.tokens import counter_for, whole

_TOKENS, _READ_TOKENS = 1_024, 2_000
_OPENING = "Found, in order of time, each with the ids of its items and why it matched:"
_MAX_IDS = 3
_OVERSAMPLING = 3
"""Candidates per shown quote, because some may be too long."""

_Limit = Annotated[int, Meta(ge=1, le=50)]


def recall_tools(*, tokens: int = _TOKENS, memory: Memory | None = None) -> list[Tool]:
    """Tools by which a model searches earlier conversation and documents, with answers of at most `tokens`.

    They search the scope of the conversation that calls them, or that of `memory`.
    """
    if not isinstance(memory, Memory | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"memory must be a Memory, not {type(memory).__name__}")
    own = _RecallTools(whole(tokens, "tokens", least=1), memory)
    return [tool(function, idempotent=True) for function in (own.recall, own.search_knowledge)]


def read_back_tools(*, tokens: int = _READ_TOKENS) -> list[Tool]:
    """The tool `bring_back`: a model reads outputs that are not shown whole, at most `tokens` at a time.

    It returns less where there is less room, so that its own output is never moved to the pool.
    """
    whole(tokens, "tokens", least=1)

    @tool(name=READ_BACK["name"], description=READ_BACK["description"], idempotent=True)
    def bring_back(handle: str, session: Session, start: int = 0, allowance: Allowance | None = None) -> str:
        """Read an output that was shortened, left out or moved out of the conversation.

        Args:
            handle: The handle, such as #12 or output-0123456789.
            start: The character to start from; 0 is the beginning.
        """
        pool, view, counter, limit = session.pool.copy(), session.view(), counter_for(DEFAULT_MODEL), tokens
        add_sources(note.id for note in pool if handle_of(note) == handle)
        if (original := kept_under(handle, pool, view)) is not None:
            add_sources([original.id])
        text = read_back(pool, handle, counter, limit, start, view)
        while limit > 1 and allowance is not None and not allowance.holds(text):
            limit = limit * allowance.characters(text) // len(text)
            text = read_back(pool, handle, counter, limit, start, view)
        return text

    return [bring_back]


class _RecallTools:
    def __init__(self, tokens: int, memory: Memory | None) -> None:
        self._tokens, self._memory = tokens, memory

    def recall(self, question: str, session: Session, limit: _Limit = 10) -> str:
        """Look up what was said or done before, here or in other conversations, and what documents say.

        Args:
            question: What you want to know, in the words that were probably used.
            limit: How many matches to return at most.
        """
        here = session.place.conversation
        current_turn = [(here, item) for item in _this_turn(session)]
        memory = self._memory or session.memory
        find = partial(recalled, memory, question, conversation=here, asked_in=current_turn)
        return self._answer(question, find, session, limit)

    def search_knowledge(self, question: str, session: Session, limit: _Limit = 10) -> str:
        """Look up passages of the documents that were added for you.

        Args:
            question: What you want to know, in the words that they probably use.
            limit: How many passages to return at most.
        """
        memory = self._memory or session.memory
        find = partial(recalled, memory, question, documents=True)
        return self._answer(question, find, session, limit)

    def _answer(
        self, question: str, find: Callable[..., Sequence[Quote]], session: Session, limit: int
    ) -> str:
        while True:
            found = hooked_recall(hooks_of(session), session.place, question, partial(find, limit=limit))
            selected = self._select(found, limit)
            if link_quotes(log_of(session), [quote for quote in found if quote.key in selected.keys]):
                break  # otherwise a quote was forgotten meanwhile
        if not found:
            return "Nothing was found."
        text = "".join(item.text for item in selected.items if isinstance(item, Message))
        return text or f"The matches are longer than {self._tokens:,} tokens."

    def _select(self, quotes: Sequence[Quote], limit: int) -> SelectedQuotes:
        candidates = [_with_ids(quote) for quote in quotes[: _OVERSAMPLING * limit]]
        tokens = self._tokens
        section = Quotes(candidates, name="recall", opening=_OPENING, closing="", limit=limit, tokens=tokens)
        return section.select(None, counter_for(DEFAULT_MODEL).count)


def _this_turn(session: Session) -> Iterator[str]:
    """The ids of the items since the user's last message, which the model already sees."""
    for item in reversed(session.view()):
        yield item.id
        if isinstance(item, Message) and item.role == "user":
            return


def _with_ids(quote: Quote) -> Quote:
    """A quote that ends with the ids of its items, even if it is shortened."""
    ending = f" ({_short_list(quote.covers) or quote.id}; {quote.why()})"
    extended = quote._replace(line=f"{quote.line}{ending}")
    if quote.shorter is None:
        return extended
    shorten: Shorten = quote.shorter

    def shorter(_: str, length: int) -> str:
        return f"{shorten(quote.line, max(0, length - len(ending)))}{ending}"

    return extended._replace(shorter=shorter)


def _short_list(ids: Iterable[str]) -> str:
    all_ids = list(ids)
    more = len(all_ids) - _MAX_IDS
    return ", ".join(all_ids[:_MAX_IDS]) + (f" and {more} more" if more > 0 else "")
