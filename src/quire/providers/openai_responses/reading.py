"""OpenAI Responses: answers as items."""

from collections.abc import Iterable
from typing import Any

from quire.errors import Damaged
from quire.items import Item, ToolCall
from quire.providers.endings import settled
from quire.providers.hearing import fault_in
from quire.providers.openai_chat.blocks import entries, fields
from quire.providers.openai_chat.usage import read_usage
from quire.providers.openai_responses.outputs import Maker, outputs_of
from quire.providers.pieces import made_id
from quire.providers.provider import Answer, Finish, Parsed, failed, plain_json, words_in
from quire.providers.sheet import Json

_DONE = "completed"
_CUTS: dict[str, Finish] = {"max_output_tokens": "length", "content_filter": "refused"}


def parse(response: Any, answer: Answer) -> Parsed:
    """A whole response."""
    body = plain_json(response)
    error = fault_in(body)
    if not isinstance(body.get("output"), list | tuple):
        if error is not None:
            return failed(body.get("model"), error)
        raise Damaged("the response has no output", "output")
    return assembled(body, entries(body["output"], "output"), answer, error)


def assembled(
    body: Json, output: Iterable[Any], answer: Answer, error: str | None, *, ended: bool = True
) -> Parsed:
    """An answer from its items and from what is said of it as a whole, or of what went wrong with it."""
    model = body.get("model")
    model = model if isinstance(model, str) and model else None
    maker = Maker(answer.model or model or "", answer.prefix, answer.tool, made_id)
    items: list[Item] = []
    refused = False
    for index, value in enumerate(output):
        item = fields(value, f"output[{index}]")
        items += outputs_of(item, f"output[{index}]", maker)
        refused = refused or _is_refusal(item)
    reason = _reason(body) if ended else None
    finish = _finish(reason, items, refused)
    items, error = settled(items, reason, finish, error)
    usage = read_usage(body.get("usage"), "input_tokens", "output_tokens")
    return Parsed(tuple(items), usage, finish, model, error)


def _reason(body: Json) -> str:
    """Why an answer ended; services that only speak the wire may leave it out, and the failed say so."""
    status = words_in(body.get("status")) or _DONE
    if status != "incomplete":
        return status
    details = fields(body.get("incomplete_details") or {}, "incomplete_details")
    return words_in(details.get("reason")) or status


def _finish(reason: str | None, items: list[Item], refused: bool) -> Finish:
    if reason != _DONE:
        return _CUTS.get(reason or "", "other")
    if refused:
        return "refused"
    return "calls" if any(isinstance(item, ToolCall) for item in items) else "stop"


def _is_refusal(item: Json) -> bool:
    content = item.get("content") if item.get("type") == "message" else None
    blocks = entries(content, "content") if isinstance(content, list | tuple) else []
    return any(fields(block, "content").get("type") == "refusal" for block in blocks)
