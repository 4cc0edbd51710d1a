"""OpenAI Responses: turns as items of input."""

from collections.abc import Sequence
from typing import Any

from quire.items import (
    Audio,
    ConfigChange,
    File,
    Image,
    Item,
    Message,
    Note,
    Reasoning,
    Summary,
    ToolCall,
    ToolResult,
    parts_of,
)
from quire.providers import wording
from quire.providers.definitions import Tool
from quire.providers.dialogue import Reply
from quire.providers.downgrades import Downgrade
from quire.providers.media import split
from quire.providers.names import alphabet
from quire.providers.openai_chat.marks import cache_key
from quire.providers.openai_chat.parts import media_taken
from quire.providers.openai_responses.marks import marked, written_tools
from quire.providers.openai_responses.parts import Parts
from quire.providers.openai_responses.plain import write_plain
from quire.providers.openai_responses.states import NAME, block_of, phase_of
from quire.providers.rendering import Marks
from quire.providers.sheet import Json, Sheet
from quire.tokens.facts import UNKNOWN, facts_for

_IDS = alphabet(64)
_TOOL_NAMES = alphabet(64)
_Media = list[Image | Audio | File]


class ResponsesWriter:
    """Writes items of input; text, which nearly everything is, goes straight into the list."""

    __slots__ = (
        "_branched",
        "_instructions",
        "_known",
        "_marks_cache",
        "_parts",
        "_roles",
        "downgrades",
        "sheet",
    )

    def __init__(
        self,
        sheet: Sheet,
        instructions: str,
        media: frozenset[str],
        marks_cache: bool,
        branched: bool = False,
    ) -> None:
        self.sheet = sheet
        self.downgrades: list[Downgrade] = sheet.downgrades
        self._instructions = instructions  # the role of instructions; "user" where the model takes none
        self._roles = {
            "user": "user",
            "assistant": "assistant",
            "system": instructions,
            "developer": instructions,
        }
        self._marks_cache = marks_cache
        self._branched = branched
        self._parts = Parts(sheet, media)
        self._known: dict[str, str] = {}  # tool names met so far, as they are here

    def branch(self) -> "ResponsesWriter":
        """The same writer, to be finished."""
        sheet, media = self.sheet.branch(), self._parts.media
        return ResponsesWriter(sheet, self._instructions, media, self._marks_cache, branched=True)

    def bound(self) -> bool:
        """Nothing documented binds reasoning to the volatile part."""
        return False

    def plain(self, items: Sequence[Item], start: int, stop: int) -> int:
        """The common case, written at once."""
        # A branch has ids of its own and those given out before it; plain turns know only of their own.
        if self._branched or self._instructions == "user":
            return start
        return write_plain(items, start, stop, self.sheet, self._known, self._roles)

    def user(self, item: Message | Note | Summary) -> None:
        """Something said to the model."""
        content = item.content if type(item) is Message else wording.said(item)
        if type(content) is str and content:
            self.sheet.messages.append({"role": "user", "content": wording.mended(content)})
            return
        parts = self._parts.of(item, parts_of(content))
        if parts:
            alone = len(parts) == 1 and parts[0]["type"] == "input_text"
            self.sheet.messages.append({"role": "user", "content": parts[0]["text"] if alone else parts})
        else:
            self._left_out(item)

    def instruct(self, item: Message | ConfigChange) -> None:
        """Instructions, where they stand."""
        text = (
            self._instruction(item) if isinstance(item, Message) else wording.mended(item.instructions or "")
        )
        if not text:
            self._left_out(item)
        elif self._instructions == "user":
            self.sheet.note(item, "instructions_as_text", "the model takes no instructions of their own")
            self.sheet.messages.append({"role": "user", "content": wording.instructed(text)})
        else:
            self.sheet.messages.append({"role": self._instructions, "content": text})

    def assistant(self, item: Message) -> None:
        """A reply of words alone."""
        words, media = self._said(item)
        if words:
            self.sheet.messages.append(words)
        self._moved(item, media)

    def reply(self, reply: Reply) -> None:
        """A reply with calls or reasoning, and what the calls gave."""
        append = self.sheet.messages.append
        held: list[tuple[Item, Json]] = []  # reasoning, until what it led to is written
        moved: list[tuple[Message, _Media]] = []
        ids: list[str] = []
        for output, block in zip(reply.outputs, self._sealed(reply), strict=True):
            if type(output) is Message:
                block, media = self._said(output)
                moved.append((output, media))
            elif type(output) is ToolCall:
                block = self._call(output)
                ids.append(block["call_id"])
            if block is not None:
                held.append((output, block))
                if block.get("type") != "reasoning":
                    self.sheet.messages.extend(written for _, written in held)
                    held.clear()
        for reasoning, _ in held:
            self.sheet.note(reasoning, "reasoning_left_out", "what it led to is not there")
        for call, result, call_id in zip(reply.calls, reply.results, ids, strict=True):
            append({"type": "function_call_output", "call_id": call_id, "output": self._answer(call, result)})
        for message, media in moved:
            self._moved(message, media)

    def finish(self, tools: Sequence[Tool], marks: Marks | None) -> dict[str, Any]:
        """The payload."""
        messages = self.sheet.messages
        if not messages:
            self.sheet.note(None, "turn_added", "there was nothing to answer")
            messages.append({"role": "user", "content": wording.CONTINUE})
        payload: dict[str, Any] = {
            "input": marked(messages, marks) if marks and self._marks_cache else messages
        }
        if written := written_tools(tools, self.sheet):
            payload["tools"] = written
        if marks and marks.plan.key:
            payload["prompt_cache_key"] = cache_key(marks.plan.key)
        return payload

    def _sealed(self, reply: Reply) -> list[Json | None]:
        """For each output what goes back of its state, all of them asked before the turn is begun."""
        blocks = [
            block_of(output, self.sheet) if type(output) is Reasoning else None for output in reply.outputs
        ]
        for index, output in enumerate(reply.outputs):
            block = blocks[index]
            if block is not None and block["type"] != "reasoning" and not _has_all(reply, blocks):
                # What the service ran itself has an id, and is refused without the reasoning that led to it.
                self.sheet.note(output, "reasoning_left_out", "the reasoning that led to it is not sent")
                blocks[index] = None
        return blocks

    def _said(self, message: Message) -> tuple[Json | None, _Media]:
        """The words of the model, and the media that it cannot have said here."""
        content, media = message.content, _Media()
        if type(content) is str:
            text = wording.mended(content)
        else:
            text, media = split(message.parts)
            text = wording.mended(text)
        if not text:
            if not media:
                self._left_out(message)
            return None, media
        phase = phase_of(message, self.sheet.model) if message.state else None
        # OpenAI takes it without a type, other servers of this wire do not.
        written: Json = {"type": "message", "role": "assistant", "content": text}
        if phase:
            written["phase"] = phase
        return written, media

    def _call(self, call: ToolCall) -> Json:
        if call.name not in self._known:
            self._known[call.name] = self.sheet.tool_name(call, call.name)
        return {
            "type": "function_call",
            "call_id": self.sheet.call_id(call, call.call_id),
            "name": self._known[call.name],
            "arguments": wording.mended(call.arguments),
        }

    def _answer(self, call: ToolCall, result: ToolResult | None) -> str | list[Json]:
        if result is None:
            self.sheet.note(call, "answer_added", "the call has no result")
            return wording.NO_RESULT
        text, media = (result.content, ()) if type(result.content) is str else split(result.parts)
        if media:
            parts = wording.failed_parts(result.parts) if result.is_error else result.parts
            return self._parts.of(result, parts)
        text = wording.mended(text) or wording.NO_OUTPUT
        return wording.failed(text) if result.is_error else text

    def _moved(self, message: Message, media: _Media) -> None:
        """Media that only a message of the user can carry, right after the turn they were in."""
        if media:
            self.sheet.note(message, "media_moved", "only messages of the user carry media here")
            parts = self._parts.of(message, ("[from the assistant]", *media))
            self.sheet.messages.append({"role": "user", "content": parts})

    def _instruction(self, message: Message) -> str:
        text, media = split(message.parts)
        if media:
            self.sheet.note(message, "media_as_text", "instructions are words here")
            text = "\n".join(filter(None, (text, *map(wording.described, media))))
        return wording.mended(text)

    def _left_out(self, item: Item) -> None:
        self.sheet.note(item, "empty_left_out", "it has no content")


def begin(model: str | None, tools: Sequence[Tool]) -> ResponsesWriter:
    """A writer with nothing written."""
    facts = facts_for(model) if model else UNKNOWN
    features = facts.features
    sheet = Sheet(NAME, model, _IDS, _TOOL_NAMES)
    for tool in tools:
        if tool.native is None:
            sheet.names.give(tool.name)
    instructions = "user" if "no_instructions" in features else "system"
    if "developer_role" in features:
        instructions = "developer"
    return ResponsesWriter(sheet, instructions, media_taken(facts), "cache_breakpoints" in features)


def _has_all(reply: Reply, blocks: list[Json | None]) -> bool:
    return all(
        block is not None
        for output, block in zip(reply.outputs, blocks, strict=True)
        if type(output) is Reasoning
    )
