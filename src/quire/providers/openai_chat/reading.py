"""OpenAI Chat Completions: answers as items."""

from typing import Any

from quire.errors import Damaged
from quire.items import Item, ToolCall
from quire.providers.endings import settled, spelled
from quire.providers.hearing import fault_in
from quire.providers.json_values import fields_in
from quire.providers.openai_chat.blocks import entries, fields
from quire.providers.openai_chat.outputs import outputs_of
from quire.providers.openai_chat.states import Maker
from quire.providers.openai_chat.usage import read_usage
from quire.providers.pieces import made_id
from quire.providers.provider import Answer, Finish, Parsed, error_in, failed, plain_json
from quire.providers.sheet import Json
from quire.tokens import Usage

_FINISHES: dict[str, Finish] = {
    **dict.fromkeys(("stop", "eos", "eos_token", "stop_sequence", "end_turn"), "stop"),
    **dict.fromkeys(("complete", "completed", "normal"), "stop"),
    **dict.fromkeys(("tool_calls", "tool_call", "tool_use", "function_call"), "calls"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length"), "length"),
    "model_context_window_exceeded": "length",
    **dict.fromkeys(("content_filter", "refusal", "sensitive", "safety"), "refused"),
}
"""Why a model stopped, in OpenAI's words and in those of services that hand on what others say."""


def parse(response: Any, answer: Answer) -> Parsed:
    """A whole response; of several choices the first."""
    body = plain_json(response)
    choices = entries(body.get("choices") or (), "choices")
    error = fault_in(body)
    if not choices and error is not None:
        return failed(body.get("model"), error)
    if not choices:
        raise Damaged("the response has no choices", "choices")
    choice = fields(choices[0], "choices[0]")
    message = fields(choice.get("message"), "choices[0].message")
    model = _text(body.get("model"))
    error = error or error_in(choice.get("error"))
    return assembled(message, choice.get("finish_reason"), usage_of(body), model, answer, error)


def usage_of(body: Json) -> Usage | None:
    """What a response or a chunk says of usage; Groq has it in a field of its own in streams."""
    report = body.get("usage") or fields_in(body.get("x_groq")).get("usage")
    return read_usage(report, "prompt_tokens", "completion_tokens")


def assembled(
    message: Json, reason: Any, usage: Usage | None, model: str | None, answer: Answer, error: str | None
) -> Parsed:
    """An answer from its message, from why it ended and from what is said to have gone wrong."""
    maker = Maker(answer.model or model or "", answer.prefix, answer.tool, made_id)
    items = outputs_of(message, "choices[0].message", maker)
    finish = _finish(message, reason, items)
    items, error = settled(items, reason, finish, error)
    return Parsed(tuple(items), usage, finish, model, error)


def _finish(message: Json, reason: Any, items: list[Item]) -> Finish:
    finish = _FINISHES.get(spelled(reason), "other")
    if finish != "stop":
        return finish
    if message.get("refusal"):
        return "refused"
    # Some services say that they stopped where they called.
    return "calls" if any(isinstance(item, ToolCall) for item in items) else "stop"


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
