"""What a question brings back of a scope: quotes of conversations and documents; and the documents."""

from collections.abc import Iterable, Sequence
from typing import Any

from quire.context import DEFAULT_MODEL
from quire.memory import Knowledge, Memory, Quote, Source as Document, checked_tiers, quote_rows, recalled
from quire.reading.source import Count, Fields, Record, Source
from quire.stores import Place, place_at
from quire.tokens import counter_for

_FOUND, _SCOPES, _LONGEST, _BUDGET = 20, 20, 600, 1_024
"""How many quotes are returned and scopes searched; characters of a quote; tokens of all."""


class Recalled(Record, frozen=True):
    """What a question brings back: rows with reasons, which fit into a budget or are left out."""

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
    """Return what a question brings back of a scope; the other `tiers` are of one conversation.

    Of conversations without a scope, which are scopes of their own, the latest are searched one by one.
    """
    if conversation is None:
        scopes = source.scopes(scope)[:_SCOPES]
    else:
        scopes = [source.place(place_at(scope=scope, conversation=conversation)).scope]
    quotes: list[Quote] = []
    for one in scopes:
        memory = Memory.of(source.store, one, zone=zone)
        quotes += recalled(
            memory, question, tiers=checked_tiers(tiers), conversation=conversation, limit=limit
        )
    rows, used = quote_rows(quotes, counter_for(DEFAULT_MODEL).count, budget, limit)
    return Recalled(question=question, scope=scope, budget=budget, tokens=used, found=rows)


def search(source: Source, question: str, within: str = "") -> dict[str, Any]:
    """Return what answers a question in the conversations and documents `within` one scope, best first."""
    scope = place_at(within).named if within else source.scope or ""
    quotes = [
        (one, quote)
        for one in source.scopes(scope)[:_SCOPES]
        for quote in recalled(Memory.of(source.store, one), question, limit=_FOUND)
    ]
    return {
        "scope": scope,
        "found": [
            {
                "address": str(Place(one, quote.source)) if quote.at else None,
                "source": quote.source,
                "item": quote.first,
                "at": quote.at or None,
                "text": quote.line[:_LONGEST],
                "reason": quote.why(),
            }
            for one, quote in quotes[:_FOUND]
        ],
    }


def list_documents(source: Source, scope: str) -> list[Document]:
    """Return the documents of a scope, by name; `UnknownId` if there is no such scope."""
    (found, *_) = source.scopes(scope)
    return Knowledge(source.store, found).sources()
