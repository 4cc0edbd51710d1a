"""Exports of traces: runs of LangSmith, and spans of OpenTelemetry by its conventions for generative AI.

Sources: docs.langchain.com/langsmith, run data format; opentelemetry.io/docs/specs/semconv/gen-ai.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from quire.integrations.logs.conversation import Json, Log, Record, moment
from quire.integrations.logs.requests import Request, conversations
from quire.providers import entries_in, fields_in, strict_messages

# LangSmith


def is_langsmith(records: list[Record]) -> bool:
    """Whether these are runs of LangSmith."""
    return any("inputs" in run or "outputs" in run for _, run in _runs(records))


def read_langsmith(records: list[Record]) -> Log:
    """The conversations of runs: of those of models, or of whole graphs where there are no others."""
    runs, left_out, requests = list(_runs(records)), Counter[str](), list[Request]()
    wanted = "llm" if any(run["run_type"] == "llm" for _, run in runs) else "chain"
    for number, run in runs:
        inputs, outputs = fields_in(run.get("inputs")), fields_in(run.get("outputs"))
        asked, answer = _lang_messages(inputs), _lang_messages(outputs)
        if run["run_type"] != wanted or not asked:
            left_out[f"of type {run['run_type']}"] += 1
            continue
        if answer[: len(asked)] == asked:  # a graph gives back all that it was given
            answer = answer[len(asked) :]
        extra = fields_in(run.get("extra"))
        settings = {**fields_in(extra.get("metadata")), **inputs, **fields_in(extra.get("invocation_params"))}
        model = settings.get("model") or settings.get("model_name") or settings.get("ls_model_name")
        payload = {"model": model, "messages": asked, "tools": entries_in(settings.get("tools"))}
        payload = {name: value for name, value in payload.items() if value}
        times = moment(run.get("start_time")), moment(run.get("end_time"))
        requests.append(Request("openai", payload, answer, *times, number))
    return Log("langsmith", "an export of LangSmith", conversations(requests), left_out)


def _runs(records: Iterable[Record]) -> Iterator[Record]:
    """All runs, with those inside others."""
    for number, record in records:
        if "run_type" in record:
            yield number, record
        inner = [*entries_in(record.get("runs")), *entries_in(record.get("child_runs"))]
        yield from _runs((number, fields_in(run)) for run in inner)


def _lang_messages(held: Json) -> list[Json]:
    """The messages in the inputs or outputs of a run: of LangChain, or of a provider's client."""
    lists = [entries_in(held.get(name)) for name in ("messages", "generations", "choices")]
    found = next(filter(None, lists), [held.get("output") or held.get("message") or held])
    found = entries_in(found[0]) if isinstance(found[0], list) else found
    messages = [_lang_message(fields_in(fields_in(one).get("message") or one)) for one in found]
    return [strict for message in messages if message for strict in strict_messages(message, "$")]


def _lang_message(message: Json) -> Json:
    """A message whose fields LangChain may have put under `kwargs` or `data`; empty for another object."""
    fields = fields_in(message.get("kwargs")) or fields_in(message.get("data"))
    if fields:
        name = str((entries_in(message.get("id")) or [message.get("type")])[-1]).lower()
        kind = next((kind for kind in ("human", "system", "tool") if name.startswith(kind)), "ai")
        return {**fields, "type": kind}
    return message if "role" in message or message.get("type") in ("human", "ai", "system", "tool") else {}


# OpenTelemetry

_ASKED, _ANSWERED, _TOLD = "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"
_INSIDE = ("resourceSpans", "scopeSpans", "spans", "resourceLogs", "scopeLogs", "logRecords")


def is_otel(records: list[Record]) -> bool:
    """Whether these are spans or events of OpenTelemetry."""
    return any(set(_INSIDE) & set(record) or _ASKED in _attributes(record) for _, record in records)


