"""OpenAI Chat Completions: turns as chat messages. `OpenAIWriter` holds what both wires of OpenAI share."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, ClassVar

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
from quire.providers.draft import Draft, content_for_model
from quire.providers.media import PDF, PICTURES, Media, file_id, inline_data, media_type, sound_type, split
from quire.providers.profiles import Profile
from quire.providers.rules import (
    BLANK_THOUGHT,
    CALL_IDS,
    CONTINUE,
    FROM_ASSISTANT,
    NO_RESULT,
    OPENAI_TOOL_CALL_COUNT,
    SIGNATURE_PLACEHOLDER,
    SPEAKER_NAMES,
    TOOL_NAMES,
    UNDERSTOOD,
    failed_text,
    from_tool,
    tagged_instructions,
)
from quire.providers.state import OPENAI, SIGNATURE_FIELDS, THOUGHT_FIELDS, unpack
from quire.providers.tools import Tool, chat_tools
from quire.providers.turns import Marks, Output, Reply, Writer, plain_turns
from quire.providers.values import Json, entries_in, fields_in, json_text, object_in, text_in
from quire.tokens import NO_OUTPUT

_ABILITIES = {Image: "image_input", Audio: "audio_input", File: "pdf_input"}
_AUDIO_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_MOST_CALLS = OPENAI_TOOL_CALL_COUNT.accepted
_BREAKPOINT = "prompt_cache_breakpoint"
_SIGNATURE_IN_ID = "__thought__"
"""LiteLLM puts a signature into the id of a call, after this, for clients that keep nothing else."""


class OpenAIWriter(Writer):
    """What both wires of OpenAI write alike: instructions, messages of the user, arguments, cache marks."""

    __slots__ = ("_roles", "_takes_arguments", "_tools")

    history: ClassVar[str]
    """The field of the payload that holds the conversation."""
    text_type: ClassVar[str] = "text"

    def __init__(self, draft: Draft, profile: Profile, tools: list[Json]) -> None:
        super().__init__(draft, profile)
        self._tools = tools
        self._takes_arguments = bool if profile.is_openai else is_object_text
        self._roles = {"user": "user", "assistant": "assistant"}
        if profile.instructions_anywhere:
            self._roles |= dict.fromkeys(("system", "developer"), profile.instructions)

    def user(self, item: Message | Note | Summary) -> None:
        """Write an item that is addressed to the model."""
        content = content_for_model(item)
        if isinstance(content, str) and content:
            self._say(content)
            return
        parts = self.input_parts(item, parts_of(content))
        if not parts:
            self.draft.note_empty(item)
        else:
            is_text = len(parts) == 1 and parts[0]["type"] == self.text_type
            self._say(parts[0]["text"] if is_text else parts)

    def instruct(self, item: Message | ConfigChange) -> None:
        """Write instructions where they stand, or in one message at the start where no others are taken."""
        text, messages, profile = self.draft.instructions(item), self.draft.messages, self.profile
        if not text:
            self.draft.note_empty(item)
        elif profile.instructions == "user":
            self._say_instructions(item, text, "the model takes no instructions of their own")
        elif profile.instructions_anywhere or not messages:
            messages.append({"role": profile.instructions, "content": text})
        elif len(messages) == 1 and messages[0].get("role") == profile.instructions:
            self.draft.open_message()["content"] += f"\n\n{text}"
        else:
            self._say_instructions(item, text, "the model takes instructions at the start only")

    def finish(self, marks: Marks | None) -> dict[str, Any]:
        """The payload."""
        messages, profile = self.draft.messages, self.profile
        if not messages or self._lacks_user(messages[-1].get("role")):
            self.draft.note(None, "turn_added", "there was nothing to answer")
            self._say(CONTINUE)
        if marks and profile.breakpoints:
            self._mark({min(marks.static, len(messages)), min(marks.slow, len(messages))})
        payload: dict[str, Any] = {self.history: messages}
        if self._tools:
            payload["tools"] = self._tools.copy()
        if marks and marks.plan.key and profile.cache_key:
            # A digest, since the key may be an address with somebody's name.
            payload["prompt_cache_key"] = sha256(marks.plan.key.encode()).hexdigest()[:32]
        return payload

    def _say(self, content: str | list[Json]) -> None:
        self.draft.messages.append({"role": "user", "content": content})

    def _say_instructions(self, item: Item, text: str, reason: str) -> None:
        self.draft.note(item, "instructions_as_text", reason)
        self._say(tagged_instructions(text))

    def _say_media(self, item: Item, media: Sequence[Media], heading: str) -> None:
        """Media that only a message of the user can carry, right after where they were."""
        if media:
            self.draft.note(item, "media_moved", "only messages of the user carry media here")
            self._say(self.input_parts(item, (heading, *media)))

    def _lacks_user(self, last: str | None) -> bool:
        """Whether a strict service has nothing to answer after a role."""
        if self.profile.answers_results and last == "assistant":
            return True
        return not self.profile.instructions_anywhere and last == self.profile.instructions

    def _writes_plainly(self) -> bool:
        # A branch has ids of its own and those given before it; common turns know only of the first.
        profile = self.profile
        return not (self.draft.ids.is_branch or profile.answers_results or profile.instructions == "user")

    def _arguments(self, call: ToolCall) -> str:
        """The arguments of a call. Many services refuse a history with arguments that are no object."""
        text, verbatim = call.arguments, self.profile.is_openai
        if not text or (text.isspace() and not verbatim):
            return "{}"
        if verbatim or is_object_text(text):
            return text
        self.draft.note(call, "arguments_repaired", "its arguments are no JSON object")
        return json_text({"arguments": text}, "arguments")

    def _custom_input(self, call: ToolCall, kind: Any, custom: str) -> str | None:
        """The text of a call of a tool that takes any text; None for a call of a function."""
        text = fields_in(object_in(call.arguments)).get("input") if kind == custom else None
        if not isinstance(text, str) or self.profile.takes_all:
            return text if isinstance(text, str) else None
        self.draft.note(call, "fields_left_out", "a call of another kind is one of a function here")
        return None

    def _output_text(self, call: ToolCall, result: ToolResult | None) -> str:
        """The text of a result."""
        if result is None:
            self.draft.note(call, "result_added", "the call has no result")
            return NO_RESULT
        text, media = (result.content, []) if isinstance(result.content, str) else split(result.parts)
        if not text and not media:
            self.draft.note_empty(result)
        return failed_text(text or NO_OUTPUT) if result.is_error else text or NO_OUTPUT

    def _text_part(self, text: str) -> Json:
        return {"type": self.text_type, "text": text}

    def _media_part(self, part: Media) -> Json | None:
        return self._media_block(part) if _ABILITIES[type(part)] in self.profile.media else None

    def _media_block(self, part: Media) -> Json | None:
        raise NotImplementedError

    def _marked_field(self, message: Json) -> str | None:
        """The field of a message that holds input blocks, which alone can be marked."""
        raise NotImplementedError

    def _mark(self, ends: set[int]) -> None:
        """Put breakpoints at the ends of the static and of the slow part."""
        messages, unmarked = self.draft.messages, self.draft.unmarked
        for end in ends:
            place = end - 1
            while place >= 0 and self._marked_field(messages[place]) is None:
                place -= 1
            if place >= 0 and place not in unmarked and (field := self._marked_field(messages[place])):
                message = unmarked[place] = messages[place]
                content = message[field]
                blocks = [self._text_part(content)] if isinstance(content, str) else content
                marked = {**blocks[-1], _BREAKPOINT: {"mode": "explicit"}}
                messages[place] = {**message, field: [*blocks[:-1], marked]}


class ChatWriter(OpenAIWriter):
    """Writes chat messages; beside them goes what a service of this wire wants back."""

    __slots__ = ()

    history = "messages"

    def plain(self, items: Sequence[Item], start: int, stop: int) -> int:
        """Write common turns from `start` on."""
        if self.profile.wants_thoughts == "always" or not self._writes_plainly():
            return start
        messages, roles, names = self.draft.messages, self._roles, self.tool_names
        takes_calls = self.profile.wants_thoughts == "no" and not self.profile.signs_calls
        takes_plainly, takes_arguments = self.draft.takes_plainly, self._takes_arguments
        for turns in plain_turns(items, start, stop, roles):
            start, said, text, calls, results, end = turns
            if said:
                messages += [{"role": roles[item.role], "content": item.content} for item in said]
            if not (calls and takes_calls and len(calls) <= _MOST_CALLS):
                break
            if not takes_plainly(calls, names, takes_arguments):
                break
            written: list[Json] = []
            for call in calls:
                function = {"name": names[call.name], "arguments": call.arguments}
                written.append({"id": call.call_id, "type": "function", "function": function})
            messages.append({"role": "assistant", "content": text, "tool_calls": written})
            for result in results:
                output = failed_text(result.text) if result.is_error else result.content
                messages.append({"role": "tool", "tool_call_id": result.call_id, "content": output})
            start = end
        return start

    def user(self, item: Message | Note | Summary) -> None:
        """Write an item that is addressed to the model, with the name of its speaker."""
        place = len(self.draft.messages)
        super().user(item)
        self._name_speaker(item, max(place, len(self.draft.messages) - 1))

    def instruct(self, item: Message | ConfigChange) -> None:
        """Write instructions, with the name of their speaker."""
        place = len(self.draft.messages)
        super().instruct(item)
        self._name_speaker(item, max(place, len(self.draft.messages) - 1))

    def reply(self, reply: Reply) -> None:
        """Write a turn of the model and the results of its calls."""
        outputs, calls, _ = reply
        # State is good for what precedes the whole reply, so it is looked at before anything is written.
        fields = [self._state_fields(output, bool(calls)) for output in outputs]
        if calls:
            self._call(reply, fields)
            return
        held: list[tuple[Output, Json]] = []  # thoughts, until the message that they go with
        for output, beside in zip(outputs, fields, strict=True):
            if not isinstance(output, Message):
                held += [(output, beside)] if beside else []
            elif self._speak(output, held[-1][1] if held else {}) and held:
                held.pop()
        for thought, _ in held:
            self.draft.note(thought, "reasoning_left_out", "what it led to is not there")

    def _speak(self, item: Message, fields: Json) -> bool:
        """Write a message of the model with the fields beside it; whether there was text to write."""
        messages, place = self.draft.messages, len(self.draft.messages)
        text, media = (item.content, []) if isinstance(item.content, str) else split(item.parts)
        # A recording of the model goes back by its id.
        is_recording = len(media) == 1 and isinstance(media[0], Audio) and self.profile.takes_all
        recording = file_id(media[0], OPENAI) if is_recording else None
        if recording is not None:
            messages.append({"role": "assistant", "content": text or None, "audio": {"id": recording}})
        elif text:
            messages.append({"role": "assistant", "content": text})
        elif not media:
            self.draft.note_empty(item)
        is_written = len(messages) > place
        if is_written and (beside := self._wanted_fields(fields, has_calls=False)):
            messages[place] = _with_fields(messages[place], beside)
        if is_written:
            self._name_speaker(item, place)
        if recording is None:
            self._say_media(item, media, FROM_ASSISTANT)
        return is_written

    def _state_fields(self, output: Output, has_calls: bool) -> Json:
        """The fields that go back beside a thought or a call."""
        if isinstance(output, Message):
            return {}
        state, profile, draft = output.state, self.profile, self.draft
        if isinstance(output, Reasoning) and (not state or not state.data or state.provider != OPENAI):
            draft.note_thoughts(output, "this wire carries only what a service of its own wants back")
            return {}
        noted = len(draft.downgrades)
        blocks = draft.usable_blocks(output)
        if not blocks:
            is_stale = any(loss.change == "state_stale" for loss in draft.downgrades[noted:])
            return _stand_ins(output) if is_stale and has_calls else {}
        if isinstance(output, ToolCall):
            return blocks[0] if profile.takes_thoughts or "type" in blocks[0] else {}
        fields = {
            name: value for name, value in blocks[0].items() if name != "content" or profile.takes_chunks
        }
        if not profile.takes_thoughts or not fields:
            draft.note(output, "reasoning_left_out", "the model gives no such thoughts, and takes none")
            return {}
        if not has_calls and profile.thoughts_with_calls_only:
            draft.note(output, "thoughts_left_out", "its service takes them back only beside calls")
            return {}
        return fields

    def _wanted_fields(self, fields: Json, *, has_calls: bool) -> Json:
        """The fields beside a message: its thoughts, or a blank where its service refuses one without.

        A service that wants thoughts on plain answers does so once a request has tools. The blank is there
        before that, so that nothing changes when they come.
        """
        wants = self.profile.wants_thoughts
        if wants == "no" or (wants == "calls" and not has_calls):
            return fields
        if self.profile.one_thought_name and "reasoning" in fields:
            return {"reasoning_content": fields["reasoning"] or BLANK_THOUGHT, **fields}
        if fields.keys() & {*THOUGHT_FIELDS, "reasoning_details"}:
            return fields
        return {"reasoning_content": BLANK_THOUGHT, **fields}

    def _call(self, reply: Reply, fields: list[Json]) -> None:
        """Write calls with the text around them, then their results, then the media of both."""
        outputs, calls, results = reply
        said = [output for output in outputs if isinstance(output, Message)]
        text = "\n".join(split(item.parts)[0] for item in said)
        beside = self._wanted_fields(self._last_thoughts(outputs, fields), has_calls=True)
        signs = [sign for output, sign in zip(outputs, fields, strict=True) if isinstance(output, ToolCall)]
        messages, place = self.draft.messages, len(self.draft.messages)
        for start in range(0, len(calls), _MOST_CALLS):
            some = slice(start, start + _MOST_CALLS)
            written = self._tool_calls(calls[some], signs[some])
            message: Json = {"role": "assistant", "content": text or None, "tool_calls": written}
            messages.append(_with_fields(message, beside))
            for call, result, given in zip(calls[some], results[some], written, strict=True):
                output = self._output_text(call, result)
                messages.append({"role": "tool", "tool_call_id": given["id"], "content": output})
            text, beside = "", self._wanted_fields({}, has_calls=True)
        for item in said:
            self._name_speaker(item, place)
            self._say_media(item, split(item.parts)[1], FROM_ASSISTANT)
        for call, result in zip(calls, results, strict=True):
            if result is not None and not isinstance(result.content, str):
                self._say_media(result, split(result.parts)[1], from_tool(call.name))

    def _last_thoughts(self, outputs: list[Output], fields: list[Json]) -> Json:
        """The fields of the one message with the calls: of several thoughts the last."""
        pairs = zip(outputs, fields, strict=True)
        found = [(item, beside) for item, beside in pairs if beside and isinstance(item, Reasoning)]
        for thought, _ in found[:-1]:
            self.draft.note(thought, "reasoning_left_out", "there are later thoughts on the same message")
        return found[-1][1] if found else {}

    def _tool_calls(self, calls: list[ToolCall], signs: list[Json]) -> list[Json]:
        """Calls of one message, each with its signature; the first has one where the service wants it."""
        if self.profile.signs_calls and not signs[0].keys() & {*SIGNATURE_FIELDS}:
            self.draft.note(calls[0], "state_foreign", "a placeholder stands for this model's signature")
            placeholder = {"google": {"thought_signature": SIGNATURE_PLACEHOLDER}}
            signs = [{**signs[0], "extra_content": placeholder}, *signs[1:]]
        return [self._tool_call(call, sign) for call, sign in zip(calls, signs, strict=True)]

    def _tool_call(self, call: ToolCall, sign: Json) -> Json:
        text = self._custom_input(call, sign.get("type"), "custom")
        call_id = self.draft.call_id(call, call.call_id.partition(_SIGNATURE_IN_ID)[0])
        beside = {name: sign[name] for name in SIGNATURE_FIELDS if isinstance(sign.get(name), dict)}
        if text is not None:
            # Such a tool is declared under its own name, whatever that is made of.
            return {"id": call_id, "type": "custom", "custom": {"name": call.name, "input": text}, **beside}
        function = {"name": self.tool_name(call), "arguments": self._arguments(call)}
        return {"id": call_id, "type": "function", "function": function, **beside}

    def _say(self, content: str | list[Json]) -> None:
        messages = self.draft.messages
        if self.profile.answers_results and messages and messages[-1]["role"] == "tool":
            self.draft.note(None, "turn_added", "the model speaks between a result and the user here")
            messages.append({"role": "assistant", "content": UNDERSTOOD})
        super()._say(content)

    def _name_speaker(self, item: Item, place: int) -> None:
        """Put the name of the speaker on the message at a place, if there is one."""
        fields = self.draft.usable_blocks(item) if isinstance(item, Message) and item.state else []
        name = text_in(fields[0].get("name")) if fields else ""
        if not name or place >= len(self.draft.messages):
            return
        if not self.profile.takes_all:
            self.draft.note(item, "fields_left_out", "whoever serves the model may refuse a speaker's name")
            return
        if not SPEAKER_NAMES.takes(name):
            self.draft.note(item, "name_renamed", "a speaker's name has other characters here")
            name = SPEAKER_NAMES.renamed(name)
        self.draft.messages[place]["name"] = name

    def _media_block(self, part: Media) -> Json | None:
        data, kind = inline_data(part), sound_type(part)
        if isinstance(part, Audio):
            form = _AUDIO_FORMATS.get(media_type(part) or "") if data else None
            return {"type": "input_audio", "input_audio": {"data": data, "format": form}} if form else None
        if isinstance(part, File):
            known = file_id(part, OPENAI)
            if known is not None:
                return {"type": "file", "file": {"file_id": known}}
            file = {"filename": part.name or "document.pdf", "file_data": f"data:{PDF};base64,{data}"}
            return {"type": "file", "file": file} if data is not None and kind == PDF else None
        is_inline = data is not None and kind in PICTURES
        url = f"data:{kind};base64,{data}" if is_inline else part.url or ""
        if not is_inline and not url.startswith(("http://", "https://")):
            return None
        shown = {"url": url} if part.detail == "auto" else {"url": url, "detail": part.detail}
        return {"type": "image_url", "image_url": shown}

    def _marked_field(self, message: Json) -> str | None:
        return None if message["role"] == "assistant" else "content"


def begin(profile: Profile, tools: Sequence[Tool]) -> ChatWriter:
    """A writer with nothing written."""
    draft = Draft(OPENAI, profile.model, profile.call_ids or CALL_IDS[OPENAI], TOOL_NAMES[OPENAI])
    return ChatWriter(draft, profile, chat_tools(tools, draft, profile))


def without_breakpoints(payload: Json) -> Json:
    """A payload without cache marks; a text that is a block for its mark alone is a plain text again."""
    history = next((name for name in ("messages", "input") if isinstance(payload.get(name), list)), None)
    if history is None:
        return payload
    return {**payload, history: [_unmarked(message) for message in payload[history]]}


def _unmarked(message: Any) -> Any:
    for field in ("content", "output"):
        blocks = entries_in(fields_in(message).get(field))
        if blocks and _BREAKPOINT in fields_in(blocks[-1]):
            last = {name: value for name, value in fields_in(blocks[-1]).items() if name != _BREAKPOINT}
            alone = len(blocks) == 1 and last.get("type") in ("text", "input_text")
            return {**message, field: last["text"] if alone else [*blocks[:-1], last]}
    return message


def is_object_text(arguments: str) -> bool:
    """Whether arguments are a JSON object; most that are not show it by their last character."""
    return arguments.rstrip().endswith("}") and object_in(arguments) is not None


def _with_fields(message: Json, fields: Json) -> Json:
    """A message with fields beside it; thoughts that are chunks of the content stand before its text."""
    if "content" not in fields:
        return {**message, **fields}
    text = message.get("content")
    said = [{"type": "text", "text": text}] if text else []
    return {**message, **fields, "content": [*fields["content"], *said]}


def _stand_ins(output: Reasoning | ToolCall) -> Json:
    """What goes back for fields that may not, so that a message with calls is not refused."""
    fields: Json = next(iter(unpack(output.state)), {})  # pyright: ignore
    blanks = {name: BLANK_THOUGHT for name in THOUGHT_FIELDS if name in fields}
    signed = {name: _unsigned(fields_in(fields[name])) for name in SIGNATURE_FIELDS if name in fields}
    return blanks | signed


def _unsigned(value: Json) -> Json:
    """An object with the placeholder for each signature in it, and nothing else."""
    held = {name: _unsigned(fields_in(inner)) for name, inner in value.items() if isinstance(inner, dict)}
    return held | ({"thought_signature": SIGNATURE_PLACEHOLDER} if "thought_signature" in value else {})
