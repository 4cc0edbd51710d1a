"""Content blocks of LangChain, of the Vercel AI SDK and of the Model Context Protocol.

LangChain keeps blocks of the provider that answered (thinking, tool_use) beside the calls in `tool_calls`,
and what merging a stream left in them. Sources: langchain-core, `messages.content`;
ai-sdk.dev/docs/reference/ai-sdk-core/model-message; modelcontextprotocol.io/specification, "Tool Result".
"""

from quire.items import Part
from quire.providers.media import part_from
from quire.providers.state import is_server_block
from quire.providers.values import Json, entries_in, fields_in, object_in, text_in

_MEDIA = frozenset(
    ("image", "audio", "file", "video", "media", "image-data", "file-data", "image-url", "file-url")
)
_SOURCES = ("base64", "image", "data", "file_id", "url")
_CALL_ARGUMENTS = {"tool_use": "input", "tool_call": "args", "function_call": "arguments"}


def read_part(block: Json) -> Part | None:
    """The part that a block stands for; None if it is no media block and no embedded resource."""
    kind, source_type = text_in(block.get("type")), block.get("source_type")
    if kind == "resource":
        return _resource(fields_in(block.get("resource")))
    if kind == "text-plain" or source_type == "text":
        return text_in(block.get("text")) or None
    if kind not in _MEDIA:
        return None
    held = "id" if source_type == "id" else next(filter(block.get, _SOURCES), "url")
    media_type = block.get("mime_type") or block.get("mediaType") or block.get("mimeType")
    name = block.get("filename") or fields_in(block.get("metadata")).get("filename")
    family = kind.partition("-")[0]
    return part_from(block.get(held), media_type, family=family, name=name, is_address=held == "url")


def _resource(resource: Json) -> Part | None:
    if isinstance(text := resource.get("text"), str):
        return text
    name = text_in(resource.get("uri")).rpartition("/")[2]
    return part_from(resource.get("blob"), resource.get("mimeType"), family="file", name=name)


def call_in(block: Json) -> Json | None:
    """The call of Chat Completions that a block in the content of a model's message stands for."""
    clean = without_stream_fields(block)
    arguments, name = _CALL_ARGUMENTS.get(text_in(clean.get("type"))), text_in(clean.get("name"))
    call_id = text_in(clean.get("call_id")) or text_in(clean.get("id"))
    if arguments is None or not name or not call_id:
        return None
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": clean.get(arguments)}}


def without_stream_fields(block: Json) -> Json:
    """A block without what merging a stream left in it; its input may stand in `partial_json` alone."""
    if not block.keys() & {"index", "partial_json"}:
        return block
    clean = {name: value for name, value in block.items() if name not in ("index", "partial_json")}
    given = object_in(block.get("input") or block.get("partial_json"))
    return clean if given is None else {**clean, "input": given}


def thought_in(block: Json) -> Json | None:
    """The block of Anthropic that a thought, or a block of a server tool, stands for; None for another block.

    Thoughts are blocks of Anthropic, of LangChain (also for Bedrock) or of the AI SDK.
    """
    kind = text_in(block.get("type"))
    if kind == "thinking" and not isinstance(block.get("thinking"), list):
        return {"signature": "", **without_stream_fields(block)}
    if kind == "redacted_thinking" or is_server_block(kind):
        return without_stream_fields(block)
    if kind not in ("reasoning", "reasoning_content"):
        return None
    fields: Json = {**block, **fields_in(block.get("extras")), **fields_in(block.get("reasoning_content"))}
    pieces = [*entries_in(fields.get("summary")), *entries_in(fields.get("content"))]
    texts = [
        *map(fields.get, ("text", "reasoning", "reasoning_content")),
        *(fields_in(piece).get("text") for piece in pieces),
    ]
    text = "\n\n".join(text for text in texts if isinstance(text, str) and text)
    return {"type": "thinking", "thinking": text, "signature": text_in(fields.get("signature"))}
