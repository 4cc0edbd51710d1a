"""Gemini: what a content may hold."""

from quire.items import Audio, File, Image, Item, Part
from quire.providers import wording
from quire.providers.gemini.signing import NAME
from quire.providers.json_values import copied_fields, fields_in
from quire.providers.media import as_text, inline_data
from quire.providers.native import BESIDE, fields_beside
from quire.providers.sheet import Json, Sheet
from quire.providers.unsound import in_words, sound_type

Media = Image | Audio | File

_IMAGES = ("png", "jpeg", "webp", "heic", "heif")
_AUDIO = ("wav", "mp3", "aiff", "aac", "ogg", "flac", "m4a", "mp4", "pcm", "webm", "opus")
_VIDEO = ("mp4", "mpeg", "quicktime", "mov", "avi", "x-flv", "mpg", "webm", "wmv", "3gpp")
_TYPES = frozenset(
    (
        "application/pdf",
        *(f"image/{kind}" for kind in _IMAGES),
        *(f"audio/{kind}" for kind in _AUDIO),
        *(f"video/{kind}" for kind in _VIDEO),
    )
)
_IN_RESULTS = frozenset(("image/png", "image/jpeg", "image/webp", "application/pdf"))
_NAMED_HERE = {"audio/mpeg": "audio/mp3", "audio/x-flac": "audio/flac", "audio/x-aiff": "audio/aiff"}
_BY_ENDING = {
    **{kind: f"image/{kind}" for kind in _IMAGES},
    **{kind: f"audio/{kind}" for kind in ("wav", "mp3", "aiff", "aac", "ogg", "flac", "m4a")},
    **{kind: f"video/{kind}" for kind in ("mp4", "mpeg", "mov", "avi", "mpg", "webm", "wmv", "3gpp")},
    **{"jpg": "image/jpeg", "gif": "image/gif", "pdf": "application/pdf"},
}


class Parts:
    """Writes parts; what cannot be carried is put in words, and noted."""

    __slots__ = ("_fetches", "_sheet")

    def __init__(self, sheet: Sheet, fetches: bool) -> None:
        self._sheet = sheet
        self._fetches = fetches  # whether the model takes addresses outside of Google's storage

    def branch(self, sheet: Sheet) -> "Parts":
        """The same, for another sheet."""
        return Parts(sheet, self._fetches)

    def of(self, item: Item, parts: tuple[Part, ...], *, with_videos: bool = False) -> list[Json]:
        """The parts, without empty texts; with what was said of the videos among them."""
        written = [self._part(item, part) for part in parts]
        if with_videos and BESIDE in item.extras:
            _cut_videos(written, fields_in(fields_beside(item, NAME).get("parts")))
        return [part for part in written if part]

    def _part(self, item: Item, part: Part) -> Json | None:
        text = as_text(part)
        if text is not None:
            return {"text": text} if text else None
        if isinstance(part, str):
            return None
        return inline(part) or self._address(part) or self._in_words(item, part)

    def _address(self, part: Media) -> Json | None:
        url, kind = part.url or "", _kind(part)
        if not url.startswith(("gs://", "https://") if self._fetches else "gs://"):
            return None
        if kind is None:
            # The service finds out by itself; there is no other way for its own files and for videos.
            return {"fileData": {"fileUri": wording.mended(url)}}
        return {"fileData": {"fileUri": wording.mended(url), "mimeType": kind}} if kind in _TYPES else None

    def _in_words(self, item: Item, part: Media) -> Json:
        text, why = in_words(part)
        self._sheet.note(item, "media_as_text", why)
        return {"text": text}


def _cut_videos(parts: list[Json | None], settings: Json) -> None:
    """Put on videos which stretch of them was asked about, by their places among the parts."""
    for place, part in enumerate(parts):
        cut = copied_fields(fields_in(settings.get(str(place))).get("videoMetadata"))
        if cut and part and ("fileData" in part or "inlineData" in part):
            part["videoMetadata"] = cut


def inline(part: Media) -> Json | None:
    """A part whose bytes are at hand, if they are of a type that is taken."""
    kind = _kind(part)
    if kind not in _TYPES:
        return None
    data = inline_data(part)
    return None if data is None else {"inlineData": {"mimeType": kind, "data": data}}


def in_result(part: Media) -> Json | None:
    """A part as the answer to a call may hold it, if it may."""
    return inline(part) if _kind(part) in _IN_RESULTS else None


def in_reply(part: Media) -> Json | None:
    """A part as the model itself may have made it, if it may."""
    return inline(part) if (_kind(part) or "").startswith("image/") else None


def _kind(part: Media) -> str | None:
    kind = sound_type(part)
    if kind is None and part.url is not None and not part.url.startswith("data:"):
        path = part.url.partition("?")[0].partition("#")[0]
        kind = _BY_ENDING.get(path.rpartition("/")[2].rpartition(".")[2].lower())
    return _NAMED_HERE.get(kind, kind) if kind else None
