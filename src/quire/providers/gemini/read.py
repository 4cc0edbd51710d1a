"""Gemini: replies, streams and histories as items.

Clients in Python spell field names with underscores (`function_call`) and hold bytes; both take the form of
the wire first.
"""

import re
from base64 import b64encode
from functools import lru_cache
from itertools import groupby
from typing import Any, cast

import msgspec

from quire.errors import Damaged
from quire.items import Part
from quire.providers.parts import content_from, part_from, short_json
from quire.providers.rules import MODEL_FAULTS, SIGNATURE_PLACEHOLDER
from quire.providers.state import GEMINI
from quire.providers.stream import (
    ItemBuilder,
    ReplyReader,
    WithPath,
    error_text,
    normalized_reason,
    objects_at,
)
from quire.providers.types import Rendered
from quire.providers.values import Json, fields_in, json_text, list_at, object_at, plain_json, text_in

_MEDIA = frozenset(("inlineData", "fileData"))
_BESIDE = frozenset(("thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution"))
_RESPONSE = frozenset(("candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId"))
_CALLERS = ("user", "function", "tool")  # roles of those who are not the model

_FREE = ("args", "response", "parameters", "parametersJsonSchema", "parameters_json_schema")
"""Fields that hold names of the caller's own."""
_NESTED = (dict, list, tuple)
_LEVELS = 12  # how deep a request or a response has fields of the wire
_UNDERSCORE = re.compile(r"_([a-z])")
_CLIENT_FORM = re.compile(rb'_[a-z]\w*":|:null')  # in the JSON of what may be in the form of a client


# --- fields and parts ------------------------------------------------------------------------------------


def _wire_form(value: Json) -> Json:
    """A request or a response with the field names of the wire, without null fields, and bytes in base64."""
    try:
        is_of_wire = _CLIENT_FORM.search(msgspec.json.encode(value)) is None
    except (TypeError, ValueError, OverflowError, RecursionError):
        is_of_wire = False
    return value if is_of_wire else camel_case(value)


