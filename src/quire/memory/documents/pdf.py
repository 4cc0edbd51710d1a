"""PDF, read by `pypdf`: the text of each page in paragraphs."""

import logging
import re
from io import BytesIO
from typing import TYPE_CHECKING

from quire.errors import Damaged, InvalidValue, MissingExtra, TooLarge
from quire.items import MAX_TEXT
from quire.memory.documents.document import Draft, cleaned

if TYPE_CHECKING:
    from pypdf import PdfReader

logging.getLogger("pypdf").addHandler(logging.NullHandler())  # else Python prints its warnings

_FULL_LINE = 0.7
"""A line that ends a sentence and is shorter than this share of the widest also ends its paragraph."""
_BROKEN_WORD = re.compile(r"[^\W\d_]-$")


def read_pdf(data: bytes, name: str) -> Draft:
    """The blocks of a PDF, with their pages. A note names the pages that cannot be read."""
    reader, draft, size = _opened(data, name), Draft(), 0
    draft.title, textless = _title(reader), list[str]()
    for number, page in enumerate(reader.pages, 1):
        try:
            text = cleaned(page.extract_text())
        except Exception:  # pypdf raises anything on a damaged page
            text = ""
        size += len(text)
        if size > MAX_TEXT:
            raise TooLarge(f"{name} has more than {MAX_TEXT:,} characters of text")
        if not text.strip():
            textless.append(str(number))
        _add_page(draft, text, number)
    if textless:
        pages = "all pages" if len(textless) == len(reader.pages) else f"pages {', '.join(textless)}"
        draft.notes.append(f"no text was found (empty, scanned or damaged): {pages}")
    return draft


def _opened(data: bytes, name: str) -> "PdfReader":
    try:
        from pypdf import PdfReader
    except ImportError as missing:
        raise MissingExtra("pypdf", "documents") from missing
    try:
        reader = PdfReader(BytesIO(data))
        is_open = not reader.is_encrypted or bool(reader.decrypt(""))
    except Exception as fault:
        raise Damaged(f"not a complete PDF ({type(fault).__name__})", name) from None
    if not is_open:
        raise InvalidValue(f"{name} is encrypted with a password: documents must be readable without one")
    return reader


def _title(reader: "PdfReader") -> str:
    try:
        title = reader.metadata.title if reader.metadata else None
    except Exception:  # pypdf raises anything on damaged metadata
        title = None
    return " ".join(cleaned(title).split()) if isinstance(title, str) else ""


def _add_page(draft: Draft, text: str, page: int) -> None:
    lines = text.split("\n")
    widest = max(map(len, lines))
    paragraph = ""
    for line in (*map(str.strip, lines), ""):
        if _BROKEN_WORD.match(paragraph[-2:]) and line[:1].islower():
            paragraph = paragraph[:-1] + line  # a word that was hyphenated at the end of the line
        else:
            paragraph = f"{paragraph} {line}" if paragraph else line
        if not line or (line.endswith((".", "!", "?", ":")) and len(line) < _FULL_LINE * widest):
            draft.add("paragraph", paragraph, page=page)
            paragraph = ""
