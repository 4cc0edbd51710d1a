"""Gemini: a call whose arguments come in pieces, each with the path to where it belongs."""

import re
from collections.abc import Mapping, MutableSequence
from typing import Any, cast

from quire.errors import Damaged
from quire.providers.gemini.blocks import field, listed, mapped, text_in
from quire.providers.sheet import Json

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]""")
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
_LONGEST = 10_000  # items that a list may have before a place in it is taken for a fault


class PartialCall:
    """A call on its way."""

    def __init__(self, call: Mapping[str, Any], signature: str | None) -> None:
        self.call: Json = {"id": field(call, "id"), "name": field(call, "name")}
        self.signature = signature
        self._root: Json = {"args": {}}

    def add(self, call: Mapping[str, Any], path: str) -> None:
        """Take a piece."""
        pieces = field(call, "partialArgs")
        for place, piece in enumerate(() if pieces is None else listed(pieces, f"{path}.partialArgs")):
            self._put(mapped(piece, f"{path}.partialArgs[{place}]"), f"{path}.partialArgs[{place}]")

    def whole(self) -> Json:
        """The call, once all pieces have come."""
        return {**self.call, "args": self._root["args"]}

    def _put(self, piece: Mapping[str, Any], path: str) -> None:
        steps = _steps(text_in(piece, "jsonPath", path) or "", path)
        holder: Any = self._root
        for step, following in zip(["args", *steps], steps, strict=False):
            holder = _entered(holder, step, [] if isinstance(following, int) else {}, path)
        last: str | int = steps[-1] if steps else "args"
        key = next((name for name in _VALUES if field(piece, name) is not None), None)
        value = None if key in (None, "nullValue") else field(piece, key or "")
        before = _entered(holder, last, None, path)
        holder[last] = before + value if isinstance(before, str) and isinstance(value, str) else value


def _steps(json_path: str, path: str) -> list[str | int]:
    found: list[str | int] = []
    end = 1
    for match in _STEP.finditer(json_path, 1):
        if match.start() != end:
            break
        name, index, single, double = match.groups()
        found.append(int(index) if index is not None else name or single or double or "")
        end = match.end()
    if json_path[:1] != "$" or end != len(json_path):
        raise Damaged("not a path to an argument", f"{path}.jsonPath")
    return found


def _entered(holder: Any, step: str | int, empty: Any, path: str) -> Any:
    """What stands at a step, put there if nothing does."""
    if isinstance(holder, list) and isinstance(step, int) and step < _LONGEST:
        entries = cast("MutableSequence[Any]", holder)
        entries.extend([None] * (step + 1 - len(entries)))
        if entries[step] is None:
            entries[step] = empty
        return entries[step]
    if isinstance(holder, dict) and isinstance(step, str):
        fields = cast("Json", holder)
        if fields.get(step) is None:
            fields[step] = empty
        return fields[step]
    raise Damaged("a path to an argument that does not fit those before", f"{path}.jsonPath")
