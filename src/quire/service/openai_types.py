"""What OpenAI's two APIs answer, as types; the fields that these APIs have and agents do not are constant."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

Json = dict[str, Any]
State = Literal["in_progress", "completed", "incomplete"]


class _Answered(msgspec.Struct, frozen=True, kw_only=True):
    """The base of these types."""


class ServedModel(_Answered, frozen=True):
    """An agent, as a model."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "quire"


class ServedModels(_Answered, frozen=True):
    """The agents that may be asked."""

    data: Sequence[ServedModel]
    object: Literal["list"] = "list"


# Responses


class OutputText(_Answered, frozen=True, tag_field="type", tag="output_text"):
    """A part of a message."""

    text: str
    annotations: Sequence[Json] = ()
    logprobs: Sequence[Json] = ()


class OutputMessage(_Answered, frozen=True, tag_field="type", tag="message"):
    """A message of the agent."""

    id: str
    status: State
    content: Sequence[OutputText]
    role: Literal["assistant"] = "assistant"


class OutputCall(_Answered, frozen=True, tag_field="type", tag="function_call"):
    """A call of a tool that the client runs."""

    id: str
    status: State
    call_id: str
    name: str
    arguments: str


class SummaryText(_Answered, frozen=True, tag_field="type", tag="summary_text"):
    """What is known of the reasoning of a model."""

    text: str


class OutputReasoning(_Answered, frozen=True, tag_field="type", tag="reasoning"):
    """Reasoning of the model."""

    id: str
    status: State
    summary: Sequence[SummaryText] = ()


Output = OutputMessage | OutputCall | OutputReasoning


class InputDetails(_Answered, frozen=True):
    """Of the tokens that were read, those that a cache served or took."""

    cached_tokens: int
    cache_write_tokens: int


class OutputDetails(_Answered, frozen=True):
    """Of the tokens that were written, those of reasoning."""

    reasoning_tokens: int


class ResponseUsage(_Answered, frozen=True):
    """What all requests of the turn used."""

    input_tokens: int
    input_tokens_details: InputDetails
    output_tokens: int
    output_tokens_details: OutputDetails
    total_tokens: int


class ResponseError(_Answered, frozen=True):
    """Why a response failed."""

    message: str
    code: Literal["server_error"] = "server_error"


class ServedResponse(_Answered, frozen=True):
    """A response. Its id says where it is, and its conversation is one of the service."""

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
    background: bool = False
    instructions: None = None
    metadata: Json = {}
    tools: Sequence[Json] = ()
    parallel_tool_calls: bool = True
    temperature: None = None
    top_p: None = None
    tool_choice: Literal["auto"] = "auto"


# Chat completions


class CalledFunction(_Answered, frozen=True):
    """The function of a call."""

    name: str
    arguments: str


class ChatCall(_Answered, frozen=True):
    """A call of a tool that the client runs."""

    id: str
    function: CalledFunction
    type: Literal["function"] = "function"


class ChatMessage(_Answered, frozen=True, omit_defaults=True):
    """The answer."""

    role: Literal["assistant"]
    content: str | None
    refusal: None
    tool_calls: Sequence[ChatCall] = ()


class Choice(_Answered, frozen=True):
    """The only choice."""

    message: ChatMessage
    finish_reason: Literal["stop", "length", "tool_calls", "content_filter"]
    index: int = 0
    logprobs: None = None


class CachedTokens(_Answered, frozen=True):
    """Of the tokens that were read, those that a cache served."""

    cached_tokens: int


class ChatUsage(_Answered, frozen=True):
    """What all requests of the turn used."""

    prompt_tokens: int
    prompt_tokens_details: CachedTokens
    completion_tokens: int
    completion_tokens_details: OutputDetails
    total_tokens: int


class Completion(_Answered, frozen=True):
    """A chat completion."""

    id: str
    created: int
    model: str
    choices: Sequence[Choice]
    usage: ChatUsage
    object: Literal["chat.completion"] = "chat.completion"
