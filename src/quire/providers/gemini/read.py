"""Gemini: replies, streams and histories as items.

Field names are those of the wire (`functionCall`); clients in Python also spell them `function_call`.
"""

import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from quire.errors import Damaged, InvalidValue, WrongType
from quire.items import Audio, File, Image, Item, Message, Opaque, Part, Reasoning, ToolCall, ToolResult
from quire.providers.media import bare_base64, bytes_of
from quire.providers.rules import MODEL_FAULTS, SIGNATURE_PLACEHOLDER
from quire.providers.state import GEMINI, blocks_text, made_by
from quire.providers.stream import (
    CallIds,
    StreamErrors,
    TextPieces,
    arguments_text,
    content_from,
    error_in,
    error_text,
    failure_in,
    finish_of,
    finished,
    short_json,
    spelled,
)
from quire.providers.types import Answer, Parsed
from quire.providers.values import Json, json_text, list_at, object_at, plain_json, text_in
from quire.tokens import Usage

_CAPITAL = re.compile(r"[A-Z]")
_TOOL_PARTS = ("executableCode", "codeExecutionResult", "toolCall", "toolResponse")
_PARTS = ("text", "inlineData", "fileData", "functionCall", "functionResponse", *_TOOL_PARTS)
_BESIDE = ("thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution")
_RESPONSE = ("candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId")
_ROLES = {"user": "user", "function": "user", "tool": "user", "model": "model", "system": "system"}

# The placeholder as bytes that a client decoded from it, and as bytes of its letters.
_PLACEHOLDERS = {
    SIGNATURE_PLACEHOLDER,
    SIGNATURE_PLACEHOLDER.replace("_", "/"),
    b64encode(SIGNATURE_PLACEHOLDER.encode()).decode(),
}


# --- fields ----------------------------------------------------------------------------------------------


@cache  # the names are those of this wire, a few dozen
def _underscored(name: str) -> str:
    return _CAPITAL.sub(lambda letter: f"_{letter.group().lower()}", name)


def _get(fields: Mapping[str, Any], name: str) -> Any:
    """A field under the wire's name or under the client's."""
    value = fields.get(name)
    return fields.get(_underscored(name)) if value is None else value


def _text(fields: Mapping[str, Any], name: str, path: str) -> str:
    value = _get(fields, name)
    if not isinstance(value, str | None):
        raise Damaged(f"expected text, not {type(value).__name__}", f"{path}.{name}")
    return value or ""


def _signature(part: Mapping[str, Any]) -> str | None:
    """The signature of a part; clients have it as bytes, the wire in base64. A placeholder is none."""
    value = _get(part, "thoughtSignature")
    if isinstance(value, bytes):
        value = b64encode(value).decode()
    return value if isinstance(value, str) and value and value not in _PLACEHOLDERS else None


def _is_part(part: Mapping[str, Any]) -> bool:
    return any(_get(part, name) is not None for name in _PARTS)


def _is_bare(part: Mapping[str, Any]) -> bool:
    """Whether a part holds no content; a signature may stand alone."""
    beside = {*_BESIDE, *map(_underscored, _BESIDE)}
    return all(value is None or name in beside for name, value in part.items())


# --- parts as items --------------------------------------------------------------------------------------


class _Run:
    """Consecutive texts and media, thoughts or not, with the raw parts that they came in."""

    __slots__ = ("is_thought", "parts", "raw")

    def __init__(self, is_thought: bool) -> None:
        self.is_thought = is_thought
        self.parts: list[Part] = []
        self.raw: list[Json] = []

    def add(self, part: Part, raw: Json, *, joins: bool, is_stream: bool) -> None:
        """Take a part. Its text goes on with the text before if it `joins`.

        Pieces of a stream are no parts of their own, so the raw texts are joined too, up to a signature.
        """
        last = self.parts[-1] if self.parts else None
        if isinstance(part, str) and isinstance(last, str) and (joins or not part or not last):
            self.parts[-1] = last + part
        else:
            self.parts.append(part)
        before = self.raw[-1] if self.raw else {}
        if (
            is_stream
            and "text" in raw
            and "text" in before
            and before.keys() == raw.keys() - {"thoughtSignature"}
        ):
            self.raw[-1] = {**raw, "text": before["text"] + raw["text"]}
        else:
            self.raw.append(raw)

    @property
    def says_more(self) -> bool:
        return any("thoughtSignature" in raw for raw in self.raw)

    @property
    def is_silent(self) -> bool:
        return all(part == "" for part in self.parts)


