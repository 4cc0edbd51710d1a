"""Anthropic Messages: a block of a stream, as it comes."""

from typing import Any

import msgspec

from quire.providers.anthropic.reading import is_call
from quire.providers.json_values import entries_in
from quire.providers.pieces import is_whole, joined
from quire.providers.provider import words_in
from quire.providers.sheet import Json
from quire.providers.wording import mended

_NAMED = ("type", "id", "name")
_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class Block:
    """A block from where it begins to where it ends, which is told also where its place is not."""

    __slots__ = ("_arguments", "_given", "fields", "is_broken", "is_open", "place")

    def __init__(self, place: int | None, fields: Json) -> None:
        self.place = place
        self.fields = fields
        self.is_open = True
        self.is_broken = False  # whether it is a call that did not come whole
        self._arguments = ""
        self._given = False  # whether arguments came, and whole

    def is_begun_by(self, place: int | None, fields: Json) -> bool:
        """Whether it is only said again to begin: it has the same id and name at the same place.

        Without places all calls may have one id, so that where one has come another begins. What has no id
        is begun anew, unless nothing of it came since.
        """
        if self.place != place or any(self.fields.get(name) != fields.get(name) for name in _NAMED):
            return False
        if fields.get("id"):
            return place is not None or (self.is_open and not is_whole(self._arguments))
        return self.is_open and place is not None and self.fields == fields and not is_call([fields])

    def begin_again(self, fields: Json) -> None:
        """It is said to begin once more; what came whole stands until it comes again."""
        self.fields |= {name: value for name, value in fields.items() if value}
        if not self.is_open:
            self.is_open, self._arguments = True, ""

    def grow(self, delta: Json) -> None:
        """Take a piece."""
        fields, kind = self.fields, words_in(delta.get("type"))
        if kind == "input_json_delta":
            self._arguments = joined(self._arguments, words_in(delta.get("partial_json")))
        elif kind == "citations_delta":
            fields["citations"] = [*entries_in(fields.get("citations")), delta.get("citation")]
        elif kind == "compaction_delta":
            fields |= {key: value for key, value in delta.items() if key != "type" and value is not None}
        elif kind in _DELTAS:
            name = _DELTAS[kind]
            fields[name] = words_in(fields.get(name)) + words_in(delta.get(name))

    def end(self) -> None:
        """Nothing more comes."""
        self.is_open = False
        if not self._arguments.strip():
            return
        try:
            self.fields["input"] = _decoded(self._arguments)
            self._given = True
        except msgspec.DecodeError:
            if not self._given:
                # Blocks are ended also where the model ran out of room in the middle of one.
                self.is_broken = is_call([self.fields])
                self.fields = {}

    def is_kept(self) -> bool:
        """Whether it is whole, or the beginning of it is worth something."""
        has_come = not self.is_open or self._given
        return bool(self.fields) and (has_come or self.fields.get("type") in ("text", "thinking"))

    def takes(self, delta: Json) -> bool:
        """Whether a piece may be of it though it names another place: arguments, and it is an open call."""
        return self.is_open and delta.get("type") == "input_json_delta" and "input" in self.fields

    def is_bare_call(self) -> bool:
        """Whether it is a call to which no arguments came."""
        return not self._given and is_call([self.fields])


def begun_by(delta: Json) -> Json:
    """What a block is that was never said to begin, by the first piece of it."""
    name = _DELTAS.get(words_in(delta.get("type")))
    return {} if name is None else {"type": "text" if name == "text" else "thinking"}


def _decoded(text: str) -> Any:
    """The input that a text stands for, or the text itself where it is no object."""
    try:
        decoded: Any = msgspec.json.decode(mended(text))
    except RecursionError:
        return text
    return decoded if isinstance(decoded, dict) else text  # pyright: ignore[reportUnknownVariableType]
