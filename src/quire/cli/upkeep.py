"""The commands `prune`, `vacuum` and `migrate`: the upkeep of a store."""

from pathlib import Path
from typing import Annotated

import typer

from quire.cli.options import AsJson, KeyFile, StoreUrl
from quire.cli.phrases import moment, plural
from quire.cli.stores import at_store
from quire.cli.terminal import confirmed, errors_reported, note, say, table, write_json
from quire.errors import InvalidValue
from quire.items import now
from quire.memory import is_reserved
from quire.session import open_jobs, remove_conversations
from quire.stores import Place, Recent, Store

_DAY = 86_400.0
_PROGRESS = 100
"""Conversations between two notes on progress."""


# prune


def prune(
    idle: Annotated[float, typer.Option(min=0, help="days without an entry", show_default=False)],
    store: StoreUrl = None,
    scope: Annotated[str | None, typer.Option(help="only this scope; all by default")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only list them")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask first")] = False,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Remove conversations without an entry for --idle days for good, with all quotes of them.

    Documents stay, and so do conversations with open jobs, or with a fork that is not idle.
    """
    with at_store(store, key_file) as opened:
        chosen = _idle(opened, scope, now() - idle * _DAY)
        if dry_run:
            removed = []
        elif chosen and not yes and not confirmed(f"Remove {plural(len(chosen), 'conversation')}, for ever?"):
            raise typer.Exit(1)
        else:
            removed = _remove(opened, chosen)
    if json:
        write_json({"idle": [str(recent.place) for recent in chosen], "removed": list(map(str, removed))})
    elif dry_run:
        rows = [(str(place), f"{version:,}", moment(time or 0)) for place, version, time in chosen]
        table([("conversation", "version", "last (UTC)"), *rows])
    else:
        say(f"{plural(len(removed), 'conversation')} removed")


def _idle(store: Store, scope: str | None, since: float) -> list[Recent]:
    """Conversations without an entry since a time, and without a fork that has one."""
    working = {job.place for job in open_jobs(store)}
    parents, idle = set[Place](), list[Recent]()
    for recent in store.recent():
        place, _, time = recent
        name = place.conversation
        if scope not in (None, place.given_scope) or is_reserved(name):
            continue
        if time is None:
            note(f"{place} is damaged at its end, and stays")
        if time is None or time >= since or place in working:
            parents |= {place._replace(conversation=name[:at]) for at, sign in enumerate(name) if sign == "/"}
        else:
            idle.append(recent)
    return [recent for recent in idle if recent.place not in parents]


def _remove(store: Store, chosen: list[Recent]) -> list[Place]:
    removed = list[Place]()
    for place in remove_conversations(store, {recent.place: recent.version for recent in chosen}):
        removed.append(place)
        if len(removed) % _PROGRESS == 0:
            note(f"{len(removed):,} of {len(chosen):,} removed")
    return removed


# vacuum


def vacuum(store: StoreUrl = None, key_file: KeyFile = None, json: AsJson = False) -> None:
    """Shrink the files of a store to what they hold. No entry changes."""
    with at_store(store, key_file) as opened:
        before = _bytes_of(opened)
        opened.vacuum()
        after = _bytes_of(opened)
    if json:
        write_json({"before": before, "after": after})
    else:
        say(f"{before:,} bytes before, {after:,} now" if before else "done")


def _bytes_of(store: Store) -> int:
    """The bytes of the file of a store and its log; 0 if it has none."""
    path = getattr(getattr(store, "inside", store), "path", None)
    files = [] if path is None else [Path(path), Path(f"{path}-wal")]
    return sum(file.stat().st_size for file in files if file.exists())


# migrate


def migrate(
    url: Annotated[
        str, typer.Argument(envvar="QUIRE_STORE", help="the URL of the database", show_default=False)
    ],
    check: Annotated[
        bool, typer.Option("--check", help="change nothing; exit status 1 if something is due")
    ] = False,
    json: AsJson = False,
) -> None:
    """Create the tables of a PostgreSQL database that has none.

    Opening a store does this too, if its role may. Run this first if the roles of your programs may not.
    """
    with errors_reported():
        if not url.startswith(("postgresql://", "postgres://")):
            raise InvalidValue("only a PostgreSQL database has tables to create: name its URL")
        from quire.stores import link, tables

        is_due = link.Link(url).run_unpooled(tables.are_missing if check else tables.create)
    if json:
        write_json({"version": tables.VERSION, "due": check and is_due, "done": not check and is_due})
    elif is_due:
        say(f"the tables of version {tables.VERSION} are {'due' if check else 'created'}")
    else:
        say(f"the tables are of version {tables.VERSION}: nothing is due")
    raise typer.Exit(1 if check and is_due else 0)
