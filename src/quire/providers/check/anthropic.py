"""The checks of Anthropic's Messages API: `messages.create` arguments, or a list of messages."""

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from quire.providers import rules
from quire.providers.check.core import (
    Fields,
    Findings,
    ToolNames,
    as_list,
    as_object,
    check_signature,
    check_texts,
    image_type,
    is_base64,
    known_model,
    objects_in,
    opened,
    short,
    type_of,
)
from quire.providers.check.schema import ANTHROPIC_STRICT, check_schema, check_strict, subschemas
from quire.providers.profiles import cloud_of, has_unsigned_thinking
from quire.tokens import size_of

_ROLES = ("user", "assistant", "system")
_THINKING = ("thinking", "redacted_thinking")
_MEDIA = ("image", "document", "search_result")
_OWNERS = {
    "tool_use": "assistant",
    "tool_result": "user",
    "image": "user",
    **dict.fromkeys(_THINKING, "assistant"),
}
_KINDS = frozenset(
    (
        *("text", "tool_use", "tool_result", "container_upload", "compaction", "fallback"),
        *("tool_addition", "tool_removal", "mcp_tool_listing", *_MEDIA, *_THINKING),
    )
)
_SERVER_KINDS = ("_tool_use", "_tool_result")
"""Endings of the blocks of server tools; new tools appear often, and all are named alike."""
_IN_RESULTS = frozenset(("text", "tool_reference", "browser_state", *_MEDIA))
_WITHOUT_ID = frozenset(("text", "tool_result", *_MEDIA, *_THINKING))
_SYSTEM_FIELDS = frozenset(("role", "content", "output_config", "clear_at"))
_UNREADABLE = ("shape", "role", "unknown_block", "block_role")
"""Faults after which pairing is not checked: what the unreadable block answers is not known."""


class Block(NamedTuple):
    """A block of content; `message` is the index of its message."""

    kind: str
    fields: Fields
    message: int

    @property
    def place(self) -> str:
        """The path of the block."""
        return self.fields.place


class Message(NamedTuple):
    """A message and its readable blocks; a string counts as one text block."""

    place: str
    role: str
    blocks: list[Block]
    is_directive: bool = False
    """Whether it is a system message that sets output options and needs no content."""


class Turn(NamedTuple):
    """Consecutive messages of one role, which the API merges."""

    role: str
    messages: list[Message]

    @property
    def blocks(self) -> list[Block]:
        """All blocks of the turn."""
        return [block for message in self.messages for block in message.blocks]


class Model:
    """What a model takes, by its name; an unknown name is held to no rule of a model."""

    _NAME = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?")

    def __init__(self, name: str | None) -> None:
        self.name = (name or "").lower()
        self.cloud = cloud_of(self.name)
        self.facts = known_model(self.name)
        found = self._NAME.search(self.name)
        version = (int(found[1]), int(found[2] or 0)) if found else None
        preview = "mythos-preview" in self.name
        self.refuses_prefill = preview or (version is not None and version >= (4, 6))
        self.refuses_system_messages = preview or (version is not None and version < (4, 8))
        self.max_images = self.facts.images.count or rules.ANTHROPIC_IMAGE_COUNT.accepted

    def needs_signature(self, block: Block) -> bool:
        """Whether thinking must be signed; DeepSeek, Kimi and MiMo sign nothing on this wire."""
        return not has_unsigned_thinking(self.name) if self.name else block.fields.get("signature") != ""

    def refused_media(self) -> tuple[str, ...]:
        """The kinds of blocks that a model without image input refuses."""
        if not self.facts.prefix or "image_input" in self.facts.features:
            return ()
        return ("image",) if self.facts.provider == "anthropic" else ("image", "document")


