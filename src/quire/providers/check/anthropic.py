"""The checks of Anthropic's Messages API: `messages.create` arguments, or a list of messages."""

from itertools import groupby
from typing import Any

from quire.providers import rules
from quire.providers.check.core import (
    Field,
    Fields,
    Findings,
    PairCheck,
    Turn,
    check_file_type,
    check_name,
    check_texts,
    short,
    version_in,
)
from quire.providers.check.schema import check_parameters, check_schema
from quire.providers.media import decode_base64, type_at_start
from quire.providers.profiles import cloud_of
from quire.tokens import UNKNOWN, facts_for, size_of

_THINKING = ("thinking", "redacted_thinking")
_MEDIA = ("image", "document", "search_result")
_NO_FOREIGN = {"": Field("none of", rule="unknown_field", values=tuple(rules.ANTHROPIC_FOREIGN_FIELDS))}
_PROPERTY = rules.NAMES["anthropic property"].accepted
_UNREADABLE = ("shape", "role", "block_kind")
"""After these faults pairing is not checked: an unreadable block may be a call or a result."""


class ModelRules:
    """The rules of one model, found by its name; none of them applies if the name is unknown."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cloud = cloud_of(name)
        self.facts = facts_for(name) if name else UNKNOWN
        version, is_preview = version_in(name, "claude"), "mythos-preview" in name
        self.refuses_prefill = is_preview or version >= (4, 6)
        self.refuses_system_messages = is_preview or (0, 0) < version < (4, 8)
        has_image_input = not self.facts.prefix or "image_input" in self.facts.features
        self.refused_media = () if has_image_input else ("image", "document")

    def must_sign(self, thinking: Fields) -> bool:
        """Whether a thinking block must be signed; services of other makers leave the signature empty."""
        return "claude" in self.name or (not self.name and thinking.get("signature") != "")


def check_request(body: Fields, model_name: str) -> None:
    """Find what the Messages API refuses or misreads in a request."""
    findings, model = body.findings, ModelRules(model_name)
    body.check("request")
    messages = [_read_message(message) for message in body.children("messages")]
    for block in [block for message in messages for block in message.parts]:
        _check_block(block, model)
    _check_media(body, model)
    if not findings.has_any(_UNREADABLE):
        _check_order(body, messages, model)
        merged = groupby(messages, key=lambda message: message.role)
        turns = [Turn("", role, [part for turn in group for part in turn.parts]) for role, group in merged]
        _check_pairs(findings, turns)
        _check_server_tools(turns)
    for block in body.children("system"):
        if block.get("text") == "":
            block.add("", "empty_text")
    _check_tools(body)
    _check_caching(body)
    size, limit = check_texts(body), rules.ANTHROPIC_REQUEST_LENGTH[model.cloud or ""]
    if size > limit:
        findings.add("messages", "request_size", f"{size} characters, more than {limit}")


# Reading messages.


def _read_message(message: Fields) -> Turn:
    role, content = str(message.get("role")), message.get("content")
    if isinstance(content, str) and content:
        return Turn(message.place, role, [message.within(message.at("content"), {"text": content}, "text")])
    return Turn(message.place, role, [block for block in message.children("content") if block.kind])


# Single blocks.


def _check_block(block: Fields, model: ModelRules) -> None:
    if block.kind == "text" and not str(block.get("text")).strip():
        block.add("", "empty_text")
    elif block.kind == "thinking" and model.must_sign(block):
        block.check("signed thinking")
    elif block.kind == "tool_result" and block.get("is_error") is True:
        for part in [part for part in block.children("content") if part.kind in _MEDIA]:
            part.add("type", "failed_result", f"{short(part.kind)} in a result that is an error")


def _check_media(body: Fields, model: ModelRules) -> None:
    limits, model_limits, parts = rules.ANTHROPIC_MEDIA_LIMITS, model.facts.images, body.findings.parts
    for part in parts:  # checking a document appends its parts to this list
        part.check_fields(_NO_FOREIGN)
        if part.kind in ("image", "document"):
            _check_source(part, model)
    images = [part for part in parts if part.kind == "image"]
    max_images, max_side = model_limits.count or limits["images"], model_limits.side or limits["side"]
    if len(images) > (model_limits.many or limits["many"]):
        max_side = model_limits.many_side or limits["side_of_many"]
    if len(images) > max_images:
        body.add("messages", "image_count", f"{len(images)} images, more than {max_images}")
    for source in [image.child("source") for image in images]:
        if source.get("type") == "base64" and isinstance(source.get("data"), str):
            _check_image(source, max_side, limits["cloud" if model.cloud else "length"])


def _check_source(block: Fields, model: ModelRules) -> None:
    source = block.child("source")
    kind = source.get("type")
    if f"{block.kind} {kind}" not in block.findings.shapes:
        block.add("source", "media_source", f"there is no {block.kind} with a source {short(kind)}")
    source.check(f"{block.kind} {kind}")
    if kind == "base64":
        check_file_type(source, "media_type", source.get("media_type"), source.get("data"))
    if model.cloud and kind in ("url", "file"):
        block.add("source", "cloud_source")
    if block.kind in model.refused_media:
        block.add("", "media_for_model")


def _check_image(source: Fields, max_side: int, max_length: int) -> None:
    data, declared = source.get("data"), source.get("media_type")
    content = decode_base64(data) or b""
    actual, pixels = type_at_start(content), max(size_of(content) or (0,))
    types = rules.ANTHROPIC_IMAGE_TYPES
    if actual in types and declared in types and actual != declared:
        source.add("media_type", "media_type", f"the bytes are {actual}")
    if pixels > max_side:
        source.add("", "image_side", f"{pixels} pixels, more than {max_side}")
    if len(data) > max_length:
        source.add("data", "media_size", f"{len(data)} characters of base64, more than {max_length}")


# The order of messages.


def _check_order(body: Fields, messages: list[Turn], model: ModelRules) -> None:
    findings, last = body.findings, messages[-1] if messages else None
    is_prefilled = last is not None and last.role == "assistant"
    if messages and messages[0].role == "assistant" and model.cloud == "bedrock":
        findings.add(messages[0].place, "first_message")
    for index, message in enumerate(body.children("messages")):
        is_directive = message.get("role") == "system" and message.has("output_config")
        is_prefill = is_prefilled and index == len(messages) - 1
        if not (message.get("content") or is_directive or is_prefill):
            message.add("content", "empty_content")
        if message.get("role") == "system" and not is_directive:
            _check_system_place(findings, messages, index, model)
    if last is not None and is_prefilled:
        _check_prefill(findings, last, model)
    if body.child("thinking").get("type") == "enabled" and not (is_prefilled and model.refuses_prefill):
        _check_thinking_first(messages)


def _check_system_place(findings: Findings, messages: list[Turn], index: int, model: ModelRules) -> None:
    place, before = messages[index].place, messages[index - 1] if index else None
    last = before.parts[-1].kind if before and before.parts else ""
    is_paused = last == "server_tool_use" or last.endswith("_tool_result")
    role_before = before.role if before else ""
    is_after_user = role_before == "user" or (role_before == "assistant" and is_paused)
    next_role = messages[index + 1].role if index + 1 < len(messages) else ""
    if model.refuses_system_messages:
        findings.add(place, "system_unsupported")
    elif not is_after_user or next_role == "user":
        findings.add(place, "system_place")


def _check_prefill(findings: Findings, message: Turn, model: ModelRules) -> None:
    # `_check_pairs` reports open calls, and a turn paused by a server tool is continued: no prefill.
    if not {block.kind for block in message.parts} <= {"text", *_THINKING}:
        return
    text = message.parts[-1].get("text") if message.parts else None
    if model.refuses_prefill:
        findings.add(message.place, "prefill")
    elif isinstance(text, str) and text.strip() and text != text.rstrip():
        message.parts[-1].add("", "prefill_whitespace")


def _check_thinking_first(messages: list[Turn]) -> None:
    """Check that the assistant's latest turn, with the tool results inside it, begins with thinking."""
    first: Fields | None = None
    for message in reversed(messages):
        if message.role == "user" and not message.parts_of("tool_result"):
            break
        if message.role == "assistant" and message.parts:
            first = message.parts[0]
    if first is not None and first.kind not in _THINKING:
        first.add("", "thinking_first", f"the turn begins with {first.kind}")


