"""Tool definitions: reading those of any provider, and writing them for each wire.

A definition is code. One that no wire could take is refused with a path. What one wire takes and another does
not is left out there, and noted.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, cast

import msgspec

from quire.errors import InvalidValue, WrongType, cut
from quire.providers import rules
from quire.providers.check.core import type_of
from quire.providers.draft import Draft
from quire.providers.profiles import Profile
from quire.providers.schema import (
    Form,
    StrictBudget,
    copy,
    property_aliases,
    read_object,
    renamed,
    strict_schema,
    wire_schema,
    with_aliases,
)
from quire.providers.values import Json, entries_in, exact_copy, fields_in
from quire.tokens import Definition, single_definitions

_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parameters_json_schema", "parametersJsonSchema")
_READ = frozenset(("name", "description", "strict", "type", "function", *_SCHEMAS))
_BARE = frozenset(("type", "properties", "required", "additionalProperties", "title"))
_TEXT_INPUT: Json = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
_IN_WIRE = {"responseJsonSchema": "response_json_schema"}
_CAMEL_CASE = str.maketrans("", "", "_")
_MODES = ("openai", "anthropic")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Tool(NamedTuple):
    """A tool that a model is offered. Nobody changes it: readings are shared."""

    name: str
    description: str = ""
    schema: Mapping[str, Any] = {}
    """The parameters: an object at the top, in the words of JSON Schema draft 2020-12."""
    strict: bool | None = None
    native: Json | None = None
    """A provider's own tool, such as a search; it is sent as it is."""
    fields: Mapping[str, Any] = {}
    """What else the definition has, by the names of its wire."""
    wire: str | None = None
    """The wire whose form the definition has, if only one has it."""
    exact: bytes = b""
    """The definition as JSON, which tells `0` from `False`."""
    changes: tuple[str, ...] = ()
    """What was changed in the schema."""
    forms: Mapping[str, Form] = {}
    """The schema on OpenAI's wires and on Anthropic's."""
    strict_forms: Mapping[str, Form] = {}
    """The schema in their strict modes, if the tool is strict."""
    aliases: Mapping[str, str] = {}
    """Names for properties whose own names Anthropic refuses."""


# --- reading ---------------------------------------------------------------------------------------------


def read_tools(definitions: Iterable[Definition]) -> list[Tool]:
    """The tools in the order of their names, so that the order of the definitions does not matter.

    A definition that was read before costs one comparison.
    """
    tools = sorted((_read(one) for one in single_definitions(definitions)), key=_order)
    _refuse_duplicates(tool for tool in tools if tool.native is None)
    return tools


def _order(tool: Tool) -> tuple[str, bytes]:
    return tool.name, tool.exact


def _refuse_duplicates(tools: Iterable[Tool]) -> None:
    """Raise if two tools that go into one request have one name; they are in the order of names."""
    for one, other in pairwise(tools):
        if one.name == other.name:
            raise InvalidValue(f"two tools are called {cut(one.name)!r}")


def _read(definition: Definition) -> Tool:
    if not definition:
        raise InvalidValue("a tool definition is empty")
    try:
        tool, given = _read_json(_encode(definition))
        if given == definition:  # else it holds a value that only resembles JSON: a set, a tuple, bytes
            return tool
    except (TypeError, OverflowError, RecursionError, UnicodeEncodeError) as fault:
        if isinstance(fault, WrongType):
            raise
    try:
        text = exact_copy(definition)[1]
    except (InvalidValue, UnicodeEncodeError) as fault:
        raise InvalidValue(f"the definition of {_named(definition)} is not JSON: {fault}") from None
    return _read_json(text)[0]


def _named(definition: Definition) -> str:
    inner = definition.get("function")
    name = (cast("Definition", inner) if isinstance(inner, Mapping) else definition).get("name")
    return f"the tool {cut(name)!r}" if isinstance(name, str) else "a tool"


@lru_cache(1024)
def _read_json(text: bytes) -> tuple[Tool, Json]:
    """The tool that a definition describes, and the definition."""
    definition: Json = _decode(text)
    return _tool(definition, text), definition


