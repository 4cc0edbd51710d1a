"""OpenAI Chat Completions: replies, streams and histories as items.

Most other services speak this wire too, each in its own way: thoughts stand in fields of several names, in
blocks or among the chunks of the content, and calls may lack an id or an index.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, cast

from quire.errors import Damaged, cut
from quire.items import Audio, Item, Message, Part, Reasoning
from quire.providers.importers import blocks, messages
from quire.providers.media import file_address, part_from
from quire.providers.openai_chat.content import (
    read_bytes,
    read_content,
    read_output,
    text_or_blocks,
)
from quire.providers.rules import without_failure
from quire.providers.state import (
    ANTHROPIC,
    ANY_MODEL,
    BLOCK_FIELDS,
    OPENAI,
    SIGNATURE_FIELDS,
    THOUGHT_FIELDS,
    pack,
)
from quire.providers.stream import (
    Items,
    ReplyReader,
    content_from,
    error_text,
    join_arguments,
    plain_history,
    short_json,
)
from quire.providers.types import Answer
from quire.providers.values import (
    Json,
    entries_in,
    fields_in,
    json_text,
    list_at,
    object_at,
    text_at,
    text_in,
)

_LEGACY_ID = "function_call"
"""The id of a call from before calls had ids."""

_FLOWING = ("text", "summary", "thinking")
"""Fields of a block that arrive in pieces."""


# --- a message of the model as items ---------------------------------------------------------------------


def _add_reply(message: Json, made: Items, path: str) -> None:
    """Add what the model thought, said and called in a message; blocks of its content stay in their order."""
    _add_thoughts(message, made, path)
    calls = [object_at(call, path) for call in list_at(message.get("tool_calls"), f"{path}.tool_calls")]
    content: Any = message.get("content")
    placed: set[str] = set()  # ids of calls that stand among the blocks of the content
    if isinstance(content, list):
        content = _add_blocks(entries_in(content), calls, placed, made, path)
    made.say(read_content(content, f"{path}.content"))
    made.say(text_in(message.get("refusal")))
    _add_media(message, made, path)
    for index, call in enumerate(calls):
        if text_in(call.get("id")) not in placed:
            _add_call(call, made, f"{path}.tool_calls[{index}]")
    if message.get("function_call") is not None:
        _add_call({"id": _LEGACY_ID, "function": message["function_call"]}, made, path)


def _add_thoughts(message: Json, made: Items, path: str) -> None:
    """Add thoughts and signatures in the fields of a message, which its service may want back."""
    fields: Json = {name: text for name in THOUGHT_FIELDS if (text := text_in(message.get(name)))}
    fields |= {name: found for name in BLOCK_FIELDS if (found := entries_in(message.get(name)))}
    fields |= _signatures(message)
    chunks = [chunk for chunk in entries_in(message.get("content")) if _is_thinking_chunk(chunk)]
    fields |= {"content": chunks} if chunks else {}
    if fields:
        made.think([fields], path)


def _add_blocks(content: list[Any], calls: list[Json], placed: set[str], made: Items, path: str) -> list[Any]:
    """Add thoughts and calls among blocks, as libraries keep them; returns the blocks after the last one."""
    rest: list[Any] = []
    for value in content:
        block = fields_in(value)
        call, thought = blocks.call_in(block), _thought(block, made, path)
        if call is None and thought is None:
            rest += [] if _is_thinking_chunk(block) else [value]
            continue
        made.say(read_content(rest, f"{path}.content"))
        rest = []
        if thought is not None:
            made.all.append(thought)
        elif call is not None and call["id"] not in placed:
            placed.add(call["id"])
            _add_call(next((one for one in calls if one.get("id") == call["id"]), call), made, path)
    return rest


def _thought(block: Json, made: Items, path: str) -> Reasoning | None:
    raw = blocks.thought_in(block)
    if raw is None:
        return None
    text = text_in(raw.get("thinking"))
    if raw.get("signature") == "":
        return Reasoning(text, made.state([{THOUGHT_FIELDS[0]: text}] if text else (), path))
    return Reasoning(text, pack(ANTHROPIC, made.model, [raw], path=path))


def _add_media(message: Json, made: Items, path: str) -> None:
    """Add sound and images that stand beside the content of a message to it."""
    parts = _images(message, path)
    if message.get("audio") is not None:
        parts = [*_spoken(object_at(message["audio"], f"{path}.audio"), f"{path}.audio"), *parts]
    last = made.all[-1] if made.all else None
    if parts and isinstance(last, Message) and last.role == "assistant" and message.get("content"):
        made.all[-1] = Message("assistant", (*last.parts, *parts))
    else:
        made.say(content_from(parts))


def _add_call(call: Json, made: Items, path: str) -> None:
    if call.get("type") == "custom":
        function = object_at(call.get("custom"), f"{path}.custom")
        state = pack(OPENAI, ANY_MODEL, [{"type": "custom"}])
        made.call(call.get("id"), function.get("name"), {"input": function.get("input")}, path, state)
        return
    # LangChain keeps all of a call in one object.
    function = call if "name" in call else object_at(call.get("function"), f"{path}.function")
    raw = _signatures(call) or _signatures(function)
    given = function.get("arguments", function.get("args"))
    made.call(call.get("id"), function.get("name"), given, path, made.state([raw], path) if raw else None)


def _is_thinking_chunk(block: Any) -> bool:
    """Whether a block is a chunk of Mistral's thoughts, which holds a list of texts."""
    fields = fields_in(block)
    return fields.get("type") == "thinking" and isinstance(fields.get("thinking"), list)


