"""OpenAI Chat Completions: replies, streams and histories as items.

Most other services speak this wire too, each in its own way: thoughts stand in fields of several names, in
blocks or among the chunks of the content, and calls may lack an id or an index.
"""

from collections.abc import Mapping
from typing import Any, cast

from quire.errors import Damaged, cut
from quire.items import (
    Audio,
    Item,
    Message,
    Part,
    Reasoning,
    ToolCall,
    ToolResult,
)
from quire.providers.importers import ai_sdk, langchain
from quire.providers.media import file_address, part_from
from quire.providers.openai_chat.content import (
    anthropic_thought,
    read_bytes,
    read_content,
    read_image,
    read_output,
    read_usage,
    text_or_blocks,
)
from quire.providers.profiles import is_claude
from quire.providers.rules import without_failure
from quire.providers.state import (
    ANTHROPIC,
    ANY_MODEL,
    BLOCK_FIELDS,
    OPENAI,
    SIGNATURE_FIELDS,
    THOUGHT_FIELDS,
    blocks_text,
    made_by,
    pack,
)
from quire.providers.stream import (
    CallIds,
    StreamErrors,
    TextPieces,
    arguments_text,
    content_from,
    error_in,
    error_text,
    finish_of,
    finished,
    join_arguments,
    short_json,
)
from quire.providers.types import Answer, Parsed
from quire.providers.values import (
    Json,
    entries_in,
    fields_in,
    json_text,
    list_at,
    object_at,
    plain_json,
    text_at,
    text_in,
)
from quire.tokens import Usage

_LEGACY_ID = "function_call"
"""The id of a call from before calls had ids."""

_SIGNATURE_IN_ID = "__thought__"
"""LiteLLM puts the signature of a call behind this mark in its id."""


# --- a message of the model as items ---------------------------------------------------------------------