def check_request(body: Fields, model_name: str | None) -> None:
    """Find what the Messages API refuses or misreads in a request."""
    findings, model = body.findings, Model(model_name)
    messages = _read_messages(body)
    images = sum(_check_blocks(message, model) for message in messages)
    _check_images(findings, messages, model, images)
    _check_citations(findings, messages)
    if not findings.any_of(_UNREADABLE):
        _check_order(body, messages, model)
        turns = [Turn(role, list(group)) for role, group in groupby(messages, key=lambda one: one.role)]
        _check_turns(findings, turns)
        _Pairing(findings).check(turns)
        _check_server_tools(findings, turns)
    _check_system(body)
    _check_tools(body)
    _check_settings(body)
    _check_caching(body, messages)
    if model.cloud is not None:
        _check_cloud(body, messages, model)
    size, limit = check_texts(body), rules.ANTHROPIC_REQUEST_MEGABYTES.accepted[model.cloud] * 1024 * 1024
    if size > limit:
        findings.add("messages", "request_size", f"{size} characters, more than {limit}")


# Reading messages.


def _read_messages(body: Fields) -> list[Message]:
    found: list[Message] = []
    for index, fields in enumerate(body.each_object("messages")):
        if fields is None:
            continue
        role = fields.get("role")
        if role not in _ROLES:
            fields.add("role", "role", f"role {short(role)} is not one of {', '.join(_ROLES)}")
            role = ""
        else:
            known = _SYSTEM_FIELDS if role == "system" else ("role", "content")
            # A name that is not ASCII may be invalid Unicode, which is a fault of its own.
            extra = [name for name in fields.names() if name.isascii() and name not in known]
            _refuse_fields(fields, extra, "a message")
        directive = role == "system" and fields.has("output_config")
        found.append(Message(fields.place, role, _read_content(fields, index), directive))
    if as_list(body.get("messages")) == []:
        body.add("messages", "no_messages", "there are no messages")
    return found


def _read_content(message: Fields, index: int) -> list[Block]:
    content = message.get("content")
    if isinstance(content, str):
        text = Fields(message.findings, message.at("content"), {"type": "text", "text": content})
        return [Block("text", text, index)] if content else []
    if as_list(content) is None:
        message.add("content", "shape", f"must be a string or a list of blocks, is {type_of(content)}")
        return []
    return list(_read_blocks(message, "content", index))


def _read_blocks(holder: Fields, key: str, index: int) -> Iterator[Block]:
    for fields in holder.each_object(key):
        kind = fields.text("type") if fields else None
        if fields and kind is not None:
            refused = rules.ANTHROPIC_FOREIGN_FIELDS.accepted | (
                {"id", "name"} if kind in _WITHOUT_ID else set()
            )
            _refuse_fields(fields, [name for name in fields.names() if name in refused], "such a block")
            yield Block(kind, fields, index)


def _refuse_fields(fields: Fields, found: list[str], noun: str) -> None:
    if found:  # one fault for all of them: they have one cause
        fields.add(found[0], "unknown_field", f"{noun} has no {', '.join(map(short, found[:5]))}")