def _signatures(holder: Json) -> Json:
    """The fields of a message or a call that hold a signature, in an object of a provider or without one."""
    held = [name for name in SIGNATURE_FIELDS if name in holder]
    return {name: holder[name] for name in held if "thought_signature" in str(fields_in(holder[name]))}


def _spoken(audio: Json, path: str) -> list[Part]:
    """Sound that the model made; only its id may be left of it in a history."""
    transcript = text_in(audio.get("transcript")) or None
    if data := text_in(audio.get("data")):
        return [Audio(data=read_bytes(data, f"{path}.data"), transcript=transcript)]
    address = file_address(OPENAI, audio.get("id"))
    if transcript or address is None:
        return [transcript] if transcript else []
    return [Audio(url=address)]


def _images(message: Json, path: str) -> list[Part]:
    """Images beside a content: drawn by a model (OpenRouter, LiteLLM), or shown to one (Ollama)."""
    parts: list[Part] = []
    for index, value in enumerate(entries_in(message.get("images"))):
        place, fields = f"{path}.images[{index}]", fields_in(value)
        source = fields_in(fields.get("image_url")).get("url") or fields.get("b64_json") or fields.get("url")
        part = part_from(source or value, family="image")
        parts.append(short_json(value, place) if part is None else part)
    return parts


# --- a reply ---------------------------------------------------------------------------------------------


def chunk_of(event: Any) -> Any | None:
    """The chunk that an event of `client.chat.completions.stream` carries; None for an event without one."""
    kind = _field(event, "type")
    if kind == "chunk":
        return _field(event, "chunk") or event
    beside = ("content.", "refusal.", "logprobs.", "tool_calls.")
    return None if isinstance(kind, str) and kind.startswith(beside) else event


def _field(event: Any, name: str) -> Any:
    return cast("Any", event).get(name) if isinstance(event, Mapping) else getattr(event, name, None)


