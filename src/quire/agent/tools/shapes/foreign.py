"""Models of pydantic, by what they can do: pydantic is not imported unless a program has it already."""

import json
import sys
from typing import Any, cast

from quire.agent.tools.shapes.definitions import Definitions
from quire.agent.tools.shapes.shape import Json, Misfit
from quire.errors import cut

_REFERENCE = "#/$defs/"
_MAPS = ("properties", "patternProperties", "dependentSchemas")
_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")
_MOST_FAULTS = 5


class Foreign:
    """A type that pydantic knows: it writes the schema, and it reads."""

    def __init__(self, kind: Any, adapter: Any, made: type | None) -> None:
        self._kind = kind
        self._adapter = adapter
        self._made = made
        self._whole = cast(Json, adapter.json_schema())
        self._known = cast("dict[str, Json]", self._whole.get("$defs", {}))

    @property
    def words(self) -> str:
        """An object with its fields, or its name."""
        fields = self._resolved().get("properties")
        return f"an object with {', '.join(fields)}" if fields else f"a {self._name}"

    @property
    def _name(self) -> str:
        return str(getattr(self._kind, "__name__", "value"))

    def _resolved(self) -> Json:
        reference = str(self._whole.get("$ref", ""))
        target = reference.removeprefix(_REFERENCE)
        return self._known.get(target, self._whole)

    def schema(self, definitions: Definitions) -> Json:
        """Its schema, with what it refers to written where it is used."""
        whole = {name: value for name, value in self._whole.items() if name != "$defs"}
        written: Json = self._inlined(whole, definitions, self._name)
        return written

    def _inlined(self, schema: Any, definitions: Definitions, name: str) -> Any:
        if not isinstance(schema, dict):
            return schema
        written = cast(Json, dict(schema))  # pyright: ignore[reportUnknownArgumentType]
        reference = written.pop("$ref", None)
        if written.get("title") in (name, name.replace("_", " ").title()):
            del written["title"]  # it says what the name says
        for key, value in written.items():
            if key in _MAPS and isinstance(value, dict):
                written[key] = {
                    one: self._inlined(inner, definitions, one) for one, inner in cast(Json, value).items()
                }
            elif key in _LISTS and isinstance(value, list):
                written[key] = [self._inlined(one, definitions, "") for one in value]  # pyright: ignore
            elif key in ("items", "additionalProperties", "not"):
                written[key] = self._inlined(value, definitions, "")
        if not isinstance(reference, str):
            return written
        target = reference.removeprefix(_REFERENCE)
        placed = definitions.place(
            (self._kind, target), target, lambda: self._inlined(self._known[target], definitions, target)
        )
        return {**placed, **written}

    def read(self, value: Any, _lenient: bool) -> Any:
        """What pydantic makes of it, as it would read the JSON itself."""
        if self._made is not None and isinstance(value, self._made):
            return value
        try:
            return self._adapter.validate_json(json.dumps(value))
        except ValueError as fault:
            raise _told(fault) from None
        except TypeError:
            raise Misfit("is no JSON") from None


class _Model:
    """A model, with the verbs of an adapter."""

    def __init__(self, kind: Any) -> None:
        self.json_schema = kind.model_json_schema
        self.validate_json = kind.model_validate_json


def model_shape(kind: Any) -> Foreign | None:
    """The shape of a model of pydantic; none of anything else."""
    verbs = ("model_json_schema", "model_validate_json")
    if not isinstance(kind, type) or not all(callable(getattr(kind, verb, None)) for verb in verbs):
        return None
    return Foreign(kind, _Model(kind), kind)


def adapted_shape(kind: Any) -> Foreign | None:
    """The shape of a type that is no model and that pydantic knows, where a program has pydantic."""
    pydantic = sys.modules.get("pydantic")
    if pydantic is None:
        return None
    try:
        return Foreign(kind, pydantic.TypeAdapter(kind), None)
    except Exception:  # it has many ways to say that it does not know a type
        return None


def _told(fault: ValueError) -> Misfit:
    errors = getattr(fault, "errors", None)
    if not callable(errors):
        return Misfit(cut(str(fault)))
    found = cast("list[Json]", errors())
    lines = [
        f"{_place(one.get('loc', ())).removeprefix('.')}: {one.get('msg')}".removeprefix(": ")
        for one in found
    ]
    if len(found) == 1:
        return Misfit(str(found[0].get("msg")), _place(found[0].get("loc", ())))
    more = [f"and {len(lines) - _MOST_FAULTS} more"] if len(lines) > _MOST_FAULTS else []
    return Misfit("; ".join([*lines[:_MOST_FAULTS], *more]))


def _place(path: Any) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