def _tool(definition: Json, text: bytes) -> Tool:
    if _is_native(definition):
        return Tool(_native_name(definition), native=definition, exact=text)
    inner = fields_in(definition.get("function")) or definition
    name, description, strict = inner.get("name"), inner.get("description"), inner.get("strict")
    if not isinstance(name, str):
        raise WrongType(f"the name of a tool must be a string, is {type_of(name)}")
    if not name:
        raise InvalidValue("the name of a tool is empty")
    _expect(name, "description", description, str)
    _expect(name, "strict", strict, bool)
    key = next((key for key in _SCHEMAS if inner.get(key) is not None), _SCHEMAS[0])
    schema, changes = read_object(inner.get(key), f"tool {cut(name)!r}, {key}")
    fields = {
        key: value for key, value in {**definition, **inner}.items() if key not in _READ and value is not None
    }
    return Tool(
        name,
        description if description and not description.isspace() else "",
        schema,
        strict,
        fields=fields,
        wire=_wire(definition),
        exact=text,
        changes=changes,
        forms={mode: wire_schema(schema, mode) for mode in _MODES},
        strict_forms={mode: strict_schema(schema, mode) for mode in _MODES if strict},
        aliases=property_aliases(schema),
    )


def _expect(name: str, key: str, value: Any, kind: type) -> None:
    if value is not None and not isinstance(value, kind):
        expected = {bool: "a boolean", list: "a list", dict: "an object"}.get(kind, "a string")
        raise WrongType(f"tool {cut(name)!r}, {key}: must be {expected}, is {type_of(value)}")


def _wire(definition: Json) -> str | None:
    if definition.get("function") is not None:
        return "openai"
    if definition.get("input_schema") is not None:
        return "anthropic"
    if definition.get("type") == "function":
        return "openai-responses"
    return "gemini" if any(definition.get(key) is not None for key in _SCHEMAS[3:]) else None


def _is_native(definition: Json) -> bool:
    """Whether a definition is a tool that a provider brings, and not a function of the caller."""
    if "name" not in definition and "function" not in definition:
        return True
    kind = definition.get("type")
    if kind == "custom":
        # Anthropic's word for a function, which has a schema; OpenAI's for a tool that takes any text.
        return not any(key in definition for key in ("function", "parameters", "input_schema"))
    return kind not in (None, "function")


def _native_name(definition: Json) -> str:
    named = fields_in(definition.get("custom")) or definition
    # There may be several MCP servers, all of one type.
    name = named.get("name") or definition.get("server_label") or definition.get("type")
    return str(name or next(iter(definition)))


# --- writing: what the wires share -----------------------------------------------------------------------


def _fields(tool: Tool, draft: Draft, without: frozenset[str] = frozenset()) -> Json:
    """The fields of a tool that the wire has; notes those that it lacks, and changes of the schema."""
    if tool.changes:
        draft.note(None, "schema_changed", f"the schema of {cut(tool.name)!r}: {'; '.join(tool.changes)}")
    kinds = rules.TOOL_FIELDS[draft.wire] if tool.wire in (None, draft.wire) else {}
    kept, lost = dict[str, Any](), list[str]()
    for name, value in tool.fields.items():
        if name in kinds and name not in without:
            _expect(tool.name, name, value, kinds[name])
            kept[name] = value
            if name == "cache_control" and value not in rules.CACHE_MARKS:
                raise InvalidValue(f"tool {cut(tool.name)!r}, cache_control: must be ephemeral, for 5m or 1h")
        else:
            lost.append(name)
    if lost:
        _note_fields(tool, draft, ", ".join(map(cut, lost)))
    return kept


def _note_fields(tool: Tool, draft: Draft, what: str) -> None:
    draft.note(None, "fields_left_out", f"of the tool {cut(tool.name)!r}: {what}")


def _note_foreign(tool: Tool, draft: Draft) -> None:
    draft.note(None, "tools_left_out", f"{cut(tool.name)!r} is a tool of another service")


def _function(tool: Tool, draft: Draft, key: str, refusal: str = "") -> Json:
    """A tool under its wire name, with its schema at `key`; `refusal` says why it cannot be strict."""
    function: Json = {"name": draft.names.give(tool.name)}
    if tool.description:
        function["description"] = tool.description
    mode = draft.wire.removesuffix("-responses")
    form, strict = tool.forms[mode], tool.strict
    if strict:
        refusal = tool.strict_forms[mode].refusal or refusal
        if refusal:
            strict = False
            _note_fields(tool, draft, f"strict, because of {refusal}")
        else:
            form = tool.strict_forms[mode]
    if form.removed:
        reason = f"the schema of {cut(tool.name)!r} is sent without {', '.join(form.removed)}"
        draft.note(None, "schema_changed", reason)
    function[key] = copy(form.schema)
    return function if strict is None else {**function, "strict": strict}


# --- OpenAI ----------------------------------------------------------------------------------------------


