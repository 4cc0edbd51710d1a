"""Gemini: turns as contents of the user and of the model.

Each message of the user is a content of its own: the wire takes several in a row, and refuses one that mixes
answers to calls with anything else. What the model says is one content until the user speaks: calls are
refused when they do not come right after the user or after an answer.
"""

from collections.abc import Sequence
from typing import Any

from quire.items import Item, Message, Part, Reasoning, ToolCall, ToolResult
from quire.providers.draft import Draft
from quire.providers.media import Media, as_text, inline_data, sound_type, split
from quire.providers.profiles import Profile
from quire.providers.rules import (
    BEGIN,
    CALL_IDS,
    CONTINUE,
    SIGNATURE_PLACEHOLDER,
    TOOL_NAMES,
)
from quire.providers.state import GEMINI, is_signature
from quire.providers.tools import Tool, gemini_config
from quire.providers.turns import Marks, Output, Writer
from quire.providers.values import Json, nests_deeper, object_in

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


class ContentWriter(Writer):
    """Writes contents."""

    __slots__ = ("_config",)

    deepest = _DEEPEST

    def __init__(self, draft: Draft, profile: Profile, config: Json) -> None:
        super().__init__(draft, profile)
        self._config = config
        self.writes_plainly = not profile.signs_text

    def plain_messages(self, said: Sequence[Message]) -> None:
        """Write texts of the user and the model."""
        for item in said:
            write = self._say if item.role == "user" else self._speak
            write([{"text": item.content}])

    def plain_calls(self, text: str | None, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> bool:
        """Write calls after a text, and their results, if the arguments are objects."""
        parts: list[Json] = []
        answers: list[Json] = []
        for call, result in zip(calls, results, strict=True):
            arguments, name = object_in(call.arguments), self.tool_names[call.name]
            if arguments is None or nests_deeper(call.arguments, _DEEPEST):
                return False
            parts.append({"functionCall": {"id": call.call_id, "name": name, "args": arguments}})
            response = {"error" if result.is_error else "output": result.content}
            answers.append({"functionResponse": {"id": call.call_id, "name": name, "response": response}})
        if self.profile.signs_calls:
            self._sign_call(calls[0], parts[0])
        self._speak(parts if text is None else [{"text": text}, *parts])
        self._say(answers)
        return True

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

    # --- turns -------------------------------------------------------------------------------------------

    def _say(self, parts: list[Json]) -> None:
        self.draft.messages.append({"role": "user", "parts": parts})

    def _instruct(self, item: Item, text: str) -> str | None:
        messages = self.draft.messages
        if messages and messages[-1]["role"] != _SYSTEM:
            return "this wire has instructions at the start only"
        messages.append({"role": _SYSTEM, "parts": [{"text": text}]})
        return None

    def _reply(self, outputs: list[Output], calls: list[ToolCall], results: list[ToolResult]) -> None:
        parts = self._model_parts(outputs)
        if parts:
            self._speak(parts)
        if calls:
            made = [part["functionCall"] for part in parts if "functionCall" in part]
            self._say([self._answer(result, call) for result, call in zip(results, made, strict=True)])

    def _speak(self, parts: list[Json]) -> None:
        messages = self.draft.messages
        if messages and messages[-1]["role"] == "model":
            self.draft.open_message()["parts"].extend(parts)
            return
        if not messages or messages[-1]["role"] == _SYSTEM:
            self.draft.note(None, "turn_added", "a conversation begins with the user")
            self._say([{"text": BEGIN}])
        messages.append({"role": "model", "parts": parts})

    # --- outputs of the model ----------------------------------------------------------------------------

    def _model_parts(self, outputs: list[Output]) -> list[Json]:
        """The parts of a turn in their order; thoughts alone are left out."""
        parts: list[Json] = []
        has_called = False
        for output in outputs:
            if isinstance(output, ToolCall):
                parts.append(self._call(output, is_first=not has_called))
                has_called = True
            else:
                parts += self._thoughts(output) if isinstance(output, Reasoning) else self._texts(output)
        if not all("thought" in part for part in parts):
            return parts
        for output in outputs if parts else ():
            if isinstance(output, Reasoning):
                self.draft.note(output, "reasoning_left_out", "nothing that was said goes with it")
        return []

    def _texts(self, item: Message) -> list[Json]:
        """The text of a message of the model, the images that it drew, and their signatures."""
        parts: list[Json] = []
        for raw, part in self._signed(item):
            signature = raw.get("thoughtSignature")
            written = {"text": ""} if signature and part == "" else _spoken_part(part)
            if signature and (written is None or (not isinstance(part, str) and "text" in written)):
                self.draft.note(item, "state_stale", "what it signed cannot be sent as it was")
            elif signature and written is not None:
                written["thoughtSignature"] = signature
            parts += [written] if written is not None else []
        if self.profile.signs_text:
            self._sign(item, parts)
        if not parts and not any(item.parts):
            self.draft.note_empty(item)
        return parts

    def _signed(self, item: Message) -> list[tuple[Json, Part]]:
        """The parts of a message, each with the raw part that it came in; texts are split as they came."""
        raw = self.draft.usable_blocks(item)
        first: Json = raw[0] if raw else {}
        if len(raw) <= 1 and "text" not in first:
            return [({} if place else first, part) for place, part in enumerate(item.parts)]
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
        raw = self.draft.usable_blocks(call)
        name, arguments = self.tool_name(call), self.arguments(call)
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

    def _answer(self, result: ToolResult, call: Json) -> Json:
        text = split(result.parts)[0]
        answer: Json = {"id": call["id"], "name": call["name"]}
        answer["response"] = {"error" if result.is_error else "output": text}
        media = [part for part in result.parts if not isinstance(part, str) and self._keeps(result, part)]
        if media:
            answer["parts"] = [_inline_part(part) for part in media]
        return {"functionResponse": answer}

    # --- parts -------------------------------------------------------------------------------------------

    def _text_part(self, text: str) -> Json:
        return {"text": text}

    def _keeps(self, item: Message | ToolResult, part: Media) -> bool:
        kind = _type_of(part) or ""
        is_kept = kind.startswith("image/")
        if isinstance(item, ToolResult):
            is_kept = self.profile.nests_media and kind in _IN_ANSWERS
        return is_kept and _inline_part(part) is not None

    def _media_part(self, item: Item, part: Media) -> Json | None:
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
    ids, names = CALL_IDS[GEMINI], TOOL_NAMES[GEMINI]
    draft = Draft(GEMINI, profile.model, ids, names, merges=True, answers_nothing=True)
    return ContentWriter(draft, profile, gemini_config(tools, draft, profile))


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]


def _spoken_part(part: Part) -> Json | None:
    """A part as the model may have said it: text, or an image that it drew."""
    text = as_text(part)
    if text is not None or isinstance(part, str):
        return {"text": text} if text else None
    return _inline_part(part) if (_type_of(part) or "").startswith("image/") else None


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