class _Maker:
    """Makes items of messages of the model."""

    def __init__(self, answer: Answer, model: str, ids: CallIds) -> None:
        self._answer = answer
        self._model = answer.model or model
        self._ids = ids

    def items(self, message: Json, path: str) -> list[Item]:
        """What the model thought, said and called in a message; blocks of its content stay in their order."""
        thoughts = self._thoughts(message, path)
        items: list[Item] = [] if thoughts is None else [thoughts]
        calls = [object_at(call, path) for call in list_at(message.get("tool_calls"), f"{path}.tool_calls")]
        made: dict[str, ToolCall] = {}
        rest: Any = message.get("content")
        if isinstance(rest, list | tuple):
            blocks = [block for block in cast("list[Any]", rest) if not _is_thinking_chunk(block)]
            rest = []
            for block in blocks:
                item = self._block_item(fields_in(block), calls, made, path)
                if item is None:
                    rest.append(block)
                elif item not in items:
                    items += [*self._said(rest, path), item]
                    rest = []
        items += self._said(rest, path)
        items += self._beside(message, path, items)
        for index, call in enumerate(calls):
            if text_in(call.get("id")) not in made:
                items.append(self._call(call, f"{path}.tool_calls[{index}]"))
        if message.get("function_call") is not None:
            function = object_at(message["function_call"], f"{path}.function_call")
            items.append(self._call({"id": _LEGACY_ID, "function": function}, path))
        return items

    def _said(self, content: Any, path: str) -> list[Item]:
        said = read_content(content, f"{path}.content")
        return [Message("assistant", said)] if said else []

    def _beside(self, message: Json, path: str, items: list[Item]) -> list[Item]:
        """What stands beside the content: a refusal, sound, and images of gateways."""
        found: list[Item] = []
        if refusal := text_in(message.get("refusal")):
            found.append(Message("assistant", refusal))
        parts: list[Part] = []
        if message.get("audio") is not None:
            parts += _spoken(object_at(message["audio"], f"{path}.audio"), f"{path}.audio")
        parts += _images(message, path)
        if not parts:
            return found
        if items and isinstance(last := items[-1], Message):
            items[-1] = Message("assistant", (*last.parts, *parts))
            return found
        return [*found, Message("assistant", content_from(parts))]

    def _thoughts(self, message: Json, path: str) -> Reasoning | None:
        """Thoughts and signatures in the fields of a message, which its service may want back."""
        fields: Json = {name: text for name in THOUGHT_FIELDS if (text := text_in(message.get(name)))}
        fields |= {name: blocks for name in BLOCK_FIELDS if (blocks := entries_in(message.get(name)))}
        fields |= _signatures(message)
        chunks = [chunk for chunk in entries_in(message.get("content")) if _is_thinking_chunk(chunk)]
        fields |= {"content": chunks} if chunks else {}
        if not fields:
            return None
        state = made_by(OPENAI, self._answer, self._model, [fields], path)
        return Reasoning(blocks_text(OPENAI, [fields]), state)

    def _block_item(
        self, block: Json, calls: list[Json], made: dict[str, ToolCall], path: str
    ) -> Item | None:
        """The thought or the call that a block of a content stands for, as libraries keep them."""
        if (foreign := anthropic_thought(block, self._model, path)) is not None:
            return foreign
        if (thought := langchain.thought_in(block)) is not None:
            return self._thought(*thought, path)
        call = langchain.call_in(block)
        if call is None:
            return None
        if call["id"] not in made:
            listed = next((one for one in calls if one.get("id") == call["id"]), call)
            made[call["id"]] = self._call(listed, path)
        return made[call["id"]]

    def _thought(self, text: str, signature: str, path: str) -> Reasoning:
        if signature and is_claude(self._model):
            raw = {"type": "thinking", "thinking": text, "signature": signature}
            return Reasoning(text, pack(ANTHROPIC, self._model, [raw], path=path))
        fields = [{THOUGHT_FIELDS[0]: text}] if text and not signature else []
        return Reasoning(text, made_by(OPENAI, self._answer, self._model, fields, path))

    def _call(self, call: Json, path: str) -> ToolCall:
        raw = _signatures(call) or _signatures(fields_in(call.get("function")))
        wire_id = call.get("id")
        if not isinstance(wire_id, str | None):
            raise Damaged("the id of a call is text", f"{path}.id")
        signature = (wire_id or "").partition(_SIGNATURE_IN_ID)[2]
        if signature and not raw:
            raw = {SIGNATURE_FIELDS[1]: {"thought_signature": signature}}
        state = made_by(OPENAI, self._answer, self._model, [raw], path) if raw else None
        if call.get("type") == "custom":
            function = object_at(call.get("custom"), f"{path}.custom")
            given: Any = {"input": function.get("input")}
            state = pack(OPENAI, ANY_MODEL, [{"type": "custom"}])
        else:
            # LangChain keeps all of a call in one object.
            function = (
                call
                if isinstance(call.get("name"), str)
                else object_at(call.get("function"), f"{path}.function")
            )
            given = function.get("arguments", function.get("args"))
        tool = self._answer.tool(text_at(function, "name", path))
        if not tool:
            raise Damaged("a call has a name", f"{path}.name")
        arguments = arguments_text(self._answer, tool, given, path)
        return ToolCall(self._ids.give(wire_id, tool), tool, arguments, state)


def _is_thinking_chunk(block: Any) -> bool:
    """Whether a block is a chunk of Mistral's thoughts, which holds a list of texts."""
    fields = fields_in(block)
    return fields.get("type") == "thinking" and isinstance(fields.get("thinking"), list)


def _signatures(holder: Json) -> Json:
    """The fields of a message or a call that hold a signature."""
    return {name: holder[name] for name in SIGNATURE_FIELDS if _is_signed(holder.get(name))}


def _is_signed(value: Any) -> bool:
    fields = fields_in(value)
    return any(
        isinstance(one.get("thought_signature"), str) or entries_in(one.get("thought_signatures"))
        for one in (fields, *map(fields_in, fields.values()))
    )


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
        place = f"{path}.images[{index}]"
        fields: Json = {"b64_json": value} if isinstance(value, str) else object_at(value, place)
        part: Part | None
        try:
            part = read_image(fields, place) if "image_url" in fields else None
        except Damaged:
            part = None
        part = part or part_from(fields.get("b64_json") or fields.get("url"), family="image")
        parts.append(short_json(fields, place) if part is None else part)
    return parts


# --- a whole response ------------------------------------------------------------------------------------


def parse(response: Any, answer: Answer) -> Parsed:
    """A whole response; of several choices the first."""
    body = plain_json(response)
    error, model = error_in(body), text_in(body.get("model"))
    choices = list_at(body.get("choices"), "choices")
    if not choices and error is not None:
        return Parsed((), None, "other", model or None, error)
    if not choices:
        raise Damaged("the response has no choices", "choices")
    choice = object_at(choices[0], "choices[0]")
    message = object_at(choice.get("message"), "choices[0].message")
    error = error or error_text(choice.get("error"))
    return _assembled(message, choice.get("finish_reason"), _usage(body), model, answer, error)


