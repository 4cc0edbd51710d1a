"""Chat Completions: images that stand beside a content.

Gateways give those that a model drew so, and Ollama is shown those of the user so.
"""

from typing import Any

from quire.items import Content, Image, Note, parts_of
from quire.providers.json_values import entries_in
from quire.providers.media import media_type
from quire.providers.native import native_note
from quire.providers.openai_chat.blocks import decoded, fields, read_content
from quire.providers.openai_chat.states import NAME
from quire.providers.sheet import Json

IMAGES = "images"
ADDRESSES = ("https://", "http://", "data:")
"""How a text begins that says where something is, or has it in it with its type; any other is base64."""


def images_in(message: Json) -> list[Any]:
    """What stands beside the content of a message, or of a piece of one, as an image."""
    return entries_in(message.get(IMAGES))


def with_images(content: Content, message: Json, path: str) -> tuple[Content, list[Note]]:
    """A content with the images beside it, and whatever of no known kind is among them."""
    blocks: list[Json] = []
    strange: list[Note] = []
    for index, value in enumerate(images_in(message)):
        place = f"{path}.{IMAGES}[{index}]"
        block = image_block(value, "", place) if isinstance(value, str) else fields(value, place)
        if "image_url" in block:
            blocks.append({**block, "type": "image_url"})
        else:
            strange.append(native_note(block, NAME))
    if not blocks:
        return content, strange
    shown, _ = read_content(blocks, f"{path}.{IMAGES}", NAME)
    return (*parts_of(content), *parts_of(shown)), strange


def image_block(source: str, kind: str, path: str) -> Json:
    """An image as a block, from its address or from its bytes in base64."""
    if not source.startswith(ADDRESSES):
        found = kind or media_type(Image(data=decoded(source, path))) or ""
        source = f"data:{found};base64,{source}"
    return {"type": "image_url", "image_url": {"url": source}}
