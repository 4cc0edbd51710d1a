"""OpenAI Responses: turns as items of input."""

from collections.abc import Sequence

from quire.items import Audio, File, Image, Item, Message, Part, Reasoning, ToolCall, ToolResult
from quire.providers.draft import Draft
from quire.providers.media import (
    PDF,
    PICTURES,
    Media,
    as_text,
    file_id,
    inline_data,
    media_type,
    sound_type,
    split,
)
from quire.providers.openai_chat.write import OpenAIWriter
from quire.providers.profiles import Profile
from quire.providers.rules import CALL_IDS, FROM_ASSISTANT, TOOL_NAMES, failed_parts, failed_text
from quire.providers.state import OPENAI, RESPONSES
from quire.providers.tools import Tool, responses_tools
from quire.providers.turns import Output, Reply, plain_turns
from quire.providers.values import Json

_ADDRESSES = ("http://", "https://")
_JSON_FILE = "application/json"
_OFFICE = "application/vnd.openxmlformats-officedocument"
_FILE_ENDINGS = {
    PDF: "pdf",
    _JSON_FILE: "json",
    "application/msword": "doc",
    "application/rtf": "rtf",
    "application/vnd.ms-excel": "xls",
    "application/vnd.ms-powerpoint": "ppt",
    "application/vnd.oasis.opendocument.text": "odt",
    f"{_OFFICE}.presentationml.presentation": "pptx",
    f"{_OFFICE}.spreadsheetml.sheet": "xlsx",
    f"{_OFFICE}.wordprocessingml.document": "docx",
}
_CALL_FIELDS: dict[str, type] = {"namespace": str, "async": bool}


