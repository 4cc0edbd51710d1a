"""OpenTelemetry: a span for every turn, request, tool call, context, recall and compaction.

Names are those of the semantic conventions for generative AI; names that these lack begin with `quire.`.

    session = Session.open("ana/q4", hooks=instrument())

Each span is made by a hook and is the current span while its event lasts: spans that a tool or an HTTP client
makes meanwhile are its children, in other tasks and threads too. Without `content=True`, a span has names,
counts and times, and no text of the conversation.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any, TypeAlias

import msgspec

from quire.errors import MissingExtra
from quire.items import (
    Audio,
    Content,
    Image,
    Item,
    Message,
    Note,
    Part,
    Reasoning,
    Summary,
    ToolCall,
    ToolResult,
)
from quire.providers import Parsed
from quire.session import Building, Calling, Compacting, Hook, Recalling, Replying, Requesting, hook
from quire.state import Scroll
from quire.stores import Place
from quire.tokens import Usage, note_frame

try:
    from opentelemetry import trace
    from opentelemetry.trace import Span, SpanKind, StatusCode, TracerProvider
except ImportError:
    raise MissingExtra("opentelemetry-api", "otel") from None

__all__ = ["instrument"]

_Json: TypeAlias = dict[str, Any]
_Around: TypeAlias = Generator[None, Any, None]

_PROVIDERS = {"openai-responses": "openai", "gemini": "gcp.gemini"}
"""The conventions' names of providers, by wire; for other wires the name is the same."""

_OPERATIONS = {"gemini": "generate_content"}
"""The operation of a request, by wire; `chat` for other wires."""

_FINISHES = {"calls": "tool_call", "refused": "content_filter"}
"""The conventions' names of finish reasons, by ours; for others the name is the same."""


def instrument(*, tracer_provider: TracerProvider | None = None, content: bool = False) -> list[Hook]:
    """Return hooks that make spans, for a session or a node.

    Without a `tracer_provider` the global one is used. With `content`, spans have messages, arguments and
    results of tools, and queries of memory. They are not redacted: a session's `redact` does not apply to
    them.
    """
    spans = _Spans(trace.get_tracer("quire", tracer_provider=tracer_provider), content)
    return [
        hook(Replying)(spans.invoke_agent),
        hook(Building)(spans.build_context),
        hook(Recalling)(spans.search_memory),
        hook(Compacting)(spans.compact_messages),
        hook(Requesting)(spans.chat),
        hook(Calling)(spans.execute_tool),
    ]


class _Spans:
    """The hooks, one for each kind of span."""

    def __init__(self, tracer: trace.Tracer, content: bool) -> None:
        self._tracer, self._has_content = tracer, content

    @contextmanager
    def _span(
        self, name: str, place: Place, attributes: _Json, kind: SpanKind = SpanKind.INTERNAL
    ) -> Generator[Span, None, None]:
        """A span that is current in the block."""
        attributes = {"gen_ai.conversation.id": str(place), **attributes}
        span = self._tracer.start_span(name, kind=kind, attributes=attributes)
        # The text of an error may quote a request: a span has only its name.
        with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            try:
                yield span
            except BaseException as fault:
                _fail(span, type(fault).__name__)
                raise

    def invoke_agent(self, event: Replying) -> _Around:
        """One turn of an agent."""
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": event.agent}
        with self._span(f"invoke_agent {event.agent}", event.place, attributes) as span:
            done = yield
            span.set_attributes(_usage(done.usage) | ({"quire.agent.stop": done.stop} if done.stop else {}))
            _fail(span, done.fault)

    def chat(self, event: Requesting) -> _Around:
        """One request to a model, with all its tries."""
        operation = _OPERATIONS.get(event.provider, "chat")
        attributes: _Json = {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": _PROVIDERS.get(event.provider, event.provider),
            "gen_ai.request.model": event.model,
        }
        if isinstance(event.items, Scroll) and event.items.was_edited:
            attributes["gen_ai.conversation.compacted"] = True  # the conventions omit it if false
        with self._span(f"{operation} {event.model}", event.place, attributes, SpanKind.CLIENT) as span:
            done = yield
            span.set_attribute("quire.request.retries", len(done.retries))
            for fault in done.retries:
                span.add_event("quire.request.retry", {"error.type": fault})
            span.set_attributes(_answer(done.answer))
            _fail(span, done.fault)
            if self._has_content:
                span.set_attributes(_content(event, done.answer))

    def execute_tool(self, event: Calling) -> _Around:
        """One call of a tool, from its start until its result is recorded."""
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.name,
            "gen_ai.tool.call.id": event.call_id,
            "gen_ai.tool.type": "function",
        }
        with self._span(f"execute_tool {event.name}", event.place, attributes) as span:
            done = yield
            if self._has_content:
                span.set_attribute("gen_ai.tool.call.arguments", event.arguments)
            _fail(span, "refused" if done is None else done.fault)  # None: the call was forgotten
            if done is not None and self._has_content:
                span.set_attribute("gen_ai.tool.call.result", _result(done.result))

    def build_context(self, event: Building) -> _Around:
        """One context: its budget, its tokens, and how many items each section left out and why."""
        budget = event.template.budget
        attributes = {
            "quire.context.budget.window": budget.window,
            "quire.context.budget.reserve": budget.reserve,
        }
        with self._span("build_context", event.place, attributes) as span:
            done = yield
            context, lines = done.context, done.context.receipt.lines()
            span.set_attributes(
                {
                    "quire.context.tokens.shown": context.receipt.tokens,
                    "quire.context.items.shown": len(context.items),
                    "quire.context.items.left_out": sum(line.left_out for line in lines),
                    "quire.context.items.cacheable": context.shared,
                    "quire.context.advice": context.receipt.advice,
                }
            )
            for line in lines:
                section = {"name": line.section, "tokens": line.tokens, "items.shown": line.shown}
                if line.left_out:
                    section |= {"items.left_out": line.left_out, "reason": line.note}
                span.add_event("quire.context.section", _prefixed("quire.context.section", section))

    def search_memory(self, event: Recalling) -> _Around:
        """One search in memory or documents."""
        attributes = {"gen_ai.operation.name": "search_memory"}
        with self._span("search_memory", event.place, attributes) as span:
            done = yield
            if self._has_content:
                span.set_attribute("gen_ai.memory.query.text", event.question)
            span.set_attribute("gen_ai.memory.record.count", len(done.found))

    def compact_messages(self, event: Compacting) -> _Around:
        """One compaction, including the request for its summary."""
        plan = event.plan
        attributes = {"compaction.strategy": plan.by, "compaction.tokens_before": plan.before}
        with self._span("compact_messages", event.place, attributes) as span:
            done = yield
            outcome = {"fate": done.outcome.fate, "reason": done.outcome.reason, "forced": plan.forced}
            span.set_attributes(_prefixed("quire.compaction", outcome))
            if done.outcome:
                span.set_attribute("gen_ai.conversation.compacted", True)
                span.set_attribute("compaction.tokens_after", plan.after)


