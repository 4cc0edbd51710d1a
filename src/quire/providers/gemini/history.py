"""Gemini: an existing list of contents, or a whole request, to items."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from quire.errors import Damaged, InvalidValue, WrongType
from quire.items import Content, Item, Message, Opaque, Part, Reasoning, ToolCall, ToolResult
from quire.providers.gemini.arguments import arguments_in
from quire.providers.gemini.blocks import (
    field,
    is_bare,
    is_part,
    is_thought,
    kept,
    listed,
    mapped,
    media_in,
    signature_in,
    text_in,
)
from quire.providers.gemini.responses import read_response
from quire.providers.gemini.signing import NAME, sealed, spoken, thought_sign, whole
from quire.providers.gemini.speech import Speech
from quire.providers.gemini.thoughts import thoughts
from quire.providers.made_ids import MadeIds
from quire.providers.native import beside, native_note

_REQUESTED = ("contents", "systemInstruction", "config")
NO_FIELDS: Mapping[str, Any] = {}
_ROLES = {"user": "user", "function": "user", "tool": "user", "model": "model", "system": "system"}


def read_history(payload: Any, *, model: str | None = None) -> list[Item]:
    """Contents as items: some, one, the arguments of the client, or a request's JSON; signed by `model`."""
    if isinstance(payload, str | list | tuple):
        return _History(model).read(cast(Any, payload), "$")
    if not isinstance(payload, Mapping) and not hasattr(payload, "model_dump"):
        raise WrongType(f"a history is a list of contents or a request, not {type(payload).__name__}")
    request = mapped(payload, "$")
    if all(field(request, name) is None for name in _REQUESTED):
        return _History(model).read(_alone(request), "$")
    history = _History(model or text_in(request, "model", "$"))
    config = mapped(request.get("config") or {}, "$.config")
    for holder, path in ((request, "$"), (config, "$.config")):
        history.instructions(field(holder, "systemInstruction"), f"{path}.systemInstruction")
    return history.read(field(request, "contents"), "$.contents")


