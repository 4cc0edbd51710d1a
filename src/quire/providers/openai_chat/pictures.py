"""Chat Completions: images that stand beside a content.

Gateways give those that a model drew so, and Ollama is shown those of the user so.
"""

from typing import Any

from quire.errors import Damaged, QuireError
from quire.items import Content, Note, Part, parts_of
from quire.providers.json_values import dumped, entries_in, is_object
from quire.providers.native import native_note
from quire.providers.openai_chat.blocks import fields, read_block
from quire.providers.openai_chat.states import NAME
from quire.providers.other_media import other_media
from quire.providers.sheet import Json

IMAGES = "images"


def images_in(message: Json) -> list[Any]:
    """What stands beside the content of a message, or of a piece of one, as an image."""
    return entries_in(message.get(IMAGES))


def with_images(
    content: Content, message: Json, path: str, *, keeps: bool = False
) -> tuple[Content, list[Note]]:
    """A content with the images beside it, and whatever of no known kind is among them.

    What cannot be read is refused, unless it `keeps` that: an answer is paid for, and nobody can mend it.
    """
    images: list[Part] = []
    strange: list[Note] = []
    for index, value in enumerate(images_in(message)):
        try:
            shown = _image(value, f"{path}.{IMAGES}[{index}]")
        except QuireError:
            if not keeps:
                raise
            shown = None
        if shown is None:
            held = dumped(value) or value
            strange.append(native_note(held if is_object(held) else {IMAGES: [held]}, NAME))
        else:
            images.append(shown)
    return ((*parts_of(content), *images) if images else content), strange


def _image(value: Any, path: str) -> Part | None:
    """An image from its block, from its address or from its bytes in base64; none of what is no image."""
    block = {"b64_json": value} if isinstance(value, str) else fields(value, path)
    if "image_url" in block:
        return read_block({**block, "type": "image_url"}, path)
    source = block.get("b64_json") or block.get("url")
    shown = other_media({"type": "image", "image": source})
    if shown is None and isinstance(source, str) and source:
        raise Damaged("neither base64 nor an address", path)
    return shown
