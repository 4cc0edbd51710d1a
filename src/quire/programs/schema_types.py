"""Schemas of JSON as types of Python: `TypedDict` for objects, `Literal` for enums, unions, lists."""

import re
from collections.abc import Iterable, Mapping
from keyword import iskeyword
from typing import Any, cast

_SINGLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
FROM_TYPING = ("Any", "Literal", "NotRequired", "TypedDict")
"""What stubs have of the module `typing`: it is shown as there, and programs may use it."""

_BUILTIN = ("bool", "dict", "float", "int", "list", "str")
_FORMS = {
    "date": "ISO date",
    "date-time": "ISO date and time",
    "time": "ISO time",
    "duration": "ISO duration",
}
_DEEPEST = 12
_MOST_DEFINED = 100
_MOST_VALUES = 50
_COMMENT = 200


class Types:
    """The types of one text. `taken` are the program's names: a type of such a name is said by its module."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._used = {*taken, *FROM_TYPING, *_BUILTIN, "Output"}
        self._following: dict[str, str] = {}
        self._root: Mapping[str, Any] = {}
        self.definitions: list[str] = []

    @property
    def header(self) -> str:
        plain = [word for word in FROM_TYPING if word not in self._taken]
        lines = [f"from typing import {', '.join(plain)}"] if plain else []
        if self._taken & {*FROM_TYPING, *_BUILTIN}:
            lines = ["import builtins as _builtins", "import typing as _typing", *lines]
        return "\n".join(lines)

    def word(self, name: str) -> str:
        """A type by its name, or by its module where the program has that name for something else."""
        if name not in self._taken:
            return name
        return f"{'_typing' if name in FROM_TYPING else '_builtins'}.{name}"

    def of(self, schema: Any, hint: str, root: Any) -> str:
        """The type of a schema; what cannot be said is `Any`. Definitions are looked up in `root`."""
        self._root, self._following = root if isinstance(root, Mapping) else {}, {}
        return self._of(schema, hint, _DEEPEST)

    def _of(self, schema: Any, hint: str, depth: int) -> str:
        if not isinstance(schema, Mapping) or not depth:
            return self.word("Any")
        known = cast("Mapping[str, Any]", schema)
        if isinstance(known.get("$ref"), str):
            return self._referred(known["$ref"], hint, depth)
        if "const" in known:
            return self._literal([known["const"]])
        if isinstance(known.get("enum"), list):
            return self._literal(known["enum"])
        for several in ("anyOf", "oneOf"):
            if isinstance(known.get(several), list):
                inner = _within(hint)
                return self._union(self._of(one, inner, depth - 1) for one in known[several])
        if isinstance(known.get("allOf"), list) and len(known["allOf"]) == 1:
            return self._of(known["allOf"][0], hint, depth - 1)
        kind = known.get("type")
        if isinstance(kind, list):
            kinds = cast("Iterable[Any]", kind)
            return self._union(self._kind(one, known, _within(hint), depth) for one in kinds)
        return self._kind(kind, known, hint, depth)

    def _kind(self, kind: Any, schema: Mapping[str, Any], hint: str, depth: int) -> str:
        if isinstance(kind, str) and kind in _SINGLE:
            return self.word(_SINGLE[kind])
        if kind == "array":
            return f"{self.word('list')}[{self._of(schema.get('items'), f'{hint}_item', depth - 1)}]"
        if kind == "object" or (kind is None and isinstance(schema.get("properties"), Mapping)):
            return self._object(schema, hint, depth)
        return self.word("Any")

    def _object(self, schema: Mapping[str, Any], hint: str, depth: int) -> str:
        properties, more = schema.get("properties"), schema.get("additionalProperties")
        if (
            not isinstance(properties, Mapping)
            or not properties
            or more
            or len(self.definitions) > _MOST_DEFINED
        ):
            values = more if not properties else None
            return f"{self.word('dict')}[{self.word('str')}, {self._of(values, f'{hint}_value', depth - 1)}]"
        name = self._new_name(hint)
        required = schema.get("required")
        needed = cast("Iterable[Any]", required) if isinstance(required, list) else ()
        keys = {str(key): one for key, one in cast("Mapping[str, Any]", properties).items()}
        said = {key: self._of(one, f"{name}_{key}", depth - 1) for key, one in keys.items()}
        kinds = {
            key: one if key in needed else f"{self.word('NotRequired')}[{one}]" for key, one in said.items()
        }
        self.definitions.append(self._typed_dict(name, kinds, keys))
        return name

    def _typed_dict(self, name: str, kinds: Mapping[str, str], schemas: Mapping[str, Any]) -> str:
        typed = self.word("TypedDict")
        if all(self._plain_key(key) for key in kinds):
            rows = (f"    {key}: {kind}{comment(schemas[key])}" for key, kind in kinds.items())
            return "\n".join([f"class {name}({typed}):", *rows])
        comments = {key: comment(schemas[key]) for key in kinds}
        if any(comments.values()):
            lines = (f"    {key!r}: {kind},{comments[key]}\n" for key, kind in kinds.items())
            return f'{name} = {typed}("{name}", {{\n{"".join(lines)}}})'
        rows = (f"{key!r}: {kind}" for key, kind in kinds.items())
        return f'{name} = {typed}("{name}", {{{", ".join(rows)}}})'

    def _plain_key(self, key: str) -> bool:
        # Within a class a key hides the type of its name, and two underscores are rewritten.
        hides = key in FROM_TYPING or key in _BUILTIN or key in self._used
        return (
            key.isidentifier()
            and key.isascii()
            and not iskeyword(key)
            and not key.startswith("__")
            and not hides
        )

    def _referred(self, reference: str, hint: str, depth: int) -> str:
        if reference in self._following:
            return self._following[reference]
        # What refers to itself cannot be said in full.
        self._following[reference] = self.word("Any")
        found: Any = self._root
        for part in reference.removeprefix("#").split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            found = cast("Mapping[str, Any]", found).get(key) if isinstance(found, Mapping) else None
        name = hint if hint == "Output" else reference.rpartition("/")[2]
        self._following[reference] = self._of(found, name, depth - 1)
        return self._following[reference]

    def _literal(self, values: list[Any]) -> str:
        said = {repr(value) for value in values if value is None or isinstance(value, bool | int | str)}
        if not 0 < len(said) <= _MOST_VALUES or len(said) < len({repr(value) for value in values}):
            return self.word("Any")
        return f"{self.word('Literal')}[{', '.join(dict.fromkeys(map(repr, values)))}]"

    def _union(self, members: Iterable[str]) -> str:
        said = list(dict.fromkeys(members))
        return self.word("Any") if not said or self.word("Any") in said else " | ".join(said)

    def _new_name(self, hint: str) -> str:
        if hint == "Output" and not any(re.match(r"(class )?Output\b", one) for one in self.definitions):
            return "Output"
        words = re.findall("[A-Za-z0-9]+", hint)[-4:]
        name = "".join(word[:1].upper() + word[1:20] for word in words) or "Shape"
        name = name if name[0].isalpha() and not iskeyword(name) else f"Shape{name}"
        number, found = 2, name
        while found in self._used:
            found, number = f"{name}{number}", number + 1
        self._used.add(found)
        return found


def _within(hint: str) -> str:
    """What one of several is called: the answer's own name is for all of them together."""
    return "Output_case" if hint == "Output" else hint