def chat_tools(tools: Sequence[Tool], draft: Draft, profile: Profile) -> list[Json]:
    """Tools as the Chat Completions take them: functions, and tools that take any text."""
    taken = _openai_tools(tools, draft, profile)
    most = rules.OPENAI_TOOL_COUNT.accepted
    if len(taken) > most:
        raise InvalidValue(f"tools: {len(taken)} are given, Chat Completions take at most {most}")
    return [_chat_tool(tool, draft) for tool in taken]


def responses_tools(tools: Sequence[Tool], draft: Draft, profile: Profile) -> list[Json]:
    """Tools as the Responses take them: functions, and all tools of OpenAI's own."""
    return [_responses_tool(tool, draft) for tool in _openai_tools(tools, draft, profile)]


def _openai_tools(tools: Sequence[Tool], draft: Draft, profile: Profile) -> list[Tool]:
    own = rules.OPENAI_TOOLS[draft.wire].accepted
    taken = list[Tool]()
    for tool in tools:
        kind = (tool.native or {}).get("type")
        if kind == "custom" and not profile.takes_all:
            taken.append(_as_function(tool, draft))
        elif tool.native is None or own.fullmatch(str(kind)):
            taken.append(tool)
        else:
            _note_foreign(tool, draft)
    _refuse_duplicates(taken)
    return taken


def _as_function(tool: Tool, draft: Draft) -> Tool:
    """A tool that takes any text as a function of one text; calls of both have the same arguments."""
    _note_fields(tool, draft, "it takes any text, and is a function of one text here")
    native = fields_in(tool.native)
    description = (fields_in(native.get("custom")) or native).get("description")
    forms = {mode: Form(_TEXT_INPUT) for mode in _MODES}
    return tool._replace(native=None, description=str(description or ""), schema=_TEXT_INPUT, forms=forms)


def _chat_tool(tool: Tool, draft: Draft) -> Json:
    if tool.native is not None:
        return _nested_custom(copy(tool.native))
    function = _function(tool, draft, "parameters")
    return {"type": "function", "function": function | _fields(tool, draft)}


def _responses_tool(tool: Tool, draft: Draft) -> Json:
    if tool.native is not None:
        return _flat_custom(copy(tool.native))
    # Where it is not given, a function is strict here.
    return {
        "type": "function",
        "strict": False,
        **_function(tool, draft, "parameters"),
        **_fields(tool, draft),
    }


def _nested_custom(native: Json) -> Json:
    """A tool that takes any text, in the form of Chat."""
    if "custom" in native:
        return native
    inner = {name: value for name, value in native.items() if name != "type"}
    form = fields_in(inner.get("format"))
    if form.get("type") == "grammar" and "grammar" not in form:
        inner["format"] = {"type": form.pop("type"), "grammar": form}
    return {"type": "custom", "custom": inner}


def _flat_custom(native: Json) -> Json:
    """A tool as it is; one that takes any text, in the form of Responses."""
    if not isinstance(native.get("custom"), dict):
        return native
    flat: Json = {"type": "custom", **native["custom"]}
    grammar = fields_in(flat.get("format")).get("grammar")
    if isinstance(grammar, dict):
        flat["format"] = {"type": "grammar", **fields_in(grammar)}
    return flat


# --- Anthropic -------------------------------------------------------------------------------------------


def anthropic_tools(tools: Sequence[Tool], draft: Draft, profile: Profile) -> list[Json]:
    """Tools as the Messages take them: functions, and Anthropic's own as far as the cloud runs them.

    Tools are sorted, so a cache mark on one of them moves to the last that can have it.
    """
    taken = [tool for tool in tools if tool.native is None or _is_run(tool, draft, profile)]
    _refuse_duplicates(taken)
    budget = StrictBudget()
    written = [_anthropic_tool(tool, draft, profile, budget) for tool in taken]
    marks = [tool.pop("cache_control") for tool in written if "cache_control" in tool]
    places = [place for place, tool in enumerate(written) if not tool.get("defer_loading")]
    if marks and places:
        longest = next((mark for mark in marks if mark.get("ttl") == "1h"), marks[0])
        written[places[-1]]["cache_control"] = longest
    elif marks:
        draft.note(None, "fields_left_out", "tools that are loaded later have no cache mark")
    return written


