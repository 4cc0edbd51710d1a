"""Schemas that programs give to models, looked at before one is asked: a wrong one holds it to nothing."""

from collections.abc import Mapping
from typing import Any, cast

from quire.errors import cut
from quire.programs.values import size_of
from quire.providers import KEYWORDS, schema_errors

_NOTES = frozenset(("title", "description", "examples", "default", "$comment", "$id", "$schema"))

_LONGEST = 100_000
"""Characters of a schema: it is made ready for a service here, where nothing else goes on meanwhile."""


def checked_schema(schema: object) -> Mapping[str, Any] | None:
    """The schema that a program gave, if it gave one; a `TypeError` where it is none of JSON Schema."""
    if schema is None:
        return None
    if not isinstance(schema, Mapping):
        raise TypeError(f"output_schema is a JSON schema, a dict, not {type(schema).__name__}")
    given = cast("Mapping[str, Any]", schema)
    if size_of(given) > _LONGEST:
        raise TypeError(f"output_schema is longer than the {_LONGEST} characters it may have")
    fault = _fault_in(given)
    if fault is not None:
        raise TypeError(f"output_schema is no JSON schema: {fault}")
    return given


def _fault_in(schema: Mapping[str, Any]) -> str | None:
    unknown = next((name for name in schema if name not in KEYWORDS and name not in _NOTES), None)
    if unknown is not None and KEYWORDS.isdisjoint(schema):
        # Fields by their types are what models write for short, and any value fits that.
        return f"it says nothing, and {cut(unknown)!r} is no keyword: write fields as `properties`"
    error = next(schema_errors(schema, "output_schema"), None)
    return None if error is None else f"{cut(error[0])}: {error[1]}"
