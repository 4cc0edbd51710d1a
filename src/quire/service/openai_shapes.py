"""The shapes of OpenAI's two APIs: what a request asks, and the events of a job as those of a response.

Nothing here reads or writes. The events of a response are a function of what is recorded: words are told in
pieces that depend on the text alone. So an event has the same number whenever it is told, and a client that
lost its stream goes on where it was.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import takewhile
from typing import Any, TypeGuard

import msgspec
from msgspec.structs import replace

from quire.errors import Conflict, InvalidValue, ModelFailed, cut
from quire.items import Content, Item, Message, ToolCall, ToolResult, prepared
from quire.providers import entries_in, fields_in, provider_for, read_part, read_tools
from quire.service.openai_types import (
    CachedTokens,
    CalledFunction,
    ChatCall,
    ChatMessage,
    ChatUsage,
    Choice,
    Completion,
    InputDetails,
    Json,
    Output,
    OutputCall,
    OutputDetails,
    OutputMessage,
    OutputText,
    ResponseError,
    ResponseUsage,
    ServedResponse,
    State,
)
from quire.service.problems import Problem
from quire.session import Job
from quire.stores.streams import CALLERS
from quire.tokens import Usage

# Requests


@prepared
class Body(msgspec.Struct):
    """What is read of a request: for a chat completion it has messages, for a response an input."""

    model: str
    messages: list[Json] = []
    input: str | list[Json] = []
    instructions: str | None = None
    conversation: str | Json | None = None
    previous_response_id: str | None = None
    stream: bool | None = None
    stream_options: Json | None = None
    tools: list[Json] | None = None


_TEXT = {"type": "text"}
_ONLY: Mapping[str, Sequence[Any]] = {
    "n": (1,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "response_format": (_TEXT,),
    "text": ({}, {"format": _TEXT}),
    "modalities": (["text"],),
    "tool_choice": ("auto", "none"),
    **dict.fromkeys(("functions", "function_call", "audio", "prompt", "web_search_options"), ()),
}
"""Settings that change the form of an answer, with the values that are taken; others are an error."""

_MOST_TOOLS, _LARGEST_TOOLS = 128, 2**19
"""Tools of a request, and bytes of their definitions."""

_INPUT = ("message", "function_call", "function_call_output", "reasoning")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")

_GIVEN = "quire.given"
"""The key of `extras` of an item of a history that the client brought: it is no part of the answer."""


def check_settings(fields: Mapping[str, msgspec.Raw], body: Body) -> tuple[str, list[str]]:
    """Refuse what is not supported.

    Return the names of the settings that are the agent's, and not used, and those of the client's tools.
    """
    given = {name: msgspec.json.decode(fields[name]) for name in _ONLY if name in fields}
    for name, value in given.items():
        if value is not None and value not in _ONLY[name]:
            most = " or ".join(msgspec.json.encode(one).decode() for one in _ONLY[name])
            raise InvalidValue(f"{name}: {f'only {most} is' if most else 'it is not'} supported here")
    body.tools = [] if given.get("tool_choice") == "none" else body.tools or []
    if len(body.tools) > _MOST_TOOLS or len(bytes(fields.get("tools", b""))) > _LARGEST_TOOLS:
        raise Problem(422, f"tools: at most {_MOST_TOOLS}, of {_LARGEST_TOOLS:,} bytes in all")
    tools = read_tools(body.tools, keep=False)
    if any(tool.native is not None for tool in tools):
        raise InvalidValue("tools: a tool of a client is a function; others are the agent's")
    known = {*body.__struct_fields__, *_ONLY}
    ignored = ", ".join(sorted(name for name in fields if name not in known and _NAME.fullmatch(name)))
    return ignored, [tool.name for tool in tools]


def items_in(body: Body) -> list[Item]:
    """The items of a request, without reasoning."""
    _check_parts("messages", body.messages)
    _check_parts("input", given := [] if isinstance(body.input, str) else body.input)
    if wrong := [str(kind) for item in given if (kind := item.get("type", "message")) not in _INPUT]:
        raise InvalidValue(f"input: items of the type {cut(wrong[0])!r} are not supported here")
    if body.messages:
        found = provider_for("openai").read_history({"messages": body.messages})
    else:
        said = {"instructions": body.instructions or "", "input": body.input}
        found = provider_for("openai-responses").read_history(said)
    return [item for item in found if isinstance(item, Message | ToolCall | ToolResult)]


def _check_parts(path: str, items: Sequence[Json]) -> None:
    """Refuse what would be sent to the model as JSON text, because no part can be made of it."""
    for at, item in enumerate(items):
        for name in ("content", "output") if item.get("type") != "reasoning" else ():
            for index, part in enumerate(entries_in(item.get(name))):
                if not isinstance(part, str) and read_part(fields_in(part)) is None:
                    raise InvalidValue(f"{path}[{at}].{name}[{index}]: this part cannot be read")


def new_items(items: Sequence[Item], said: Sequence[Content], waiting: Mapping[str, ToolCall]) -> list[Item]:
    """What is new in a history that is sent again; `said` are the messages of the user on record.

    Answers are as on record. The items may also be new ones only. If they neither continue what was said nor
    are new, it is a `Conflict`.
    """
    if not said:
        return list(items)
    users = [at for at, item in enumerate(items) if is_users(item)]
    if [items[at].content for at in users[: len(said)]] == said:  # type: ignore[union-attr]
        items = items[users[len(said) - 1] + 1 :]
        answered = {item.call_id for item in items if isinstance(item, ToolCall)}.difference(waiting)
        return [one for one in items if not _is_answer(one) and getattr(one, "call_id", None) not in answered]
    if any(map(_is_answer, items)):
        raise Conflict(
            "the messages do not continue the conversation as it is on record: send all of them unchanged "
            "with new ones behind, or only new ones; a changed history is another conversation"
        )
    return list(items)


def is_users(item: Item | None) -> TypeGuard[Message]:
    """Whether an item is a message of the user; a correction of an answer is not."""
    return isinstance(item, Message) and item.role == "user" and not item.extras.get("correction")


def _is_answer(item: Item) -> bool:
    return isinstance(item, ToolCall) or (isinstance(item, Message) and item.role == "assistant")


def job_of(items: Iterable[Item], waiting: Mapping[str, ToolCall], body: Body, key: str | None) -> Job:
    """The job that answers the last of some items, a message or results; the items before come with it.

    `waiting` are the open calls of the conversation by their ids. A result is of one that the client runs, or
    of a call among the items; and if results are what is answered, no such call is left without one.
    """
    calls, made = dict(waiting), list[Item]()
    for item in items:
        if isinstance(item, ToolCall):
            if item.call_id in calls:
                continue
            item = calls[item.call_id] = replace(item, extras={CALLERS: True})
        elif isinstance(item, ToolResult):
            call = calls.pop(item.call_id, None)
            if call is None or CALLERS not in call.extras:
                raise InvalidValue(f"no call {cut(item.call_id)!r} waits for a result of the client")
            item = replace(item, name=call.name)
        made.append(item)
    last = next(reversed(made), None)
    results = list(takewhile(lambda item: isinstance(item, ToolResult), reversed(made)))[::-1]
    if not results and not (is_users(last) and last.content):
        raise InvalidValue("the last item is a message of the user, with content, or the result of a call")
    left = [name for name, call in calls.items() if CALLERS in call.extras]
    if results and left:
        raise InvalidValue(f"the call {cut(left[0])!r} has no result: send the results of all calls")
    given = made[: -len(results) or -1]
    before = tuple(replace(item, extras={**item.extras, _GIVEN: True}) for item in given)
    options: Any = {"results": tuple(results), "tools": body.tools or (), "is_streamed": bool(body.stream)}
    return Job.of(last if isinstance(last, Message) else None, id=key, before=before, **options)


# Responses

_PIECE = re.compile(r"\s{0,32}\S{1,16}|\s{1,32}")
"""How texts are cut; a piece depends only on what is before it."""

_INCOMPLETE = {"length": "max_output_tokens", "refused": "content_filter"}


class Response:
    """A response as it is made. Each verb returns the events that it causes."""

    def __init__(self, response_id: str, created: int, model: str, conversation: str, job: str) -> None:
        self._number, self._index = -1, -1
        self._name = f"{blake2b(job.encode(), digest_size=12).hexdigest()}_"
        self._is_open, self._said, self._held = False, "", ""  # the open text, and its end, not told yet
        self._early = ""  # words that were told before their message was recorded
        self._output: list[Output] = []
        self._body = ServedResponse(
            id=response_id, created_at=created, model=model, conversation={"id": conversation}
        )

    @property
    def body(self) -> ServedResponse:
        """The response as it is now."""
        return replace(self._body, output=tuple(self._output))

    def begin(self) -> list[Json]:
        """It is accepted."""
        return [self._event(f"response.{name}", response=self.body) for name in ("created", "in_progress")]

    def restart(self) -> list[Json]:
        """Another process goes on with the job: words that were not recorded are void."""
        self._early = ""
        return list(self._close("incomplete"))

    def speak(self, text: str) -> list[Json]:
        """Words of a message that is not recorded yet."""
        self._early += text
        return list(self._write(text))

    def take(self, item: Item) -> list[Json]:
        """An item of the turn is recorded."""
        if _GIVEN in item.extras:
            return []
        if isinstance(item, Message) and item.role == "assistant":
            return list(self._recorded(item.text))
        if isinstance(item, ToolCall) and CALLERS in item.extras:
            return [*self._close(), *self._call(item)]
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

    def _recorded(self, text: str) -> Iterator[Json]:
        """A message is recorded; what was told of it before is not told again.

        Words do not say where a message ends, so those between two calls are one text.
        """
        early = self._early
        self._early = early.removeprefix(text) if early.startswith(text) else ""
        if not early.startswith(text):
            yield from self._write(text.removeprefix(early))

    def _write(self, text: str) -> Iterator[Json]:
        if not text:
            return
        if not self._is_open:
            self._is_open, self._index = True, self._index + 1
            yield self._item("added", self._message("in_progress"))
            yield self._of_text("content_part.added", part=OutputText(text=""))
        self._said += text
        *pieces, self._held = _PIECE.findall(self._held + text)
        for piece in pieces:
            yield self._of_text("output_text.delta", delta=piece, logprobs=[])

    def _close(self, status: State = "completed") -> Iterator[Json]:
        """End the open text."""
        if self._is_open:
            item = self._message(status)
            yield self._of_text("output_text.delta", delta=self._held, logprobs=[])
            yield self._of_text("output_text.done", text=self._said, logprobs=[])
            yield self._of_text("content_part.done", part=OutputText(text=self._said))
            yield self._item("done", item)
            self._output += [item] if status == "completed" else []
            self._is_open, self._said, self._held = False, "", ""

    def _message(self, status: State) -> OutputMessage:
        content = [OutputText(text=self._said)] if self._said else []
        return OutputMessage(id=f"msg_{self._name}{self._index}", status=status, content=content)

    # Events

    def _call(self, call: ToolCall) -> Iterator[Json]:
        self._index += 1
        item = OutputCall(
            id=f"fc_{self._name}{self._index}",
            status="completed",
            call_id=call.call_id,
            name=call.name,
            arguments=call.arguments,
        )
        place = {"item_id": item.id, "output_index": self._index}
        name = "response.function_call_arguments"
        yield self._item("added", replace(item, arguments="", status="in_progress"))
        yield self._event(f"{name}.delta", delta=call.arguments, **place)
        yield self._event(f"{name}.done", arguments=call.arguments, name=call.name, **place)
        yield self._item("done", item)
        self._output.append(item)

    def _item(self, name: str, item: Output) -> Json:
        return self._event(f"response.output_item.{name}", output_index=self._index, item=item)

    def _of_text(self, name: str, **fields: Any) -> Json:
        place = {"item_id": f"msg_{self._name}{self._index}", "output_index": self._index, "content_index": 0}
        return self._event(f"response.{name}", **place, **fields)

    def _event(self, kind: str, **fields: Any) -> Json:
        self._number += 1
        return {"type": kind, "sequence_number": self._number, **fields}


def encoded(event: Json, after: int = -1) -> bytes:
    """An event as it is sent; nothing if its number is not above `after`."""
    if event["sequence_number"] <= after:
        return b""
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), msgspec.json.encode(event))


def _usage(usage: Usage) -> ResponseUsage:
    return ResponseUsage(
        input_tokens=usage.input,
        input_tokens_details=InputDetails(
            cached_tokens=usage.cache_read, cache_write_tokens=usage.cache_write
        ),
        output_tokens=usage.output,
        output_tokens_details=OutputDetails(reasoning_tokens=usage.reasoning),
        total_tokens=usage.input + usage.output,
    )


# Chat completions: the events of a response in fewer words

ENDED = ("completed", "incomplete", "failed", "cancelled")
"""The states of a response that has ended."""

_FINISH = {"max_output_tokens": "length", "content_filter": "content_filter"}


class Chat:
    """The chunks of a chat completion, made of the events of a response."""

    def __init__(self, *, has_usage: bool) -> None:
        self._has_usage, self._head, self._texts, self._calls = has_usage, dict[str, Any](), 0, 0

    def chunks(self, event: Json) -> list[Json]:
        """The chunks of an event."""
        response, item = event.get("response"), event.get("item")
        match event["type"], item:
            case "response.created", _:
                self._head = {"id": f"chatcmpl-{response.id}", "object": "chat.completion.chunk"}
                self._head |= {"created": response.created_at, "model": response.model}
                return [self._chunk({"role": "assistant", "content": ""})]
            case "response.output_item.added", OutputMessage():
                self._texts += 1
                return [self._chunk({"content": "\n\n"})] if self._texts > 1 else []
            case "response.output_text.delta", _:
                return [self._chunk({"content": event["delta"]})]
            case "response.output_item.done", OutputCall():
                function = CalledFunction(name=item.name, arguments=item.arguments)
                call = {"id": item.call_id, "type": "function", "function": function}
                self._calls += 1
                return [self._chunk({"tool_calls": [{"index": self._calls - 1, **call}]})]
            case (("response.completed" | "response.incomplete" | "response.cancelled"), _):
                reason = (response.incomplete_details or {}).get("reason", "")
                finish = "tool_calls" if self._calls else _FINISH.get(reason, "stop")
                last: Json = {**self._head, "choices": [], "usage": _chat_usage(response.usage)}
                return [self._chunk({}, finish), *([last] if self._has_usage else [])]
            case "response.failed", _:
                told = {"code": response.error.code, "message": response.error.message}
                return [{"error": {**told, "type": "server_error", "param": None}}]
            case _:
                return []

    def encoded(self, event: Json) -> bytes:
        """The chunks of an event as they are sent."""
        sent = [b"data: %b\n\n" % msgspec.json.encode(chunk) for chunk in self.chunks(event)]
        is_last = event["type"].removeprefix("response.") in ENDED
        return b"".join([*sent, b"data: [DONE]\n\n"] if is_last else sent)

    def _chunk(self, delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {**self._head, "choices": [choice], **({"usage": None} if self._has_usage else {})}


def completion(events: Sequence[Json]) -> Completion:
    """The events of a response as a chat completion; `ModelFailed` if it failed."""
    response: ServedResponse = events[-1]["response"]
    if response.error is not None:
        raise ModelFailed(response.error.message)
    chat = Chat(has_usage=True)
    chunks = [chunk for event in events for chunk in chat.chunks(event)]
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    texts = [choice["delta"].get("content", "") for choice in choices]
    calls = [
        ChatCall(id=call["id"], function=call["function"])
        for choice in choices
        for call in choice["delta"].get("tool_calls", ())
    ]
    message = ChatMessage(role="assistant", content="".join(texts) or None, refusal=None, tool_calls=calls)
    last = chunks[-1]
    return Completion(
        id=last["id"],
        created=last["created"],
        model=last["model"],
        choices=[Choice(message=message, finish_reason=choices[-1]["finish_reason"])],
        usage=last["usage"],
    )


def _chat_usage(usage: ResponseUsage) -> ChatUsage:
    return ChatUsage(
        prompt_tokens=usage.input_tokens,
        prompt_tokens_details=CachedTokens(cached_tokens=usage.input_tokens_details.cached_tokens),
        completion_tokens=usage.output_tokens,
        completion_tokens_details=usage.output_tokens_details,
        total_tokens=usage.total_tokens,
    )
