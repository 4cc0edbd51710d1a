"""Anthropic Messages: an answer as items."""

from collections.abc import Callable, Sequence
from typing import Any

from quire.errors import Damaged
from quire.items import Item, Message, ToolCall
from quire.providers.anthropic.abilities import NAME
from quire.providers.anthropic.calling import beside_call
from quire.providers.anthropic.thinking import named_container
from quire.providers.block_thoughts import CONTAINER, reasoning_of
from quire.providers.endings import failure_in, settled
from quire.providers.hearing import fault_in
from quire.providers.json_values import json_text
from quire.providers.native import beside
from quire.providers.pieces import made_id
from quire.providers.provider import Answer, Finish, Parsed, failed, plain_json, words_in
from quire.providers.sheet import Json
from quire.tokens import Usage

_FINISHES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
    "pause_turn": "paused",
}


def parse(response: Any, answer: Answer) -> Parsed:
    """A whole response, as JSON or as the client gives it."""
    body = plain_json(response)
    content = body.get("content")
    error = fault_in(body)
    if not isinstance(content, list) and error is not None:
        return failed(body.get("model"), error)
    if not isinstance(content, list):
        raise Damaged("a response of Messages has a list of blocks", "$.content")
    model = words_in(body.get("model"))
    blocks = [plain_json(block) for block in content]  # pyright: ignore[reportUnknownVariableType]
    reason = words_in(body.get("stop_reason"))
    finish = finish_of(reason)
    if (finish == "length" or failure_in(reason)) and is_call(blocks[-1:]):
        # It has what fields had come by then, and nothing tells whether there were more.
        blocks.pop()
    container = named_container(body.get(CONTAINER))
    items = outputs(blocks, answer, model, "$.content", container, made_id)
    items, error = settled(items, reason, finish, error)
    return Parsed(tuple(items), usage_of(body.get("usage")), finish, model or None, error)


def is_call(blocks: Sequence[Json]) -> bool:
    """Whether there is a block, and it is a call."""
    return bool(blocks) and blocks[0].get("type") == "tool_use"


def finish_of(reason: Any) -> Finish:
    """Why the model stopped."""
    return _FINISHES.get(words_in(reason), "other")


def usage_of(usage: Any) -> Usage | None:
    """What was used; the wire counts what was read from and written to the cache apart from the input."""
    if usage is None:
        return None
    told = plain_json(usage)
    details = told.get("output_tokens_details")
    read, written = _count(told, "cache_read_input_tokens"), _count(told, "cache_creation_input_tokens")
    output = _count(told, "output_tokens")
    thought = _count(plain_json(details), "thinking_tokens") if details else 0
    return Usage(
        input=_count(told, "input_tokens") + read + written,
        output=output,
        cache_read=read,
        cache_write=written,
        reasoning=min(thought, output),
    )


def outputs(
    blocks: Sequence[Json],
    answer: Answer,
    model: str,
    path: str,
    container: str | None = None,
    call_id: Callable[[], str] | None = None,
) -> list[Item]:
    """The blocks of a model's turn as items, in their order; `container` is where its programs run.

    `call_id` makes an id for a call that has none; in a history it has to have one, which its result names.
    """
    items: list[Item] = []
    texts: list[Json] = []
    for index, block in enumerate([*blocks, {}]):
        if block.get("type") == "text":
            texts.append(block)
            continue
        items += _message(texts, path)
        texts = []
        if block.get("type") == "tool_use":
            named = block if block.get("id") or call_id is None else {**block, "id": call_id()}
            items.append(_call(named, answer, f"{path}[{index}]"))
        elif block:
            items.append(reasoning_of(block, answer, model, f"{path}[{index}]", container))
    return items


def _message(blocks: list[Json], path: str) -> list[Message]:
    """Texts in a row as one message; those with citations are pieces of one text."""
    if any(not isinstance(block.get("text"), str | None) for block in blocks):
        raise Damaged("what is said is text", path)
    texts = [text for block in blocks if (text := block.get("text"))]
    if not texts:
        return []
    cited = [block["citations"] for block in blocks if block.get("citations")]
    if len(texts) == 1 or cited:
        return [Message("assistant", "".join(texts), extras=beside(NAME, {"citations": cited}))]
    return [Message("assistant", tuple(texts))]


def _call(block: Json, answer: Answer, path: str) -> ToolCall:
    call_id, name = block.get("id"), block.get("name")
    if not isinstance(call_id, str) or not isinstance(name, str) or not call_id or not name:
        raise Damaged("a call has an id and a name", path)
    tool = answer.tool(name)
    given = answer.arguments(tool, block.get("input"))
    text = given if isinstance(given, str) else json_text({} if given is None else given, f"{path}.input")
    return ToolCall(call_id, tool, text, extras=beside_call(block))


def _count(told: Json, key: str) -> int:
    value = told.get(key)
    return value if isinstance(value, int) and value > 0 else 0
