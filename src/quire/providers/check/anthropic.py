"""The checks of Anthropic's Messages API: `messages.create` arguments, or a list of messages."""

import re
from collections.abc import Iterator
from itertools import groupby

from quire.providers import rules
from quire.providers.check.core import (
    Fields,
    Findings,
    Pairing,
    Turn,
    as_object,
    check_signature,
    check_texts,
    known_model,
    short,
    version_in,
)
from quire.providers.check.schema import check_parameters, check_schema
from quire.providers.media import begun, bytes_of
from quire.providers.profiles import cloud_of, has_unsigned_thinking
from quire.tokens import size_of

_ROLES = ("user", "assistant", "system")
_THINKING = ("thinking", "redacted_thinking")
_MEDIA = ("image", "document", "search_result")
_WITHOUT_ID = ("text", "tool_result", *_MEDIA, *_THINKING)
_SYSTEM_FIELDS = ("role", "content", "output_config", "clear_at")
_IMAGE_TYPES = rules.ANTHROPIC_IMAGE_TYPES.accepted
_PROPERTY = rules.NAMES["anthropic property"].accepted
_UNREADABLE = ("shape", "role", "unknown_block", "block_role")
"""Faults after which pairing is not checked: what the unreadable block answers is not known."""
_PAIRING = ("unanswered_call", "orphan_result", "late_result", "duplicate_result")
_NAME = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?")


