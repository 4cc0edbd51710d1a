"""Gemini: reads replies, streams and histories as items.

Python clients spell field names with underscores (`function_call`) and use bytes. Both are converted to the
format of the wire first.
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
from quire.providers.stream import ItemBuilder, ReplyReader, WithPath, error_text, objects_at, reason_key
from quire.providers.types import Rendered
from quire.providers.values import Json, fields_in, json_text, list_at, object_at, plain_json, text_in

_MEDIA_FIELDS = frozenset(("inlineData", "fileData"))
_META_FIELDS = frozenset(("thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution"))
"""Fields of a part beside its content."""
_RESPONSE_FIELDS = frozenset(("candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId"))
_CALLERS = ("user", "function", "tool")  # all roles except the model's

_FREE_FIELDS = ("args", "response", "parameters", "parametersJsonSchema", "parameters_json_schema")
"""Fields whose values have names chosen by the caller, which must not change."""
_CONTAINERS = (dict, list, tuple)
_MAX_LEVELS = 12  # below this depth no field belongs to the wire
_UNDERSCORE = re.compile(r"_([a-z])")
_CLIENT_FORM = re.compile(rb'_[a-z]\w*":|:null')  # matches the JSON of a client's object


# --- fields and parts ------------------------------------------------------------------------------------


def _wire_form(value: Json) -> Json:
    """A request or a response converted by `camel_case`, if that is necessary."""
    try:
        has_wire_form = _CLIENT_FORM.search(msgspec.json.encode(value)) is None
    except (TypeError, ValueError, OverflowError, RecursionError):
        has_wire_form = False
    return value if has_wire_form else camel_case(value)


def camel_case(value: Any, levels: int = _MAX_LEVELS) -> Any:
    """A value in the format of the wire: camel case names, no null fields, bytes in base64."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if levels == 0 or not isinstance(value, _CONTAINERS):
        return value
    if not isinstance(value, dict):
        return [camel_case(inner, levels - 1) for inner in cast("list[Any]", value)]
    return {
        _wire_name(str(name)): inner if name in _FREE_FIELDS else camel_case(inner, levels - 1)
        for name, inner in fields_in(value).items()
        if inner is not None
    }


@lru_cache(1024)
def _wire_name(name: str) -> str:
    return _UNDERSCORE.sub(lambda match: match[1].upper(), name)


