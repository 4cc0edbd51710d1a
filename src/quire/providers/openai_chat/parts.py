"""OpenAI Chat Completions: what a message of the user may hold."""

from typing import ClassVar

from quire.items import Audio, File, Image, Item, Part
from quire.providers import wording
from quire.providers.beginnings import PDF, PICTURES
from quire.providers.media import as_text, inline_data, media_type
from quire.providers.native import file_id
from quire.providers.openai_chat.blocks import OWNER
from quire.providers.sheet import Json, Sheet
from quire.providers.unsound import in_words, sound_type

_FEATURES = {Image: "image_input", Audio: "audio_input", File: "pdf_input"}
_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}


class Parts:
    """Writes parts; what cannot be carried is put in words, and noted."""

    __slots__ = ("_media", "_sheet")

    text_type: ClassVar[str] = "text"

    def __init__(self, sheet: Sheet, media: frozenset[str]) -> None:
        self._sheet = sheet
        self._media = media  # what the model takes, as features of it

    def of(self, item: Item, parts: tuple[Part, ...]) -> list[Json]:
        """The parts, without empty texts."""
        return [written for part in parts if (written := self._part(item, part))]

    def text(self, text: str) -> Json:
        """A text as a block."""
        return {"type": self.text_type, "text": text}

    def _part(self, item: Item, part: Part) -> Json | None:
        text = self._words(part)
        if text is not None:
            return self.text(text) if text else None
        if isinstance(part, str):
            return None
        written = self._carried(part) if _FEATURES[type(part)] in self._media else None
        return written or self._in_words(item, part)

    def _words(self, part: Part) -> str | None:
        """The words of what is written as text."""
        return as_text(part)

    def _carried(self, part: Image | Audio | File) -> Json | None:
        if isinstance(part, Image):
            return _image(part)
        return _audio(part) if isinstance(part, Audio) else _file(part)

    def _in_words(self, item: Item, part: Image | Audio | File) -> Json:
        text, why = in_words(part)
        self._sheet.note(item, "media_as_text", why)
        return self.text(text)


def _image(part: Image) -> Json | None:
    url, data, kind = part.url or "", inline_data(part), sound_type(part)
    if data is not None and kind in PICTURES:
        url = f"data:{kind};base64,{data}"
    elif not url.startswith(("http://", "https://")):
        return None
    url = wording.mended(url)
    shown = {"url": url} if part.detail == "auto" else {"url": url, "detail": part.detail}
    return {"type": "image_url", "image_url": shown}


def _audio(part: Audio) -> Json | None:
    data, kind = inline_data(part), _FORMATS.get(media_type(part) or "")
    return {"type": "input_audio", "input_audio": {"data": data, "format": kind}} if data and kind else None


def _file(part: File) -> Json | None:
    known = file_id(part, OWNER)
    if known is not None:
        return {"type": "file", "file": {"file_id": known}}
    data = inline_data(part)
    if data is None or sound_type(part) != PDF:
        return None
    address = f"data:{PDF};base64,{data}"
    name = wording.mended(part.name) if part.name else "document.pdf"
    return {"type": "file", "file": {"filename": name, "file_data": address}}
