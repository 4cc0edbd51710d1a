"""Tool definitions: reading those of any provider, and writing them for each wire.

A definition is code. One that no wire could take is refused with a path. What one wire takes and another does
not is left out there, and noted.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from quire.errors import InvalidValue, WrongType, cut
from quire.providers import rules
from quire.providers.check.core import type_of
from quire.providers.draft import Draft
from quire.providers.profiles import Profile
from quire.providers.schema import (
    Form,
    copy,
    property_aliases,
    read_parameters,
    renamed,
    schema_for,
    with_aliases,
)
from quire.providers.values import Json, entries_in, exact_copy, fields_in
from quire.tokens import Definition, is_native, named, read_definition, single_definitions

_SCHEMAS = {
    **{"parameters": None, "input_schema": "anthropic", "inputSchema": None},
    **{"parameters_json_schema": "gemini", "parametersJsonSchema": "gemini"},
}
"""Where definitions have their schema, and the wire whose form that is, if only one has it there."""
_READ = frozenset(("name", "description", "strict", "type", "function", *_SCHEMAS))
_SCHEMA_KEYS = {
    **{"openai": "parameters", "openai-responses": "parameters", "anthropic": "input_schema"},
    "gemini": "parameters_json_schema",  # `parameters` takes only a part of OpenAPI's schemas
}

_MOST = {"openai": rules.OPENAI_TOOL_COUNT, "gemini": rules.GEMINI_FUNCTION_COUNT}

_MOST_KEPT = 16 * 2**20
"""Bytes of memory that readings of definitions take."""

_encode = msgspec.json.Encoder().encode


class Tool(NamedTuple):
    """A tool that a model is offered. Nobody changes it: readings are shared."""

    name: str
    exact: bytes
    """The definition as JSON, which tells `0` from `False`."""
    forms: dict[str, Form]
    """The schema by wire, once it was written for that wire."""
    native: Json | None = None
    """A provider's own tool, such as a search; it is sent as it is."""
    description: str = ""
    schema: Mapping[str, Any] = {}
    """The parameters: an object at the top, in the words of JSON Schema draft 2020-12."""
    removed: tuple[str, ...] = ()
    """The keywords at the top of the schema that no wire takes."""
    strict: bool | None = None
    fields: Mapping[str, Any] = {}
    """What else the definition has, by the names of its wire."""
    owner: str | None = None
    """The wire whose form the definition has, if only one has it."""
    aliases: Mapping[str, str] = {}
    """Names for properties whose own names Anthropic refuses."""


# --- reading ---------------------------------------------------------------------------------------------


def read_tools(definitions: Iterable[Definition], *, keep: bool = True) -> list[Tool]:
    """The tools in the order of their names, so that the order of the definitions does not matter.

    A definition that was read before costs one comparison. Without `keep`, nothing is kept of it.
    """
    read = [_read(one, keep) for one in single_definitions(definitions)]
    return sorted(read, key=lambda tool: (tool.name, tool.exact))


def _read(definition: Definition, keep: bool) -> Tool:
    if not definition:
        raise InvalidValue("a tool definition is empty")
    try:
        known = _READINGS.get(_encode(definition))
    except (TypeError, OverflowError, RecursionError, UnicodeEncodeError):
        known = None
    if known is None or known.definition != definition:  # a value may only resemble JSON: a set, a tuple
        plain, text = exact_copy(definition)
        known = _READINGS.get(text) or _Reading(plain, _tool(plain, text))
        if keep:
            _READINGS.keep(known)
    return known.tool


class _Reading(NamedTuple):
    """A definition, and the tool that was read from it."""

    definition: Json
    tool: Tool


class _Readings:
    """Readings by the JSON of their definitions.

    Two generations: when `new` is full it becomes `old`, and what was `old` goes.
    """

    def __init__(self) -> None:
        self.new: dict[bytes, _Reading] = {}
        self.old: dict[bytes, _Reading] = {}
        self.size = 0  # bytes that the readings in `new` take

    def get(self, text: bytes) -> _Reading | None:
        found = self.new.get(text)
        if found is None and (found := self.old.get(text)) is not None:
            self.keep(found)
        return found

    def keep(self, reading: _Reading) -> None:
        text = reading.tool.exact
        size, most = _memory_of(text), _MOST_KEPT // 2
        if size > most:
            return
        if self.size + size > most:
            self.old, self.new, self.size = self.new, {}, 0
        if text not in self.new:
            self.size += size
        self.new[text] = reading


_READINGS = _Readings()


def _memory_of(text: bytes) -> int:
    """About how many bytes the reading of a definition takes, with its forms for all wires.

    Its texts are there three times. Its objects and lists are there six times: in the definition, in the
    schema, and in the form of each wire.
    """
    return 3 * len(text) + 6 * (190 * text.count(b"{") + 60 * text.count(b":") + 90 * text.count(b"["))


def _tool(definition: Json, text: bytes) -> Tool:
    """The tool that a definition describes."""
    if is_native(definition):
        return Tool(read_definition(definition)[0], text, {}, definition)
    inner = fields_in(definition.get("function")) or definition
    name = named(inner.get("name"), "the name of a tool")
    description, strict = inner.get("description"), inner.get("strict")
    if not isinstance(description, str | None):
        raise WrongType(f"tool {cut(name)!r}, description: must be a string, is {type_of(description)}")
    if not isinstance(strict, bool | None):
        raise WrongType(f"tool {cut(name)!r}, strict: must be a boolean, is {type_of(strict)}")
    key = next((key for key in _SCHEMAS if inner.get(key) is not None), "parameters")
    schema, removed = read_parameters(inner.get(key), f"tool {cut(name)!r}, {key}")
    by_type = "openai-responses" if definition.get("type") == "function" else None
    both = {**definition, **inner}
    return Tool(
        name,
        text,
        {},
        description=description if description and not description.isspace() else "",
        schema=schema,
        removed=removed,
        strict=strict,
        fields={key: value for key, value in both.items() if key not in _READ and value is not None},
        owner="openai" if inner is not definition else _SCHEMAS[key] or by_type,
        aliases=property_aliases(schema),
    )


