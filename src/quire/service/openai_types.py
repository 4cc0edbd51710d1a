"""The responses of OpenAI's two APIs as types; fields that agents do not have are constant."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

Json = dict[str, Any]
Finish = Literal["stop", "length", "tool_calls", "content_filter"]
State = Literal["in_progress", "completed", "incomplete"]


class _Shape(msgspec.Struct, frozen=True, kw_only=True):
    """The base of these types."""


class ServedModel(_Shape, frozen=True):
    """An agent, as a model."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "quire"


class ServedModels(_Shape, frozen=True):
    """The agents that the caller may use."""

    data: Sequence[ServedModel]
    object: Literal["list"] = "list"


# Responses


class OutputText(_Shape, frozen=True, tag_field="type", tag="output_text"):
    """A part of a message."""

    text: str
    annotations: Sequence[Json] = ()
    logprobs: Sequence[Json] = ()


class OutputMessage(_Shape, frozen=True, tag_field="type", tag="message"):
    """A message of the agent."""

    id: str
    status: State
    content: Sequence[OutputText]
    role: Literal["assistant"] = "assistant"


class OutputCall(_Shape, frozen=True, tag_field="type", tag="function_call"):
    """A call of a tool that the client runs."""

    id: str
    status: State
    call_id: str
    name: str
    arguments: str


class SummaryText(_Shape, frozen=True, tag_field="type", tag="summary_text"):
    """The readable part of the model's reasoning."""

    text: str


class OutputReasoning(_Shape, frozen=True, tag_field="type", tag="reasoning"):
    """Reasoning of the model."""

    id: str
    status: State
    summary: Sequence[SummaryText] = ()


Output = OutputMessage | OutputCall | OutputReasoning


class ResponseUsage(_Shape, frozen=True):
    """What all requests of the turn used."""

    input_tokens: int
    input_tokens_details: Mapping[Literal["cached_tokens", "cache_write_tokens"], int]
    output_tokens: int
    output_tokens_details: Mapping[Literal["reasoning_tokens"], int]
    total_tokens: int


class ResponseError(_Shape, frozen=True):
    """Why a response failed."""

    message: str
    code: Literal["server_error"] = "server_error"


class ServedResponse(_Shape, frozen=True):
    """A response. Its id is its address, and its conversation is one of the service."""

    id: str
    created_at: int
    model: str
    conversation: Mapping[Literal["id"], str]
    status: Literal["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"] = "in_progress"
    object: Literal["response"] = "response"
    output: Sequence[Output] = ()
    error: ResponseError | None = None
    incomplete_details: Mapping[Literal["reason"], str] | None = None
    usage: ResponseUsage | None = None
    instructions: None = None
    metadata: Json = {}
    tools: Sequence[Json] = ()
    parallel_tool_calls: bool = True
    temperature: None = None
    top_p: None = None
    tool_choice: Literal["auto"] = "auto"


# Chat completions


class ChatCall(_Shape, frozen=True):
    """A call of a tool that the client runs."""

    id: str
    function: Mapping[Literal["name", "arguments"], str]
    type: Literal["function"] = "function"


class ChatMessage(_Shape, frozen=True, omit_defaults=True):
    """The answer."""

    role: Literal["assistant"]
    content: str | None
    refusal: None
    tool_calls: Sequence[ChatCall] = ()


class Choice(_Shape, frozen=True):
    """The only choice."""

    message: ChatMessage
    finish_reason: Finish
    index: int = 0
    logprobs: None = None


class ChatUsage(_Shape, frozen=True):
    """What all requests of the turn used."""

    prompt_tokens: int
    prompt_tokens_details: Mapping[Literal["cached_tokens"], int]
    completion_tokens: int
    completion_tokens_details: Mapping[Literal["reasoning_tokens"], int]
    total_tokens: int


class Completion(_Shape, frozen=True):
    """A chat completion."""

    id: str
    created: int
    model: str
    choices: Sequence[Choice]
    usage: ChatUsage
    object: Literal["chat.completion"] = "chat.completion"
