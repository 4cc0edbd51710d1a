"""The functions that a request declares."""

import re

from quire.providers.checking.gemini.history import spelled
from quire.providers.checking.gemini.models import Model
from quire.providers.checking.reading import Fields, as_list, as_object, each, opened, short, type_of
from quire.providers.checking.schemas import check_arrays, check_within

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_OF_OTHERS = ("type", "function", "input_schema")
MOST_FUNCTIONS = 512


def check_tools(body: Fields, model: Model) -> None:
    """Note what is wrong with the declarations of functions, and with what stands beside them."""
    names: set[str] = set()
    count, tools = 0, body.get("tools")
    if tools is None:
        return
    if as_list(tools) is None:
        body.add("tools", "shape", f"must be a list, is {type_of(tools)}")
    for index, tool in enumerate(as_list(tools) or ()):
        # The client takes Python functions for tools and declares them itself.
        if not callable(tool):
            count += _check_tool(body, f"{body.at('tools')}[{index}]", tool, names)
    if count > MOST_FUNCTIONS:
        body.add("tools", "tool_count", f"{count} functions, more than {MOST_FUNCTIONS}")
    if count and any(map(_is_own, as_list(tools) or ())):
        _check_mixed(body, model)


def _is_own(tool: object) -> bool:
    """Whether an entry has a tool of the provider's, such as a search."""
    return any(
        value is not None and key not in ("functionDeclarations", "function_declarations")
        for key, value in (as_object(tool) or {}).items()
    )


def _check_mixed(body: Fields, model: Model) -> None:
    key = spelled(body, "toolConfig")
    config = Fields(body.findings, body.at(key), as_object(body.get(key)) or {})
    if not model.mixes_tools():
        body.add("tools", "tools_mixed", "functions and tools of the provider")
    elif config.get(spelled(config, "includeServerSideToolInvocations")) is not True:
        body.add(
            "tools", "tools_mixed", "functions and tools of the provider, and the config does not say so"
        )


def _check_tool(body: Fields, place: str, tool: object, names: set[str]) -> int:
    fields = opened(body.findings, place, tool)
    if fields is None:
        return 0
    foreign = next((key for key in _OF_OTHERS if fields.get(key) is not None), None)
    if foreign is not None:
        fields.add(foreign, "unknown_field", f"a tool has no {foreign}")
        return 0
    key = spelled(fields, "functionDeclarations")
    if fields.get(key) is None:
        return 0
    for at, item in each(body.findings, fields.at(key), fields.get(key)):
        declaration = opened(body.findings, at, item)
        if declaration is not None:
            _check_declaration(declaration, names)
    return len(as_list(fields.get(key)) or ())


def _check_declaration(fields: Fields, names: set[str]) -> None:
    name = fields.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        fields.add("name", "tool_name", f"{short(name)} is no name for a function")
    elif name in names:
        fields.add("name", "duplicate_tool", f"there is a function {short(name)} already")
    else:
        names.add(name)
    _check_schema(fields)


def _check_schema(fields: Fields) -> None:
    parameters, other = fields.get("parameters"), spelled(fields, "parametersJsonSchema")
    check_within(fields, other)
    if parameters is None:
        return
    schema = as_object(parameters)
    kind = None if schema is None else schema.get("type")
    if schema is None:
        fields.add("parameters", "tool_schema", f"must be an object, is {type_of(parameters)}")
    elif fields.get(other) is not None:
        fields.add(other, "tool_schema", "parameters are given twice")
    elif schema.get("properties") is not None and as_object(schema["properties"]) is None:
        text = f"must be an object, is {type_of(schema['properties'])}"
        fields.add("parameters.properties", "tool_schema", text)
    elif schema and not (isinstance(kind, str) and kind.upper() == "OBJECT"):
        fields.add("parameters.type", "tool_schema", "the schema is not of type object")
    else:
        check_arrays(fields, "parameters")
