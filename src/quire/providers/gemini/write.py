"""Gemini: turns as contents of the user and of the model.

Each message of the user is a content of its own: the wire takes several in a row, and refuses one that mixes
answers to calls with anything else. What the model says is one content until the user speaks: calls are
refused when they do not come right after the user or after an answer.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from quire.items import (
    ConfigChange,
    Item,
    Message,
    Note,
    Part,
    Reasoning,
    Summary,
    ToolCall,
    ToolResult,
    parts_of,
)
from quire.providers.draft import Draft, content_for_model
from quire.providers.media import Media, as_text, inline_data, sound_type, split
from quire.providers.profiles import Profile
from quire.providers.rules import (
    BEGIN,
    CALL_IDS,
    CONTINUE,
    FROM_ASSISTANT,
    NO_RESULT,
    SIGNATURE_PLACEHOLDER,
    TOOL_NAMES,
    from_tool,
    tagged_instructions,
)
from quire.providers.state import GEMINI, is_signature
from quire.providers.tools import Tool, gemini_config
from quire.providers.turns import Marks, Output, PlainTurns, Reply, Writer, plain_turns
from quire.providers.values import Json, nests_deeper

_ROLES = {"user": "user", "assistant": "model"}
_SYSTEM = "system"  # in the draft only: instructions at the start, which `finish` puts into the config
_DEEPEST = 64  # levels that arguments may have; the service refuses deeper ones

_IMAGES = ("png", "jpeg", "webp", "heic", "heif")
_AUDIO = ("wav", "mp3", "aiff", "aac", "ogg", "flac", "m4a", "mp4", "pcm", "webm", "opus")
_VIDEO = ("mp4", "mpeg", "quicktime", "mov", "avi", "x-flv", "mpg", "webm", "wmv", "3gpp")
_TYPES = frozenset(
    (
        "application/pdf",
        *(f"image/{kind}" for kind in _IMAGES),
        *(f"audio/{kind}" for kind in _AUDIO),
        *(f"video/{kind}" for kind in _VIDEO),
    )
)
_IN_ANSWERS = frozenset(("image/png", "image/jpeg", "image/webp", "application/pdf"))
_NAMES_HERE = {"audio/mpeg": "audio/mp3", "audio/x-flac": "audio/flac", "audio/x-aiff": "audio/aiff"}
_BY_ENDING = {
    **{kind: f"image/{kind}" for kind in _IMAGES},
    **{kind: f"audio/{kind}" for kind in ("wav", "mp3", "aiff", "aac", "ogg", "flac", "m4a")},
    **{kind: f"video/{kind}" for kind in ("mp4", "mpeg", "mov", "avi", "mpg", "webm", "wmv", "3gpp")},
    **{"jpg": "image/jpeg", "gif": "image/gif", "pdf": "application/pdf"},
}
_decode = msgspec.json.Decoder().decode


class _Moved(NamedTuple):
    """Media that go to a content of the user, with a heading."""

    item: Item
    heading: str
    media: list[Media]


class ContentWriter(Writer):
    """Writes contents."""

    __slots__ = ("_config",)

    def __init__(self, draft: Draft, profile: Profile, config: Json) -> None:
        super().__init__(draft, profile)
        self._config = config

    def plain(self, items: Sequence[Item], start: int, stop: int) -> int:
        """Write common turns from `start` on."""
        messages, profile = self.draft.messages, self.profile
        if self.draft.ids.is_branch or profile.signs_text:
            return start
        for turns in plain_turns(items, start, stop, _ROLES):
            start, said, _, calls, _, end = turns
            for place, item in enumerate(said):
                role = _ROLES[item.role]
                if role == "model" and (not messages or messages[-1]["role"] != "user"):
                    return start - len(said) + place
                messages.append({"role": role, "parts": [{"text": item.content}]})
            if not calls or not messages or messages[-1]["role"] != "user":
                break
            if not self._exchange_plainly(turns):
                break
            start = end
        return start

    def _exchange_plainly(self, turns: PlainTurns) -> bool:
        """Write calls and their results, if nothing is to be repaired."""
        _, _, text, calls, results, _ = turns
        names, given = self.tool_names, [_arguments(call.arguments) for call in calls]
        if None in given or any(names.get(call.name) != call.name for call in calls):
            return False
        if not self.draft.takes_plainly(calls, names):
            return False
        parts: list[Json] = [] if text is None else [{"text": text}]
        for call, arguments in zip(calls, given, strict=True):
            parts.append({"functionCall": {"id": call.call_id, "name": call.name, "args": arguments}})
        if self.profile.signs_calls:
            self._sign_call(calls[0], parts[len(parts) - len(calls)])
        self.draft.messages.append({"role": "model", "parts": parts})
        answers: list[Json] = []
        for call, result in zip(calls, results, strict=True):
            response = {"error" if result.is_error else "output": result.content}
            answer = {"id": call.call_id, "name": call.name, "response": response}
            answers.append({"functionResponse": answer})
        self.draft.messages.append({"role": "user", "parts": answers})
        return True

    def user(self, item: Message | Note | Summary) -> None:
        """Write an item that is addressed to the model."""
        if isinstance(item, Message):
            self.draft.usable_blocks(item)  # no state of the user goes back here
        parts = self.input_parts(item, parts_of(content_for_model(item)))
        if parts:
            self.draft.messages.append({"role": "user", "parts": parts})
        else:
            self.draft.note_empty(item)

    def instruct(self, item: Message | ConfigChange) -> None:
        """Write instructions: at the start for the whole conversation, later as tagged text of the user."""
        text, messages = self.draft.instructions(item), self.draft.messages
        if not text:
            self.draft.note_empty(item)
        elif not messages or messages[-1]["role"] == _SYSTEM:
            messages.append({"role": _SYSTEM, "parts": [{"text": text}]})
        else:
            self.draft.note(item, "instructions_as_text", "this wire has instructions at the start only")
            messages.append({"role": "user", "parts": [{"text": tagged_instructions(text)}]})

    def reply(self, reply: Reply) -> None:
        """Write a turn of the model and the results of its calls."""
        outputs, calls, results = reply
        parts, moved = self._model_parts(outputs)
        if parts:
            self._speak(parts)
        if calls:
            made = [part["functionCall"] for part in parts if "functionCall" in part]
            answers: list[Json] = []
            for call, result, given in zip(calls, results, made, strict=True):
                answer, left = self._answer(call, result, given)
                answers.append({"functionResponse": answer})
                if left and result is not None:
                    moved.append(_Moved(result, from_tool(call.name), left))
            self.draft.messages.append({"role": "user", "parts": answers})
        for item, heading, media in moved:
            self.draft.note(item, "media_moved", "only the user sends such media here")
            self.draft.messages.append({"role": "user", "parts": self.input_parts(item, (heading, *media))})

    def finish(self, marks: Marks | None) -> dict[str, Any]:
        """The payload. A prefix that stays the same is all that the cache needs."""
        messages, start = self.draft.messages, 0
        while start < len(messages) and messages[start]["role"] == _SYSTEM:
            start += 1
        contents = messages[start:]
        if not contents or contents[-1]["role"] == "model":
            self.draft.note(None, "turn_added", "there was nothing to answer")
            # An answer to nothing comes after the turn that begins a conversation without a user.
            contents.append({"role": "user", "parts": [{"text": CONTINUE if contents else BEGIN}]})
        config: Json = {}
        if start:
            parts = [part for message in messages[:start] for part in message["parts"]]
            config["system_instruction"] = {"parts": parts}
        config |= {name: _copied(value) for name, value in self._config.items()}
        return {"contents": contents, "config": config} if config else {"contents": contents}

    # --- outputs of the model ----------------------------------------------------------------------------

    def _speak(self, parts: list[Json]) -> None:
        messages = self.draft.messages
        if messages and messages[-1]["role"] == "model":
            self.draft.open_message()["parts"].extend(parts)
            return
        if not messages or messages[-1]["role"] == _SYSTEM:
            self.draft.note(None, "turn_added", "a conversation begins with the user")
            messages.append({"role": "user", "parts": [{"text": BEGIN}]})
        messages.append({"role": "model", "parts": parts})

    def _model_parts(self, outputs: list[Output]) -> tuple[list[Json], list[_Moved]]:
        """The parts of a turn in their order, and the media that it cannot carry."""
        parts: list[Json] = []
        moved: list[_Moved] = []
        has_called = False
        for output in outputs:
            if isinstance(output, ToolCall):
                parts.append(self._call(output, is_first=not has_called))
                has_called = True
            elif isinstance(output, Reasoning):
                parts += self._thoughts(output)
            else:
                said, media = self._text_parts(output)
                parts += said
                if media:
                    moved.append(_Moved(output, FROM_ASSISTANT, media))
        if parts and all("thought" in part for part in parts):
            for output in outputs:
                if isinstance(output, Reasoning):
                    self.draft.note(output, "reasoning_left_out", "nothing that was said goes with it")
            return [], moved
        return parts, moved

    def _raw_parts(self, item: Output) -> list[Json]:
        """The raw parts of an item's state, if they may go back."""
        if item.state is None or not item.state.data:
            return []
        return self.draft.usable_blocks(item, self._stands)

    def _stands(self, prefix: str) -> bool:
        return self.draft.stands(prefix, merges=True, from_nothing=True)

    def _thoughts(self, item: Reasoning) -> list[Json]:
        parts = self._raw_parts(item)
        if not parts and (item.state is None or not item.state.data):
            self.draft.note_thoughts(item, "thoughts go back only if they are signed")
        return parts

    def _text_parts(self, item: Message) -> tuple[list[Json], list[Media]]:
        """The parts of a message of the model, and the media that it cannot carry."""
        parts: list[Json] = []
        media: list[Media] = []
        is_lost = False
        for raw, part in self._paired(item):
            signature = raw.get("thoughtSignature")
            written = {"text": ""} if signature and part == "" else _spoken_part(part)
            if written is None and not isinstance(part, str) and as_text(part) is None:
                media.append(part)
            if signature and (written is None or (not isinstance(part, str) and "text" in written)):
                signature, is_lost = None, True  # a file, or media that are moved
            if written is not None:
                parts.append(written | ({"thoughtSignature": signature} if signature else {}))
        if is_lost:
            self.draft.note(item, "state_stale", "what it signed cannot be sent as it was")
        if self.profile.signs_text:
            self._sign(item, parts)
        if not parts and not media:
            self.draft.note(item, "empty_left_out", "it has no content")
        return parts, media

    def _paired(self, item: Message) -> list[tuple[Json, Part]]:
        """The parts of a message, each with the raw part that it came in; texts are split as they came."""
        raw = self._raw_parts(item)
        if not raw:
            return [({}, part) for part in item.parts]
        if len(raw) == 1 and "text" not in raw[0]:
            return [(raw[0], part) for part in item.parts[:1]] + [({}, part) for part in item.parts[1:]]
        media = iter([part for part in item.parts if not isinstance(part, str)])
        return [(block, block["text"] if "text" in block else next(media, "")) for block in raw]

    def _sign(self, item: Message, parts: list[Json]) -> None:
        """Put the placeholder on the first part and on each image that the model did not sign."""
        wanted = [part for place, part in enumerate(parts) if place == 0 or "inlineData" in part]
        unsigned = [part for part in wanted if "thoughtSignature" not in part]
        for part in unsigned:
            part["thoughtSignature"] = SIGNATURE_PLACEHOLDER
        if unsigned:
            self.draft.note(item, "state_foreign", "a placeholder stands for this model's signature")

    def _call(self, call: ToolCall, *, is_first: bool) -> Json:
        raw, name = self._raw_parts(call), self.tool_name(call)
        arguments = _arguments(call.arguments)
        if arguments is None:
            self.draft.note(call, "arguments_repaired", "the arguments are no JSON object")
            arguments = {"arguments": call.arguments}
        part: Json = {"functionCall": {"id": self.draft.call_id(call), "name": name, "args": arguments}}
        signature = raw[0].get("thoughtSignature") if raw else None
        if is_signature(signature):
            part["thoughtSignature"] = signature
        elif is_first and self.profile.signs_calls:
            self._sign_call(call, part)
        return part

    def _sign_call(self, call: ToolCall, part: Json) -> None:
        """Put the placeholder on a call that the model did not sign.

        Only calls since the user last spoke are checked. The placeholder is on all: taking it away once the
        turn is over would change what was sent before.
        """
        if self.profile.model:
            self.draft.note(call, "state_foreign", "a placeholder stands for this model's signature")
        part["thoughtSignature"] = SIGNATURE_PLACEHOLDER

    def _answer(self, call: ToolCall, result: ToolResult | None, given: Json) -> tuple[Json, list[Media]]:
        """The answer to a call, and the media that it cannot carry."""
        answer: Json = {"id": given["id"], "name": given["name"]}
        if result is None:
            self.draft.note(call, "result_added", "the call has no result")
            answer["response"] = {"error": NO_RESULT}
            return answer, []
        text, media = (result.content, []) if isinstance(result.content, str) else split(result.parts)
        answer["response"] = {"error" if result.is_error else "output": text}
        nested = [(part, _answer_part(part) if self.profile.nests_media else None) for part in media]
        carried = [written for _, written in nested if written]
        if carried:
            answer["parts"] = carried
        return answer, [part for part, written in nested if written is None]

    # --- parts -------------------------------------------------------------------------------------------

    def _text_part(self, text: str) -> Json:
        return {"text": text}

    def _media_part(self, part: Media) -> Json | None:
        return _inline_part(part) or self._address_part(part)

    def _address_part(self, part: Media) -> Json | None:
        url, kind = part.url or "", _type_of(part)
        if not url.startswith(("gs://", "https://") if self.profile.fetches else "gs://"):
            return None
        if kind is None:
            # The service finds out by itself; there is no other way for its own files and for videos.
            return {"fileData": {"fileUri": url}}
        return {"fileData": {"fileUri": url, "mimeType": kind}} if kind in _TYPES else None


