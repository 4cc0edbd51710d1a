"""Messages of LangChain and of the Vercel AI SDK, and the calls and thoughts among their content blocks.

LangChain's messages have a type instead of a role. Beside the calls in `tool_calls` they keep the provider's
own blocks (thinking, tool_use), which may have leftover fields of a merged stream. In the AI SDK, calls and
results are parts. A message for a model (`ModelMessage`) may have several results. In a message of a user
interface (`UIMessage`) a call and its result are one part, and the message may have several steps. Sources:
langchain-core, `messages`; ai-sdk.dev/docs/reference/ai-sdk-core, `model-message` and `ui-message`.
"""

from typing import Any

from quire.errors import Damaged
from quire.items import Image
from quire.providers.media import image_url
from quire.providers.parts import read_part
from quire.providers.rules import ANTHROPIC_FOREIGN_FIELDS
from quire.providers.state import is_server_block
from quire.providers.values import Json, entries_in, fields_in, json_text, object_in, text_at, text_in
from quire.tokens import FAILED

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
_CALL_ARGUMENTS = {"tool_use": "input", "tool_call": "args", "function_call": "arguments"}
_MESSAGE_FIELDS = ("role", "name", "tool_call_id", "refusal")
_OUTPUTS = ("text", "json", "error-text", "error-json")


# --- messages --------------------------------------------------------------------------------------------


def chat_messages(message: Json, path: str) -> list[Json]:
    """A message of any library as messages of Chat Completions, where each result is a message of its own.

    Most messages are returned unchanged. Calls of the AI SDK stay in the content, as blocks for `call_in`.
    """
    if message.get("parts"):
        return _split_ui_message(message, path)
    if "toolInvocations" in message:
        raise Damaged("a message must have parts, as from version 5 of the AI SDK", f"{path}.toolInvocations")
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
            results.append(_result_message(fields, place))
        else:
            rest.append(_call_block(fields, place) if fields.get("type") == "tool-call" else block)
    without_results = {**message, "content": rest}
    if message.get("role") == "tool":
        return [*results, {**without_results, "role": "user"}] if rest else results
    return [without_results, *results]


def _call_block(block: Json, path: str) -> Json:
    call_id, name = text_at(block, "toolCallId", path), text_at(block, "toolName", path)
    return {"type": "tool_call", "id": call_id, "name": name, "args": block.get("input", block.get("args"))}


def _result_message(block: Json, path: str) -> Json:
    call_id, output = text_at(block, "toolCallId", path), fields_in(block.get("output"))
    content = _output(output, text_in(output.get("type")), f"{path}.output")
    return {"role": "tool", "tool_call_id": call_id, "name": block.get("toolName"), "content": content}


def _output(output: Json, kind: str, path: str) -> Any:
    """The output of a call in the AI SDK, which is a value with a kind."""
    if kind == "content":
        return entries_in(output.get("value"))
    if kind == "execution-denied":
        return FAILED + (text_in(output.get("reason")) or "the call was denied")
    if kind not in _OUTPUTS:
        raise Damaged("an output must have a type and a value, as from version 5 of the AI SDK", path)
    value = output.get("value")
    text = value if isinstance(value, str) else json_text(value, path)
    return FAILED + text if kind.startswith("error") else text


def _split_ui_message(message: Json, path: str) -> list[Json]:
    """A `UIMessage` as chat messages: each step is a message with calls, followed by their results."""
    parts = [fields_in(part) for part in entries_in(message.get("parts"))]
    messages, content, results = list[Json](), list[Any](), list[Json]()

    def end_step() -> None:
        if content:
            messages.append({"role": message.get("role"), "content": [*content]})
        messages.extend(results)
        content.clear()
        results.clear()

    for index, part in enumerate(parts):
        kind, place = text_in(part.get("type")), f"{path}.parts[{index}]"
        call = _call_in_ui_part(part, kind)
        if kind == "step-start" or (results and call is None):
            end_step()
        if call is not None:
            content.append(_call_block(call, place))
            if "output" in call:
                results.append(_result_message(call, place))
        elif kind in ("text", "reasoning", "file"):
            content.append(part if kind == "file" else {"type": kind, "text": part.get("text")})
    end_step()
    return messages


def _call_in_ui_part(part: Json, kind: str) -> Json | None:
    """The call in a part of a `UIMessage`, with its output if it has one; None for other parts."""
    if kind != "dynamic-tool" and not kind.startswith("tool-"):
        return None
    part = {"toolName": kind.removeprefix("tool-"), **part}
    state, call = part.get("state"), {**part, "input": part.get("input")}
    call.pop("output", None)
    if state == "output-available":
        call["output"] = {"type": "json", "value": part.get("output")}
        if isinstance(part.get("output"), str):
            call["output"]["type"] = "text"
    elif state == "output-error":
        call["output"] = {"type": "error-text", "value": text_in(part.get("errorText"))}
        call["input"] = part.get("input") or part.get("rawInput")
    elif state == "output-denied":
        call["output"] = {"type": "execution-denied", **fields_in(part.get("approval"))}
    return call


