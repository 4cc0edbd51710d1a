"""OpenAI's two APIs: converts requests to jobs, and the events of a job to the events of a response.

Nothing here does I/O. The events of a response depend only on what the conversation recorded: text is cut
into pieces that depend on the text alone. So an event always has the same number, and a client that lost its
stream can resume it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import takewhile
from typing import Any, TypeGuard

import msgspec
from msgspec.structs import replace

from quire.errors import Conflict, InvalidValue, ModelFailed, cut
from quire.items import Content, Item, Message, Reasoning, ToolCall, ToolResult, prepared
from quire.providers import entries_in, fields_in, provider_for, read_part, read_schema, read_tools
from quire.service.openai_types import (
    ChatCall,
    ChatMessage,
    ChatUsage,
    Choice,
    Completion,
    Finish,
    Json,
    Output,
    OutputCall,
    OutputMessage,
    OutputReasoning,
    OutputText,
    ResponseError,
    ResponseUsage,
    ServedResponse,
    State,
    SummaryText,
)
from quire.service.problems import Problem
from quire.session import Job
from quire.stores.streams import RUN_BY_CALLER
from quire.tokens import Usage

# Requests


@prepared
class Body(msgspec.Struct):
    """The fields of a request that are used; a chat completion has messages, a response has an input."""

    model: str
    messages: list[Json] = []
    input: str | list[Json] = []
    instructions: str | None = None
    conversation: str | Json | None = None
    previous_response_id: str | None = None
    stream: bool | None = None
    stream_options: Json | None = None
    tools: list[Json] | None = None
    background: bool | None = None
    text: Json | None = None
    response_format: Json | None = None


_SUPPORTED: Mapping[str, Sequence[Any]] = {
    "n": (1,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "modalities": (["text"],),
    "tool_choice": ("auto", "none"),
    **dict.fromkeys(("functions", "function_call", "audio", "prompt", "web_search_options"), ()),
}
"""Settings that change the form of an answer, with their supported values; other values are an error."""

_MAX_TOOLS, _MAX_TOOL_BYTES = 128, 2**19
"""The most tools of a request, and bytes of their definitions."""

_INPUT = ("message", "function_call", "function_call_output", "reasoning")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")

_FROM_CLIENT = "quire.from_client"
"""The key of `extras` of an item that came with the client's history: it is not part of the answer."""


def check_settings(fields: Mapping[str, msgspec.Raw], body: Body) -> tuple[str, list[str]]:
    """Refuse unsupported settings.

    Return the names of the ignored settings as one text, and the names of the client's tools.
    """
    settings = {name: msgspec.json.decode(fields[name]) for name in _SUPPORTED if name in fields}
    for name, value in settings.items():
        if value is not None and value not in _SUPPORTED[name]:
            values = " or ".join(msgspec.json.encode(supported).decode() for supported in _SUPPORTED[name])
            raise InvalidValue(f"{name}: {f'only {values} is' if values else 'it is not'} supported here")
    schema_in(body)
    body.tools = [] if settings.get("tool_choice") == "none" else body.tools or []
    if len(body.tools) > _MAX_TOOLS or len(bytes(fields.get("tools", b""))) > _MAX_TOOL_BYTES:
        raise Problem(422, f"tools: a request must have at most {_MAX_TOOLS}, of {_MAX_TOOL_BYTES:,} bytes")
    tools = read_tools(body.tools, keep=False)
    if any(tool.native is not None for tool in tools):
        raise InvalidValue("tools: a tool of a client must be a function; other kinds belong to the agent")
    used = {*body.__struct_fields__, *_SUPPORTED}
    ignored = ", ".join(sorted(name for name in fields if name not in used and _NAME.fullmatch(name)))
    return ignored, [tool.name for tool in tools]


