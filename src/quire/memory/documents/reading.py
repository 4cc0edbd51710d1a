"""Reading a document: the format by its name and its content, the encoding, and the limits."""

import codecs
import os
import re
import stat
from collections.abc import Callable

from quire.errors import InvalidValue, QuireError, TooLarge, WrongType, cut
from quire.items import MAX_TEXT
from quire.memory.documents.document import Document, Draft, cleaned
from quire.memory.documents.html import read_html
from quire.memory.documents.markdown import read_markdown
from quire.memory.documents.pdf import read_pdf

MAX_BYTES = 64 * 1024 * 1024
"""The largest file that is read. Of text, at most `quire.items.MAX_TEXT` characters are."""

_PLAIN, _MARKDOWN, _HTML, _PDF = "text/plain", "text/markdown", "text/html", "application/pdf"
_ENDINGS = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd"), _MARKDOWN),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _HTML),
    ".pdf": _PDF,
}
_SAMPLE = 64 * 1024
_BEGINNING = 1024
_LOOKS_LIKE_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n)+")


def read_document(
    content: "os.PathLike[str] | bytes | str", *, name: str | None = None, media_type: str | None = None
) -> Document:
    """A document from a file (a `Path`), from bytes, or from a text itself.

    The format is that of `media_type`, else of the content, else of the ending of `name`.
    """
    if isinstance(content, os.PathLike):
        name = os.fspath(content) if name is None else name
        content = content_of(content)
    if not isinstance(content, bytes | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a document is a path, bytes or a text, not {type(content).__name__}")
    source = name or ""
    shown, kind = cut(source) or "the document", _kind_of(content, source, media_type)
    if kind == _PDF:
        if isinstance(content, str):
            raise WrongType("a PDF is read from a file or from bytes, not from a text")
        draft = read_pdf(_within_limit(content, shown), shown)
    else:
        text, notes = (content, []) if isinstance(content, str) else _decoded(content, shown, kind)
        if len(text) > MAX_TEXT:
            raise TooLarge(f"{shown} has {len(text):,} characters; {MAX_TEXT:,} are the most")
        draft = _READERS[kind](cleaned(text))
        draft.notes[:0] = notes if text.strip() else [*notes, "empty"]
    if not draft.blocks and not draft.notes:
        draft.notes.append("nothing in it is text that a reader would see")
    headings = (block for block in draft.blocks if block.kind == "heading")
    first = min(headings, key=lambda block: block.level, default=None)
    title = draft.title or (first.text if first else "") or os.path.basename(source) or source
    return Document(source, title, kind, tuple(draft.blocks), tuple(draft.notes))


def content_of(path: "str | os.PathLike[str]", *, follow_link: bool = True) -> bytes:
    """The bytes of a regular file within the limit. A pipe is refused and not waited for."""
    shown = cut(os.fspath(path))
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow_link else os.O_NOFOLLOW)
    try:
        opened = os.open(path, flags)
        try:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                raise InvalidValue(f"{shown} is no file")
            with open(opened, "rb", closefd=False) as file:
                return _within_limit(file.read(MAX_BYTES + 1), shown)
        finally:
            os.close(opened)
    except OSError as fault:
        raise InvalidValue(f"{shown} cannot be read: {fault.strerror or type(fault).__name__}") from None
    except ValueError as fault:
        if isinstance(fault, QuireError):
            raise
        raise InvalidValue(f"{shown} cannot be read: no such name") from None


def _within_limit(data: bytes, shown: str) -> bytes:
    if len(data) > MAX_BYTES:
        raise TooLarge(f"{shown} has more than {MAX_BYTES:,} bytes")
    return data


def _kind_of(content: bytes | str, source: str, media_type: str | None) -> str:
    if media_type:
        plain = media_type.partition(";")[0].strip().lower()
        known = {"application/xhtml+xml": _HTML, **{kind: kind for kind in (_MARKDOWN, _HTML, _PDF)}}
        if plain not in known and not plain.startswith("text/"):
            raise InvalidValue(f"documents are text, Markdown, HTML or PDF, not {cut(plain)!r}")
        return known.get(plain, _PLAIN)
    by_ending = _ENDINGS.get(os.path.splitext(source)[1].lower(), _PLAIN)
    beginning = content[:_BEGINNING] if isinstance(content, bytes) else b""
    if beginning.lstrip().startswith(b"%PDF-"):
        return _PDF
    return _HTML if by_ending != _MARKDOWN and _LOOKS_LIKE_HTML.match(beginning) else by_ending


def _read_plain(text: str) -> Draft:
    draft = Draft()
    for paragraph in _EMPTY_LINES.split(text):
        draft.add("paragraph", paragraph)
    return draft


_READERS: dict[str, Callable[[str], Draft]] = {
    _PLAIN: _read_plain,
    _MARKDOWN: read_markdown,
    _HTML: read_html,
}

# Encodings.

_WINDOWS = "cp1252"
_MARKS = (  # the longer first: that of UTF-32 begins with that of UTF-16
    *((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF8, "utf-8-sig")),
    *((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")),
)
_DECLARED = re.compile(
    rb"""(?:charset|encoding)\s*=\s*["']?\s*((?:iso|windows|cp125|koi8|gb|big5|shift|sjis|euc|mac)[\w.:-]{0,30})""",
    re.IGNORECASE,
)
# Browsers take a declared encoding for the larger one that pages mean.
_MEANT = {"iso8859-1": _WINDOWS, "gb2312": "gbk", "shift_jis": "cp932", "euc_kr": "cp949"}
_CONTROLS = bytes({*range(32), 127} - {*b"\t\n\x0b\x0c\r\x1b"})
_MOST_CONTROLS = 0.01
_MOST_BROKEN = 0.25
"""The share of characters beyond ASCII that may be broken in what is read as UTF-8."""


def _decoded(data: bytes, shown: str, kind: str) -> tuple[str, list[str]]:
    """The text of some bytes, and notes on its encoding."""
    for mark, encoding in _MARKS:
        if _within_limit(data, shown).startswith(mark):
            return _replaced(data, encoding)
    sample = data[:_SAMPLE]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if b"\x00" in sample or controls > _MOST_CONTROLS * len(sample):
        raise InvalidValue(f"{shown} is binary, and no text, Markdown, HTML or PDF")
    try:
        return data.decode(), []
    except UnicodeDecodeError:
        declared = _declared(data) if kind == _HTML else None
    if declared:
        return _replaced(data, declared)
    text = data.decode(errors="replace")
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    if text.count("\ufffd") <= _MOST_BROKEN * beyond:
        return _replaced(data, "utf-8")
    return data.decode(_WINDOWS, "replace"), [f"not UTF-8: read as {_WINDOWS}, which may be wrong"]


def _declared(data: bytes) -> str | None:
    found = _DECLARED.search(data[:_BEGINNING])
    try:
        known = codecs.lookup(found[1].decode("ascii")).name if found else None
    except (LookupError, ValueError):
        return None
    return _MEANT.get(known, known) if known else None


def _replaced(data: bytes, encoding: str) -> tuple[str, list[str]]:
    notes = [] if encoding == "utf-8-sig" else [f"read as {encoding}"]
    try:
        return data.decode(encoding), notes
    except UnicodeError:
        return data.decode(encoding, "replace"), [f"read as {encoding}; bytes that are not were replaced"]
