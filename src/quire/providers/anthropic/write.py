"""Anthropic Messages: writes turns as messages of content blocks.

Consecutive turns of one role are one message. Instructions at the start are in the field `system`.
"""

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, NamedTuple, Self

import msgspec

from quire.items import (
    Audio,
    File,
    Image,
    Item,
    Message,
    Reasoning,
    ToolCall,
    ToolResult,
    instructions_in_turn,
)
from quire.providers import rules
from quire.providers.draft import Digest
from quire.providers.media import (
    PDF,
    PICTURES,
    Media,
    as_text,
    base64_of,
    bytes_in,
    file_id,
    media_type,
    sent_type,
    split_media,
    type_at_start,
)
from quire.providers.profiles import Profile
from quire.providers.state import ANTHROPIC, SERVER_CALLS, is_server_block
from quire.providers.tools import Tool
from quire.providers.turns import Pair, Writer
from quire.providers.types import FOUND_TOOLS, CachePlan
from quire.providers.values import Json, entries_in
from quire.state import Output
from quire.tokens import NO_OUTPUT, described, size_of

_THINKING = frozenset(("thinking", "redacted_thinking"))
_SIZE_CHECK_THRESHOLD = 8_000_000
"""With fewer bytes of media no size is computed: text fills the window before a request is too large."""

_encode = msgspec.json.Encoder().encode


class _MediaBlock(NamedTuple):
    """The block of an image or document, its item, and the text that replaces it if a limit is exceeded."""

    block: Json
    item: Item
    text: str
    is_large: bool
    size: int  # bytes of base64


class _End(NamedTuple):
    """The end of a range of blocks: the index of the last message, and how many of its blocks are inside."""

    message: int
    blocks: int