class _Others:
    """Consecutive parts that no item stands for, such as code that the service ran."""

    __slots__ = ("raw",)

    def __init__(self, raw: Json) -> None:
        self.raw = [raw]


class _Called:
    """A call with its signature; `is_whole` says that nothing of it can be missing."""

    __slots__ = ("call", "is_whole", "signature")

    def __init__(self, call: Mapping[str, Any], signature: str | None, *, is_whole: bool = False) -> None:
        self.call = call
        self.signature = signature
        self.is_whole = is_whole


class _Turn:
    """Collects the parts of a turn of the model, and makes items of them."""

    def __init__(self, answer: Answer, ids: CallIds, *, joins: bool = True, is_stream: bool = False) -> None:
        self.outputs: list[_Run | _Others | _Called] = []
        self._answer = answer
        self._ids = ids
        self._joins = joins
        self._is_stream = is_stream

    def add(self, part: Mapping[str, Any], path: str) -> str:
        """Take a part that is not a call; returns the text that it added to what the model said."""
        signature, is_thought = _signature(part), part.get("thought") is True
        raw: Json = {"thoughtSignature": signature} if signature else {}
        raw |= {"thought": True} if is_thought else {}
        media = read_media(part, path)
        if media is not None and not is_thought:
            self._say(media, raw, False)
            return ""
        if media is None and (_get(part, "text") is not None or (_is_bare(part) and signature)):
            text = _text(part, "text", path)
            if text or signature:
                self._say(text, {"text": text, **raw}, is_thought)
            return "" if is_thought else text
        if not _is_bare(part) and (media is None or signature):
            self._add_other({name: value for name, value in part.items() if value is not None})
        return ""

    def _say(self, part: Part, raw: Json, is_thought: bool) -> None:
        last = self.outputs[-1] if self.outputs else None
        if not isinstance(last, _Run) or last.is_thought != is_thought:
            last = _Run(is_thought)
            self.outputs.append(last)
        last.add(part, raw, joins=self._joins, is_stream=self._is_stream)

    def _add_other(self, raw: Json) -> None:
        last = self.outputs[-1] if self.outputs else None
        if isinstance(last, _Others):
            last.raw.append(raw)
        else:
            self.outputs.append(_Others(raw))

    def items(self, model: str, path: str) -> list[Item]:
        """All items; `model` is the model that the answer names."""

        def state(of: list[Json]) -> Opaque:
            return made_by(GEMINI, self._answer, model, of, path)

        items: list[Item] = []
        for output in self.outputs:
            if isinstance(output, _Called):
                items.append(self._call(output, state, path))
            elif isinstance(output, _Others):
                items.append(Reasoning(blocks_text(GEMINI, output.raw), state(output.raw)))
            elif output.is_thought or output.is_silent:
                text = "".join(part for part in output.parts if isinstance(part, str))
                items.append(Reasoning(text, state(output.raw if output.says_more else [])))
            else:
                content = content_from(output.parts)
                items.append(
                    Message("assistant", content, state=state(output.raw) if output.says_more else None)
                )
        return items

    def _call(self, called: _Called, state: Any, path: str) -> ToolCall:
        call = called.call
        name = _text(call, "name", path)
        if not name:
            raise Damaged("a call has a name", f"{path}.functionCall.name")
        tool = self._answer.tool(name)
        arguments = arguments_text(self._answer, tool, call.get("args") or {}, f"{path}.functionCall.args")
        own = state([{"thoughtSignature": called.signature}]) if called.signature else None
        return ToolCall(self._ids.give(_text(call, "id", path), tool), tool, arguments, own)