class _History:
    """The items so far, and the calls that still wait for their answers."""

    def __init__(self, model: str | None) -> None:
        self._model = model
        self._items: list[Item] = []
        self._waiting: list[tuple[str, str]] = []  # ids and names of calls without an answer yet
        self._new_id = MadeIds()

    def read(self, contents: Any, path: str) -> list[Item]:
        """All items."""
        if contents is None and self._items:
            return self._items  # instructions for a conversation that has not begun
        if isinstance(contents, str | Mapping) or hasattr(contents, "model_dump"):
            places = [(path, cast(Any, contents))]  # one content, which the client takes for a list of it
        else:
            places = [(f"{path}[{at}]", block) for at, block in enumerate(listed(contents, path))]
        blocks = [(place, _content(block, place)) for place, block in places]
        self._new_id = MadeIds(_ids([block for _, block in blocks]))
        for place, block in blocks:
            self._read_content(block, place)
        return self._items

    def instructions(self, given: Any, path: str) -> None:
        """What stands at the start; each part is a message."""
        if given is None:
            return
        parts = [given] if isinstance(given, str) else given
        if not isinstance(parts, list | tuple):
            holder = mapped(cast(Any, given), path)
            parts = field(holder, "parts") if "parts" in holder else [holder]
        for at, part in enumerate(listed(parts, path)):
            words = part if isinstance(part, str) else text_in(mapped(part, path), "text", f"{path}[{at}]")
            if words is None:
                raise Damaged("instructions are words", f"{path}[{at}]")
            self._items.append(Message("system", words))

    def _read_content(self, block: Mapping[str, Any], path: str) -> None:
        named = field(block, "role") or "user"
        role = _ROLES.get(named) if isinstance(named, str) else None
        if role is None:
            raise Damaged("a role that is neither the user's nor the model's", f"{path}.role")
        parts = listed(() if field(block, "parts") is None else field(block, "parts"), f"{path}.parts")
        said: list[tuple[Part, str | None]] = []
        videos: dict[str, Any] = {}
        for at, given in enumerate(parts):
            place = f"{path}.parts[{at}]"
            part: Mapping[str, Any] = {"text": given} if isinstance(given, str) else mapped(given, place)
            if is_bare(part) and not (role == "model" and signature_in(part)):
                continue
            if is_bare(part):
                part = {**part, "text": ""}  # a signature on no words, however it is written
            words = None if is_thought(part) else _words(part, place)
            if words is not None:
                if isinstance(cut := field(part, "videoMetadata"), Mapping) and cut:
                    videos[str(len(said))] = {"videoMetadata": cut}
                said.append((words, signature_in(part)))
                continue
            if field(part, "functionResponse") is None:
                # Answers to calls come before what is said beside them, all others where they stand.
                self._say(role, said, videos)
                said, videos = [], {}
            self._items.append(self._other(part, role, place))
        self._say(role, said, videos)

    def _say(
        self, role: str, said: list[tuple[Part, str | None]], videos: Mapping[str, Any] = NO_FIELDS
    ) -> None:
        if said and role == "model":
            self._answer(said)
        elif said:
            parts = tuple(part for part, _ in said)
            content: Content = parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts
            extras = beside(NAME, {"parts": dict(videos)})
            self._items.append(Message("user" if role == "user" else "system", content, extras=extras))

    def _answer(self, said: list[tuple[Part, str | None]]) -> None:
        """What the model said; a signature on no words stays beside the words it came with."""
        speech = Speech()
        for part, signature in said:
            speech.add(part, signature, joins=False)
        if speech.parts and speech.is_silent():
            self._items += thoughts(speech, self._model, None)
        else:
            state = spoken(speech, self._model, None)
            self._items.append(Message("assistant", speech.content() or "", state=state))

    def _other(self, part: Mapping[str, Any], role: str, path: str) -> Item:
        call, answer = field(part, "functionCall"), field(part, "functionResponse")
        if call is not None:
            return self._call(
                mapped(call, f"{path}.functionCall"), signature_in(part), f"{path}.functionCall"
            )
        if answer is not None:
            return self._result(mapped(answer, f"{path}.functionResponse"), f"{path}.functionResponse")
        if is_thought(part) and (text := text_in(part, "text", path)) is not None:
            sign = signature_in(part)
            if sign and not text:
                return Reasoning("", thought_sign(sign, self._model, None))
            return Reasoning(text, sealed([sign], self._model, None) or Opaque(NAME, self._model or ""))
        if role != "model":
            return native_note(kept(part), NAME)
        return Reasoning("", whole(part, self._model, None, path))

    def _call(self, call: Mapping[str, Any], signature: str | None, path: str) -> ToolCall:
        name, call_id = text_in(call, "name", path), text_in(call, "id", path) or self._new_id()
        if not name:
            raise Damaged("a call without a name", path)
        self._waiting.append((call_id, name))
        if not isinstance(call.get("args"), str | None):
            mapped(call["args"], f"{path}.args")
        arguments = arguments_in(call, f"{path}.args")
        return ToolCall(call_id, name, arguments, state=sealed([signature], self._model, None))

    def _result(self, answer: Mapping[str, Any], path: str) -> ToolResult:
        call_id, name = self._answered(text_in(answer, "id", path), text_in(answer, "name", path))
        response: Any = field(answer, "response") or {}
        if not isinstance(response, str | list):
            response = mapped(response, f"{path}.response")
        text, is_error, extras = read_response(cast(Any, response), f"{path}.response")
        parts: list[Part] = [text] if text else []
        for at, part in enumerate(listed(field(answer, "parts") or [], f"{path}.parts")):
            media = media_in(mapped(part, f"{path}.parts[{at}]"), f"{path}.parts[{at}]")
            if media is None:
                raise Damaged("an answer to a call holds words and media", f"{path}.parts[{at}]")
            parts.append(media)
        content: Content = tuple(parts) if len(parts) > 1 or (parts and not text) else text
        return ToolResult(call_id, name, content, is_error, extras=extras)

    def _answered(self, given: str | None, name: str | None) -> tuple[str, str]:
        """Id and name of the call that an answer is for: by its id, else the first of that name."""
        for at, (call_id, called) in enumerate(self._waiting):
            if given == call_id or (not given and name in (called, None)):
                del self._waiting[at]
                return call_id, called
        return given or self._new_id(), name or "unnamed"


def _content(block: Any, path: str) -> Mapping[str, Any]:
    """A content; the client also takes words and parts where one should be."""
    if isinstance(block, str):
        return {"role": "user", "parts": [block]}
    found = mapped(block, path)
    if "parts" not in found and is_part(found):
        return {"role": "user", "parts": [found]}
    if field(found, "parts") is None and set(found) - {"parts", "role"}:
        raise Damaged("a content has parts", f"{path}.parts")
    return found


def _alone(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """A payload that is no request, if it is one content, or one part of it."""
    if "parts" in payload or is_part(payload):
        return payload
    raise Damaged("neither a content nor a request with contents", "$.contents")


def _words(part: Mapping[str, Any], path: str) -> Part | None:
    try:
        media = media_in(part, path)
    except InvalidValue as fault:
        raise Damaged(str(fault), path) from None
    return text_in(part, "text", path) if media is None else media


def _ids(blocks: list[Mapping[str, Any]]) -> Iterable[str]:
    """The ids that calls have already."""
    for block in blocks:
        parts = field(block, "parts")
        for part in cast("Iterable[Any]", parts) if isinstance(parts, list) else ():
            call = (
                field(cast("Mapping[str, Any]", part), "functionCall") if isinstance(part, Mapping) else None
            )
            call_id = cast("Mapping[str, Any]", call).get("id") if isinstance(call, Mapping) else None
            if isinstance(call_id, str):
                yield call_id
