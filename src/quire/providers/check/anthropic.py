"""The checks of Anthropic's Messages API: `messages.create` arguments, or a list of messages."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
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
    is_base64,
    known_model,
    objects_in,
    short,
    version_in,
)
from quire.providers.check.schema import ANTHROPIC_STRICT, check_schema, check_strict, subschemas
from quire.providers.media import begun, bytes_of
from quire.providers.profiles import cloud_of, has_unsigned_thinking
from quire.tokens import size_of

_ROLES = ("user", "assistant", "system")
_THINKING = ("thinking", "redacted_thinking")
_MEDIA = ("image", "document", "search_result")
_OWNERS = {"tool_use": "assistant", "tool_result": "user", "image": "user"} | dict.fromkeys(
    _THINKING, "assistant"
)
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
_SYSTEM_FIELDS = ("role", "content", "output_config", "clear_at")
_SOURCES = {
    "image": {"base64": "data", "url": "url", "file": "file_id"},
    "document": {"base64": "data", "url": "url", "file": "file_id", "text": "data", "content": "content"},
}
"""The kinds of sources, and the field that each needs."""
_IMAGE_TYPES = rules.ANTHROPIC_IMAGE_TYPES.accepted
_MEDIA_TYPES = {
    ("image", "base64"): _IMAGE_TYPES,
    ("document", "base64"): ("application/pdf",),
    ("document", "text"): ("text/plain",),
}
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
    is_directive: bool
    """Whether it is a system message that sets output options and needs no content."""


class Model:
    """What a model takes, by its name; an unknown name is held to no rule of a model."""

    _NAME = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?")

    def __init__(self, name: str | None) -> None:
        self.name = (name or "").lower()
        self.cloud = cloud_of(self.name)
        self.facts = known_model(self.name)
        version, is_preview = version_in(self.name, self._NAME), "mythos-preview" in self.name
        self.refuses_prefill = is_preview or version >= (4, 6)
        self.refuses_system_messages = is_preview or (0, 0) < version < (4, 8)

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
    for message in messages:
        for block in message.blocks:
            _check_place(block, message, model)
    parts = [part for message in messages for block in message.blocks for part in _nested(block)]
    _check_images(findings, parts, model)
    _check_citations(findings, parts)
    if not findings.any_of(_UNREADABLE):
        _check_order(body, messages, model)
        turns = [(role, list(group)) for role, group in groupby(messages, key=lambda one: one.role)]
        blocks = [(role, [block for one in group for block in one.blocks]) for role, group in turns]
        _check_ends(findings, turns)
        _Pairing(findings).check(blocks)
        _check_server_tools(findings, blocks)
    _check_system(body)
    _check_tools(body)
    _check_settings(body)
    _check_caching(body, messages)
    if model.cloud is not None:
        _check_cloud(body, parts, model)
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
            _refuse_fields(fields, [name for name in fields.names() if name.isascii() and name not in known])
        is_directive = role == "system" and fields.has("output_config")
        found.append(Message(fields.place, role, _read_content(fields, index), is_directive))
    if as_list(body.get("messages")) == []:
        body.add("messages", "no_messages")
    return found


def _read_content(message: Fields, index: int) -> list[Block]:
    content = message.get("content")
    if isinstance(content, str):
        text = Fields(message.findings, message.at("content"), {"type": "text", "text": content})
        return [Block("text", text, index)] if content else []
    if as_list(content) is None:
        message.must_be("content", "a string or a list of blocks")
        return []
    return list(_read_blocks(message, "content", index))


def _read_blocks(holder: Fields, key: str, index: int) -> Iterator[Block]:
    for fields in holder.each_object(key):
        kind = fields.text("type") if fields else None
        if fields and kind is not None:
            refused = rules.ANTHROPIC_FOREIGN_FIELDS.accepted
            if kind in _WITHOUT_ID:
                refused = refused.union(("id", "name"))
            _refuse_fields(fields, [name for name in fields.names() if name in refused])
            yield Block(kind, fields, index)


def _refuse_fields(fields: Fields, found: list[str]) -> None:
    if found:  # one fault for all of them: they have one cause
        fields.add(found[0], "unknown_field", f"no such field here: {', '.join(map(short, found[:5]))}")


def _nested(block: Block) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A block, the blocks of its result and those of its document, with paths."""
    return _nested_in(block.place, block.fields.values)


