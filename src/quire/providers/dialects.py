"""Schemas of other drafts and other languages, as draft 2020-12 of JSON Schema has them, at every depth.

One slip anywhere in a schema, and a wire refuses the whole request, whatever is asked. So what is known by
another name is translated, what an older draft said is said anew, and what nobody can know is left out.
"""

from collections.abc import Mapping
from typing import Any, cast

from quire.errors import cut
from quire.providers.json_values import Json, entries_in, fields_in
from quire.providers.keywords import BY_NAME, COUNTS, HOLDS, INNER, LISTED, TYPES, is_number
from quire.providers.pointers import Moves, step

DEEPEST = 50
"""Levels of schemas that are sent; nobody fills in what lies below."""

_SPELLINGS = {
    **dict.fromkeys(("float", "double", "decimal", "real", "num"), "number"),
    **dict.fromkeys(("int", "int32", "int64", "long", "short", "uint"), "integer"),
    **dict.fromkeys(("str", "text", "char", "date", "datetime", "date-time", "time", "uuid"), "string"),
    **dict.fromkeys(("uri", "url", "email", "bytes", "binary", "file", "enum", "password"), "string"),
    **dict.fromkeys(("list", "tuple", "set", "sequence"), "array"),
    **dict.fromkeys(("dict", "map", "mapping", "record", "struct", "obj"), "object"),
    **dict.fromkeys(("none", "nil", "nonetype", "undefined", "void"), "null"),
    "bool": "boolean",
}
_FORMATS = {
    **{"date": "date", "datetime": "date-time", "date-time": "date-time", "time": "time"},
    **{"uuid": "uuid", "uri": "uri", "url": "uri", "email": "email"},
}
_BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


class Mender:
    """Goes through one schema, and remembers what it put right, and what it put elsewhere."""

    def __init__(self) -> None:
        self.notes: dict[str, None] = {}
        self.moves = Moves()

    def schema(self, value: Any, place: str = "#", levels: int = DEEPEST) -> Any:
        """A schema as draft 2020-12 has it: an object, true or false."""
        if isinstance(value, bool):
            return value
        if not isinstance(value, dict):
            return self._stand_in(value)
        if not levels:
            self._note("what lies too deep")
            return {}
        found = dict(cast(Json, value))
        self._type(found)
        self._older(found, place)
        self._fit(found)
        self._required(found)
        for key in [key for key in found if key in BY_NAME or key in LISTED or key in INNER]:
            found[key] = self._within(found[key], key, f"{place}/{step(key)}", levels - 1)
        self._items(found)
        return found

    def _note(self, what: str) -> None:
        self.notes[what] = None

    def _stand_in(self, value: Any) -> Json:
        """What may stand for a schema: the name of a type, or words for people."""
        if not isinstance(value, str):
            self._note("what is no schema")
            return {}
        self._note("a text for a schema")
        known = _known(value)
        return {"type": known} if known else {"description": value}

    def _within(self, value: Any, key: str, place: str, levels: int) -> Any:
        if key in BY_NAME:
            inner = fields_in(value).items()
            return {name: self.schema(one, f"{place}/{step(name)}", levels) for name, one in inner}
        if key in LISTED:
            return [
                self.schema(one, f"{place}/{index}", levels) for index, one in enumerate(entries_in(value))
            ]
        return self.schema(value, place, levels)

    def _type(self, found: Json) -> None:
        """Name the types as JSON Schema does; one that can be anything, or cannot be known, is none."""
        if "type" not in found:
            return
        given = found["type"]
        several = isinstance(given, list)
        kinds = [self._kind(one, found) for one in (entries_in(given) if several else (given,))]
        if kinds and all(kinds):
            found["type"] = [*dict.fromkeys(kinds)] if several else kinds[0]
        else:
            del found["type"]
            if not kinds:
                self._note("type of another kind")

    def _kind(self, given: Any, found: Json) -> str | None:
        if not isinstance(given, str):
            self._note("type of another kind")
            return None
        kind = _known(given)
        if kind != given:
            self._note(f"{cut(given)!r} for a type")
        if kind == "string" and given.lower() in _FORMATS:
            found.setdefault("format", _FORMATS[given.lower()])
        return kind

    def _older(self, found: Json, place: str) -> None:
        """Say anew what older drafts said in another way."""
        if isinstance(found.get("items"), list):
            self._note("a list of items")
            self._move(found, place, "items", "prefixItems")
            if "additionalItems" in found:
                self._move(found, place, "additionalItems", "items")
        if isinstance(found.get("dependencies"), dict):
            self._dependencies(found, place)
        for key, bound in _BOUNDS.items():
            if isinstance(found.get(key), bool):
                self._note(f"{key} as a flag")
                excluded = found.pop(key)
                if excluded and is_number(found.get(bound)):
                    found[key] = found.pop(bound)

    def _dependencies(self, found: Json, place: str) -> None:
        self._note("dependencies of an older draft")
        told = fields_in(found.pop("dependencies")).items()
        listed: Json = {name: one for name, one in told if isinstance(one, list)}
        others: Json = {name: one for name, one in told if name not in listed}
        for key, some in (("dependentRequired", listed), ("dependentSchemas", others)):
            if some:
                found[key] = {**some, **fields_in(found.get(key))}
        self.moves.add(f"{place}/dependencies", f"{place}/dependentSchemas")

    def _move(self, found: Json, place: str, key: str, name: str) -> None:
        value = found.pop(key)
        if name not in found:
            found[name] = value
            self.moves.add(f"{place}/{key}", f"{place}/{name}")

    def _fit(self, found: Json) -> None:
        """Leave out keywords that hold what they cannot."""
        if isinstance(found.get("required"), list):
            names = [name for name in entries_in(found["required"]) if isinstance(name, str)]
            if names != found["required"]:
                self._note("required of another kind")
            found["required"] = [*dict.fromkeys(names)]
        for key in [key for key, value in found.items() if key in HOLDS and not HOLDS[key](value)]:
            value = found.pop(key)
            if key in COUNTS and isinstance(value, str) and value.isdecimal():
                found[key] = int(value)
            self._note(f"{key} of another kind")
        for key in [key for key in INNER if key in found and not isinstance(found[key], dict | bool | str)]:
            del found[key]
            self._note(f"{key} of another kind")

    def _required(self, found: Json) -> None:
        """List the properties that say of themselves whether they are required."""
        properties = fields_in(found.get("properties"))
        said = {
            key: one for key, one in properties.items() if isinstance(fields_in(one).get("required"), bool)
        }
        if not said:
            return
        self._note("required within a property")
        bare = {key: _without(one, "required") for key, one in said.items()}
        found["properties"] = {**properties, **bare}
        wanted = [key for key, one in said.items() if one["required"]]
        if wanted:
            found["required"] = [*dict.fromkeys((*entries_in(found.get("required")), *wanted))]

    def _items(self, found: Json) -> None:
        """Say what an array holds: some wires want it of every one."""
        kind = found.get("type")
        if "items" in found or not (kind == "array" or "array" in entries_in(kind)):
            return
        self._note("an array without items")
        placed = entries_in(found.get("prefixItems"))
        different = [one for index, one in enumerate(placed) if one not in placed[:index]]
        found["items"] = different[0] if len(different) == 1 else {"anyOf": different} if different else {}


def _known(name: str) -> str | None:
    lower = name.strip().lower()
    return lower if lower in TYPES else _SPELLINGS.get(lower)


def _without(schema: Mapping[str, Any], key: str) -> Json:
    return {name: value for name, value in schema.items() if name != key}
