"""Turns and notes as plain values, and back. What cannot be written or read is named by its place."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, cast, get_args

from quire.agent.tools import StopReason
from quire.errors import Damaged, Unencodable, cut
from quire.items import JSON, Note, freeze, thaw, to_json


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
        {name: thaw(freeze(value)) for name, value in arguments.items()},
        fields.get("timeout"),
        OUTPUTS.restored(fields.get("output"), "$.output"),
        reason,
        fields.get("fault"),
        fields.get("started_at"),
        fields.get("ended_at"),
    )


class Outputs(NamedTuple):
    """How what a turn gave is written for JSON and read again: things of one kind stand under a tag."""

    kind: type
    tag: str
    write: Callable[[Any, str], Any]
    read: Callable[[Any, str], Any]

    def written(self, value: Any, path: str) -> Any:
        """A value, fit for JSON."""
        if isinstance(value, self.kind):
            return {self.tag: self.write(value, path)}
        if isinstance(value, list):
            each = cast("Iterable[Any]", value)
            return [self.written(one, f"{path}[{index}]") for index, one in enumerate(each)]
        written = to_json(freeze(value), path)
        if isinstance(value, dict) and set(written) == {self.tag}:
            raise Unencodable(
                f"a dictionary with the only key {self.tag!r} would come back as another value", path
            )
        return written

    def restored(self, value: Any, path: str) -> Any:
        """What `written` made, turned back."""
        if isinstance(value, list):
            each = cast("Iterable[Any]", value)
            return [self.restored(one, f"{path}[{index}]") for index, one in enumerate(each)]
        if isinstance(value, dict) and set(cast("dict[str, Any]", value)) == {self.tag}:
            return self.read(value[self.tag], path)
        return thaw(freeze(value))


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


def _written_note(note: Note, path: str) -> Any:
    return written_notes((note,))[0]


def _read_note(data: Any, path: str) -> Note:
    return read_notes([data], path)[0]


OUTPUTS = Outputs(Note, "$note", _written_note, _read_note)
"""Notes are written as the items they are."""