def _assembled(
    message: Json, reason: Any, usage: Usage | None, model: str, answer: Answer, error: str | None
) -> Parsed:
    items = _Maker(answer, model, CallIds()).items(message, "choices[0].message")
    finish = finish_of(OPENAI, reason)
    if finish == "stop" and message.get("refusal"):
        finish = "refused"
    elif finish == "stop" and any(isinstance(item, ToolCall) for item in items):
        finish = "calls"  # some services say that they stopped where they called
    ended = None if reason is None else text_in(reason)
    return finished(items, ended, finish, error, usage=usage, model=model)


def _usage(body: Json) -> Usage | None:
    """The usage of a response or a chunk; Groq has a field of its own in streams."""
    report = body.get("usage") or fields_in(body.get("x_groq")).get("usage")
    return read_usage(report, "prompt_tokens", "completion_tokens")


# --- a stream --------------------------------------------------------------------------------------------


def chunk_of(event: Any) -> Any | None:
    """The chunk that an event of `client.chat.completions.stream` carries; None for an event without one."""
    kind = _field(event, "type")
    if kind == "chunk":
        return _field(event, "chunk") or event
    beside = ("content.", "refusal.", "logprobs.", "tool_calls.")
    return None if isinstance(kind, str) and kind.startswith(beside) else event


def _field(event: Any, name: str) -> Any:
    return cast("Any", event).get(name) if isinstance(event, Mapping) else getattr(event, name, None)


