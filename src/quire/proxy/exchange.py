"""An exchange: one request and its answer as bytes, and as read in the format of their provider."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import takewhile
from typing import Any, NamedTuple

import httpx
import msgspec
from msgspec.structs import replace

from quire.errors import Damaged
from quire.integrations.logs.repair import READ_FIELDS
from quire.integrations.logs.requests import digests_of, messages_in
from quire.items import Item, Message, ToolCall, ToolResult
from quire.providers import HISTORY, Parsed, entries_in, fields_in, json_text, provider_for, text_in
from quire.state import is_output
from quire.tokens import Definition, single_definitions

Json = dict[str, Any]

_WIRE_BY_ENDING = {"/chat/completions": "openai", "/responses": "openai-responses", "/messages": "anthropic"}
_GEMINI = re.compile(r"/models/([^/:]+):(?:g|streamG)enerateContent$")
_INSTRUCTION_FIELDS = {
    "openai": (),
    "openai-responses": ("instructions",),
    "anthropic": ("system",),
    "gemini": ("systemInstruction", "system_instruction"),
}
_MODEL_ITEMS = ("reasoning", "function_call", "custom_tool_call", "message")
_MIN_ID, _MIN_TEXT = 8, 80
"""The lengths, in characters, from which a call id or a text is taken to occur in one conversation alone."""


class Exchange(NamedTuple):
    """A request as bytes, sent at the time `at`. `headers` are only those that say how to decode the body."""

    number: int
    upstream: str
    path: str
    body: bytes
    at: float
    caller: str = ""
    headers: tuple[tuple[str, str], ...] = ()


class Answer(NamedTuple):
    """An answer as bytes. `times` are pairs: after these seconds, that many bytes had arrived.

    `status` is 0 if nothing arrived. Without `is_whole` the stream broke off, or the client disconnected.
    `is_changed` says that the request was changed before it was sent.
    """

    number: int
    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    times: tuple[tuple[float, int], ...] = ()
    is_whole: bool = True
    is_changed: bool = False


def wire_at(path: str) -> str | None:
    """The format of the requests at a path; None if they are not for a model."""
    if _GEMINI.search(path):
        return "gemini"
    return next((wire for ending, wire in _WIRE_BY_ENDING.items() if path.rstrip("/").endswith(ending)), None)


def decoded(body: bytes, headers: Sequence[tuple[str, str]]) -> bytes:
    """A body, decompressed."""
    try:
        return httpx.Response(200, headers=list(headers), content=body).content
    except httpx.DecodingError:
        raise Damaged("a compressed body cannot be read", "$") from None


# Requests


class Unit(NamedTuple):
    """Messages `start` to `stop`, which are kept together: a reply of the model, or one other message.

    `digest` is the digest of all messages up to `stop`, `content` that of what the unit says. `keys` occur in
    one conversation alone: call ids, and digests of texts. `response` is the id of its response, if any.
    """

    start: int
    stop: int
    digest: bytes
    content: bytes
    items: tuple[Item, ...]
    keys: tuple[str, ...] = ()
    response: str = ""

    @property
    def is_reply(self) -> bool:
        """Whether it is a reply of the model."""
        return any(map(is_output, self.items))

    @property
    def has_results(self) -> bool:
        """Whether it has results of calls."""
        return any(isinstance(item, ToolResult) for item in self.items)


class Request:
    """A request as read in its format. Units are read on demand."""

    def __init__(self, exchange: Exchange) -> None:
        wire = wire_at(exchange.path)
        if wire is None:
            raise Damaged("this address is not that of a model", "$")
        self.wire, self.field = wire, HISTORY[wire]
        try:
            self.payload = fields_in(msgspec.json.decode(decoded(exchange.body, exchange.headers)))
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Damaged("the body of a request is not JSON", "$") from None
        in_path = _GEMINI.search(exchange.path)
        self.model = in_path[1] if in_path else text_in(self.payload.get("model")) or None
        messages = [fields_in(message) for message in messages_in(self.payload.get(self.field))]
        count = sum(1 for _ in takewhile(_is_instruction, messages))
        self.leading, self.messages = messages[:count], messages[count:]
        if not self.messages:
            raise Damaged(f"the request has no {self.field}", f"$.{self.field}")
        self.digests = digests_of(wire, self.messages)
        self._units: dict[int, Unit] = {}

    @cached_property
    def instructions(self) -> tuple[Message, ...]:
        """The instructions, with the same ids in every request."""
        head = {name: self.payload[name] for name in _INSTRUCTION_FIELDS[self.wire] if name in self.payload}
        read = provider_for(self.wire).read_history({**head, self.field: self.leading})
        messages = [item for item in read if isinstance(item, Message)]
        return tuple(replace(item, id=f"instructions/{n}", created_at=0.0) for n, item in enumerate(messages))

    @cached_property
    def tools(self) -> list[Definition]:
        """The definitions of tools."""
        return single_definitions(entries_in(self.payload.get("tools")))

    @property
    def parameters(self) -> Json:
        """The fields beside instructions, messages and tools."""
        return {name: value for name, value in self.payload.items() if name not in READ_FIELDS[self.wire]}

    @property
    def names(self) -> tuple[str, str]:
        """The ids of the response and of the conversation that the request continues, if it names them."""
        conversation: Any = self.payload.get("conversation")
        name = text_in(fields_in(conversation).get("id")) or text_in(conversation)
        return text_in(self.payload.get("previous_response_id")), name

    def unit(self, start: int) -> Unit:
        """The unit that begins at a message."""
        if start not in self._units:
            stop = start + 1
            while stop < len(self.messages) and all(map(is_reply, self.messages[stop - 1 : stop + 1])):
                stop += 1
            read = provider_for(self.wire).read_history(self.messages[start:stop], model=self.model)
            self._units[start] = unit_of(read, start, stop, self.digests[stop - 1])
        return self._units[start]

    def units(self, start: int) -> Iterator[Unit]:
        """The units from a message on."""
        while start < len(self.messages):
            yield (unit := self.unit(start))
            start = unit.stop


def is_reply(message: Json) -> bool:
    """Whether a message is a reply of the model, or a part of one."""
    role, kind = message.get("role"), message.get("type")
    return role in ("assistant", "model") or (role is None and kind in _MODEL_ITEMS)


def _is_instruction(message: Json) -> bool:
    return message.get("role") in ("system", "developer")


def unit_of(
    items: Sequence[Item], start: int = 0, stop: int = 1, digest: bytes = b"", response: str = ""
) -> Unit:
    """The unit of some items."""
    return Unit(start, stop, digest, _content_of(items), tuple(items), tuple(_keys_of(items)), response)


def _content_of(items: Sequence[Item]) -> bytes:
    """The digest of what items say, without reasoning, ids and the formatting of arguments."""
    digest = blake2b(digest_size=12)
    for item in items:
        if isinstance(item, ToolCall):
            digest.update(f"call {item.name} {_plain_arguments(item.arguments)}\n".encode("utf-8", "replace"))
        elif isinstance(item, Message | ToolResult):
            kind = item.role if isinstance(item, Message) else "result"
            parts = [part.strip() if isinstance(part, str) else repr(part) for part in item.parts]
            digest.update(f"{kind} {parts}\n".encode("utf-8", "replace"))
    return digest.digest()


def _plain_arguments(arguments: str) -> str:
    try:
        return json_text(msgspec.json.decode(arguments), "$")
    except msgspec.DecodeError:
        return arguments


def _keys_of(items: Sequence[Item]) -> Iterator[str]:
    for item in items:
        if isinstance(item, ToolCall) and len(item.call_id) >= _MIN_ID:
            yield item.call_id
        elif isinstance(item, Message) and item.role == "assistant" and len(item.text) >= _MIN_TEXT:
            yield blake2b(item.text.strip().encode("utf-8", "replace"), digest_size=12).hexdigest()


# Answers


class Reply(NamedTuple):
    """An answer as read in its format. `first_seconds` is the time to the first token, if there was one.

    `response` is the id by which a later request may continue it.
    """

    parsed: Parsed
    first_seconds: float | None = None
    seconds: float | None = None
    response: str = ""


def read_answer(wire: str, answer: Answer, sent: Any, model: str | None) -> Reply:
    """Read the reply in an answer; an error is in `parsed.error`."""
    provider, body = provider_for(wire), decoded(answer.body, answer.headers)
    seconds = answer.times[-1][0] if answer.times else None
    content_type = next((value for name, value in answer.headers if name == "content-type"), "")
    if "event-stream" in content_type:
        reader, first, response = provider.stream(sent=sent, model=model), None, ""
        for stop, event in _events(body):
            has_text = bool(reader.feed(event))
            response = response or _response_in(event)
            if first is None and (has_text or _begins_call(event)):
                first = _moment_of(answer, stop, len(body))
        return Reply(reader.close(), first, seconds, response)
    try:
        value: Any = msgspec.json.decode(body) if body.strip() else {}
    except (msgspec.DecodeError, UnicodeDecodeError):
        error = f"status {answer.status}, and the body is not JSON"
        return Reply(Parsed((), error=error if answer.is_whole else "the answer broke off"), None, seconds)
    if isinstance(value, list):  # a stream of Gemini without server-sent events
        reader = provider.stream(sent=sent, model=model)
        for event in entries_in(value):
            reader.feed(event)
        return Reply(reader.close(), answer.times[0][0] if answer.times else None, seconds)
    try:
        parsed = provider.parse(value, sent=sent, model=model)
    except Damaged:
        error = f"status {answer.status}, and the body is not an answer of this provider"
        parsed = Parsed((), error=error)
    return Reply(parsed, seconds, seconds, _response_in({"response": value}))


def _events(body: bytes) -> Iterator[tuple[int, Json]]:
    """The events of a stream, each with the position of its end."""
    for match in re.finditer(rb"^data:[ ]?(.*?)\r?$", body, re.MULTILINE):
        try:
            event = fields_in(msgspec.json.decode(match[1]))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        if event:
            yield match.end(), event


def _response_in(event: Json) -> str:
    response = fields_in(event.get("response"))
    return text_in(response.get("id")) if response.get("object") == "response" else ""


def _begins_call(event: Json) -> bool:
    """Whether an event without text begins a call."""
    return any(word in event.get("type", "") for word in ("arguments.delta", "content_block_delta")) or any(
        fields_in(fields_in(choice).get("delta")).get("tool_calls")
        for choice in entries_in(event.get("choices"))
    )


def _moment_of(answer: Answer, stop: int, length: int) -> float | None:
    """The seconds after which `stop` bytes had arrived; for a compressed body, the first bytes."""
    if not answer.times:
        return None
    is_plain = length == answer.times[-1][1]
    return next((at for at, size in answer.times if not is_plain or size >= stop), answer.times[-1][0])
