"""OpenAI Responses: writes turns as input items."""

from typing import Any

from quire.items import Audio, Image, Item, Message, Reasoning, ToolCall, ToolResult
from quire.providers.media import Media, base64_in, file_id, image_url, sent_type, split_media
from quire.providers.openai_chat.write import OpenAIWriter
from quire.providers.rules import RESPONSES_FILES, failed_parts, failed_text
from quire.providers.state import OPENAI, RESPONSES
from quire.providers.turns import Pair
from quire.providers.values import Json, fields_in, object_in
from quire.state import Output

_CUSTOM = "custom_tool_call"
_CALL_FIELDS: dict[str, type] = {"namespace": str, "async": bool}


class ResponsesWriter(OpenAIWriter):
    """Writes input items."""

    wire = RESPONSES
    text_type = "input_text"

    def _write_text_fast(self, role: str, text: str) -> None:
        message: Json = {"type": "message"} if role == "assistant" else {}
        message["role"], message["content"] = role, text
        self.draft.messages.append(message)

    def _write_turn_fast(
        self, first: ToolCall, text: str | None, calls: list[Json], results: list[Json]
    ) -> None:
        if text is not None:
            self._write_text_fast("assistant", text)
        self.draft.messages += calls
        self.draft.messages += results

    def _write_assistant(
        self, outputs: list[Output], calls: list[ToolCall], results: list[ToolResult]
    ) -> None:
        raw = self._state_blocks(outputs)
        all_blocks = [self._blocks(output, state) for output, state in zip(outputs, raw, strict=True)]
        written = [(output, blocks) for output, blocks in zip(outputs, all_blocks, strict=True) if blocks]
        while written and written[-1][1][-1].get("type") == "reasoning":
            self.draft.report(written.pop()[0], "reasoning_left_out", "what it led to is not there")
        messages = self.draft.messages
        messages.extend(block for _, blocks in written for block in blocks)
        call_items = [blocks[0] for output, blocks in written if isinstance(output, ToolCall)]
        for result, call in zip(results, call_items, strict=True):
            answer = self._result_part(call["call_id"], "", self._output(result), result.is_error)
            messages.append({**answer, "type": f"{call['type']}_output"})

    def _state_blocks(self, outputs: list[Output]) -> list[list[Json]]:
        """The state blocks of each output that are sent back.

        The service refuses an item that it made itself, such as a search, without the reasoning that led to
        it. So such items are sent back only if all reasoning of the reply is sent back. Call this before the
        reply is written: the state is checked against the messages so far.
        """
        states = [self._state(output) for output in outputs]
        pairs = list(zip(outputs, states, strict=True))
        if all(blocks for output, blocks in pairs if isinstance(output, Reasoning)):
            return states
        for output, blocks in pairs:
            if isinstance(output, Reasoning) and blocks and blocks[0].get("type") != "reasoning":
                self.draft.report(output, "reasoning_left_out", "the reasoning that led to it is not sent")
                blocks.clear()
        return states

    def _state(self, output: Output) -> list[Json]:
        if not isinstance(output, Reasoning):
            # A `phase` and the type of a call are valid after any messages.
            return self.draft.usable_blocks(output, is_bound=False)
        blocks = self._thoughts(output)
        ids = [block["id"] for block in blocks if isinstance(block.get("id"), str)]
        if [self.draft.ids.next_id(item_id) for item_id in ids] != ids:
            self.draft.report(output, "state_foreign", "the same state was sent before")
            return []
        return blocks

    def _blocks(self, output: Output, raw: list[Json]) -> list[Json]:
        if isinstance(output, Reasoning):
            return raw
        return [self._call(output, raw)] if isinstance(output, ToolCall) else self._message(output, raw)

    def _message(self, message: Message, raw: list[Json]) -> list[Json]:
        # OpenAI accepts a message without a type; other services of this wire do not.
        written: Json = {"type": "message", "role": "assistant", "content": self._text(message)}
        if raw and raw[0].get("phase"):
            written["phase"] = raw[0]["phase"]
        return [written] if written["content"] else []

    def _call(self, call: ToolCall, blocks: list[Json]) -> Json:
        raw = blocks[0] if blocks else {}
        text = fields_in(object_in(call.arguments)).get("input") if raw.get("type") == _CUSTOM else None
        extra = {name: raw[name] for name, kind in _CALL_FIELDS.items() if isinstance(raw.get(name), kind)}
        call_id = self.draft.call_id(call)
        if isinstance(text, str) and self.profile.takes_all:
            # A custom tool is always declared under its own name.
            return {"type": _CUSTOM, "call_id": call_id, "name": call.name, "input": text, **extra}
        if text is not None:
            self.draft.report(call, "fields_left_out", "the call of a custom tool is sent as a function call")
        return self._call_part(call_id, self.tool_name(call), self.arguments(call)) | extra

    def _pair(self, call_id: str, name: str, arguments: Any, output: Any, is_error: bool) -> Pair:
        call = {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
        content = failed_text(output) if is_error and isinstance(output, str) else output
        return call, {"type": "function_call_output", "call_id": call_id, "output": content}

    def _output(self, result: ToolResult) -> str | list[Json]:
        if not split_media(result.parts)[1]:
            return self._output_text(result)
        return self.input_parts(result, failed_parts(result.parts) if result.is_error else result.parts)

    def _carries_media(self, item: Message | ToolResult, part: Media) -> bool:
        return isinstance(item, ToolResult)

    def _media_part(self, item: Item, part: Media) -> Json | None:
        uploaded, data, kind = file_id(part, OPENAI), base64_in(part), sent_type(part)
        if isinstance(part, Audio):
            return None
        if isinstance(part, Image):
            source = {"image_url": image_url(part)} if uploaded is None else {"file_id": uploaded}
            return {"type": "input_image", **source, "detail": part.detail} if any(source.values()) else None
        if uploaded is not None:
            return {"type": "input_file", "file_id": uploaded}
        if data is not None:
            name = part.name or f"document.{RESPONSES_FILES.get(kind or '')}"
            file = {"type": "input_file", "filename": name, "file_data": f"data:{kind};base64,{data}"}
            return file if kind in RESPONSES_FILES else None
        has_type = kind is None or kind in RESPONSES_FILES or kind.startswith("text/")
        is_on_web = (part.url or "").startswith(("http://", "https://"))
        return {"type": "input_file", "file_url": part.url} if has_type and is_on_web else None
