"""Parts whose bytes are not what they are said to be: they are put in words, and keep their bytes."""

from quire.items import Audio, File, Image
from quire.providers import wording
from quire.providers.beginnings import PICTURES, begun, is_sound, noun_of, start_of
from quire.providers.media import inline_bytes, media_type


def sound_type(part: Image | Audio | File) -> str | None:
    """The type that a part goes out under; none where its bytes are nothing of the kind.

    A picture of a type that few services take goes under that, whatever it is called.
    """
    told, start = media_type(part), _start(part)
    if start is None or is_sound(told, start):
        return told
    seen = begun(start) or ""
    return seen if told in PICTURES and seen.startswith("image/") else None


def in_words(part: Image | Audio | File, why: str = "cannot be carried") -> tuple[str, str]:
    """A part that is not sent in words, and why it is not."""
    told, sound = media_type(part), sound_type(part)
    name = f"{type(part).__name__} ({sound or told or 'an unknown type'})"
    data = None if sound or not told else inline_bytes(part)
    if data is None:
        return wording.mended(wording.described(part)), f"{name} {why}"
    noun, size = noun_of(told), len(data)
    text = wording.described(part, f": {size} bytes said to be {told}, which are no {noun}")
    return wording.mended(text), f"{name} cannot be carried: its {size} bytes are no {noun}"


def _start(part: Image | Audio | File) -> bytes | None:
    """The first bytes of a part; none for what is at a place."""
    if part.data is not None:
        return part.data
    head, found, data = (part.url or "").partition(";base64,")
    return start_of(data) if found and head.startswith("data:") else None
