"""Gemini: replies, streams and histories as items.

Clients in Python spell field names with underscores (`function_call`) and hold bytes; both take the form of
the wire first.
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, Literal, cast

import msgspec

from quire.errors import Damaged, InvalidValue
from quire.items import Audio, File, Image, Item, Part, Reasoning
from quire.providers.media import bare_base64, bytes_of
from quire.providers.rules import MODEL_FAULTS, SIGNATURE_PLACEHOLDER
from quire.providers.state import GEMINI
from quire.providers.stream import (
    Items,
    ReplyReader,
    content_from,
    error_text,
    plain_history,
    short_json,
    spelled,
)
from quire.providers.types import Answer
from quire.providers.values import (
    Json,
    entries_in,
    fields_in,
    json_text,
    list_at,
    object_at,
    plain_json,
    text_in,
)

_MEDIA = frozenset(("inlineData", "fileData"))
_PARTS = frozenset(
    (
        *("text", "functionCall", "functionResponse", *_MEDIA),
        *("executableCode", "codeExecutionResult", "toolCall", "toolResponse"),
    )
)
_BESIDE = frozenset(("thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution"))
_RESPONSE = frozenset(("candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId"))
_ROLES = {"user": "user", "function": "user", "tool": "user", "model": "model", "system": "system"}

_FREE = ("args", "response")  # fields that hold names of the caller's own
_LEAVES = (str, int, float, type(None))
_LEVELS = 12  # how deep a request or a response has fields of the wire
_UNDERSCORE = re.compile(r"_([a-z])")
_CLIENT_FORM = re.compile(rb'_[a-z]\w*":|:null')  # in the JSON of what may be in the form of a client

# None, or the placeholder: also as bytes that a client decoded from it, and as bytes of its letters.
_NO_SIGNATURES = {
    "",
    SIGNATURE_PLACEHOLDER,
    SIGNATURE_PLACEHOLDER.replace("_", "/"),
    b64encode(SIGNATURE_PLACEHOLDER.encode()).decode(),
}


# --- fields and parts ------------------------------------------------------------------------------------


def _wire_form(value: Any) -> Any:
    """A value with the field names of the wire, without null fields, and with bytes in base64."""
    try:
        text = msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return _renamed(value)
    return _renamed(value) if _CLIENT_FORM.search(text) else msgspec.json.decode(text)


def _renamed(value: Any, levels: int = _LEVELS) -> Any:
    if isinstance(value, _LEAVES) or levels == 0:
        return value
    if isinstance(value, list | tuple):
        return [_renamed(inner, levels - 1) for inner in cast("list[Any]", value)]
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return {
        _wire_name(name): inner if name in _FREE else _renamed(inner, levels - 1)
        for name, inner in plain_json(value).items()
        if inner is not None
    }


@lru_cache(1024)
def _wire_name(name: str) -> str:
    return _UNDERSCORE.sub(lambda found: found[1].upper(), name)


def _text(fields: Json, name: str, path: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise Damaged(f"expected text, not {type(value).__name__}", f"{path}.{name}")
    return value


def _parts(values: Any, path: str) -> list[Json]:
    """The parts of a content that say something; a text may stand for a part."""
    found: list[Json] = []
    for index, value in enumerate(list_at(values, path)):
        place = f"{path}[{index}]"
        part = {"text": value} if isinstance(value, str) else object_at(value, place)
        if text_in(part.get("thoughtSignature")) in _NO_SIGNATURES:
            part.pop("thoughtSignature", None)
        if part.get("thought") is True and part.keys() & _MEDIA:
            continue  # a thought in images cannot go back
        if _text(part, "text", place) or "thoughtSignature" in part or part.keys() - _BESIDE - {"text"}:
            found.append(part)
    return found


def _add_parts(parts: Sequence[Json], made: Items, path: str, *, joins: bool) -> None:
    """Add the parts of a turn of the model as items; a text goes on with the text before if it `joins`."""

    def kind_of(pair: tuple[int, Json]) -> str:
        if "functionCall" in pair[1]:
            return "call"
        if pair[1].keys() - _BESIDE - _MEDIA - {"text"}:
            return "other"  # such as code that the service ran
        return "thought" if pair[1].get("thought") is True else "said"

    for kind, run in groupby(enumerate(parts), kind_of):
        found = [(f"{path}[{index}]", part) for index, part in run]
        if kind == "call":
            for place, part in found:
                _add_call(part, made, place)
        elif kind == "other":
            made.keep([part for _, part in found], path)
        else:
            _add_run(found, made, path, is_thought=kind == "thought", joins=joins)


def _add_call(part: Json, made: Items, path: str) -> None:
    call, place = object_at(part["functionCall"], f"{path}.functionCall"), f"{path}.functionCall"
    if "willContinue" in call or "partialArgs" in call:
        advice = "turn off streamFunctionCallArguments"
        raise Damaged(f"arguments in pieces cannot be read: {advice}", place)
    signature = part.get("thoughtSignature")
    state = made.state([{"thoughtSignature": signature}], path) if signature else None
    made.call(call.get("id"), call.get("name"), call.get("args"), place, state)


def _add_run(found: list[tuple[str, Json]], made: Items, path: str, *, is_thought: bool, joins: bool) -> None:
    """Add consecutive texts and media, with their raw parts if one of these is signed."""
    parts: list[Part] = []
    raw: list[Json] = []
    for place, part in found:
        media = read_media(part, place)
        beside: Json = {name: part[name] for name in ("thought", "thoughtSignature") if name in part}
        raw.append({"text": part.get("text", ""), **beside} if media is None else beside)
        one: Part = part.get("text", "") if media is None else media
        last = parts[-1] if parts else None
        if isinstance(one, str) and isinstance(last, str) and (joins or not one or not last):
            parts[-1] = last + one
        else:
            parts.append(one)
    state = made.state(raw, path) if any("thoughtSignature" in part for part in raw) else None
    if is_thought or not any(parts):
        text = "".join(part for part in parts if isinstance(part, str))
        made.all.append(Reasoning(text, state or made.state((), path)))
    else:
        made.say(content_from(parts), state)


def read_media(part: Json, path: str) -> Image | Audio | File | None:
    """The media that a part holds or points to; None for another part."""
    name = next((name for name in _MEDIA if name in part), None)
    if name is None:
        return None
    place = f"{path}.{name}"
    blob, declared = object_at(part[name], place), None
    if name == "fileData":
        held: dict[str, Any] = {"url": _text(blob, "fileUri", place)}
    else:
        declared, data = bare_base64(_text(blob, "data", place))
        held = {"data": bytes_of(data)}
        if held["data"] is None:
            raise Damaged("the data is not base64", f"{place}.data")
    kind = _text(blob, "mimeType", place) or declared
    family = (kind or "").partition("/")[0]
    try:
        if family in ("image", "audio"):
            return (Image if family == "image" else Audio)(**held, media_type=kind)
        return File(**held, media_type=kind, name=_text(blob, "displayName", place) or None)
    except InvalidValue as fault:
        raise Damaged(str(fault), place) from None


# --- a reply ---------------------------------------------------------------------------------------------


class GeminiReader(ReplyReader):
    """Collects the parts of the chunks of an answer."""

    wire, expected = GEMINI, "a chunk of Gemini"

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._parts: list[Json] = []

    def plain(self, event: Any) -> Json:
        return fields_in(_wire_form(plain_json(event)))

    def knows(self, event: Json) -> bool:
        return bool(event.keys() & _RESPONSE)

    def take(self, event: Json) -> str:
        added = ""
        for part in self._take_chunk(event):
            last = self._parts[-1] if self._parts else {}
            # Pieces of a stream are no parts of their own, so texts are joined, up to a signature.
            if "text" in last and "text" in part and last.keys() == part.keys() - {"thoughtSignature"}:
                self._parts[-1] = {**part, "text": last["text"] + part["text"]}
            else:
                self._parts.append(part)
            added += part.get("text", "") if part.get("thought") is not True else ""
        return added

    def take_whole(self, body: Json) -> None:
        if not self.knows(body):
            raise Damaged("not a response: it has no candidates, and no reason why", "$.candidates")
        self._parts = self._take_chunk(body)

    def _take_chunk(self, chunk: Json) -> list[Json]:
        """Take a chunk; returns the parts of its first candidate."""
        self.model = _text(chunk, "modelVersion", "$") or self.model
        self.count(chunk.get("usageMetadata"))
        if "blockReason" in fields_in(chunk.get("promptFeedback")):
            self.reason = "SAFETY"
        candidates = list_at(chunk.get("candidates"), "$.candidates")
        candidate = object_at(candidates[0], "$.candidates[0]") if candidates else {}
        if reason := candidate.get("finishReason"):
            self.reason = text_in(reason) or "OTHER"
            if spelled(reason) in MODEL_FAULTS:
                message = text_in(candidate.get("finishMessage"))
                self.error = error_text({"code": self.reason, "message": message})
        path = "$.candidates[0].content"
        return _parts(object_at(candidate.get("content", {}), path).get("parts"), f"{path}.parts")

    def make_items(self) -> None:
        """Leaves out the calls of a model that failed, and a last call that may be cut off."""
        parts = self._parts
        if spelled(self.reason) in MODEL_FAULTS:
            parts = [part for part in parts if "functionCall" not in part]
        elif self.is_cut and parts and "functionCall" in parts[-1]:
            parts = parts[:-1]
            self.has_half_call = True
        _add_parts(parts, self.made, "$.candidates[0].content.parts", joins=True)


# --- a history -------------------------------------------------------------------------------------------


def read_history(payload: Any, *, model: str | None = None) -> list[Item]:
    """Contents, one content, the arguments of the client or the JSON of a request, as items."""
    request = fields_in(_wire_form(plain_history(payload, "contents")))
    if not request.keys() & {"contents", "systemInstruction", "config"}:
        request = {"contents": request}
    made = Items(GEMINI, Answer(model or _text(request, "model", "$")), is_history=True)
    _add_instructions(request.get("systemInstruction"), made, "$.systemInstruction")
    config = object_at(request.get("config", {}), "$.config")
    _add_instructions(config.get("systemInstruction"), made, "$.config.systemInstruction")
    contents = request.get("contents", [] if made.all else None)
    if contents is None:
        raise Damaged("the request has no contents", "$.contents")
    values = entries_in(contents) if isinstance(contents, list) else [contents]
    for index, content in enumerate(values):
        _add_content(content, made, f"$.contents[{index}]")
    return made.all


def _add_instructions(given: Any, made: Items, path: str) -> None:
    """Instructions: text, a part, parts or a content; each part becomes a message."""
    parts = fields_in(given).get("parts", given)
    for part in _parts([parts] if isinstance(parts, str | dict) else parts, path):
        if "text" not in part:
            raise Damaged("instructions are text", path)
        made.hear("system", part["text"])


def _add_content(content: Any, made: Items, path: str) -> None:
    """Add a content; the client also takes text or a part in its place."""
    fields: Json = {"parts": [content]} if isinstance(content, str) else object_at(content, path)
    if "parts" not in fields and fields.keys() & _PARTS:
        fields = {"parts": [fields]}
    if "parts" not in fields and fields.keys() != {"role"}:
        raise Damaged("a content has parts", f"{path}.parts")
    role = _ROLES.get(text_in(fields.get("role", "user")))
    if role is None:
        raise Damaged("the role is neither user nor model", f"{path}.role")
    parts = _parts(fields.get("parts"), f"{path}.parts")
    if role == "model":
        _add_parts(parts, made, f"{path}.parts", joins=False)
    else:
        _add_user_parts(parts, made, f"{path}.parts", "user" if role == "user" else "system")


def _add_user_parts(parts: list[Json], made: Items, path: str, role: Literal["user", "system"]) -> None:
    """Results come first, then the rest as one message."""
    said: list[Part] = []
    for index, part in enumerate(parts):
        place = f"{path}[{index}]"
        if "functionResponse" in part:
            _add_result(part["functionResponse"], made, f"{place}.functionResponse")
        elif (media := read_media(part, place)) is not None:
            said.append(media)
        elif part.keys() - _BESIDE:
            said.append(part["text"] if "text" in part else short_json(part, place))
    if said:
        made.hear(role, content_from(said))


def _add_result(answer: Any, made: Items, path: str) -> None:
    fields = object_at(answer, path)
    text, is_error = _output(fields.get("response"), f"{path}.response")
    parts: list[Part] = [text] if text else []
    for index, part in enumerate(list_at(fields.get("parts"), f"{path}.parts")):
        place = f"{path}.parts[{index}]"
        media = read_media(object_at(part, place), place)
        if media is None:
            raise Damaged("a result holds text and media", place)
        parts.append(media)
    made.result(_text(fields, "id", path), _text(fields, "name", path), content_from(parts), is_error)


def _output(response: Any, path: str) -> tuple[str, bool]:
    """The text of a result, and whether it is an error; a value of another form is its JSON."""
    if response is None:
        return "", False
    fields = fields_in(response)
    key = next(iter(fields)) if len(fields) == 1 else ""
    value = fields[key] if key in ("output", "error") else response
    return value if isinstance(value, str) else json_text(value, path), key == "error"
