"""The readers of documents: detection of format and encoding, limits, plain text and Markdown."""

import codecs
import os
import re
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING

from quire.errors import InvalidValue, MissingExtra, QuireError, TooLarge, WrongType, cut
from quire.items import MAX_TEXT
from quire.memory.documents.document import Block, Document, Draft, cleaned
from quire.memory.documents.html import read_html
from quire.memory.documents.pdf import read_pdf

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_BYTES = 64 * 1024 * 1024
"""The most bytes of a file. A text has at most `quire.items.MAX_TEXT` characters."""

_PLAIN, _MARKDOWN, _HTML, _PDF = "text/plain", "text/markdown", "text/html", "application/pdf"
_ENDINGS = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd"), _MARKDOWN),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _HTML),
}
_BEGINNING = 1024
_LOOKS_LIKE_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)


def read_document(content: "os.PathLike[str] | bytes | str", *, name: str | None = None) -> Document:
    """Read a document from a file (a `Path`), from bytes, or from a text.

    The format is detected from the content, else from the ending of `name`.
    """
    if isinstance(content, os.PathLike):
        name = os.fspath(content) if name is None else name
        content = content_of(content)
    if not isinstance(content, bytes | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a document must be a path, bytes or a text, not {type(content).__name__}")
    source = name or ""
    shown, media_type = cut(source) or "the document", _media_type_of(content, source)
    if isinstance(content, bytes) and len(content) > MAX_BYTES:
        raise TooLarge(f"{shown} has more than {MAX_BYTES:,} bytes")
    if media_type == _PDF:
        if isinstance(content, str):
            raise WrongType("a PDF must be a file or bytes, not a text")
        draft = read_pdf(content, shown)
    else:
        text, notes = (content, []) if isinstance(content, str) else _decoded(content, shown)
        if len(text) > MAX_TEXT:
            raise TooLarge(f"{shown} has {len(text):,} characters; the limit is {MAX_TEXT:,}")
        draft = _READERS[media_type](cleaned(text))
        draft.notes[:0] = notes if text.strip() else [*notes, "empty"]
    if not draft.blocks and not draft.notes:
        draft.notes.append("nothing in it is text that a reader would see")
    headings = (block for block in draft.blocks if block.kind == "heading")
    first = min(headings, key=lambda block: block.level, default=None)
    title = draft.title or (first.text if first else "") or os.path.basename(source) or source
    return Document(source, title, media_type, tuple(draft.blocks), tuple(draft.notes))


def content_of(path: "str | os.PathLike[str]") -> bytes:
    """Read a regular file within the limit. A pipe is refused without waiting."""
    shown = cut(os.fspath(path))
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InvalidValue(f"{shown} is not a regular file")
            data = file.read(MAX_BYTES + 1)
    except OSError as fault:
        raise InvalidValue(f"{shown} cannot be read: {fault.strerror or type(fault).__name__}") from None
    except ValueError as fault:
        if isinstance(fault, QuireError):
            raise
        raise InvalidValue(f"{shown} cannot be read: it is not a valid path") from None
    if len(data) > MAX_BYTES:
        raise TooLarge(f"{shown} has more than {MAX_BYTES:,} bytes")
    return data


def _media_type_of(content: bytes | str, source: str) -> str:
    ending = os.path.splitext(source)[1].lower()
    beginning = content[:_BEGINNING] if isinstance(content, bytes) else b""
    if ending == ".pdf" or beginning.lstrip().startswith(b"%PDF-"):
        return _PDF
    by_ending = _ENDINGS.get(ending, _PLAIN)
    return _HTML if by_ending != _MARKDOWN and _LOOKS_LIKE_HTML.match(beginning) else by_ending


# Encodings

_WINDOWS = "cp1252"
_CONTROLS = bytes({*range(32), 127} - {*b"\t\n\x0b\x0c\r\x1b"})
_SAMPLE = 64 * 1024
_MOST_CONTROLS = 0.01
_MOST_BROKEN = 0.25
"""In a text that is read as UTF-8, at most this share of the characters beyond ASCII is invalid."""


def _decoded(data: bytes, shown: str) -> tuple[str, list[str]]:
    """The text of some bytes, and a note if its encoding is in doubt."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace"), []
    sample = data[:_SAMPLE]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if b"\x00" in sample or controls > _MOST_CONTROLS * len(sample):
        raise InvalidValue(f"{shown} is binary; it must be text, Markdown, HTML or PDF")
    text = data.decode("utf-8", "replace")
    broken, non_ascii = text.count("\ufffd"), len(text) - len(text.encode("ascii", "ignore"))
    if broken <= _MOST_BROKEN * non_ascii:
        return text, ["bytes that are not UTF-8 were replaced"] if broken else []
    return data.decode(_WINDOWS, "replace"), [f"not UTF-8: read as {_WINDOWS}, which may be wrong"]


# Plain text

_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n)+")


def _read_plain(text: str) -> Draft:
    draft = Draft()
    for paragraph in _EMPTY_LINES.split(text):
        draft.add("paragraph", paragraph)
    return draft


# Markdown, parsed by `markdown-it-py` into blocks. Inline markup stays as it is.

_MAX_DEPTH = 100
_CELL_MARK = re.compile(r"(?<!\\)\|")
_KEY = re.compile(r"[^\s:#-][^:]*:(?!//)")


def _read_markdown(text: str) -> Draft:
    lines = text.split("\n")
    front = _front_matter(lines)
    draft, body = Draft(), lines[len(front) + 2 :] if front else lines
    _read_tokens(_parser().parse("\n".join(body)), body, draft)
    if front:  # it joins the first paragraph, because alone it says little
        first = next((at for at, block in enumerate(draft.blocks) if block.kind != "heading"), 0)
        draft.blocks.insert(first, Block("code", "\n".join(front)))
    return draft


def _front_matter(lines: list[str]) -> list[str]:
    """The lines between a first line `---` and the next, if they begin with a key."""
    ends = (at for at, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "..."))
    inner = lines[1 : next(ends, 1)] if lines[0].rstrip() == "---" else []
    return inner if inner and _KEY.match(inner[0]) else []


def _parser() -> "MarkdownIt":
    try:
        from markdown_it import MarkdownIt
    except ImportError as missing:
        raise MissingExtra("markdown-it-py", "documents") from missing
    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_DEPTH}).enable("table").disable("reference")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _read_tokens(tokens: "list[Token]", lines: list[str], draft: Draft) -> None:
    depth = 0  # of open lists
    number: str | None = None  # of the item whose first paragraph comes next; empty for a bullet
    heading, is_header, is_row = 0, False, False
    for token in tokens:
        match token.type:
            case "bullet_list_open" | "ordered_list_open" | "bullet_list_close" | "ordered_list_close":
                depth += token.nesting
            case "list_item_open":
                number = f"{token.info}{token.markup} " if token.info else ""
            case "list_item_close":
                number = None
            case "heading_open" | "heading_close":
                heading = int(token.tag[1:]) if token.nesting > 0 else 0
            case "thead_open" | "thead_close":
                is_header = token.nesting > 0
            case "tr_open" | "tr_close":
                is_row = token.nesting > 0
                if is_row and token.map:  # from the source: the parser drops cells beyond the columns
                    draft.add("row", _row(lines[token.map[0]]), is_header=is_header)
            case "inline" if heading:
                draft.add("heading", token.content, level=heading)
            case "inline" if number is not None and not is_row:
                draft.add("item", f"{number}{token.content}", level=max(depth - 1, 0))
                number = None
            case "inline" | "html_block" if not is_row:
                draft.add("paragraph", token.content)
            case "fence" | "code_block":
                draft.add("code", token.content)
            case _:
                pass


def _row(line: str) -> str:
    inner = line.lstrip(" \t>").removeprefix("|").rstrip()
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return " | ".join(cell.strip().replace("\\|", "|") for cell in _CELL_MARK.split(inner))


_READERS: dict[str, Callable[[str], Draft]] = {
    _PLAIN: _read_plain,
    _MARKDOWN: _read_markdown,
    _HTML: read_html,
}
