"""Media as the wires write them: base64, data addresses, media types."""

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from typing import Any, TypeGuard, cast

from quire.items import Audio, File, Image, Part
from quire.providers.beginnings import begun
from quire.providers.json_values import entries_in
from quire.providers.wording import mended
from quire.tokens import in_file, is_text, is_utf8

_LONG = 1000  # characters; what is shorter may be an id or a key
_WIDTH = 64  # characters; the shorter of the two widths that base64 is broken at
_OTHER_NAMES = {
    "image/jpg": "image/jpeg",
    "audio/mp3": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
}


def media_type(part: Image | Audio | File) -> str | None:
    """What a part says it is, or what its first bytes say."""
    if part.media_type:
        plain = part.media_type.partition(";")[0].strip().lower()
        return _OTHER_NAMES.get(plain, plain)
    return _declared(part.url or "") if part.data is None else begun(part.data)


def base64_of(data: bytes) -> str:
    """Bytes in base64."""
    return b64encode(data).decode()


def data_address(part: Image | Audio | File, kind: str) -> str:
    """The bytes of a part as a `data:` address."""
    return f"data:{kind};base64,{base64_of(part.data or b'')}"


def inline_data(part: Image | Audio | File) -> str | None:
    """The bytes of a part in base64, also where they were given as a `data:` address; none for a place."""
    data = inline_bytes(part)
    return None if data is None else base64_of(data)


def inline_bytes(part: Image | Audio | File) -> bytes | None:
    """The bytes of a part, also where they were given as a `data:` address; none where it cannot be read."""
    if part.data is not None:
        return part.data
    head, found, data = (part.url or "").partition(";base64,")
    if not found or not head.startswith("data:"):
        return None
    return bytes_of(data) or None


def bytes_of(text: str) -> bytes | None:
    """Bytes from base64; none where it is not that."""
    # Line breaks, the alphabet that is safe in addresses, and no padding: all of these are about.
    plain = "".join(text.split()).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (NotBase64, ValueError):
        return None


def bare_base64(data: str) -> tuple[str | None, str]:
    """Base64 without the head of a `data:` address, which some leave in front of it, and the type in that."""
    head, found, body = data.partition(";base64,")
    if not found or not head.startswith("data:"):
        return None, data
    return head[5:].partition(";")[0].lower() or None, body


def without_bytes(value: Any) -> Any:
    """JSON for somebody to read: long base64 in it is said to be so many bytes of some type."""
    if isinstance(value, dict):
        return {key: without_bytes(inner) for key, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [without_bytes(inner) for inner in entries_in(value)]
    return _in_short(value) if isinstance(value, str) and len(value) > _LONG else value


def _in_short(text: str) -> str:
    declared, body = bare_base64(text)
    lines = body.split()
    data = "".join(lines)
    start = bytes_of(data[:_LONG]) if _are_even(lines) else None  # the rest may be damaged
    if not start:
        return text
    kind = declared or begun(start) or "data"
    return f"[{kind}, {len(data.rstrip('=')) * 3 // 4} bytes]"


def _are_even(lines: list[str]) -> bool:
    """Whether lines are as base64 is broken: long, and all alike but the last. Lists and words are not."""
    widths = {len(line) for line in lines[:-1]}
    return not widths or (len(widths) == 1 and min(widths) >= _WIDTH)


def as_text(part: Part) -> str | None:
    """The words of a part that is text, a text file with its name included; none for all other media."""
    if isinstance(part, str):
        return mended(part)
    text = file_text(part)
    return text if text is None or not isinstance(part, File) else mended(in_file(part.name, text))


def file_text(part: Part) -> str | None:
    """The words in a text file, without its name; none for all else."""
    return part.data.decode("utf-8", "replace") if _is_text(part) and part.data is not None else None


def is_garbled(part: Part) -> bool:
    """Whether a part is a text file that is not UTF-8, so that letters of it are replaced."""
    return _is_text(part) and not is_utf8(part.data or b"")


def _is_text(part: Part) -> TypeGuard[File]:
    if not isinstance(part, File) or part.data is None:
        return False
    return is_text(media_type(part), part.name, part.data)


def split(parts: tuple[Part, ...]) -> tuple[str, list[Image | Audio | File]]:
    """The words of parts, and their media."""
    texts: list[str] = []
    media: list[Image | Audio | File] = []
    for part in parts:
        text = as_text(part)
        if text is not None:
            texts.append(text)
        elif not isinstance(part, str):
            media.append(part)
    return "\n".join(filter(None, texts)), media


def _declared(url: str) -> str | None:
    head, found, _ = url.partition(",")
    if not found or not head.startswith("data:"):
        return None
    kind = head[5:].partition(";")[0].lower()
    return _OTHER_NAMES.get(kind, kind) or None