def _fail(span: Span, fault: str | None) -> None:
    if fault is not None:
        span.set_attribute("error.type", fault)
        span.set_status(StatusCode.ERROR)


def _prefixed(prefix: str, fields: Mapping[str, Any]) -> _Json:
    return {f"{prefix}.{name}": value for name, value in fields.items()}


def _usage(usage: Usage) -> _Json:
    """Token counts. A cache or reasoning count of zero is omitted: it may not have been reported."""
    counts = {"input": usage.input, "output": usage.output}
    parts = {
        "cache_read.input": usage.cache_read,
        "cache_write.input": usage.cache_write,
        "reasoning.output": usage.reasoning,
    }
    counts |= {name: tokens for name, tokens in parts.items() if tokens}
    return {f"gen_ai.usage.{name}_tokens": tokens for name, tokens in counts.items()}


def _answer(answer: Parsed) -> _Json:
    attributes = {} if answer.usage is None else _usage(answer.usage)
    if answer.model is not None:
        attributes["gen_ai.response.model"] = answer.model
    if answer.items:
        attributes["gen_ai.response.finish_reasons"] = [_finish(answer)]
    return attributes


def _finish(answer: Parsed) -> str:
    return _FINISHES.get(answer.finish, answer.finish)


# Content, in the format of the conventions


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _content(request: Requesting, answer: Parsed) -> _Json:
    attributes = {"gen_ai.input.messages": _json(list(_messages(request.items)))}
    if request.tools:
        attributes["gen_ai.tool.definitions"] = _json(
            [{"type": "function", **tool} for tool in request.tools]
        )
    if answer.items:
        parts = [part for item in answer.items for part in _item_parts(item)]
        message = {"role": "assistant", "parts": parts, "finish_reason": _finish(answer)}
        attributes["gen_ai.output.messages"] = _json([message])
    return attributes


def _messages(items: Iterable[Item]) -> Iterator[_Json]:
    """Items as messages. Consecutive items of the assistant are one message."""

    def message_key(item: Item) -> tuple[str, str]:
        role = _role(item)
        return role, "" if role == "assistant" else item.id

    for (role, _), group in groupby(items, key=message_key):
        if parts := [part for item in group for part in _item_parts(item)]:
            yield {"role": role, "parts": parts}


def _role(item: Item) -> str:
    if isinstance(item, Message):
        return "system" if item.role == "developer" else item.role
    if isinstance(item, ToolResult):
        return "tool"
    return "assistant" if isinstance(item, ToolCall | Reasoning) else "user"


def _item_parts(item: Item) -> Sequence[_Json]:
    match item:
        case Message():
            return _parts(item.content)
        case ToolCall():
            call = {"id": item.call_id, "name": item.name, "arguments": _arguments(item.arguments)}
            return [{"type": "tool_call", **call}]
        case ToolResult():
            return [{"type": "tool_call_response", "id": item.call_id, "response": _result(item.content)}]
        case Reasoning():
            return [{"type": "reasoning", "content": item.text}]
        case Summary():
            return [{"type": "compaction", "id": item.id, "content": item.text}]
        case Note():
            return [{"type": "text", "content": note_frame(item)}]
        case _:
            return []


def _arguments(text: str) -> Any:
    """The arguments of a call as values, or as the text if the model wrote invalid JSON."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _result(content: Content) -> str:
    return content if isinstance(content, str) else _json(_parts(content))


def _parts(content: Content) -> list[_Json]:
    """The parts of some content; the bytes of media are left out."""
    return [_part(part) for part in ((content,) if isinstance(content, str) else content)]


def _part(part: Part) -> _Json:
    if isinstance(part, str):
        return {"type": "text", "content": part}
    modality = "image" if isinstance(part, Image) else "audio" if isinstance(part, Audio) else "document"
    about = {"modality": modality, "mime_type": part.media_type}
    return {"type": "left_out", **about} if part.url is None else {"type": "uri", "uri": part.url, **about}
