"""Pictures: whether the model sees them, and what the bytes of one say of its type and of its size."""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator
from typing import Any

from quire.providers.beginnings import begun
from quire.providers.checking.anthropic.history import Message, within
from quire.providers.checking.anthropic.media import IMAGE_TYPES
from quire.providers.checking.anthropic.models import Model
from quire.providers.checking.faults import Findings
from quire.providers.checking.reading import as_list, as_object, short
from quire.tokens import size_of


def check_pictures(findings: Findings, messages: list[Message], model: Model, images: int) -> None:
    """Note pictures of another type than they say, and those too large by themselves or among many."""
    limits = model.image_limits()
    crowded = images > limits.many
    for place, source in _inline(messages):
        data, told = _decoded(source.get("data")), source.get("media_type")
        kind = begun(data)
        if kind in IMAGE_TYPES and told in IMAGE_TYPES and kind != told:
            findings.add(f"{place}.source.media_type", "media_type", f"type {short(told)}, but it is {kind}")
        side = max(size_of(data) or (0,))
        if side > limits.side:
            findings.add(place, "image_side", f"{side} pixels, more than {limits.side}")
        elif crowded and side > limits.many_side:
            text = f"{side} pixels in one of {images} images, more than {limits.many_side}"
            findings.add(place, "image_side", text)


def check_sight(findings: Findings, messages: list[Message], model: Model) -> None:
    """Note images and documents for a model that is known not to take them."""
    refused = model.refused_media()
    for block in (block for message in messages if refused for block in message.blocks):
        for place, held in within(block):
            if held.get("type") in refused:
                text = f"{short(held['type'])}, which the model does not take"
                findings.add(place, "media_for_model", text)


def _inline(messages: list[Message]) -> Iterator[tuple[str, Any]]:
    """The sources of all images in base64, with the places of the images."""
    for message in messages:
        for block in message.blocks:
            values = {key: block.fields.get(key) for key in ("type", "source", "content")}
            yield from _within(block.place, values)


def _within(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    block = as_object(value) or {}
    source = as_object(block.get("source")) or {}
    match block.get("type"):
        case "image" if source.get("type") == "base64":
            yield place, source
        case "document" if source.get("type") == "content":
            yield from _listed(f"{place}.source.content", source.get("content"))
        case "tool_result":
            yield from _listed(f"{place}.content", block.get("content"))
        case _:
            pass


def _listed(place: str, values: Any) -> Iterator[tuple[str, Any]]:
    for index, value in enumerate(as_list(values) or ()):
        yield from _within(f"{place}[{index}]", value)


def _decoded(data: Any) -> bytes:
    try:
        return b64decode(data, validate=True) if isinstance(data, str) else b""
    except (NotBase64, ValueError):
        return b""  # which is a fault of its own
