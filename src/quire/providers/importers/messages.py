"""Messages of LangChain and of the Vercel AI SDK (`ModelMessage`), as messages of Chat Completions.

LangChain names a type instead of a role. In the AI SDK calls and results are parts of a content, and several
results stand in one message. Messages of a user interface (`UIMessage`) are refused: the SDK converts them
itself. Sources: langchain-core, `messages`; ai-sdk.dev/docs/reference/ai-sdk-core/model-message.
"""

from typing import Any

from quire.errors import Damaged
from quire.providers.values import Json, entries_in, fields_in, json_text, text_at, text_in
from quire.tokens import FAILED

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function"}
_UI_TEXTS = frozenset(("text", "reasoning", "step-start"))


def refuse_ui_message(message: Json, path: str) -> None:
    """Raise for a message of a user interface that holds more than its content says."""
    parts = entries_in(message.get("parts"))
    kinds = {text_in(fields_in(part).get("type")) for part in parts}
    beside = next(
        (name for name in ("toolInvocations", "experimental_attachments") if message.get(name)), None
    )
    if beside or (parts and not message.get("content")) or kinds - _UI_TEXTS:
        advice = "convert it with convertToModelMessages first"
        raise Damaged(f"a message of a user interface: {advice}", f"{path}.{beside or 'parts'}")


def chat_messages(message: Json, path: str) -> list[Json]:
    """A message as messages of Chat Completions, in which each result is a message; mostly it is one already.

    Calls of the AI SDK keep their place among thoughts, as the blocks that `blocks.call_in` reads.
    """
    role = _ROLES.get(text_in(message.get("type")))
    if "role" not in message and role is not None:
        message = {"role": role, "content": None, **message}
    blocks = entries_in(message.get("content"))
    if not any(fields_in(block).get("type") in ("tool-call", "tool-result") for block in blocks):
        return [message]
    results, rest = list[Json](), list[Any]()
    for index, block in enumerate(blocks):
        fields, place = fields_in(block), f"{path}.content[{index}]"
        if fields.get("type") == "tool-result":
            results.append(_result(fields, place))
        else:
            rest.append(_call(fields, place) if fields.get("type") == "tool-call" else block)
    spoken = {**message, "content": rest}
    if message.get("role") == "tool":
        return [*results, *([{**spoken, "role": "user"}] if rest else ())]
    return [spoken, *results]


def _call(block: Json, path: str) -> Json:
    call_id, name = text_at(block, "toolCallId", path), text_at(block, "toolName", path)
    return {"type": "tool_call", "id": call_id, "name": name, "args": block.get("input", block.get("args"))}


def _result(block: Json, path: str) -> Json:
    call_id = text_at(block, "toolCallId", path)
    content = _output(block, path)
    return {"role": "tool", "tool_call_id": call_id, "name": block.get("toolName"), "content": content}


def _output(block: Json, path: str) -> Any:
    """The output of a call: a value with a kind, or, before version 5, any value as `result`."""
    output = fields_in(block.get("output"))
    kind = text_in(output.get("type"))
    if kind == "content":
        return entries_in(output.get("value"))
    if kind == "execution-denied":
        return FAILED + (text_in(output.get("reason")) or "the call was denied")
    if kind in ("text", "json", "error-text", "error-json"):
        value, has_failed = output.get("value"), kind.startswith("error")
    else:
        value, has_failed = block.get("result", block.get("output")), block.get("isError") is True
    text = value if isinstance(value, str) else json_text(value, path)
    return FAILED + text if has_failed else text
