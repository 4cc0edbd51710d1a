"""Which reader a document wants, by its ending and by what it holds, and what is too much to read."""

import os
import re
import stat
from collections.abc import Callable

from quire.errors import InvalidValue, QuireError, TooLarge, WrongType, cut
from quire.items import MAX_TEXT
from quire.memory.documents.decoding import decoded
from quire.memory.documents.document import Document, Draft, cleaned
from quire.memory.documents.hypertext import read_html
from quire.memory.documents.markdown import read_markdown
from quire.memory.documents.pdf import read_pdf
from quire.memory.documents.plain import read_plain

MAX_BYTES = 64 * 1024 * 1024
"""The largest file that is read. Of text, at most `quire.items.MAX_TEXT` characters are."""

PLAIN, MARKDOWN, HTML, PDF = "text/plain", "text/markdown", "text/html", "application/pdf"
_READERS: dict[str, Callable[[str], Draft]] = {PLAIN: read_plain, MARKDOWN: read_markdown, HTML: read_html}
_ENDINGS = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd"), MARKDOWN),
    **dict.fromkeys((".html", ".htm", ".xhtml"), HTML),
    ".pdf": PDF,
}
_BEGINNING = 1024
_looks_like_html = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
).match
_OPENED = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # nobody may wait for a pipe


def read_document(
    content: "os.PathLike[str] | bytes | str", *, name: str | None = None, media_type: str | None = None
) -> Document:
    """A document from a file (a `Path`), from bytes, or from a text itself.

    `name` is what it is called, and its ending says what it is where `media_type` does not. A file, or bytes,
    of another kind than its ending says is read as what it is.
    """
    if isinstance(content, os.PathLike):
        name = os.fspath(content) if name is None else name
        content = content_of(content)
    if not isinstance(content, bytes | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a document is a path, bytes or a text, not {type(content).__name__}")
    source = name or ""
    if isinstance(content, bytes):
        return _of_bytes(content, source, media_type)
    kind = _checked(media_type) or _ENDINGS.get(_ending(source), PLAIN)
    if kind == PDF:
        raise WrongType("a PDF is read from a file or from bytes, not from a text")
    return _of_text(content, source, kind, [])


def content_of(path: "str | os.PathLike[str]", *, follow_link: bool = True) -> bytes:
    """The bytes of a file, if it is one and not too large."""
    shown = cut(os.fspath(path))
    try:
        opened = os.open(path, _OPENED if follow_link else _OPENED | os.O_NOFOLLOW)
        try:
            return _content(opened, shown)
        finally:
            os.close(opened)
    except QuireError:
        raise
    except (OSError, ValueError) as fault:
        raise InvalidValue(f"{shown} cannot be read: {_reason(fault)}") from None


def _content(opened: int, shown: str) -> bytes:
    found = os.fstat(opened)
    if not stat.S_ISREG(found.st_mode):
        raise InvalidValue(f"{shown} is no file")
    if found.st_size > MAX_BYTES:
        raise TooLarge(f"{shown} has {found.st_size:,} bytes; {MAX_BYTES:,} are the most")
    with open(opened, "rb", closefd=False) as file:
        return _read(file.read(MAX_BYTES + 1), shown)


def _read(data: bytes, shown: str) -> bytes:
    if len(data) > MAX_BYTES:  # it grew since, or its size is not told beforehand
        raise TooLarge(f"{shown} has more than {MAX_BYTES:,} bytes")
    return data


def _reason(fault: Exception) -> str:
    return (fault.strerror or type(fault).__name__) if isinstance(fault, OSError) else "no such name"


def _of_bytes(data: bytes, source: str, media_type: str | None) -> Document:
    shown = cut(source) or "the document"
    data = _read(data, shown)
    kind = _kind_of(data, source, media_type)
    if kind == PDF:
        return _finished(read_pdf(data, shown), source, kind, is_empty=not data)
    text, notes = decoded(data, shown, is_marked_up=kind == HTML)
    return _of_text(text, source, kind, notes)


def _kind_of(data: bytes, source: str, media_type: str | None) -> str:
    """What is said first; then what it is by its content, and then by its ending."""
    if said := _checked(media_type):
        return said
    if data[:_BEGINNING].lstrip().startswith(b"%PDF-"):
        return PDF
    by_ending = _ENDINGS.get(_ending(source), PLAIN)
    if by_ending != MARKDOWN and _looks_like_html(data[:_BEGINNING]):
        return HTML
    return by_ending


def _checked(media_type: str | None) -> str | None:
    """A media type, without what may come after it, such as its charset."""
    plain = media_type.partition(";")[0].strip().lower() if media_type else None
    if plain is None or plain == PDF or plain in _READERS:
        return plain
    if plain == "application/xhtml+xml":
        return HTML
    if plain.startswith("text/"):
        return PLAIN
    raise InvalidValue(f"documents are text, Markdown, HTML or PDF, not {cut(plain)!r}")


def _ending(source: str) -> str:
    return os.path.splitext(source)[1].lower()


def _of_text(text: str, source: str, kind: str, notes: list[str]) -> Document:
    if len(text) > MAX_TEXT:
        raise TooLarge(
            f"{cut(source) or 'the document'} has {len(text):,} characters; {MAX_TEXT:,} are the most"
        )
    draft = _READERS[kind](cleaned(text))
    draft.notes[:0] = notes
    return _finished(draft, source, kind, is_empty=not text.strip())


def _finished(draft: Draft, source: str, kind: str, *, is_empty: bool) -> Document:
    if is_empty:
        draft.notes.append("empty")
    elif not draft.blocks and not draft.notes:
        draft.notes.append("nothing in it is text that a reader would see")
    title = draft.named() or os.path.basename(source) or source
    return Document(source, title, kind, tuple(draft.blocks), tuple(draft.notes))
