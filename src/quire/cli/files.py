"""Histories from files: JSON, or JSON lines with a message or a whole history on each."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from quire.errors import Damaged, Unencodable
from quire.providers import HISTORY

_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")
_LINES = (".jsonl", ".ndjson")
_HOLDERS = ("body", "params", "request", "message", "payload")
"""Fields in which others keep a history or a message: requests of a batch, and logs of agents."""


class History(NamedTuple):
    """One history and where it was: `line` is none where it is the whole file, be it of a message a line."""

    payload: Any
    line: int | None = None
    in_lines: bool = False


def read_histories(name: str) -> list[History]:
    """The histories in a file; `-` is standard input."""
    text = _text(name)
    if not text.strip():
        raise Damaged("there is nothing in it", name)
    try:
        whole = _checked(_decode(text), name)
        if not _is_single_line(text, name):
            return [History(whole)]
        lines = [(1, text)]
    except msgspec.DecodeError as fault:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        if len(lines) < 2 or not _is_json(lines[0][1]):
            raise Damaged(f"it is not JSON: {fault}", name) from None
    return _from_lines(list(_decoded(lines, name)), name)


def _is_single_line(text: str, name: str) -> bool:
    """Whether a file of lines has only one, which is JSON as a whole as well: its name tells."""
    return name.lower().endswith(_LINES) and "\n" not in text.strip()


def write_text(text: str, name: str | None) -> None:
    """Write to a file, or to standard output where there is none."""
    if name is None or name == "-":
        sys.stdout.write(text)
        return
    try:
        Path(name).write_text(text, encoding="utf-8")
    except OSError as fault:
        raise Unencodable(f"it cannot be written: {fault.strerror}", name) from None


def as_json(value: Any) -> str:
    """A value as JSON for people to read."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def as_line(value: Any) -> str:
    """A value as JSON on a line."""
    return msgspec.json.encode(value).decode() + "\n"


def _text(name: str) -> str:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Damaged("it is not UTF-8", name) from None
    except OSError as fault:
        raise Damaged(f"it cannot be read: {fault.strerror}", name) from None


def _decode(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        if _ESCAPED_HALF.search(text) is None:
            raise
    return msgspec.json.decode(_without_halves(text))


def _without_halves(text: str) -> str:
    """JSON with a mark for each half of a pair: Python writes lone ones, and no provider can be sent one."""
    try:
        return _HALF.sub("\ufffd", json.dumps(json.loads(text), ensure_ascii=False))
    except ValueError as fault:
        raise msgspec.DecodeError(str(fault)) from None


def _is_json(line: str) -> bool:
    try:
        _decode(line)
    except msgspec.DecodeError:
        return False
    return True


def _decoded(lines: list[tuple[int, str]], name: str) -> Iterator[tuple[int, Any]]:
    for number, line in lines:
        try:
            yield number, _decode(line)
        except msgspec.DecodeError as fault:
            raise Damaged(f"it is not JSON: {fault}", f"{name}, line {number}") from None


def _from_lines(values: list[tuple[int, Any]], name: str) -> list[History]:
    """Each line a history, if all lines are; else each a message of one history."""
    _refuse_envelopes([value for _, value in values], name)
    if all(_is_whole(value) for _, value in values):
        return [History(value, number, in_lines=True) for number, value in values]
    for number, value in values:
        if not isinstance(value, dict) or _is_whole(value):
            raise Damaged("lines are messages, or lines are histories, not both", f"{name}, line {number}")
    return [History([value for _, value in values], in_lines=True)]


def _refuse_envelopes(values: list[Any], name: str) -> None:
    """Say it once where nothing is a message or a history, and some of it holds one."""
    if any(_is_whole(value) or "role" in fields_of(value) for value in values):
        return
    holder = next(filter(None, map(_holder, values)), None)
    if holder is not None:
        one = "no line of it is" if len(values) > 1 else "it is not"
        text = f"{one} a message or a history; that is under {holder!r}: jq -c '.{holder} // empty' gives it"
        raise Damaged(text, name)


def _holder(value: Any) -> str | None:
    """The field in which an object holds a history or a message."""
    held = {name: fields_of(fields_of(value).get(name)) for name in _HOLDERS}
    return next((name for name, inner in held.items() if _is_whole(inner) or "role" in inner), None)


def fields_of(value: Any) -> dict[str, Any]:
    """The fields of a JSON object; none of anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """A JSON list; an empty one for anything else."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def _is_whole(value: Any) -> bool:
    return isinstance(value, list) or any(key in fields_of(value) for key in HISTORY.values())


def _checked(value: Any, name: str) -> Any:
    fields = fields_of(value)
    _refuse_envelopes([value], name)
    if not _is_whole(value) and ("role" in fields or "type" in fields):
        return [value]  # a single message
    if not isinstance(value, dict | list):
        raise Damaged("a history is a list of messages, or an object that has one", name)
    return cast(Any, value)
