"""OpenAI Chat Completions: turns as chat messages."""

import re
from collections.abc import Sequence

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
)
from quire.providers import wording
from quire.providers.definitions import Tool
from quire.providers.dialogue import Reply
from quire.providers.media import split
from quire.providers.names import alphabet
from quire.providers.native import BESIDE, fields_beside, file_id
from quire.providers.openai_chat.blocks import OWNER
from quire.providers.openai_chat.customs import input_of
from quire.providers.openai_chat.family import FamilyWriter, Manners, manners_of, sheet_for, written_tools
from quire.providers.openai_chat.limits import LONGEST_ID, in_messages, refuse_too_many
from quire.providers.openai_chat.parts import Parts
from quire.providers.openai_chat.plain import write_plain
from quire.providers.openai_chat.tools import written_tool
from quire.providers.sheet import Json, Sheet

NAME = "openai"
_IDS = alphabet(LONGEST_ID)
_AUTHOR = re.compile(r"[^\s<|\\/>]+")


class ChatWriter(FamilyWriter):
    """Writes chat messages. This wire carries no state."""

    __slots__ = ()

    history = "messages"

    def branch(self) -> "ChatWriter":
        """The same writer, to be finished."""
        return _writer(self.sheet.branch(), self._manners, self._tools)

    def plain(self, items: Sequence[Item], start: int, stop: int) -> int:
        """The common case, written at once."""
        return self._plain(write_plain, items, start, stop)

    def user(self, item: Message | Note | Summary) -> None:
        """Something said to the model, with the name of who said it."""
        place = len(self.sheet.messages)
        super().user(item)
        self._sign(item, place)

    def instruct(self, item: Message | ConfigChange) -> None:
        """Instructions, where they stand, with the name of who gave them."""
        place = len(self.sheet.messages)
        super().instruct(item)
        self._sign(item, place)

    def assistant(self, item: Message) -> None:
        """A reply of words alone."""
        place = len(self.sheet.messages)
        self._assistant(item)
        self._sign(item, place)

    def _sign(self, item: Item, place: int) -> None:
        """Put the name of who said it on the message at a place, if it was written and there is one."""
        messages = self.sheet.messages
        if BESIDE not in item.extras or place >= len(messages):
            return
        name = fields_beside(item, NAME).get("name")
        if isinstance(name, str) and _AUTHOR.fullmatch(wording.mended(name)):
            messages[place]["name"] = wording.mended(name)

    def _sign_all(self, items: list[Message], place: int) -> None:
        for item in items:
            self._sign(item, place)

    def _assistant(self, item: Message) -> None:
        content = item.content
        if type(content) is str and content:
            text = content if content.isascii() else wording.mended(content)
            self.sheet.messages.append({"role": "assistant", "content": text})
            return
        text, media = split(item.parts)
        spoken = file_id(media[0], OWNER) if len(media) == 1 and isinstance(media[0], Audio) else None
        if spoken is not None:
            said = wording.mended(text) or None
            self.sheet.messages.append({"role": "assistant", "content": said, "audio": {"id": spoken}})
            return
        if text:
            self.sheet.messages.append({"role": "assistant", "content": wording.mended(text)})
        if media:
            self._moved(item, media, "[from the assistant]")
        elif not text:
            self.sheet.left_out(item)

    def reply(self, reply: Reply) -> None:
        """A reply with calls, and what they gave."""
        outputs, calls, results = reply
        words: list[Message] = []
        for output in outputs:
            if type(output) is Message:
                words.append(output)
            elif type(output) is Reasoning:
                self.sheet.unsent(output, "this wire carries no reasoning")
        if not calls:
            for message in words:
                self.assistant(message)
            return
        text = self.sheet.words(words[0]) if len(words) == 1 else "\n".join(map(self.sheet.words, words))
        place, media = len(self.sheet.messages), False
        for some in in_messages(len(calls)):
            media = self._exchange(calls[some], results[some], text) or media
            text = ""
        self._sign_all(words, place)
        if media:
            self._results_media(calls, results)

    def _exchange(self, calls: list[ToolCall], results: list[ToolResult | None], text: str) -> bool:
        """Calls of one message, each answered right after it; whether any answer is more than words."""
        written = [self._call(call) for call in calls]
        append, more = self.sheet.messages.append, False
        append({"role": "assistant", "content": text or None, "tool_calls": written})
        for call, result, given in zip(calls, results, written, strict=True):
            if result is not None and type(result.content) is str:
                text = result.content if result.content.isascii() else wording.mended(result.content)
            else:
                text = self._answer(call, result)
                more = True
            if result is not None and not text and not split(result.parts)[1]:
                self.sheet.left_out(result)
            text = text or wording.NO_OUTPUT
            if result is not None and result.is_error:
                text = wording.failed(text)
            append({"role": "tool", "tool_call_id": given["id"], "content": text})
        return more

    def _results_media(self, calls: list[ToolCall], results: list[ToolResult | None]) -> None:
        for call, result in zip(calls, results, strict=True):
            media = split(result.parts)[1] if result is not None else []
            if media and result is not None:
                self._moved(result, media, wording.from_call(call))

    def _call(self, call: ToolCall) -> Json:
        text = input_of(call)
        call_id = self.sheet.call_id(call, call.call_id)
        if text is not None:
            # Such a tool is declared by its own name, whatever that is made of.
            custom = {"name": wording.mended(call.name), "input": text}
            return {"id": call_id, "type": "custom", "custom": custom}
        function = {"name": self._name(call), "arguments": wording.mended(call.arguments)}
        return {"id": call_id, "type": "function", "function": function}

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

    def _blocks_of(self, message: Json) -> str | None:
        return None if message["role"] == "assistant" else "content"


def begin(model: str | None, tools: Sequence[Tool]) -> ChatWriter:
    """A writer with nothing written."""
    sheet = sheet_for(NAME, model, _IDS)
    written = written_tools(tools, sheet, written_tool)
    refuse_too_many(written)
    return _writer(sheet, manners_of(model), written)


def _writer(sheet: Sheet, manners: Manners, tools: list[Json]) -> ChatWriter:
    return ChatWriter(sheet, manners, Parts(sheet, manners.media), tools)