def _nested(block: Block) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A block, the blocks of its result and those of its document, with paths."""
    return _nested_in(block.place, block.fields.values)


def _nested_in(place: str, block: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield place, block
    source = as_object(block.get("source")) or {}
    for path, holder in ((f"{place}.content", block), (f"{place}.source.content", source)):
        for index, part in enumerate(objects_in(holder.get("content"))):
            yield from _nested_in(f"{path}[{index}]", part)


# Blocks, each by itself. These functions return the count of images.


def _check_blocks(message: Message, model: Model) -> int:
    images = 0
    for block in message.blocks:
        owner = _OWNERS.get(block.kind)
        if message.role == "system" and block.kind != "text":
            block.fields.add("type", "system_content", f"{short(block.kind)} in a system message")
        elif message.role in ("user", "assistant") and owner not in (None, message.role):
            block.fields.add("type", "block_role", f"{short(block.kind)} in a message of the {message.role}")
        elif block.kind == "thinking" and not model.needs_signature(block):
            block.fields.text("thinking")
        else:
            images += _check_block(block)
        refused = model.refused_media()
        for place, part in _nested(block) if refused else ():
            if part.get("type") in refused:
                text = f"the model does not take {short(part['type'])}"
                block.fields.findings.add(place, "media_for_model", text)
    return images


def _check_block(block: Block) -> int:
    if block.kind not in _KINDS and not block.kind.endswith(_SERVER_KINDS):
        block.fields.add("type", "unknown_block", f"there is no block of type {short(block.kind)}")
    elif block.kind == "tool_result":
        return _check_result(block)
    elif block.kind in ("image", "document"):
        return _check_media(block)
    elif block.kind in _BLOCK_CHECKS:
        _BLOCK_CHECKS[block.kind](block.fields)
    return 0


def _check_text(block: Fields) -> None:
    text = block.text("text")
    if text is not None and not text.strip():
        block.add("", "empty_text", "the text is only whitespace" if text else "the text is empty")


def _check_call(block: Fields) -> None:
    call_id, name = block.text("id"), block.text("name")
    if call_id is not None and not rules.ANTHROPIC_CALL_ID.accepted.fullmatch(call_id):
        block.add("id", "call_id", f"id {short(call_id)} is empty or has other characters")
    if name is not None and not rules.ANTHROPIC_TOOL_NAME.accepted.fullmatch(name):
        block.add("name", "call_name", f"{short(name)} is no name of a tool")
    if as_object(block.get("input")) is None:
        block.add("input", "call_input", f"must be an object, is {type_of(block.get('input'))}")


def _check_thinking(block: Fields) -> None:
    block.text("thinking")
    _check_sealed(block, "signature")


def _check_sealed(block: Fields, key: str = "data") -> None:
    if not isinstance(block.get(key), str) or not block.get(key):
        block.add(key, "thinking_signature", f"the block has no {key}")


_BLOCK_CHECKS: dict[str, Callable[[Fields], None]] = {
    "text": _check_text,
    "tool_use": _check_call,
    "thinking": _check_thinking,
    "redacted_thinking": _check_sealed,
}


def _check_result(block: Block) -> int:
    fields = block.fields
    fields.text("tool_use_id")
    content, is_error = fields.get("content"), fields.get("is_error")
    if is_error is not None and not isinstance(is_error, bool):
        fields.add("is_error", "shape", f"must be a boolean, is {type_of(is_error)}")
    if content is None or isinstance(content, str):
        return 0
    if as_list(content) is None:
        fields.add(
            "content", "result_content", f"must be a string or a list of blocks, is {type_of(content)}"
        )
        return 0
    images = 0
    for part in _read_blocks(fields, "content", block.message):
        if is_error is True and part.kind in _MEDIA:
            part.fields.add("type", "failed_result", f"{short(part.kind)} in a result that is an error")
        if part.kind not in _IN_RESULTS:
            part.fields.add("type", "result_content", f"{short(part.kind)} in a result")
        elif part.kind == "text":
            part.fields.text("text")  # an empty text is accepted here
        else:
            images += _check_block(part) if part.kind in _MEDIA else 0
    return images


_SOURCES = {
    "image": {"base64": "data", "url": "url", "file": "file_id"},
    "document": {"base64": "data", "url": "url", "file": "file_id", "text": "data", "content": ""},
}
_MEDIA_TYPES = {
    ("image", "base64"): rules.ANTHROPIC_IMAGE_TYPES.accepted,
    ("document", "base64"): ("application/pdf",),
    ("document", "text"): ("text/plain",),
}


def _check_media(block: Block) -> int:
    images = int(block.kind == "image")
    values = as_object(block.fields.get("source"))
    if values is None:
        block.fields.add("source", "media_source", f"the {block.kind} has no source")
        return images
    source = Fields(block.fields.findings, block.fields.at("source"), values)
    kind, sources = source.get("type"), _SOURCES[block.kind]
    if not isinstance(kind, str) or kind not in sources:
        source.add("type", "media_source", f"source {short(kind)} is not one of {', '.join(sources)}")
        return images
    if kind == "content":
        return _check_document_content(block, source)
    types, media_type = _MEDIA_TYPES.get((block.kind, kind)), source.get("media_type")
    if types is not None and media_type not in types:
        source.add("media_type", "media_type", f"type {short(media_type)} is not one of {', '.join(types)}")
    _check_data(source, sources[kind], is_image=block.kind == "image")
    return images


def _check_data(source: Fields, key: str, *, is_image: bool) -> None:
    value, inline = source.get(key), source.get("type") == "base64"
    longest = rules.ANTHROPIC_IMAGE_LENGTH.accepted[""]
    if not isinstance(value, str) or not value:
        source.add(key, "media_source", f"the source has no {key}")
    elif key == "url" and not value.lower().startswith(("https://", "http://")):
        source.add(key, "media_source", "the address is not http or https")
    elif inline and is_image and len(value) > longest:
        source.add(key, "media_size", f"{len(value)} characters of base64, more than {longest}")
    elif inline and not is_base64(value):
        source.add(key, "media_data", "the data is not plain base64")
    if inline:
        check_signature(source, "media_type", source.get("media_type"), value)


def _check_document_content(block: Block, source: Fields) -> int:
    if isinstance(source.get("content"), str):
        return 0
    if not source.has("content"):
        source.add("content", "media_source", "the source has no content")
        return 0
    images = 0
    for part in _read_blocks(source, "content", block.message):
        if part.kind == "image":
            images += _check_media(part)
        elif part.kind == "text":
            part.fields.text("text")
        else:
            part.fields.add("type", "media_source", f"{short(part.kind)} inside a document")
    return images


# All messages: images, citations, order.


def _check_images(findings: Findings, messages: list[Message], model: Model, count: int) -> None:
    limits, types = model.facts.images, rules.ANTHROPIC_IMAGE_TYPES.accepted
    side = limits.side or rules.ANTHROPIC_IMAGE_SIDE.accepted
    if count > (limits.many or rules.ANTHROPIC_MANY_IMAGES.accepted):
        side = limits.many_side or rules.ANTHROPIC_MANY_IMAGES_SIDE.accepted
    parts = (part for message in messages for block in message.blocks for part in _nested(block))
    for place, part in parts:
        source = as_object(part.get("source")) or {}
        if part.get("type") != "image" or source.get("type") != "base64":
            continue
        data, declared = _decoded(source.get("data")), source.get("media_type")
        found, longest = image_type(data), max(size_of(data) or (0,))
        if found and declared in types and found != declared:
            findings.add(
                f"{place}.source.media_type", "media_type", f"type {short(declared)}, but it is {found}"
            )
        if longest > side:
            findings.add(
                place, "image_side", f"{longest} pixels, more than {side}, in a request of {count} images"
            )
    if count > model.max_images:
        findings.add("messages", "image_count", f"{count} images, more than {model.max_images}")


def _decoded(data: Any) -> bytes:
    try:
        return b64decode(data, validate=True) if isinstance(data, str) else b""
    except (NotBase64, ValueError):
        return b""  # which is a fault of its own


def _check_citations(findings: Findings, messages: list[Message]) -> None:
    """Find the first document, and the first search result, that differs from the first in citations."""
    blocks = [block for message in messages if message.role == "user" for block in message.blocks]
    parts = [part for block in blocks for part in _nested(block)]
    for kind in ("document", "search_result"):
        found = [(place, _is_cited(part)) for place, part in parts if part.get("type") == kind]
        other = next((place for place, cited in found if cited != found[0][1]), None)
        if other is not None:
            state = "off" if found[0][1] else "on"
            findings.add(other, "citations_mixed", f"citations are {state} here, unlike at {found[0][0]}")


def _is_cited(part: Mapping[str, Any]) -> bool:
    return (as_object(part.get("citations")) or {}).get("enabled") is True


def _check_order(body: Fields, messages: list[Message], model: Model) -> None:
    findings = body.findings
    if messages and messages[0].role == "assistant" and model.cloud == "bedrock":
        findings.add(messages[0].place, "first_message", "the first message is the assistant's")
    for index, message in enumerate(messages):
        last = index == len(messages) - 1
        if not (message.blocks or message.is_directive or (last and message.role == "assistant")):
            findings.add(f"{message.place}.content", "empty_content", f"the {message.role} message is empty")
        if message.role == "system" and not message.is_directive:
            _check_system_place(findings, messages, index, model)
    ends_with_assistant = bool(messages) and messages[-1].role == "assistant"
    if ends_with_assistant:
        _check_prefill(findings, messages[-1], model)
    thinking = as_object(body.get("thinking")) or {}
    if thinking.get("type") == "enabled" and not (ends_with_assistant and model.refuses_prefill):
        _check_thinking_first(findings, messages)


def _check_system_place(findings: Findings, messages: list[Message], index: int, model: Model) -> None:
    place = messages[index].place
    if model.refuses_system_messages:
        findings.add(place, "system_unsupported", "this model takes instructions at the top only")
    elif index == 0:
        findings.add(place, "system_place", "the first message is a system message: use the system parameter")
    elif not _may_precede_system(messages[index - 1]):
        findings.add(place, "system_place", f"it follows a message of the {messages[index - 1].role}")
    elif index + 1 < len(messages) and messages[index + 1].role == "user":
        findings.add(place, "system_place", "a message of the user follows it")


def _may_precede_system(message: Message) -> bool:
    last = message.blocks[-1].kind if message.blocks else ""
    is_server_tool = last == "server_tool_use" or last.endswith("_tool_result")
    return message.role == "user" or (message.role == "assistant" and is_server_tool)


def _check_prefill(findings: Findings, message: Message, model: Model) -> None:
    # An open call is found as unanswered; a turn that a server tool paused is continued as it is.
    if not {block.kind for block in message.blocks} <= {"text", *_THINKING}:
        return
    text = message.blocks[-1].fields.get("text") if message.blocks else None
    if model.refuses_prefill:
        findings.add(message.place, "prefill", "the last message is the assistant's")
    elif isinstance(text, str) and text.strip() and text != text.rstrip():
        findings.add(message.blocks[-1].place, "prefill_whitespace", "the last message ends in whitespace")


def _check_thinking_first(findings: Findings, messages: list[Message]) -> None:
    """Check that the assistant's latest turn, with the tool results inside it, begins with thinking."""
    first: Block | None = None
    for message in reversed(messages):
        has_results = any(block.kind == "tool_result" for block in message.blocks)
        if message.role == "user" and not has_results:
            break
        if message.role == "assistant" and message.blocks:
            first = message.blocks[0]
    if first is not None and first.kind not in _THINKING:
        findings.add(first.place, "thinking_first", f"the turn begins with {first.kind}")


