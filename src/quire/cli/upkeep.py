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
"""Conversations between two remarks on progress."""


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
    """Remove conversations that had no entry for so many days, for good, with what others quoted of them.

    Documents stay, and so do conversations with jobs that wait, and those that a fork in use begins with.
    """
    with at_store(store, key_file) as found:
        chosen = _idle(found, scope, now() - idle * _DAY)
        if dry_run:
            removed = []
        elif chosen and not yes and not confirmed(f"Remove {plural(len(chosen), 'conversation')}, for ever?"):
            raise typer.Exit(1)
        else:
            removed = _removed(found, chosen)
    if json:
        write_json({"idle": [str(one.place) for one in chosen], "removed": [str(one) for one in removed]})
    elif dry_run:
        rows = [(str(one.place), f"{one.version:,}", moment(one.time or 0)) for one in chosen]
        table([("conversation", "version", "last (UTC)"), *rows])
    else:
        say(f"{plural(len(removed), 'conversation')} removed")


def _idle(store: Store, scope: str | None, since: float) -> list[Recent]:
    """Conversations without an entry since a time, and without a fork that has one."""
    found = [
        one
        for one in store.recent()
        if scope in (None, one.place.named) and not is_reserved(one.place.conversation)
    ]
    working = {job.place for job in open_jobs(store)}
    used, idle = set[Place](), list[Recent]()
    for one in found:
        if one.time is None:
            note(f"{one.place} is damaged at its end, and stays")
        if one.time is None or one.time >= since or one.place in working:
            name = one.place.conversation
            used |= {
                one.place._replace(conversation=name[:at]) for at, sign in enumerate(name) if sign == "/"
            }
        else:
            idle.append(one)
    return [one for one in idle if one.place not in used]


def _removed(store: Store, chosen: list[Recent]) -> list[Place]:
    removed = list[Place]()
    for place in remove_conversations(store, {one.place: one.version for one in chosen}):
        removed.append(place)
        if len(removed) % _PROGRESS == 0:
            note(f"{len(removed):,} of {len(chosen):,} removed")
    return removed


# vacuum


def vacuum(store: StoreUrl = None, key_file: KeyFile = None, json: AsJson = False) -> None:
    """Give back the room that the files of a store do not use any more. Nothing that is kept changes."""
    with at_store(store, key_file) as found:
        before = _bytes_of(found)
        found.vacuum()
        after = _bytes_of(found)
    if json:
        write_json({"before": before, "after": after})
    else:
        say(f"{before:,} bytes before, {after:,} now" if before else "done")


def _bytes_of(store: Store) -> int:
    """What the file of a store and its log take; 0 of one that has none."""
    path = getattr(getattr(store, "inside", store), "path", None)
    files = [] if path is None else [Path(path), Path(f"{path}-wal")]
    return sum(one.stat().st_size for one in files if one.exists())


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
    """Make the tables of a PostgreSQL database that has none.

    A store does this when it is opened, if its role may; this is for a role that may, before the others come.
    """
    with errors_reported():
        if not url.startswith(("postgresql://", "postgres://")):
            raise InvalidValue("only a PostgreSQL database has tables to be made: name its URL")
        from quire.stores import link, tables

        is_due = link.Link(url).first(tables.are_missing if check else tables.make)
    if json:
        write_json({"version": tables.VERSION, "due": check and is_due, "done": not check and is_due})
    elif is_due:
        say(f"the tables of version {tables.VERSION} are {'due' if check else 'made'}")
    else:
        say(f"the tables are of version {tables.VERSION}: nothing is due")
    raise typer.Exit(1 if check and is_due else 0)
