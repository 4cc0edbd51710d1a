"""Images and documents: where they come from, their types and sizes."""

from quire.providers.checking.anthropic.history import Block, read_blocks
from quire.providers.checking.beginnings import check_beginning
from quire.providers.checking.reading import Fields, as_object, is_base64, short

IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
LONGEST_IMAGE = 10 * 1024 * 1024
"""Characters of base64; the clouds of partners take half of it."""

_SOURCES = {
    "image": {"base64": "data", "url": "url", "file": "file_id"},
    "document": {"base64": "data", "url": "url", "file": "file_id", "text": "data", "content": ""},
}
_PLACES = ("https://", "http://")
_TYPES = {
    ("image", "base64"): IMAGE_TYPES,
    ("document", "base64"): ("application/pdf",),
    ("document", "text"): ("text/plain",),
}


def check_media(block: Block) -> int:
    """Note what is wrong with the source of an image or document; how many images there are."""
    images = int(block.kind == "image")
    source = as_object(block.fields.get("source"))
    if source is None:
        what = "no source" if block.fields.get("source") is None else "a source that is no object"
        block.fields.add("source", "media_source", f"the {block.kind} has {what}")
        return images
    fields = Fields(block.fields.findings, block.fields.at("source"), source)
    kind = fields.get("type")
    sources = _SOURCES[block.kind]
    if not isinstance(kind, str) or kind not in sources:
        fields.add("type", "media_source", f"source {short(kind)} is none of {', '.join(sources)}")
        return images
    if kind == "content":
        return _check_inside(block, fields)
    _check_type(fields, block.kind, kind)
    _check_data(fields, sources[kind], inline=kind == "base64", image=block.kind == "image")
    if kind == "base64":
        check_beginning(fields, "media_type", fields.get("media_type"), fields.get("data"))
    return images


def _check_inside(block: Block, source: Fields) -> int:
    """The texts and images that a document is made of; how many images there are."""
    content, images = source.get("content"), 0
    if isinstance(content, str):
        return 0
    if content is None:
        source.add("content", "media_source", "the source has no content")
        return 0
    for part in read_blocks(source.findings, source.at("content"), content, block.message):
        if part.kind == "image":
            images += check_media(part)
        elif part.kind == "text":
            part.fields.text("text")
        else:
            part.fields.add("type", "media_source", f"{short(part.kind)} inside a document")
    return images


def _check_type(fields: Fields, block: str, source: str) -> None:
    types = _TYPES.get((block, source))
    given = fields.get("media_type")
    if types is not None and given not in types:
        fields.add("media_type", "media_type", f"type {short(given)} is none of {', '.join(types)}")


def _check_data(fields: Fields, key: str, *, inline: bool, image: bool) -> None:
    value = fields.get(key)
    if not isinstance(value, str) or not value:
        fields.add(key, "media_source", f"the source has no {key}")
    elif key == "url" and not value.lower().startswith(_PLACES):
        fields.add(key, "media_source", "the address is not one of http or https")
    elif inline and image and len(value) > LONGEST_IMAGE:
        fields.add(key, "media_size", f"{len(value)} characters of base64, more than {LONGEST_IMAGE}")
    elif inline and not is_base64(value):
        fields.add(key, "media_data", "the data is not plain base64")
