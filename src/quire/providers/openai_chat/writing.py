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
from quire.providers.dialogue import Output, Reply
from quire.providers.media import split
from quire.providers.names import Alphabet, alphabet
from quire.providers.native import BESIDE, fields_beside, file_id
from quire.providers.openai_chat.blocks import OWNER
from quire.providers.openai_chat.chunks import with_beside
from quire.providers.openai_chat.family import FamilyWriter, sheet_for, written_tools
from quire.providers.openai_chat.limits import LONGEST_ID, in_messages, refuse_too_many
from quire.providers.openai_chat.manners import Manners, manners_of
from quire.providers.openai_chat.parts import Parts
from quire.providers.openai_chat.plain import write_plain, write_words
from quire.providers.openai_chat.states import NAME, goes_back, unsigned_id
from quire.providers.openai_chat.tools import written_tool
from quire.providers.openai_chat.wishes import thoughts_or_blank, wanted_signature, wishes_of
from quire.providers.sheet import Json, Sheet

_IDS = alphabet(LONGEST_ID)
_OF_MODEL = "[from the assistant]"
_AUTHORS = Alphabet(re.compile(r"[^\s<|\\/>]+"), 64)


class ChatWriter(FamilyWriter):
    """Writes chat messages; beside them goes what a service that speaks this wire wants back."""

    __slots__ = ()

    history = "messages"

    def branch(self) -> "ChatWriter":
        """The same writer, to be finished."""
        return _writer(self.sheet.branch(), self._manners, self._tools)

    def plain(self, items: Sequence[Item], start: int, stop: int) -> int:
        """The common case, written at once; where a service wants more beside calls, it is words alone."""
        wishes = wishes_of(self.sheet.model)
        if wishes.always:
            return start  # words are more here too
        write = write_words if wishes.any else write_plain
        return self._plain(write, items, start, stop)

    def user(self, item: Message | Note | Summary) -> None:
        """Something said to the model, with the name of who said it."""
        place = len(self.sheet.messages)
        super().user(item)
        self._sign(item, max(place, len(self.sheet.messages) - 1))

    def instruct(self, item: Message | ConfigChange) -> None:
        """Instructions, with the name of who gave them, unless they join those of others."""
        place = len(self.sheet.messages)
        super().instruct(item)
        self._sign(item, max(place, len(self.sheet.messages) - 1))

    def assistant(self, item: Message) -> None:
        """A reply of words alone."""
        self._reply(item, {})

    def _reply(self, item: Message, fields: Json) -> bool:
        """Write a reply of words with what goes beside it; whether there was anything to write."""
        messages, place = self.sheet.messages, len(self.sheet.messages)
        self._assistant(item)
        is_written = place < len(messages) and messages[place]["role"] == "assistant"
        if is_written and (beside := thoughts_or_blank(self.sheet.model, fields, has_calls=False)):
            messages[place] = with_beside(messages[place], beside)
        self._sign(item, place)
        return is_written

    def _sign(self, item: Item, place: int) -> None:
        """Put the name of who said it on the message at a place, if it was written and there is one."""
        messages = self.sheet.messages
        if BESIDE not in item.extras or place >= len(messages):
            return
        name = fields_beside(item, NAME).get("name")
        if not isinstance(name, str) or not name:
            return
        if self._manners.whole:
            messages[place]["name"] = self._author(item, wording.mended(name))
        else:
            self.sheet.note(item, "fields_left_out", "whoever serves the model may refuse a speaker's name")

    def _author(self, item: Item, name: str) -> str:
        """The name of a speaker as the wire takes it; no two of them become one."""
        if _AUTHORS.takes(name):
            return name
        self.sheet.note(item, "name_renamed", "a speaker's name has other characters here")
        return _AUTHORS.renamed(name)

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
        alone = len(media) == 1 and isinstance(media[0], Audio) and self._manners.whole
        spoken = file_id(media[0], OWNER) if alone else None
        if spoken is not None:
            said = wording.mended(text) or None
            self.sheet.messages.append({"role": "assistant", "content": said, "audio": {"id": spoken}})
            return
        if text:
            self.sheet.messages.append({"role": "assistant", "content": wording.mended(text)})
        if media:
            self._moved(item, media, _OF_MODEL)
        elif not text:
            self.sheet.left_out(item)

    def reply(self, reply: Reply) -> None:
        """A reply with calls or thoughts, and what the calls gave."""
        outputs, calls, results = reply
        # Before anything is written: state is good for what stands before the whole reply.
        beside = [self._beside(output, bool(calls)) for output in outputs]
        if not calls:
            self._speak(outputs, beside)
            return
        words = [output for output in outputs if type(output) is Message]
        text = "\n".join(wording.mended(split(item.parts)[0]) for item in words)
        place, media = len(self.sheet.messages), False
        fields = self._thoughts(outputs, beside)
        signs = [sign for output, sign in zip(outputs, beside, strict=True) if type(output) is ToolCall]
        for some in in_messages(len(calls)):
            written = self._signed(calls[some], signs[some])
            message: Json = {"role": "assistant", "content": text or None, "tool_calls": written}
            self.sheet.messages.append(with_beside(message, fields))
            media = self._answers(calls[some], results[some], written) or media
            text, fields = "", thoughts_or_blank(self.sheet.model, {}, has_calls=True)
        self._sign_all(words, place)
        for item in words:
            if made := split(item.parts)[1]:
                self._moved(item, made, _OF_MODEL)
        if media:
            self._results_media(calls, results)

    def _beside(self, output: Output, has_calls: bool) -> Json:
        """The fields that go back beside what the model thought or called."""
        return {} if isinstance(output, Message) else goes_back(output, self.sheet, has_calls)

    def _speak(self, outputs: list[Output], beside: list[Json]) -> None:
        """Words without calls, each message with what was thought before it."""
        held = list[tuple[Output, Json]]()
        for output, fields in zip(outputs, beside, strict=True):
            if type(output) is not Message:
                held += [(output, fields)] if fields else []
            elif self._reply(output, held[-1][1] if held else {}) and held:
                held.pop()
        for thought, _ in held:
            self.sheet.note(thought, "reasoning_left_out", "what it led to is not there")

    def _thoughts(self, outputs: list[Output], beside: list[Json]) -> Json:
        """The fields of the one message that has the calls: of several thoughts the last."""
        found = [
            (output, fields)
            for output, fields in zip(outputs, beside, strict=True)
            if fields and type(output) is Reasoning
        ]
        for thought, _ in found[:-1]:
            self.sheet.note(thought, "reasoning_left_out", "there are later thoughts on the same message")
        return thoughts_or_blank(self.sheet.model, found[-1][1] if found else {}, has_calls=True)

    def _signed(self, calls: list[ToolCall], signs: list[Json]) -> list[Json]:
        """Calls of one message, each with its signature; the first has one where the service wants it."""
        first = signs[0] or wanted_signature(self.sheet.model)
        if first and not signs[0]:
            self.sheet.note(calls[0], "state_foreign", "a placeholder stands for this model's signature")
        return [self._call(call) | sign for call, sign in zip(calls, (first, *signs[1:]), strict=True)]

    def _answers(self, calls: list[ToolCall], results: list[ToolResult | None], written: list[Json]) -> bool:
        """What the calls of one message gave, right after it; whether any answer is more than words."""
        append, more = self.sheet.messages.append, False
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
        text = self._input(call)
        # A signature in an id would be torn where the id is cut: it goes back beside the call alone.
        call_id = self.sheet.call_id(call, call.call_id, unsigned_id(call.call_id))
        if text is not None:
            # Such a tool is declared by its own name, whatever that is made of.
            custom = {"name": wording.mended(call.name), "input": text}
            return {"id": call_id, "type": "custom", "custom": custom}
        function = {"name": self._name(call), "arguments": self._arguments(call)}
        return {"id": call_id, "type": "function", "function": function}

    def _answer(self, call: ToolCall, result: ToolResult | None) -> str:
        if result is None:
            self.sheet.note(call, "answer_added", "the call has no result")
            return wording.NO_RESULT
        return split(result.parts)[0]

    def _moved(self, item: Item, media: list[Image | Audio | File], heading: str) -> None:
        """Media that only a message of the user can carry, right after where they were."""
        self.sheet.note(item, "media_moved", "only messages of the user carry media here")
        self._say(self._parts.of(item, (heading, *media)))

    def _say(self, content: str | list[Json]) -> None:
        messages = self.sheet.messages
        if self._manners.heard and messages and messages[-1]["role"] == "tool":
            self.sheet.note(None, "turn_added", "the model speaks between a result and the user here")
            messages.append({"role": "assistant", "content": wording.UNDERSTOOD})
        super()._say(content)

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
