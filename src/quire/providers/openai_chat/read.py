"""OpenAI Chat Completions: reads replies, streams and histories as items.

Most other services use this wire too, with variations: thoughts are in fields of various names, in blocks or
among the chunks of the content, and calls may lack an id or an index.
"""

from collections import defaultdict
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, cast

from quire.errors import Damaged, cut
from quire.items import Audio, Part
from quire.providers.importers import call_in, chat_messages, thought_in
from quire.providers.media import decode_base64, file_url
from quire.providers.parts import needed_content, part_from, read_content, read_output, short_json
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
from quire.providers.stream import ItemBuilder, ReplyReader, error_text, objects_at
from quire.providers.types import Rendered
from quire.providers.values import Json, entries_in, fields_in, json_text, object_at, text_at, text_in

_STREAMED_FIELDS = ("text", "summary", "thinking")
"""Fields of a block that arrive in pieces."""


# --- a message of the model ------------------------------------------------------------------------------


def _add_reply(message: Json, builder: ItemBuilder, path: str) -> None:
    """Add the thoughts, texts and calls of a message; blocks of its content stay in their order."""
    _add_thoughts(message, builder, path)
    calls = objects_at(message.get("tool_calls"), f"{path}.tool_calls")
    content: Any = message.get("content")
    added_ids: set[str] = set()  # ids of calls that were among the blocks of the content
    if isinstance(content, list):
        content = _add_blocks(entries_in(content), [call for _, call in calls], added_ids, builder, path)
    text, media = read_content(content, f"{path}.content"), _media(message, path)
    texts = (text,) if isinstance(text, str) and text else text
    builder.add_message((*texts, *media) if media else text)
    builder.add_message(text_in(message.get("refusal")))
    for place, call in calls:
        if text_in(call.get("id")) not in added_ids:
            _add_call(call, builder, place)


def _add_thoughts(message: Json, builder: ItemBuilder, path: str) -> None:
    """Add the thoughts and signatures in the fields of a message, which its service may want back."""
    fields: Json = {name: text for name in THOUGHT_FIELDS if (text := text_in(message.get(name)))}
    fields |= {name: blocks for name in BLOCK_FIELDS if (blocks := entries_in(message.get(name)))}
    fields |= _signatures(message)
    if fields:
        builder.add_thoughts([fields], path)


def _add_blocks(
    content: list[Any], calls: list[Json], added_ids: set[str], builder: ItemBuilder, path: str
) -> list[Any]:
    """Add the blocks up to the last thought or call among them; return the blocks after it."""
    rest: list[Any] = []
    for value in content:
        block = fields_in(value)
        call, thought = call_in(block), thought_in(block)
        if call is None and thought is None:
            rest.append(value)
            continue
        builder.add_message(read_content(rest, f"{path}.content"))
        rest = []
        if thought is not None:
            _add_thought(thought, builder, path)
        elif call is not None and call["id"] not in added_ids:
            call_id = call["id"]
            added_ids.add(call_id)
            matches = [field for field in calls if field.get("id") == call_id]
            _add_call(matches[0] if matches else call, builder, path)
    return rest


def _add_thought(block: Json, builder: ItemBuilder, path: str) -> None:
    text = text_in(block.get("thinking"))
    if block.get("signature") == "":
        builder.add_reasoning(text, builder.pack_state([{THOUGHT_FIELDS[0]: text}] if text else (), path))
    else:
        builder.add_reasoning(text, pack(ANTHROPIC, builder.model, [block], path=path))


def _add_call(call: Json, builder: ItemBuilder, path: str) -> None:
    if custom := fields_in(call.get("custom")):  # a custom tool, which is sent back as a function
        call = {**call, "name": custom.get("name"), "args": {"input": custom.get("input")}}
    # LangChain puts the name and the arguments beside the id.
    function = call if "name" in call else object_at(call.get("function"), f"{path}.function")
    raw = _signatures(call) or _signatures(function)
    state = builder.pack_state([raw], path) if raw else None
    arguments = function.get("arguments", function.get("args"))
    builder.add_call(call.get("id"), function.get("name"), arguments, path, state)


def _signatures(fields: Json) -> Json:
    """The fields of a message or a call that contain a signature, at any depth."""
    names = [name for name in SIGNATURE_FIELDS if name in fields]
    return {name: fields[name] for name in names if "thought_signature" in str(fields_in(fields[name]))}


