"""Turns and notes as plain values, and back. What cannot be written or read is named by its place."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast, get_args

from quire.agent.tools import StopReason
from quire.errors import Damaged, cut
from quire.items import JSON, Note
from quire.items.portable import DICT, portable, restored

_NOTE = "$note"


class Fields(NamedTuple):
    """What was written of a turn."""

    tool: str
    arguments: dict[str, Any]
    timeout: float | None
    output: Any
    stop_reason: StopReason | None
    fault: str | None
    started_at: float | None
    ended_at: float | None


def read_turn(data: object) -> Fields:
    """What was written of a turn, checked."""
    fields = mapping_at(data, "$")
    tool, arguments = fields.get("tool"), mapping_at(fields.get("arguments", {}), "$.arguments")
    if not isinstance(tool, str):
        raise Damaged("a turn names its tool", "$.tool")
    for name in ("timeout", "started_at", "ended_at"):
        if not isinstance(fields.get(name), int | float | None):
            raise Damaged("seconds are a number", f"$.{name}")
    reason = fields.get("stop_reason")
    if reason is not None and reason not in get_args(StopReason):
        raise Damaged(f"there is no stop reason {cut(str(reason))!r}", "$.stop_reason")
    return Fields(
        tool,
        {name: restored(value, f"$.arguments.{cut(name)}") for name, value in arguments.items()},
        fields.get("timeout"),
        read_output(fields.get("output"), "$.output"),
        reason,
        fields.get("fault"),
        fields.get("started_at"),
        fields.get("ended_at"),
    )


def written_output(value: Any, path: str) -> Any:
    """What a turn gave, fit for JSON; notes are written as the items they are."""
    if isinstance(value, Note):
        return {_NOTE: written_notes((value,))[0]}
    if isinstance(value, list):
        each: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        return [written_output(one, f"{path}[{index}]") for index, one in enumerate(each)]
    written = portable(value, path, True)
    return {DICT: written} if isinstance(value, dict) and set(written) == {_NOTE} else written


def read_output(value: Any, path: str) -> Any:
    """What `written_output` made, turned back."""
    if isinstance(value, list):
        each: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        return [read_output(one, f"{path}[{index}]") for index, one in enumerate(each)]
    if isinstance(value, dict):
        fields: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        if set(fields) == {_NOTE}:
            return read_notes([fields[_NOTE]], path)[0]
    return restored(value, path)


def written_notes(notes: Iterable[Note]) -> list[Any]:
    """Notes as plain values."""
    written: list[Any] = json.loads(JSON.encode(list(notes)))
    return written


def read_notes(data: object, path: str) -> list[Note]:
    """The notes that were written as these values."""
    if not isinstance(data, list):
        raise Damaged(f"expected a list of notes, got {type(data).__name__}", path)
    items = JSON.decode(json.dumps(data).encode())
    notes = [item for item in items if isinstance(item, Note)]
    if len(notes) < len(items):
        raise Damaged("only notes are kept here", path)
    return notes


def mapping_at(data: object, path: str) -> Mapping[str, Any]:
    """A dictionary, or an error that says where one was expected."""
    if not isinstance(data, Mapping):
        raise Damaged(f"expected a dictionary, got {type(data).__name__}", path)
    return cast(Mapping[str, Any], data)
