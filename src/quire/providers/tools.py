"""Tool definitions: reads those of any provider, and writes them for each wire.

Reading refuses a definition that no wire accepts, with the path of the fault. Writing leaves out what its
wire does not accept, with a downgrade.
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
    rename_fields,
    schema_for,
    with_aliases,
)
from quire.providers.values import Json, entries_in, exact_copy, fields_in
from quire.tokens import Definition, is_native, named, read_definition, single_definitions

_SCHEMAS = {
    **{"parameters": None, "input_schema": "anthropic", "inputSchema": None},
    **{"parameters_json_schema": "gemini", "parametersJsonSchema": "gemini"},
}
"""The field of a definition with its schema, and the wire of that field if it is used on one wire only."""
_KNOWN_FIELDS = frozenset(("name", "description", "strict", "type", "function", *_SCHEMAS))
_SCHEMA_KEYS = {
    **{"openai": "parameters", "openai-responses": "parameters", "anthropic": "input_schema"},
    "gemini": "parameters_json_schema",  # `parameters` accepts only a part of OpenAPI's schemas
}

_MAX_TOOLS = {"openai": rules.OPENAI_TOOL_COUNT, "gemini": rules.GEMINI_FUNCTION_COUNT}
_MAX_CACHE_BYTES = 16 * 2**20

_encode = msgspec.json.Encoder().encode


class Tool(NamedTuple):
    """A tool that is offered to a model. It is cached and shared, so it must not be changed."""

    name: str
    exact: bytes
    """The definition as JSON text, in which `0` and `False` differ."""
    forms: dict[str, Form]
    """The schema by wire; a wire is added when the tool is first written for it."""
    native: Json | None = None
    """The definition of a provider's own tool, such as a search; it is sent unchanged."""
    description: str = ""
    schema: Mapping[str, Any] = {}
    """The parameters as JSON Schema (draft 2020-12) of an object."""
    removed: tuple[str, ...] = ()
    """The keywords that were removed from the top of the schema because no wire accepts them there."""
    strict: bool | None = None
    fields: Mapping[str, Any] = {}
    """The further fields of the definition."""
    owner: str | None = None
    """The wire in whose format the definition is, if only one wire has this format."""
    aliases: Mapping[str, str] = {}
    """By own name, the names that Anthropic gets for properties whose names it refuses."""


# --- reading ---------------------------------------------------------------------------------------------


def read_tools(definitions: Iterable[Definition], *, keep: bool = True) -> list[Tool]:
    """The tools sorted by name, so that the order of the definitions does not change the payload.

    Definitions are cached: a known one costs a single comparison. With `keep=False` new ones are not cached.
    """
    tools = [_read(definition, keep) for definition in single_definitions(definitions)]
    return sorted(tools, key=lambda tool: (tool.name, tool.exact))


def _read(definition: Definition, keep: bool) -> Tool:
    if not definition:
        raise InvalidValue("a tool definition must not be empty")
    try:
        cached = _CACHE.get(_encode(definition))
    except (TypeError, OverflowError, RecursionError, UnicodeEncodeError):
        cached = None
    if cached is None or cached.definition != definition:  # a set or a tuple has the JSON of a list
        plain, text = exact_copy(definition)
        cached = _CACHE.get(text) or _CachedTool(plain, _tool(plain, text))
        if keep:
            _CACHE.add(cached)
    return cached.tool


class _CachedTool(NamedTuple):
    """A definition, and the tool that was read from it."""

    definition: Json
    tool: Tool


class _ToolCache:
    """Tools by the JSON text of their definitions.

    It has two generations: when `new` is full it becomes `old`, and the previous `old` is dropped.
    """

    def __init__(self) -> None:
        self.new: dict[bytes, _CachedTool] = {}
        self.old: dict[bytes, _CachedTool] = {}
        self.size = 0  # estimated bytes of memory of `new`

    def get(self, text: bytes) -> _CachedTool | None:
        cached = self.new.get(text)
        if cached is None and (cached := self.old.get(text)) is not None:
            self.add(cached)
        return cached

    def add(self, cached: _CachedTool) -> None:
        text = cached.tool.exact
        size, limit = _estimated_bytes(text), _MAX_CACHE_BYTES // 2
        if size > limit:
            return
        if self.size + size > limit:
            self.old, self.new, self.size = self.new, {}, 0
        if text not in self.new:
            self.size += size
        self.new[text] = cached


_CACHE = _ToolCache()


def _estimated_bytes(text: bytes) -> int:
    """About how many bytes of memory a cached tool takes, with its schemas for all wires.

    Its texts are stored three times. Its objects and lists are stored six times: in the definition, in the
    schema, and in the schema for each wire.
    """
    return 3 * len(text) + 6 * (190 * text.count(b"{") + 60 * text.count(b":") + 90 * text.count(b"["))


def _tool(definition: Json, text: bytes) -> Tool:
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
    owner_by_type = "openai-responses" if definition.get("type") == "function" else None
    filled = {name: value for name, value in {**definition, **inner}.items() if value is not None}
    return Tool(
        name,
        text,
        {},
        description=description if description and not description.isspace() else "",
        schema=schema,
        removed=removed,
        strict=strict,
        fields={name: value for name, value in filled.items() if name not in _KNOWN_FIELDS},
        owner="openai" if inner is not definition else _SCHEMAS[key] or owner_by_type,
        aliases=property_aliases(schema),
    )


