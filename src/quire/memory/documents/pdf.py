"""PDF, through `pypdf`: the text of each page, with headings where the outline of the document has them."""

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

# Without any handler Python would print on standard error what is told in our own words. Who has set up
# logging hears it still.
logging.getLogger("pypdf").addHandler(logging.NullHandler())

MAX_PAGES = 10_000
_DEEPEST = 6
_FULL_LINE = 0.7
"""The share of the widest line below which a line that ends a sentence ends its paragraph."""

_BROKEN_WORD = re.compile(r"[^\W\d_]-$")
_BLANKS = re.compile(r"\s+")


def read_pdf(data: bytes, name: str) -> Draft:
    """The blocks of a PDF, with their pages."""
    reader = _opened(data, name)
    draft, headings, size = Draft(), _outline(reader), 0
    draft.title = _title(reader)
    empty: list[int] = []
    failed: list[int] = []
    for number in range(1, len(reader.pages) + 1):
        text = _text(reader, number)
        size += len(text or "")
        if size > MAX_TEXT:
            raise TooLarge(f"{name} has more than {MAX_TEXT:,} characters of text")
        if text is None:
            failed.append(number)
        elif not text.strip():
            empty.append(number)
        else:
            _add_page(draft, text, number, headings.get(number, {}))
    _tell(draft, len(reader.pages), empty, failed)
    return draft


def _opened(data: bytes, name: str) -> "PdfReader":
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError
    except ImportError as missing:
        raise MissingExtra("pypdf", "documents") from missing
    try:
        reader = PdfReader(BytesIO(data))
        is_open = not reader.is_encrypted or bool(reader.decrypt(""))
        pages = len(reader.pages) if is_open else 0
    except DependencyError:
        raise InvalidValue(f"{name} is encrypted in a way that needs the cryptography library") from None
    except Exception as fault:  # what a damaged file makes a reader stumble over is of any kind
        raise Damaged(f"no whole PDF ({type(fault).__name__})", name) from None
    if not is_open:
        raise InvalidValue(f"{name} is encrypted, and opens with a password alone")
    if pages > MAX_PAGES:
        raise TooLarge(f"{name} has {pages:,} pages; {MAX_PAGES:,} are the most")
    return reader


def _text(reader: "PdfReader", number: int) -> str | None:
    try:
        return cleaned(reader.pages[number - 1].extract_text())
    except Exception:  # one page that cannot be read is no reason to leave the others out; it is told
        return None


def _title(reader: "PdfReader") -> str:
    try:
        said = reader.metadata.title if reader.metadata else None
    except Exception:  # as above; a title can be done without
        return ""
    return _BLANKS.sub(" ", cleaned(said)).strip() if isinstance(said, str) else ""


def _outline(reader: "PdfReader") -> dict[int, dict[str, int]]:
    """The headings of each page by the outline, with their levels."""
    found: dict[int, dict[str, int]] = {}
    try:
        for title, page, level in _entries(reader, reader.outline, 1):
            found.setdefault(page, {}).setdefault(_plain(title), level)
    except Exception:  # as above; an outline can be done without
        return {}
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
    paragraph: list[str] = []
    for line in (*map(str.strip, lines), ""):
        level = headings.get(_plain(line)) if line else None
        if not line or level:
            draft.add("paragraph", "".join(paragraph), page=page)
            paragraph = []
        if level:
            draft.add("heading", line, level=level, page=page)
            continue
        _join(paragraph, line)
        if line.endswith((".", "!", "?", ":")) and len(line) < _FULL_LINE * widest:
            draft.add("paragraph", "".join(paragraph), page=page)
            paragraph = []


def _join(paragraph: list[str], line: str) -> None:
    """A paragraph with its next line; a word that was broken at the end of the line is whole again."""
    if paragraph and _BROKEN_WORD.match(paragraph[-1][-2:]) and line[:1].islower():
        paragraph[-1] = paragraph[-1][:-1]
    elif paragraph:
        paragraph.append(" ")
    paragraph.append(line)


def _plain(line: str) -> str:
    return _BLANKS.sub("", line).casefold()


def _tell(draft: Draft, pages: int, empty: list[int], failed: list[int]) -> None:
    if failed:
        draft.notes.append(f"{_pages(failed)} could not be read")
    if empty and len(empty) == pages:
        draft.notes.append("no page has text: it is scanned, or made of pictures")
    elif empty:
        draft.notes.append(f"{_pages(empty)} without text: empty, scanned, or pictures")


def _pages(numbers: list[int]) -> str:
    named = ", ".join(map(str, numbers[:10])) + (
        f" and {len(numbers) - 10} more" if len(numbers) > 10 else ""
    )
    return f"page{'s' if len(numbers) > 1 else ''} {named}"