class ChatReader(ReplyReader):
    """Joins chunks to one message; of several choices the first."""

    wire, expected = OPENAI, "a chunk of Chat Completions"

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._message: Json = {}
        self._texts: dict[str, list[str]] = {}  # refusal and thoughts
        self._audio: dict[str, list[str]] = {}
        self._content: list[str | Json] = []
        self._calls: list[Json] = []
        self._places: dict[int | str, Json] = {}

    def feed(self, event: Any) -> str:
        chunk = chunk_of(event)
        return "" if chunk is None and event is not None else super().feed(chunk)

    def knows(self, event: Json) -> bool:
        return "choices" in event

    def take_whole(self, body: Json) -> None:
        choices = list_at(body.get("choices"), "$.choices")
        choice = object_at(choices[0], "$.choices[0]") if choices else {}
        self._take_beside(body, choice)
        if not choices:
            raise Damaged("the response has no choices", "$.choices")
        self._message = object_at(choice.get("message"), "$.choices[0].message")

    def take(self, event: Json) -> str:
        choices = [object_at(choice, "$.choices[0]") for choice in list_at(event.get("choices"), "$.choices")]
        choice = next((choice for choice in choices if not choice.get("index")), Json())
        self._take_beside(event, choice)
        return self._take_delta(object_at(choice.get("delta") or {}, "$.choices[0].delta"))

    def _take_beside(self, body: Json, choice: Json) -> None:
        """Take what stands beside the message of a response or a chunk."""
        self.model = text_in(body.get("model")) or self.model
        self.reason = text_in(choice.get("finish_reason")) or self.reason
        self.error = error_text(choice.get("error")) or self.error
        for holder in (fields_in(body.get("x_groq")), body, choice):  # Groq, OpenAI, Moonshot
            self.count(holder.get("usage"))

    def _take_delta(self, delta: Json) -> str:
        path, content = "$.choices[0].delta", delta.get("content")
        if isinstance(content, str) and content and len(delta) == 1:
            self._content.append(content)
            return content
        pieces: list[Any] = [content] if isinstance(content, str) else list_at(content, f"{path}.content")
        pieces = [_text_or_chunk(piece, f"{path}.content") for piece in pieces if piece != ""]
        self._content += pieces
        for name in ("refusal", *THOUGHT_FIELDS):
            if text := text_in(delta.get(name)):
                self._texts.setdefault(name, []).append(text)
        for name in BLOCK_FIELDS:
            for block in list_at(delta.get(name), f"{path}.{name}"):
                _join_block(self._message.setdefault(name, []), object_at(block, f"{path}.{name}"))
        self._message |= _signatures(delta)
        if images := entries_in(delta.get("images")):
            self._message.setdefault("images", []).extend(images)
        for name, piece in fields_in(delta.get("audio")).items():
            if isinstance(piece, str):
                self._audio.setdefault(name, []).append(piece)
        for piece in list_at(delta.get("tool_calls"), f"{path}.tool_calls"):
            self._take_call(object_at(piece, f"{path}.tool_calls"), f"{path}.tool_calls")
        if function := delta.get("function_call"):
            self._take_call({"index": -1, "id": _LEGACY_ID, "function": function}, f"{path}.function_call")
        return "".join(piece for piece in pieces if isinstance(piece, str)) + text_in(delta.get("refusal"))

    def _take_call(self, piece: Json, path: str) -> None:
        """Take a piece of a call."""
        kind, held = ("custom", "input") if piece.get("custom") else ("function", "arguments")
        function = object_at(piece.get(kind) or {}, f"{path}.{kind}")
        name, given = text_in(function.get("name")), function.get(held)
        call = self._call_of(piece, name, path)
        call |= {"type": kind, **_signatures(function), **_signatures(piece)}
        whole: Json = call.setdefault(kind, {"name": "", held: ""})
        whole["name"] += name if name != whole["name"] else ""  # some services repeat it
        text = given if isinstance(given, str) else "" if given is None else json_text(given, path)
        whole[held] = join_arguments(whole[held], text)

    def _call_of(self, piece: Json, name: str, path: str) -> Json:
        """The call that a piece names by its index, else by its id; a piece with a name may begin a call."""
        index, wire_id = piece.get("index"), text_in(piece.get("id"))
        wire_id = "" if wire_id == "null" else wire_id  # as Mistral writes that there is none
        key = index if isinstance(index, int) else wire_id
        call = self._places.get(key)
        # Some services give all calls one index (ollama/ollama#15457, ai-dynamo/dynamo#4723).
        if call is None or (wire_id and name and call["id"] not in ("", wire_id)):
            if key == "" and not name:
                raise Damaged("a piece of a call has an index or an id", path)
            call = {"id": wire_id}
            self._calls.append(call)
            self._places |= {key: call} if key != "" else {}
        call["id"] = call["id"] or wire_id
        return call

    def make_items(self) -> None:
        message = self._message | {name: "".join(pieces) for name, pieces in self._texts.items()}
        if self._audio:
            message["audio"] = {name: "".join(pieces) for name, pieces in self._audio.items()}
        if self._content:
            message["content"] = _joined(self._content)
        if self._calls:
            message["tool_calls"] = [call for call in self._calls if call[call["type"]]["name"]]
            self.has_half_call = len(message["tool_calls"]) < len(self._calls)
        self.is_refusal = bool(message.get("refusal"))
        _add_reply(message, self.made, "$.choices[0].message")