# Turns: consecutive messages of one role, which the API merges.


def _check_pairs(findings: Findings, turns: list[Turn]) -> None:
    """Pair each call with the result in the turn after it."""
    pairing = PairCheck(findings)
    for turn in turns:
        if turn.role == "assistant":
            pairing.end()
            for call in turn.parts_of("tool_use"):
                pairing.call(call, "id")
            if turn.parts and turn.parts[-1].kind in _THINKING:
                turn.parts[-1].add("", "thinking_last")
        elif turn.role == "user":
            _check_results(pairing, turn.parts)
            pairing.end()
    pairing.end()


def _check_results(pairing: PairCheck, blocks: list[Fields]) -> None:
    """Check that results come before other blocks, and stand in one message."""
    first, has_others = "", False
    for block in blocks:
        if block.kind != "tool_result":
            has_others = True
        elif pairing.result(block, "tool_use_id"):
            message = block.place.partition(".")[0]
            if has_others:
                block.add("", "results_first", "another block stands before this result")
            elif first not in ("", message):
                block.add("", "results_split", f"the results of one turn are in {first} and {message}")
            first = first or message


def _check_server_tools(turns: list[Turn]) -> None:
    """Pair the uses of server and MCP tools with their results, which may come in a later turn.

    A paused turn continues after tool results of the user, but not after other content of the user.
    """
    uses, answered, closed = dict[str, Fields](), set[str](), set[str]()
    for turn in turns:
        for block in turn.parts:
            if block.kind in ("server_tool_use", "mcp_tool_use"):
                uses[str(block.get("id"))] = block
            elif block.kind.endswith("_tool_result"):
                call_id = str(block.get("tool_use_id"))
                answered.add(call_id)
                if call_id not in uses:
                    block.add("", "orphan_server_result")
        if turn.role == "user" and len(turn.parts_of("tool_result")) < len(turn.parts):
            closed.update(uses)
    for call_id in closed - answered:
        uses[call_id].add("", "unanswered_server_call")


