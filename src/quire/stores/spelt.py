"""A text as it is read, however it is spelt: as JSON, on a page, in a table, or printed."""

import re
from html import unescape
from unicodedata import normalize

_ESCAPED = re.compile(
    r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U00(0[0-9a-fA-F]{5}|10[0-9a-fA-F]{4})|([nrtbfv]))"
)
_NAMED_BY_A_LETTER = dict(zip("nrtbfv", "\n\r\t\b\f\v", strict=True))
_QUOTES = re.compile('"{2,}')  # as a row of a table has them
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_WITH_EXPONENT = re.compile(r"(?<![\w.])\d{1,9}(?:\.\d{1,17})?[eE][+-]?\d{1,2}(?!\w|\.\d)")
_ZEROS = re.compile(r"(?<![\w.])(\d+)\.(\d*?)0+(?!\w|\.\d)")
_AN_EXPONENT, _A_ZERO = re.compile(r"[eE][+-]?\d"), re.compile(r"\.\d*0")  # soon seen, and seldom there
_AHEAD_OF_LINES = re.compile(r"^[ \t]*(?:[>|][ \t]?)+", re.MULTILINE)  # as mails and recalled turns quote
_MOST_PAGES = 3  # that a text is on a page that is on a page
_HALF = re.compile("[\ud800-\udfff]")


def as_read(text: str) -> str:
    r"""A text with its letters for their escapes, one blank for all that is blank, and no backslashes.

    Marks ahead of its lines are gone, too, and zeros behind its decimals. So two spellings of one text are
    the same, also of one that is JSON within JSON.
    """
    text = _COLOURS.sub("", text)
    if "\\" in text:
        while "\\\\" in text:
            text = text.replace("\\\\", "\\")
        text = _ESCAPED.sub(_letter, text).replace("\\", "")
        if _HALF.search(text):  # what lies beyond 16 bits is escaped in two halves
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    for _ in range(_MOST_PAGES if "&" in text else 0):
        text = unescape(text)
    if not text.isascii():
        text = normalize("NFC", text)
    if _AN_EXPONENT.search(text):
        text = _WITH_EXPONENT.sub(lambda number: str(float(number.group())), text)
    if _A_ZERO.search(text):
        text = _ZEROS.sub(_without_zeros, text)
    if ">" in text or "|" in text:
        text = _AHEAD_OF_LINES.sub("", text)
    return " ".join(_QUOTES.sub('"', text).split())


def _letter(escaped: re.Match[str]) -> str:
    code = escaped[1] or escaped[2] or escaped[3]
    return chr(int(code, 16)) if code else _NAMED_BY_A_LETTER[escaped[4]]


def _without_zeros(number: re.Match[str]) -> str:
    """A decimal as short as it can be written: 49.90 and 49.9 are one number."""
    return f"{number[1]}.{number[2]}" if number[2] else number[1]
