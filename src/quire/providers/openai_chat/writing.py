"""OpenAI Chat Completions: turns as chat messages."""

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
from quire.providers.openai_chat.marks import cache_key, marked, written_tool
from quire.providers.openai_chat.parts import Parts, media_taken
from quire.providers.openai_chat.plain import write_plain
from quire.providers.rendering import Marks
from quire.providers.sheet import Json, Sheet
from quire.tokens.facts import UNKNOWN, facts_for

NAME = "openai"
_IDS = alphabet(64)
_TOOL_NAMES = alphabet(64)


class ChatWriter:
    """Writes chat messages; text, which nearly everything is, goes straight into the list."""

    __slots__ = ("_instructions", "_known", "_marks_cache", "_parts", "_roles", "downgrades", "sheet")

    def __init__(self, sheet: Sheet, instructions: str, media: frozenset[str], marks_cache: bool) -> None:
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
        self._parts = Parts(sheet, media)
        self._known: dict[str, str] = {}  # tool names met so far, as they are here

    def branch(self) -> "ChatWriter":
        """The same writer, to be finished."""
        return ChatWriter(self.sheet.branch(), self._instructions, self._parts.media, self._marks_cache)

    def bound(self) -> bool:
        """Nothing is: this wire carries no state."""
        return False

    def plain(self, items: Sequence[Item], start: int, stop: int) -> int:
        """The common case, written at once."""
        # A branch has ids of its own and those given out before it; plain turns know only of their own.
        if self.sheet.ids.is_branch or self._instructions == "user":
            return start
        return write_plain(items, start, stop, self.sheet, self._known, self._roles)

    def user(self, item: Message | Note | Summary) -> None:
        """Something said to the model."""
        content = item.content if type(item) is Message else wording.said(item)
        if type(content) is str and content:
            text = content if content.isascii() else wording.mended(content)
            self.sheet.messages.append({"role": "user", "content": text})
            return
        parts = self._parts.of(item, parts_of(content))
        if parts:
            alone = len(parts) == 1 and parts[0]["type"] == "text"
            self.sheet.messages.append({"role": "user", "content": parts[0]["text"] if alone else parts})
        else:
            self._left_out(item)

    def instruct(self, item: Message | ConfigChange) -> None:
        """Instructions, where they stand."""
        text = self._words(item) if isinstance(item, Message) else wording.mended(item.instructions or "")
        if not text:
            self._left_out(item)
        elif self._instructions == "user":
            self.sheet.note(item, "instructions_as_text", "the model takes no instructions of their own")
            self.sheet.messages.append({"role": "user", "content": wording.instructed(text)})
        else:
            self.sheet.messages.append({"role": self._instructions, "content": text})

    def assistant(self, item: Message) -> None:
        """A reply of words alone."""
        content = item.content
        if type(content) is str and content:
            text = content if content.isascii() else wording.mended(content)
            self.sheet.messages.append({"role": "assistant", "content": text})
            return
        text, media = split(item.parts)
        if text:
            self.sheet.messages.append({"role": "assistant", "content": wording.mended(text)})
        if media:
            self._moved(item, media, "[from the assistant]")
        elif not text:
            self._left_out(item)

    def reply(self, reply: Reply) -> None:
        """A reply with calls, and what they gave."""
        outputs, calls, results = reply
        words: list[Message] = []
        for output in outputs:
            if type(output) is Message:
                words.append(output)
            elif type(output) is Reasoning:
                self.sheet.note(output, "reasoning_left_out", "this wire carries no reasoning")
        if not calls:
            for message in words:
                self.assistant(message)
            return
        written = [self._call(call) for call in calls]
        text = self._words(words[0]) if len(words) == 1 else "\n".join(map(self._words, words))
        append = self.sheet.messages.append
        append({"role": "assistant", "content": text or None, "tool_calls": written})
        media = False
        for call, result, given in zip(calls, results, written, strict=True):
            if result is not None and type(result.content) is str:
                text = result.content if result.content.isascii() else wording.mended(result.content)
            else:
                text = self._answer(call, result)
                media = True
            text = text or wording.NO_OUTPUT
            if result is not None and result.is_error:
                text = wording.failed(text)
            append({"role": "tool", "tool_call_id": given["id"], "content": text})
        if media:
            self._results_media(calls, results)

    def _results_media(self, calls: list[ToolCall], results: list[ToolResult | None]) -> None:
        for call, result in zip(calls, results, strict=True):
            media = split(result.parts)[1] if result is not None else []
            if media and result is not None:
                self._moved(result, media, wording.from_call(call))

    def finish(self, tools: Sequence[Tool], marks: Marks | None) -> dict[str, Any]:
        """The payload."""
        messages = self.sheet.messages
        if not messages:
            self.sheet.note(None, "turn_added", "there was nothing to answer")
            messages.append({"role": "user", "content": wording.CONTINUE})
        marked_up = marked(messages, marks) if marks and self._marks_cache else messages
        payload: dict[str, Any] = {"messages": marked_up}
        if written := self._tools(tools):
            payload["tools"] = written
        if marks and marks.plan.key:
            payload["prompt_cache_key"] = cache_key(marks.plan.key)
        return payload

    def _tools(self, tools: Sequence[Tool]) -> list[Json]:
        written = [(tool.name, written_tool(tool, self.sheet.names)) for tool in tools]
        for name, tool in written:
            if tool is None:
                self.sheet.note(None, "tools_left_out", f"{name!r} is a tool of another service")
        return [tool for _, tool in written if tool is not None]

    def _call(self, call: ToolCall) -> Json:
        name, call_id, arguments = call.name, call.call_id, call.arguments
        if name not in self._known:
            self._known[name] = self.sheet.tool_name(call, name)
        given = self.sheet.ids.give(call_id)
        if given != call_id:
            self.sheet.note(call, "id_renamed", f"the call's id is {given!r} here")
        if not arguments.isascii():
            arguments = wording.mended(arguments)
        function = {"name": self._known[name], "arguments": arguments}
        return {"id": given, "type": "function", "function": function}

    def _answer(self, call: ToolCall, result: ToolResult | None) -> str:
        if result is None:
            self.sheet.note(call, "answer_added", "the call has no result")
            return wording.NO_RESULT
        return split(result.parts)[0]

    def _moved(self, item: Item, media: list[Image | Audio | File], heading: str) -> None:
        """Media that only a message of the user can carry, right after where they were."""
        self.sheet.note(item, "media_moved", "only messages of the user carry media here")
        parts = self._parts.of(item, (heading, *media))
        self.sheet.messages.append({"role": "user", "content": parts})

    def _words(self, message: Message) -> str:
        if type(message.content) is str:
            return wording.mended(message.content)
        text, media = split(message.parts)
        if media:
            self.sheet.note(message, "media_as_text", "only messages of the user carry media here")
            text = "\n".join(filter(None, (text, *map(wording.described, media))))
        return wording.mended(text)

    def _left_out(self, item: Item) -> None:
        self.sheet.note(item, "empty_left_out", "it has no content")


def begin(model: str | None, tools: Sequence[Tool]) -> ChatWriter:
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
    return ChatWriter(sheet, instructions, media_taken(facts), "cache_breakpoints" in features)