# --- writing ---------------------------------------------------------------------------------------------


def write_tools(tools: Sequence[Tool], draft: Draft, profile: Profile) -> list[Json]:
    """The tools in the format of the draft's wire; other services' own tools are left out."""
    functions = [tool for tool in tools if tool.native is None]
    limit = _MAX_TOOLS.get(draft.wire, len(functions))
    if len(functions) > limit:
        raise InvalidValue(f"there are {len(functions)} tools; {draft.wire} takes at most {limit}")
    accepted = list[Tool]()
    for tool in tools:
        reason = "" if tool.native is None else _refusal(tool.native, draft.wire, profile, bool(functions))
        if reason:
            draft.report(None, "tools_left_out", f"{cut(tool.name)!r} {reason}")
        else:
            accepted.append(tool)
    for before, after in pairwise(accepted):
        if before.name == after.name:
            raise InvalidValue(f"two tools are called {cut(before.name)!r}")
    return [
        _native(tool.native, draft) if tool.native else _function(tool, draft, profile) for tool in accepted
    ]


def gemini_config(written: Sequence[Json]) -> Json:
    """The fields `tools` and `tool_config`: one entry for all functions, one for each of Gemini's tools."""
    functions = [tool for tool in written if "name" in tool]
    native = [tool for tool in written if "name" not in tool]
    if not functions:
        return {"tools": native} if native else {}
    mixed = {"tool_config": {"include_server_side_tool_invocations": True}} if native else {}
    return {"tools": [{"function_declarations": functions}, *native], **mixed}


def _refusal(native: Json, wire: str, profile: Profile, has_functions: bool) -> str:
    """Why a service does not accept a provider's own tool; empty if it does."""
    kind = str(native.get("type") or next(iter(native)))
    is_own = rules.NATIVE_TOOLS[wire].fullmatch(kind) is not None
    if kind == "custom":  # a custom tool of OpenAI, which takes any text
        is_own = is_own and profile.takes_all and "custom" not in native
    if is_own and wire == "gemini" and has_functions and not profile.mixes_tools:
        return "does not go together with functions on this model"
    return "" if is_own else "is a tool of another service"


def _native(native: Json, draft: Draft) -> Json:
    if "name" in native:
        draft.names.wire_name(str(native["name"]))
    return copy(native)


def _function(tool: Tool, draft: Draft, profile: Profile) -> Json:
    wire = draft.wire
    form = tool.forms.get(wire) or tool.forms.setdefault(wire, schema_for(wire, tool.schema, tool.strict))
    if form.strict and wire == "anthropic" and profile.cloud:  # some models on clouds refuse the field
        form = Form(dict(tool.schema), refusal="the cloud")
    function: Json = {"name": draft.names.wire_name(tool.name)}
    if function["name"] != tool.name:
        draft.report(None, "name_renamed", f"the tool {cut(tool.name)!r} is {function['name']!r} here")
    if tool.description:
        function["description"] = tool.description
    if form.refusal:
        _report_fields(tool, draft, f"strict, because of {form.refusal}")
    if form.strict or wire == "openai-responses":  # there a function is strict by default
        function["strict"] = form.strict
    removed = ", ".join((*tool.removed, *form.removed))
    if removed:
        draft.report(None, "schema_changed", f"the schema of {cut(tool.name)!r} is sent without {removed}")
    if wire != "gemini" or tool.schema["properties"] or tool.schema.get("additionalProperties"):
        function[_SCHEMA_KEYS[wire]] = copy(form.schema)
    function |= _fields(tool, draft)
    if wire == "anthropic" and tool.aliases:
        _rename_parameters(function, tool, draft)
    if wire == "openai":
        return {"type": "function", "function": function}
    return {"type": "function", **function} if wire == "openai-responses" else function


def _fields(tool: Tool, draft: Draft) -> Json:
    """The further fields of a tool that the wire accepts; the others are reported."""
    accepted = rules.TOOL_FIELDS[draft.wire] if tool.owner in (None, draft.wire) else frozenset[str]()
    sent = {key: value for key, value in tool.fields.items() if key in accepted}
    lost = [cut(key) for key in tool.fields if key not in sent]
    if lost:
        _report_fields(tool, draft, ", ".join(lost))
    return copy(sent)


def _report_fields(tool: Tool, draft: Draft, fields: str) -> None:
    draft.report(None, "fields_left_out", f"of the tool {cut(tool.name)!r}: {fields}")


def _rename_parameters(function: Json, tool: Tool, draft: Draft) -> None:
    """Give the parameters names that Anthropic accepts, in this definition and in the calls of the draft."""
    path = f"tool {cut(tool.name)!r}, input_schema"
    function["input_schema"] = with_aliases(function["input_schema"], tool.aliases, path)
    if "input_examples" in function:
        examples = entries_in(function["input_examples"])
        function["input_examples"] = [rename_fields(fields_in(example), tool.aliases) for example in examples]
    draft.parameters[tool.name] = tool.aliases
    reason = f"parameters of {cut(tool.name)!r} have other names here: {len(tool.aliases)}"
    draft.report(None, "name_renamed", reason)
