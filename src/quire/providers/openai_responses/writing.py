"""OpenAI Responses: turns as items of input."""

from collections.abc import Sequence

from quire.items import Audio, File, Image, Item, Message, Note, Reasoning, Summary, ToolCall, ToolResult
from quire.providers import wording
from quire.providers.definitions import Tool
from quire.providers.dialogue import Reply
from quire.providers.media import split
from quire.providers.names import alphabet
from quire.providers.native import native_block
from quire.providers.openai_chat.family import FamilyWriter, sheet_for, written_tools
from quire.providers.openai_chat.manners import Manners, manners_of
from quire.providers.openai_responses.calling import CALLER, Programs, said_of
from quire.providers.openai_responses.parts import InputParts
from quire.providers.openai_responses.plain import write_plain
from quire.providers.openai_responses.references import sendable
from quire.providers.openai_responses.states import NAME, block_of, phase_of
from quire.providers.openai_responses.tools import written_tool
from quire.providers.sheet import Json, Sheet

_IDS = alphabet(64)

_Media = list[Image | Audio | File]


class ResponsesWriter(FamilyWriter):
    """Writes items of input."""

    __slots__ = ("_programs",)

    history = "input"

    def __init__(self, sheet: Sheet, manners: Manners, tools: list[Json], programs: Programs) -> None:
        super().__init__(sheet, manners, InputParts(sheet, manners.media), tools)
        self._programs = programs

    def branch(self) -> "ResponsesWriter":
        """The same writer, to be finished."""
        sheet = self.sheet.branch()
        return ResponsesWriter(sheet, self._manners, self._tools, self._programs.branch(sheet))

    def plain(self, items: Sequence[Item], start: int, stop: int) -> int:
        """The common case, written at once."""
        return self._plain(write_plain, items, start, stop)

    def user(self, item: Message | Note | Summary) -> None:
        """Something said to the model, or an item of this wire that a note holds."""
        held = native_block(item, NAME) if type(item) is Note else None
        own = None if held is None else sendable(held, self.sheet.ids)
        if own is None:
            super().user(item)
        else:
            self.sheet.messages.append(own)

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
        called: list[Json] = []
        for output, block in zip(reply.outputs, self._sealed(reply), strict=True):
            if type(output) is Message:
                block, media = self._said(output)
                moved.append((output, media))
            elif type(output) is ToolCall:
                block = self._call(output)
                called.append(block)
            if block is not None and self._answers_nothing(block, bool(held)):
                self.sheet.note(output, "reasoning_left_out", "what it answers is not there")
            elif block is not None:
                held.append((output, block))
                if block.get("type") != "reasoning":
                    self.sheet.messages.extend(written for _, written in held)
                    held.clear()
        for reasoning, _ in held:
            self.sheet.note(reasoning, "reasoning_left_out", "what it led to is not there")
        for call, result, written in zip(reply.calls, reply.results, called, strict=True):
            answer: Json = {"type": f"{written['type']}_output", "call_id": written["call_id"]}
            answer["output"] = self._answer(call, result)
            append(answer | ({CALLER: written[CALLER]} if CALLER in written else {}))
        for message, media in moved:
            self._moved(message, media)

    def _answers_nothing(self, block: Json, after_reasoning: bool) -> bool:
        """Whether a block is an output whose call, or whose program, is not right before it."""
        if block.get("type") == "program_output" and block.get("call_id") not in self._programs:
            return True
        return after_reasoning and str(block.get("type")).endswith("_output")

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
                self.sheet.left_out(message)
            return None, media
        phase = phase_of(message, self.sheet.asked) if message.state else None
        # OpenAI takes it without a type, other servers of this wire do not.
        written: Json = {"type": "message", "role": "assistant", "content": text}
        if phase:
            written["phase"] = phase
        return written, media

    def _call(self, call: ToolCall) -> Json:
        text, call_id = self._input(call), self.sheet.call_id(call, call.call_id)
        more = said_of(call, self._programs, self.sheet) if call.extras else {}
        if text is not None:
            # Such a tool is declared by its own name, whatever that is made of.
            name = wording.mended(call.name)
            return {"type": "custom_tool_call", "call_id": call_id, "name": name, "input": text, **more}
        name, arguments = self._name(call), self._arguments(call)
        return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, **more}

    def _answer(self, call: ToolCall, result: ToolResult | None) -> str | list[Json]:
        if result is None:
            self.sheet.note(call, "answer_added", "the call has no result")
            return wording.NO_RESULT
        text, media = (result.content, ()) if type(result.content) is str else split(result.parts)
        if media:
            parts = wording.failed_parts(result.parts) if result.is_error else result.parts
            return self._parts.of(result, parts)
        text = wording.mended(text)
        if not text:
            self.sheet.left_out(result)
            text = wording.NO_OUTPUT
        return wording.failed(text) if result.is_error else text

    def _moved(self, message: Message, media: _Media) -> None:
        """Media that only a message of the user can carry, right after the turn they were in."""
        if media:
            self.sheet.note(message, "media_moved", "only messages of the user carry media here")
            parts = self._parts.of(message, ("[from the assistant]", *media))
            self._say(parts)

    def _blocks_of(self, message: Json) -> str | None:
        if message.get("type") in ("function_call_output", "custom_tool_call_output"):
            return "output"
        return "content" if message.get("role", "assistant") != "assistant" else None


def begin(model: str | None, tools: Sequence[Tool]) -> ResponsesWriter:
    """A writer with nothing written."""
    sheet = sheet_for(NAME, model, _IDS)
    return ResponsesWriter(
        sheet, manners_of(model), written_tools(tools, sheet, written_tool), Programs(sheet)
    )


def _has_all(reply: Reply, blocks: list[Json | None]) -> bool:
    return all(
        block is not None
        for output, block in zip(reply.outputs, blocks, strict=True)
        if type(output) is Reasoning
    )