def _is_run(tool: Tool, draft: Draft, profile: Profile) -> bool:
    native = fields_in(tool.native)
    kind = str(native.get("type"))
    is_named = bool(native.get("name")) or kind == "mcp_toolset"  # which names its server instead
    if not is_named or not rules.ANTHROPIC_TOOLS.accepted.fullmatch(kind):
        _note_foreign(tool, draft)
        return False
    refused = rules.ANTHROPIC_TOOLS_NOT_ON_CLOUDS.accepted.get(profile.cloud or "")
    if refused is not None and refused.fullmatch(kind):
        reason = f"{cut(tool.name)!r} is run by Anthropic, and not on this cloud"
        draft.note(None, "tools_left_out", reason)
        return False
    return True


def _anthropic_tool(tool: Tool, draft: Draft, profile: Profile, budget: StrictBudget) -> Json:
    if tool.native is not None:
        draft.names.give(tool.name)
        return copy(tool.native)
    written = _function(tool, draft, "input_schema", _no_strict_tool(tool, profile, budget))
    if not written.get("strict"):
        written.pop("strict", None)  # false is the default, and clouds refuse the field
    without = rules.ANTHROPIC_FIELDS_NOT_ON_CLOUDS.accepted if profile.cloud else frozenset[str]()
    written |= _fields(tool, draft, without)
    return _with_aliases(written, tool, draft) if tool.aliases else written


def _no_strict_tool(tool: Tool, profile: Profile, budget: StrictBudget) -> str:
    """Why a tool whose schema could be strict is not; one that is strict takes its share of the budget."""
    if tool.strict is not True or tool.strict_forms["anthropic"].refusal:
        return ""
    if profile.cloud is not None:
        return "the cloud, where some models refuse the field"
    has_room = budget.take(tool.strict_forms["anthropic"].schema)
    return "" if has_room else "the strict tools before it, beside which a request has no room"


def _with_aliases(written: Json, tool: Tool, draft: Draft) -> Json:
    """A tool whose parameters have names that the API takes; so have its calls."""
    path = f"tool {cut(tool.name)!r}, input_schema"
    written["input_schema"], changes = with_aliases(written["input_schema"], tool.aliases, path)
    draft.parameters[tool.name] = tool.aliases
    reason = f"parameters of {cut(tool.name)!r} have other names here: {len(tool.aliases)}"
    draft.note(None, "name_renamed", reason)
    if changes:
        draft.note(None, "schema_changed", f"the schema of {cut(tool.name)!r}: {'; '.join(changes)}")
    if "input_examples" in written:
        examples = entries_in(written["input_examples"])
        written["input_examples"] = [renamed(fields_in(one), tool.aliases) for one in examples]
    return written


# --- Gemini ----------------------------------------------------------------------------------------------


def gemini_config(tools: Sequence[Tool], draft: Draft, profile: Profile) -> Json:
    """The keys `tools` and `tool_config`: functions in one entry, each tool of Gemini's own in another."""
    functions, native = [tool for tool in tools if tool.native is None], list[Json]()
    most = rules.GEMINI_FUNCTION_COUNT.accepted
    if len(functions) > most:
        raise InvalidValue(f"tools: {len(functions)} are given, Gemini takes at most {most}")
    declared = [_gemini_function(tool, draft) for tool in functions]
    for tool in tools:
        if tool.native is None:
            continue
        if not all(_without_case(key) in rules.GEMINI_TOOLS.accepted for key in tool.native):
            _note_foreign(tool, draft)
        elif functions and not profile.mixes_tools:
            reason = f"{cut(tool.name)!r} does not go together with functions on this model"
            draft.note(None, "tools_left_out", reason)
        else:
            native.append(copy(tool.native))
    if not declared:
        return {"tools": native} if native else {}
    both = {"tool_config": {"include_server_side_tool_invocations": True}} if native else {}
    return {"tools": [{"function_declarations": declared}, *native], **both}


def _without_case(key: str) -> str:
    return key.translate(_CAMEL_CASE).lower()  # clients write google_search, the wire has googleSearch


def _gemini_function(tool: Tool, draft: Draft) -> Json:
    function: Json = {"name": draft.names.give(tool.name)}
    if tool.description:
        function["description"] = tool.description
    if not _has_no_parameters(tool.schema):
        # The older field `parameters` takes only a part of OpenAPI's schemas.
        function["parameters_json_schema"] = copy(tool.schema)
    fields = {_IN_WIRE.get(name, name): value for name, value in tool.fields.items()}
    if tool.strict:
        fields["strict"] = True  # which this wire does not have
    return function | _fields(tool._replace(fields=fields), draft)


def _has_no_parameters(schema: Mapping[str, Any]) -> bool:
    is_closed = schema.get("additionalProperties", False) is False
    return is_closed and not (schema.get("properties") or schema.get("required")) and schema.keys() <= _BARE