class ResponsesWriter(OpenAIWriter):
    """Writes items of input."""

    __slots__ = ()

    history = "input"
    text_type = "input_text"

    def plain(self, items: Sequence[Item], start: int, stop: int) -> int:
        """Write common turns from `start` on."""
        if not self._writes_plainly():
            return start
        messages, roles, names = self.draft.messages, self._roles, self.tool_names
        for turns in plain_turns(items, start, stop, roles):
            start, said, text, calls, results, end = turns
            for item in said:
                message: Json = {"type": "message"} if item.role == "assistant" else {}
                message["role"], message["content"] = roles[item.role], item.content
                messages.append(message)
            if not calls or not self.draft.takes_plainly(calls, names, self._takes_arguments):
                break
            if text:
                messages.append({"type": "message", "role": "assistant", "content": text})
            for call in calls:
                function = {"type": "function_call", "call_id": call.call_id, "name": names[call.name]}
                function["arguments"] = call.arguments
                messages.append(function)
            for result in results:
                output = failed_text(result.text) if result.is_error else result.content
                messages.append({"type": "function_call_output", "call_id": result.call_id, "output": output})
            start = end
        return start

    def reply(self, reply: Reply) -> None:
        """Write a turn of the model and the results of its calls."""
        messages = self.draft.messages
        held: list[tuple[Item, list[Json]]] = []  # reasoning, until what it led to is written
        moved: list[tuple[Message, list[Media]]] = []
        called: list[Json] = []
        for output, blocks in zip(reply.outputs, self._state_blocks(reply.outputs), strict=True):
            if isinstance(output, Message):
                blocks, media = self._message(output, blocks)
                moved.append((output, media))
            elif isinstance(output, ToolCall):
                blocks = [self._call(output, blocks)]
                called += blocks
            if held and blocks and str(blocks[0].get("type")).endswith("_output"):
                self.draft.note(output, "reasoning_left_out", "what it answers is not there")
                continue
            held += [(output, blocks)] if blocks else []
            if blocks and blocks[-1].get("type") != "reasoning":
                messages.extend(block for _, some in held for block in some)
                held.clear()
        for reasoning, _ in held:
            self.draft.note(reasoning, "reasoning_left_out", "what it led to is not there")
        for call, result, written in zip(reply.calls, reply.results, called, strict=True):
            answer: Json = {"type": f"{written['type']}_output", "call_id": written["call_id"]}
            messages.append({**answer, "output": self._output(call, result)})
        for message, media in moved:
            self._say_media(message, media, FROM_ASSISTANT)

    def _state_blocks(self, outputs: list[Output]) -> list[list[Json]]:
        """What goes back of the state of each output, looked at before anything is written.

        Items that the service made are refused without the reasoning that led to them: they go back only
        with all reasoning of the reply.
        """
        found = [self._blocks(output) for output in outputs]
        thoughts = [
            blocks for item, blocks in zip(outputs, found, strict=True) if isinstance(item, Reasoning)
        ]
        if all(thoughts):
            return found
        for place, output in enumerate(outputs):
            blocks = found[place]
            if isinstance(output, Reasoning) and blocks and blocks[0].get("type") != "reasoning":
                self.draft.note(output, "reasoning_left_out", "the reasoning that led to it is not sent")
                found[place] = []
        return found

    def _blocks(self, output: Output) -> list[Json]:
        if not isinstance(output, Reasoning):
            return self.draft.usable_blocks(output, lambda _: True)  # a phase is true whatever came before
        if output.state is None or not output.state.data:
            self.draft.note(output, "reasoning_left_out", "this wire carries only encrypted reasoning")
            return []
        blocks = self.draft.usable_blocks(output)
        ids = [block["id"] for block in blocks if isinstance(block.get("id"), str)]
        if [self.draft.ids.give(one) for one in ids] != ids:
            self.draft.note(output, "state_foreign", "the same state was sent before")
            return []
        return blocks

    def _message(self, message: Message, blocks: list[Json]) -> tuple[list[Json], list[Media]]:
        """The text of a message of the model, and the media that it cannot hold here."""
        text, media = (message.content, []) if isinstance(message.content, str) else split(message.parts)
        if not text:
            if not media:
                self.draft.note_empty(message)
            return [], media
        # OpenAI takes a message without a type, other servers of this wire do not.
        written: Json = {"type": "message", "role": "assistant", "content": text}
        phase = blocks[0].get("phase") if blocks else None
        return [written | {"phase": phase} if phase else written], media

    def _call(self, call: ToolCall, blocks: list[Json]) -> Json:
        raw = blocks[0] if blocks else {}
        text = self._custom_input(call, raw.get("type"), "custom_tool_call")
        more = {name: raw[name] for name, of in _CALL_FIELDS.items() if isinstance(raw.get(name), of)}
        call_id = self.draft.call_id(call)
        if text is not None:
            # Such a tool is declared under its own name, whatever that is made of.
            return {"type": "custom_tool_call", "call_id": call_id, "name": call.name, "input": text, **more}
        name, arguments = self.tool_name(call), self._arguments(call)
        return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, **more}

    def _output(self, call: ToolCall, result: ToolResult | None) -> str | list[Json]:
        if result is None or isinstance(result.content, str) or not split(result.parts)[1]:
            return self._output_text(call, result)
        return self.input_parts(result, failed_parts(result.parts) if result.is_error else result.parts)

    def _part_text(self, part: Part) -> str | None:
        # A JSON file is one that this wire takes.
        return None if isinstance(part, File) and media_type(part) == _JSON_FILE else as_text(part)

    def _media_block(self, part: Media) -> Json | None:
        known, data, kind = file_id(part, OPENAI), inline_data(part), sound_type(part)
        url = part.url if part.url and part.url.startswith(_ADDRESSES) else None
        if isinstance(part, Image):
            if known is not None:
                return {"type": "input_image", "file_id": known, "detail": part.detail}
            if data is not None:
                url = f"data:{kind};base64,{data}" if kind in PICTURES else None
            return {"type": "input_image", "image_url": url, "detail": part.detail} if url else None
        if isinstance(part, Audio):
            return None
        if known is not None:
            return {"type": "input_file", "file_id": known}
        if data is not None and kind in _FILE_ENDINGS:
            name = part.name or f"document.{_FILE_ENDINGS[kind]}"
            return {"type": "input_file", "filename": name, "file_data": f"data:{kind};base64,{data}"}
        is_read = kind is None or kind in _FILE_ENDINGS or kind.startswith("text/")
        return {"type": "input_file", "file_url": url} if url and data is None and is_read else None

    def _marked_field(self, message: Json) -> str | None:
        if message.get("type") in ("function_call_output", "custom_tool_call_output"):
            return "output"
        return "content" if message.get("role", "assistant") != "assistant" else None


def begin(profile: Profile, tools: Sequence[Tool]) -> ResponsesWriter:
    """A writer with nothing written."""
    ids = profile.call_ids or CALL_IDS[RESPONSES]
    draft = Draft(RESPONSES, profile.model, ids, TOOL_NAMES[RESPONSES])
    return ResponsesWriter(draft, profile, responses_tools(tools, draft, profile))
