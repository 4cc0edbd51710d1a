"""Anthropic Messages: blocks of the user that no part stands for, and what is said beside documents."""

from typing import Any

from quire.errors import Damaged
from quire.items import Item
from quire.providers.anthropic.abilities import NAME
from quire.providers.json_values import copied_fields, entries_in, fields_in, json_text
from quire.providers.native import native_block
from quire.providers.sheet import Json

_SETTINGS = ("citations", "context")  # fields of a document beside its source and title


def settings_of(block: Json) -> Json:
    """What is said beside a document, as far as it can be sent again."""
    if block.get("type") != "document":
        return {}
    return {name: block[name] for name in _SETTINGS if _is_setting(name, block.get(name))}


def with_settings(blocks: list[Json | None], held: Json) -> None:
    """Put on documents what was said beside them, and in place of words the block that these stand for."""
    settings, content = fields_in(held.get("parts")), entries_in(held.get("content"))
    for place, block in enumerate(blocks):
        if block is None:
            continue
        if block["type"] == "document":
            fields = copied_fields(settings.get(str(place)))
            block.update({name: value for name, value in fields.items() if _is_setting(name, value)})
        elif place < len(content) and _stands_for(block.get("text"), content[place]):
            blocks[place] = sendable(fields_in(content[place])) or block


def _stands_for(words: Any, block: Any) -> bool:
    """Whether words are still those that stood for a block: they may have been masked since."""
    try:
        return isinstance(words, str) and words == json_text(block, "$")
    except Damaged:
        return False


def own_block(item: Item) -> Json | None:
    """The block that a note holds, if it is one that the user may send."""
    block = native_block(item, NAME)
    return None if block is None else sendable(block)


def sendable(block: Json) -> Json | None:
    """A block that the user may send, without the marks of a cache; none if it is not whole."""
    plain = copied_fields({name: block[name] for name in block if name != "cache_control"})
    match plain:
        case {"type": "search_result", "source": str(), "title": str()}:
            texts = [_text(part) for part in entries_in(plain.get("content"))]
            return {**plain, "content": texts} if texts and all(texts) else None
        case {"type": "container_upload", "file_id": str(known)} if known:
            return plain
        case {"type": "document", "source": {"type": "content", "content": str(words)}} if words.strip():
            return plain
        case {"type": "document", "source": {"type": "content"}}:
            parts = [_text(part) or _image(part) for part in entries_in(plain["source"].get("content"))]
            source = {**plain["source"], "content": parts}
            return {**plain, "source": source} if parts and all(parts) else None
        case _:
            return None


def _image(part: Any) -> Json | None:
    match part:
        case {"type": "image", "source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
            source: Json = {"type": "base64", "media_type": kind, "data": data}
        case {"type": "image", "source": {"type": "url", "url": str(url)}}:
            source = {"type": "url", "url": url}
        case {"type": "image", "source": {"type": "file", "file_id": str(known)}}:
            source = {"type": "file", "file_id": known}
        case _:
            return None
    return {"type": "image", "source": source} if all(source.values()) else None


def _text(part: Any) -> Json | None:
    match part:
        case {"type": "text", "text": str(text)} if text.strip():
            return {"type": "text", "text": text}
        case _:
            return None


def _is_setting(name: str, value: Any) -> bool:
    if name == "context":
        return isinstance(value, str) and bool(value.strip())
    return name == "citations" and value in ({"enabled": True}, {"enabled": False})