# Turns: calls and their results.


def _check_turns(findings: Findings, turns: list[Turn]) -> None:
    for turn in turns:
        last = turn.messages[-1].blocks
        if turn.role == "assistant" and last and last[-1].kind in _THINKING:
            findings.add(last[-1].place, "thinking_last", "nothing follows this thinking in its turn")


class _Pairing:
    """Pairs each call with the result in the turn after it."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._ids: set[str] = set()
        self._open: list[tuple[str, str]] = []
        self._unanswered: dict[str, str] = {}

    def check(self, turns: list[Turn]) -> None:
        """Find calls without a result and results without a call."""
        for turn in turns:
            if turn.role == "assistant":
                self._leave_open()
                self._read_calls(turn)
            elif turn.role == "user":
                self._read_results(turn)
        self._leave_open()
        for call_id, place in self._unanswered.items():
            self._findings.add(place, "unanswered_call", f"call {short(call_id)} has no result")

    def _leave_open(self) -> None:
        self._unanswered.update(self._open)
        self._open = []

    def _read_calls(self, turn: Turn) -> None:
        for block in turn.blocks:
            call_id = block.fields.get("id")
            if block.kind != "tool_use" or not isinstance(call_id, str):
                continue
            if call_id in self._ids:
                text = f"an earlier call has the id {short(call_id)}"
                self._findings.add(f"{block.place}.id", "duplicate_call_id", text)
            self._ids.add(call_id)
            self._open.append((call_id, block.place))

    def _read_results(self, turn: Turn) -> None:
        wanted, given = Counter(call_id for call_id, _ in self._open), Counter[str]()
        results: list[Block] = []
        others, displaced = False, False
        for block in turn.blocks:
            call_id = block.fields.get("tool_use_id")
            if block.kind != "tool_result" or not isinstance(call_id, str):
                others = True
            elif given[call_id] < wanted[call_id]:
                given[call_id] += 1
                results.append(block)
                if others and not displaced:
                    self._findings.add(
                        block.place, "results_first", "another block stands before this result"
                    )
                displaced = others
            else:
                self._refuse(block, call_id, again=call_id in given)
        self._open = [(call_id, place) for call_id, place in self._open if call_id not in given]
        self._leave_open()
        apart = next((block for block in results if block.message != results[0].message), None)
        if apart is not None and not displaced:
            text = f"the results of one turn are in messages {results[0].message} and {apart.message}"
            self._findings.add(apart.place, "results_split", text)

    def _refuse(self, block: Block, call_id: str, *, again: bool) -> None:
        if again:
            self._findings.add(block.place, "duplicate_result", f"call {short(call_id)} has a result already")
        elif call_id in self._unanswered:
            text = f"call {short(call_id)} is at {self._unanswered.pop(call_id)}, not in the message before"
            self._findings.add(block.place, "late_result", text)
        else:
            text = f"the message before has no call {short(call_id)}"
            self._findings.add(block.place, "orphan_result", text)


def _check_server_tools(findings: Findings, turns: list[Turn]) -> None:
    """Pair the uses of server and MCP tools with their results, which may come in a later turn.

    A paused turn goes on after tool results of the user; it does not after anything else of the user.
    """
    seen: set[str] = set()
    waiting: dict[str, str] = {}
    unanswered: dict[str, str] = {}
    for turn in turns:
        for block in turn.blocks:
            is_use = block.kind in ("server_tool_use", "mcp_tool_use")
            call_id = block.fields.get("id" if is_use else "tool_use_id")
            if not isinstance(call_id, str):
                continue
            if is_use:
                seen.add(call_id)
                waiting[call_id] = block.place
            elif block.kind.endswith("_tool_result"):
                waiting.pop(call_id, None)
                unanswered.pop(call_id, None)
                if call_id not in seen:
                    text = f"no server tool use {short(call_id)} comes before it"
                    findings.add(block.place, "orphan_server_result", text)
        if turn.role == "user" and any(block.kind != "tool_result" for block in turn.blocks):
            unanswered |= waiting
    for call_id, place in unanswered.items():
        text = f"server tool use {short(call_id)} has no result, and a message of the user follows"
        findings.add(place, "unanswered_server_call", text)


# Around the messages: instructions, tools, settings, cache, clouds.


def _check_system(body: Fields) -> None:
    system = body.get("system")
    if system is None or isinstance(system, str):
        return
    if as_list(system) is None:
        body.add(
            "system", "system_content", f"must be a string or a list of text blocks, is {type_of(system)}"
        )
        return
    for block in _read_blocks(body, "system", 0):
        if block.kind != "text":
            block.fields.add("type", "system_content", f"{short(block.kind)} in the instructions")
        elif block.fields.get("text") == "":
            block.fields.add("", "empty_text", "the text is empty")


def _check_tools(body: Fields) -> None:
    names = ToolNames()
    for tool in body.each_object("tools") if body.has("tools") else ():
        if tool is not None:
            _check_tool(tool, names)
    _check_strict_counts(body)
    if body.has("tool_choice"):
        _check_choice(body, names)


def _check_tool(tool: Fields, names: ToolNames) -> None:
    name = tool.get("name")
    if tool.get("type") in (None, "custom"):
        if not isinstance(name, str) or not rules.ANTHROPIC_TOOL_NAME.accepted.fullmatch(name):
            tool.add("name", "tool_name", f"{short(name)} is no name of a tool")
        _check_input_schema(tool)
    # The tools of an MCP server are not listed by name, so any name may be one of them.
    names.add(tool, name if isinstance(name, str) else None)


def _check_input_schema(tool: Fields) -> None:
    key, schema = "input_schema", as_object(tool.get("input_schema"))
    if schema is None:
        tool.add(key, "tool_schema", f"must be an object, is {type_of(tool.get(key))}")
    elif schema.get("type") != "object":
        tool.add(f"{key}.type", "tool_schema", "the schema is not of type object")
    elif union := next((word for word in rules.ANTHROPIC_TOP_KEYWORDS.accepted if word in schema), None):
        tool.add(f"{key}.{union}", "tool_schema", f"{union} at the top of the schema")
    else:
        for name in as_object(schema.get("properties")) or {}:
            if not isinstance(name, str) or not rules.ANTHROPIC_PROPERTY_NAME.accepted.fullmatch(name):
                tool.add(
                    f"{key}.properties.{name}", "tool_property", f"{short(name)} is no name of a property"
                )
        check_schema(tool, key)
        check_strict(tool, key, ANTHROPIC_STRICT)


def _check_strict_counts(body: Fields) -> None:
    strict = [tool for tool in objects_in(body.get("tools")) if tool.get("strict") is True]
    schemas = [as_object(one) or {} for tool in strict for _, one in subschemas(tool.get("input_schema"), "")]
    unions = sum("anyOf" in schema or as_list(schema.get("type")) is not None for schema in schemas)
    counts = (len(strict), sum(map(_count_optional, schemas)), unions)
    for (what, most), count in zip(rules.ANTHROPIC_STRICT_COUNTS.accepted.items(), counts, strict=True):
        if count > most:
            body.add("tools", "strict_count", f"{count} {what}, more than {most}")


def _count_optional(schema: Mapping[str, Any]) -> int:
    required = as_list(schema.get("required")) or ()
    return sum(name not in required for name in as_object(schema.get("properties")) or {})


def _check_choice(body: Fields, names: ToolNames) -> None:
    choice = opened(body.findings, "tool_choice", body.get("tool_choice"))
    if choice is None:
        return
    kind, name = choice.get("type"), choice.get("name")
    forced = kind in ("any", "tool")
    if kind not in ("auto", "any", "tool", "none"):
        choice.add("type", "tool_choice", f"{short(kind)} is not one of auto, any, tool, none")
    elif forced and not as_list(body.get("tools")):
        choice.add("", "tool_choice", "a tool is forced and there are no tools")
    elif kind == "tool" and not (isinstance(name, str) and (name in names or not names.complete)):
        choice.add("name", "tool_choice", f"there is no tool {short(name)}")
    elif forced and (as_object(body.get("thinking")) or {}).get("type") in ("enabled", "adaptive"):
        choice.add("", "forced_tool", "a tool is forced while thinking is on")


def _check_settings(body: Fields) -> None:
    foreign = [name for name in body.names() if name in rules.ANTHROPIC_OPENAI_FIELDS.accepted]
    _refuse_fields(body, foreign, "a request")
    budget, most = (as_object(body.get("thinking")) or {}).get("budget_tokens"), body.get("max_tokens")
    flags = (*(as_list(body.get("betas")) or ()), *(as_object(body.get("extra_headers")) or {}).values())
    interleaved = any(isinstance(flag, str) and "interleaved-thinking" in flag for flag in flags)
    if isinstance(budget, int) and isinstance(most, int) and budget >= most and not interleaved:
        body.add("thinking.budget_tokens", "thinking_budget", f"{budget} tokens to think, {most} in all")
    if "model" in body.values and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
        body.add("max_tokens", "max_tokens", "must be a number of at least 1")
    cleared = False
    for index, edit in enumerate(objects_in((as_object(body.get("context_management")) or {}).get("edits"))):
        kind = str(edit.get("type"))
        if kind.startswith("clear_thinking") and cleared:
            text = "thinking is cleared after tool uses"
            body.add(f"context_management.edits[{index}]", "edit_order", text)
        cleared = cleared or kind.startswith("clear_tool_uses")


def _check_caching(body: Fields, messages: list[Message]) -> None:
    most, short_lived, displaced = rules.ANTHROPIC_BREAKPOINTS.accepted, False, False
    for count, (place, control) in enumerate(_breakpoints(body, messages), start=1):
        lifetime = _lifetime(body.findings, place, as_object(control))
        if count == most + 1:
            body.findings.add(place, "cache_count", f"this is breakpoint {count} of at most {most}")
        if lifetime == "1h" and short_lived and not displaced:
            body.findings.add(place, "cache_order", "one hour comes after five minutes")
            displaced = True
        short_lived = short_lived or lifetime == "5m"


def _lifetime(findings: Findings, place: str, control: Mapping[str, Any] | None) -> str | None:
    lifetimes = rules.ANTHROPIC_CACHE_LIFETIMES.accepted
    if control is None or control.get("type") != "ephemeral":
        findings.add(place, "cache_shape", "must be an object of type ephemeral")
        return None
    ttl = "5m" if control.get("ttl") is None else control["ttl"]
    if ttl not in lifetimes:
        findings.add(place, "cache_shape", f"ttl {short(ttl)} is not one of {', '.join(lifetimes)}")
        return None
    return str(ttl)


def _breakpoints(body: Fields, messages: list[Message]) -> Iterator[tuple[str, Any]]:
    """Each cache_control in the order of the prompt: tools, system, messages."""
    holders = [
        (f"{key}[{at}]", one)
        for key in ("tools", "system")
        for at, one in enumerate(objects_in(body.get(key)))
    ]
    for block in (block for message in messages for block in message.blocks):
        if block.kind == "tool_result":
            inner = enumerate(objects_in(block.fields.get("content")))
            holders += [(f"{block.place}.content[{at}]", part) for at, part in inner]
        if block.kind not in _THINKING:
            holders.append((block.place, block.fields.values))
        elif block.fields.has("cache_control"):
            block.fields.add("cache_control", "cache_place", "thinking cannot be a breakpoint")
    holders.append(("", body.values))  # the API puts this one on the last block, and counts it
    for place, holder in holders:
        if holder.get("cache_control") is not None:
            yield f"{place}.cache_control".lstrip("."), holder["cache_control"]


def _check_cloud(body: Fields, messages: list[Message], model: Model) -> None:
    """Find what only Anthropic's own API takes, where the name of the model names a cloud."""
    findings, longest = body.findings, rules.ANTHROPIC_IMAGE_LENGTH.accepted
    if body.has("cache_control"):
        body.add("cache_control", "cloud_caching", "a breakpoint for the whole request")
    if model.cloud == "bedrock" and rules.ANTHROPIC_UNSTRICT_ON_BEDROCK.accepted.search(model.name):
        for index, tool in enumerate(objects_in(body.get("tools"))):
            if "strict" in tool:
                findings.add(f"tools[{index}].strict", "cloud_strict", "the model refuses the field there")
    parts = (part for message in messages for block in message.blocks for part in _nested(block))
    for place, part in parts:
        source = as_object(part.get("source")) or {}
        data = source.get("data")
        if part.get("type") == "container_upload":
            findings.add(place, "cloud_source", "an uploaded file")
        elif source.get("type") in ("url", "file"):
            findings.add(f"{place}.source", "cloud_source", f"a source of type {short(source['type'])}")
        elif (
            part.get("type") == "image"
            and isinstance(data, str)
            and longest["cloud"] < len(data) <= longest[""]
        ):
            text = f"{len(data)} characters of base64, more than {longest['cloud']}"
            findings.add(f"{place}.source.data", "media_size", text)