def _media(message: Json, path: str) -> list[Part]:
    """The model's speech and images (OpenRouter, LiteLLM), which are beside the content."""
    parts: list[Part] = []
    audio = fields_in(message.get("audio"))
    transcript = text_in(audio.get("transcript"))
    if audio and (data := decode_base64(text_in(audio.get("data")))):
        parts.append(Audio(data=data, transcript=transcript or None))
    elif transcript:
        parts.append(transcript)
    elif audio and (address := file_url(OPENAI, audio.get("id"))):  # a history may have only the id
        parts.append(Audio(url=address))
    for index, value in enumerate(entries_in(message.get("images"))):
        part = part_from(fields_in(fields_in(value).get("image_url")).get("url"), family="image")
        parts.append(short_json(value, f"{path}.images[{index}]") if part is None else part)
    return parts


# --- a reply ---------------------------------------------------------------------------------------------


def chunk_of(event: Any) -> Any | None:
    """The chunk in an event of `client.chat.completions.stream`; None for an event without a chunk."""
    kind = _field(event, "type")
    if kind == "chunk":
        return _field(event, "chunk") or event
    derived = ("content.", "refusal.", "logprobs.", "tool_calls.")
    return None if isinstance(kind, str) and kind.startswith(derived) else event


def _field(event: Any, name: str) -> Any:
    return cast("Any", event).get(name) if isinstance(event, Mapping) else getattr(event, name, None)


class ChatReader(ReplyReader):
    """Joins chunks into one message. It reads only the first choice."""

    wire = OPENAI

    def __init__(self, sent: Rendered | None = None, model: str | None = None) -> None:
        super().__init__(sent, model)
        self._message: Json = {}
        self._texts = defaultdict[str, list[str]](list)  # pieces of content, refusal and thoughts, by field
        self._calls: list[Json] = []
        self._calls_by_key: dict[int | str, Json] = {}  # by index, else by id

    def feed(self, event: Any) -> str:
        chunk = chunk_of(event)
        return "" if chunk is None and event is not None else super().feed(chunk)

    def read_whole(self, body: Json) -> None:
        choices = objects_at(body.get("choices"), "$.choices")
        choice = choices[0][1] if choices else {}
        self._read_metadata(body, choice)
        if not choices:
            raise Damaged("the response has no choices", "$.choices")
        self._message = object_at(choice.get("message"), "$.choices[0].message")

    def read_event(self, event: Json) -> str:
        choices = [object_at(choice, "$.choices[0]") for choice in entries_in(event.get("choices"))]
        choice = next((choice for choice in choices if not choice.get("index")), Json())
        self._read_metadata(event, choice)
        return self._read_delta(object_at(choice.get("delta") or {}, "$.choices[0].delta"))

    def _read_metadata(self, body: Json, choice: Json) -> None:
        """Read what is beside the message of a response or a chunk: model, finish reason, error, usage."""
        self.model = text_in(body.get("model")) or self.model
        self.finish_reason = text_in(choice.get("finish_reason")) or self.finish_reason
        self.error = error_text(choice.get("error")) or self.error
        self.add_usage(body.get("usage") or choice.get("usage"))  # OpenAI, Moonshot

    def _read_delta(self, delta: Json) -> str:
        path, content = "$.choices[0].delta", delta.get("content")
        if isinstance(content, str) and len(delta) == 1:
            self._texts["content"].append(content)
            return content
        texts = {name: text_in(delta.get(name)) for name in ("refusal", *THOUGHT_FIELDS)}
        texts["content"] = self._read_content(content, f"{path}.content")
        texts["content"] += text_in(fields_in(delta.get("audio")).get("transcript"))
        for name, text in texts.items():
            if text:
                self._texts[name].append(text)
        for name in BLOCK_FIELDS:
            for _, block in objects_at(delta.get(name), f"{path}.{name}"):
                _join_block(self._message.setdefault(name, []), block)
        self._message |= _signatures(delta)
        if images := entries_in(delta.get("images")):
            self._message.setdefault("images", []).extend(images)
        for place, piece in objects_at(delta.get("tool_calls"), f"{path}.tool_calls"):
            self._read_call(piece, place)
        return texts["content"] + texts["refusal"]

    def _read_content(self, content: Any, path: str) -> str:
        """The text of a piece of the content; thoughts among its chunks (Mistral) are stored as thoughts."""
        if content is None or isinstance(content, str):
            return content or ""
        text = ""
        for place, chunk in objects_at(content, path):
            if thought := thought_in(chunk):
                self._texts[THOUGHT_FIELDS[0]].append(text_in(thought.get("thinking")))
            elif chunk.get("type") == "text":
                text += text_at(chunk, "text", place)
            else:
                text += short_json(chunk, place)
        return text

    def _read_call(self, piece: Json, path: str) -> None:
        function = object_at(piece.get("function") or {}, f"{path}.function")
        name, arguments = text_in(function.get("name")), function.get("arguments")
        call = self._call_of(piece, name, path)
        call |= {**_signatures(function), **_signatures(piece)}
        joined: Json = call.setdefault("function", {"name": "", "arguments": ""})
        joined["name"] += name if name != joined["name"] else ""  # some services repeat it
        text = json_text(arguments, path) if not isinstance(arguments, str | None) else arguments or ""
        # Some services send an empty object first (microsoft/autogen#6843).
        joined["arguments"] = text if text and joined["arguments"] == "{}" else joined["arguments"] + text

    def _call_of(self, piece: Json, name: str, path: str) -> Json:
        """The call of a piece, found by its index, else by its id; a piece with a name may begin a call."""
        index, wire_id = piece.get("index"), text_in(piece.get("id"))
        wire_id = "" if wire_id == "null" else wire_id  # Mistral writes "null" for no id
        key = index if isinstance(index, int) else wire_id
        call = self._calls_by_key.get(key)
        # Some services send the same index for all calls (ollama/ollama#15457, ai-dynamo/dynamo#4723).
        if call is None or (wire_id and name and call["id"] not in ("", wire_id)):
            if key == "" and not name:
                raise Damaged("a piece of a call must have an index or an id", path)
            call = {"id": wire_id}
            self._calls.append(call)
            if key != "":
                self._calls_by_key[key] = call
        call["id"] = call["id"] or wire_id
        return call

    def build_items(self) -> None:
        message = self._message | {name: "".join(pieces) for name, pieces in self._texts.items()}
        if self._calls:
            message["tool_calls"] = self._calls
        self.is_refusal = bool(message.get("refusal"))
        _add_reply(message, self.builder, "$.choices[0].message")