def strict_messages(message: Json, path: str) -> list[Json]:
    """A message as Chat Completions accepts it: calls and thoughts are fields beside the content."""
    return [_strict(chat_message, path) for chat_message in chat_messages(message, path)]


def _strict(message: Json, path: str) -> Json:
    role, content = message.get("role"), message.get("content")
    fields = {name: message[name] for name in _MESSAGE_FIELDS if message.get(name)}
    if role == "tool" and message.get("status") == "error":
        content = FAILED + (content if isinstance(content, str) else json_text(content, path))
    if role != "assistant":
        blocks = entries_in(content)
        return {**fields, "content": [_strict_block(block) for block in blocks] if blocks else content or ""}
    calls, thoughts, rest = dict[str, Json](), list[str](), list[Any]()
    for block in entries_in(content) if isinstance(content, list) else ():
        call, thought = call_in(fields_in(block)), thought_in(fields_in(block))
        if call is not None:
            calls[call["id"]] = call
        elif thought is not None:
            thoughts.append(text_in(thought.get("thinking")))
        else:
            rest.append(_strict_block(block))
    for name in ("tool_calls", "invalid_tool_calls"):
        for value in entries_in(message.get(name)):
            call = call_in({"type": "tool_call", **fields_in(value)})
            call = {**fields_in(value)} if call is None else call
            calls[text_in(call.get("id")) or str(len(calls))] = call
    for call in calls.values():
        function = fields_in(call.get("function"))
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            text = json_text({} if arguments is None else arguments, path)
            call["function"] = {**function, "arguments": text}
    thoughts.append(text_in(message.get("reasoning_content")))
    fields["content"] = (rest if isinstance(content, list) else content) or None
    if calls:
        fields["tool_calls"] = list(calls.values())
    if any(thoughts):
        fields["reasoning_content"] = "\n\n".join(filter(None, thoughts))
    return fields


def _strict_block(block: Any) -> Any:
    """A text or an image of any library as a part of Chat Completions; every other block unchanged."""
    part = read_part(fields_in(block))
    if isinstance(part, str):
        return {"type": "text", "text": part}
    address = image_url(part) if isinstance(part, Image) else None
    return block if address is None else {"type": "image_url", "image_url": {"url": address}}


# --- blocks ----------------------------------------------------------------------------------------------


def call_in(block: Json) -> Json | None:
    """A content block of a model's message as a call of Chat Completions; None if it is no call."""
    clean = clean_block(block)
    arguments, name = _CALL_ARGUMENTS.get(text_in(clean.get("type"))), text_in(clean.get("name"))
    call_id = text_in(clean.get("call_id")) or text_in(clean.get("id"))
    if arguments is None or not name or not call_id:
        return None
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": clean.get(arguments)}}


def clean_block(block: Json) -> Json:
    """A block without the fields that libraries add and Anthropic refuses.

    After merging a stream, the input may be only in `partial_json`.
    """
    clean = {name: value for name, value in block.items() if name not in ANTHROPIC_FOREIGN_FIELDS}
    streamed = object_in(block.get("input") or block["partial_json"]) if "partial_json" in block else None
    return clean if streamed is None else {**clean, "input": streamed}


def thought_in(block: Json) -> Json | None:
    """A thought, or a block of a server tool, as a block of Anthropic; None for other blocks.

    Thoughts may be blocks of Anthropic, Mistral, LangChain (also for Bedrock) or the AI SDK.
    """
    kind = text_in(block.get("type"))
    if kind == "thinking" and isinstance(block.get("thinking"), str):
        return {"signature": "", **clean_block(block)}
    if kind == "redacted_thinking" or is_server_block(kind):
        return clean_block(block)
    if kind not in ("reasoning", "reasoning_content", "thinking"):
        return None
    fields: Json = {**block, **fields_in(block.get("extras")), **fields_in(block.get("reasoning_content"))}
    pieces = [piece for name in ("summary", "content", "thinking") for piece in entries_in(fields.get(name))]
    texts = [text_in(fields.get(name)) for name in ("text", "reasoning", "reasoning_content")]
    texts += [text_in(fields_in(piece).get("text")) for piece in pieces]
    thinking, signature = "\n\n".join(filter(None, texts)), text_in(fields.get("signature"))
    return {"type": "thinking", "thinking": thinking, "signature": signature}