# --- writing ---------------------------------------------------------------------------------------------


def write_tools(tools: Sequence[Tool], draft: Draft, profile: Profile) -> list[Json]:
    """The tools as the wire of a draft takes them, those of other services left out."""
    functions = [tool for tool in tools if tool.native is None]
    most = _MOST.get(draft.wire, len(functions))
    if len(functions) > most:
        raise InvalidValue(f"tools: {len(functions)} are given, {draft.wire} takes at most {most}")
    taken = list[Tool]()
    for tool in tools:
        reason = tool.native and _reason_against(tool.native, draft.wire, profile, bool(functions))
        if reason:
            draft.note(None, "tools_left_out", f"{cut(tool.name)!r} {reason}")
        else:
            taken.append(tool)
    for one, other in pairwise(taken):
        if one.name == other.name:
            raise InvalidValue(f"two tools are called {cut(one.name)!r}")
    return [_native(tool.native, draft) if tool.native else _function(tool, draft, profile) for tool in taken]


def gemini_config(written: Sequence[Json]) -> Json:
    """The keys `tools` and `tool_config`: functions in one entry, each tool of Gemini's own in another."""
    declared = [one for one in written if "name" in one]
    native = [one for one in written if "name" not in one]
    if not declared:
        return {"tools": native} if native else {}
    both = {"tool_config": {"include_server_side_tool_invocations": True}} if native else {}
    return {"tools": [{"function_declarations": declared}, *native], **both}


def _reason_against(native: Json, wire: str, profile: Profile, has_functions: bool) -> str:
    """Why a service does not take a tool of a provider; empty if it does."""
    kind = str(native.get("type") or next(iter(native)))
    is_own = rules.NATIVE_TOOLS[wire].fullmatch(kind) is not None
    if kind == "custom":  # it takes any text
        is_own = is_own and profile.takes_all and "custom" not in native
    if is_own and wire == "gemini" and has_functions and not profile.mixes_tools:
        return "does not go together with functions on this model"
    return "" if is_own else "is a tool of another service"


def _native(native: Json, draft: Draft) -> Json:
    if "name" in native:
        draft.names.give(str(native["name"]))
    return copy(native)


def _function(tool: Tool, draft: Draft, profile: Profile) -> Json:
    wire = draft.wire
    form = tool.forms.get(wire) or tool.forms.setdefault(wire, schema_for(wire, tool.schema, tool.strict))
    if form.strict and wire == "anthropic" and profile.cloud:  # where some models refuse the field
        form = Form(dict(tool.schema), refusal="the cloud")
    function: Json = {"name": draft.names.give(tool.name)}
    if function["name"] != tool.name:
        draft.note(None, "name_renamed", f"the tool {cut(tool.name)!r} is {function['name']!r} here")
    if tool.description:
        function["description"] = tool.description
    if form.refusal:
        _note_fields(tool, draft, f"strict, because of {form.refusal}")
    if form.strict or wire == "openai-responses":  # where a function is strict unless it says otherwise
        function["strict"] = form.strict
    removed = ", ".join((*tool.removed, *form.removed))
    if removed:
        draft.note(None, "schema_changed", f"the schema of {cut(tool.name)!r} is sent without {removed}")
    if wire != "gemini" or tool.schema["properties"] or tool.schema.get("additionalProperties"):
        function[_SCHEMA_KEYS[wire]] = copy(form.schema)
    function |= _fields(tool, draft)
    if wire == "anthropic" and tool.aliases:
        _rename_parameters(function, tool, draft)
    if wire == "openai":
        return {"type": "function", "function": function}
    return {"type": "function", **function} if wire == "openai-responses" else function


def _fields(tool: Tool, draft: Draft) -> Json:
    """The fields of a tool that the wire has; notes those that it lacks."""
    taken = rules.TOOL_FIELDS[draft.wire] if tool.owner in (None, draft.wire) else frozenset[str]()
    kept = {key: value for key, value in tool.fields.items() if key in taken}
    lost = [cut(key) for key in tool.fields if key not in kept]
    if lost:
        _note_fields(tool, draft, ", ".join(lost))
    return copy(kept)


def _note_fields(tool: Tool, draft: Draft, what: str) -> None:
    draft.note(None, "fields_left_out", f"of the tool {cut(tool.name)!r}: {what}")


def _rename_parameters(function: Json, tool: Tool, draft: Draft) -> None:
    """Give the parameters names that Anthropic takes; so have the calls of a history."""
    path = f"tool {cut(tool.name)!r}, input_schema"
    function["input_schema"] = with_aliases(function["input_schema"], tool.aliases, path)
    if "input_examples" in function:
        examples = entries_in(function["input_examples"])
        function["input_examples"] = [renamed(fields_in(one), tool.aliases) for one in examples]
    draft.parameters[tool.name] = tool.aliases
    reason = f"parameters of {cut(tool.name)!r} have other names here: {len(tool.aliases)}"
    draft.note(None, "name_renamed", reason)