def read_otel(records: list[Record]) -> Log:
    """The conversations of spans and events that hold messages."""
    left_out, requests = Counter[str](), list[Request]()
    for number, span in _spans(records):
        events = [fields_in(event) for event in entries_in(span.get("events"))]
        held = {name: value for one in (span, *events) for name, value in _attributes(one).items()}
        asked = _otel_messages(held.get(_ASKED), left_out)
        if not asked:
            left_out["without messages"] += 1
            continue
        told = _otel_messages([{"role": "system", "parts": _decoded(held.get(_TOLD))}], left_out)
        model = held.get("gen_ai.request.model") or held.get("gen_ai.response.model")
        tools = [*map(_otel_tool, entries_in(_decoded(held.get("gen_ai.tool.definitions"))))]
        payload = {"model": model, "messages": [*told, *asked], "tools": tools}
        payload = {name: value for name, value in payload.items() if value}
        begun = moment(span.get("startTimeUnixNano") or span.get("timeUnixNano") or span.get("start_time"))
        ended = moment(span.get("endTimeUnixNano") or span.get("end_time")) or begun
        answer = _otel_messages(held.get(_ANSWERED), left_out)
        requests.append(Request("openai", payload, answer, begun, ended, number))
    return Log("otel", "an export of OpenTelemetry", conversations(requests), left_out)


def _spans(records: Iterable[Record]) -> Iterator[Record]:
    for number, record in records:
        inner = [fields_in(one) for name in _INSIDE for one in entries_in(record.get(name))]
        yield from _spans((number, one) for one in inner) if inner else [(number, record)]


def _attributes(record: Json) -> Json:
    """The attributes of a span or an event: an object, or a list of keys and values as in OTLP."""
    pairs = [fields_in(one) for one in entries_in(record.get("attributes"))]
    held = {str(pair.get("key")): _value(fields_in(pair.get("value"))) for pair in pairs}
    return held or fields_in(record.get("attributes"))


def _value(value: Json) -> Any:
    if "arrayValue" in value:
        return [_value(fields_in(one)) for one in entries_in(fields_in(value["arrayValue"]).get("values"))]
    if "kvlistValue" in value:
        return _attributes({"attributes": fields_in(value["kvlistValue"]).get("values")})
    return next(iter(value.values()), None)


def _decoded(value: Any) -> Any:
    try:
        return msgspec.json.decode(value) if isinstance(value, str) else value
    except msgspec.DecodeError:
        return None


def _otel_tool(value: Any) -> Any:
    """A definition of the conventions as one of Chat Completions; other tools than functions as they are."""
    tool = fields_in(value)
    if "function" in tool or "name" not in tool or tool.get("type", "function") != "function":
        return value
    return {"type": "function", "function": {name: tool[name] for name in tool if name != "type"}}


def _otel_messages(value: Any, left_out: Counter[str]) -> list[Json]:
    """Messages of the conventions as messages of Chat Completions."""
    made = list[Json]()
    for message in map(fields_in, entries_in(_decoded(value))):
        parts = [fields_in(part) for part in entries_in(message.get("parts"))]
        made_of = [(part, _block(part)) for part in parts]
        left_out.update(f"parts of type {part.get('type')}" for part, block in made_of if block is None)
        blocks = [block for _, block in made_of if block is not None]
        message.pop("parts", None)
        role = "tool" if any(block["type"] == "tool-result" for block in blocks) else message.get("role")
        if content := blocks or message.get("content"):
            made += strict_messages({**message, "role": role, "content": content}, "$")
    return made


def _block(part: Json) -> Json | None:
    """A part as a block of the AI SDK, which has the same kinds; None for media and other kinds."""
    given, call = part.get("response", part.get("result")), {"toolCallId": part.get("id") or ""}
    match part.get("type"):
        case "text" | "compaction":
            return {"type": "text", "text": part.get("content")}
        case "reasoning":
            return {"type": "reasoning", "text": part.get("content")}
        case "tool_call":
            return {"type": "tool-call", "toolName": part.get("name"), "input": part.get("arguments"), **call}
        case "tool_call_response":
            output = {"type": "text" if isinstance(given, str) else "json", "value": given}
            return {"type": "tool-result", "output": output, **call}
        case _:
            return None