def described(schema: Any) -> str:
    """What a schema says of itself, on one line and not too long; empty where it says nothing."""
    told = cast("Mapping[str, Any]", schema).get("description") if isinstance(schema, Mapping) else None
    form = form_of(schema)
    if not isinstance(told, str):
        return form
    clean = " ".join(told.encode("utf-8", "replace").decode().split())
    shown = "".join(sign for sign in clean if sign.isprintable())
    cut = shown if len(shown) <= _COMMENT else f"{shown[:_COMMENT]}…"
    return ": ".join(filter(None, [form, cut]))


def form_of(schema: Any, depth: int = _DEEPEST) -> str:
    """How texts are written that stand for days or times: these, or those in a list, a dict or a union."""
    if not isinstance(schema, Mapping) or not depth:
        return ""
    known = cast("Mapping[str, Any]", schema)
    parts: list[Any] = [known.get("items"), known.get("additionalProperties")]
    for several in ("anyOf", "oneOf", "allOf"):
        parts += known[several] if isinstance(known.get(several), list) else ()
    forms = (_FORMS.get(str(known.get("format")), ""), *(form_of(one, depth - 1) for one in parts))
    return next(filter(None, forms), "")


def comment(schema: Any) -> str:
    """The same as a comment at the end of a line."""
    return commented(described(schema))


def commented(told: str) -> str:
    """What is told as a comment at the end of a line, if anything."""
    return f"  # {told}" if told else ""
