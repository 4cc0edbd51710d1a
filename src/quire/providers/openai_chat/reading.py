"""OpenAI Chat Completions: answers as items."""

from typing import Any

from quire.errors import Damaged
from quire.items import Item, Message, ToolCall, new_id
from quire.providers.openai_chat.blocks import entries, fields
from quire.providers.openai_chat.outputs import outputs_of, whole_calls
from quire.providers.openai_chat.states import Maker
from quire.providers.openai_chat.usage import read_usage
from quire.providers.provider import Answer, Finish, Parsed, error_in, failed, plain_json, words_in
from quire.providers.sheet import Json
from quire.tokens.usage import Usage

_FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    "content_filter": "refused",
}


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
    parsed = assembled(message, choice.get("finish_reason"), usage_of(body), model, answer)
    return parsed._replace(error=error or error_in(choice.get("error")))


def fault_in(body: Json) -> str | None:
    """What a response or a chunk says went wrong; one of vLLM says so of itself."""
    told = body.get("error")
    return error_in(body if told is None and body.get("object") == "error" else told)


def usage_of(body: Json) -> Usage | None:
    """What a response or a chunk says of usage."""
    return read_usage(body.get("usage"), "prompt_tokens", "completion_tokens")


def assembled(message: Json, reason: Any, usage: Usage | None, model: str | None, answer: Answer) -> Parsed:
    """An answer from its message and from why it ended; an answer without a reason was cut off."""
    maker = Maker(answer.model or model or "", answer.prefix, answer.tool, lambda: f"call_{new_id()}")
    items = outputs_of(message, "choices[0].message", maker)
    finish = _finish(message, reason, items)
    if reason is None or finish == "length":
        items = whole_calls(items)
    if reason is None:
        items = [_cut_off(item) for item in items]
    return Parsed(tuple(items), usage, finish, model)


def _finish(message: Json, reason: Any, items: list[Item]) -> Finish:
    finish = _FINISHES.get(words_in(reason), "other")
    if finish != "stop":
        return finish
    if message.get("refusal"):
        return "refused"
    # Some services say that they stopped where they called.
    return "calls" if any(isinstance(item, ToolCall) for item in items) else "stop"


def _cut_off(item: Item) -> Item:
    return Message(item.role, item.content, interrupted=True) if isinstance(item, Message) else item


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