def _text(fields: Json, name: str, path: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise Damaged(f"expected text, not {type(value).__name__}", f"{path}.{name}")
    return value


def _parts(content: Json, path: str) -> list[WithPath]:
    """The parts of a content that are not empty."""
    if "parts" not in content and content.keys() - {"role"}:
        raise Damaged("a content must have parts", f"{path}.parts")
    parts: list[WithPath] = []
    for place, part in objects_at(content.get("parts"), f"{path}.parts"):
        if text_in(part.get("thoughtSignature")) in ("", SIGNATURE_PLACEHOLDER):
            part.pop("thoughtSignature", None)
        if part.get("thought") is True and part.keys() & _MEDIA_FIELDS:
            continue  # the service does not accept an image of a thought back
        if _text(part, "text", place) or "thoughtSignature" in part or part.keys() - _META_FIELDS - {"text"}:
            parts.append((place, part))
    return parts


def _kind(pair: WithPath) -> str:
    _, part = pair
    if "functionCall" in part:
        return "call"
    if part.keys() - _META_FIELDS - _MEDIA_FIELDS - {"text"}:
        return "other"  # such as code that the service ran
    return "thought" if part.get("thought") is True else "message"


def _add_parts(parts: list[WithPath], builder: ItemBuilder) -> None:
    """Add the parts of a turn of the model as items."""
    for kind, group in groupby(parts, _kind):
        run = list(group)
        if kind == "call":
            for path, part in run:
                _add_call(part, builder, path)
        elif kind == "other":
            builder.add_opaque([part for _, part in run], run[0][0])
        else:
            _add_run(run, builder, is_thought=kind == "thought")


def _add_call(part: Json, builder: ItemBuilder, path: str) -> None:
    call, place = object_at(part["functionCall"], f"{path}.functionCall"), f"{path}.functionCall"
    if "willContinue" in call or "partialArgs" in call:
        raise Damaged("arguments in pieces cannot be read: turn off streamFunctionCallArguments", place)
    signature = part.get("thoughtSignature")
    state = builder.pack_state([{"thoughtSignature": signature}], path) if signature else None
    builder.add_call(call.get("id"), call.get("name"), call.get("args"), place, state)


def _add_run(run: list[WithPath], builder: ItemBuilder, *, is_thought: bool) -> None:
    """Add consecutive texts and media as one item; if one is signed, its state has the raw parts.

    Consecutive texts are pieces of one text, so they are joined.
    """
    parts: list[Part] = []
    raw: list[Json] = []
    for path, part in run:
        media = _read_media(part, path)
        meta: Json = {name: part[name] for name in ("thought", "thoughtSignature") if name in part}
        raw.append({"text": part.get("text", ""), **meta} if media is None else meta)
        new: Part = part.get("text", "") if media is None else media
        if parts and isinstance(new, str) and isinstance(last := parts[-1], str):
            parts[-1] = last + new
        else:
            parts.append(new)
    path = run[0][0]
    state = builder.pack_state(raw, path) if any("thoughtSignature" in part for part in raw) else None
    if is_thought or not any(parts):
        text = "".join(part for part in parts if isinstance(part, str))
        builder.add_reasoning(text, state or builder.pack_state((), path))
    else:
        builder.add_message(content_from(parts), state)


def _read_media(part: Json, path: str) -> Part | None:
    """The media in a part; None if it has no media."""
    name = next((name for name in _MEDIA_FIELDS if name in part), None)
    if name is None:
        return None
    place = f"{path}.{name}"
    blob = object_at(part[name], place)
    is_address = name == "fileData"
    source, kind = _text(blob, "fileUri" if is_address else "data", place), _text(blob, "mimeType", place)
    title = _text(blob, "displayName", place)
    media = part_from(source, kind, family="file", name=title, is_address=is_address)
    if media is None:
        raise Damaged("the media cannot be read", place)
    return media


# --- a reply ---------------------------------------------------------------------------------------------


class GeminiReader(ReplyReader):
    """Collects the parts of an answer from its chunks."""

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
            # A stream cuts texts into pieces. They are joined again; a signature ends a part.
            if "text" in last and "text" in part and last.keys() == part.keys() - {"thoughtSignature"}:
                last |= {**part, "text": last["text"] + part["text"]}
            else:
                self._parts.append((path, part))
        return added

    def read_whole(self, body: Json) -> None:
        if not body.keys() & _RESPONSE_FIELDS:
            raise Damaged("not a response: it has no candidates, and no reason why", "$.candidates")
        self._parts = self._read_chunk(body)

    def _read_chunk(self, chunk: Json) -> list[WithPath]:
        """Read a chunk; return the parts of its first candidate."""
        self.model = _text(chunk, "modelVersion", "$") or self.model
        self.add_usage(chunk.get("usageMetadata"))
        if "blockReason" in fields_in(chunk.get("promptFeedback")):
            self.finish_reason = "SAFETY"
        candidates = list_at(chunk.get("candidates"), "$.candidates")
        candidate = object_at(candidates[0], "$.candidates[0]") if candidates else {}
        if reason := candidate.get("finishReason"):
            self.finish_reason = text_in(reason) or "OTHER"
            if reason_key(reason) in MODEL_FAULTS:
                message = text_in(candidate.get("finishMessage"))
                self.error = error_text({"code": self.finish_reason, "message": message})
        path = "$.candidates[0].content"
        return _parts(object_at(candidate.get("content", {}), path), path)

    def build_items(self) -> None:
        """Add the parts; if the model failed, without its calls."""
        has_failed = reason_key(self.finish_reason) in MODEL_FAULTS
        _add_parts([pair for pair in self._parts if not has_failed or _kind(pair) != "call"], self.builder)


# --- a history -------------------------------------------------------------------------------------------


def add_history(body: Json, builder: ItemBuilder) -> None:
    """Add the contents of a request, given as JSON or as the client's arguments."""
    request = _wire_form(body)
    config = object_at(request.get("config", {}), "$.config")
    _add_instructions(request.get("systemInstruction", {}), builder, "$.systemInstruction")
    _add_instructions(config.get("systemInstruction", {}), builder, "$.config.systemInstruction")
    contents, previous_role = request["contents"], None
    contents = [_text_content(contents)] if isinstance(contents, str) else contents
    for path, content in objects_at(contents, "$.contents"):
        parts, role = _parts(content, path), content.get("role", "user")
        if role == "model":
            if previous_role != role:  # consecutive contents of the model are one turn
                builder.begin_reply()
            _add_parts(parts, builder)
        elif role in _CALLERS:
            _add_user_parts(parts, builder)
        else:
            raise Damaged("the role is neither user nor model", f"{path}.role")
        previous_role = role


def _text_content(text: str) -> Json:
    return {"parts": [{"text": text}]}


def _add_instructions(instructions: Any, builder: ItemBuilder, path: str) -> None:
    """Add instructions, a text or a content; each part becomes a message."""
    content = _text_content(instructions) if isinstance(instructions, str) else object_at(instructions, path)
    for place, part in _parts(content, path):
        if "text" not in part:
            raise Damaged("instructions must be text", place)
        builder.add_input("system", part["text"])


def _add_user_parts(parts: list[WithPath], builder: ItemBuilder) -> None:
    """Add the results, then everything else as one message."""
    content: list[Part] = []
    for path, part in parts:
        if "functionResponse" in part:
            _add_result(part["functionResponse"], builder, f"{path}.functionResponse")
        elif (media := _read_media(part, path)) is not None:
            content.append(media)
        elif part.keys() - _META_FIELDS:
            content.append(part["text"] if "text" in part else short_json(part, path))
    if content:
        builder.add_input("user", content_from(content))


def _add_result(answer: Any, builder: ItemBuilder, path: str) -> None:
    fields = object_at(answer, path)
    text, is_error = _output(fields.get("response"), f"{path}.response")
    parts: list[Part] = [text] if text else []
    for place, part in objects_at(fields.get("parts"), f"{path}.parts"):
        media = _read_media(part, place)
        if media is None:
            raise Damaged("a result must have only text and media", place)
        parts.append(media)
    builder.add_result(_text(fields, "id", path), _text(fields, "name", path), content_from(parts), is_error)


def _output(response: Any, path: str) -> tuple[str, bool]:
    """The text of a result (JSON text for any other value), and whether it is an error."""
    if response is None:
        return "", False
    fields = fields_in(response)
    key = next(iter(fields)) if len(fields) == 1 else ""
    value = fields[key] if key in ("output", "error") else response
    return value if isinstance(value, str) else json_text(value, path), key == "error"
