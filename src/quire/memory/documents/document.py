"""Documents: blocks in order, independent of the format, and the chunks into which they are cut."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from typing import Literal

import msgspec
from msgspec.structs import replace

from quire.errors import InvalidLimit
from quire.items import Note
from quire.tokens import Counter, Measured, checked_counter, whole

Kind = Literal["heading", "paragraph", "item", "code", "row"]
"""A heading, a paragraph, an item of a list, lines of code, or a row of a table."""

_LONGEST_HEADING = 300
_DEEPEST_ITEM = 20
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Block(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A piece of a document. `level` is that of a heading, from 1 on, or the depth of an item in its list.

    `is_header` marks the row that names the columns of a table; `page` is for documents that have pages.
    """

    kind: Kind
    text: str
    level: int = 0
    is_header: bool = False
    page: int | None = None


class Document(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A document as it was read. `notes` are warnings: a guessed encoding, pages without text."""

    source: str
    title: str
    media_type: str
    blocks: tuple[Block, ...] = ()
    notes: tuple[str, ...] = ()


class Draft(msgspec.Struct):
    """An unfinished document."""

    blocks: list[Block] = msgspec.field(default_factory=list[Block])
    title: str = ""
    notes: list[str] = msgspec.field(default_factory=list[str])

    def add(
        self, kind: Kind, text: str, *, level: int = 0, is_header: bool = False, page: int | None = None
    ) -> None:
        """Add a block, unless it is blank. A very long heading becomes a paragraph."""
        text = text.strip("\n").rstrip() if kind == "code" else text.strip()
        if kind == "heading" and len(text) > _LONGEST_HEADING:
            kind, level = "paragraph", 0
        if kind == "heading":
            text = " ".join(line.strip() for line in text.split("\n"))
        if text:
            self.blocks.append(Block(kind, text, min(level, _DEEPEST_ITEM), is_header, page))


def cleaned(text: str) -> str:
    """A text with plain line ends, without a byte order mark, control characters and lone surrogates."""
    text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\x0c", "\n\n")
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _CONTROL.sub("", text)


# Chunks

_LEAST_TOKENS = 32
"""The least tokens of a chunk, without its frame."""

_SHARE = 4
"""The headings above a chunk take at most one token in this many, and so does the head of a table."""
_LONGEST_TOKEN = 128
"""The most characters of a token; no longer text is measured for one chunk."""
_NUMBERED = re.compile(r"-?\d{1,9}[.)] ")
_LINE, _WORD = re.compile(r"\n"), re.compile(r"\s+")
# A sentence ends after a mark, closing quotes and blanks; in scripts without blanks, after the mark. Before a
# small letter the mark is that of an abbreviation.
_SENTENCE = re.compile(r"""(?<=[.!?…])["'”’»)\]]*\s+(?![a-z])|(?<=[。！？])["'”’」』）]*\s*""")  # noqa: RUF001


class Chunk(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A piece of a document, with the headings above it.

    Each character of a document is in the `text` of one chunk. `lead` is the head of the table that the text
    continues; `own` is the number of headings in `path` with which the text itself begins. `title` is that of
    the document, if no heading has it.
    """

    id: str
    source: str
    text: str
    path: tuple[str, ...] = ()
    lead: str = ""
    own: int = 0
    page: int | None = None
    tokens: int = 0
    title: str = ""

    @property
    def heading(self) -> str:
        """The headings above it and its own, as one line: `Guide > Install > Linux`."""
        return " > ".join(self.path)

    @property
    def above(self) -> str:
        """The headings above it, without its own, as one line."""
        return " > ".join(self.path[: max(len(self.path) - self.own, 0)])

    @property
    def shown(self) -> str:
        """The text under its headings, each of them once, and a table with its head."""
        return "\n".join(filter(None, (self.above, self.lead, self.text)))


def chunks(document: Document, *, tokens: int = 256, counter: Counter | None = None) -> list[Chunk]:
    """The chunks of a document, in order, each of at most `tokens` tokens, counted as a note.

    A chunk ends with its section and with its page. Paragraphs, items, rows and code stay whole if they fit.
    Equal texts under the same headings of a source have the same id, whatever else changes.
    """
    count = checked_counter(Measured() if counter is None else counter).count

    def measure(text: str) -> int:
        return count(Note(text, id="chunk", created_at=0.0))

    least = measure("") + _LEAST_TOKENS
    if whole(tokens, "the tokens of a chunk") < least:
        raise InvalidLimit(f"a chunk must have at least {least} tokens, not {tokens}")
    pieces: list[Chunk] = []
    for section in _sections(document.blocks):
        pieces += _Filling(document.source, section, measure, tokens).chunks()
    names = {document.source, file_name(document.source)}.union(*(chunk.path for chunk in pieces))
    title = "" if document.title in names else document.title
    seen: dict[bytes, int] = {}
    return [replace(chunk, id=_id_of(chunk, seen), title=title) for chunk in pieces]


def file_name(source: str) -> str:
    """The last part of a source that is a path."""
    return source.rstrip("/").rpartition("/")[2] or source


def _id_of(chunk: Chunk, seen: dict[bytes, int]) -> str:
    """A digest of the content and the headings of a chunk, and of the number of equal chunks before it."""
    content = msgspec.json.encode((chunk.source, chunk.path, chunk.lead, chunk.text))
    seen[content] = seen.get(content, 0) + 1
    return blake2b(content + b"%d" % seen[content], digest_size=14).hexdigest()


class _Section(msgspec.Struct):
    """The blocks under a heading, up to the next of any level; consecutive headings share a section."""

    path: tuple[str, ...] = ()
    headings: list[Block] = msgspec.field(default_factory=list[Block])
    body: list[Block] = msgspec.field(default_factory=list[Block])


def _sections(blocks: Iterable[Block]) -> Iterator[_Section]:
    in_force: list[Block] = []
    section = _Section()
    for block in blocks:
        if block.kind != "heading":
            section.body.append(block)
            continue
        in_force = [heading for heading in in_force if heading.level < block.level]
        goes_deeper = not section.headings or section.headings[-1].level < block.level
        if section.body or not goes_deeper:
            yield section
            section = _Section()
        in_force.append(block)
        section.headings.append(block)
        section.path = tuple(heading.text for heading in in_force)
    yield section


class _Filling:
    """The chunks of one section. The last one is open, and takes whole blocks while they fit."""

    def __init__(self, source: str, section: _Section, measure: Callable[[str], int], limit: int) -> None:
        self._measure, self._limit = measure, limit
        self._most_characters = limit * _LONGEST_TOKEN
        self._bare = measure("")
        self._done: list[Chunk] = []
        self._table_head = ""
        path = section.path
        while path and not self._is_short(" > ".join(path)):
            path = path[1:]
        self._empty = self._open = Chunk("", source, "", path)
        self._has_body = False
        self._section = section

    def chunks(self) -> list[Chunk]:
        headings = self._section.headings
        text = "\n".join(heading.text for heading in headings)
        if headings and self._is_short(text):
            own = min(len(headings), len(self._open.path))
            self._open = replace(self._open, text=text, own=own, page=headings[0].page)
            headings = []
        for block in (*headings, *self._section.body):
            if block.kind != "row" or block.is_header:
                self._table_head = block.text if block.kind == "row" else ""
            self._add(block)
        self._close()
        return self._done

    def _add(self, block: Block) -> None:
        text = _written(block)
        if block.page != self._open.page:  # a chunk ends with its page; headings alone move to the next
            if self._has_body:
                self._close()
            self._open = replace(self._open, page=block.page)
        if not self._open.text:
            self._begin(block)
        has_blank_line = self._has_body and block.kind not in ("item", "row")
        if self._take("\n\n" if has_blank_line else "\n", text):
            return
        if self._has_body:
            self._close()
            self._begin(block)
            if self._take("", text):
                return
        self._pour(block, text)

    def _begin(self, block: Block) -> None:
        continues = block.kind == "row" and not block.is_header and self._is_short(self._table_head)
        self._open = replace(self._empty, page=block.page, lead=self._table_head if continues else "")

    def _take(self, joint: str, text: str) -> bool:
        """Add a text to the open chunk if it fits; return whether it did."""
        if len(text) > self._most_characters or not self._fits(joint, text):
            return False
        self._open, self._has_body = self._with(joint, text), True
        return True

    def _pour(self, block: Block, text: str) -> None:
        """Split a block that no chunk can hold; headings stay with its beginning."""
        start = 0
        while start < len(text):
            if self._has_body:
                self._close()
                self._begin(block)
            stop = _cut(text, start, partial(self._fits, "\n"), self._most_characters, block.kind == "code")
            self._open, self._has_body = self._with("\n", text[start:stop].strip("\n")), True
            start = stop

    def _close(self) -> None:
        if self._open.text.strip():
            self._done.append(replace(self._open, tokens=self._measure(self._open.shown)))
        self._open, self._has_body = self._empty, False

    def _with(self, joint: str, text: str) -> Chunk:
        return replace(self._open, text=f"{self._open.text}{joint}{text}" if self._open.text else text)

    def _fits(self, joint: str, text: str) -> bool:
        return self._measure(self._with(joint, text).shown) <= self._limit

    def _is_short(self, text: str) -> bool:
        return self._measure(text) - self._bare <= self._limit // _SHARE


def _written(block: Block) -> str:
    """A block as text of a chunk; an item without a number gets a dash."""
    if block.kind != "item":
        return block.text
    return f"{'  ' * block.level}{'' if _NUMBERED.match(block.text) else '- '}{block.text}"


def _cut(text: str, start: int, fits: Callable[[str], bool], longest: int, is_code: bool) -> int:
    """The end of the longest piece from `start` on that fits: a sentence, else a line, a word, a character.

    Code is cut after lines. A piece has at least one character.
    """
    furthest = min(start + longest, len(text))
    for end in (_LINE, _WORD) if is_code else (_SENTENCE, _LINE, _WORD):
        stops = [match.end() for match in end.finditer(text, start, furthest) if match.end() < furthest]
        stop = _furthest(text, start, [*stops, furthest] if furthest == len(text) else stops, fits)
        if stop > start:
            return stop
    return max(_furthest(text, start, range(start + 1, furthest + 1), fits), start + 1)


def _furthest(text: str, start: int, stops: Sequence[int], fits: Callable[[str], bool]) -> int:
    """The last stop that fits, searched by doubling, so that a long text is never measured whole."""

    def is_too_far(at: int) -> bool:
        return not fits(text[start : stops[at]])

    bound = 1
    while bound < len(stops) and not is_too_far(bound - 1):
        bound *= 2
    low = bound // 2 if bound > 1 else 0
    fitting = bisect_left(range(min(bound, len(stops))), True, lo=low, key=is_too_far)
    return stops[fitting - 1] if fitting else start
