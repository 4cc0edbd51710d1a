"""Content blocks as both wires of OpenAI have them, read as parts."""

from typing import Any

from quire.errors import Damaged, InvalidValue
from quire.items import Audio, Content, Detail, File, Image, Part
from quire.providers.anthropic import read as anthropic
from quire.providers.media import bare_base64, bytes_of, file_address, media_type
from quire.providers.state import OPENAI
from quire.providers.stream import content_from, output_from, short_json
from quire.providers.values import Json, fields_in, list_at, object_at, text_at, text_in

_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_IMAGES = ("image_url", "input_image", "computer_screenshot")
_AUDIO_TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_DETAILS: dict[str, Detail] = {"low": "low", "high": "high", "original": "high"}


def read_content(content: Any, path: str) -> Content:
    """A content; a block of no known kind becomes its JSON."""
    if content is None or isinstance(content, str):
        return content or ""
    parts: list[Part] = []
    for index, value in enumerate(list_at(content, path)):
        place = f"{path}[{index}]"
        block = {"type": "text", "text": value} if isinstance(value, str) else object_at(value, place)
        part = read_part(block, place)
        parts.append(short_json(block, place) if part is None else part)
    return content_from(parts)


def text_or_blocks(message: Json, path: str) -> Any:
    """The content that a message must have; it may be empty."""
    if "content" not in message:
        raise Damaged("the message has no content", f"{path}.content")
    return message["content"]


def read_output(content: Any, path: str) -> Content:
    """The output of a call."""
    return output_from(content, read_part, path)


def read_part(block: Json, path: str) -> Part | None:
    """The part that a block stands for, also one of Anthropic or a library; None if it is unknown."""
    kind = text_in(block.get("type"))
    try:
        if kind in _TEXTS:
            return text_at(block, _TEXTS[kind], path)
        if kind in _IMAGES:
            return read_image(block, path)
        if kind == "input_audio":
            return _audio(object_at(block.get("input_audio"), f"{path}.input_audio"), f"{path}.input_audio")
        if kind == "input_file" or (kind == "file" and "file" in block):
            return _file(object_at(block["file"], f"{path}.file") if kind == "file" else block, path)
        return anthropic.read_part(block, path)
    except InvalidValue as fault:
        raise Damaged(str(fault), path) from None


def read_image(block: Json, path: str) -> Image:
    """An image by its address, its bytes or the id of its file."""
    source, detail = block.get("image_url"), block.get("detail")
    if isinstance(source, dict):
        source, detail = fields_in(source).get("url"), fields_in(source).get("detail")
    size = _DETAILS.get(text_in(detail), "auto")
    address = source or file_address(OPENAI, block.get("file_id"))
    if not isinstance(address, str):
        raise Damaged("an image has an address", f"{path}.image_url")
    kind, data = bare_base64(address)
    if data == address:
        return Image(url=address, detail=size)
    return Image(data=read_bytes(data, f"{path}.image_url"), media_type=kind, detail=size)


def _audio(source: Json, path: str) -> Audio:
    kind, data = bare_base64(text_at(source, "data", path))
    named = _AUDIO_TYPES.get(text_in(source.get("format")))
    return Audio(data=read_bytes(data, f"{path}.data"), media_type=named or kind)


def _file(source: Json, path: str) -> File | None:
    name, data, url = text_in(source.get("filename")) or None, source.get("file_data"), source.get("file_url")
    if isinstance(data, str) and not data.startswith(("https://", "http://")):
        kind, base64 = bare_base64(data)
        file = File(data=read_bytes(base64, f"{path}.file_data"), media_type=kind, name=name)
        return file if kind else File(data=file.data, media_type=media_type(file), name=name)
    address = text_in(data) or text_in(url) or file_address(OPENAI, source.get("file_id"))
    return File(url=address, name=name) if address else None


def read_bytes(text: str, path: str) -> bytes:
    """Bytes from base64; `Damaged` at `path` if it is none."""
    data = bytes_of(text)
    if not data:
        raise Damaged("the data is not base64", path)
    return data
