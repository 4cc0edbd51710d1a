"""The tools of a request and which of them must be called."""

import re

from quire.providers.checking.anthropic.strictness import check_counts, check_strict
from quire.providers.checking.reading import Fields, as_list, as_object, opened, short, type_of
from quire.providers.checking.schemas import check_within

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_UNIONS = ("oneOf", "allOf", "anyOf")
_CHOICES = ("auto", "any", "tool", "none")


def check_tools(body: Fields) -> None:
    """Note what is wrong with the tools and with the choice among them."""
    names: set[str] = set()
    nameless = False
    if body.get("tools") is not None:
        for place, item in body.each("tools"):
            fields = opened(body.findings, place, item)
            if fields is not None:
                name = _check_tool(fields, names)
                nameless = nameless or name is None
        check_counts(body)
    if body.get("tool_choice") is not None:
        # Tools of an MCP server are not listed by name, so any name may be one of theirs.
        _check_choice(body, names, any_name=nameless)


def _check_tool(fields: Fields, names: set[str]) -> str | None:
    name = fields.get("name")
    if fields.get("type") in (None, "custom"):
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            fields.add("name", "tool_name", f"{short(name)} is no name for a tool")
        _check_schema(fields)
    if not isinstance(name, str):
        return None
    if name in names:
        fields.add("name", "duplicate_tool", f"there is a tool {short(name)} already")
    names.add(name)
    return name


def _check_schema(fields: Fields) -> None:
    schema = as_object(fields.get("input_schema"))
    if schema is None:
        text = f"must be an object, is {type_of(fields.get('input_schema'))}"
        fields.add("input_schema", "tool_schema", text)
    elif schema.get("type") != "object":
        fields.add("input_schema.type", "tool_schema", "the schema is not of type object")
    elif union := next((key for key in _UNIONS if key in schema), None):
        fields.add(f"input_schema.{union}", "tool_schema", f"{union} at the top of the schema")
    else:
        for name in as_object(schema.get("properties")) or {}:
            if not _is_property(name):
                place = f"input_schema.properties.{name}"
                fields.add(place, "tool_property", f"{short(name)} is no name for a property")
        check_within(fields, "input_schema")
        check_strict(fields)


def _is_property(name: object) -> bool:
    return isinstance(name, str) and _PROPERTY.fullmatch(name) is not None


def _check_choice(body: Fields, names: set[str], *, any_name: bool) -> None:
    fields = opened(body.findings, "tool_choice", body.get("tool_choice"))
    if fields is None:
        return
    kind, name = fields.get("type"), fields.get("name")
    if kind not in _CHOICES:
        fields.add("type", "tool_choice", f"{short(kind)} is none of {', '.join(_CHOICES)}")
    elif kind in ("any", "tool") and not as_list(body.get("tools")):
        fields.add("", "tool_choice", "a tool is forced and there are no tools")
    elif kind == "tool" and not (isinstance(name, str) and (any_name or name in names)):
        fields.add("name", "tool_choice", f"there is no tool {short(name)}")
    elif kind in ("any", "tool") and _thinks(body):
        fields.add("", "forced_tool", "a tool is forced while thinking is on")


def _thinks(body: Fields) -> bool:
    return (as_object(body.get("thinking")) or {}).get("type") in ("enabled", "adaptive")
