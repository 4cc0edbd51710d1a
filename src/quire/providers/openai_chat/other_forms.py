"""Messages as other libraries keep them, put as messages of this wire.

The AI SDK has calls and results as parts of a content, several results in one message, and media beside it.
Ollama has thoughts under a name of its own. LangChain has calls beside a content and in it, as their service
gave them.
"""

from collections.abc import Collection
from typing import Any, cast

from quire.providers.block_thoughts import bare_thoughts, is_thought, whole
from quire.providers.json_values import entries_in, fields_in, json_text
from quire.providers.openai_chat.blocks import entries, text_at
from quire.providers.openai_chat.elsewhere import ATTACHED
from quire.providers.openai_chat.wishes import THOUGHTS, thoughts_name
from quire.providers.other_media import attached
from quire.providers.provider import words_in
from quire.providers.sheet import Json
from quire.providers.wording import FAILED

_CALL, _RESULT, _CALL_ID = "tool-call", "tool-result", "toolCallId"
_OF_SERVICES = {"tool_use": "input", "tool_call": "args", "function_call": "arguments"}
"""The field of a call in a block that has its arguments, as Anthropic, LangChain and Responses write one."""


def as_chat(message: Json, path: str, answered: Collection[str] = (), model: str = "") -> list[Json]:
    """A message as messages of this wire, which nearly all are already.

    A block of another service's that is a call is one here too if it was `answered`. Thoughts in blocks get
    the name that the service of the `model` has for them.
    """
    message = _with_attachments(message, path)
    content = message.get("content")
    if not isinstance(content, list | tuple):
        return [_with_thoughts(message)]
    blocks = [(f"{path}.content[{n}]", block) for n, block in enumerate(cast("list[Any]", content))]
    results = [_result(block, place) for place, block in blocks if _kind(block) == _RESULT]
    calls, rest = _with_calls(message, [told for told in blocks if _kind(told[1]) != _RESULT], answered)
    thoughts, is_reply = "", message.get("role") == "assistant"
    if is_reply:
        thoughts, rest = bare_thoughts(rest)
    if not is_reply or not any(map(is_thought, rest)):
        rest = [block for block in rest if _kind(block) != _CALL]
    told = {**message, "content": rest}
    if calls:
        told["tool_calls"] = [*entries(message.get("tool_calls") or (), f"{path}.tool_calls"), *calls]
    if thoughts and not any(message.get(name) for name in THOUGHTS):
        told[thoughts_name(model)] = thoughts
    if not results:
        return [_with_thoughts(told)]
    if message.get("role") == "tool":
        # What else is with results is of no known kind: it becomes notes, which stand after them all.
        return [*results, *([{**told, "role": "user"}] if rest else ())]
    return [_with_thoughts(told), *results]


def _kind(block: Any) -> str:
    return words_in(fields_in(block).get("type"))


def _with_attachments(message: Json, path: str) -> Json:
    """A message with what is attached to it in its content."""
    given = entries_in(message.get(ATTACHED))
    if not given:
        return message
    content = message.get("content")
    is_list = isinstance(content, list | tuple)
    said = entries(content, f"{path}.content") if is_list else [content] if content else []
    added = [attached(one, f"{path}.{ATTACHED}[{index}]") for index, one in enumerate(given)]
    return {**message, "content": [*said, *added], ATTACHED: None}


def _with_thoughts(message: Json) -> Json:
    """A message of the model with its thoughts under a name that is read."""
    thoughts = words_in(message.get("thinking"))
    is_new = message.get("role") == "assistant" and not any(message.get(name) for name in THOUGHTS)
    return {**message, "reasoning": thoughts} if thoughts and is_new else message


def called_in(block: Json) -> str:
    """The id of the call whose place a block of a content keeps; none of any other block."""
    return words_in(block.get(_CALL_ID)) if _kind(block) == _CALL else ""


def _call(block: Json, path: str) -> Json:
    arguments = block.get("input", block.get("args"))
    function = {"name": text_at(block, "toolName", path), "arguments": arguments}
    return {"id": text_at(block, _CALL_ID, path), "type": "function", "function": function}


def _with_calls(
    message: Json, blocks: list[tuple[str, Any]], answered: Collection[str]
) -> tuple[list[Json], list[Any]]:
    """The calls in blocks, those of a service's once and not again, and all blocks, with places for calls."""
    is_reply = message.get("role") == "assistant"
    parts = [_call(block, place) if _kind(block) == _CALL else None for place, block in blocks]
    own = (*entries_in(message.get("tool_calls")), *parts)
    known = {words_in(fields_in(call).get("id")) for call in own}
    calls, rest, placed = list[Json](), list[Any](), set[str]()
    for part, (_, block) in zip(parts, blocks, strict=True):
        call = part or (_of_service(fields_in(block)) if is_reply else None)
        if call is None or (call["id"] not in known and call["id"] not in answered):
            rest.append(block)
            continue
        if call["id"] not in placed:
            placed.add(call["id"])
            rest.append({"type": _CALL, _CALL_ID: call["id"]})
        if part is not None or call["id"] not in known:
            calls.append(call)
            known.add(call["id"])
    return calls, rest


def _of_service(given: Json) -> Json | None:
    """The call that a block of another service's is; none if it is none that can be told by its id."""
    block = whole(given)
    held, name = _OF_SERVICES.get(_kind(block)), words_in(block.get("name"))
    call_id = words_in(block.get("call_id")) or words_in(block.get("id"))
    if held is None or not name or not call_id:
        return None
    function = {"name": name, "arguments": block.get(held)}
    return {"id": call_id, "type": "function", "function": function}


def _result(block: Json, path: str) -> Json:
    call_id, name = text_at(block, _CALL_ID, path), words_in(block.get("toolName"))
    return {"role": "tool", "tool_call_id": call_id, "name": name, "content": _given(block, path)}


def _given(block: Json, path: str) -> Any:
    """What a call gave: a value that says its kind, or, as it was before that, any value."""
    output: Any = block.get("output")
    told, kind = fields_in(output), _kind(output)
    if kind == "content":
        return entries(told.get("value") or (), f"{path}.output.value")
    if kind == "execution-denied":
        return f"{FAILED}{words_in(told.get('reason')) or 'the call was denied'}"
    if kind in ("text", "json", "error-text", "error-json"):
        value, has_failed = told.get("value"), kind.startswith("error")
    else:
        value, has_failed = block.get("result", output), block.get("isError") is True
    text = value if isinstance(value, str) else json_text(value, path)
    return FAILED + text if has_failed else text
