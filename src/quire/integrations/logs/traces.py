"""Reads exports of traces: runs of LangSmith, and OpenTelemetry spans by the conventions for generative AI.

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
    """The conversations of the runs of models, or of the runs of graphs if there are no runs of models."""
    runs, left_out, requests = list(_runs(records)), Counter[str](), list[Request]()
    run_type = "llm" if any(run["run_type"] == "llm" for _, run in runs) else "chain"
    for number, run in runs:
        inputs, outputs = fields_in(run.get("inputs")), fields_in(run.get("outputs"))
        messages, answer = _lang_messages(inputs), _lang_messages(outputs)
        if run["run_type"] != run_type or not messages:
            left_out[f"of type {run['run_type']}"] += 1
            continue
        if answer[: len(messages)] == messages:  # the output of a graph begins with its input
            answer = answer[len(messages) :]
        extra = fields_in(run.get("extra"))
        settings = {**fields_in(extra.get("metadata")), **inputs, **fields_in(extra.get("invocation_params"))}
        model = settings.get("model") or settings.get("model_name") or settings.get("ls_model_name")
        payload = {"model": model, "messages": messages, "tools": entries_in(settings.get("tools"))}
        payload = {name: value for name, value in payload.items() if value}
        times = moment(run.get("start_time")), moment(run.get("end_time"))
        requests.append(Request("openai", payload, answer, *times, number))
    return Log("langsmith", "an export of LangSmith", conversations(requests), left_out)


def _runs(records: Iterable[Record]) -> Iterator[Record]:
    """All runs, including those inside other runs."""
    for number, record in records:
        if "run_type" in record:
            yield number, record
        inner = [*entries_in(record.get("runs")), *entries_in(record.get("child_runs"))]
        yield from _runs((number, fields_in(run)) for run in inner)


def _lang_messages(fields: Json) -> list[Json]:
    """The messages in the inputs or outputs of a run, from LangChain or from a provider's client."""
    lists = [entries_in(fields.get(name)) for name in ("messages", "generations", "choices")]
    values = next(filter(None, lists), [fields.get("output") or fields.get("message") or fields])
    values = entries_in(values[0]) if isinstance(values[0], list) else values  # a list for each prompt
    messages = [_lang_message(fields_in(fields_in(value).get("message") or value)) for value in values]
    return [strict for message in messages if message for strict in strict_messages(message, "$")]


def _lang_message(message: Json) -> Json:
    """A message, whose fields may be under LangChain's `kwargs` or `data`; empty for other objects."""
    fields = fields_in(message.get("kwargs")) or fields_in(message.get("data"))
    if fields:
        name = str((entries_in(message.get("id")) or [message.get("type")])[-1]).lower()
        kind = next((kind for kind in ("human", "system", "tool") if name.startswith(kind)), "ai")
        return {**fields, "type": kind}
    return message if "role" in message or message.get("type") in ("human", "ai", "system", "tool") else {}


# OpenTelemetry

_INPUT, _OUTPUT, _SYSTEM = "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"
_NESTING_FIELDS = ("resourceSpans", "scopeSpans", "spans", "resourceLogs", "scopeLogs", "logRecords")


def is_otel(records: list[Record]) -> bool:
    """Whether these are spans or events of OpenTelemetry."""
    return any(set(_NESTING_FIELDS) & set(record) or _INPUT in _attributes(record) for _, record in records)


def read_otel(records: list[Record]) -> Log:
    """The conversations of spans and events that have messages."""
    left_out, requests = Counter[str](), list[Request]()
    for number, span in _spans(records):
        events = [fields_in(event) for event in entries_in(span.get("events"))]
        attributes: Json = {}
        for record in (span, *events):
            attributes |= _attributes(record)
        messages = _otel_messages(attributes.get(_INPUT), left_out)
        if not messages:
            left_out["without messages"] += 1
            continue
        system = _otel_messages([{"role": "system", "parts": _decoded(attributes.get(_SYSTEM))}], left_out)
        model = attributes.get("gen_ai.request.model") or attributes.get("gen_ai.response.model")
        tools = [*map(_otel_tool, entries_in(_decoded(attributes.get("gen_ai.tool.definitions"))))]
        payload = {"model": model, "messages": [*system, *messages], "tools": tools}
        payload = {name: value for name, value in payload.items() if value}
        start = moment(span.get("startTimeUnixNano") or span.get("timeUnixNano") or span.get("start_time"))
        end = moment(span.get("endTimeUnixNano") or span.get("end_time")) or start
        answer = _otel_messages(attributes.get(_OUTPUT), left_out)
        requests.append(Request("openai", payload, answer, start, end, number))
    return Log("otel", "an export of OpenTelemetry", conversations(requests), left_out)


def _spans(records: Iterable[Record]) -> Iterator[Record]:
    for number, record in records:
        inner = [fields_in(span) for name in _NESTING_FIELDS for span in entries_in(record.get(name))]
        yield from _spans((number, span) for span in inner) if inner else [(number, record)]


def _attributes(record: Json) -> Json:
    """The attributes of a span or an event: an object, or a list of keys and values as in OTLP."""
    pairs = [fields_in(pair) for pair in entries_in(record.get("attributes"))]
    attributes = {str(pair.get("key")): _value(fields_in(pair.get("value"))) for pair in pairs}
    return attributes or fields_in(record.get("attributes"))


def _value(value: Json) -> Any:
    if "arrayValue" in value:
        entries = entries_in(fields_in(value["arrayValue"]).get("values"))
        return [_value(fields_in(entry)) for entry in entries]
    if "kvlistValue" in value:
        return _attributes({"attributes": fields_in(value["kvlistValue"]).get("values")})
    return next(iter(value.values()), None)


def _decoded(value: Any) -> Any:
    try:
        return msgspec.json.decode(value) if isinstance(value, str) else value
    except msgspec.DecodeError:
        return None


def _otel_tool(value: Any) -> Any:
    """A function of the conventions as a function of Chat Completions; other tools unchanged."""
    tool = fields_in(value)
    if "function" in tool or "name" not in tool or tool.get("type", "function") != "function":
        return value
    return {"type": "function", "function": {name: tool[name] for name in tool if name != "type"}}


def _otel_messages(value: Any, left_out: Counter[str]) -> list[Json]:
    """Messages of the conventions as messages of Chat Completions."""
    messages = list[Json]()
    for message in map(fields_in, entries_in(_decoded(value))):
        parts = [fields_in(part) for part in entries_in(message.get("parts"))]
        pairs = [(part, _block(part)) for part in parts]
        left_out.update(f"parts of type {part.get('type')}" for part, block in pairs if block is None)
        blocks = [block for _, block in pairs if block is not None]
        message.pop("parts", None)
        role = "tool" if any(block["type"] == "tool-result" for block in blocks) else message.get("role")
        if content := blocks or message.get("content"):
            messages += strict_messages({**message, "role": role, "content": content}, "$")
    return messages


def _block(part: Json) -> Json | None:
    """A part as a block of the AI SDK, which has the same kinds; None for media and unknown kinds."""
    result, call = part.get("response", part.get("result")), {"toolCallId": part.get("id") or ""}
    match part.get("type"):
        case "text" | "compaction":
            return {"type": "text", "text": part.get("content")}
        case "reasoning":
            return {"type": "reasoning", "text": part.get("content")}
        case "tool_call":
            return {"type": "tool-call", "toolName": part.get("name"), "input": part.get("arguments"), **call}
        case "tool_call_response":
            output = {"type": "text" if isinstance(result, str) else "json", "value": result}
            return {"type": "tool-result", "output": output, **call}
        case _:
            return None
