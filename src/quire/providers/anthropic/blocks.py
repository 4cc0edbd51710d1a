"""Anthropic Messages: what a turn of the user or a tool's output may hold."""

from msgspec.structs import replace

from quire.items import Audio, File, Image, Item, Part
from quire.providers import wording
from quire.providers.anthropic.abilities import NAME, Abilities
from quire.providers.anthropic.native import own_block, with_settings
from quire.providers.anthropic.weighing import LARGEST, weight_of
from quire.providers.media import as_text, base64_of, inline_bytes, media_type
from quire.providers.native import BESIDE, fields_beside, file_id
from quire.providers.sheet import Json, Sheet
from quire.tokens.pictures import size_of

_PICTURES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_PDF = "application/pdf"
_PLACES = ("https://", "http://")


class Blocks:
    """Writes parts as content blocks; what cannot be carried is put in words, and noted."""

    __slots__ = ("_abilities", "_sheet", "images", "large", "weight")

    def __init__(self, sheet: Sheet, abilities: Abilities) -> None:
        self._sheet = sheet
        self._abilities = abilities
        self.images = 0  # how many were written
        self.large: dict[int, Json] = {}  # by identity, those that are too large among many
        self.weight = 0  # bytes of all media that are in the request itself

    def branch(self, sheet: Sheet) -> "Blocks":
        """The same, to go on in another way."""
        twin = Blocks(sheet, self._abilities)
        twin.images, twin.large, twin.weight = self.images, self.large.copy(), self.weight
        return twin

    def of(self, item: Item, parts: tuple[Part, ...]) -> list[Json]:
        """The parts, without texts that have nothing to see, which the API refuses."""
        blocks = [self._block(item, part) for part in parts]
        if BESIDE in item.extras:
            with_settings(blocks, fields_beside(item, NAME))
        written = [block for block in blocks if block is not None]
        if len(written) < len(parts):
            self._sheet.note(item, "empty_left_out", "it has texts without content")
        return written

    def own(self, item: Item) -> Json | None:
        """The block of this wire that a note holds, if it may be sent."""
        block = own_block(item)
        self.weight += 0 if block is None else weight_of(block)
        return block

    def _block(self, item: Item, part: Part) -> Json | None:
        if isinstance(part, str):
            return text_block(wording.mended(part))
        part = _inlined(part)
        if isinstance(part, Image):
            written = self._image(part)
        elif isinstance(part, File):
            text = as_text(part)
            if text is not None and is_blank(text):
                return None
            written = self._document(part) if text is None else self._text_file(part, text)
        else:
            written = None
        return written or self._in_words(item, part)

    def _in_words(self, item: Item, part: Image | Audio | File) -> Json:
        kind = media_type(part) or "an unknown type"
        self._sheet.note(item, "media_as_text", f"{type(part).__name__} ({kind}) cannot be carried")
        text = wording.mended(wording.described(part))
        return {"type": "text", "text": f"[{type(part).__name__.lower()}]" if is_blank(text) else text}

    def _image(self, part: Image) -> Json | None:
        if not self._abilities.sees:
            return None
        known = file_id(part, NAME)
        if known is not None:
            return self._counted({"type": "image", "source": _uploaded(known)}, part, b"")
        data = part.data
        kind = media_type(replace(part, media_type=None)) if data else None  # what the bytes say
        kind = kind if kind in _PICTURES else media_type(part)
        if data is None:
            if not _is_place(part) or kind not in (*_PICTURES, None):
                return None
            return self._counted({"type": "image", "source": _place(part)}, part, b"")
        most = self._abilities.images.bytes
        if kind not in _PICTURES or (most and len(data) * 4 // 3 > most) or self._is_above(part, data):
            return None
        source = {"type": "base64", "media_type": kind, "data": base64_of(data)}
        self.weight += len(source["data"])
        return self._counted({"type": "image", "source": source}, part, data)

    def _is_above(self, part: Image, data: bytes) -> bool:
        most = self._abilities.images.side
        return bool(most) and _side(part, data) > (most or 0)

    def _counted(self, block: Json, part: Image, data: bytes) -> Json:
        self.images += 1
        if _side(part, data) > (self._abilities.images.many_side or 10**9):
            self.large[id(block)] = block
        return block

    def _document(self, part: File) -> Json | None:
        if not self._abilities.reads:
            return None
        known = file_id(part, NAME)
        if known is not None:
            source = _uploaded(known)
        elif part.data is not None and media_type(part) == _PDF and len(part.data) * 4 // 3 < LARGEST:
            source = {"type": "base64", "media_type": _PDF, "data": base64_of(part.data)}
            self.weight += len(source["data"])
        elif part.data is None and _is_place(part) and _seems_pdf(part):
            source = _place(part)
        else:
            return None
        return _titled({"type": "document", "source": source}, part)

    def _text_file(self, part: File, text: str) -> Json:
        if not self._abilities.reads:
            return {"type": "text", "text": text}
        self.weight += len(text)
        return _titled(
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}}, part
        )


def text_block(text: str) -> Json | None:
    """A text as a block, unless there is nothing to see in it."""
    return None if is_blank(text) else {"type": "text", "text": text}


def is_blank(text: str) -> bool:
    """Whether a text is empty or of whitespace only."""
    return not text or text.isspace()


def _titled(block: Json, part: File) -> Json:
    name = wording.mended(part.name or "")
    return block if is_blank(name) else {**block, "title": name}


def _inlined(part: Image | Audio | File) -> Image | Audio | File:
    """A part with its bytes, where these were given as a `data:` address."""
    data = inline_bytes(part) if part.data is None else None
    return replace(part, url=None, data=data, media_type=media_type(part)) if data else part


def _uploaded(known: str) -> Json:
    return {"type": "file", "file_id": known}


def _place(part: Image | File) -> Json:
    return {"type": "url", "url": part.url}


def _is_place(part: Image | File) -> bool:
    return (part.url or "").lower().startswith(_PLACES) and wording.mended(part.url or "") == part.url


def _seems_pdf(part: File) -> bool:
    path = (part.url or "").partition("?")[0].partition("#")[0]
    return media_type(part) == _PDF or (
        part.media_type is None and (part.name or path).lower().endswith(".pdf")
    )


def _side(part: Image, data: bytes) -> int:
    """The longer side in pixels; zero where nothing tells."""
    return max(size_of(data) or (part.width or 0, part.height or 0))
