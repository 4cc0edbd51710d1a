"""OpenAI Chat Completions: what a message of the user may hold."""

from quire.items import Audio, File, Image, Item, Part
from quire.providers import wording
from quire.providers.media import as_text, inline_data, media_type
from quire.providers.sheet import Json, Sheet
from quire.tokens.facts import ModelFacts

_IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}


def media_taken(facts: ModelFacts) -> frozenset[str]:
    """The media that a model takes; one that is not known is trusted with all that most take."""
    features = frozenset[str](facts.features)
    return features if facts.provider is not None else features | {"image_input", "pdf_input"}


class Parts:
    """Writes parts; what cannot be carried is put in words, and noted."""

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
            return _text(text) if text else None
        if isinstance(part, str):
            return None
        if isinstance(part, Image):
            written = _image(part) if "image_input" in self.media else None
        elif isinstance(part, Audio):
            written = _audio(part) if "audio_input" in self.media else None
        else:
            written = _file(part) if "pdf_input" in self.media else None
        return written or self._in_words(item, part)

    def _in_words(self, item: Item, part: Image | Audio | File) -> Json:
        kind = media_type(part) or "an unknown type"
        self._sheet.note(item, "media_as_text", f"{type(part).__name__} ({kind}) cannot be carried")
        return _text(wording.mended(wording.described(part)))


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _image(part: Image) -> Json | None:
    url, data, kind = part.url or "", inline_data(part), media_type(part)
    if data is not None and kind in _IMAGES:
        url = f"data:{kind};base64,{data}"
    elif not url.startswith(("http://", "https://")):
        return None
    shown = {"url": url} if part.detail == "auto" else {"url": url, "detail": part.detail}
    return {"type": "image_url", "image_url": shown}


def _audio(part: Audio) -> Json | None:
    data, kind = inline_data(part), _FORMATS.get(media_type(part) or "")
    return {"type": "input_audio", "input_audio": {"data": data, "format": kind}} if data and kind else None


def _file(part: File) -> Json | None:
    data = inline_data(part)
    if data is None or media_type(part) != "application/pdf":
        return None
    address = f"data:application/pdf;base64,{data}"
    return {"type": "file", "file": {"filename": part.name or "document.pdf", "file_data": address}}
