"""OpenAI Responses: what a message of the user and the output of a tool may hold."""

from quire.items import Audio, File, Image, Item, Part
from quire.providers import wording
from quire.providers.media import as_text, inline_data, media_type
from quire.providers.sheet import Json, Sheet

_IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_PLACES = ("http://", "https://")
_OFFICE = "application/vnd.openxmlformats-officedocument"
_ENDINGS = {
    "application/pdf": "pdf",
    "application/json": "json",
    "application/msword": "doc",
    "application/rtf": "rtf",
    "application/vnd.ms-excel": "xls",
    "application/vnd.ms-powerpoint": "ppt",
    "application/vnd.oasis.opendocument.text": "odt",
    f"{_OFFICE}.presentationml.presentation": "pptx",
    f"{_OFFICE}.spreadsheetml.sheet": "xlsx",
    f"{_OFFICE}.wordprocessingml.document": "docx",
}


class Parts:
    """Writes parts; what cannot be carried, as all audio, is put in words and noted."""

    __slots__ = ("_sheet", "media")

    def __init__(self, sheet: Sheet, media: frozenset[str]) -> None:
        self._sheet = sheet
        self.media = media  # what the model takes, as features of it

    def of(self, item: Item, parts: tuple[Part, ...]) -> list[Json]:
        """The parts, without empty texts."""
        return [written for part in parts if (written := self._part(item, part))]

    def _part(self, item: Item, part: Part) -> Json | None:
        text = as_text(part)
        if text is not None:
            return text_block(text) if text else None
        if isinstance(part, Image):
            written = _image(part) if "image_input" in self.media else None
        elif isinstance(part, File):
            written = _file(part) if "pdf_input" in self.media else None
        else:
            written = None
        return written or (None if isinstance(part, str) else self._in_words(item, part))

    def _in_words(self, item: Item, part: Image | Audio | File) -> Json:
        kind = media_type(part) or "an unknown type"
        self._sheet.note(item, "media_as_text", f"{type(part).__name__} ({kind}) cannot be carried")
        return text_block(wording.mended(wording.described(part)))


def text_block(text: str) -> Json:
    """A text as a block of input."""
    return {"type": "input_text", "text": text}


def _image(part: Image) -> Json | None:
    data, kind = inline_data(part), media_type(part)
    if data is not None:
        url = f"data:{kind};base64,{data}" if kind in _IMAGES else ""
    else:
        url = part.url if part.url and part.url.startswith(_PLACES) else ""
    return {"type": "input_image", "image_url": wording.mended(url), "detail": part.detail} if url else None


def _file(part: File) -> Json | None:
    data, kind = inline_data(part), media_type(part)
    if data is not None:
        if kind not in _ENDINGS:
            return None
        name = wording.mended(part.name) if part.name else f"document.{_ENDINGS[kind]}"
        return {"type": "input_file", "filename": name, "file_data": f"data:{kind};base64,{data}"}
    url = part.url or ""
    if not url.startswith(_PLACES) or not (kind is None or _is_read(kind)):
        return None
    return {"type": "input_file", "file_url": wording.mended(url)}


def _is_read(kind: str) -> bool:
    return kind in _ENDINGS or kind.startswith("text/")