def begin(profile: Profile, tools: Sequence[Tool]) -> ContentWriter:
    """A writer with nothing written."""
    draft = Draft(GEMINI, profile.model, CALL_IDS[GEMINI], TOOL_NAMES[GEMINI])
    return ContentWriter(draft, profile, gemini_config(tools, draft, profile))


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]


def _arguments(text: str) -> Json | None:
    """The arguments of a call as an object; None if they are none, or nest too deeply."""
    if not text or text.isspace():
        return {}
    try:
        value: Any = _decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) and not nests_deeper(text, _DEEPEST) else None  # pyright: ignore


def _spoken_part(part: Part) -> Json | None:
    """A part as the model may have said it: text, or an image that it drew."""
    text = as_text(part)
    if text is not None or isinstance(part, str):
        return {"text": text} if text else None
    return _inline_part(part) if (_type_of(part) or "").startswith("image/") else None


def _answer_part(part: Media) -> Json | None:
    """A part as the answer to a call may hold it, if it may."""
    return _inline_part(part) if _type_of(part) in _IN_ANSWERS else None


def _inline_part(part: Media) -> Json | None:
    """A part whose bytes are at hand and of a type that is taken."""
    kind = _type_of(part)
    data = inline_data(part) if kind in _TYPES else None
    return None if data is None else {"inlineData": {"mimeType": kind, "data": data}}


def _type_of(part: Media) -> str | None:
    kind = sound_type(part)
    if kind is None and part.url is not None and not part.url.startswith("data:"):
        path = part.url.partition("?")[0].partition("#")[0]
        kind = _BY_ENDING.get(path.rpartition("/")[2].rpartition(".")[2].lower())
    return _NAMES_HERE.get(kind, kind) if kind else None
