"""Messages of LangChain and of the Vercel AI SDK, and the calls and thoughts among their content blocks.

LangChain names a type instead of a role. It keeps blocks of the provider that answered (thinking, tool_use)
beside the calls in `tool_calls`, and what merging a stream left in them. In the AI SDK (`ModelMessage`) calls
and results are parts of a content, and several results stand in one message. Messages of a user interface
(`UIMessage`) are refused: the SDK converts them itself. Sources: langchain-core, `messages`;
ai-sdk.dev/docs/reference/ai-sdk-core/model-message.
"""

from typing import Any

from quire.errors import Damaged
from quire.providers.rules import ANTHROPIC_FOREIGN_FIELDS
from quire.providers.state import is_server_block
from quire.providers.values import Json, entries_in, fields_in, json_text, object_in, text_at, text_in
from quire.tokens import FAILED

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
_CALL_ARGUMENTS = {"tool_use": "input", "tool_call": "args", "function_call": "arguments"}
_OUTPUTS = ("text", "json", "error-text", "error-json")


# --- messages --------------------------------------------------------------------------------------------


def refuse_ui_message(message: Json, path: str) -> None:
    """Raise for a message of a user interface."""
    for name in ("parts", "toolInvocations", "experimental_attachments"):
        if message.get(name):
            advice = "convert it with convertToModelMessages first"
            raise Damaged(f"a message of a user interface: {advice}", f"{path}.{name}")


def chat_messages(message: Json, path: str) -> list[Json]:
    """A message as messages of Chat Completions, in which each result is a message; mostly it is one already.

    Calls of the AI SDK stay in the content, as the blocks that `call_in` reads.
    """
    refuse_ui_message(message, path)
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
    call_id, output = text_at(block, "toolCallId", path), fields_in(block.get("output"))
    content = _output(output, text_in(output.get("type")), f"{path}.output")
    return {"role": "tool", "tool_call_id": call_id, "name": block.get("toolName"), "content": content}


def _output(output: Json, kind: str, path: str) -> Any:
    """The output of a call: a value with a kind."""
    if kind == "content":
        return entries_in(output.get("value"))
    if kind == "execution-denied":
        return FAILED + (text_in(output.get("reason")) or "the call was denied")
    if kind not in _OUTPUTS:
        raise Damaged("an output has a type and a value, as in version 5 of the AI SDK", path)
    value = output.get("value")
    text = value if isinstance(value, str) else json_text(value, path)
    return FAILED + text if kind.startswith("error") else text


# --- blocks ----------------------------------------------------------------------------------------------


def call_in(block: Json) -> Json | None:
    """The call of Chat Completions that a block in the content of a model's message stands for."""
    clean = clean_block(block)
    arguments, name = _CALL_ARGUMENTS.get(text_in(clean.get("type"))), text_in(clean.get("name"))
    call_id = text_in(clean.get("call_id")) or text_in(clean.get("id"))
    if arguments is None or not name or not call_id:
        return None
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": clean.get(arguments)}}


def clean_block(block: Json) -> Json:
    """A block without fields of libraries, which Anthropic refuses.

    Merging a stream leaves some of them; the input may stand in `partial_json` alone.
    """
    clean = {name: value for name, value in block.items() if name not in ANTHROPIC_FOREIGN_FIELDS}
    given = object_in(block.get("input") or block["partial_json"]) if "partial_json" in block else None
    return clean if given is None else {**clean, "input": given}


def thought_in(block: Json) -> Json | None:
    """The block of Anthropic that a thought, or a block of a server tool, stands for; None for another block.

    Thoughts are blocks of Anthropic, of Mistral, of LangChain (also for Bedrock) or of the AI SDK.
    """
    kind = text_in(block.get("type"))
    if kind == "thinking" and isinstance(block.get("thinking"), str):
        return {"signature": "", **clean_block(block)}
    if kind == "redacted_thinking" or is_server_block(kind):
        return clean_block(block)
    if kind not in ("reasoning", "reasoning_content", "thinking"):
        return None
    fields: Json = {**block, **fields_in(block.get("extras")), **fields_in(block.get("reasoning_content"))}
    pieces = [one for name in ("summary", "content", "thinking") for one in entries_in(fields.get(name))]
    texts = [text_in(fields.get(name)) for name in ("text", "reasoning", "reasoning_content")]
    texts += [text_in(fields_in(piece).get("text")) for piece in pieces]
    thinking, signature = "\n\n".join(filter(None, texts)), text_in(fields.get("signature"))
    return {"type": "thinking", "thinking": thinking, "signature": signature}
