"""What is said of a tool beside its name, its description and its schema: sent where it belongs, or noted."""

from collections.abc import Callable, Mapping
from typing import Any

from quire.errors import cut
from quire.providers.definitions import Tool
from quire.providers.sheet import Json, Sheet

Fields = Mapping[str, Callable[[Any], bool]]
"""The fields that a wire has for a tool, and what tells whether a value is one that it takes."""

_MOST = 20  # fields that a note names


def declare(tool: Tool, sheet: Sheet, own: Fields) -> Json:
    """The fields of a tool that this wire takes; that others are left out, or a schema mended, is noted."""
    if tool.lost:
        sheet.note(None, "schema_mended", f"the schema of {cut(tool.name)!r} {tool.lost}")
    if not tool.beside:
        return {}
    foreign = tool.wire is not None and tool.wire != sheet.provider
    kept = {
        name: value for name, value in tool.beside.items() if not foreign and name in own and own[name](value)
    }
    lost = [cut(name) for name in tool.beside if name not in kept]
    if lost:
        named = ", ".join([*lost[:_MOST], *(["others"] if len(lost) > _MOST else [])])
        sheet.note(None, "fields_left_out", f"of the tool {cut(tool.name)!r}: {named}")
    return kept


def vetted_schema(tool: Tool, sheet: Sheet) -> Json:
    """The schema of a tool without what OpenAI cannot read; that something was left out is noted."""
    if tool.vetted is None:
        return dict(tool.schema)
    sheet.note(None, "schema_mended", f"the schema of {cut(tool.name)!r} has {tool.vetted.lost}")
    return dict(tool.vetted.schema)


def said_strict(tool: Tool, sheet: Sheet, refusal: str) -> bool | None:
    """Whether a tool is strict, if it says so; one that the strict mode refuses is not, and that is noted."""
    if tool.strict is not True or not refusal:
        return tool.strict
    sheet.note(None, "fields_left_out", f"of the tool {cut(tool.name)!r}: strict, for it has {refusal}")
    return False


def is_flag(value: Any) -> bool:
    """Whether a value is true or false."""
    return isinstance(value, bool)


def is_text(value: Any) -> bool:
    """Whether a value is a text."""
    return isinstance(value, str)


def are_names(value: Any) -> bool:
    """Whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(name, str) for name in value)  # pyright: ignore[reportUnknownVariableType]


def are_objects(value: Any) -> bool:
    """Whether a value is a list of JSON objects."""
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)  # pyright: ignore[reportUnknownVariableType]
