"""OpenAI Chat Completions: writes turns as chat messages. `OpenAIWriter` is shared with OpenAI Responses."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, ClassVar

from quire.items import Audio, File, Item, Message, Reasoning, ToolCall, ToolResult
from quire.providers import rules
from quire.providers.media import (
    PDF,
    Media,
    base64_in,
    file_id,
    image_url,
    media_type,
    sent_type,
    split_media,
)
from quire.providers.profiles import Profile
from quire.providers.state import OPENAI, SIGNATURE_FIELDS
from quire.providers.tools import Tool
from quire.providers.turns import Pair, Writer
from quire.providers.types import HISTORY, CachePlan
from quire.providers.values import Json, text_in
from quire.state import Output
from quire.tokens import NO_OUTPUT

_AUDIO_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_BREAKPOINT = "prompt_cache_breakpoint"


class OpenAIWriter(Writer):
    """The base of both OpenAI writers: instructions, messages of the user, arguments, breakpoints."""

    text_type: ClassVar[str] = "text"
    has_text_arguments = True

    def __init__(self, profile: Profile, tools: Sequence[Tool]) -> None:
        super().__init__(profile, tools)
        self._needs_reply_after_results = "assistant_after_results" in profile.features
        needs_thoughts = "reasoning_with_calls" in profile.features
        self.can_write_fast = not (self._needs_reply_after_results or profile.signs_calls or needs_thoughts)

    def finish(self, plan: CachePlan | None) -> dict[str, Any]:
        messages, profile = self.draft.messages, self.profile
        # Strict services refuse a request whose last message has one of these roles.
        unanswerable = {"assistant"} if self._needs_reply_after_results else set[str]()
        if not profile.instructions_anywhere:
            unanswerable.add(profile.instructions)
        if not messages or messages[-1].get("role") in unanswerable - {"user"}:
            self.draft.report(None, "turn_added", "there was nothing to answer")
            self._write_user([self._text_part(rules.CONTINUE)])
        if plan and "cache_breakpoints" in profile.features:
            # Each static item is one message, so `plan.static` counts messages too.
            self._set_breakpoints({min(plan.static, self.draft.stable_count), self.draft.stable_count})
        payload: dict[str, Any] = {HISTORY[self.wire]: messages}
        if self._tools:
            payload["tools"] = self._tools.copy()
        if plan and plan.key and profile.cache_key:
            # The key is hashed because it may be an address that contains a person's name.
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
        """Set a breakpoint on the last suitable message before each end."""
        messages = self.draft.messages
        for end in ends:
            for index in range(end - 1, -1, -1):
                field = _breakpoint_field(messages[index])
                if field is not None:
                    content = messages[index][field]
                    blocks = [self._text_part(content)] if isinstance(content, str) else content
                    marked = {**blocks[-1], _BREAKPOINT: {"mode": "explicit"}}
                    messages[index] = {**messages[index], field: [*blocks[:-1], marked]}
                    break


class ChatWriter(OpenAIWriter):
    """Writes chat messages, with the thoughts and signatures that services of this wire want back."""

    wire = OPENAI

    def _write_text_fast(self, role: str, text: str) -> None:
        self.draft.messages.append({"role": role, "content": text})

    def _write_turn_fast(
        self, first: ToolCall, text: str | None, calls: list[Json], results: list[Json]
    ) -> None:
        self.draft.messages.append({"role": "assistant", "content": text, "tool_calls": calls})
        self.draft.messages += results

    def _write_user(self, parts: list[Json]) -> None:
        messages = self.draft.messages
        if self._needs_reply_after_results and messages and messages[-1]["role"] == "tool":
            self.draft.report(None, "turn_added", "the message after a result has to be one of the assistant")
            messages.append({"role": "assistant", "content": rules.UNDERSTOOD})
        super()._write_user(parts)

    def _write_state(self, item: Item, start: int) -> None:
        """Add the name of the speaker to the message at index `start`, if one was written there."""
        fields = self.draft.usable_blocks(item) if isinstance(item, Message) else []
        name = text_in(fields[0].get("name")) if fields else ""
        if not name or start >= len(self.draft.messages):
            return
        if not self.profile.takes_all:
            self.draft.report(item, "fields_left_out", "the service may refuse the name of a speaker")
            return
        if not rules.SPEAKER_NAMES.accepts(name):
            self.draft.report(item, "name_renamed", "a speaker's name has other characters here")
            name = rules.SPEAKER_NAMES.rename(name)
        self.draft.messages[start]["name"] = name

    # --- outputs of the model ----------------------------------------------------------------------------

    def _write_assistant(
        self, outputs: list[Output], calls: list[ToolCall], results: list[ToolResult]
    ) -> None:
        """Write a reply as one message, or as several if it has many calls, and the results."""
        # State belongs to the prefix before the whole reply, so it is checked before anything is written.
        fields = [self._fields(output, has_calls=bool(calls)) for output in outputs]
        pairs = zip(fields, outputs, strict=True)
        signatures = [signature for signature, output in pairs if isinstance(output, ToolCall)]
        spoken = [output for output in outputs if isinstance(output, Message)]
        text = "\n".join(filter(None, map(self._text, spoken)))
        thoughts = self._last_thoughts(outputs, fields, has_message=bool(text or calls))
        messages, first_message = self.draft.messages, len(self.draft.messages)
        count = len(calls) or (1 if text else 0)  # a text without calls is one message too
        for start in range(0, count, rules.OPENAI_TOOL_CALL_COUNT):
            batch = slice(start, start + rules.OPENAI_TOOL_CALL_COUNT)
            message: Json = {"role": "assistant", "content": text or None}
            written = self._tool_calls(calls[batch], signatures[batch]) if calls else []
            if calls:
                message["tool_calls"] = written
            messages.append(message | self._thought_fields(thoughts, has_calls=bool(calls)))
            for result, call in zip(results[batch], written, strict=True):
                messages.append(self._result_part(call["id"], "", self._output_text(result), result.is_error))
            text, thoughts = "", {}
        for item in spoken:
            self._write_state(item, first_message)

    def _fields(self, output: Output, *, has_calls: bool) -> Json:
        """The fields from the state of a thought or a call that are sent back."""
        if isinstance(output, Message):
            return {}
        if isinstance(output, ToolCall):
            blocks, is_accepted = self.draft.usable_blocks(output), True
        else:
            blocks = self._thoughts(output)
            only_with_calls = "reasoning_with_calls_only" in self.profile.features
            is_accepted = self.profile.takes_thoughts and (has_calls or not only_with_calls)
        if is_accepted or not blocks:
            return blocks[0] if blocks else {}
        self.draft.report(output, "thoughts_left_out", "its service takes none back, or only beside calls")
        return {}

    def _last_thoughts(self, outputs: list[Output], fields: list[Json], *, has_message: bool) -> Json:
        """The fields of a reply's last thoughts; earlier ones, or all without a message, are left out."""
        pairs = zip(outputs, fields, strict=True)
        thoughts = [(item, sent) for item, sent in pairs if sent and isinstance(item, Reasoning)]
        for thought, _ in thoughts[:-1] if has_message else thoughts:
            self.draft.report(thought, "reasoning_left_out", "no message goes with it, or later thoughts do")
        return thoughts[-1][1] if thoughts else {}

    def _thought_fields(self, fields: Json, *, has_calls: bool) -> Json:
        """The thoughts to send beside a message, or a blank thought if the service requires one.

        Some services require thoughts beside plain answers, but only once a request has tools. The blank is
        sent before that too, so that the messages do not change when tools are added.
        """
        has_thoughts = not fields.keys().isdisjoint(("reasoning_content", "reasoning_details"))
        feature = "reasoning_with_calls" if has_calls else "reasoning_with_answers"
        if has_thoughts or feature not in self.profile.features:
            return fields
        return {"reasoning_content": fields.get("reasoning") or rules.BLANK_THOUGHT, **fields}

    def _tool_calls(self, calls: list[ToolCall], signatures: list[Json]) -> list[Json]:
        """The calls of one message with their signatures; the first gets a placeholder if one is required."""
        if self.profile.signs_calls and not signatures[0].keys() & {*SIGNATURE_FIELDS}:
            self.draft.report(calls[0], "state_foreign", "a placeholder stands for this model's signature")
            placeholder = {"google": {"thought_signature": rules.SIGNATURE_PLACEHOLDER}}
            signatures = [{**signatures[0], "extra_content": placeholder}, *signatures[1:]]
        return [self._tool_call(call, signed) for call, signed in zip(calls, signatures, strict=True)]

    def _tool_call(self, call: ToolCall, signature: Json) -> Json:
        fields = {name: signature[name] for name in SIGNATURE_FIELDS if isinstance(signature.get(name), dict)}
        call_id = self.draft.call_id(call)
        return self._call_part(call_id, self.tool_name(call), self.arguments(call)) | fields

    def _pair(self, call_id: str, name: str, arguments: Any, output: Any, is_error: bool) -> Pair:
        call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        text = rules.failed_text(output) if is_error else output
        return call, {"role": "tool", "tool_call_id": call_id, "content": text}

    def _media_part(self, item: Item, part: Media) -> Json | None:
        data, kind = base64_in(part), sent_type(part)
        if isinstance(part, Audio):
            form = _AUDIO_FORMATS.get(media_type(part) or "") if data else None
            return {"type": "input_audio", "input_audio": {"data": data, "format": form}} if form else None
        if isinstance(part, File):
            uploaded = file_id(part, OPENAI)
            if uploaded is not None:
                return {"type": "file", "file": {"file_id": uploaded}}
            file = {"filename": part.name or "document.pdf", "file_data": f"data:{PDF};base64,{data}"}
            return {"type": "file", "file": file} if data is not None and kind == PDF else None
        url = image_url(part)
        if url is None:
            return None
        image = {"url": url} if part.detail == "auto" else {"url": url, "detail": part.detail}
        return {"type": "image_url", "image_url": image}


def _breakpoint_field(message: Json) -> str | None:
    """The field of a message in which a block may have a breakpoint; None for messages of the model."""
    if message.get("type") in ("function_call_output", "custom_tool_call_output"):
        return "output"
    return "content" if message.get("role", "assistant") != "assistant" else None
