"""Messages and parts of the Vercel AI SDK (`ModelMessage`), as messages of Chat Completions.

Calls and results are parts of a content there, several results stand in one message, and media have a form
of their own. Messages of a user interface (`UIMessage`) are refused: the SDK converts them itself.
Source: ai-sdk.dev/docs/reference/ai-sdk-core/model-message.
"""

from typing import Any

from quire.errors import Damaged
from quire.items import Part
from quire.providers.media import part_from
from quire.providers.values import Json, entries_in, fields_in, json_text, text_at, text_in
from quire.tokens import FAILED

_UI_TEXTS = frozenset(("text", "reasoning", "step-start"))


def read_part(block: Json) -> Part | None:
    """The media part that a part of a message or of a result stands for; None if it is none."""
    kind = text_in(block.get("type"))
    if block.keys() & {"mime_type", "source_type", "base64", "file_id"}:
        return None  # a block of LangChain
    media_type = block.get("mediaType") or block.get("mimeType")
    if kind == "image" and "image" in block:
        return part_from(block["image"], media_type, family="image")
    if kind in ("file", "media", "image-data", "file-data", "image-url", "file-url"):
        source, is_address = (block["url"], True) if block.get("url") else (block.get("data"), False)
        family = "image" if kind.startswith("image") else "file"
        if kind == "media" and not media_type:
            return None
        name = block.get("filename")
        return part_from(source, media_type, family=family, name=name, is_address=is_address)
    return None


def refuse_ui_message(message: Json, path: str) -> None:
    """Raise for a message of a user interface that holds more than its content says."""
    content, parts = message.get("content"), entries_in(message.get("parts"))
    kinds = {text_in(fields_in(part).get("type")) for part in parts}
    if (parts and not content) or kinds - _UI_TEXTS or message.get("toolInvocations"):
        where = "toolInvocations" if message.get("toolInvocations") else "parts"
        advice = "convert it with convertToModelMessages first"
        raise Damaged(f"a message of a user interface: {advice}", f"{path}.{where}")


def chat_messages(message: Json, path: str) -> list[Json]:
    """A message as messages of Chat Completions, in which each result is a message; mostly it is one already.

    Calls keep their place among thoughts, as the blocks that `langchain.call_in` reads.
    """
    if message.get("experimental_attachments"):
        message = _with_attachments(message, path)
    content = message.get("content")
    blocks = entries_in(content)
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


def _with_attachments(message: Json, path: str) -> Json:
    """A message of version 4 with its attachments in its content."""
    content = message.get("content")
    said = [{"type": "text", "text": content}] if isinstance(content, str) else entries_in(content)
    added = list[Json]()
    for index, attachment in enumerate(entries_in(message["experimental_attachments"])):
        fields = fields_in(attachment)
        block = {"type": "file", "url": fields.get("url"), "mediaType": fields.get("contentType")}
        if read_part(block) is None:
            place = f"{path}.experimental_attachments[{index}].url"
            raise Damaged("an attachment is a data: or https:// address", place)
        added.append({**block, "filename": fields.get("name")})
    return {**message, "content": [*said, *added]}
