"""Reads content blocks of OpenAI, Anthropic, LangChain, the AI SDK and MCP as parts of messages and results.

An unknown or unreadable block becomes a text that holds its JSON. Sources: the API references of the
services; langchain-core, `messages.content`; ai-sdk.dev/docs/reference/ai-sdk-core/model-message;
modelcontextprotocol.io/specification, "Tool Result".
"""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from quire.errors import Damaged, InvalidValue
from quire.items import Audio, Content, Detail, File, Image, Part
from quire.providers.media import PDF, Media, decode_base64, file_url, find_type, read_data_url, without_bytes
from quire.providers.state import ANTHROPIC, OPENAI
from quire.providers.values import Json, entries_in, fields_in, json_text, list_at, object_at, text_in

_TEXT_KINDS = ("text", "input_text", "output_text", "text-plain")
_FAMILY_BY_KIND = {
    **dict.fromkeys(("image", "image_url", "input_image", "computer_screenshot"), "image"),
    **dict.fromkeys(("audio", "input_audio"), "audio"),
    **dict.fromkeys(("file", "input_file", "document", "video", "media"), "file"),
}
_HOLDERS = ("source", "image_url", "input_audio", "file")
"""The fields in which a block may nest its media."""
_DATA_FIELDS = ("base64", "image", "data", "file_data")
_URL_FIELDS = ("url", "image_url", "file_url")
_MEDIA_TYPE_FIELDS = ("media_type", "mime_type", "mediaType", "mimeType")
_FORMATS = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_DETAILS: dict[str, Detail] = {"low": "low", "high": "high", "original": "high"}
_WEB = ("https://", "http://")


def read_content(content: Any, path: str) -> Content:
    """The content of a message."""
    if content is None or isinstance(content, str):
        return content or ""
    parts: list[Part] = []
    for index, value in enumerate(list_at(content, path)):
        place = f"{path}[{index}]"
        block = {"type": "text", "text": value} if isinstance(value, str) else object_at(value, place)
        parts.append(part_or_json(block, place))
    return content_from(parts)


def needed_content(message: Json, path: str) -> Content:
    """The content that a message must have; it may be empty."""
    if "content" not in message:
        raise Damaged("the message has no content", f"{path}.content")
    return read_content(message["content"], f"{path}.content")


def read_output(content: Any, path: str) -> Content:
    """The output of a call: text, or blocks. Any other value becomes JSON text."""
    if content is None or content == []:
        return ""
    if isinstance(content, str):
        return content
    values = entries_in(content) or [content]
    parts = [read_part(fields_in(value)) for value in values]
    if all(part is None for part in parts):
        return short_json(content, path)
    texts = [value if isinstance(value, str) else short_json(value, path) for value in values]
    return content_from([text if part is None else part for text, part in zip(texts, parts, strict=True)])


def part_or_json(block: Any, path: str) -> Part:
    """A block as a part; its JSON text if it cannot be read."""
    part = read_part(fields_in(block))
    return short_json(block, path) if part is None else part


def short_json(value: Any, path: str) -> str:
    """A value as JSON text, in which long base64 is replaced by its media type and size."""
    json_text(value, path)  # refuses a value that nests too deeply, before `without_bytes` walks it
    return json_text(without_bytes(value), path)


def content_from(parts: Sequence[Part]) -> Content:
    """Parts as the content of an item: a single text is returned as text, everything else as a tuple."""
    if not parts:
        return ""
    first = parts[0]
    return first if len(parts) == 1 and isinstance(first, str) else tuple(parts)


def read_part(block: Json) -> Part | None:
    """A block as a part; None if its kind is unknown or it cannot be read."""
    kind = text_in(block.get("type"))
    if kind in _TEXT_KINDS or kind == "refusal" or block.get("source_type") == "text":
        text = block.get("refusal" if kind == "refusal" else "text")
        return text if isinstance(text, str) else None
    if kind == "resource":
        return _resource(fields_in(block.get("resource")))
    family = _FAMILY_BY_KIND.get(kind.partition("-")[0])
    return _media(block, kind, family) if family is not None else None


def _resource(resource: Json) -> Part | None:
    if isinstance(text := resource.get("text"), str):
        return text
    name = text_in(resource.get("uri")).rpartition("/")[2]
    return part_from(resource.get("blob"), resource.get("mimeType"), family="file", name=name)


def _media(block: Json, kind: str, family: str) -> Part | None:
    holder = next((name for name in _HOLDERS if isinstance(block.get(name), dict)), "")
    fields: Json = {**block, **fields_in(block.get(holder))}
    name = block.get("title") or fields.get("filename") or fields_in(block.get("metadata")).get("filename")
    text = text_in(fields.get("data")) if fields.get("type") == "text" else ""
    if text:  # a document of Anthropic
        return File(data=text.encode(), media_type="text/plain", name=text_in(name) or None)
    source = _source(fields)
    address = _file_address(fields, source, is_anthropic=holder == "source")
    media_types = [fields[name] for name in _MEDIA_TYPE_FIELDS if fields.get(name)]
    declared = media_types[0] if media_types else _FORMATS.get(text_in(fields.get("format")))
    if declared is None and kind == "document" and address is None:
        declared = PDF
    part = part_from(address or source, declared, family=family, name=name, is_address=address is not None)
    detail = _DETAILS.get(text_in(fields.get("detail")))
    return replace(part, detail=detail) if isinstance(part, Image) and detail else part


def _source(fields: Json) -> str:
    """The base64 of a block, or its web or `data:` URL; an empty text if it has neither."""
    name = next(filter(fields.get, (*_DATA_FIELDS, *_URL_FIELDS)), "")
    source = text_in(fields.get(name))
    return source if name in _DATA_FIELDS or source.startswith((*_WEB, "data:")) else ""


def _file_address(fields: Json, source: str, *, is_anthropic: bool) -> str | None:
    """The URL that items use for an uploaded file that the block names. The AI SDK puts its id in `data`."""
    file_id = fields.get("id") if fields.get("source_type") == "id" else fields.get("file_id")
    if source.startswith(("file-", "file_")):
        file_id, is_anthropic = source, source.startswith("file_")
    return file_url(ANTHROPIC if is_anthropic else OPENAI, file_id)


def part_from(
    source: Any, kind: Any = None, *, family: str, name: Any = None, is_address: bool = False
) -> Media | None:
    """An image, audio or file part from base64 or a URL; None for any other value.

    `kind` is the declared media type. `family` is image, audio or file, and is used if the type is unknown.
    With `is_address` the source is a URL of any scheme.
    """
    if not isinstance(source, str) or not source:
        return None
    declared, data = read_data_url(source)
    kind = kind if isinstance(kind, str) and kind and "*" not in kind else declared
    content: dict[str, Any] = {"url": source}
    if not is_address and not source.startswith(_WEB):
        content = {"data": decode_base64(data)}
        kind = kind or find_type(content["data"] or b"")
    family = kind.partition("/")[0] if kind else family
    try:
        if family in ("image", "audio"):
            return (Image if family == "image" else Audio)(**content, media_type=kind)
        return File(**content, media_type=kind, name=text_in(name) or None)
    except InvalidValue:
        return None
