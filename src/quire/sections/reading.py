"""What sections give, as items: the one place where dictionaries with a role and content become messages.

The same content gets the same id and the same time, whenever it is read: so it is the same item in the next
turn, and in the next run.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from quire.errors import InvalidValue, QuireError, WrongType, cut
from quire.items import KINDS, ROLES, Item, Message, ToolCall, ToolResult
from quire.sections.digests import Names
from quire.sections.shown import NEVER_SHOWN
from quire.sections.speech import content_of

_READY = KINDS - set(NEVER_SHOWN)


def items_of(content: object, section_name: str) -> tuple[Item, ...]:
    """What a section gave as items; an error names the section and the place."""
    kind = type(content).__name__
    if isinstance(content, str | bytes | Mapping) or not isinstance(content, Iterable):
        raise WrongType(f"section {cut(section_name)!r} gives a list of items, not {kind}")
    given = tuple(cast("Iterable[object]", content))
    if _READY.issuperset(map(type, given)):
        return cast("tuple[Item, ...]", given)
    reader = _Reader(section_name)
    found: list[Item] = []
    for index, one in enumerate(given):
        try:
            found += reader.read(one)
        except QuireError as fault:
            raise type(fault)(f"section {cut(section_name)!r}, [{index}]: {fault}") from None
    return tuple(found)


class _Reader:
    """Reads one section's content from its first element to its last."""

    def __init__(self, section_name: str) -> None:
        self._names = Names(section_name)
        self._tools: dict[str, str] = {}  # by the id of a call: results in dictionaries rarely say the name

    def read(self, one: object) -> list[Item]:
        if isinstance(one, NEVER_SHOWN):
            raise WrongType(f"{type(one).__name__} is recorded in a transcript; it cannot be shown")
        if type(one) in KINDS:
            return [cast(Item, one)]
        if not isinstance(one, Mapping):
            raise WrongType(f"expected an item or a dictionary with a role, not {type(one).__name__}")
        entry = cast("Mapping[str, Any]", one)
        role = entry.get("role")
        if role == "tool":
            return [self._result(entry)]
        if not isinstance(role, str) or role not in ROLES:
            raise InvalidValue("the role is none of system, developer, user, assistant, tool")
        return [*self._message(entry), *self._calls(entry)]

    def _message(self, entry: Mapping[str, Any]) -> list[Item]:
        content = entry.get("content")
        if entry.get("tool_calls") and content in (None, "", [], ()):
            return []  # a reply of calls alone
        role, said = entry["role"], content_of(content)
        return [Message(role, said, id=self._names.of("message", role, said), created_at=0.0)]

    def _calls(self, entry: Mapping[str, Any]) -> list[Item]:
        calls = entry.get("tool_calls") or ()
        if calls and entry["role"] != "assistant":
            raise InvalidValue("tool_calls belong to the role assistant")
        if isinstance(calls, str | bytes | Mapping) or not isinstance(calls, Iterable):
            raise WrongType(f"tool_calls is a list, not {type(calls).__name__}")  # pyright: ignore
        return [self._call(call) for call in cast("Iterable[object]", calls)]

    def _call(self, call: object) -> Item:
        if not isinstance(call, Mapping):
            raise WrongType(f"a tool call is a dictionary, not {type(call).__name__}")
        entry = cast("Mapping[str, Any]", call)
        function: object = entry.get("function", entry)
        if not isinstance(function, Mapping):
            raise WrongType(f"the function of a tool call is a dictionary, not {type(function).__name__}")
        inner = cast("Mapping[str, Any]", function)
        call_id, name = _text(entry, "id"), _text(inner, "name")
        arguments = inner.get("arguments", "{}")
        if not isinstance(arguments, str):
            raise WrongType(f"the arguments of a tool call are JSON text, not {type(arguments).__name__}")
        self._tools[call_id] = name
        own_id = self._names.of("call", call_id, name, arguments)
        return ToolCall(call_id, name, arguments, id=own_id, created_at=0.0)

    def _result(self, entry: Mapping[str, Any]) -> Item:
        call_id = _text(entry, "tool_call_id")
        name = entry.get("name") or self._tools.get(call_id) or "tool"
        said = content_of(entry.get("content"))
        own_id = self._names.of("result", call_id, said)
        return ToolResult(call_id, name, said, id=own_id, created_at=0.0)


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise WrongType(f"{key} is a text that is not empty")
    return value