class Stream:
    """Joins chunks to one message; of several choices the first."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._texts: dict[str, list[str]] = {}  # content, refusal and thoughts
        self._chunks: list[Json] = []  # the content of Mistral's reasoning models
        self._audio: dict[str, list[str]] = {}
        self._blocks: dict[str, list[Json]] = {}  # thoughts in blocks
        self._images: list[Any] = []
        self._signatures: Json = {}
        self._calls = _Calls()
        self._reason: Any = None
        self._usage: Usage | None = None
        self._model = ""
        self._errors = StreamErrors("a chunk of Chat Completions")
        self._error: str | None = None
        self._pieces = TextPieces()
        self._parsed: Parsed | None = None

    def feed(self, event: Any) -> str:
        """Take a chunk; returns the text that it added, if any."""
        given = chunk_of(event)
        if given is None:
            return ""
        chunk = plain_json(given)
        self._errors.look(chunk, is_known="choices" in chunk)
        self._model = text_in(chunk.get("model")) or self._model
        self._usage = _usage(chunk) or self._usage
        added = ""
        for value in list_at(chunk.get("choices"), "choices"):
            choice = object_at(value, "choices[0]")
            if not choice.get("index"):
                self._reason = choice.get("finish_reason") or self._reason
                self._error = error_text(choice.get("error")) or self._error
                self._usage = _usage(choice) or self._usage  # where Moonshot has it
                added += self._take(object_at(choice.get("delta") or {}, "choices[0].delta"))
        return self._pieces.next(added)

    def _take(self, delta: Json) -> str:
        path = "choices[0].delta"
        added = self._content(delta.get("content"), f"{path}.content")
        for name in ("refusal", *THOUGHT_FIELDS):
            if text := text_in(delta.get(name)):
                self._texts.setdefault(name, []).append(text)
        for name in BLOCK_FIELDS:
            for block in list_at(delta.get(name), f"{path}.{name}"):
                _join_block(self._blocks.setdefault(name, []), object_at(block, f"{path}.{name}"))
        self._images += entries_in(delta.get("images"))
        self._signatures |= _signatures(delta)
        for name, piece in fields_in(delta.get("audio")).items():
            if isinstance(piece, str):
                self._audio.setdefault(name, []).append(piece)
        for piece in list_at(delta.get("tool_calls"), f"{path}.tool_calls"):
            self._calls.take(object_at(piece, f"{path}.tool_calls"), f"{path}.tool_calls")
        if delta.get("function_call"):
            function = delta["function_call"]
            self._calls.take({"index": -1, "id": _LEGACY_ID, "function": function}, f"{path}.function_call")
        return added + text_in(delta.get("refusal"))

    def _content(self, content: Any, path: str) -> str:
        """Take a piece of the content; returns the text in it."""
        if content is None or isinstance(content, str):
            if content and self._chunks:
                _join_chunk(self._chunks, {"type": "text", "text": content})
            elif content:
                self._texts.setdefault("content", []).append(content)
            return content or ""
        before = "".join(self._texts.pop("content", ()))
        if before:
            self._chunks.append({"type": "text", "text": before})
        added = ""
        for value in list_at(content, path):
            chunk = {"type": "text", "text": value} if isinstance(value, str) else object_at(value, path)
            _join_chunk(self._chunks, chunk)
            added += text_at(chunk, "text", path) if chunk.get("type") == "text" else ""
        return added

    def close(self) -> Parsed:
        """The answer so far; an answer that did not come to its end is marked as interrupted."""
        if self._parsed is None:
            message: Json = {name: "".join(pieces) for name, pieces in self._texts.items()}
            if self._chunks:
                message["content"] = self._chunks
            if self._audio:
                message["audio"] = {name: "".join(pieces) for name, pieces in self._audio.items()}
            message |= {**self._blocks, **self._signatures, "images": self._images}
            message["tool_calls"] = self._calls.named()
            error = self._errors.error or self._error
            parsed = _assembled(message, self._reason, self._usage, self._model, self._answer, error)
            if parsed.error is None and self._reason and self._calls.has_nameless():
                parsed = parsed._replace(finish="other", error="a call arrived without a name")
            self._parsed = parsed._replace(error=parsed.error or self._errors.unknown())
        return self._parsed


class _Calls:
    """The calls of a stream. A piece names its call by index, else by id, else it goes on with the last."""

    def __init__(self) -> None:
        self._all: list[Json] = []
        self._places: dict[int, Json] = {}
        self._ids: dict[str, Json] = {}

    def take(self, piece: Json, path: str) -> None:
        index, wire_id = piece.get("index"), text_in(piece.get("id"))
        wire_id = "" if wire_id == "null" else wire_id  # as Mistral writes that there is none
        kind = "custom" if piece.get("custom") else "function"
        function = object_at(piece.get(kind) or {}, f"{path}.{kind}")
        name = text_in(function.get("name"))
        call = self._find(index, wire_id, name, path)
        call["id"] = call["id"] or wire_id
        if wire_id:
            self._ids[wire_id] = call
        call |= _signatures(function) | _signatures(piece)
        if kind == "custom":
            call["type"] = kind
        call["name"] += name if name != call["name"] else ""  # some services repeat it with each piece
        given = function.get("input" if kind == "custom" else "arguments")
        text = given if isinstance(given, str) else "" if given is None else json_text(given, path)
        call["given"] = call["given"] + text if kind == "custom" else join_arguments(call["given"], text)

    def _find(self, index: Any, wire_id: str, name: str, path: str) -> Json:
        call: Json | None
        if isinstance(index, int):
            call = self._places.get(index)
            if call is not None and name and _is_other(call, wire_id, name):
                call = None
        elif wire_id in self._ids:
            call = self._ids[wire_id]
        elif name:
            call = None
        elif self._all:
            call = self._all[-1]  # some leave out index and id (ollama/ollama#7881)
        else:
            raise Damaged("a piece of a call has an index or an id", path)
        if call is None:
            call = {"type": "function", "id": "", "name": "", "given": ""}
            self._all.append(call)
            if isinstance(index, int):
                self._places[index] = call
        return call

    def named(self) -> list[Json]:
        """The calls as a message has them."""
        return [_message_call(call) for call in self._all if call["name"]]

    def has_nameless(self) -> bool:
        """Whether there is a call of which nobody knows the tool."""
        return any(not call["name"] and (call["id"] or call["given"]) for call in self._all)


def _is_other(call: Json, wire_id: str, name: str) -> bool:
    """Whether a piece with a name begins another call: some services give all calls one index.

    Sources: ollama/ollama#15457, ai-dynamo/dynamo#4723.
    """
    has_other_id = wire_id and call["id"] not in ("", wire_id)
    return bool(has_other_id or (call["given"] and name != call["name"]))


def _message_call(call: Json) -> Json:
    held = "input" if call["type"] == "custom" else "arguments"
    function = {"name": call["name"], held: call["given"]}
    rest = {name: value for name, value in call.items() if name not in ("name", "given")}
    return {**rest, call["type"]: function}


def _join_block(blocks: list[Json], piece: Json) -> None:
    """Add a piece of a thought in blocks: text goes on with text of its kind, all else is a new block."""
    last = blocks[-1] if blocks else {}
    same = all(last.get(name) == piece.get(name) for name in ("type", "index"))
    flowing = next(
        (name for name in ("text", "summary", "thinking") if isinstance(piece.get(name), str)), None
    )
    if not blocks or not same or (flowing or "signature") not in {*last, "signature"}:
        blocks.append(dict(piece))
        return
    if last.get("signature") or (flowing is None and "signature" not in piece):
        blocks.append(dict(piece))
        return
    last |= {name: value for name, value in piece.items() if value is not None and name != flowing}
    if flowing:
        last[flowing] = text_in(last.get(flowing)) + piece[flowing]


def _join_chunk(chunks: list[Json], chunk: Json) -> None:
    """Add a chunk of a content: text and thoughts go on where the chunk before stopped."""
    last = chunks[-1] if chunks else {}
    if chunk.get("type") == last.get("type") == "text":
        chunks[-1] = {**last, "text": text_in(last.get("text")) + text_in(chunk.get("text"))}
    elif _is_thinking_chunk(chunk) and _is_thinking_chunk(last) and not last.get("signature"):
        pieces = [dict(piece) for piece in last["thinking"]]
        for piece in map(fields_in, chunk["thinking"]):
            if pieces and piece.get("type") == pieces[-1].get("type") == "text":
                pieces[-1]["text"] = text_in(pieces[-1].get("text")) + text_in(piece.get("text"))
            else:
                pieces.append(dict(piece))
        more = {name: value for name, value in chunk.items() if value is not None}
        chunks[-1] = {**last, **more, "thinking": pieces}
    else:
        chunks.append(chunk)


# --- a history -------------------------------------------------------------------------------------------


def read_history(payload: Any, *, model: str | None = None) -> list[Item]:
    """A list of messages, or a payload that has one, as items; also messages of LangChain and the AI SDK."""
    if isinstance(payload, Mapping) or hasattr(payload, "model_dump"):
        body = plain_json(payload)
        if "messages" not in body:
            raise Damaged("the payload has no messages", "messages")
        model, payload = text_in(body.get("model")) or model, body["messages"]
    if payload is None:
        raise Damaged("expected a list, not NoneType", "messages")
    history = _History(model or "")
    for index, message in enumerate(list_at(payload, "messages")):
        path = f"messages[{index}]"
        for one in ai_sdk.chat_messages(langchain.chat_message(object_at(message, path)), path):
            history.read_message(one, path)
    return history.items


class _History:
    """Reads messages one by one."""

    def __init__(self, model: str) -> None:
        self.items: list[Item] = []
        self._ids = CallIds(is_history=True)
        self._maker = _Maker(Answer(), model, self._ids)

    def read_message(self, message: Json, path: str) -> None:
        ai_sdk.refuse_ui_message(message, path)
        role: Any = message.get("role")
        if role == "assistant":
            thoughts = message.get("thinking")  # Ollama
            if isinstance(thoughts, str) and thoughts:
                message = {"reasoning_content": thoughts, **message}
            self.items += self._maker.items(message, path)
        elif role in ("tool", "function"):
            self._read_result(message, path)
        elif role in ("system", "developer", "user"):
            self._ids.end_round()
            self._read_said(role, message, path)
        else:
            raise Damaged(f"no such role: {cut(text_in(role))!r}", f"{path}.role")

    def _read_said(self, role: Any, message: Json, path: str) -> None:
        images = _images(message, path)
        held = message.get("content") if images else text_or_blocks(message, path)
        content = read_content(held, f"{path}.content")
        if images:
            content = (*((content,) if isinstance(content, str) and content else ()), *images)
        name = text_in(message.get("name"))
        state = pack(OPENAI, ANY_MODEL, [{"name": name}]) if name else None
        self.items.append(Message(role, content, state=state))

    def _read_result(self, message: Json, path: str) -> None:
        wire_id = _LEGACY_ID if message["role"] == "function" else message.get("tool_call_id")
        if not isinstance(wire_id, str | None):
            raise Damaged("the id of a call is text", f"{path}.tool_call_id")
        output = read_output(message.get("content"), f"{path}.content")
        name = message.get("name") or message.get("tool_name")  # Ollama
        call_id, tool = self._ids.answered(wire_id, name)
        content, is_error = without_failure(output)
        is_error = is_error or message.get("status") == "error"  # LangChain
        self.items.append(ToolResult(call_id, tool, content, is_error))
