"""Logs of requests to a provider with their responses, and the conversations in them.

Each request repeats all earlier messages of its conversation. If a later request begins with the messages of
an earlier one, both belong to one conversation.
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
"""The fields of a record that may have a request and its response."""
_HTTP_BODY_FIELDS = ("body", "json", "data", "content")
"""The fields of an HTTP request or response that may have its body."""
_PAYLOAD_FIELDS = (*HISTORY.values(), "choices", "output", "stop_reason", "error")
"""The fields by which the body of a request or a response is recognised."""
_TIME_FIELDS = ("timestamp", "time", "created_at", "start_time", "startTime", "request_created_at")

_encode = msgspec.json.Encoder(order="deterministic").encode
_CACHE_CONTROL = b'"cache_control"'


class Request(NamedTuple):
    """A request, the messages of its answer in the format of the same wire, and the times of both."""

    wire: str
    payload: Json
    answer: list[Json]
    sent_at: float | None = None
    answered_at: float | None = None
    number: int = 1
    used: Sequence[Used] = ()


def conversations(requests: Iterable[Request]) -> list[Conversation]:
    """The conversations of requests. A message has the time of the first request that contains it."""
    latest_by_digest = dict[bytes, Conversation]()  # by the digest of the messages of the last request
    for request in sorted(requests, key=lambda request: request.sent_at or 0.0):
        field, number, entries, used = HISTORY[request.wire], request.number, list[Entry](), request.used
        messages = [fields_in(message) for message in messages_in(request.payload.get(field))]
        digests = digests_of(request.wire, messages)
        known_digests = [digest for digest in digests if digest in latest_by_digest]
        if known_digests:
            earlier = latest_by_digest.pop(known_digests[-1])
            entries, number = earlier.windows[0].entries, earlier.number
            used = [*earlier.used, *used]
            entries = entries[: len(entries) - earlier.answers]
        entries = [*entries, *(Entry(new, None, request.sent_at) for new in messages[len(entries) :])]
        answer = [Entry(message, None, request.answered_at) for message in request.answer]
        head = {name: value for name, value in request.payload.items() if name != field}
        window = Window([*entries, *answer])
        latest_by_digest[digests[-1]] = Conversation(request.wire, [window], head, number, len(answer), used)
    return list(latest_by_digest.values())


def digests_of(wire: str, messages: list[Json]) -> list[bytes]:
    """A digest of the first message, of the first two, and so on; cache breakpoints are ignored."""
    running = blake2b(wire.encode())
    digests = [running.digest()] if not messages else []
    for message in messages:
        text = _encode(message)
        running.update(_encode(_without_breakpoints(message)) if _CACHE_CONTROL in text else text)
        digests.append(running.digest())
    return digests


def _without_breakpoints(value: Any) -> Any:
    if isinstance(value, dict):
        fields = fields_in(value).items()
        return {name: _without_breakpoints(inner) for name, inner in fields if name != "cache_control"}
    return [_without_breakpoints(inner) for inner in entries_in(value)] if isinstance(value, list) else value


def messages_in(value: Any) -> list[Any]:
    """The messages in the field of a request that holds the conversation."""
    return [{"role": "user", "content": value}] if isinstance(value, str) else entries_in(value)


def is_request_log(records: list[Record]) -> bool:
    """Whether at least one record has a request to a provider."""
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
        times = (moment(record.get(name)) for name in _TIME_FIELDS)
        time = next((time for time in times if time is not None), None)
        usage = usage_from(wire, fields_in(response.get("usage") or response.get("usageMetadata")))
        model = text_in(response.get("model")) or text_in(payload.get("model"))
        used = [] if usage is None else [Used(model, usage, time)]
        requests.append(Request(wire, payload, _answer_in(response, wire), time, time, number, used))
    wires = " and ".join(dict.fromkeys(request.wire for request in requests))
    return Log(
        "requests", f"a log of {len(requests):,} requests to {wires}", conversations(requests), left_out
    )


def _pair_in(record: Json) -> tuple[Json, Json] | None:
    for request_field, response_field in _PAIRS:
        request = _body(record.get(request_field))
        if any(isinstance(request.get(field), list | str) for field in HISTORY.values()):
            return request, _body(record.get(response_field))
    return None


def _body(value: Any) -> Json:
    """The body of a request or a response, which may be JSON text or in a field of an HTTP record."""
    try:
        fields = fields_in(msgspec.json.decode(value) if isinstance(value, str) else value)
    except msgspec.DecodeError:
        return {}
    if not fields or any(name in fields for name in _PAYLOAD_FIELDS):
        return fields
    return next((body for name in _HTTP_BODY_FIELDS if (body := _body(fields.get(name)))), Json())


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
    """A guess at the wire of a request or a list of messages; OpenAI's if nothing speaks for another one."""
    fields = fields_in(payload)
    if "contents" in fields:
        return "gemini"
    if "input" in fields:
        return "openai-responses"
    messages = [fields_in(message) for message in entries_in(fields.get("messages") if fields else payload)]
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