class Model:
    """What a model takes, by its name; an unknown name is held to no rule of a model."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cloud = cloud_of(name)
        self.facts = known_model(name)
        version, is_preview = version_in(name, _NAME), "mythos-preview" in name
        self.refuses_prefill = is_preview or version >= (4, 6)
        self.refuses_system_messages = is_preview or (0, 0) < version < (4, 8)

    def needs_signature(self, thinking: Fields) -> bool:
        """Whether thinking must be signed; DeepSeek, Kimi and MiMo sign nothing on this wire."""
        return not has_unsigned_thinking(self.name) if self.name else thinking.get("signature") != ""

    def refused_media(self) -> tuple[str, ...]:
        """The kinds of blocks that a model without image input refuses."""
        if not self.facts.prefix or "image_input" in self.facts.features:
            return ()
        return ("image",) if self.facts.provider == "anthropic" else ("image", "document")


def check_request(body: Fields, model_name: str) -> None:
    """Find what the Messages API refuses or misreads in a request."""
    findings, model = body.findings, Model(model_name)
    body.check("request")
    messages = _read_messages(body)
    blocks = [block for message in messages for block in message.parts]
    for block in blocks:
        if block.kind == "thinking" and model.needs_signature(block):
            block.check("signed thinking")
        _check_block(block)
    _check_all_media(body, [part for block in blocks for part in _nested(block)], model)
    if not findings.any_of(_UNREADABLE):
        _check_order(body, messages, model)
        merged = groupby(messages, key=lambda message: message.role)
        turns = [Turn("", role, [part for one in group for part in one.parts]) for role, group in merged]
        _check_pairs(findings, turns)
        _check_server_tools(findings, turns)
    _check_system(body)
    _check_tools(body)
    _check_caching(body, blocks)
    size, limit = check_texts(body), rules.ANTHROPIC_REQUEST_LENGTH.accepted[model.cloud or ""]
    if size > limit:
        findings.add("messages", "request_size", f"{size} characters, more than {limit}")


# Reading messages.


def _read_messages(body: Fields) -> list[Turn]:
    found: list[Turn] = []
    for message in body.inners("messages"):
        role = message.get("role") if message.get("role") in _ROLES else ""
        known = _SYSTEM_FIELDS if role == "system" else ("role", "content")
        # A name that is not ASCII may be invalid Unicode, which is a fault of its own.
        unknown = [name for name in message.names() if name.isascii() and name not in known]
        _refuse_fields(message, unknown if role else [])
        content = message.get("content")
        blocks = list(_read_blocks(message, "content", role or "any role"))
        if isinstance(content, str) and content:
            blocks = [message.within(message.at("content"), {"text": content}, "text")]
        found.append(Turn(message.place, role, blocks))
    return found


def _read_blocks(holder: Fields, key: str, place: str, rule: str = "shape") -> Iterator[Fields]:
    foreign = rules.ANTHROPIC_FOREIGN_FIELDS.accepted
    for block in holder.parts(key, place, rule):
        refused = foreign.union(("id", "name")) if block.kind in _WITHOUT_ID else foreign
        _refuse_fields(block, [name for name in block.names() if name in refused])
        yield block


def _refuse_fields(fields: Fields, found: list[str]) -> None:
    if found:  # one fault for all of them: they have one cause
        fields.add(found[0], "unknown_field", f"no such field here: {', '.join(map(short, found[:5]))}")


def _nested(block: Fields) -> Iterator[Fields]:
    """A block, the blocks of its result and those of its document."""
    yield block
    for part in (*block.inners("content"), *block.inner("source").inners("content")):
        yield from _nested(part)


# Blocks, each by itself.


def _check_block(block: Fields) -> None:
    text = block.get("text")
    if block.kind == "text" and isinstance(text, str) and not text.strip():
        block.add("", "empty_text")
    elif block.kind == "tool_result":
        _check_result(block)
    elif block.kind in ("image", "document"):
        _check_media(block)


def _check_result(result: Fields) -> None:
    for block in _read_blocks(result, "content", "result", "result_content") if result.has("content") else ():
        if result.get("is_error") is True and block.kind in _MEDIA:
            block.add("type", "failed_result", f"{short(block.kind)} in a result that is an error")
        if block.kind != "text":  # an empty text is accepted here
            _check_block(block)


def _check_media(block: Fields) -> None:
    source, kind = block.inner("source"), block.inner("source").get("type")
    shape = f"{block.kind} {kind}"
    if as_object(block.get("source")) is None:
        block.add("source", "media_source", f"the {block.kind} has no source")
    elif shape not in block.findings.shapes:
        source.add("type", "media_source", f"there is no {block.kind} with a source {short(kind)}")
    else:
        source.check(shape)
    if kind == "base64":
        check_signature(source, "media_type", source.get("media_type"), source.get("data"))
    elif kind == "content":
        for part in _read_blocks(source, "content", "document"):
            if part.kind == "image":
                _check_media(part)


# All messages: media, order.


def _check_all_media(body: Fields, blocks: list[Fields], model: Model) -> None:
    limits, known, refused = rules.ANTHROPIC_MEDIA_LIMITS.accepted, model.facts.images, model.refused_media()
    images = [block for block in blocks if block.get("type") == "image"]
    most, side = known.count or limits["images"], known.side or limits["side"]
    if len(images) > (known.many or limits["many"]):
        side = known.many_side or limits["side_of_many"]
    if len(images) > most:
        body.add("messages", "image_count", f"{len(images)} images, more than {most}")
    for block in blocks:
        kind, source = block.get("type"), block.inner("source").get("type")
        if kind in refused:
            block.add("", "media_for_model")
        if model.cloud and (kind == "container_upload" or source in ("url", "file")):
            block.add("source" if block.has("source") else "", "cloud_source")
    for image in images:
        _check_image(image, side, limits["cloud" if model.cloud else "length"])


def _check_image(image: Fields, side: int, longest: int) -> None:
    source = image.inner("source")
    data, declared = source.get("data"), source.get("media_type")
    if source.get("type") != "base64" or not isinstance(data, str):
        return
    content = bytes_of(data) or b""
    found, pixels = begun(content), max(size_of(content) or (0,))
    if found in _IMAGE_TYPES and declared in _IMAGE_TYPES and found != declared:
        source.add("media_type", "media_type", f"the bytes are {found}")
    if pixels > side:
        image.add("", "image_side", f"{pixels} pixels, more than {side}")
    if len(data) > longest:
        source.add("data", "media_size", f"{len(data)} characters of base64, more than {longest}")


def _check_order(body: Fields, messages: list[Turn], model: Model) -> None:
    findings, last = body.findings, messages[-1] if messages else None
    is_prefilled = last is not None and last.role == "assistant"
    if messages and messages[0].role == "assistant" and model.cloud == "bedrock":
        findings.add(messages[0].place, "first_message")
    for index, message in enumerate(body.inners("messages")):
        is_directive = message.get("role") == "system" and message.has("output_config")
        is_open = is_prefilled and index == len(messages) - 1
        if not (message.get("content") or is_directive or is_open):
            message.add("content", "empty_content")
        if message.get("role") == "system" and not is_directive:
            _check_system_place(findings, messages, index, model)
    if last is not None and is_prefilled:
        _check_prefill(findings, last, model)
    if body.inner("thinking").get("type") == "enabled" and not (is_prefilled and model.refuses_prefill):
        _check_thinking_first(messages)


def _check_system_place(findings: Findings, messages: list[Turn], index: int, model: Model) -> None:
    place, before = messages[index].place, messages[index - 1] if index else None
    last = before.parts[-1].kind if before and before.parts else ""
    follows_tool = last == "server_tool_use" or last.endswith("_tool_result")
    if model.refuses_system_messages:
        findings.add(place, "system_unsupported")
    elif before is None:
        findings.add(place, "system_place", "the first message is a system message: use the system parameter")
    elif before.role != "user" and not (before.role == "assistant" and follows_tool):
        findings.add(place, "system_place", f"it follows a message of the {before.role}")
    elif index + 1 < len(messages) and messages[index + 1].role == "user":
        findings.add(place, "system_place", "a message of the user follows it")


def _check_prefill(findings: Findings, message: Turn, model: Model) -> None:
    # An open call is found as unanswered; a turn that a server tool paused is continued as it is.
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
        if message.role == "user" and not message.of("tool_result"):
            break
        if message.role == "assistant" and message.parts:
            first = message.parts[0]
    if first is not None and first.kind not in _THINKING:
        first.add("", "thinking_first", f"the turn begins with {first.kind}")


# Turns: consecutive messages of one role, which the API merges.


def _check_pairs(findings: Findings, turns: list[Turn]) -> None:
    """Pair each call with the result in the turn after it."""
    ids, pairing = set[str](), Pairing(findings, *_PAIRING)
    for turn in turns:
        if turn.role == "assistant":
            pairing.end_round()
            for call in turn.of("tool_use"):
                call_id = call.get("id")
                if call_id in ids:
                    call.add("id", "duplicate_call_id", f"an earlier call has the id {short(call_id)}")
                ids.add(call_id)
                pairing.call(call_id, call.place)
            if turn.parts and turn.parts[-1].kind in _THINKING:
                turn.parts[-1].add("", "thinking_last")
        elif turn.role == "user":
            _check_results(pairing, turn.parts)
            pairing.end_round()
    pairing.end_round()
    pairing.end()


def _check_results(pairing: Pairing, blocks: list[Fields]) -> None:
    results, others, displaced = list[Fields](), False, False
    for block in blocks:
        if block.kind != "tool_result":
            others = True
        elif pairing.result(block.get("tool_use_id"), block.place):
            results.append(block)
            if others and not displaced:
                block.add("", "results_first", "another block stands before this result")
            displaced = others
    messages = [result.place.partition(".")[0] for result in results]
    for result, message in zip(results, messages, strict=True):
        if message != messages[0] and not displaced:
            result.add("", "results_split", f"the results of one turn are in {messages[0]} and {message}")
            break


def _check_server_tools(findings: Findings, turns: list[Turn]) -> None:
    """Pair the uses of server and MCP tools with their results, which may come in a later turn.

    A paused turn goes on after tool results of the user, not after anything else of the user.
    """
    pairing = Pairing(findings, "unanswered_server_call", "orphan_server_result", late="", again="")
    for turn in turns:
        for block in turn.parts:
            is_use = block.kind in ("server_tool_use", "mcp_tool_use")
            call_id = block.get("id" if is_use else "tool_use_id")
            if is_use and isinstance(call_id, str):
                pairing.call(call_id, block.place)
            elif block.kind.endswith("_tool_result") and isinstance(call_id, str):
                pairing.result(call_id, block.place)
        if turn.role == "user" and len(turn.of("tool_result")) < len(turn.parts):
            pairing.end_round()
    pairing.end(without=("",))


# Around the messages: instructions, tools, cache.


def _check_system(body: Fields) -> None:
    given = body.has("system")
    for block in _read_blocks(body, "system", "instructions", "system_content") if given else ():
        if block.get("text") == "":
            block.add("", "empty_text")


def _check_tools(body: Fields) -> None:
    names = set[str]()
    for tool in body.inners("tools"):
        name = tool.get("name")
        if tool.get("type") in (None, "custom"):
            tool.check("definition")
            _check_input_schema(tool)
        if isinstance(name, str) and name in names:
            tool.add("name", "duplicate_tool", f"another tool is named {short(name)}")
        names.add(str(name))


def _check_input_schema(tool: Fields) -> None:
    key = "input_schema"
    if not check_parameters(tool, key, rules.ANTHROPIC_TOP_KEYWORDS.accepted, is_required=True):
        return
    for name in tool.inner(key).inner("properties").values:
        if not _PROPERTY.fullmatch(str(name)):
            tool.add(f"{key}.properties.{name}", "tool_property", f"{short(name)} is no name of a property")
    check_schema(tool, key)


def _check_caching(body: Fields, blocks: list[Fields]) -> None:
    most, short_lived, displaced = rules.ANTHROPIC_BREAKPOINTS.accepted, False, False
    for count, holder in enumerate(_marked(body, blocks), start=1):
        mark = holder.inner("cache_control")
        lifetime = mark.get("ttl") if mark.has("ttl") else "5m"
        is_valid = mark.get("type") == "ephemeral" and lifetime in rules.ANTHROPIC_CACHE_LIFETIMES.accepted
        if not is_valid:
            holder.add("cache_control", "cache_shape")
        if count == most + 1:
            holder.add("cache_control", "cache_count", f"this is breakpoint {count} of at most {most}")
        if is_valid and lifetime == "1h" and short_lived and not displaced:
            holder.add("cache_control", "cache_order")
            displaced = True
        short_lived = short_lived or (is_valid and lifetime == "5m")


def _marked(body: Fields, blocks: list[Fields]) -> Iterator[Fields]:
    """Everything with a cache_control, in the order of the prompt: tools, system, messages."""
    nested = [part for block in blocks for part in (*block.inners("content"), block)]
    # The API puts the mark of the request on the last block, and counts it.
    for holder in (*body.inners("tools"), *body.inners("system"), *nested, body):
        if holder.has("cache_control") and holder.kind in _THINKING:
            holder.add("cache_control", "cache_place")
        elif holder.has("cache_control"):
            yield holder