def read_media(part: Mapping[str, Any], path: str) -> Image | Audio | File | None:
    """The media that a part holds or points to; None for another part."""
    inline, address = _get(part, "inlineData"), _get(part, "fileData")
    if inline is None and address is None:
        return None
    place = f"{path}.{'fileData' if inline is None else 'inlineData'}"
    blob = object_at(address if inline is None else inline, place)
    kind, held = None, dict[str, Any]()
    if inline is None:
        held["url"] = _text(blob, "fileUri", place)
    else:
        data = _get(blob, "data")
        kind, data = bare_base64(data) if isinstance(data, str) else (None, data)
        held["data"] = data if isinstance(data, bytes) else bytes_of(data) if isinstance(data, str) else None
        if held["data"] is None:
            raise Damaged("the data is not base64", f"{place}.data")
    kind = _text(blob, "mimeType", place) or kind
    family, name = (kind or "").partition("/")[0], _text(blob, "displayName", place) or None
    try:
        if family in ("image", "audio"):
            return (Image if family == "image" else Audio)(**held, media_type=kind)
        return File(**held, media_type=kind, name=name)
    except InvalidValue as fault:
        raise Damaged(str(fault), place) from None


# --- a whole response ------------------------------------------------------------------------------------


def parse(response: Any, answer: Answer) -> Parsed:
    """A whole response."""
    body = plain_json(response)
    if body and not _is_response(body) and error_in(body) is None:
        raise Damaged("not a response: it has no candidates, and no reason why", "$.candidates")
    reader = Stream(answer, is_whole=True)
    reader.feed(body)
    return reader.close()


def _is_response(event: Json) -> bool:
    return any(_get(event, name) is not None for name in _RESPONSE)


def _usage(report: Mapping[str, Any]) -> Usage | None:
    """Usage: output with thoughts, input with what the service's own tools added."""
    if not report:
        return None

    def count(name: str) -> int:
        value = _get(report, name)
        return value if isinstance(value, int) and value > 0 else 0

    given = count("promptTokenCount") + count("toolUsePromptTokenCount")
    thought = count("thoughtsTokenCount")
    return Usage(
        input=given,
        output=count("candidatesTokenCount") + thought,
        cache_read=min(count("cachedContentTokenCount"), given),
        reasoning=thought,
    )


# --- a stream --------------------------------------------------------------------------------------------


