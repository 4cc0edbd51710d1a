"""Reads and writes the histories in files."""

from typing import Any

from quire.cli.phrases import listed
from quire.cli.terminal import note, read_bytes, write_json, write_lines
from quire.errors import QuireError, cut
from quire.integrations.logs.histories import OWN, History, has_lines, histories_in
from quire.integrations.logs.repair import READ_FIELDS
from quire.providers import Downgrade, entries_in, fields_in

_MAX_FIELDS = 20


def read_histories(name: str, source: str | None = None) -> list[History]:
    """The histories in a file; `-` is standard input. `source` is their format, if it is known.

    For a log of another program, its kind and what was left out of it are printed.
    """
    histories = histories_in(read_bytes(name), name, source)
    if histories[0].log is not None:
        note(f"{name}: {histories[0].log}")
    return histories


def is_log(name: str) -> bool:
    """Whether a file of JSON lines is a log of another program, not a store."""
    try:
        return has_lines(name) and histories_in(read_bytes(name), name)[0].log is not None
    except QuireError:
        return False


def write_payloads(payloads: list[Any], histories: list[History], name: str | None) -> None:
    """Write payloads in the shape of their file: JSON, a history on each line, or a message on each line."""
    if not histories[0].is_in_lines:
        write_json(payloads[0], name)
    elif histories[0].line is None and isinstance(payloads[0], list):
        write_lines(entries_in(payloads[0]), name)
    else:
        write_lines(payloads, name)


def note_downgrades(history: History, downgrades: tuple[Downgrade, ...], remark: str | None = None) -> None:
    """Print downgrades and a remark to standard error."""
    for downgrade in downgrades:
        note(f"{history.place}{downgrade.reason} ({downgrade.change})")
    if remark is not None:
        note(f"{history.place}{remark}")


def unwritten(history: History, source: str, to: str) -> str | None:
    """A sentence about the fields that are not written, such as settings."""
    read = READ_FIELDS.get(source, set())
    fields = {name: value for name, value in fields_in(history.payload).items() if name not in read}
    config = fields_in(fields.pop("config", None)) if source == "gemini" else {}
    fields |= {f"config.{name}": value for name, value in config.items() if name not in read}
    names = [cut(name) for name, value in fields.items() if value is not None]
    if to == OWN and history.tools:
        names.append("tools")
    return f"not written: {listed(names, _MAX_FIELDS)}" if names else None