def camel_case(value: Any, levels: int = _LEVELS) -> Any:
    """A value with the field names of the wire, without null fields, and bytes in base64."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if levels == 0 or not isinstance(value, _NESTED):
        return value
    if not isinstance(value, dict):
        return [camel_case(inner, levels - 1) for inner in cast("list[Any]", value)]
    return {
        _wire_name(str(name)): inner if name in _FREE else camel_case(inner, levels - 1)
        for name, inner in fields_in(value).items()
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


def _parts(content: Json, path: str) -> list[WithPath]:
    """The parts of a content that say something."""
    if "parts" not in content and content.keys() - {"role"}:
        raise Damaged("a content has parts", f"{path}.parts")
    found: list[WithPath] = []
    for place, part in objects_at(content.get("parts"), f"{path}.parts"):
        if text_in(part.get("thoughtSignature")) in ("", SIGNATURE_PLACEHOLDER):
            part.pop("thoughtSignature", None)
        if part.get("thought") is True and part.keys() & _MEDIA:
            continue  # a thought in images cannot go back
        if _text(part, "text", place) or "thoughtSignature" in part or part.keys() - _BESIDE - {"text"}:
            found.append((place, part))
    return found


def _kind(pair: WithPath) -> str:
    _, part = pair
    if "functionCall" in part:
        return "call"
    if part.keys() - _BESIDE - _MEDIA - {"text"}:
        return "other"  # such as code that the service ran
    return "thought" if part.get("thought") is True else "said"


def _add_parts(parts: list[WithPath], builder: ItemBuilder) -> None:
    """Add the parts of a turn of the model as items."""
    for kind, run in groupby(parts, _kind):
        found = list(run)
        if kind == "call":
            for path, part in found:
                _add_call(part, builder, path)
        elif kind == "other":
            builder.add_opaque([part for _, part in found], found[0][0])
        else:
            _add_run(found, builder, is_thought=kind == "thought")


def _add_call(part: Json, builder: ItemBuilder, path: str) -> None:
    call, place = object_at(part["functionCall"], f"{path}.functionCall"), f"{path}.functionCall"
    if "willContinue" in call or "partialArgs" in call:
        advice = "turn off streamFunctionCallArguments"
        raise Damaged(f"arguments in pieces cannot be read: {advice}", place)
    signature = part.get("thoughtSignature")
    state = builder.pack_state([{"thoughtSignature": signature}], path) if signature else None
    builder.add_call(call.get("id"), call.get("name"), call.get("args"), place, state)


def _add_run(found: list[WithPath], builder: ItemBuilder, *, is_thought: bool) -> None:
    """Add consecutive texts and media, with their raw parts if one of these is signed.

    The texts of a turn are pieces of one text.
    """
    parts: list[Part] = []
    raw: list[Json] = []
    for path, part in found:
        media = _read_media(part, path)
        beside: Json = {name: part[name] for name in ("thought", "thoughtSignature") if name in part}
        raw.append({"text": part.get("text", ""), **beside} if media is None else beside)
        one: Part = part.get("text", "") if media is None else media
        if parts and isinstance(one, str) and isinstance(last := parts[-1], str):
            parts[-1] = last + one
        else:
            parts.append(one)
    path = found[0][0]
    state = builder.pack_state(raw, path) if any("thoughtSignature" in part for part in raw) else None
    if is_thought or not any(parts):
        text = "".join(part for part in parts if isinstance(part, str))
        builder.add_reasoning(text, state or builder.pack_state((), path))
    else:
        builder.add_message(content_from(parts), state)


def _read_media(part: Json, path: str) -> Part | None:
    """The media that a part holds or points to; None for another part."""
    name = next((name for name in _MEDIA if name in part), None)
    if name is None:
        return None
    place = f"{path}.{name}"
    blob = object_at(part[name], place)
    is_address = name == "fileData"
    source, kind = _text(blob, "fileUri" if is_address else "data", place), _text(blob, "mimeType", place)
    label = _text(blob, "displayName", place)
    media = part_from(source, kind, family="file", name=label, is_address=is_address)
    if media is None:
        raise Damaged("the media cannot be read", place)
    return media


# --- a reply ---------------------------------------------------------------------------------------------


class GeminiReader(ReplyReader):
    """Collects the parts of the chunks of an answer."""

    wire = GEMINI

    def __init__(self, sent: Rendered | None = None, model: str | None = None) -> None:
        super().__init__(sent, model)
        self._parts: list[WithPath] = []

    def as_json(self, event: Any) -> Json:
        return _wire_form(plain_json(event))

    def read_event(self, event: Json) -> str:
        added = ""
        for path, part in self._read_chunk(event):
            added += part.get("text", "") if part.get("thought") is not True else ""
            last = self._parts[-1][1] if self._parts else {}
            # Pieces of a stream are no parts of their own, so texts are joined, up to a signature.
            if "text" in last and "text" in part and last.keys() == part.keys() - {"thoughtSignature"}:
                last |= {**part, "text": last["text"] + part["text"]}
            else:
                self._parts.append((path, part))
        return added

    def read_whole(self, body: Json) -> None:
        if not body.keys() & _RESPONSE:
            raise Damaged("not a response: it has no candidates, and no reason why", "$.candidates")
        self._parts = self._read_chunk(body)

    def _read_chunk(self, chunk: Json) -> list[WithPath]:
        """Take a chunk; returns the parts of its first candidate."""
        self.model = _text(chunk, "modelVersion", "$") or self.model
        self.add_usage(chunk.get("usageMetadata"))
        if "blockReason" in fields_in(chunk.get("promptFeedback")):
            self.finish_reason = "SAFETY"
        candidates = list_at(chunk.get("candidates"), "$.candidates")
        candidate = object_at(candidates[0], "$.candidates[0]") if candidates else {}
        if reason := candidate.get("finishReason"):
            self.finish_reason = text_in(reason) or "OTHER"
            if normalized_reason(reason) in MODEL_FAULTS:
                message = text_in(candidate.get("finishMessage"))
                self.error = error_text({"code": self.finish_reason, "message": message})
        path = "$.candidates[0].content"
        return _parts(object_at(candidate.get("content", {}), path), path)

    def build_items(self) -> None:
        """Leaves out the calls of a model that failed."""
        has_failed = normalized_reason(self.finish_reason) in MODEL_FAULTS
        _add_parts([pair for pair in self._parts if not has_failed or _kind(pair) != "call"], self.builder)


# --- a history -------------------------------------------------------------------------------------------


def add_history(body: Json, builder: ItemBuilder) -> None:
    """Add the contents of the arguments of the client, or of the JSON of a request."""
    request = _wire_form(body)
    config = object_at(request.get("config", {}), "$.config")
    _add_instructions(request.get("systemInstruction", {}), builder, "$.systemInstruction")
    _add_instructions(config.get("systemInstruction", {}), builder, "$.config.systemInstruction")
    contents, before = request["contents"], None
    for path, content in objects_at(
        [_said(contents)] if isinstance(contents, str) else contents, "$.contents"
    ):
        parts, role = _parts(content, path), content.get("role", "user")
        if role == "model":
            if before != role:  # neighbours of the model are one turn
                builder.begin_reply()
            _add_parts(parts, builder)
        elif role in _CALLERS:
            _add_user_parts(parts, builder)
        else:
            raise Damaged("the role is neither user nor model", f"{path}.role")
        before = role


def _said(text: str) -> Json:
    return {"parts": [{"text": text}]}


def _add_instructions(given: Any, builder: ItemBuilder, path: str) -> None:
    """Instructions: text or a content; each part becomes a message."""
    content = _said(given) if isinstance(given, str) else object_at(given, path)
    for place, part in _parts(content, path):
        if "text" not in part:
            raise Damaged("instructions are text", place)
        builder.add_input("system", part["text"])


def _add_user_parts(parts: list[WithPath], builder: ItemBuilder) -> None:
    """Results come first, then the rest as one message."""
    said: list[Part] = []
    for path, part in parts:
        if "functionResponse" in part:
            _add_result(part["functionResponse"], builder, f"{path}.functionResponse")
        elif (media := _read_media(part, path)) is not None:
            said.append(media)
        elif part.keys() - _BESIDE:
            said.append(part["text"] if "text" in part else short_json(part, path))
    if said:
        builder.add_input("user", content_from(said))


def _add_result(answer: Any, builder: ItemBuilder, path: str) -> None:
    fields = object_at(answer, path)
    text, is_error = _output(fields.get("response"), f"{path}.response")
    parts: list[Part] = [text] if text else []
    for place, part in objects_at(fields.get("parts"), f"{path}.parts"):
        media = _read_media(part, place)
        if media is None:
            raise Damaged("a result holds text and media", place)
        parts.append(media)
    builder.add_result(_text(fields, "id", path), _text(fields, "name", path), content_from(parts), is_error)


def _output(response: Any, path: str) -> tuple[str, bool]:
    """The text of a result, and whether it is an error; a value of another form is its JSON."""
    if response is None:
        return "", False
    fields = fields_in(response)
    key = next(iter(fields)) if len(fields) == 1 else ""
    value = fields[key] if key in ("output", "error") else response
    return value if isinstance(value, str) else json_text(value, path), key == "error"