class Stream:
    """Collects the parts of the chunks of an answer; `is_whole` says that the first chunk is all of it."""

    def __init__(self, answer: Answer, *, is_whole: bool = False) -> None:
        self._answer = answer
        self._is_whole = is_whole
        self._turn = _Turn(answer, CallIds(), is_stream=not is_whole)
        self._partial: _PartialCall | None = None
        self._seen: set[tuple[str, str]] = set()
        self._usage: Json = {}
        self._reason: str | None = None
        self._is_blocked = False
        self._model = ""
        self._errors = StreamErrors("a chunk of Gemini")
        self._fault: str | None = None
        self._pieces = TextPieces()
        self._parsed: Parsed | None = None

    def feed(self, event: Any) -> str:
        """Take a chunk; returns the text that it added, if any."""
        chunk = plain_json(event)
        self._errors.look(chunk, is_known=_is_response(chunk))
        self._model = _text(chunk, "modelVersion", "$") or self._model
        self._usage |= object_at(_get(chunk, "usageMetadata") or {}, "$.usageMetadata")
        feedback = object_at(_get(chunk, "promptFeedback") or {}, "$.promptFeedback")
        self._is_blocked = self._is_blocked or _get(feedback, "blockReason") is not None
        candidates = list_at(_get(chunk, "candidates"), "$.candidates")
        if not candidates:
            return ""
        return self._pieces.next(self._candidate(object_at(candidates[0], "$.candidates[0]")))

    def _candidate(self, candidate: Json) -> str:
        reason = _get(candidate, "finishReason")
        if reason is not None:
            self._reason = text_in(getattr(reason, "value", reason)) or "OTHER"
            if spelled(self._reason) in MODEL_FAULTS:
                message = text_in(_get(candidate, "finishMessage"))
                self._fault = error_text({"code": self._reason, "message": message})
        content = object_at(_get(candidate, "content") or {}, "$.candidates[0].content")
        path = "$.candidates[0].content.parts"
        parts = [object_at(part, path) for part in list_at(_get(content, "parts"), path)]
        return "".join([self._part(part, f"{path}[{index}]") for index, part in enumerate(parts)])

    def _part(self, part: Json, path: str) -> str:
        call = _get(part, "functionCall")
        if call is None:
            return self._turn.add(part, path)
        self._call(object_at(call, f"{path}.functionCall"), _signature(part), f"{path}.functionCall")
        return ""

    def _call(self, call: Json, signature: str | None, path: str) -> None:
        """Take a call, or a piece of one: with `willContinue`, arguments come as values with their paths."""
        more, pieces = _get(call, "willContinue"), _get(call, "partialArgs")
        if self._partial is None and not more and pieces is None:
            self._add_call(_Called(call, signature), path)
            return
        if self._partial is None or _get(call, "name"):
            self._partial = _PartialCall(call, signature)
        self._partial.add(call, path)
        if not more:
            signed = self._partial.signature or signature
            self._add_call(_Called(self._partial.call, signed, is_whole=True), path)
            self._partial = None

    def _add_call(self, called: _Called, path: str) -> None:
        """Add a call, unless a proxy sends it again (mudler/cogito#66)."""
        call_id = _get(called.call, "id")
        key = (call_id, json_text(called.call, path, ordered=True)) if isinstance(call_id, str) else None
        if key is None or key not in self._seen:
            self._turn.outputs.append(called)
        if key is not None:
            self._seen.add(key)

    def close(self) -> Parsed:
        """The answer so far."""
        if self._parsed is None:
            self._drop_calls()
            items = [] if self._is_blocked else self._turn.items(self._model, "$.candidates[0].content.parts")
            # A whole response ended, also if it gives no reason.
            reason = self._reason or ("" if self._is_whole else None)
            finish = "refused" if self._is_blocked else finish_of(GEMINI, reason)
            if finish == "stop" and any(isinstance(item, ToolCall) for item in items):
                finish = "calls"
            parsed = finished(
                items,
                reason,
                finish,
                self._errors.error or self._fault,
                usage=_usage(self._usage),
                model=self._model or self._answer.model,
                half_call=self._partial is not None,
            )
            self._parsed = parsed._replace(error=parsed.error or self._errors.unknown())
        return self._parsed

    def _drop_calls(self) -> None:
        """Leave out the calls of a model that failed, and a last call that may be cut off."""
        outputs = self._turn.outputs
        if spelled(self._reason) in MODEL_FAULTS:
            outputs[:] = [output for output in outputs if not isinstance(output, _Called)]
        last = outputs[-1] if outputs else None
        is_cut = finish_of(GEMINI, self._reason) == "length" or failure_in(self._reason)
        if is_cut and isinstance(last, _Called) and not last.is_whole:
            outputs.pop()


