"""HTML, parsed by `selectolax`: the visible text of a page in blocks, without navigation."""

import re
from collections import Counter
from typing import Any

from quire.errors import InvalidValue, MissingExtra
from quire.memory.documents.document import Draft, Kind

_INLINE = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "button", "cite", "code", "data", "del"),
        *("dfn", "em", "font", "i", "img", "input", "ins", "kbd", "label", "mark", "meter", "nobr", "output"),
        *("picture", "progress", "q", "rb", "rp", "rt", "rtc", "ruby", "s", "samp", "small", "source"),
        *("span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
    )
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset(("ul", "ol", "dl", "menu"))
_ITEMS = frozenset(("li", "dt", "dd"))
_CELLS = frozenset(("td", "th"))
_INVISIBLE = "script, style, noscript, template, svg, iframe, object, [hidden]"
_NAVIGATION = "nav, footer, select, dialog, [role=navigation]"
_BLANKS = re.compile(r"[ \t\n\r\f]+")
_BREAK = "\x00"
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_SELF_CLOSING = _ITEMS | _CELLS | {"p", "tr", "option", "br", "img", "hr", "input", "meta", "link", "wbr"}
_MAX_DEPTH = 4_000
"""The parser takes time in proportion to the square of the depth."""


def read_html(text: str) -> Draft:
    """The blocks of a page."""
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError as missing:
        raise MissingExtra("selectolax", "documents") from missing
    _check_depth(text)
    parser, draft = LexborHTMLParser(text), Draft()
    title = parser.css_first("head > title") or parser.css_first("title")
    draft.title = _BLANKS.sub(" ", title.text()).strip() if title else ""
    if parser.body is not None:
        _read_body(parser.body, draft)
    return draft


def _check_depth(text: str) -> None:
    opened = Counter[str]()
    for slash, tag in _TAG.findall(text):
        opened[tag.lower()] += -1 if slash else 1
    if sum(count for tag, count in opened.items() if tag not in _SELF_CLOSING and count > 0) > _MAX_DEPTH:
        raise InvalidValue(f"a page opens more than {_MAX_DEPTH:,} tags that it does not close")


def _read_body(body: Any, draft: Draft) -> None:
    left_out, page = _left_out(body), _Page(draft)
    stack: list[tuple[Any, str, bool]] = [(body, "body", False)]
    while stack:
        node, tag, is_read = stack.pop()
        if is_read:
            page.leave(tag)
        elif node.mem_id in left_out and tag not in _INLINE:
            page.try_end()
        elif node.mem_id not in left_out and not tag.startswith("-"):  # tags of comments begin so
            page.enter(node, tag)
            children = [*node.iter(include_text=True)]
            stack.append((node, tag, True))
            stack += [(child, "" if child.is_text_node else child.tag, False) for child in reversed(children)]
    page.end()


def _left_out(body: Any) -> set[int]:
    """Nodes that are invisible or navigation, except unclosed navigation that contains the page itself."""
    nodes = {node.mem_id for node in body.css(_INVISIBLE)}
    nodes |= {node.mem_id for node in body.css(_NAVIGATION) if node.css_first("main, article, h1") is None}
    return nodes - {body.mem_id}


class _Page:
    """Collects words, and adds them as a block at its end.

    `_kind`, `_level` and `_number` are those of the present block. `_row` has the cells of an unfinished row
    of a table.
    """

    def __init__(self, draft: Draft) -> None:
        self._draft, self._words = draft, list[str]()
        self._kind: Kind = "paragraph"
        self._level, self._number = 0, ""
        self._numbers: list[int | None] = []  # for each open list, the number of its next item
        self._row: list[str] | None = None
        self._is_header = False

    def enter(self, node: Any, tag: str) -> None:
        """Begin a node."""
        if tag in _LISTS:
            self._numbers.append(1 if tag == "ol" else None)
        if not tag:
            self._words.append(node.text_content or "")
        elif tag in _INLINE:
            alt = node.attributes.get("alt") or ""
            self._words.append({"br": _BREAK, "img": f" {alt} ", "button": " "}.get(tag, ""))
        elif tag in ("table", "tr"):
            self.end()
            self._row, self._is_header = ([] if tag == "tr" else None), True
        elif tag in _CELLS and self._row is not None:
            self._words.clear()
            self._is_header &= tag == "th"
        elif self.try_end():
            self._begin(tag)

    def _begin(self, tag: str) -> None:
        if tag in _HEADINGS:
            self._kind, self._level = "heading", _HEADINGS[tag]
        elif tag == "pre":
            self._kind, self._level = "code", 0
        elif tag in _ITEMS:
            self._kind, self._level = "item", max(len(self._numbers) - 1, 0)
            number = self._numbers[-1] if tag == "li" and self._numbers else None
            if number is not None:
                self._number, self._numbers[-1] = f"{number}. ", number + 1

    def leave(self, tag: str) -> None:
        """End a node."""
        if not tag or tag in _INLINE:
            return
        if tag in _LISTS:
            self._numbers.pop()
        if tag in _CELLS and self._row is not None:
            self._row.append(self._text().replace("\n", " "))
        elif tag in ("table", "tr"):
            self.end()
        elif (tag == "pre" and self._row is None) or self.try_end():
            self.end()
            if tag in _HEADINGS or tag in _ITEMS or tag == "pre":
                self._kind, self._level, self._number = "paragraph", 0, ""

    def try_end(self) -> bool:
        """End the block if one may end here. In a cell or in code, only add a space or a line break."""
        if self._row is None and self._kind != "code":
            self.end()
            return True
        self._words.append("\n" if self._row is None else " ")
        return False

    def end(self) -> None:
        """Add the words as a block, and begin a paragraph. Without words, the block continues."""
        text = self._text()
        if self._row is not None:
            self._draft.add("row", " | ".join([*self._row, text]).rstrip(" |"), is_header=self._is_header)
            self._row = None
        elif text.strip():
            self._draft.add(self._kind, self._number + text, level=self._level)
            self._kind, self._level, self._number = "paragraph", 0, ""

    def _text(self) -> str:
        text = "".join(self._words)
        self._words.clear()
        if self._kind == "code" and self._row is None:
            return text.replace(_BREAK, "\n")
        lines = (_BLANKS.sub(" ", line).strip() for line in text.split(_BREAK))
        return "\n".join(filter(None, lines))