def _nested_in(place: str, block: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield place, block
    source = as_object(block.get("source")) or {}
    for path, holder in ((f"{place}.content", block), (f"{place}.source.content", source)):
        for index, part in enumerate(objects_in(holder.get("content"))):
            yield from _nested_in(f"{path}[{index}]", part)


# Blocks, each by itself.


def _check_place(block: Block, message: Message, model: Model) -> None:
    owner, refused = _OWNERS.get(block.kind), model.refused_media()
    if message.role == "system" and block.kind != "text":
        block.fields.add("type", "system_content", f"{short(block.kind)} in a system message")
    elif message.role in ("user", "assistant") and owner not in (None, message.role):
        block.fields.add("type", "block_role", f"{short(block.kind)} in a message of the {message.role}")
    elif block.kind == "thinking" and not model.needs_signature(block):
        block.fields.text("thinking")
    else:
        _check_block(block)
    for place, part in _nested(block) if refused else ():
        if part.get("type") in refused:
            block.fields.findings.add(place, "media_for_model")


def _check_block(block: Block) -> None:
    fields = block.fields
    match block.kind:
        case "text":
            text = fields.text("text")
            if text is not None and not text.strip():
                fields.add("", "empty_text")
        case "tool_use":
            _check_call(fields)
        case "thinking":
            fields.text("thinking")
            _check_sealed(fields, "signature")
        case "redacted_thinking":
            _check_sealed(fields, "data")
        case "tool_result":
            _check_result(block)
        case "image" | "document":
            _check_media(block)
        case kind if kind not in _KINDS and not kind.endswith(_SERVER_KINDS):
            fields.add("type", "unknown_block", f"there is no block of type {short(kind)}")
        case _:
            pass


def _check_call(call: Fields) -> None:
    call_id, name = call.text("id"), call.text("name")
    if call_id is not None and not rules.ANTHROPIC_CALL_ID.accepted.fullmatch(call_id):
        call.add("id", "call_id", f"id {short(call_id)} is empty or has other characters")
    if name is not None and not rules.ANTHROPIC_TOOL_NAME.accepted.fullmatch(name):
        call.add("name", "call_name", f"{short(name)} is no name of a tool")
    if as_object(call.get("input")) is None:
        call.must_be("input", "an object", "call_input")


def _check_sealed(block: Fields, key: str) -> None:
    if not isinstance(block.get(key), str) or not block.get(key):
        block.add(key, "thinking_signature", f"the block has no {key}")


def _check_result(block: Block) -> None:
    fields, content, is_error = block.fields, block.fields.get("content"), block.fields.get("is_error")
    fields.text("tool_use_id")
    if is_error is not None and not isinstance(is_error, bool):
        fields.must_be("is_error", "a boolean")
    if content is None or isinstance(content, str):
        return
    if as_list(content) is None:
        fields.must_be("content", "a string or a list of blocks", "result_content")
        return
    for part in _read_blocks(fields, "content", block.message):
        if is_error is True and part.kind in _MEDIA:
            part.fields.add("type", "failed_result", f"{short(part.kind)} in a result that is an error")
        if part.kind not in _IN_RESULTS:
            part.fields.add("type", "result_content", f"{short(part.kind)} in a result")
        elif part.kind == "text":
            part.fields.text("text")  # an empty text is accepted here
        elif part.kind in _MEDIA:
            _check_block(part)


def _check_media(block: Block) -> None:
    values = as_object(block.fields.get("source"))
    if values is None:
        block.fields.add("source", "media_source", f"the {block.kind} has no source")
        return
    source, sources = Fields(block.fields.findings, block.fields.at("source"), values), _SOURCES[block.kind]
    kind, media_type = source.get("type"), source.get("media_type")
    if not isinstance(kind, str) or kind not in sources:
        source.add("type", "media_source", f"source {short(kind)} is not one of {', '.join(sources)}")
        return
    types = _MEDIA_TYPES.get((block.kind, kind))
    if types is not None and media_type not in types:
        source.add("media_type", "media_type", f"type {short(media_type)} is not one of {', '.join(types)}")
    if kind == "content" and source.has("content"):
        _check_document(block, source)
    else:
        _check_data(source, sources[kind], is_image=block.kind == "image")


def _check_document(block: Block, source: Fields) -> None:
    for part in (
        () if isinstance(source.get("content"), str) else _read_blocks(source, "content", block.message)
    ):
        if part.kind == "image":
            _check_media(part)
        elif part.kind == "text":
            part.fields.text("text")
        else:
            part.fields.add("type", "media_source", f"{short(part.kind)} inside a document")


def _check_data(source: Fields, key: str, *, is_image: bool) -> None:
    value, is_inline = source.get(key), source.get("type") == "base64"
    longest = rules.ANTHROPIC_IMAGE_LENGTH.accepted[""]
    if not isinstance(value, str) or not value:
        source.add(key, "media_source", f"the source has no {key}")
    elif key == "url" and not value.lower().startswith(("https://", "http://")):
        source.add(key, "media_source", "the address is not http or https")
    elif is_inline and is_image and len(value) > longest:
        source.add(key, "media_size", f"{len(value)} characters of base64, more than {longest}")
    elif is_inline and not is_base64(value):
        source.add(key, "media_data")
    if is_inline:
        check_signature(source, "media_type", source.get("media_type"), value)


# All messages: images, citations, order.

_Parts = list[tuple[str, Mapping[str, Any]]]


def _check_images(findings: Findings, parts: _Parts, model: Model) -> None:
    images = [(place, part) for place, part in parts if part.get("type") == "image"]
    limits, count = model.facts.images, len(images)
    most = limits.count or rules.ANTHROPIC_IMAGE_COUNT.accepted
    side = limits.side or rules.ANTHROPIC_IMAGE_SIDE.accepted
    if count > (limits.many or rules.ANTHROPIC_MANY_IMAGES.accepted):
        side = limits.many_side or rules.ANTHROPIC_MANY_IMAGES_SIDE.accepted
    for place, part in images:
        source = as_object(part.get("source")) or {}
        is_inline = source.get("type") == "base64" and isinstance(source.get("data"), str)
        data = (bytes_of(source["data"]) if is_inline else None) or b""
        found, declared, longest = begun(data), source.get("media_type"), max(size_of(data) or (0,))
        if found in _IMAGE_TYPES and declared in _IMAGE_TYPES and found != declared:
            findings.add(f"{place}.source.media_type", "media_type", f"the bytes are {found}")
        if longest > side:
            findings.add(place, "image_side", f"{longest} pixels, more than {side}; {count} images in all")
    if count > most:
        findings.add("messages", "image_count", f"{count} images, more than {most}")


def _check_citations(findings: Findings, parts: _Parts) -> None:
    """Find the first document, and the first search result, that differs from the first in citations."""
    for kind in ("document", "search_result"):
        found = [(place, _is_cited(part)) for place, part in parts if part.get("type") == kind]
        other = next((place for place, cited in found if cited != found[0][1]), None)
        if other is not None:
            state = "off" if found[0][1] else "on"
            findings.add(other, "citations_mixed", f"citations are {state} here, unlike at {found[0][0]}")


def _is_cited(part: Mapping[str, Any]) -> bool:
    return (as_object(part.get("citations")) or {}).get("enabled") is True


def _check_order(body: Fields, messages: list[Message], model: Model) -> None:
    findings, last = body.findings, messages[-1] if messages else None
    if messages and messages[0].role == "assistant" and model.cloud == "bedrock":
        findings.add(messages[0].place, "first_message")
    for index, message in enumerate(messages):
        if not (message.blocks or message.is_directive or (message is last and message.role == "assistant")):
            findings.add(f"{message.place}.content", "empty_content")
        if message.role == "system" and not message.is_directive:
            _check_system_place(findings, messages, index, model)
    is_prefilled = last is not None and last.role == "assistant"
    if last is not None and is_prefilled:
        _check_prefill(findings, last, model)
    if body.dict("thinking").get("type") == "enabled" and not (is_prefilled and model.refuses_prefill):
        _check_thinking_first(findings, messages)


def _check_system_place(findings: Findings, messages: list[Message], index: int, model: Model) -> None:
    place, before = messages[index].place, messages[index - 1] if index else None
    last = before.blocks[-1].kind if before and before.blocks else ""
    follows_tool = last == "server_tool_use" or last.endswith("_tool_result")
    if model.refuses_system_messages:
        findings.add(place, "system_unsupported")
    elif before is None:
        findings.add(place, "system_place", "the first message is a system message: use the system parameter")
    elif before.role != "user" and not (before.role == "assistant" and follows_tool):
        findings.add(place, "system_place", f"it follows a message of the {before.role}")
    elif index + 1 < len(messages) and messages[index + 1].role == "user":
        findings.add(place, "system_place", "a message of the user follows it")


def _check_prefill(findings: Findings, message: Message, model: Model) -> None:
    # An open call is found as unanswered; a turn that a server tool paused is continued as it is.
    if not {block.kind for block in message.blocks} <= {"text", *_THINKING}:
        return
    text = message.blocks[-1].fields.get("text") if message.blocks else None
    if model.refuses_prefill:
        findings.add(message.place, "prefill")
    elif isinstance(text, str) and text.strip() and text != text.rstrip():
        findings.add(message.blocks[-1].place, "prefill_whitespace")


def _check_thinking_first(findings: Findings, messages: list[Message]) -> None:
    """Check that the assistant's latest turn, with the tool results inside it, begins with thinking."""
    first: Block | None = None
    for message in reversed(messages):
        if message.role == "user" and all(block.kind != "tool_result" for block in message.blocks):
            break
        if message.role == "assistant" and message.blocks:
            first = message.blocks[0]
    if first is not None and first.kind not in _THINKING:
        findings.add(first.place, "thinking_first", f"the turn begins with {first.kind}")


# Turns: consecutive messages of one role, which the API merges.

_Turns = list[tuple[str, list[Block]]]


def _check_ends(findings: Findings, turns: list[tuple[str, list[Message]]]) -> None:
    for role, messages in turns:
        last = messages[-1].blocks[-1:]
        if role == "assistant" and last and last[0].kind in _THINKING:
            findings.add(last[0].place, "thinking_last")


class _Pairing:
    """Pairs each call with the result in the turn after it."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._ids: set[str] = set()
        self._open: list[tuple[str, str]] = []
        self._unanswered: dict[str, str] = {}

    def check(self, turns: _Turns) -> None:
        """Find calls without a result and results without a call."""
        for role, blocks in turns:
            if role == "assistant":
                self._leave_open()
                self._read_calls(blocks)
            elif role == "user":
                self._read_results(blocks)
        self._leave_open()
        for call_id, place in self._unanswered.items():
            self._findings.add(place, "unanswered_call", f"call {short(call_id)} has no result")

    def _leave_open(self) -> None:
        self._unanswered.update(self._open)
        self._open = []

    def _read_calls(self, blocks: list[Block]) -> None:
        for block in blocks:
            call_id = block.fields.get("id")
            if block.kind != "tool_use" or not isinstance(call_id, str):
                continue
            if call_id in self._ids:
                block.fields.add("id", "duplicate_call_id", f"an earlier call has the id {short(call_id)}")
            self._ids.add(call_id)
            self._open.append((call_id, block.place))

    def _read_results(self, blocks: list[Block]) -> None:
        wanted, given = Counter(call_id for call_id, _ in self._open), Counter[str]()
        results: list[Block] = []
        others, displaced = False, False
        for block in blocks:
            call_id = block.fields.get("tool_use_id")
            if block.kind != "tool_result" or not isinstance(call_id, str):
                others = True
            elif given[call_id] < wanted[call_id]:
                given[call_id] += 1
                results.append(block)
                if others and not displaced:
                    block.fields.add("", "results_first", "another block stands before this result")
                displaced = others
            else:
                self._refuse(block, call_id, again=call_id in given)
        self._open = [(call_id, place) for call_id, place in self._open if call_id not in given]
        self._leave_open()
        apart = next((block for block in results if block.message != results[0].message), None)
        if apart is not None and not displaced:
            text = f"the results of one turn are in messages {results[0].message} and {apart.message}"
            apart.fields.add("", "results_split", text)

    def _refuse(self, block: Block, call_id: str, *, again: bool) -> None:
        if again:
            block.fields.add("", "duplicate_result", f"call {short(call_id)} has a result already")
        elif call_id in self._unanswered:
            text = f"call {short(call_id)} is at {self._unanswered.pop(call_id)}, not in the message before"
            block.fields.add("", "late_result", text)
        else:
            block.fields.add("", "orphan_result", f"the message before has no call {short(call_id)}")


def _check_server_tools(findings: Findings, turns: _Turns) -> None:
    """Pair the uses of server and MCP tools with their results, which may come in a later turn.

    A paused turn goes on after tool results of the user, not after anything else of the user.
    """
    seen, waiting, unanswered = set[str](), dict[str, str](), dict[str, str]()
    for role, blocks in turns:
        for block in blocks:
            is_use = block.kind in ("server_tool_use", "mcp_tool_use")
            call_id = block.fields.get("id" if is_use else "tool_use_id")
            if is_use and isinstance(call_id, str):
                seen.add(call_id)
                waiting[call_id] = block.place
            elif block.kind.endswith("_tool_result") and isinstance(call_id, str):
                waiting.pop(call_id, None)
                unanswered.pop(call_id, None)
                if call_id not in seen:
                    block.fields.add("", "orphan_server_result")
        if role == "user" and any(block.kind != "tool_result" for block in blocks):
            unanswered |= waiting
    for place in unanswered.values():
        findings.add(place, "unanswered_server_call")


# Around the messages: instructions, tools, settings, cache, clouds.


def _check_system(body: Fields) -> None:
    if not body.has("system") or isinstance(body.get("system"), str):
        return
    if as_list(body.get("system")) is None:
        body.add("system", "system_content")
        return
    for block in _read_blocks(body, "system", 0):
        if block.kind != "text":
            block.fields.add("type", "system_content", f"{short(block.kind)} in the instructions")
        elif block.fields.get("text") == "":
            block.fields.add("", "empty_text")


def _check_tools(body: Fields) -> None:
    names = ToolNames()
    for tool in body.each_object("tools") if body.has("tools") else ():
        if tool is None:
            continue
        name = tool.get("name")
        if tool.get("type") in (None, "custom"):
            if not isinstance(name, str) or not rules.ANTHROPIC_TOOL_NAME.accepted.fullmatch(name):
                tool.add("name", "tool_name", f"{short(name)} is no name of a tool")
            _check_input_schema(tool)
        if isinstance(name, str) and name in names:
            tool.add("name", "duplicate_tool", f"another tool is named {short(name)}")
        names.read(name)  # an MCP server does not list its tools, so that any name may be one of them
    _check_strict_counts(body)
    if body.has("tool_choice"):
        _check_choice(body, names)


def _check_input_schema(tool: Fields) -> None:
    key, schema = "input_schema", as_object(tool.get("input_schema"))
    if schema is None:
        tool.must_be(key, "an object", "tool_schema")
    elif schema.get("type") != "object":
        tool.add(f"{key}.type", "tool_schema", "the schema is not of type object")
    elif union := next((word for word in rules.ANTHROPIC_TOP_KEYWORDS.accepted if word in schema), None):
        tool.add(f"{key}.{union}", "tool_schema", f"{union} at the top of the schema")
    else:
        for name in as_object(schema.get("properties")) or {}:
            if not rules.ANTHROPIC_PROPERTY_NAME.accepted.fullmatch(str(name)):
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
    choice = body.object("tool_choice")
    if choice is None:
        return
    kind, name = choice.get("type"), choice.get("name")
    forced = kind in ("any", "tool")
    if kind not in ("auto", "any", "tool", "none"):
        choice.add("type", "tool_choice", f"{short(kind)} is not one of auto, any, tool, none")
    elif forced and not as_list(body.get("tools")):
        choice.add("", "tool_choice", "a tool is forced and there are no tools")
    elif kind == "tool" and not (isinstance(name, str) and names.may_have(name)):
        choice.add("name", "tool_choice", f"there is no tool {short(name)}")
    elif forced and body.dict("thinking").get("type") in ("enabled", "adaptive"):
        choice.add("", "forced_tool")


def _check_settings(body: Fields) -> None:
    _refuse_fields(body, [name for name in body.names() if name in rules.ANTHROPIC_OPENAI_FIELDS.accepted])
    budget, most = body.dict("thinking").get("budget_tokens"), body.get("max_tokens")
    flags = (*(as_list(body.get("betas")) or ()), *body.dict("extra_headers").values())
    is_interleaved = any(isinstance(flag, str) and "interleaved-thinking" in flag for flag in flags)
    if isinstance(budget, int) and isinstance(most, int) and budget >= most and not is_interleaved:
        body.add("thinking.budget_tokens", "thinking_budget", f"{budget} tokens to think, {most} in all")
    if "model" in body.values and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
        body.add("max_tokens", "max_tokens")
    edits = objects_in(body.dict("context_management").get("edits"))
    kinds = [str(edit.get("type")) for edit in edits]
    for index, kind in enumerate(kinds):
        cleared = any(earlier.startswith("clear_tool_uses") for earlier in kinds[:index])
        if kind.startswith("clear_thinking") and cleared:
            body.add(f"context_management.edits[{index}]", "edit_order")


def _check_caching(body: Fields, messages: list[Message]) -> None:
    most, short_lived, displaced = rules.ANTHROPIC_BREAKPOINTS.accepted, False, False
    for count, (place, control) in enumerate(_breakpoints(body, messages), start=1):
        values = as_object(control) or {}
        ttl = "5m" if values.get("ttl") is None else values["ttl"]
        is_valid = values.get("type") == "ephemeral" and ttl in rules.ANTHROPIC_CACHE_LIFETIMES.accepted
        if not is_valid:
            body.findings.add(place, "cache_shape")
        if count == most + 1:
            body.findings.add(place, "cache_count", f"this is breakpoint {count} of at most {most}")
        if is_valid and ttl == "1h" and short_lived and not displaced:
            body.findings.add(place, "cache_order")
            displaced = True
        short_lived = short_lived or (is_valid and ttl == "5m")


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
            block.fields.add("cache_control", "cache_place")
    holders.append(("", body.values))  # the API puts this one on the last block, and counts it
    for place, holder in holders:
        if holder.get("cache_control") is not None:
            yield f"{place}.cache_control".lstrip("."), holder["cache_control"]


def _check_cloud(body: Fields, parts: _Parts, model: Model) -> None:
    """Find what only Anthropic's own API takes, where the name of the model names a cloud."""
    findings, longest = body.findings, rules.ANTHROPIC_IMAGE_LENGTH.accepted
    if body.has("cache_control"):
        body.add("cache_control", "cloud_caching")
    if model.cloud == "bedrock" and rules.ANTHROPIC_UNSTRICT_ON_BEDROCK.accepted.search(model.name):
        for index, tool in enumerate(objects_in(body.get("tools"))):
            if "strict" in tool:
                findings.add(f"tools[{index}].strict", "cloud_strict")
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
