"""OpenAI Chat Completions: turns as chat messages. `OpenAIWriter` holds what both wires of OpenAI share."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, ClassVar

from quire.items import Audio, File, Item, Message, Reasoning, ToolCall, ToolResult
from quire.providers import rules
from quire.providers.media import (
    PDF,
    Media,
    file_id,
    image_url,
    inline_data,
    media_type,
    sendable_type,
    split_media,
)
from quire.providers.profiles import Profile
from quire.providers.state import OPENAI, SIGNATURE_FIELDS
from quire.providers.tools import Tool
from quire.providers.turns import CallAndResult, Writer
from quire.providers.types import HISTORY, CachePlan
from quire.providers.values import Json, text_in
from quire.state import Output
from quire.tokens import NO_OUTPUT

_AUDIO_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_BREAKPOINT = "prompt_cache_breakpoint"


class OpenAIWriter(Writer):
    """What both wires of OpenAI write alike: instructions, messages of the user, arguments, breakpoints."""

    text_type: ClassVar[str] = "text"
    has_text_arguments = True

    def __init__(self, profile: Profile, tools: Sequence[Tool]) -> None:
        super().__init__(profile, tools)
        self._answers_results = "assistant_after_results" in profile.features
        wants_thoughts = "reasoning_with_calls" in profile.features
        self.writes_plainly = not (self._answers_results or profile.signs_calls or wants_thoughts)

    def finish(self, plan: CachePlan | None) -> dict[str, Any]:
        messages, profile = self.draft.messages, self.profile
        # A strict service has nothing to answer after these roles.
        unanswerable = {"assistant"} if self._answers_results else set[str]()
        if not profile.instructions_anywhere:
            unanswerable.add(profile.instructions)
        if not messages or messages[-1].get("role") in unanswerable - {"user"}:
            self.draft.report(None, "turn_added", "there was nothing to answer")
            self._write_user([self._text_part(rules.CONTINUE)])
        if plan and "cache_breakpoints" in profile.features:
            # A static item is one message.
            self._set_breakpoints({min(plan.static, self.draft.stable_count), self.draft.stable_count})
        payload: dict[str, Any] = {HISTORY[self.wire]: messages}
        if self._tools:
            payload["tools"] = self._tools.copy()
        if plan and plan.key and profile.cache_key:
            # A digest, since the key may be an address with somebody's name.
            payload["prompt_cache_key"] = sha256(plan.key.encode(errors="replace")).hexdigest()[:32]
        return payload

    def _write_user(self, parts: list[Json]) -> None:
        is_text = len(parts) == 1 and parts[0]["type"] == self.text_type
        self.draft.messages.append({"role": "user", "content": parts[0]["text"] if is_text else parts})

    def _write_instructions(self, item: Item, text: str) -> str | None:
        messages, role = self.draft.messages, self.profile.instructions
        if role == "user":
            return "the model takes no instructions of their own"
        if self.profile.instructions_anywhere or not messages:
            messages.append({"role": role, "content": text})
        elif len(messages) == 1 and messages[0].get("role") == role:
            self.draft.open_message()["content"] += f"\n\n{text}"
        else:
            return "the model takes instructions at the start only"
        return None

    def _text(self, item: Message) -> str:
        if not any(item.parts):
            self.draft.report_empty(item)
        return split_media(item.parts)[0]

    def _output_text(self, result: ToolResult) -> str:
        text, media = split_media(result.parts)
        if not text and not media:
            self.draft.report_empty(result)
        return text or NO_OUTPUT

    def _text_part(self, text: str) -> Json:
        return {"type": self.text_type, "text": text}

    def _set_breakpoints(self, ends: set[int]) -> None:
        """Put breakpoints at the ends of the static and of the slow part."""
        messages = self.draft.messages
        for end in ends:
            place = next((at for at in range(end - 1, -1, -1) if _marked_field(messages[at])), None)
            field = None if place is None else _marked_field(messages[place])
            if place is not None and field is not None:
                content = messages[place][field]
                blocks = [self._text_part(content)] if isinstance(content, str) else content
                marked = {**blocks[-1], _BREAKPOINT: {"mode": "explicit"}}
                messages[place] = {**messages[place], field: [*blocks[:-1], marked]}


class ChatWriter(OpenAIWriter):
    """Writes chat messages; beside them goes what a service of this wire wants back."""

    wire = OPENAI

    def _write_plain_text(self, role: str, text: str) -> None:
        self.draft.messages.append({"role": role, "content": text})

    def _write_plain_turn(
        self, first: ToolCall, text: str | None, calls: list[Json], results: list[Json]
    ) -> None:
        self.draft.messages.append({"role": "assistant", "content": text, "tool_calls": calls})
        self.draft.messages += results

    def _write_user(self, parts: list[Json]) -> None:
        messages = self.draft.messages
        if self._answers_results and messages and messages[-1]["role"] == "tool":
            self.draft.report(None, "turn_added", "the message after a result has to be one of the assistant")
            messages.append({"role": "assistant", "content": rules.UNDERSTOOD})
        super()._write_user(parts)

    def _write_state(self, item: Item, place: int) -> None:
        """Put the name of the speaker on the message that was written from a place on, if there is one."""
        fields = self.draft.usable_blocks(item) if isinstance(item, Message) else []
        name = text_in(fields[0].get("name")) if fields else ""
        if not name or place >= len(self.draft.messages):
            return
        if not self.profile.takes_all:
            self.draft.report(item, "fields_left_out", "the service may refuse the name of a speaker")
            return
        if not rules.SPEAKER_NAMES.accepts(name):
            self.draft.report(item, "name_renamed", "a speaker's name has other characters here")
            name = rules.SPEAKER_NAMES.rename(name)
        self.draft.messages[place]["name"] = name

    # --- outputs of the model ----------------------------------------------------------------------------

    def _write_assistant(
        self, outputs: list[Output], calls: list[ToolCall], results: list[ToolResult]
    ) -> None:
        """One message with the texts, the calls and the last thoughts of a reply, then the results."""
        # State is good for what precedes the whole reply, so it is looked at before anything is written.
        fields = [self._fields(output, has_calls=bool(calls)) for output in outputs]
        signs = [one for one, output in zip(fields, outputs, strict=True) if isinstance(output, ToolCall)]
        said = [output for output in outputs if isinstance(output, Message)]
        text = "\n".join(filter(None, map(self._text, said)))
        beside = self._last_thoughts(outputs, fields, has_message=bool(text or calls))
        messages, place = self.draft.messages, len(self.draft.messages)
        for start in range(0, len(calls) or bool(text), rules.OPENAI_TOOL_CALL_COUNT):
            some = slice(start, start + rules.OPENAI_TOOL_CALL_COUNT)
            message: Json = {"role": "assistant", "content": text or None}
            written = self._tool_calls(calls[some], signs[some]) if calls else []
            if calls:
                message["tool_calls"] = written
            messages.append(message | self._wanted_fields(beside, has_calls=bool(calls)))
            for result, call in zip(results[some], written, strict=True):
                messages.append(self._result_part(call["id"], "", self._output_text(result), result.is_error))
            text, beside = "", {}
        for item in said:
            self._write_state(item, place)

    def _fields(self, output: Output, *, has_calls: bool) -> Json:
        """The fields that go back beside a thought or a call."""
        if isinstance(output, Message):
            return {}
        if isinstance(output, ToolCall):
            blocks, is_taken = self.draft.usable_blocks(output), True
        else:
            blocks = self._thoughts(output)
            is_taken = self.profile.takes_thoughts and (
                has_calls or "reasoning_with_calls_only" not in self.profile.features
            )
        if is_taken or not blocks:
            return blocks[0] if blocks else {}
        self.draft.report(output, "thoughts_left_out", "its service takes none back, or only beside calls")
        return {}

    def _last_thoughts(self, outputs: list[Output], fields: list[Json], *, has_message: bool) -> Json:
        """The fields of the one message of a reply: of several thoughts the last."""
        pairs = zip(outputs, fields, strict=True)
        found = [(item, beside) for item, beside in pairs if beside and isinstance(item, Reasoning)]
        for thought, _ in found[:-1] if has_message else found:
            self.draft.report(thought, "reasoning_left_out", "no message goes with it, or later thoughts do")
        return found[-1][1] if found else {}

    def _wanted_fields(self, fields: Json, *, has_calls: bool) -> Json:
        """The fields beside a message: its thoughts, or a blank where its service refuses one without.

        A service that wants thoughts on plain answers does so once a request has tools. The blank is there
        before that, so that nothing changes when they come.
        """
        has_thoughts = not fields.keys().isdisjoint(("reasoning_content", "reasoning_details"))
        wanted = "reasoning_with_calls" if has_calls else "reasoning_with_answers"
        if has_thoughts or wanted not in self.profile.features:
            return fields
        return {"reasoning_content": fields.get("reasoning") or rules.BLANK_THOUGHT, **fields}

    def _tool_calls(self, calls: list[ToolCall], signs: list[Json]) -> list[Json]:
        """Calls of one message, each with its signature; the first has one where the service wants it."""
        if self.profile.signs_calls and not signs[0].keys() & {*SIGNATURE_FIELDS}:
            self.draft.report(calls[0], "state_foreign", "a placeholder stands for this model's signature")
            placeholder = {"google": {"thought_signature": rules.SIGNATURE_PLACEHOLDER}}
            signs = [{**signs[0], "extra_content": placeholder}, *signs[1:]]
        return [self._tool_call(call, sign) for call, sign in zip(calls, signs, strict=True)]

    def _tool_call(self, call: ToolCall, sign: Json) -> Json:
        beside = {name: sign[name] for name in SIGNATURE_FIELDS if isinstance(sign.get(name), dict)}
        call_id = self.draft.call_id(call)
        return self._call_part(call_id, self.tool_name(call), self.arguments(call)) | beside

    def _call_and_result(
        self, call_id: str, name: str, arguments: Any, output: Any, is_error: bool
    ) -> CallAndResult:
        call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        text = rules.failed_text(output) if is_error else output
        return call, {"role": "tool", "tool_call_id": call_id, "content": text}

    def _media_part(self, item: Item, part: Media) -> Json | None:
        data, kind = inline_data(part), sendable_type(part)
        if isinstance(part, Audio):
            form = _AUDIO_FORMATS.get(media_type(part) or "") if data else None
            return {"type": "input_audio", "input_audio": {"data": data, "format": form}} if form else None
        if isinstance(part, File):
            known = file_id(part, OPENAI)
            if known is not None:
                return {"type": "file", "file": {"file_id": known}}
            file = {"filename": part.name or "document.pdf", "file_data": f"data:{PDF};base64,{data}"}
            return {"type": "file", "file": file} if data is not None and kind == PDF else None
        url = image_url(part)
        if url is None:
            return None
        shown = {"url": url} if part.detail == "auto" else {"url": url, "detail": part.detail}
        return {"type": "image_url", "image_url": shown}


def _marked_field(message: Json) -> str | None:
    """The field of a message that holds input blocks, which alone can be marked."""
    if message.get("type") in ("function_call_output", "custom_tool_call_output"):
        return "output"
    return "content" if message.get("role", "assistant") != "assistant" else None