# Tools and breakpoints.


def _check_tools(body: Fields) -> None:
    names = list[Any]()
    for tool in body.children("tools"):
        if tool.get("type") in (None, "custom"):
            tool.check("definition")
            _check_input_schema(tool)
        check_name(tool, names)
    for part in body.findings.parts:
        if part.kind == "tool_reference" and part.get("tool_name") not in names:
            part.add("tool_name", "tool_reference")


def _check_input_schema(tool: Fields) -> None:
    key = "input_schema"
    if not check_parameters(tool, key, rules.ANTHROPIC_TOP_KEYWORDS):
        return
    for name in tool.child(key).child("properties").values:
        if not _PROPERTY.fullmatch(str(name)):
            tool.add(f"{key}.properties.{name}", "tool_property", f"{short(name)} is no name of a property")
    check_schema(tool, key)


def _check_caching(body: Fields) -> None:
    """Check the cache_control of tools, blocks and the request, in the order of the prompt."""
    limit, objects = rules.ANTHROPIC_BREAKPOINTS, (*body.children("tools"), *body.findings.parts, body)
    breakpoints = [fields for fields in objects if fields.has("cache_control")]
    for fields in breakpoints[limit : limit + 1]:
        fields.add("cache_control", "cache_count", f"this is breakpoint {limit + 1} of at most {limit}")
    for fields in breakpoints:
        if fields.kind in _THINKING:
            fields.add("cache_control", "cache_place")
