"""One section put into chunks: each as full as whole blocks allow, and no fuller than the limit."""

import re
from collections.abc import Callable, Sequence

import msgspec

from quire.errors import InvalidLimit
from quire.memory.documents.document import Block
from quire.memory.documents.sections import Section
from quire.memory.documents.splitting import cut_at

_SHARE = 4
"""The headings above a chunk may take one in so many of its tokens, and so may the head of a table."""

_LONGEST_TOKEN = 128
"""Characters of the longest tokens there are, blanks in a row: no text of more is looked at for one chunk."""

_NUMBERED = re.compile(r"-?\d{1,9}[.)] ")


class Piece(msgspec.Struct, frozen=True, gc=False):
    """A chunk without its name."""

    text: str
    path: tuple[str, ...]
    lead: str
    own: int
    page: int | None
    tokens: int


def shown_text(path: Sequence[str], own: int, lead: str, text: str) -> str:
    """A text under headings, where it does not begin with them itself, and with the head of its table."""
    return "\n".join(filter(None, (above_text(path, own), lead, text)))


def above_text(path: Sequence[str], own: int) -> str:
    """The headings that a text stands under and does not begin with itself."""
    return " > ".join(path[: max(len(path) - own, 0)])


def written(block: Block) -> str:
    """A block as it stands in a chunk; an item that is numbered needs no other mark."""
    if block.kind != "item":
        return block.text
    mark = "" if _NUMBERED.match(block.text) else "- "
    return f"{'  ' * block.level}{mark}{block.text}"


class Filling:
    """The chunks of one section, with one of them open."""

    def __init__(self, section: Section, measure: Callable[[str], int], limit: int) -> None:
        self._section = section
        self._measure = measure
        self._limit = limit
        self._bare = measure("")
        self._above = self._shortened(section.path)
        self._done: list[Piece] = []
        self._head = ""  # of the table that is being read
        self._path = self._above
        self._text = self._lead = ""
        self._own = 0
        self._has_body = False
        self._page: int | None = None

    def pieces(self) -> list[Piece]:
        """The chunks, in order."""
        self._open_with_headings()
        for block in self._section.body:
            if block.kind != "row":
                self._head = ""
            elif block.is_header:
                self._head = block.text
            self._add(block)
        self._close()
        return self._done

    def _open_with_headings(self) -> None:
        headings = self._section.headings
        text = "\n".join(heading.text for heading in headings)
        if not self._is_short(text):  # then they are said as anything else is
            for heading in headings:
                self._add(heading)
        elif headings:
            self._text, self._page = text, headings[0].page
            self._own = min(len(headings), len(self._path))

    def _add(self, block: Block) -> None:
        text = written(block)
        if block.page != self._page:
            self._turn_to(block.page)
        if not self._text:
            self._begin(block)
        if self._took(self._joined(block, text)):
            return
        if self._has_body:
            self._close()
            self._begin(block)
            if self._took(text):
                return
        self._pour(block, text)

    def _turn_to(self, page: int | None) -> None:
        """A chunk ends with its page, so that all of it is on the one that is told; a heading goes along."""
        if self._has_body:
            self._close()
        self._page = page

    def _took(self, text: str) -> bool:
        if len(text) > self._limit * _LONGEST_TOKEN or not self._fits(text):
            return False
        self._text, self._has_body = text, True
        return True

    def _joined(self, block: Block, text: str) -> str:
        if not self._text:
            return text
        is_close = not self._has_body or block.kind in ("item", "row")
        return "\n".join((self._text, text) if is_close else (self._text, "", text))

    def _pour(self, block: Block, text: str) -> None:
        """A block that no chunk holds whole; headings that stand alone so far go with its beginning."""
        start = 0
        while start < len(text):
            if self._has_body:
                self._close()
                self._begin(block)
            opening = f"{self._text}\n" if self._text else ""
            stop = self._reach(text, start, opening, block.kind == "code")
            if stop == start:
                self._make_room()
                continue
            self._text, self._has_body = opening + text[start:stop].strip("\n"), True
            start = stop

    def _reach(self, text: str, start: int, opening: str, by_lines: bool) -> int:
        def fits(piece: str) -> bool:
            return self._fits(opening + piece)

        longest = self._limit * _LONGEST_TOKEN
        return cut_at(text, start, fits, longest=longest, by_lines=by_lines)

    def _make_room(self) -> None:
        """Leave out what stands above, since not even one character fits below it."""
        if self._text:
            self._close()
        elif self._path or self._lead:
            self._path, self._lead = (), ""
        else:
            raise InvalidLimit(f"one character takes more than the {self._limit} tokens of a chunk")

    def _begin(self, block: Block) -> None:
        """A chunk that does not begin with a heading."""
        self._path, self._own, self._page = self._above, 0, block.page
        goes_on = block.kind == "row" and not block.is_header and self._is_short(self._head)
        self._lead = self._head if goes_on else ""

    def _close(self) -> None:
        if self._text.strip():
            tokens = self._measure(shown_text(self._path, self._own, self._lead, self._text))
            self._done.append(Piece(self._text, self._path, self._lead, self._own, self._page, tokens))
        self._text = self._lead = ""
        self._own, self._has_body = 0, False

    def _fits(self, text: str) -> bool:
        return self._measure(shown_text(self._path, self._own, self._lead, text)) <= self._limit

    def _is_short(self, text: str) -> bool:
        return self._measure(text) - self._bare <= self._limit // _SHARE

    def _shortened(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """The headings above, the outermost left out where they take too much room."""
        while path and not self._is_short(" > ".join(path)):
            path = path[1:]
        return path
