"""Names and keys that OpenAI bounds; the same on both of its wires, but for the lengths."""

import re

from quire.providers.checking.patterns import check_readable
from quire.providers.checking.reading import Fields, as_object, short, type_of
from quire.providers.checking.schemas import check_arrays, check_within
from quire.providers.checking.strictness import (
    check_closed,
    check_complete,
    check_formats,
    check_pointers,
)

LONGEST_CALL_ID = 64
LONGEST_CACHE_KEY = 64
IN_ID = "__thought__"
"""What one gateway has between the id of a call and its signature."""
_NOT_AT_TOP = ("oneOf", "anyOf", "allOf", "enum", "const", "not")
_NOT_STRICT = (
    *("allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "default"),
    *("patternProperties", "propertyNames", "minProperties", "maxProperties", "unevaluatedProperties"),
    *("prefixItems", "contains", "minContains", "maxContains", "uniqueItems", "unevaluatedItems"),
)
_FORMATS = frozenset(("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"))
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]+")


class ToolNames:
    """The names of the tools of a request."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self.complete = True
        """Whether every name could be read, so that one that is missing is known to be missing."""

    def __contains__(self, name: str) -> bool:
        return name in self._first

    def add(self, tool: Fields, name: str | None) -> None:
        """Note the name of a tool, and a fault if another tool has it."""
        if name is None:
            self.complete = False
        elif name in self._first:
            tool.add("name", "duplicate_tool", f"{short(name)} is also the name of {self._first[name]}")
        else:
            self._first[name] = tool.place


def check_tool_name(tool: Fields, longest: int) -> str | None:
    """The name of a tool, in whatever form it has."""
    name = tool.text("name")
    if name is None:
        return None
    if not 1 <= len(name) <= longest:
        tool.add("name", "tool_name", f"has {len(name)} characters")
    elif not _TOOL_NAME.fullmatch(name):
        tool.add("name", "tool_name", f"{short(name)} has other characters than letters, digits, _ and -")
    return name


def check_schema(tool: Fields) -> None:
    """The parameters of a function: a schema of an object, if they are given."""
    parameters = tool.get("parameters")
    schema = as_object(parameters)
    if parameters is not None and schema is None:
        tool.add("parameters", "tool_schema", f"must be an object, is {type_of(parameters)}")
    elif not schema:
        return  # a function without parameters
    elif schema.get("type") != "object":
        tool.add("parameters.type", "tool_schema", f"must be 'object', is {short(schema.get('type'))}")
    elif as_object(schema.get("properties", {})) is None:
        tool.add(
            "parameters.properties", "tool_schema", f"must be an object, is {type_of(schema['properties'])}"
        )
    elif barred := next((key for key in _NOT_AT_TOP if key in schema), None):
        tool.add(f"parameters.{barred}", "tool_schema", f"{barred} at the top of the schema")
    else:
        check_within(tool, "parameters")
        check_arrays(tool, "parameters")
        check_closed(tool, "parameters", _NOT_STRICT)
        check_complete(tool, "parameters")
        check_formats(tool, "parameters", _FORMATS)
        check_pointers(tool, "parameters", alone=True)
        check_readable(tool, "parameters")


def check_call_id(
    call: Fields, key: str, longest: int = LONGEST_CALL_ID, *, signed: bool = False
) -> str | None:
    """The id of a call, in whatever form it has; a gateway takes off the signature that one may have."""
    name = call.text(key)
    if name is None:
        return None
    length = len(name.partition(IN_ID)[0] if signed else name)
    if not 1 <= length <= longest:
        call.add(key, "call_id_length", f"has {length} characters")
    return name


def check_cache_key(body: Fields) -> None:
    """A cache key that is short enough."""
    key = body.optional_text("prompt_cache_key")
    if key is not None and len(key) > LONGEST_CACHE_KEY:
        body.add("prompt_cache_key", "prompt_cache_key", f"has {len(key)} characters")
