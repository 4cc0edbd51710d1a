"""OpenAI Responses: what a message of the user and the output of a tool may hold."""

from quire.items import Audio, File, Image, Part
from quire.providers import wording
from quire.providers.beginnings import PDF, PICTURES
from quire.providers.media import as_text, inline_data, media_type
from quire.providers.native import file_id
from quire.providers.openai_chat.blocks import OWNER
from quire.providers.openai_chat.parts import Parts
from quire.providers.sheet import Json
from quire.providers.unsound import sound_type

_PLACES = ("http://", "https://")
_OFFICE = "application/vnd.openxmlformats-officedocument"
_JSON = "application/json"
_ENDINGS = {
    PDF: "pdf",
    _JSON: "json",
    "application/msword": "doc",
    "application/rtf": "rtf",
    "application/vnd.ms-excel": "xls",
    "application/vnd.ms-powerpoint": "ppt",
    "application/vnd.oasis.opendocument.text": "odt",
    f"{_OFFICE}.presentationml.presentation": "pptx",
    f"{_OFFICE}.spreadsheetml.sheet": "xlsx",
    f"{_OFFICE}.wordprocessingml.document": "docx",
}


class InputParts(Parts):
    """Writes parts as blocks of input; audio is always put in words."""

    __slots__ = ()

    text_type = "input_text"

    def _words(self, part: Part) -> str | None:
        """The words of what is written as text; a file that this wire takes stays one."""
        return None if isinstance(part, File) and media_type(part) == _JSON else as_text(part)

    def _carried(self, part: Image | Audio | File) -> Json | None:
        if isinstance(part, Image):
            return _image(part)
        return _file(part) if isinstance(part, File) else None


def _image(part: Image) -> Json | None:
    known = file_id(part, OWNER)
    if known is not None:
        return {"type": "input_image", "file_id": known, "detail": part.detail}
    data, kind = inline_data(part), sound_type(part)
    if data is not None:
        url = f"data:{kind};base64,{data}" if kind in PICTURES else ""
    else:
        url = part.url if part.url and part.url.startswith(_PLACES) else ""
    return {"type": "input_image", "image_url": wording.mended(url), "detail": part.detail} if url else None


def _file(part: File) -> Json | None:
    known = file_id(part, OWNER)
    if known is not None:
        return {"type": "input_file", "file_id": known}
    data, kind = inline_data(part), sound_type(part)
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