def schema_in(body: Body) -> Json:
    """The JSON schema of the answer; empty for a text."""
    name, value = "response_format", body.response_format
    if value is None:
        name, value = "text.format", (body.text or {}).get("format")
    form = fields_in(value)
    schema = fields_in(fields_in(form.get("json_schema", form)).get("schema"))
    match form.get("type", "text" if value is None else ""):
        case "text":
            return {}
        case "json_object":
            return {"type": "object"}
        case "json_schema" if schema:
            return read_schema(schema, f"{name}.schema")
        case _:
            raise InvalidValue(f"{name}: the type must be text, json_object, or json_schema with a schema")


def items_in(body: Body) -> list[Item]:
    """The items of a request, without reasoning."""
    _check_parts("messages", body.messages)
    entries = [] if isinstance(body.input, str) else body.input
    _check_parts("input", entries)
    for kind in (entry.get("type", "message") for entry in entries):
        if kind not in _INPUT:
            raise InvalidValue(f"input: items of the type {cut(str(kind))!r} are not supported here")
    if body.messages:
        items = provider_for("openai").read_history({"messages": body.messages})
    else:
        history = {"instructions": body.instructions or "", "input": body.input}
        items = provider_for("openai-responses").read_history(history)
    return [item for item in items if isinstance(item, Message | ToolCall | ToolResult)]


def _check_parts(path: str, items: Sequence[Json]) -> None:
    """Refuse unknown parts, which would be sent to the model as JSON text."""
    for at, item in enumerate(items):
        for name in ("content", "output") if item.get("type") != "reasoning" else ():
            for index, part in enumerate(entries_in(item.get(name))):
                if not isinstance(part, str) and read_part(fields_in(part)) is None:
                    raise InvalidValue(f"{path}[{at}].{name}[{index}]: this part cannot be read")


def new_items(items: Sequence[Item], recorded: list[Content], waiting: Mapping[str, ToolCall]) -> list[Item]:
    """The new items of a history that is sent again, or of a request with new items only.

    `recorded` has the contents of the user's recorded messages. If the items begin with these messages, the
    rest is new. Otherwise all items are new; `Conflict` if an answer of the model is among them.
    """
    if not recorded:
        return list(items)
    user_indexes = [at for at, item in enumerate(items) if is_of_user(item)]
    if [items[at].content for at in user_indexes[: len(recorded)]] == recorded:  # type: ignore[union-attr]
        items = items[user_indexes[len(recorded) - 1] + 1 :]
        # Calls that do not wait are recorded already, with their results.
        closed = {item.call_id for item in items if isinstance(item, ToolCall)}.difference(waiting)
        added = (item for item in items if getattr(item, "call_id", None) not in closed)
        return [item for item in added if not _is_answer(item)]
    if any(map(_is_answer, items)):
        raise Conflict(
            "the messages do not continue the recorded conversation: send all of them unchanged, then new "
            "ones, or only new ones; a changed history is another conversation"
        )
    return list(items)


def is_of_user(item: Item | None) -> TypeGuard[Message]:
    """Whether an item is a message of the user; a correction of an answer is not."""
    return isinstance(item, Message) and item.role == "user" and not item.extras.get("correction")


def _is_answer(item: Item) -> bool:
    return isinstance(item, ToolCall) or (isinstance(item, Message) and item.role == "assistant")


def job_of(items: Iterable[Item], waiting: Mapping[str, ToolCall], body: Body, key: str | None) -> Job:
    """The job for a request: it answers the last message, or the results at the end, and records the rest.

    `waiting` are the open calls of the conversation by their ids. A result must answer a call that the client
    runs: one of `waiting`, or a call among the items. If there are results, every such call must have one.
    """
    calls, new = dict(waiting), list[Item]()
    for item in items:
        if isinstance(item, ToolCall):
            if item.call_id in calls:
                continue
            item = calls[item.call_id] = replace(item, extras={RUN_BY_CALLER: True})
        elif isinstance(item, ToolResult):
            call = calls.pop(item.call_id, None)
            if call is None or RUN_BY_CALLER not in call.extras:
                raise InvalidValue(f"no call {cut(item.call_id)!r} waits for a result of the client")
            item = replace(item, name=call.name)
        new.append(item)
    last = next(reversed(new), None)
    results = list(takewhile(lambda item: isinstance(item, ToolResult), reversed(new)))[::-1]
    if not results and not (is_of_user(last) and last.content):
        raise InvalidValue("the last item must be a message of the user with content, or a result")
    unanswered = [name for name, call in calls.items() if RUN_BY_CALLER in call.extras]
    if results and unanswered:
        raise InvalidValue(f"the call {cut(unanswered[0])!r} has no result: send the results of all calls")
    earlier = new[: -len(results) or -1]  # without the results, or without the last message
    before = tuple(replace(item, extras={**item.extras, _FROM_CLIENT: True}) for item in earlier)
    options: Any = {"results": tuple(results), "tools": body.tools or (), "is_streamed": bool(body.stream)}
    options["output"] = schema_in(body)
    return Job.of(last if isinstance(last, Message) else None, id=key, before=before, **options)


