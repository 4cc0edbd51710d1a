"""Anthropic Messages: turns as messages of content blocks.

What one side says in a row is one message. Instructions at the start are apart from the messages.
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
    file_id,
    inline_bytes,
    media_type,
    sendable_type,
    split_media,
    type_at_start,
)
from quire.providers.profiles import Profile
from quire.providers.state import ANTHROPIC, SERVER_CALLS, is_server_block
from quire.providers.tools import Tool
from quire.providers.turns import CallAndResult, Writer
from quire.providers.types import FOUND_TOOLS, CachePlan
from quire.providers.values import Json, entries_in
from quire.state import Output
from quire.tokens import NO_OUTPUT, described, size_of

_THINKING = frozenset(("thinking", "redacted_thinking"))
_HEAVY = 8_000_000
"""Bytes of media from which on a request is weighed: text alone exceeds any window before it gets near."""

_encode = msgspec.json.Encoder().encode


class _Held(NamedTuple):
    """An image or a document that was written, whose it is, and the text that replaces it over a limit."""

    block: Json
    item: Item
    text: str
    is_large: bool
    weight: int


class _End(NamedTuple):
    """The end of a stretch: a message, and how many of its blocks belong to the stretch."""

    message: int
    blocks: int


class MessagesWriter(Writer):
    """Writes messages of content blocks.

    Instructions in the middle are a system message at the end of the user's turn: the API takes it only after
    a message of the user and before one of the model. Models without it get tagged text of the user.
    """

    wire = ANTHROPIC

    def __init__(self, profile: Profile, tools: Sequence[Tool]) -> None:
        super().__init__(profile, tools)
        self._system: list[Json] = []
        self._stable_system = 0  # of a branch: blocks of `system` before the volatile items
        # The items of the system message at the end, as long as it is where they were given.
        self._trailing_instructions: tuple[Item, ...] = ()
        self._media: list[_Held] = []  # in the order of the messages
        self._wants_thinking = "reasoning_with_calls" in profile.features
        self._deferred = self._deferred_tools()
        self._referenced = frozenset[str]()  # those of them that a result loads
        self.writes_plainly = not (self.draft.parameters or self._wants_thinking or self._deferred)
        self._seed()

    def branch(self) -> Self:
        twin = super().branch()
        twin._system, twin._media = self._system.copy(), self._media.copy()
        twin._stable_system = len(self._system)
        return twin

    def _write_plain_text(self, role: str, text: str) -> None:
        messages, blocks = self.draft.messages, [{"type": "text", "text": text}]
        if messages and messages[-1]["role"] not in (role, "system"):
            messages.append({"role": role, "content": blocks})
        else:
            (self._write_user if role == "user" else self._write_assistant_blocks)(blocks)

    def finish(self, plan: CachePlan | None) -> dict[str, Any]:
        self._flush_trailing_instructions()
        if self._last_role() in (None, "assistant"):
            self.draft.report(None, "turn_added", "the last message has to be one of the user")
            self._write_user([self._text_part(rules.CONTINUE)])
        messages = self._fitted(self.draft.messages)
        payload: dict[str, Any] = {"system": self._system.copy()} if self._system else {}
        payload["messages"] = messages
        if self._tools:
            payload["tools"] = [self._loaded(one) for one in self._tools]
        elif self.draft.names.by_own_name:
            # The API has refused a history with calls in a request without tools.
            self.draft.report(None, "tools_added", "the tools of the calls in a history have to be defined")
            schema: Json = {"type": "object", "properties": {}}
            about: Json = {"description": "Not at hand any more.", "input_schema": schema}
            payload["tools"] = [
                {"name": name, **about} for name in sorted(self.draft.names.by_own_name.values())
            ]
            payload["tool_choice"] = {"type": "none"}
        if plan:
            _set_breakpoints(payload, self._stable_system, self._slow_end(messages), plan)
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
            self._seed()
            return None
        if "system_mid_conversation" not in self.profile.features:
            return "the model takes instructions at the start only"
        if self._last_role() != "system":
            messages.append({"role": "system", "content": []})
        self.draft.open_message()["content"].append(block)
        self._trailing_instructions += (item,)
        return None

    def _flush_trailing_instructions(self) -> None:
        """Finish the instructions at the end; after a message of the model they become text of the user."""
        messages = self.draft.messages
        if self._last_role() == "system" and messages[-2]["role"] == "assistant":
            for item in self._trailing_instructions:
                self.draft.report(item, "instructions_as_text", "they follow a turn of the user here")
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

    def _write_plain_turn(
        self, first: ToolCall, text: str | None, calls: list[Json], results: list[Json]
    ) -> None:
        self._write_assistant_blocks(calls if text is None else [self._text_part(text), *calls])
        self._write_user(results)

    def _slow_end(self, messages: list[Json]) -> _End | None:
        """The last block before the volatile items, as a place in the payload."""
        last, place = self.draft.stable_last, self.draft.stable_count - 1
        if last is None:
            return None
        if messages[place]["role"] == last["role"]:
            return _End(place, len(last["content"]))
        place -= 1  # instructions moved to a later place
        return _End(place, len(messages[place]["content"]))

    def _seed(self) -> None:
        """Begin the digest with what precedes all messages."""
        before: Json = {"system": self._system}
        if self.profile.bound_thinking:  # deferred tools are no part of the prefix
            before["tools"] = [one for one in self._tools if not one.get("defer_loading")]
        self.draft.digest = Digest(before)

    def _deferred_tools(self) -> frozenset[str]:
        """The tools that results load by reference, if the model takes that."""
        if "tool_references" not in self.profile.features or self.profile.cloud is not None:
            return frozenset()
        names = {one["name"] for one in self._tools if one.get("defer_loading")}
        return frozenset(own for own, name in self.draft.names.by_own_name.items() if name in names)

    def _loaded(self, tool: Json) -> Json:
        """A tool as it is sent: what neither a result nor a search of the provider loads is not deferred."""
        is_found = tool.get("name") in self._referenced
        if not tool.get("defer_loading") or is_found or any(map(_is_tool_search, self._tools)):
            return tool
        return {name: value for name, value in tool.items() if name != "defer_loading"}

    # --- outputs of the model ----------------------------------------------------------------------------

    def _write_assistant(
        self, outputs: list[Output], calls: list[ToolCall], results: list[ToolResult]
    ) -> None:
        blocks = self._ordered(outputs)
        if calls and self._wants_thinking and not any(map(_is_thinking, blocks)):
            blocks = [{"type": "thinking", "thinking": rules.BLANK_THOUGHT, "signature": ""}, *blocks]
        if blocks:
            self._write_assistant_blocks(blocks)
        if calls:
            ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
            self._write_user(
                [self._result(result, call_id) for result, call_id in zip(results, ids, strict=True)]
            )

    def _ordered(self, outputs: list[Output]) -> list[Json]:
        """The blocks of a turn in their order, with text before the first call.

        With text after a call, the API has missed the results of the call. Thinking stays between calls; it
        is left out where nothing follows it, or where something before it in the turn is left out or moved.
        """
        before: list[tuple[Output, Json]] = []
        since: list[tuple[Output, Json]] = []  # from the first call on
        is_changed = False
        for output in outputs:
            if isinstance(output, ToolCall):
                since.append((output, self._call(output)))
                continue
            blocks = self._thoughts(output) if isinstance(output, Reasoning) else self._texts(output)
            if not _is_paired(blocks):
                self.draft.report(output, "reasoning_left_out", "a server tool's call or result is missing")
                is_changed = True
            elif blocks and not _is_thinking(blocks[0]):
                if since and not is_changed:
                    self.draft.report(output, "text_moved", "no text may follow a call here")
                is_changed = is_changed or bool(since)
                before += [(output, block) for block in blocks]
            elif blocks and is_changed:
                self.draft.report(output, "state_stale", "what came before it in its reply has changed")
            else:
                (since or before).extend((output, block) for block in blocks)
        written = before + since
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
        written = [block for block in blocks if block["text"].strip()]
        if len(written) < len(blocks) or not item.parts:
            self.draft.report_empty(item)
        return written

    def _call(self, call: ToolCall) -> Json:
        self.draft.usable_blocks(call)  # notes why its state is not sent
        return self._call_part(self.draft.call_id(call), self.tool_name(call), self.arguments(call))

    def _call_and_result(
        self, call_id: str, name: str, arguments: Any, output: Any, is_error: bool
    ) -> CallAndResult:
        call = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        result: Json = {"type": "tool_result", "tool_use_id": call_id, "content": output}
        return call, {**result, "is_error": True} if is_error else result

    def _result(self, result: ToolResult, call_id: str) -> Json:
        """A result; the API takes nothing but text in one that is an error."""
        found = [name for name in result.extras.get(FOUND_TOOLS, ()) if name in self._deferred]
        if found and not result.is_error:
            names = [self.draft.names.wire_name(name) for name in found]
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
        data, limits = inline_bytes(part), self.profile.images
        side = _longer_side(part, data) if isinstance(part, Image) else 0
        source = self._source(part, data)
        if source is None or side > (limits.side or side):
            return None
        block: Json = {"type": "image" if isinstance(part, Image) else "document", "source": source}
        if isinstance(part, File) and part.name and not part.name.isspace():
            block["title"] = part.name
        is_large = side > (limits.many_side or side)
        self._media.append(_Held(block, item, described(part), is_large, len(source.get("data", ""))))
        return block

    def _source(self, part: Image | File, data: bytes | None) -> Json | None:
        """The bytes of media, the file that the service knows, or the address that it fetches."""
        types = PICTURES if isinstance(part, Image) else frozenset((PDF,))
        if data is not None:
            kind = type_at_start(data) if isinstance(part, Image) else sendable_type(part)
            most = self.profile.images.bytes if isinstance(part, Image) else None
            is_taken = kind in types and len(data) * 4 // 3 <= (most or self.profile.largest_request)
            return {"type": "base64", "media_type": kind, "data": base64_of(data)} if is_taken else None
        known, url, kind = file_id(part, ANTHROPIC), part.url or "", media_type(part)
        if known is not None and self.profile.fetches:
            return {"type": "file", "file_id": known}
        is_read = kind in types or (kind is None and isinstance(part, Image))
        if kind is None and isinstance(part, File):
            path = part.name or url.partition("?")[0].partition("#")[0]
            is_read = path.lower().endswith(".pdf")
        is_fetched = self.profile.fetches and url.lower().startswith(("https://", "http://"))
        return {"type": "url", "url": url} if is_fetched and is_read else None

    # --- limits of a request -----------------------------------------------------------------------------

    def _fitted(self, turns: list[Json]) -> list[Json]:
        """Copies of the turns without media over the limits, nor thinking bound to what changed."""
        gone = self._excess_media(turns)
        for item in {held.item.id: held.item for held in gone}.values():
            self.draft.report(item, "media_as_text", "one request takes no more media, or no larger ones")
        texts = {id(held.block): self._text_part(held.text) for held in gone}
        fitted = [_without_media(turn, texts) for turn in turns] if texts else turns.copy()
        has_stand_ins = bool(self.draft.names.by_own_name) and not self._tools  # they precede all messages
        is_changed = bool(gone) or has_stand_ins
        return self._without_thinking(fitted) if self.profile.bound_thinking and is_changed else fitted

    def _excess_media(self, turns: list[Json]) -> list[_Held]:
        """The oldest media over the limits: too many images, a large one among many, too many bytes."""
        limits = self.profile.images

        def are_few(images: list[_Held]) -> bool:
            most = limits.many if any(held.is_large for held in images) else limits.count
            return most is None or len(images) <= most

        gone = _oldest_until([held for held in self._media if held.block["type"] == "image"], are_few)
        blocks = {id(held.block) for held in gone}
        kept = [held for held in self._media if id(held.block) not in blocks]
        weight = sum(held.weight for held in kept)
        if weight <= _HEAVY:
            return gone
        rest = sum(len(_encode(value)) for value in (turns, self._system, self._tools))
        room = self.profile.largest_request - rest + sum(held.weight for held in self._media)
        return gone + _oldest_until(kept, lambda held: sum(one.weight for one in held) <= room)

    def _without_thinking(self, turns: list[Json]) -> list[Json]:
        kept = [
            {**turn, "content": [one for one in turn["content"] if not _is_thinking(one)]} for turn in turns
        ]
        if kept != turns:
            self.draft.report(None, "state_stale", "thinking is left out, since what came before it changed")
        return kept


def _is_thinking(block: Json) -> bool:
    return block["type"] in _THINKING


def _is_paired(blocks: list[Json]) -> bool:
    """Whether each call of a server tool has its result after it, and each result its call."""
    waiting: list[str] = []
    for block in blocks:
        if block["type"] in SERVER_CALLS:
            waiting.append(block["id"])
        elif is_server_block(block["type"]):
            if block["tool_use_id"] not in waiting:
                return False
            waiting.remove(block["tool_use_id"])
    return not waiting


def _oldest_until(media: list[_Held], fits: Callable[[list[_Held]], bool]) -> list[_Held]:
    """The oldest of some media that must go until the others fit.

    They go in steps of about a fifth, so that not every new one changes what was sent before.
    """
    step, start = 1 << (max(len(media) // 5, 1).bit_length() - 1), 0
    while start < len(media) and not fits(media[start:]):
        start += step
    return media[:start]


def _without_media(holder: Json, texts: dict[int, Json]) -> Json:
    """A message or a result with texts for some of its blocks."""
    content = entries_in(holder.get("content"))
    found = [texts.get(id(block)) or _without_media(block, texts) for block in content]
    return holder if all(map(is_, found, content)) else {**holder, "content": found}


def _longer_side(part: Image, data: bytes | None) -> int:
    """The longer side in pixels; zero if it is not known."""
    return max((size_of(data) if data else None) or (part.width or 0, part.height or 0))


# Breakpoints of the prompt cache, set on copies of the blocks.
#
# The API allows four breakpoints. We set them on:
#
# - the last tool;
# - the last stable system block;
# - the last block before the volatile items;
# - the last block of the previous request, because the API looks back only 20 blocks from a breakpoint for an
#   existing entry.
#
# A breakpoint after a prefix that is too short to be cached has no effect.


def _set_breakpoints(payload: dict[str, Any], system: int, end: _End | None, plan: CachePlan) -> None:
    """Set breakpoints on the tools, the first `system` system blocks, and the messages up to `end`."""
    control: Json = {"type": "ephemeral", "ttl": "1h"} if plan.keep == "long" else {"type": "ephemeral"}
    if "tools" in payload:  # the plan decides where breakpoints are
        payload["tools"] = [_without_breakpoint(tool) for tool in payload["tools"]]
        _set_on_last(payload["tools"], len(payload["tools"]), control)
    if system:
        _set_on_last(payload["system"], system, control)
    messages: list[Json] = payload["messages"]
    for place, count in () if end is None else (end, *_previous_end(messages, end)):
        content = messages[place]["content"].copy()
        _set_on_last(content, count, control)
        messages[place] = {**messages[place], "content": content}


def _without_breakpoint(tool: Json) -> Json:
    return {name: value for name, value in tool.items() if name != "cache_control"}


def _is_tool_search(tool: Json) -> bool:
    return str(tool.get("type")).startswith("tool_search_tool")


def _set_on_last(blocks: list[Json], count: int, control: Json) -> None:
    """Set a breakpoint on the last block that can have one: not thinking, nor a tool that is loaded later."""
    for place in range(count - 1, -1, -1):
        block = blocks[place]
        if block.get("type") not in _THINKING and not block.get("defer_loading"):
            blocks[place] = {**block, "cache_control": control}
            return


def _previous_end(messages: list[Json], end: _End) -> list[_End]:
    """The last message before the latest assistant message: where the previous request ended."""
    backwards = range(end.message, 0, -1)
    answer = next((at for at in backwards if messages[at]["role"] == "assistant"), None)
    return [] if answer is None else [_End(answer - 1, len(messages[answer - 1]["content"]))]