class _PartialCall:
    """A call whose arguments arrive as values with JSON paths (Vertex AI, streamFunctionCallArguments)."""

    _STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]""")
    _LONGEST_LIST = 10_000

    def __init__(self, call: Mapping[str, Any], signature: str | None) -> None:
        self.call: Json = {"id": _get(call, "id"), "name": _get(call, "name"), "args": {}}
        self.signature = signature

    def add(self, call: Mapping[str, Any], path: str) -> None:
        for index, value in enumerate(list_at(_get(call, "partialArgs"), f"{path}.partialArgs")):
            place = f"{path}.partialArgs[{index}]"
            self._put(object_at(value, place), place)

    def _put(self, piece: Json, path: str) -> None:
        steps = self._steps(_text(piece, "jsonPath", path), path)
        holder: Any = self.call
        for step, following in zip(["args", *steps], steps, strict=False):
            holder = self._enter(holder, step, [] if isinstance(following, int) else {}, path)
        last = steps[-1] if steps else "args"
        found = (_get(piece, name) for name in ("stringValue", "numberValue", "boolValue"))
        value = next((one for one in found if one is not None), None)
        before = self._enter(holder, last, None, path)
        holder[last] = before + value if isinstance(before, str) and isinstance(value, str) else value

    def _steps(self, json_path: str, path: str) -> list[str | int]:
        steps: list[str | int] = []
        end = 1
        while json_path[:1] == "$" and (match := self._STEP.match(json_path, end)):
            name, index, single, double = match.groups()
            steps.append(int(index) if index is not None else name or single or double or "")
            end = match.end()
        if json_path[:1] != "$" or end != len(json_path):
            raise Damaged("not a path to an argument", f"{path}.jsonPath")
        return steps

    def _enter(self, holder: Any, step: str | int, empty: Any, path: str) -> Any:
        """The value at a step; `empty` is put there if there is none."""
        if isinstance(holder, list) and isinstance(step, int) and step < self._LONGEST_LIST:
            values = cast("list[Any]", holder)  # type: ignore[redundant-cast]
            values.extend([None] * (step + 1 - len(values)))
            values[step] = empty if values[step] is None else values[step]
            return values[step]
        if isinstance(holder, dict) and isinstance(step, str):
            fields = cast(Json, holder)
            fields[step] = empty if fields.get(step) is None else fields[step]
            return fields[step]
        raise Damaged("the path does not fit the arguments before", f"{path}.jsonPath")


# --- a history -------------------------------------------------------------------------------------------


def read_history(payload: Any, *, model: str | None = None) -> list[Item]:
    """Contents, one content, the arguments of the client or the JSON of a request, as items."""
    if isinstance(payload, str | list | tuple):
        return _History(model or "").read(cast(Any, payload), "$")
    if not isinstance(payload, Mapping) and not hasattr(payload, "model_dump"):
        raise WrongType(f"a history is a list of contents or a request, not {type(payload).__name__}")
    request = object_at(payload, "$")
    if all(_get(request, name) is None for name in ("contents", "systemInstruction", "config")):
        if "parts" not in request and not _is_part(request):
            raise Damaged("neither a content nor a request with contents", "$.contents")
        return _History(model or "").read(request, "$")
    history = _History(model or _text(request, "model", "$"))
    config = object_at(request.get("config") or {}, "$.config")
    for holder, path in ((request, "$"), (config, "$.config")):
        history.read_instructions(_get(holder, "systemInstruction"), f"{path}.systemInstruction")
    return history.read(_get(request, "contents"), "$.contents")


class _History:
    """Reads contents one by one."""

    def __init__(self, model: str) -> None:
        self._answer = Answer(model)
        self._items: list[Item] = []
        self._ids = CallIds(is_history=True)

    def read(self, contents: Any, path: str) -> list[Item]:
        if contents is None and self._items:
            return self._items  # instructions for a conversation that has not begun
        if contents is None:
            raise Damaged("the request has no contents", path)
        if isinstance(contents, str | Mapping) or hasattr(contents, "model_dump"):
            contents, places = [cast(Any, contents)], [path]
        else:
            contents = list_at(contents, path)
            places = [f"{path}[{index}]" for index in range(len(contents))]
        for content, place in zip(contents, places, strict=True):
            self._read_content(_content(content, place), place)
        return self._items

    def read_instructions(self, given: Any, path: str) -> None:
        """Instructions: text, a part, parts or a content; each part becomes a message."""
        if given is None:
            return
        parts = [given] if isinstance(given, str) else given
        if not isinstance(parts, list | tuple):
            holder = object_at(cast(Any, given), path)
            parts = _get(holder, "parts") if "parts" in holder else [holder]
        for index, part in enumerate(list_at(parts, path)):
            place = f"{path}[{index}]"
            fields = {"text": part} if isinstance(part, str) else object_at(part, place)
            if _get(fields, "text") is None:
                raise Damaged("instructions are text", place)
            self._items.append(Message("system", _text(fields, "text", place)))

    def _read_content(self, content: Json, path: str) -> None:
        named = _get(content, "role") or "user"
        role = _ROLES.get(named) if isinstance(named, str) else None
        if role is None:
            raise Damaged("the role is neither user nor model", f"{path}.role")
        parts = list_at(_get(content, "parts"), f"{path}.parts")
        places = [(f"{path}.parts[{index}]", part) for index, part in enumerate(parts)]
        found = [
            (place, {"text": part} if isinstance(part, str) else object_at(part, place))
            for place, part in places
        ]
        if role == "model":
            self._read_model(found, path)
        else:
            self._ids.end_round()
            self._read_user(found, "user" if role == "user" else "system")

    def _read_model(self, parts: list[tuple[str, Json]], path: str) -> None:
        turn = _Turn(self._answer, self._ids, joins=False)
        for place, part in parts:
            call = _get(part, "functionCall")
            if call is not None:
                turn.outputs.append(_Called(object_at(call, f"{place}.functionCall"), _signature(part)))
            else:
                turn.add(part, place)
        self._items += turn.items("", f"{path}.parts")

    def _read_user(self, parts: list[tuple[str, Json]], role: Any) -> None:
        """Results come first, then what is said beside them as one message."""
        said: list[Part] = []
        for place, part in parts:
            answer = _get(part, "functionResponse")
            if answer is not None:
                fields = object_at(answer, f"{place}.functionResponse")
                self._items.append(self._result(fields, f"{place}.functionResponse"))
                continue
            media = read_media(part, place)
            if media is not None:
                said.append(media)
            elif not _is_bare(part):
                is_text = _get(part, "text") is not None
                said.append(_text(part, "text", place) if is_text else short_json(part, place))
        if said:
            self._items.append(Message(role, content_from(said)))

    def _result(self, answer: Json, path: str) -> ToolResult:
        call_id, name = self._ids.answered(_text(answer, "id", path), _text(answer, "name", path))
        text, is_error = _output(_get(answer, "response"), f"{path}.response")
        parts: list[Part] = [text] if text else []
        for index, part in enumerate(list_at(_get(answer, "parts"), f"{path}.parts")):
            place = f"{path}.parts[{index}]"
            media = read_media(object_at(part, place), place)
            if media is None:
                raise Damaged("a result holds text and media", place)
            parts.append(media)
        return ToolResult(call_id, name, content_from(parts), is_error)


def _output(response: Any, path: str) -> tuple[str, bool]:
    """The text of a result, and whether it is an error; an object of other fields is its JSON."""
    if response is None:
        return "", False
    if isinstance(response, str | list):
        response = {
            "output": cast(Any, response)
        }  # clients of other languages put a value where an object belongs
    fields = object_at(response, path)
    if not fields:
        return "{}", False
    key = next(iter(fields)) if len(fields) == 1 else ""
    value = fields[key] if key in ("output", "error") else fields
    return value if isinstance(value, str) else json_text(value, path), key == "error"


def _content(content: Any, path: str) -> Json:
    """A content; the client also takes text or a part in its place."""
    if isinstance(content, str):
        return {"role": "user", "parts": [content]}
    fields = object_at(content, path)
    if "parts" not in fields and _is_part(fields):
        return {"role": "user", "parts": [fields]}
    if _get(fields, "parts") is None and set(fields) - {"parts", "role"}:
        raise Damaged("a content has parts", f"{path}.parts")
    return fields