def _text_or_chunk(piece: Any, path: str) -> str | Json:
    """A piece of a content: a text, or a chunk of Mistral's reasoning models."""
    if isinstance(piece, str):
        return piece
    chunk = object_at(piece, path)
    return text_at(chunk, "text", path) if chunk.get("type") == "text" else chunk


def _joined(pieces: list[str | Json]) -> list[Json]:
    found: list[Json] = []
    texts: list[str] = []
    for piece in (*pieces, {}):
        if isinstance(piece, str):
            texts.append(piece)
            continue
        if texts:
            found.append({"type": "text", "text": "".join(texts)})
            texts = []
        if piece:
            _join_block(found, piece)
    return found


def _join_block(joined: list[Json], piece: Json) -> None:
    """Add a piece of a block: it goes on with a block of its kind and index, up to a signature."""
    last = joined[-1] if joined else {}
    flows = [name for name in _FLOWING if name in piece]
    is_same = all(last.get(name) == piece.get(name) for name in ("type", "index"))
    if not is_same or last.get("signature") or not (flows or "signature" in piece):
        joined.append(deepcopy(piece))
        return
    for name, value in piece.items():
        if name in flows and isinstance(value, str):
            last[name] = text_in(last.get(name)) + value
        elif name in flows and isinstance(value, list):
            for inner in map(fields_in, entries_in(value)):
                _join_block(last[name], inner)
        elif value is not None:
            last[name] = value


# --- a history -------------------------------------------------------------------------------------------


def read_history(payload: Any, *, model: str | None = None) -> list[Item]:
    """A list of messages, or a payload that has one, as items; also messages of LangChain and the AI SDK."""
    body = plain_history(payload, "messages")
    if body.get("messages") is None:
        raise Damaged("the payload has no messages", "$.messages")
    made = Items(OPENAI, Answer(model or text_in(body.get("model"))), is_history=True)
    for index, message in enumerate(list_at(body["messages"], "$.messages")):
        path = f"$.messages[{index}]"
        for one in messages.chat_messages(object_at(message, path), path):
            _add_message(one, made, path)
    return made.all


def _add_message(message: Json, made: Items, path: str) -> None:
    messages.refuse_ui_message(message, path)
    role: Any = message.get("role")
    if role == "assistant":
        thoughts = text_in(message.get("thinking"))  # Ollama
        _add_reply({THOUGHT_FIELDS[0]: thoughts, **message} if thoughts else message, made, path)
    elif role in ("tool", "function"):
        _add_result(message, made, path)
    elif role in ("system", "developer", "user"):
        images = _images(message, path)
        held = message.get("content") if images else text_or_blocks(message, path)
        content = read_content(held, f"{path}.content")
        if images:
            content = (*((content,) if isinstance(content, str) and content else ()), *images)
        name = text_in(message.get("name"))
        state = pack(OPENAI, ANY_MODEL, [{"name": name}]) if name else None
        made.hear(role, content, state)
    else:
        raise Damaged(f"no such role: {cut(text_in(role))!r}", f"{path}.role")


def _add_result(message: Json, made: Items, path: str) -> None:
    wire_id = _LEGACY_ID if message["role"] == "function" else message.get("tool_call_id")
    if not isinstance(wire_id, str | None):
        raise Damaged("the id of a call is text", f"{path}.tool_call_id")
    content, is_error = without_failure(read_output(message.get("content"), f"{path}.content"))
    name = message.get("name") or message.get("tool_name")  # Ollama
    made.result(wire_id, name, content, is_error or message.get("status") == "error")  # LangChain
