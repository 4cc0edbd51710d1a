"""The command `why`: whether the model saw the items with some words, and if not, why not and since when."""

from typing import Annotated
from urllib.parse import quote

import typer

from quire.cli.options import AsJson, KeyFile, Scope, StoreUrl
from quire.cli.phrases import beginning, moment, named, plural
from quire.cli.stores import at_store
from quire.cli.terminal import say, write_json
from quire.reading import Source
from quire.reading.why import Asked, Why, explain_words
from quire.stores import place_at


def why(
    words: Annotated[str, typer.Argument(help="words of a message or a result, or the id of an item")],
    scope: Scope = "",
    conversation: Annotated[
        str | None, typer.Option(help="only this one; by default all of the scope, or of all scopes")
    ] = None,
    receipt: Annotated[
        str, typer.Option(help="explain a request by its version in `quire log`, or -2, the last but one")
    ] = "last",
    limit: Annotated[int, typer.Option(min=1, max=50, help="the most items")] = 3,
    store: StoreUrl = None,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Find the items with some words, and say whether the model saw them, and if not, why not and since when.

    The exit status is 1 if no item has them.
    """
    within = f"{quote(scope, safe='')}/" if scope else ""
    if conversation is not None:
        within = str(place_at(scope=scope, conversation=conversation))
    with at_store(store, key_file) as opened:
        rows = explain_words(Source(opened), words, within, limit, receipt)
    if json:
        write_json(rows)
        return
    for row in rows:
        _print(row)


def _print(row: Why) -> None:
    item = row.item
    kind = " ".join(filter(None, (item.role, item.kind.replace("_", " "), item.name)))
    say(f"{row.address}  {kind} {named(item.id)}, {moment(item.at)}, {plural(item.tokens or 0, 'token')}")
    say(f"  {beginning(item.text)}")
    if row.first is not None and row.last is not None:
        requests = f"{row.seen_in:,} of {plural(row.requests, 'request')}"
        span = f"from {_name(row.first)} to {_name(row.last)}" if row.first != row.last else _name(row.last)
        say(f"  seen in {requests}: {span}")
    elif row.requests:
        say(f"  seen in none of {plural(row.requests, 'request')} of this conversation")
    if row.since is not None:
        say(f"  not seen since {_name(row.since)}")
    if row.entry is not None and row.request is not None:
        say(f"  at {_name(row.request)} it is {row.entry['fate']}: {row.entry['reason']}")
    elif row.fault is not None:
        say(f"  {row.fault}")
    for other in row.elsewhere:
        requests = plural(other.seen_in, "request")
        say(f"  seen in {requests} of {other.address}, the last at {_name(other.last)}")
    say()


def _name(asked: Asked) -> str:
    return f"version {asked.version:,} ({beginning(asked.question, 40)})"
