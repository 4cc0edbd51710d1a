"""PDF, read by `pypdf`: the text of each page, with headings where the outline has them."""

import logging
import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from quire.errors import Damaged, InvalidValue, MissingExtra, TooLarge
from quire.items import MAX_TEXT
from quire.memory.documents.document import Draft, cleaned

if TYPE_CHECKING:
    from pypdf import PdfReader

logging.getLogger("pypdf").addHandler(logging.NullHandler())  # else Python prints its warnings

_MAX_PAGES = 10_000
_DEEPEST = 6
_FULL_LINE = 0.7
"""The share of the widest line below which a line that ends a sentence ends its paragraph."""
_BROKEN_WORD = re.compile(r"[^\W\d_]-$")


def read_pdf(data: bytes, name: str) -> Draft:
    """The blocks of a PDF, with their pages. A page that cannot be read is named in a note."""
    reader, draft, size = _opened(data, name), Draft(), 0
    headings, without = _outline(reader, draft), list[str]()
    for number, page in enumerate(reader.pages, 1):
        try:
            text = cleaned(page.extract_text())
        except Exception:  # pypdf raises anything on a damaged page
            text = ""
        size += len(text)
        if size > MAX_TEXT:
            raise TooLarge(f"{name} has more than {MAX_TEXT:,} characters of text")
        if not text.strip():
            without.append(str(number))
        _add_page(draft, text, number, headings.get(number, {}))
    if without:
        pages = "all pages" if len(without) == len(reader.pages) else f"pages {', '.join(without)}"
        draft.notes.append(f"without text, so empty, scanned, pictures or damaged: {pages}")
    return draft


def _opened(data: bytes, name: str) -> "PdfReader":
    try:
        from pypdf import PdfReader
    except ImportError as missing:
        raise MissingExtra("pypdf", "documents") from missing
    try:
        reader = PdfReader(BytesIO(data))
        is_open = not reader.is_encrypted or bool(reader.decrypt(""))
        pages = len(reader.pages) if is_open else 0
    except Exception as fault:
        raise Damaged(f"no whole PDF ({type(fault).__name__})", name) from None
    if not is_open:
        raise InvalidValue(f"{name} is encrypted, and opens with a password alone")
    if pages > _MAX_PAGES:
        raise TooLarge(f"{name} has {pages:,} pages; {_MAX_PAGES:,} are the most")
    return reader


def _outline(reader: "PdfReader", draft: Draft) -> dict[int, dict[str, int]]:
    """The levels of the headings of each page, by their letters; the title goes to the draft."""
    found = dict[int, dict[str, int]]()
    try:
        title = reader.metadata.title if reader.metadata else None
        draft.title = " ".join(cleaned(title).split()) if isinstance(title, str) else ""
        for heading, page, level in _entries(reader, reader.outline, 1):
            found.setdefault(page, {}).setdefault(_letters(heading), level)
    except Exception:  # of a damaged title or outline what was found stays
        pass
    return found


def _entries(reader: "PdfReader", outline: Sequence[Any], level: int) -> Iterator[tuple[str, int, int]]:
    for entry in outline:
        if isinstance(entry, list):
            yield from _entries(reader, entry, level + 1)  # pyright: ignore[reportUnknownArgumentType]
        elif (page := reader.get_destination_page_number(entry)) is not None and page >= 0:
            yield str(entry.title), page + 1, min(level, _DEEPEST)


def _add_page(draft: Draft, text: str, page: int, headings: dict[str, int]) -> None:
    lines = text.split("\n")
    widest = max(map(len, lines))
    paragraph = ""
    for line in (*map(str.strip, lines), ""):
        level = headings.get(_letters(line)) if line else None
        is_end = line.endswith((".", "!", "?", ":")) and len(line) < _FULL_LINE * widest
        if not level and _BROKEN_WORD.match(paragraph[-2:]) and line[:1].islower():
            paragraph = paragraph[:-1] + line  # a word that was broken at the end of the line
        elif not level:
            paragraph = f"{paragraph} {line}" if paragraph else line
        if not line or level or is_end:
            draft.add("paragraph", paragraph, page=page)
            paragraph = ""
        if level:
            draft.add("heading", line, level=level, page=page)


def _letters(line: str) -> str:
    return "".join(line.split()).casefold()
