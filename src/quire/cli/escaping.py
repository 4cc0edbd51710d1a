"""Texts that may be printed: a message must not drive a terminal, and is shown with what it tried.

Escaped are control characters, those that turn the direction of writing, and those that nobody sees. In JSON
an escape says the same as the character, so nothing is lost.
"""

import re

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_UNSAFE_IN_JSON = re.compile(_UNSAFE.pattern.replace("\x00-\x1f", ""))  # there they are layout, or escaped
_UNSAFE_IN_LINES = re.compile(_UNSAFE.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))
_LAYOUT = re.compile(r"[ \n\r\t]+")
_LONGEST = 80


def visible(text: str) -> str:
    """A text on one line, with escapes for what is no plain character."""
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def readable(text: str) -> str:
    """A text as it is laid out, with escapes for what is neither a plain character nor layout."""
    return _UNSAFE_IN_LINES.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def beginning(text: str, longest: int = _LONGEST) -> str:
    """The beginning of a text, on one line and with single spaces."""
    line = visible(_LAYOUT.sub(" ", text[: 8 * longest]).strip(" "))
    is_whole = len(line) <= longest and len(text) <= 8 * longest
    return line if is_whole else f"{line[: longest - 1]}…"


def visible_json(text: str) -> str:
    """JSON that says the same, without what a terminal might obey."""
    return _UNSAFE_IN_JSON.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