class MessagesWriter(Writer):
    """Writes messages of content blocks.

    Later instructions are a system message at the end of the user's turn: the API accepts one only after a
    message of the user and before one of the model. Models without system messages get tagged user text.
    """

    wire = ANTHROPIC

    def __init__(self, profile: Profile, tools: Sequence[Tool]) -> None:
        super().__init__(profile, tools)
        self._system: list[Json] = []
        self._stable_system_count = 0  # in a branch: the number of system blocks before the volatile items
        # The items of a system message at the end; empty once that message was moved.
        self._trailing_instructions: tuple[Item, ...] = ()
        self._media: list[_MediaBlock] = []  # in the order of the messages
        self._needs_thinking = "reasoning_with_calls" in profile.features
        self._deferred = self._deferred_tools()
        self._referenced = frozenset[str]()  # wire names of the deferred tools that a result loads
        self.can_write_fast = not (self.draft.parameters or self._needs_thinking or self._deferred)
        self._start_digest()

    def branch(self) -> Self:
        twin = super().branch()
        twin._system, twin._media = self._system.copy(), self._media.copy()
        twin._stable_system_count = len(self._system)
        return twin

    def _write_text_fast(self, role: str, text: str) -> None:
        messages, blocks = self.draft.messages, [{"type": "text", "text": text}]
        if messages and messages[-1]["role"] not in (role, "system"):
            messages.append({"role": role, "content": blocks})
        else:
            write = self._write_user if role == "user" else self._write_assistant_blocks
            write(blocks)

    def finish(self, plan: CachePlan | None) -> dict[str, Any]:
        self._flush_trailing_instructions()
        if self._last_role() in (None, "assistant"):
            self.draft.report(None, "turn_added", "the last message has to be one of the user")
            self._write_user([self._text_part(rules.CONTINUE)])
        messages = self._fitted(self.draft.messages)
        payload: dict[str, Any] = {"system": self._system.copy()} if self._system else {}
        payload["messages"] = messages
        if self._tools:
            payload["tools"] = [self._sent_tool(tool) for tool in self._tools]
        elif names := self.draft.names.by_own_name.values():
            # The API refuses calls in the history if the request has no tools.
            self.draft.report(None, "tools_added", "the tools of the calls in a history have to be defined")
            schema: Json = {"type": "object", "properties": {}}
            definition: Json = {"description": "Not at hand any more.", "input_schema": schema}
            payload["tools"] = [{"name": name, **definition} for name in sorted(names)]
            payload["tool_choice"] = {"type": "none"}
        if plan:
            _set_breakpoints(payload, self._stable_system_count, self._stable_end(messages), plan)
        return payload

    # --- turns -------------------------------------------------------------------------------------------

    def _last_role(self) -> str | None:
        return self.draft.messages[-1]["role"] if self.draft.messages else None

    def _write_user(self, parts: list[Json]) -> None:
        messages, last = self.draft.messages, self._last_role()
        if last == "user":
            self.draft.open_message()["content"].extend(parts)
            return
        if last == "system":
            for item in self._trailing_instructions:
                self.draft.report(item, "instructions_moved", "they apply from the end of the user's turn on")
            self._trailing_instructions = ()
            messages.insert(-1, {"role": "user", "content": parts})
            self.draft.first_mutable = len(messages)
        else:
            messages.append({"role": "user", "content": parts})

    def _write_instructions(self, item: Item, text: str) -> str | None:
        messages, block = self.draft.messages, self._text_part(text)
        if not messages:
            self._system.append(block)
            self._start_digest()
            return None
        if "system_mid_conversation" not in self.profile.features:
            return "the model takes instructions at the start only"
        if self._last_role() != "system":
            messages.append({"role": "system", "content": []})
        self.draft.open_message()["content"].append(block)
        self._trailing_instructions += (item,)
        return None

    def _flush_trailing_instructions(self) -> None:
        """Finish a system message at the end; after a message of the model it becomes text of the user."""
        messages = self.draft.messages
        if self._last_role() == "system" and messages[-2]["role"] == "assistant":
            for item in self._trailing_instructions:
                self.draft.report(item, "instructions_as_text", "they must follow a turn of the user")
            texts = [instructions_in_turn(block["text"]) for block in messages[-1]["content"]]
            messages[-1] = {"role": "user", "content": [self._text_part(text) for text in texts]}
            self.draft.first_mutable = len(messages)
        self._trailing_instructions = ()

    def _write_assistant_blocks(self, blocks: list[Json]) -> None:
        messages, last = self.draft.messages, self._last_role()
        if last == "assistant":
            self.draft.open_message()["content"].extend(blocks)
            return
        if last is None:
            self.draft.report(None, "turn_added", "the first message has to be one of the user")
            self._write_user([self._text_part(rules.BEGIN)])
        self._flush_trailing_instructions()
        messages.append({"role": "assistant", "content": blocks})

    def _write_turn_fast(
        self, first: ToolCall, text: str | None, calls: list[Json], results: list[Json]
    ) -> None:
        self._write_assistant_blocks(calls if text is None else [self._text_part(text), *calls])
        self._write_user(results)

    def _stable_end(self, messages: list[Json]) -> _End | None:
        """The end of the blocks before the volatile items."""
        last, index = self.draft.stable_last, self.draft.stable_count - 1
        if last is None:
            return None
        if messages[index]["role"] == last["role"]:
            return _End(index, len(last["content"]))
        index -= 1  # the last stable message held instructions, which were moved to the end
        return _End(index, len(messages[index]["content"]))

    def _start_digest(self) -> None:
        """Start the digest with the parts of the request before all messages: instructions, perhaps tools."""
        before: Json = {"system": self._system}
        if self.profile.bound_thinking:  # deferred tools are no part of the prefix
            before["tools"] = [tool for tool in self._tools if not tool.get("defer_loading")]
        self.draft.digest = Digest(before)

    def _deferred_tools(self) -> frozenset[str]:
        """The own names of the tools that results may load by reference, if the model supports this."""
        if "tool_references" not in self.profile.features or self.profile.cloud is not None:
            return frozenset()
        names = {tool["name"] for tool in self._tools if tool.get("defer_loading")}
        return frozenset(own for own, name in self.draft.names.by_own_name.items() if name in names)

    def _sent_tool(self, tool: Json) -> Json:
        """A tool as it is sent: deferred only if a result or a search of the provider can load it."""
        is_referenced = tool.get("name") in self._referenced
        if not tool.get("defer_loading") or is_referenced or any(map(_is_tool_search, self._tools)):
            return tool
        return {name: value for name, value in tool.items() if name != "defer_loading"}

    # --- outputs of the model ----------------------------------------------------------------------------

    def _write_assistant(
        self, outputs: list[Output], calls: list[ToolCall], results: list[ToolResult]
    ) -> None:
        blocks = self._ordered(outputs)
        if calls and self._needs_thinking and not any(map(_is_thinking, blocks)):
            blocks = [{"type": "thinking", "thinking": rules.BLANK_THOUGHT, "signature": ""}, *blocks]
        if blocks:
            self._write_assistant_blocks(blocks)
        if calls:
            ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
            pairs = zip(results, ids, strict=True)
            self._write_user([self._result(result, call_id) for result, call_id in pairs])

    def _ordered(self, outputs: list[Output]) -> list[Json]:
        """The blocks of a turn in their order, except that text comes before the first call.

        The API reports a missing result if text follows a call. Thinking stays between calls. It is left out
        if no block follows it, or if a block before it in the turn was left out or moved.
        """
        leading: list[tuple[Output, Json]] = []
        from_first_call: list[tuple[Output, Json]] = []
        is_changed = False
        for output in outputs:
            if isinstance(output, ToolCall):
                from_first_call.append((output, self._call(output)))
                continue
            blocks = self._thoughts(output) if isinstance(output, Reasoning) else self._texts(output)
            if not _has_complete_pairs(blocks):
                self.draft.report(output, "reasoning_left_out", "a server tool's call or result is missing")
                is_changed = True
            elif blocks and not _is_thinking(blocks[0]):
                if from_first_call and not is_changed:
                    self.draft.report(output, "text_moved", "no text may follow a call here")
                is_changed = is_changed or bool(from_first_call)
                leading += [(output, block) for block in blocks]
            elif blocks and is_changed:
                self.draft.report(output, "state_stale", "what came before it in its reply has changed")
            else:
                (from_first_call or leading).extend((output, block) for block in blocks)
        written = leading + from_first_call
        while written and _is_thinking(written[-1][1]):
            item, _ = written.pop()
            self.draft.report(item, "reasoning_left_out", "nothing was said or called after it")
        return [block for _, block in written]

    def _thoughts(self, item: Reasoning) -> list[Json]:
        blocks = super()._thoughts(item)
        if all(block.get("signature") != "" for block in blocks):
            return blocks
        if "unsigned_thinking" not in self.profile.features:
            self.draft.report(item, "reasoning_left_out", "its thinking is not signed")
            return []
        blank = {"thinking": rules.BLANK_THOUGHT}
        return [block | blank if block.get("thinking") == "" else block for block in blocks]

    def _texts(self, item: Message) -> list[Json]:
        raw = self.draft.usable_blocks(item)
        texts = [text for part in item.parts if (text := as_text(part)) is not None]
        blocks = raw or [self._text_part(text) for text in texts]
        filled = [block for block in blocks if block["text"].strip()]
        if len(filled) < len(blocks) or not item.parts:
            self.draft.report_empty(item)
        return filled

    def _call(self, call: ToolCall) -> Json:
        self.draft.usable_blocks(call)  # called only to report that the call's state is not sent
        return self._call_part(self.draft.call_id(call), self.tool_name(call), self.arguments(call))

    def _pair(self, call_id: str, name: str, arguments: Any, output: Any, is_error: bool) -> Pair:
        call = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        result: Json = {"type": "tool_result", "tool_use_id": call_id, "content": output}
        return call, {**result, "is_error": True} if is_error else result

    def _result(self, result: ToolResult, call_id: str) -> Json:
        """The block of a result. In a failed result the API accepts only text."""
        loaded = [name for name in result.extras.get(FOUND_TOOLS, ()) if name in self._deferred]
        if loaded and not result.is_error:
            names = [self.draft.names.wire_name(name) for name in loaded]
            self._referenced |= {*names}
            references = [{"type": "tool_reference", "tool_name": name} for name in names]
            return self._result_part(call_id, "", references, False)
        parts = (split_media(result.parts)[0],) if result.is_error else result.parts
        blocks = self.input_parts(result, parts)
        is_text = len(blocks) == 1 and blocks[0]["type"] == "text"
        content = blocks[0]["text"] if is_text else blocks or NO_OUTPUT
        return self._result_part(call_id, "", content, result.is_error)

    # --- parts -------------------------------------------------------------------------------------------

    def _carries_media(self, item: Message | ToolResult, part: Media) -> bool:
        return isinstance(item, ToolResult) and not item.is_error

    def _text_part(self, text: str) -> Json:
        return {"type": "text", "text": text}

    def _media_part(self, item: Item, part: Media) -> Json | None:
        if isinstance(part, Audio):
            return None
        data, limits = bytes_in(part), self.profile.images
        side = _longer_side(part, data) if isinstance(part, Image) else 0
        source = self._source(part, data)
        if source is None or (limits.side and side > limits.side):
            return None
        block: Json = {"type": "image" if isinstance(part, Image) else "document", "source": source}
        if isinstance(part, File) and part.name and not part.name.isspace():
            block["title"] = part.name
        is_large = bool(limits.many_side and side > limits.many_side)
        self._media.append(_MediaBlock(block, item, described(part), is_large, len(source.get("data", ""))))
        return block

    def _source(self, part: Image | File, data: bytes | None) -> Json | None:
        """The source of a media block: bytes, an uploaded file or a URL; None if the service refuses it."""
        types = PICTURES if isinstance(part, Image) else frozenset((PDF,))
        if data is not None:
            kind = type_at_start(data) if isinstance(part, Image) else sent_type(part)
            limit = self.profile.images.bytes if isinstance(part, Image) else None
            is_accepted = kind in types and len(data) * 4 // 3 <= (limit or self.profile.largest_request)
            return {"type": "base64", "media_type": kind, "data": base64_of(data)} if is_accepted else None
        uploaded, url, kind = file_id(part, ANTHROPIC), part.url or "", media_type(part)
        if uploaded is not None and self.profile.fetches:
            return {"type": "file", "file_id": uploaded}
        has_type = kind in types or (kind is None and isinstance(part, Image))
        if kind is None and isinstance(part, File):
            path = part.name or url.partition("?")[0].partition("#")[0]
            has_type = path.lower().endswith(".pdf")
        can_fetch = self.profile.fetches and url.lower().startswith(("https://", "http://"))
        return {"type": "url", "url": url} if can_fetch and has_type else None

    # --- limits of a request -----------------------------------------------------------------------------

    def _fitted(self, turns: list[Json]) -> list[Json]:
        """The turns with text in place of excess media, and without the thinking that this invalidates."""
        excess = self._excess_media(turns)
        for item in {media.item.id: media.item for media in excess}.values():
            self.draft.report(item, "media_as_text", "one request takes no more media, or no larger ones")
        texts = {id(media.block): self._text_part(media.text) for media in excess}
        fitted = [_without_media(turn, texts) for turn in turns] if texts else turns.copy()
        # `finish` adds definitions of missing tools: the request begins differently, so thinking is invalid.
        adds_tools = bool(self.draft.names.by_own_name) and not self._tools
        is_changed = bool(excess) or adds_tools
        return self._without_thinking(fitted) if self.profile.bound_thinking and is_changed else fitted

    def _excess_media(self, turns: list[Json]) -> list[_MediaBlock]:
        """The oldest media, to be left out if there are too many images, too large ones or too many bytes."""
        limits = self.profile.images

        def are_few(images: list[_MediaBlock]) -> bool:
            limit = limits.many if any(image.is_large for image in images) else limits.count
            return limit is None or len(images) <= limit

        excess = _oldest_until([media for media in self._media if media.block["type"] == "image"], are_few)
        excess_blocks = {id(media.block) for media in excess}
        remaining = [media for media in self._media if id(media.block) not in excess_blocks]
        if sum(media.size for media in remaining) <= _SIZE_CHECK_THRESHOLD:
            return excess
        total = sum(len(_encode(value)) for value in (turns, self._system, self._tools))
        room = self.profile.largest_request - total + sum(media.size for media in self._media)
        return excess + _oldest_until(remaining, lambda blocks: sum(block.size for block in blocks) <= room)

    def _without_thinking(self, turns: list[Json]) -> list[Json]:
        contents = ([block for block in turn["content"] if not _is_thinking(block)] for turn in turns)
        plain = [{**turn, "content": content} for turn, content in zip(turns, contents, strict=True)]
        if plain != turns:
            self.draft.report(None, "state_stale", "thinking is left out, since what came before it changed")
        return plain


