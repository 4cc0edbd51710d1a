"""Anthropic Messages: blocks of the user that no part stands for, and what is said beside documents."""

from collections.abc import Callable
from typing import Any

from quire.errors import Damaged
from quire.providers.json_values import copied_fields, entries_in, fields_in, json_text
from quire.providers.library_fields import without_library_fields
from quire.providers.provider import words_in
from quire.providers.sheet import Json
from quire.providers.wording import mended
from quire.tokens import in_file

_SETTINGS = ("citations", "context")  # fields of a document beside its source and title
PICTURE = "[image]"
"""Stands for a picture that nothing is known of."""

_LEFT_OUT = ("cache_control", "id", "name")  # marks are set anew, and no such block has a name

WritesImage = Callable[[Any], Json | None]
"""What writes an image that stands inside a document, or words for it; none of what is no image."""


def settings_of(block: Json) -> Json:
    """What is said beside a document, as far as it can be sent again."""
    if block.get("type") != "document":
        return {}
    return {name: block[name] for name in _SETTINGS if _is_setting(name, block.get(name))}


def with_settings(blocks: list[Json | None], held: Json) -> None:
    """Put on documents what was said beside them, by their places."""
    settings = fields_in(held.get("parts"))
    for place, block in enumerate(blocks):
        if block is not None and block["type"] == "document":
            fields = copied_fields(settings.get(str(place)))
            block.update({name: value for name, value in fields.items() if _is_setting(name, value)})


def stands_for(words: Any, block: Any) -> bool:
    """Whether words are still those that stood for a block: they may have been masked since."""
    try:
        return isinstance(words, str) and words == json_text(block, "$")
    except Damaged:
        return False


def sendable(block: Json, image: WritesImage, *, in_result: bool = False) -> Json | None:
    """A block that the user may send, without what it may not have; none if it is not whole."""
    kept = without_library_fields(block)
    plain = copied_fields({name: kept[name] for name in kept if name not in _LEFT_OUT})
    if "citations" in plain and not _is_setting("citations", plain["citations"]):
        return None
    match plain:
        case {"type": "search_result", "source": str(), "title": str()}:
            texts = [_text(part) for part in entries_in(plain.get("content"))]
            return {**plain, "content": texts} if texts and all(texts) else None
        case {"type": "container_upload", "file_id": str(known)} if known and not in_result:
            return plain
        case {"type": "document", "source": {"type": "content", "content": str(words)}} if words.strip():
            return plain
        case {"type": "document", "source": {"type": "content"}}:
            return _document(plain, image)
        case _:
            return None


def words_of(block: Any) -> str:
    """Words for a document whose own would be the bytes of its pictures: all that it says between them."""
    held = fields_in(block)
    title = mended(words_in(held.get("title")))
    parts = entries_in(fields_in(held.get("source")).get("content"))
    texts = [text["text"] for part in parts if (text := _text(part))]
    if not texts:
        return f"[file {title}]" if title else "[file]"
    told = (text["text"] if (text := _text(part)) else PICTURE for part in parts)
    return mended(in_file(title or None, "\n".join(told)))


def _document(plain: Json, image: WritesImage) -> Json | None:
    """A document of texts and pictures, if anything of its own is left of it where words stand for some."""
    parts: list[Json] = []
    is_own = False
    for part in entries_in(plain["source"].get("content")):
        text = _text(part)
        written = text or image(part)
        if written is None:
            return None
        is_own = is_own or text is not None or written["type"] == "image"
        parts.append(written)
    return {**plain, "source": {**plain["source"], "content": parts}} if is_own else None


def _text(part: Any) -> Json | None:
    match part:
        case {"type": "text", "text": str(text)} if text.strip():
            return {"type": "text", "text": text}
        case _:
            return None


def _is_setting(name: str, value: Any) -> bool:
    if name == "context":
        return isinstance(value, str) and bool(value.strip())
    return name == "citations" and fields_in(value).keys() == {"enabled"} and type(value["enabled"]) is bool
