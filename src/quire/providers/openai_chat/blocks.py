"""Blocks of content as OpenAI writes them, in both of its wires, read as parts."""

from collections.abc import Mapping
from typing import Any, cast

from quire.errors import Damaged, QuireError, WrongType
from quire.items import Audio, Content, Detail, File, Image, Note, Part
from quire.providers.block_fields import TEXTS, own_fields, with_fields
from quire.providers.block_parts import part_of
from quire.providers.json_values import is_block, json_text
from quire.providers.media import bare_base64, bytes_of, media_type
from quire.providers.native import file_address, native_note
from quire.providers.provider import plain_json, words_in
from quire.providers.sheet import Json

OWNER = "openai"
"""Whose files are named by id: both wires know them."""

_IMAGES = ("image_url", "input_image", "computer_screenshot")
_FORMATS = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_DETAILS: dict[str, Detail] = {"low": "low", "high": "high", "original": "high"}


def fields(value: Any, path: str) -> Json:
    """A JSON object, or what a client has in its place."""
    try:
        return plain_json(value)
    except WrongType:
        raise WrongType(f"expected an object, not {type(value).__name__} (at {path})") from None


def text_at(value: Mapping[str, Any], name: str, path: str) -> str:
    """A text that must be there."""
    text = value.get(name)
    if not isinstance(text, str):
        raise Damaged(f"{name} must be a text, and is {type(text).__name__}", f"{path}.{name}")
    return text


def entries(value: Any, path: str) -> list[Any]:
    """A list, or nothing."""
    if not isinstance(value, list | tuple):
        raise WrongType(f"expected a list, not {type(value).__name__} (at {path})")
    return list(cast("list[Any]", value))


def read_content(content: Any, path: str, wire: str) -> tuple[Content, list[Note]]:
    """What a message says, and whatever in it is of no known kind, each as a note of this wire's."""
    if content is None or isinstance(content, str):
        return content or "", []
    parts: list[Part] = []
    strange: list[Note] = []
    for index, value in enumerate(entries(content, path)):
        place = f"{path}[{index}]"
        block = {"type": "text", "text": value} if isinstance(value, str) else fields(value, place)
        part = read_block(block, place)
        if part is None:
            strange.append(native_note(block, wire))
        else:
            parts.append(part)
    return _joined(parts), strange


def read_output(content: Any, path: str) -> Content:
    """What a call gave; some write a value where a text or parts should be, which is its JSON then.

    A list is a value too unless it is all of blocks and texts: a record may have a type and be no block. Only
    among media is each of the others its own JSON, so that no media are put in words; what a program put
    beside media is the JSON after them.
    """
    if content is None or isinstance(content, str):
        return content or ""
    is_one = isinstance(content, Mapping | int | float)
    values: list[Any] = [content] if is_one else entries(content, path)
    given = [_given(value, f"{path}[{index}]") for index, value in enumerate(values)]
    are_blocks = not is_one and [] not in given and any(map(is_block, values))
    if values and not are_blocks and all(isinstance(part, str) for parts in given for part in parts):
        return json_text(content, path)
    told = [parts or [json_text(value, path)] for value, parts in zip(values, given, strict=True)]
    return _joined([part for parts in told for part in parts])


def _given(value: Any, path: str) -> list[Part]:
    """A text, or what a block is; nothing of a value that is neither, whatever type it says it has."""
    if isinstance(value, str):
        return [value]
    try:
        block = fields(value, path) if is_block(value) else {}
        part = read_block(block, path, in_result=True) if block else None
        return [] if part is None else with_fields(part, block, path)
    except QuireError:
        return []


def _joined(parts: list[Part]) -> Content:
    """Parts as a content: a lone text as it is."""
    if len(parts) < 2 and all(isinstance(part, str) for part in parts):
        return "".join(cast("list[str]", parts))
    return tuple(parts)


def read_block(block: Json, path: str, *, in_result: bool = False) -> Part | None:
    """The part that a block is; none if it is of no known kind, or in a result a record of a program."""
    kind = text_at(block, "type", path)
    if kind in TEXTS:
        is_record = in_result and own_fields(block)
        return None if is_record else text_at(block, TEXTS[kind], path)
    if kind in _IMAGES:
        return _image(block, path)
    if kind == "input_audio":
        return _audio(fields(block.get("input_audio"), f"{path}.input_audio"), f"{path}.input_audio")
    found = _of_others(block, path, in_result=in_result)
    if found is not None or kind not in ("file", "input_file"):
        return found
    held = block.get("file") if kind == "file" else None
    if held is None:
        return None if in_result and kind == "file" else _file(block, path)
    return _file(fields(held, f"{path}.file"), path)


def _of_others(block: Json, path: str, *, in_result: bool) -> Part | None:
    """The part that a block is which OpenAI does not have; one that cannot be read is of no known kind."""
    try:
        return part_of(block, path, in_result=in_result)
    except QuireError:
        return None


def decoded(text: str, path: str) -> bytes:
    """Bytes from base64."""
    data = bytes_of(text)
    if data is None:
        raise Damaged("not base64", path)
    if not data:
        raise Damaged("no bytes", path)
    return data


def _image(block: Json, path: str) -> Image:
    source, detail = block.get("image_url"), block.get("detail")
    if isinstance(source, Mapping):
        inner = fields(source, f"{path}.image_url")
        source, detail = inner.get("url"), inner.get("detail")
    address = file_address(OWNER, block.get("file_id")) if source is None else None
    if address is not None:
        return Image(url=address, detail=_DETAILS.get(words_in(detail), "auto"))
    if not isinstance(source, str) or not source:
        raise Damaged("an image has an address", f"{path}.image_url")
    kind, data = _inline(source, path)
    how: Detail = _DETAILS.get(words_in(detail), "auto")
    return Image(url=source, detail=how) if data is None else Image(data=data, media_type=kind, detail=how)


def _audio(source: Json, path: str) -> Audio:
    kind, data = bare_base64(text_at(source, "data", path))
    named = _FORMATS.get(words_in(source.get("format")))
    return Audio(data=decoded(data, f"{path}.data"), media_type=named or kind)


def _file(source: Json, path: str) -> File | None:
    name, data, url = source.get("filename"), source.get("file_data"), source.get("file_url")
    name = name if isinstance(name, str) else None
    if isinstance(data, str) and data.startswith(("https://", "http://")):
        data, url = None, data  # an address in the wrong place
    if isinstance(data, str):
        kind, content = _inline(data, path)
        content = decoded(data, f"{path}.file_data") if content is None else content
        file = File(data=content, media_type=kind, name=name)
        return file if kind else File(data=content, media_type=media_type(file), name=name)
    address = url if isinstance(url, str) and url else file_address(OWNER, source.get("file_id"))
    return File(url=address, name=name) if address else None


def _inline(address: str, path: str) -> tuple[str | None, bytes | None]:
    """The type and the bytes of a `data:` address; no bytes for a place."""
    head, found, data = address.partition(",")
    if not found or not head.startswith("data:") or not head.endswith(";base64"):
        return None, None
    return head[5:].partition(";")[0] or None, decoded(data, path)