def _join_block(joined: list[Json], piece: Json) -> None:
    """Add a piece to the last block if type and index are equal and it is not signed; else as a new block."""
    last = joined[-1] if joined else {}
    is_same = all(last.get(name) == piece.get(name) for name in ("type", "index"))
    has_text = not piece.keys().isdisjoint((*_STREAMED_FIELDS, "signature"))
    if not joined or not is_same or last.get("signature") or not has_text:
        joined.append(deepcopy(piece))
        return
    for name, value in piece.items():
        known = last.get(name)
        if name in _STREAMED_FIELDS and isinstance(known, str) and isinstance(value, str):
            last[name] = known + value
        elif value is not None:
            last[name] = value


# --- a history -------------------------------------------------------------------------------------------


def add_history(body: Json, builder: ItemBuilder) -> None:
    """Add the messages of a payload, also those of LangChain and the AI SDK."""
    for path, message in objects_at(body["messages"], "$.messages"):
        for chat_message in chat_messages(message, path):
            _add_message(chat_message, builder, path)


def _add_message(message: Json, builder: ItemBuilder, path: str) -> None:
    role: Any = message.get("role")
    if role == "assistant":
        builder.begin_reply()
        _add_reply(message, builder, path)
    elif role == "tool":
        _add_result(message, builder, path)
    elif role in ("system", "developer", "user"):
        if message.get("images"):
            raise Damaged("images must be in the content", f"{path}.images")
        name = text_in(message.get("name"))
        state = pack(OPENAI, ANY_MODEL, [{"name": name}]) if name else None
        builder.add_input(role, needed_content(message, path), state)
    else:
        raise Damaged(f"no such role: {cut(text_in(role))!r}", f"{path}.role")


def _add_result(message: Json, builder: ItemBuilder, path: str) -> None:
    wire_id = message.get("tool_call_id")
    if not isinstance(wire_id, str | None):
        raise Damaged("the id of a call must be text", f"{path}.tool_call_id")
    content, is_error = without_failure(read_output(message.get("content"), f"{path}.content"))
    has_failed = is_error or message.get("status") == "error"  # LangChain
    builder.add_result(wire_id or "", text_in(message.get("name")), content, has_failed)
