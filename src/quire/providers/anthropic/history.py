"""Anthropic Messages: an existing conversation in the wire's form, as items."""

from collections.abc import Mapping
from typing import Any, cast

from quire.errors import Damaged, WrongType
from quire.items import Content, Item, Message, Part, ToolCall, ToolResult
from quire.providers.anthropic.abilities import NAME
from quire.providers.anthropic.native import settings_of
from quire.providers.anthropic.reading import outputs
from quire.providers.anthropic.thinking import named_container
from quire.providers.block_fields import json_in_short, own_fields, with_fields
from quire.providers.block_parts import part_of
from quire.providers.block_thoughts import CONTAINER, whole
from quire.providers.json_values import is_block, json_text
from quire.providers.native import beside, native_note
from quire.providers.provider import Answer, plain_json
from quire.providers.sheet import Json

_NAMELESS = "unknown"
_MEDIA = ("image", "document")
_IN_RESULTS = ("text", "image", "document", "search_result")


def read_history(payload: Any, *, model: str | None = None) -> list[Item]:
    """A list of messages or a whole payload; thinking is tied to `model`, or to the one the payload names."""
    if isinstance(payload, list | tuple):
        body: Json = {"messages": payload}
    elif isinstance(payload, Mapping) or hasattr(payload, "model_dump"):
        body = plain_json(payload)
    else:
        raise WrongType(f"expected messages or a payload of Messages, not {type(payload).__name__}")
    named = body.get("model")
    container = named_container(body.get(CONTAINER))
    reader = _Reader(model or (named if isinstance(named, str) else ""), container)
    reader.instructions(body.get("system"), "$.system")
    for index, message in enumerate(_list(body.get("messages"), "$.messages")):
        reader.message(message, f"$.messages[{index}]")
    return reader.items


class _Reader:
    """Goes through the messages, and remembers what each call was called."""

    def __init__(self, model: str, container: str | None) -> None:
        self.items: list[Item] = []
        self._answer = Answer(model)
        self._container = container  # where the programs run that still wait
        self._names: dict[str, str] = {}

    def instructions(self, content: Any, path: str) -> None:
        for place, block in _blocks([] if content is None else content, path):
            if block.get("type") != "text" or not isinstance(block.get("text"), str):
                raise Damaged("instructions are texts", place)
            self.items.append(Message("system", block["text"]))

    def message(self, message: Any, path: str) -> None:
        told = _object(message, path)
        role, content, place = told.get("role"), told.get("content"), f"{path}.content"
        if role == "user":
            self._user(content, place)
        elif role == "assistant":
            self._assistant(content, place)
        elif role == "system":
            self.instructions(content, place)
        else:
            raise Damaged("a message is of the user, the assistant or the system", f"{path}.role")

    def _user(self, content: Any, path: str) -> None:
        parts: list[Part] = []
        settings: dict[str, Json] = {}
        for place, block in _blocks(content, path):
            result = block.get("type") == "tool_result"
            part = None if result else part_of(block, place)
            if part is None:
                self._say(parts, settings)
                self.items.append(self._result(block, place) if result else native_note(block, NAME))
                parts, settings = [], {}
            else:
                settings[str(len(parts))] = settings_of(block)
                parts.append(part)
        self._say(parts, settings)

    def _say(self, parts: list[Part], settings: dict[str, Json]) -> None:
        if parts:
            alone = len(parts) == 1 and isinstance(parts[0], str)
            content = cast(str, parts[0]) if alone else tuple(parts)
            found = {place: fields for place, fields in settings.items() if fields}
            self.items.append(Message("user", content, extras=beside(NAME, {"parts": found})))

    def _assistant(self, content: Any, path: str) -> None:
        blocks = [whole(block) for _, block in _blocks(content, path)]
        read = outputs(blocks, self._answer, self._answer.model or "", path, self._container)
        self._names.update((item.call_id, item.name) for item in read if isinstance(item, ToolCall))
        self.items += read

    def _result(self, block: Json, path: str) -> ToolResult:
        call_id = block.get("tool_use_id")
        if not isinstance(call_id, str) or not call_id:
            raise Damaged("a result names its call", f"{path}.tool_use_id")
        content, extras = _output(block.get("content"), f"{path}.content")
        name = self._names.get(call_id, _NAMELESS)
        return ToolResult(call_id, name, content, block.get("is_error") is True, extras=extras)


def _output(value: Any, path: str) -> tuple[Content, Json]:
    """What a call gave, and the extras of an item that has it."""
    content = _given(value, path)
    blocks = [] if content is None or isinstance(content, str) else _blocks(content, path)
    if isinstance(content, str) or _are_rows(blocks):
        return content if isinstance(content, str) else json_text(value, path), {}
    parts, kept, settings = list[Part](), list[Json](), dict[str, Json]()
    strange = False
    for place, block in blocks:
        part, words = _read(block, place)
        if part is not None and (found := settings_of(block)):
            settings[str(len(parts))] = found
        told = [words] if part is None else with_fields(part, block, place)
        is_row = part is None and block["type"] == "text"
        strange = strange or (part is None and not is_row)
        # One for each part. A text with more fields, and what stands beside a part, is no block to put back.
        kept += [{} if is_row else block, *({} for _ in told[1:])]
        parts += told
    alone = len(parts) == 1 and isinstance(parts[0], str) and not strange
    extras = beside(NAME, {"content": kept if strange else [], "parts": settings})
    return cast(str, parts[0]) if alone else tuple(parts) or "", extras


def _read(block: Json, path: str) -> tuple[Part | None, str]:
    """The part that a block of a result is, or words for it where it is none.

    Media that cannot be read are told without their bytes, and cost nothing else of the history.
    """
    try:
        part = part_of(block, path, in_result=True)
    except Damaged:
        if block.get("type") not in _MEDIA:
            raise
        return None, json_in_short(block, path)
    return part, json_text(block, path) if part is None else ""


def _are_rows(blocks: list[tuple[str, Json]]) -> bool:
    """Whether blocks are texts among which some have fields of a program's own: a value of it, all in all."""
    are_texts = all(block["type"] == "text" and isinstance(block.get("text"), str) for _, block in blocks)
    return are_texts and any(own_fields(block) for _, block in blocks)


def _given(content: Any, path: str) -> Any:
    """What a call gave; a lone block, or a value of a program, stands at times where blocks should be."""
    if isinstance(content, Mapping):
        value = cast(Json, content)
        return [value] if value.get("type") in _IN_RESULTS else json_text(value, path)
    if isinstance(content, list | tuple):
        values = cast("list[Any]", content)
        return values if all(map(is_block, values)) else json_text(values, path)
    return json_text(content, path) if isinstance(content, int | float) else content


def _blocks(content: Any, path: str) -> list[tuple[str, Json]]:
    """The blocks of a content with their places; a bare text is one block."""
    if isinstance(content, str):
        return [(path, {"type": "text", "text": content})] if content else []
    found = enumerate(_list(content, path))
    return [(f"{path}[{index}]", _object(block, f"{path}[{index}]")) for index, block in found]


def _list(value: Any, path: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise Damaged(f"expected a list, not {type(value).__name__}", path)
    return list(cast("tuple[Any, ...]", value))


def _object(value: Any, path: str) -> Json:
    try:
        return plain_json(value)
    except WrongType:
        raise Damaged(f"expected an object, not {type(value).__name__}", path) from None
