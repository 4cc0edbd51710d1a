"""Memory: the quotes that a question recalls from a scope, and its documents."""

from collections.abc import Iterable, Sequence
from typing import Any

from quire.context import DEFAULT_MODEL
from quire.memory import Knowledge, Memory, Quote, Source as Document, checked_tiers, quote_rows, recalled
from quire.reading.source import Count, Fields, Record, Source
from quire.stores import Place, place_at
from quire.tokens import counter_for

_MAX_QUOTES, _MAX_SCOPES, _LONGEST, _BUDGET = 20, 20, 600, 1_024
"""Quotes that are returned; scopes that are searched; characters of a quote; tokens of all quotes."""


class Recalled(Record, frozen=True):
    """The quotes for a question, as rows. Each says why it was found, and whether it fits into the budget."""

    question: str
    scope: str
    budget: int
    tokens: int
    found: Sequence[Fields]


def recall(
    source: Source,
    question: str,
    scope: str = "",
    conversation: str | None = None,
    tiers: Iterable[str] = ("knowledge",),
    budget: Count = _BUDGET,
    limit: Count | None = None,
    zone: str | None = None,
) -> Recalled:
    """Return what a question recalls from a scope; tiers other than `knowledge` need a `conversation`.

    Each conversation without a scope is a scope of its own; the latest of these are searched one by one.
    """
    if conversation is None:
        scopes = source.scopes(scope)[:_MAX_SCOPES]
    else:
        scopes = [source.place(place_at(scope=scope, conversation=conversation)).scope]
    quotes, checked = list[Quote](), checked_tiers(tiers)
    for name in scopes:
        memory = Memory.of(source.store, name, zone=zone)
        quotes += recalled(memory, question, tiers=checked, conversation=conversation, limit=limit)
    rows, used = quote_rows(quotes, counter_for(DEFAULT_MODEL).count, budget, limit)
    return Recalled(question=question, scope=scope, budget=budget, tokens=used, found=rows)


def search(source: Source, question: str, within: str = "") -> dict[str, Any]:
    """Return the answers to a question in the conversations and documents `within` a scope, best first."""
    scope = place_at(within).given_scope if within else source.scope or ""
    quotes = [
        (name, quote)
        for name in source.scopes(scope)[:_MAX_SCOPES]
        for quote in recalled(Memory.of(source.store, name), question, limit=_MAX_QUOTES)
    ]
    return {
        "scope": scope,
        "found": [
            {
                "address": str(Place(name, quote.source)) if quote.at else None,
                "source": quote.source,
                "item": quote.first,
                "at": quote.at or None,
                "text": quote.line[:_LONGEST],
                "reason": quote.why(),
            }
            for name, quote in quotes[:_MAX_QUOTES]
        ],
    }


def list_documents(source: Source, scope: str) -> list[Document]:
    """Return the documents of a scope, by name; `UnknownId` if there is no such scope."""
    (name, *_) = source.scopes(scope)
    return Knowledge(source.store, name).sources()
