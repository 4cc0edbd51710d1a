"""The command that says what a question would bring back, in the order of worth, and why."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quire.cli.arguments import AsJson, KeyFile, StoreUrl
from quire.cli.escaping import beginning, visible
from quire.cli.fitting import COUNTED_AS
from quire.cli.storing import at_store, known_place, place_of
from quire.cli.words import named, several
from quire.cli.writing import write_json
from quire.errors import UnknownId
from quire.items import Message
from quire.tokens import counter_for

if TYPE_CHECKING:
    from quire.memory import Quote
    from quire.stores import Place, Store

Scope = Annotated[str, typer.Option(help="the scope to look in; that without a name if left out")]

_BUDGET = 1_024
_SHOWN = 10
"""So many are listed in any case, whether or not they have room."""

_MOST_SCOPES = 10
_MARGIN = 6
_LONGEST = 200


def recall(
    question: Annotated[str, typer.Argument(help="what somebody may ask", show_default=False)],
    scope: Scope = "",
    conversation: Annotated[
        str | None,
        typer.Option(help="of which recent, working and episodes are; all of the scope's if left out"),
    ] = None,
    tier: Annotated[
        list[str] | None, typer.Option(help="recent, working, episodes or knowledge; several may be given")
    ] = None,
    budget: Annotated[int, typer.Option(min=1, help="tokens that all of it may take")] = _BUDGET,
    limit: Annotated[
        int | None, typer.Option(min=1, help="how many may be told; as many as have room if left out")
    ] = None,
    zone: Annotated[str, typer.Option(help='whose days are meant and told, such as "Europe/Paris"')] = "UTC",
    model: Annotated[str, typer.Option(help="count as this model does")] = COUNTED_AS,
    store: StoreUrl = None,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Say what a question would bring back: the worthiest first, with scores, reasons and what would fit."""
    with at_store(store, key_file) as found:
        place = _known(found, scope, conversation)
        quotes = _found(found, place, conversation is not None, question, tier, limit, zone)
        if not quotes:
            raise UnknownId(f"nothing was found in the scope {named(place.scope)!r}")
        rows, told = _rows(quotes, budget, limit, model)
    if json:
        write_json(
            {"question": question, "scope": place.scope, "budget": budget, "tokens": told, "found": rows}
        )
    else:
        _print(rows, budget, told, question)


def _known(store: "Store", scope: str, conversation: str | None) -> "Place":
    """Where to look. There is something, and it can be read with the key at hand."""
    place = place_of(f"{scope}/{conversation or ''}")
    names = store.conversations(place.scope)
    if not names:
        scopes = [str(place._replace(scope=one)).partition("/")[0] for one in store.scopes()[:_MOST_SCOPES]]
        there = f"; --scope may be {', '.join(map(repr, scopes))}" if scopes else ""
        raise UnknownId(f"there is nothing in the scope {named(place.scope)!r} of this store{there}")
    if conversation is not None and place.conversation not in names:
        raise UnknownId(f"there is no conversation {place} in this store")
    for name in names:
        known_place(store, str(place._replace(conversation=name)))
    return place


def _found(
    store: "Store",
    place: "Place",
    is_narrowed: bool,
    question: str,
    tiers: list[str] | None,
    limit: int | None,
    zone: str,
) -> "Sequence[Quote]":
    from quire.memory import Memory, checked_tiers, recalled

    where = place.conversation if is_narrowed else None
    wanted = checked_tiers(tiers or ("knowledge",))
    memory = Memory.of(store, place.scope, zone=zone)
    return recalled(memory, question, tiers=wanted, conversation=where, limit=limit)


def _rows(
    quotes: "Sequence[Quote]", budget: int, limit: int | None, model: str
) -> tuple[list[dict[str, Any]], int]:
    """What would be told, as it would be, what is passed over before it, and so many in any case.

    With it goes how many tokens it would be told in: with days, and the block that it stands in.
    """
    from quire.memory import Quotes

    count = counter_for(model).count
    block = Quotes(quotes, limit=limit, tokens=budget)
    told = block.select(None, count)
    lines = {quote.key: quote.line for quote in told.quotes}
    last = max((nth for nth, quote in enumerate(quotes, 1) if quote.key in lines), default=0)
    rows = [
        {
            "id": quote.id,
            "ids": list(quote.covers),
            "from": quote.heading.strip("[]"),
            "source": quote.source,
            "at": quote.at or None,
            "tokens": count(Message("user", line)),
            "fits": quote.key in lines,
            "score": quote.score or None,
            "reason": told.reason(quote),
            "text": line,
        }
        for quote in quotes[: max(last, limit or _SHOWN)]
        for line in (lines.get(quote.key, quote.line),)
    ]
    return rows, sum(map(count, told.items))


def _print(rows: list[dict[str, Any]], budget: int, told: int, question: str) -> None:
    from quire.memory import Excerpt, term_worths
    from quire.memory.words import terms

    worths = term_worths(terms(question))
    for number, row in enumerate(rows, 1):
        score = "" if row["score"] is None else f"{row['score']:.2f}  "
        fits = "fits" if row["fits"] else "is left out"
        tokens = several(row["tokens"], "token")
        typer.echo(f"{number:>{_MARGIN - 2}}. {score}{visible(row['from'])}  {tokens}, {fits}")
        text = row["text"] if len(row["text"]) <= _LONGEST else Excerpt(row["text"], worths).cut(_LONGEST)
        for line in (visible(row["reason"]), beginning(text, _LONGEST), named(row["id"])):
            typer.echo(f"{'':{_MARGIN}}{line}")
        typer.echo()
    kept = sum(row["fits"] for row in rows)
    said = f"{several(kept, 'fits', 'fit')}, {told:,}" if kept else "nothing of it fits into a budget"
    typer.echo(f"{several(len(rows), 'quote')}; {said} of {budget:,} tokens")