# Responses

_PIECE = re.compile(r"\s{0,32}\S{1,16}|\s{1,32}")
"""The pieces in which a text is sent. Text that comes later can extend the last piece, but no earlier one."""

_INCOMPLETE = {"length": "max_output_tokens", "refused": "content_filter"}


class Response:
    """A response that grows. Each method returns the events that it causes."""

    def __init__(self, response_id: str, created: int, model: str, conversation: str, job: str) -> None:
        self._number, self._index = -1, -1  # of the last event, and of the last item of the output
        self._key = f"{blake2b(job.encode(), digest_size=12).hexdigest()}_"
        self._is_open, self._text, self._unsent = False, "", ""  # the open text, and its end not sent yet
        self._unrecorded = ""  # words whose message is not recorded yet
        self._reasoning: list[str] = []  # it follows the open text
        self._output: list[Output] = []
        self._body = ServedResponse(
            id=response_id, created_at=created, model=model, conversation={"id": conversation}
        )

    @property
    def body(self) -> ServedResponse:
        """The response as it is now."""
        return replace(self._body, output=tuple(self._output))

    def begin(self) -> list[Json]:
        """The job was accepted."""
        return [self._event(f"response.{name}", response=self.body) for name in ("created", "in_progress")]

    def restart(self) -> list[Json]:
        """The job was claimed, perhaps again: unrecorded words of an earlier claim are void."""
        self._unrecorded = ""
        return list(self._close("incomplete"))

    def add_words(self, text: str) -> list[Json]:
        """Add words of a message that is not recorded yet."""
        self._unrecorded += text
        return list(self._write(text))

    def add_item(self, item: Item) -> list[Json]:
        """Add a recorded item of the turn."""
        if _FROM_CLIENT in item.extras:
            return []
        if isinstance(item, Message) and item.role == "assistant":
            return list(self._add_message(item.text))
        if isinstance(item, Reasoning) and item.text:
            self._reasoning.append(item.text)
        if isinstance(item, ToolCall) and RUN_BY_CALLER in item.extras:
            return [*self._close(), *self._call_events(item)]
        return list(self._close()) if isinstance(item, ToolCall | ToolResult) else []

    def end(self, stop: str, error: str, usage: Usage) -> list[Json]:
        """The job has ended."""
        events = list(self._close())
        has_calls = stop == "waiting" and any(isinstance(item, OutputCall) for item in self._output)
        body = replace(self._body, status="completed", usage=_usage(usage))
        if stop in ("failed", "removed"):
            message = error if stop == "failed" else "the conversation was removed"
            body = replace(body, status="failed", error=ResponseError(message=message))
        elif stop == "cancelled":
            body = replace(body, status="cancelled")
        elif stop != "done" and not has_calls:
            body = replace(
                body, status="incomplete", incomplete_details={"reason": _INCOMPLETE.get(stop, stop)}
            )
        self._body = body
        return [*events, self._event(f"response.{body.status}", response=self.body)]

    # Texts

    def _add_message(self, text: str) -> Iterator[Json]:
        """Add a recorded message, without the words that were added before.

        Streamed words do not say where a message ends. So several messages between two calls may be in one
        run of words, and each recorded message is removed from its front.
        """
        words = self._unrecorded
        self._unrecorded = words.removeprefix(text) if words.startswith(text) else ""
        if not words.startswith(text):
            yield from self._write(text.removeprefix(words))

    def _write(self, text: str) -> Iterator[Json]:
        if not text:
            return
        if not self._is_open:
            self._is_open, self._index = True, self._index + 1
            yield self._item_event("added", self._message("in_progress"))
            yield self._text_event("content_part.added", part=OutputText(text=""))
        self._text += text
        *pieces, self._unsent = _PIECE.findall(self._unsent + text)
        for piece in pieces:
            yield self._text_event("output_text.delta", delta=piece, logprobs=[])

    def _close(self, status: State = "completed") -> Iterator[Json]:
        """End the open text."""
        if self._is_open:
            item = self._message(status)
            yield self._text_event("output_text.delta", delta=self._unsent, logprobs=[])
            yield self._text_event("output_text.done", text=self._text, logprobs=[])
            yield self._text_event("content_part.done", part=OutputText(text=self._text))
            yield self._item_event("done", item)
            self._output += [item] if status == "completed" else []
            self._is_open, self._text, self._unsent = False, "", ""
        reasoning, self._reasoning = self._reasoning, []
        for text in reasoning:
            yield from self._reasoning_events(text)

    def _message(self, status: State) -> OutputMessage:
        content = [OutputText(text=self._text)] if self._text else []
        return OutputMessage(id=f"msg_{self._key}{self._index}", status=status, content=content)

    # Events

    def _call_events(self, call: ToolCall) -> Iterator[Json]:
        self._index += 1
        item = OutputCall(
            id=f"fc_{self._key}{self._index}",
            status="completed",
            call_id=call.call_id,
            name=call.name,
            arguments=call.arguments,
        )
        place = {"item_id": item.id, "output_index": self._index}
        name = "response.function_call_arguments"
        yield self._item_event("added", replace(item, arguments="", status="in_progress"))
        yield self._event(f"{name}.delta", delta=call.arguments, **place)
        yield self._event(f"{name}.done", arguments=call.arguments, name=call.name, **place)
        yield self._item_event("done", item)
        self._output.append(item)

    def _reasoning_events(self, text: str) -> Iterator[Json]:
        self._index += 1
        item = OutputReasoning(id=f"rs_{self._key}{self._index}", status="in_progress")
        place = {"item_id": item.id, "output_index": self._index, "summary_index": 0}
        part = SummaryText(text=text)
        name = "response.reasoning_summary"
        yield self._item_event("added", item)
        yield self._event(f"{name}_part.added", part=SummaryText(text=""), **place)
        yield self._event(f"{name}_text.delta", delta=text, **place)
        yield self._event(f"{name}_text.done", text=text, **place)
        yield self._event(f"{name}_part.done", part=part, **place)
        item = replace(item, status="completed", summary=(part,))
        yield self._item_event("done", item)
        self._output.append(item)

    def _item_event(self, name: str, item: Output) -> Json:
        return self._event(f"response.output_item.{name}", output_index=self._index, item=item)

    def _text_event(self, name: str, **fields: Any) -> Json:
        place = {"item_id": f"msg_{self._key}{self._index}", "output_index": self._index, "content_index": 0}
        return self._event(f"response.{name}", **place, **fields)

    def _event(self, kind: str, **fields: Any) -> Json:
        self._number += 1
        return {"type": kind, "sequence_number": self._number, **fields}