def _is_thinking(block: Json) -> bool:
    return block["type"] in _THINKING


def _has_complete_pairs(blocks: list[Json]) -> bool:
    """Whether each call of a server tool has its result after it, and each result its call."""
    open_ids: list[str] = []
    for block in blocks:
        if block["type"] in SERVER_CALLS:
            open_ids.append(block["id"])
        elif is_server_block(block["type"]):
            if block["tool_use_id"] not in open_ids:
                return False
            open_ids.remove(block["tool_use_id"])
    return not open_ids


def _oldest_until(media: list[_MediaBlock], fits: Callable[[list[_MediaBlock]], bool]) -> list[_MediaBlock]:
    """The oldest media that must be left out so that the others fit.

    They are left out in steps, so that not every new image changes the messages that were sent before. A step
    is a fifth of all media, rounded down to a power of two; with fewer than five media it is one.
    """
    step, start = 1 << (max(len(media) // 5, 1).bit_length() - 1), 0
    while start < len(media) and not fits(media[start:]):
        start += step
    return media[:start]


def _without_media(parent: Json, texts: dict[int, Json]) -> Json:
    """A message or a result in which `texts` replace some blocks; the key is the `id()` of a block."""
    content = entries_in(parent.get("content"))
    replaced = [texts.get(id(block)) or _without_media(block, texts) for block in content]
    return parent if all(map(is_, replaced, content)) else {**parent, "content": replaced}


def _longer_side(part: Image, data: bytes | None) -> int:
    """The longer side in pixels; zero if it is unknown."""
    return max((size_of(data) if data else None) or (part.width or 0, part.height or 0))


# Breakpoints of the prompt cache. They are set on copies of the blocks.
#
# The API allows four breakpoints. We set them on:
#
# - the last tool;
# - the last stable system block;
# - the last block before the volatile items;
# - the last block of the previous request, because the API searches for an existing cache entry only in the
#   20 blocks before a breakpoint.
#
# The API ignores a breakpoint after a prefix that is too short to be cached.


def _set_breakpoints(payload: dict[str, Any], system_count: int, end: _End | None, plan: CachePlan) -> None:
    """Set breakpoints on the tools, the first `system_count` system blocks, and the messages up to `end`."""
    control: Json = {"type": "ephemeral", "ttl": "1h"} if plan.keep == "long" else {"type": "ephemeral"}
    if "tools" in payload:  # the plan replaces the caller's breakpoints on tools
        payload["tools"] = [_without_breakpoint(tool) for tool in payload["tools"]]
        _set_on_last(payload["tools"], len(payload["tools"]), control)
    if system_count:
        _set_on_last(payload["system"], system_count, control)
    messages: list[Json] = payload["messages"]
    ends = [] if end is None else [end, *_previous_end(messages, end)]
    for index, count in ends:
        content = messages[index]["content"].copy()
        _set_on_last(content, count, control)
        messages[index] = {**messages[index], "content": content}


def _without_breakpoint(tool: Json) -> Json:
    return {name: value for name, value in tool.items() if name != "cache_control"}


def _is_tool_search(tool: Json) -> bool:
    return str(tool.get("type")).startswith("tool_search_tool")


def _set_on_last(blocks: list[Json], count: int, control: Json) -> None:
    """Set a breakpoint on the last block that may have one: neither thinking nor a deferred tool."""
    for index in range(count - 1, -1, -1):
        block = blocks[index]
        if block.get("type") not in _THINKING and not block.get("defer_loading"):
            blocks[index] = {**block, "cache_control": control}
            return


def _previous_end(messages: list[Json], end: _End) -> list[_End]:
    """Where the previous request ended: at the message before the latest assistant message."""
    indexes = range(end.message, 0, -1)
    answer = next((index for index in indexes if messages[index]["role"] == "assistant"), None)
    return [] if answer is None else [_End(answer - 1, len(messages[answer - 1]["content"]))]
