"""HTML: what a reader of the page would call its text, in blocks, without what is there to get about."""

import re
from html.parser import HTMLParser

from quire.memory.documents.document import Draft, Kind

_UNSEEN = frozenset(("script", "style", "noscript", "template", "svg", "iframe", "object"))
_AROUND = frozenset(("nav", "footer", "button", "select", "dialog"))
_MAY_BE_AROUND = frozenset(("div", "section", "aside", "span", "ul", "ol", "table", "header"))
"""What ends with a tag of its own in every page: where others begin, nobody knows where they end."""

_MAIN = frozenset(("main", "article", "h1"))
_LISTS = frozenset(("ul", "ol", "dl", "menu"))
_ITEMS = frozenset(("li", "dt", "dd"))
_CELLS = frozenset(("td", "th"))
_IN_LINE = frozenset(
    (
        *("a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img"),
        *("input", "ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strike", "strong"),
        *("sub", "sup", "time", "tt", "u", "var", "wbr"),
    )
)
_HEADING = re.compile("h[1-6]").fullmatch
_BLANKS = re.compile(r"[ \t\n\r\f]+")


def read_html(text: str) -> Draft:
    """The blocks of a page."""
    page = _Page()
    page.feed(text)
    page.finish()
    return page.draft


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.draft = Draft()
        self._words: list[str] = []
        self._kind: Kind = "paragraph"
        self._level = 0
        self._depth = 0  # of lists
        self._left_out: list[str] = []  # the tag that began what is left out, and the same within it
        self._preformatted = 0
        self._title: list[str] | None = None
        self._cells: list[str] | None = None
        self._is_in_cell = False
        self._is_header = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._is_left_out(tag, dict(attrs)):
            return
        if tag == "br":
            self._words.append("\n" if self._preformatted else "\x00")
        elif _HEADING(tag):
            self._begin("heading", int(tag[1]))
        elif tag in _LISTS:
            self._flush()
            self._depth += 1
        elif tag in _ITEMS:
            self._begin("item", max(self._depth - 1, 0))
        elif tag == "pre":
            self._begin("code")
            self._preformatted += 1
        elif tag in ("tr", "td", "th", "table"):
            self._begin_in_table(tag)
        elif tag not in _IN_LINE:
            self._between()

    def handle_endtag(self, tag: str) -> None:
        if self._left_out:
            self._go_on(tag)
        elif tag == "title":
            self._end_title()
        elif tag in _LISTS:
            self._flush()
            self._depth = max(self._depth - 1, 0)
        elif tag == "pre":
            self._flush()
            self._preformatted = max(self._preformatted - 1, 0)
        elif tag in _CELLS:
            self._end_cell()
        elif tag in ("tr", "table"):
            self._end_row()
        elif _HEADING(tag) or tag in _ITEMS:
            self._flush()
        elif tag not in _IN_LINE:
            self._between()

    def handle_data(self, data: str) -> None:
        if self._title is not None:
            self._title.append(data)
        elif not self._left_out:
            self._words.append(data)

    def finish(self) -> None:
        """What is open at the end is closed there."""
        self.close()
        self._end_title()
        self._end_row()
        self._flush()

    def _is_left_out(self, tag: str, attributes: dict[str, str | None]) -> bool:
        """Whether what begins here is no text of the page. A title is, wherever it stands."""
        if tag == "title" and "svg" not in self._left_out and self._title is None and not self.draft.title:
            self._title = []
            return True
        if tag == "body" or (tag in _MAIN and self._left_out and self._left_out[0] in _AROUND):
            self._left_out = []  # nobody closed what came before
        if self._left_out:
            if tag == self._left_out[0]:
                self._left_out.append(tag)
            return True
        is_way = attributes.get("role") == "navigation" or "hidden" in attributes
        if tag in _UNSEEN or tag in _AROUND or (is_way and tag in _MAY_BE_AROUND):
            self._between()
            self._left_out = [tag]
        return bool(self._left_out)

    def _go_on(self, tag: str) -> None:
        if tag == "title":
            self._end_title()
        if tag == self._left_out[0]:
            self._left_out.pop()

    def _end_title(self) -> None:
        if self._title is not None:
            self.draft.title = _BLANKS.sub(" ", "".join(self._title)).strip()
            self._title = None

    def _begin(self, kind: Kind, level: int = 0) -> None:
        self._between()
        if self._cells is None:
            self._kind, self._level = kind, level

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
        self.draft.add(self._kind, said, level=self._level)
        if said.strip():
            self._kind, self._level = "paragraph", 0

    def _said(self) -> str:
        words, self._words = "".join(self._words), []
        if self._preformatted and self._cells is None:
            return words.replace("\x00", "\n")
        lines = (_BLANKS.sub(" ", line).strip() for line in words.split("\x00"))
        return (" " if self._cells is not None else "\n").join(filter(None, lines))