def encoded(event: Json, after: int = -1) -> bytes:
    """The bytes of an event; nothing if its number is not above `after`."""
    if event["sequence_number"] <= after:
        return b""
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), msgspec.json.encode(event))


def _usage(usage: Usage) -> ResponseUsage:
    return ResponseUsage(
        input_tokens=usage.input,
        input_tokens_details={"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        output_tokens=usage.output,
        output_tokens_details={"reasoning_tokens": usage.reasoning},
        total_tokens=usage.input + usage.output,
    )


# Chat completions, from the events of a response

_ENDED_STATES = ("completed", "incomplete", "failed", "cancelled")

_FINISH: Mapping[str, Finish] = {"max_output_tokens": "length", "content_filter": "content_filter"}


class Chat:
    """Converts the events of a response to the chunks of a chat completion."""

    def __init__(self, *, has_usage: bool) -> None:
        self._has_usage, self._head, self._text_count, self._call_count = has_usage, dict[str, Any](), 0, 0

    def chunks(self, event: Json) -> list[Json]:
        """The chunks of an event."""
        response: Any = event.get("response")
        item: Output | None = event.get("item")
        match event["type"], item:
            case "response.created", _:
                self._head = {"id": f"chatcmpl-{response.id}", "object": "chat.completion.chunk"}
                self._head |= {"created": response.created_at, "model": response.model}
                return [self._chunk({"role": "assistant", "content": ""})]
            case "response.output_item.added", OutputMessage():
                self._text_count += 1
                return [self._chunk({"content": "\n\n"})] if self._text_count > 1 else []
            case "response.output_text.delta", _:
                return [self._chunk({"content": event["delta"]})]
            case "response.output_item.done", OutputCall():
                self._call_count += 1
                call = msgspec.to_builtins(_chat_call(item))
                return [self._chunk({"tool_calls": [{"index": self._call_count - 1, **call}]})]
            case (("response.completed" | "response.incomplete" | "response.cancelled"), _):
                finish = _finish(response, self._call_count > 0)
                last: Json = {**self._head, "choices": [], "usage": _chat_usage(response.usage)}
                return [self._chunk({}, finish), *([last] if self._has_usage else [])]
            case "response.failed", _:
                error = {"code": response.error.code, "message": response.error.message}
                return [{"error": {**error, "type": "server_error", "param": None}}]
            case _:
                return []

    def encoded(self, event: Json) -> bytes:
        """The bytes of the chunks of an event."""
        chunks = [b"data: %b\n\n" % msgspec.json.encode(chunk) for chunk in self.chunks(event)]
        is_last = event["type"].removeprefix("response.") in _ENDED_STATES
        return b"".join([*chunks, b"data: [DONE]\n\n"] if is_last else chunks)

    def _chunk(self, delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {**self._head, "choices": [choice], **({"usage": None} if self._has_usage else {})}


def completion(response: ServedResponse) -> Completion:
    """A response as a chat completion; `ModelFailed` if it failed."""
    if response.error is not None or response.usage is None:
        raise ModelFailed("" if response.error is None else response.error.message)
    messages = [item for item in response.output if isinstance(item, OutputMessage)]
    text = "\n\n".join("".join(part.text for part in item.content) for item in messages)
    calls = [_chat_call(item) for item in response.output if isinstance(item, OutputCall)]
    message = ChatMessage(role="assistant", content=text or None, refusal=None, tool_calls=calls)
    return Completion(
        id=f"chatcmpl-{response.id}",
        created=response.created_at,
        model=response.model,
        choices=[Choice(message=message, finish_reason=_finish(response, bool(calls)))],
        usage=_chat_usage(response.usage),
    )


def _finish(response: ServedResponse, has_calls: bool) -> Finish:
    reason = (response.incomplete_details or {}).get("reason", "")
    return "tool_calls" if has_calls else _FINISH.get(reason, "stop")


def _chat_call(item: OutputCall) -> ChatCall:
    return ChatCall(id=item.call_id, function={"name": item.name, "arguments": item.arguments})


def _chat_usage(usage: ResponseUsage) -> ChatUsage:
    return ChatUsage(
        prompt_tokens=usage.input_tokens,
        prompt_tokens_details={"cached_tokens": usage.input_tokens_details["cached_tokens"]},
        completion_tokens=usage.output_tokens,
        completion_tokens_details=usage.output_tokens_details,
        total_tokens=usage.total_tokens,
    )
