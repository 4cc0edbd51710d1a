"""Messages of the AI SDK: `UIMessage`, which a user interface shows and stores, and `ModelMessage`.

Source: ai-sdk.dev/docs/reference/ai-sdk-core, `ui-message` and `model-message`, versions 5 and 6.
"""

from collections import Counter
from collections.abc import Sequence

from quire.integrations.logs.conversation import (
    Conversation,
    Entry,
    Json,
    Log,
    Record,
    Target,
    Window,
    Written,
    moment,
)
from quire.integrations.logs.messages import role_and_parts, signed_thought, state_left_out, value_of
from quire.integrations.logs.windows import turns_of
from quire.items import Audio, File, Image, Item, Message, Part, Reasoning, ToolCall, ToolResult
from quire.providers import Downgrade, base64_of, entries_in, fields_in, media_type, strict_messages
from quire.state import groups, is_output
from quire.tokens import described

_DEFAULT_TYPES: dict[type, str] = {Image: "image/png", Audio: "audio/wav", File: "application/pdf"}

# Reading


def is_ai_sdk(records: list[Record]) -> bool:
    """Whether a message has parts, calls or results that only the AI SDK uses."""
    return any(_has_parts(message) for _, record in records for message in _messages(record))


def _has_parts(message: Json) -> bool:
    parts = [fields_in(part) for part in entries_in(message.get("parts"))]
    blocks = [fields_in(block).get("type") for block in entries_in(message.get("content"))]
    is_ui_message = any("type" in part and "content" not in part for part in parts)
    return is_ui_message or "tool-call" in blocks or "tool-result" in blocks


def read_ai_sdk(records: list[Record]) -> Log:
    """One conversation for each record with a list of messages; without such a record, one for all."""
    chats = [(number, _messages(record)) for number, record in records if "messages" in record]
    if not chats:
        chats = [(1, [record for _, record in records])]
    return Log("ai-sdk", "messages of the AI SDK", [_read_chat(*chat) for chat in chats], Counter())


def _messages(record: Json) -> list[Json]:
    return [fields_in(message) for message in entries_in(record.get("messages", [record]))]


def _read_chat(number: int, messages: list[Json]) -> Conversation:
    entries = list[Entry]()
    for index, message in enumerate(messages):
        created = message.get("createdAt") or fields_in(message.get("metadata")).get("createdAt")
        own_id = message.get("id") if isinstance(message.get("id"), str) else None
        strict = strict_messages(message, f"$.messages[{index}]")
        entries += [Entry(chat_message, own_id, moment(created)) for chat_message in strict]
    return Conversation("openai", [Window(entries)], {}, number)


# Writing


def write_ai_sdk(items: Sequence[Item], target: Target) -> Written:
    """The initial messages for `useChat`. A turn of the model is one message, each of its replies a step."""
    turns, downgrades = turns_of(target.shown(items))
    messages = list[Json]()
    for group in groups(turns):
        outputs = [item for item in group.items if is_output(item)]
        results = [item for item in group.items if isinstance(item, ToolResult)]
        steps = [part for item in outputs for part in _output(item, results, downgrades)]
        pieces: list[tuple[Item, str, list[Json]]] = []  # the first item, the role and the parts
        pieces += [(outputs[0], "assistant", [{"type": "step-start"}, *steps])] if outputs else []
        inputs = (item for item in group.items if not is_output(item) and not isinstance(item, ToolResult))
        for item in inputs:
            role, content = role_and_parts(item, downgrades)
            pieces.append((item, role, [_part(part) for part in content]))
        for first, role, parts in pieces:
            if role != "assistant" or not messages or messages[-1]["role"] != role:
                created = {"createdAt": round(first.created_at * 1e3)}
                messages.append({"id": first.id, "role": role, "metadata": created, "parts": []})
            messages[-1]["parts"] += parts
    return Written({"messages": messages}, downgrades, "useChat and convertToModelMessages take its messages")


def _output(item: Item, results: list[ToolResult], downgrades: list[Downgrade]) -> list[Json]:
    """The parts for an output of the model; downgrades are added to the list."""
    if isinstance(item, Reasoning):
        signed = signed_thought(item)
        downgrades += state_left_out(item, signed is not None)
        metadata = {"providerMetadata": {"anthropic": {"signature": signed["signature"]}}} if signed else {}
        thought = {"type": "reasoning", "text": item.text, "state": "done", **metadata}
        return [thought] if item.text or metadata else []
    if isinstance(item, ToolCall):
        downgrades += state_left_out(item)
        call = {"toolCallId": item.call_id, "state": "input-available", "input": value_of(item.arguments)}
        return [{"type": f"tool-{item.name}", **call, **_outcome(item.call_id, results, downgrades)}]
    downgrades += state_left_out(item) if isinstance(item, Message) else []
    return [_part(part) for part in item.parts] if isinstance(item, Message) else []


def _outcome(call_id: str, results: list[ToolResult], downgrades: list[Downgrade]) -> Json:
    """The result of a call. It is removed from `results`, because several calls may have the same id."""
    result = next((result for result in results if result.call_id == call_id), None)
    if result is None:
        return {}
    results.remove(result)
    if any(not isinstance(part, str) for part in result.parts):
        downgrades.append(Downgrade(result.id, "media_as_text", "the format takes no media in a result"))
    texts = [part if isinstance(part, str) else described(part) for part in result.parts]
    if result.is_error:
        return {"state": "output-error", "errorText": "\n".join(texts)}
    return {"state": "output-available", "output": value_of("\n".join(texts))}


def _part(part: Part) -> Json:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = media_type(part) or _DEFAULT_TYPES[type(part)]
    url = part.url if part.data is None else f"data:{kind};base64,{base64_of(part.data)}"
    name = getattr(part, "name", None)
    return {"type": "file", "mediaType": kind, "url": url, **({"filename": name} if name else {})}
