"""Words for what has none, or none on this wire; constant, so that the same items stay the same bytes."""

from quire.items import (
    Audio,
    Content,
    File,
    Image,
    Message,
    Note,
    Part,
    Summary,
    ToolCall,
    replace_surrogates,
    text_of,
)
from quire.tokens import FAILED, NO_OUTPUT, noted, summarized

__all__ = [
    "BEGIN",
    "CONTINUE",
    "FAILED",
    "NO_OUTPUT",
    "NO_RESULT",
    "UNDERSTOOD",
    "described",
    "failed",
    "failed_parts",
    "from_call",
    "instructed",
    "mended",
    "noted",
    "said",
    "summarized",
    "unmarked",
    "words",
]

NO_RESULT = "No result: the call was interrupted."
CONTINUE = "Continue."
BEGIN = "(The conversation begins.)"
UNDERSTOOD = "Understood."


def instructed(text: str) -> str:
    """Instructions where a wire has none in the middle, told from what the user said."""
    return f"<instructions>\n{text}\n</instructions>"


def said(item: Message | Note | Summary) -> Content:
    """The content of what is said to the model."""
    if isinstance(item, Message):
        return item.content
    return summarized(item.text) if isinstance(item, Summary) else noted(item)


def described(part: Image | Audio | File, more: str = "") -> str:
    """A part in words, for a wire that cannot carry it, with more to say of it."""
    if isinstance(part, Audio):
        length = f", {part.seconds:g} s" if part.seconds else ""
        return part.transcript or f"[audio{length}{_at(part.url)}{more}]"
    if isinstance(part, File):
        return f"[file{' ' + part.name if part.name else ''}{_at(part.url)}{more}]"
    return f"[image{_at(part.url)}{more}]"


def from_call(call: ToolCall) -> str:
    """What stands before media that a tool gave and that had to be moved."""
    return f"[from {call.name}]"


def failed(text: str) -> str:
    """The result of a call that failed, where a wire has no field to say so; it may say so itself."""
    return text if text[:5].lower() == "error" else FAILED + text


def failed_parts(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The same for a result of several parts."""
    if parts and isinstance(parts[0], str):
        return failed(parts[0]), *parts[1:]
    return FAILED, *parts


def unmarked(content: Content) -> tuple[Content, bool]:
    """A result without the mark of failure, and whether it had one; written again it is as it was."""
    parts = (content,) if isinstance(content, str) else content
    if not parts or not isinstance(parts[0], str) or not parts[0].startswith(FAILED):
        return content, False
    rest = parts[0].removeprefix(FAILED)
    if isinstance(content, str):
        return (rest if rest and failed(rest) == content else content), True
    bare = (rest, *parts[1:]) if rest else parts[1:]
    return (bare if failed_parts(bare) == content else content), True


def mended(text: str) -> str:
    """A text that can be written as UTF-8."""
    return replace_surrogates(text)


def words(parts: tuple[Part, ...]) -> str:
    """The text of parts."""
    return mended(text_of(parts))


def _at(url: str | None) -> str:
    return f" at {url}" if url and not url.startswith("data:") else ""
