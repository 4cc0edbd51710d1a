"""Requests to a provider with their responses, and the conversations that requests belong to.

A request repeats all that was said before, so a log of requests holds a conversation many times. A request
with which a later one begins is a part of it; each of the others is a conversation.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from quire.integrations.logs.conversation import Conversation, Entry, Json, Log, Record, Used, Window, moment
from quire.providers import HISTORY, entries_in, fields_in, strict_messages, text_in, usage_from

_PAIRS = (
    ("request", "response"),
    ("request_body", "response_body"),
    ("input", "output"),
    ("body", "response"),
)
"""The names under which a record holds a request and its response."""
_INNER = ("body", "json", "data", "content")
"""The names under which a request or a response of HTTP holds what was sent."""
_BODY = (*HISTORY.values(), "choices", "output", "stop_reason", "error")
_TIMES = ("timestamp", "time", "created_at", "start_time", "startTime", "request_created_at")

_encode = msgspec.json.Encoder(order="deterministic").encode
_MARK = b'"cache_control"'


class Request(NamedTuple):
    """A request, and the messages of its answer in the same wire; `begun` and `ended` are times."""

    wire: str
    payload: Json
    answer: list[Json]
    begun: float | None = None
    ended: float | None = None
    number: int = 1
    used: Sequence[Used] = ()


def conversations(requests: Iterable[Request]) -> list[Conversation]:
    """The conversations of requests. A message has the time of the first request that sent it."""
    found = dict[bytes, Conversation]()
    for request in sorted(requests, key=lambda one: one.begun or 0.0):
        field, number, entries, used = HISTORY[request.wire], request.number, list[Entry](), request.used
        messages = [fields_in(message) for message in messages_in(request.payload.get(field))]
        digests = digests_of(request.wire, messages)
        begun = next((digest for digest in reversed(digests) if digest in found), None)
        if begun is not None:
            before = found.pop(begun)
            entries, number = before.windows[0].entries, before.number
            used = [*before.used, *used]
            entries = entries[: len(entries) - before.answers]
        entries = [*entries, *(Entry(one, None, request.begun) for one in messages[len(entries) :])]
        answer = [Entry(one, None, request.ended) for one in request.answer]
        head = {name: value for name, value in request.payload.items() if name != field}
        window = Window([*entries, *answer])
        found[digests[-1]] = Conversation(request.wire, [window], head, number, len(answer), used)
    return list(found.values())


def digests_of(wire: str, messages: list[Json]) -> list[bytes]:
    """What identifies the first message, the first two, and so on; marks for caches do not count."""
    whole = blake2b(wire.encode())
    found = [whole.digest()] if not messages else []
    for message in messages:
        plain = _encode(message)
        whole.update(_encode(_unmarked(message)) if _MARK in plain else plain)
        found.append(whole.digest())
    return found


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unmarked(one) for name, one in fields_in(value).items() if name != "cache_control"}
    return [_unmarked(one) for one in entries_in(value)] if isinstance(value, list) else value


def messages_in(value: Any) -> list[Any]:
    """The messages in the field of a request that holds the conversation."""
    return [{"role": "user", "content": value}] if isinstance(value, str) else entries_in(value)


def is_request_log(records: list[Record]) -> bool:
    """Whether these are requests in records of another program."""
    return any(_pair_in(record) is not None for _, record in records)


def read_request_log(records: list[Record]) -> Log:
    """The conversations of requests to OpenAI or Anthropic."""
    requests, left_out = list[Request](), Counter[str]()
    for number, record in records:
        pair = _pair_in(record)
        if pair is None:
            left_out["without a request"] += 1
            continue
        payload, response = pair
        is_anthropic = response.get("type") == "message" or "stop_reason" in response
        wire = "anthropic" if is_anthropic else wire_of(payload)
        time = next((found for name in _TIMES if (found := moment(record.get(name))) is not None), None)
        usage = usage_from(wire, fields_in(response.get("usage") or response.get("usageMetadata")))
        model = text_in(response.get("model")) or text_in(payload.get("model"))
        used = [] if usage is None else [Used(model, usage, time)]
        requests.append(Request(wire, payload, _answer_in(response, wire), time, time, number, used))
    wires = " and ".join(dict.fromkeys(one.wire for one in requests))
    return Log(
        "requests", f"a log of {len(requests):,} requests to {wires}", conversations(requests), left_out
    )


def _pair_in(record: Json) -> tuple[Json, Json] | None:
    for asked, answered in _PAIRS:
        request = _body(record.get(asked))
        if any(isinstance(request.get(field), list | str) for field in HISTORY.values()):
            return request, _body(record.get(answered))
    return None


def _body(value: Any) -> Json:
    """The JSON object in a request or a response, which may be text, or in a field of an HTTP record."""
    try:
        fields = fields_in(msgspec.json.decode(value) if isinstance(value, str) else value)
    except msgspec.DecodeError:
        return {}
    if not fields or any(name in fields for name in _BODY):
        return fields
    return next((body for name in _INNER if (body := _body(fields.get(name)))), Json())


def _answer_in(response: Json, wire: str) -> list[Json]:
    """The messages of a response, in the form in which the next request repeats them."""
    if wire == "openai":
        choices = entries_in(response.get("choices"))
        return strict_messages(fields_in(fields_in(choices[0]).get("message")), "$") if choices else []
    if wire == "openai-responses":
        return [fields_in(item) for item in entries_in(response.get("output"))]
    blocks = entries_in(response.get("content"))
    return [{"role": "assistant", "content": blocks}] if wire == "anthropic" and blocks else []


def wire_of(payload: Any) -> str:
    """The wire that a request or a list of messages looks like; OpenAI's where nothing else is found."""
    fields = fields_in(payload)
    if "contents" in fields:
        return "gemini"
    if "input" in fields:
        return "openai-responses"
    messages = [fields_in(one) for one in entries_in(fields.get("messages") if fields else payload)]
    blocks = [fields_in(block) for message in messages for block in entries_in(message.get("content"))]
    kinds = {kind for block in blocks if isinstance(kind := block.get("type"), str)}
    if "system" in fields or kinds & {"tool_use", "tool_result", "thinking", "redacted_thinking"}:
        return "anthropic"
    for message in messages:
        if "parts" in message:
            return "gemini"
        if str(message.get("type")).startswith(("function_call", "reasoning")):
            return "openai-responses"
    return "openai"
