"""A text as it is read, however it is spelt: as JSON, on a page, in a table, or printed."""

import re
from html import unescape

_ESCAPED = re.compile(
    r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U00(0[0-9a-fA-F]{5}|10[0-9a-fA-F]{4})|[nrtbfv])"
)
_QUOTES = re.compile('"{2,}')  # as a row of a table has them
_HALF = re.compile("[\ud800-\udfff]")


def as_read(text: str) -> str:
    r"""A text with its letters for their escapes, one blank for all that is blank, and no backslashes.

    So two spellings of one text are the same, also of one that is JSON within JSON.
    """
    if "\\" in text:
        while "\\\\" in text:
            text = text.replace("\\\\", "\\")
        text = _ESCAPED.sub(_letter, text).replace("\\", "")
        if _HALF.search(text):  # what lies beyond 16 bits is escaped in two halves
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if "&" in text:
        text = unescape(text)
    return " ".join(_QUOTES.sub('"', text).split())


def _letter(escaped: re.Match[str]) -> str:
    code = escaped[1] or escaped[2] or escaped[3]
    return chr(int(code, 16)) if code else " "
