"""HTML: what a reader of the page would call its text, in blocks, without what is there to get about."""

import re

from quire.memory.documents.document import Draft, Kind
from quire.memory.documents.lists import LISTS, Lists
from quire.memory.documents.tags import Tag, Tokens
from quire.memory.documents.unseen import EMPTIES, IN_LINE, Attributes, Unseen

_ITEMS = frozenset(("li", "dt", "dd"))
_CELLS = frozenset(("td", "th"))
_HEADING = re.compile("h[1-6]").fullmatch
_BLANKS = re.compile(r"[ \t\n\r\f]+")
_LINK = "\u00b6"
"""Many pages have a link to each heading at its end."""


def read_html(text: str) -> Draft:
    """The blocks of a page."""
    page, tokens = _Page(), Tokens(text)
    for token in tokens:
        page.take(token)
    page.finish()
    if tokens.is_cut_off:
        page.draft.notes.append("a comment is never closed: what follows it is not read")
    return page.draft


class _Page:
    def __init__(self) -> None:
        self.draft = Draft()
        self._words: list[str] = []
        self._kind: Kind = "paragraph"
        self._level = 0
        self._lists = Lists()
        self._number = ""  # of the item that has said nothing yet
        self._unseen = Unseen()
        self._preformatted = 0
        self._title: list[str] | None = None
        self._cells: list[str] | None = None
        self._is_in_cell = False
        self._is_header = False

    def take(self, token: str | Tag) -> None:
        """What comes next on the page."""
        if isinstance(token, str):
            self._say(token)
            return
        if token.begins or token.name == "br":
            self._begin_tag(token.name, token.attributes)
        if token.ends and token.name not in EMPTIES:
            self._end_tag(token.name)

    def _begin_tag(self, tag: str, attributes: Attributes) -> None:
        was_seen = not self._unseen.is_inside
        if self._is_title(tag):
            self._title = []
        elif self._unseen.begins(tag, attributes):
            if was_seen and tag not in IN_LINE:
                self._between()
        elif tag == "br":
            self._words.append("\n" if self._preformatted else "\x00")
        elif tag == "button":
            self._words.append(" ")
        elif tag == "img":
            self._words.append(f" {attributes.get('alt') or ''} ")
        else:
            self._begin_block(tag, attributes)

    def _is_title(self, tag: str) -> bool:
        """A title is one wherever it stands, but that of a drawing is none of the page's."""
        is_first = self._title is None and not self.draft.title
        return tag == "title" and is_first and not self._unseen.is_within("svg")

    def _begin_block(self, tag: str, attributes: Attributes) -> None:
        if _HEADING(tag):
            self._begin("heading", int(tag[1]))
        elif tag in LISTS:
            self._flush()
            self._lists.begin(tag, attributes)
        elif tag in _ITEMS:
            self._begin("item", self._lists.level)
            self._begin_number(tag, attributes)
        elif tag == "pre":
            self._begin("code")
            self._preformatted += 1
        elif tag in ("tr", "td", "th", "table"):
            self._begin_in_table(tag)
        elif tag not in IN_LINE:
            self._between()

    def _end_tag(self, tag: str) -> None:
        was_left_out = self._unseen.ends(tag)
        if tag == "title":
            self._end_title()
        elif was_left_out:
            return
        elif tag in LISTS:
            self._end_list()
        elif tag == "pre":
            self._end()
            self._preformatted = max(self._preformatted - 1, 0)
        elif tag in _CELLS:
            self._end_cell()
        elif tag in ("tr", "table"):
            self._end_row()
        elif _HEADING(tag) or tag in _ITEMS:
            self._end()
            self._number = "" if tag in _ITEMS else self._number
        elif tag == "button":
            self._words.append(" ")
        elif tag not in IN_LINE:
            self._between()

    def _say(self, text: str) -> None:
        if self._title is not None:
            self._title.append(text)
        elif not self._unseen.is_inside:
            self._words.append(text)

    def finish(self) -> None:
        """What is open at the end is closed there."""
        self._end_title()
        self._end_row()
        self._flush()

    def _end_title(self) -> None:
        if self._title is not None:
            self.draft.title = _BLANKS.sub(" ", "".join(self._title)).strip()
            self._title = None

    def _begin(self, kind: Kind, level: int = 0) -> None:
        self._between()
        if self._cells is None:
            self._kind, self._level = kind, level

    def _end(self) -> None:
        """What had a kind of its own ends; where it said nothing, what comes after it is not of that kind."""
        self._flush()
        if self._cells is None:
            self._kind, self._level = "paragraph", 0

    def _end_list(self) -> None:
        self._flush()
        if self._kind == "item" and self._level == self._lists.level:
            self._end()
            self._number = ""
        self._lists.end()

    def _begin_number(self, tag: str, attributes: Attributes) -> None:
        """The number of an item: it is said with the first that the item says."""
        number = self._lists.number(attributes) if tag == "li" else ""
        if self._cells is None:
            self._number = number
        elif number:
            self._words.append(f"{number} ")

    def _begin_in_table(self, tag: str) -> None:
        if tag not in _CELLS or self._cells is None:
            self._end_row()
            self._flush()
        if tag == "table":
            return
        if self._cells is None:
            self._cells, self._is_header = [], True
        if tag in _CELLS:
            self._end_cell()
            self._is_in_cell = True
            self._is_header &= tag == "th"

    def _end_cell(self) -> None:
        if self._cells is not None and self._is_in_cell:
            self._cells.append(self._said())
            self._is_in_cell = False

    def _end_row(self) -> None:
        if self._cells is None:
            return
        self._is_in_cell |= bool("".join(self._words).strip())
        self._end_cell()
        cells, self._cells = self._cells, None
        while cells and not cells[-1]:
            cells.pop()
        self.draft.add("row", " | ".join(cells), is_header=self._is_header)

    def _between(self) -> None:
        """A block that has no kind of its own: it ends a paragraph, and parts the words of what is open."""
        if self._cells is not None or self._preformatted:
            self._words.append("\n" if self._preformatted else " ")
        else:
            self._flush()

    def _flush(self) -> None:
        if self._cells is not None:
            return
        said = self._said()
        if not said.strip():
            return
        if self._kind == "heading":
            said = said.removesuffix(_LINK)
        if self._number:
            said = f"{self._number}{chr(10) if self._kind == 'code' else ' '}{said}"
        self.draft.add(self._kind, said, level=self._level)
        self._kind, self._level, self._number = "paragraph", 0, ""

    def _said(self) -> str:
        words, self._words = "".join(self._words), []
        if self._preformatted and self._cells is None:
            return words.replace("\x00", "\n")
        lines = (_BLANKS.sub(" ", line).strip() for line in words.split("\x00"))
        return (" " if self._cells is not None else "\n").join(filter(None, lines))
