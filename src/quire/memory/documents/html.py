"""HTML, parsed by `selectolax`: what a reader of the page sees, in blocks, without navigation."""

import re
from collections import Counter
from typing import Any

import msgspec

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
_UNREAD = frozenset(("script", "style", "noscript", "template", "svg", "iframe", "object"))
_NAVIGATION = frozenset(("nav", "footer", "button", "select", "dialog"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset(("ul", "ol", "dl", "menu"))
_ITEMS = frozenset(("li", "dt", "dd"))
_HIDDEN_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\s*(?:!|;|$)", re.IGNORECASE
)
_BLANKS = re.compile(r"[ \t\n\r\f]+")
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_SELF_CLOSING = _ITEMS | {"p", "td", "th", "tr", "option", "br", "img", "hr", "input", "meta", "link", "wbr"}
_DEEPEST = 4_000
"""The parser takes time by the square of the depth."""
_BREAK = "\x00"


class _Place(msgspec.Struct, eq=False):
    """The block that text belongs to; of a cell also its row, of a list the number of its next item."""

    kind: Kind = "paragraph"
    level: int = 0
    number: str = ""
    lists: int = 0
    next_number: int | None = None
    is_name: bool = False
    """Whether it names what follows: a button in it is part of the name."""
    is_header: bool = True
    words: list[str] = msgspec.field(default_factory=list[str])
    row: "_Place | None" = None
    cells: list[list[str]] = msgspec.field(default_factory=list[list[str]])

    @property
    def is_open(self) -> bool:
        """Whether it has a kind of its own and nothing was said in it."""
        return self.kind != "paragraph" and not "".join(self.words).strip()


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
    if sum(count for tag, count in opened.items() if tag not in _SELF_CLOSING and count > 0) > _DEEPEST:
        raise InvalidValue(f"a page opens more than {_DEEPEST:,} tags that it does not close")


def _read_body(body: Any, draft: Draft) -> None:
    """Collect words as long as they belong to one place. What is not read has no place."""
    current = _Place()
    places = {body.mem_id: current}
    for node in body.traverse(include_text=True):
        parent = places.get(node.parent.mem_id) if node.mem_id != body.mem_id else None
        if parent is None:
            continue
        tag = "" if node.is_text_node else str(node.tag)
        if tag and _is_left_out(node, tag, parent):
            is_block = tag not in _INLINE and tag[0] != "-"
            place = _Place() if is_block else parent  # a block parts the words around it
        else:
            place = places[node.mem_id] = _place_of(tag, node, parent)
            place.words.append(_word(node, tag, place))
        if (place.row or place) is not (current.row or current):
            _add(current.row or current, draft)
        current = place
    _add(current.row or current, draft)


def _is_left_out(node: Any, tag: str, parent: _Place) -> bool:
    """Whether a node is not text, not shown, or there to get about. An unclosed one may hold the page."""
    style = re.sub(r"/\*.*?\*/", "", node.attributes.get("style") or "")
    if tag in _UNREAD or tag[0] == "-" or "hidden" in node.attributes or _HIDDEN_STYLE.search(style):
        return True
    is_navigation = tag in _NAVIGATION or node.attributes.get("role") == "navigation"
    is_part_of_name = tag == "button" and parent.is_name
    return is_navigation and not is_part_of_name and node.css_first("main, article, h1") is None


def _place_of(tag: str, node: Any, parent: _Place) -> _Place:
    row, lists = parent.row, parent.lists
    if not tag or tag in _INLINE or (parent.kind == "code" and tag not in ("tr", "table")):
        return parent
    if tag in ("td", "th") and parent.kind == "row":
        cell = _Place("row", row=parent)
        parent.cells.append(cell.words)
        parent.is_header &= tag == "th"
        return cell
    if tag == "tr":
        return _Place("row", lists=lists)
    if row is not None and tag != "table":
        return parent
    if tag in _HEADINGS:
        return _Place("heading", _HEADINGS[tag], lists=lists, is_name=True)
    if tag in _LISTS:
        start = _whole(node.attributes.get("start"), 1) if tag == "ol" else None
        return _Place(lists=lists + 1, next_number=start)
    if tag in _ITEMS:
        return _Place("item", max(lists - 1, 0), _number(node, parent), lists, is_name=tag == "dt")
    if tag == "pre":
        return _Place("code", number=parent.number if parent.is_open else "", lists=lists)
    return parent if parent.is_open else _Place(lists=lists, is_name=parent.is_name or tag == "summary")


def _number(node: Any, parent: _Place) -> str:
    if parent.next_number is None or node.tag != "li":
        return ""
    number = _whole(node.attributes.get("value"), parent.next_number)
    parent.next_number = number + 1
    return f"{number}."


def _whole(said: str | None, otherwise: int) -> int:
    digits = (said or "").strip()
    return int(digits) if re.fullmatch("-?[0-9]{1,9}", digits) else otherwise


def _word(node: Any, tag: str, place: _Place) -> str:
    if not tag:
        return node.text_content or ""
    if tag == "br":
        return "\n" if place.kind == "code" else _BREAK
    if tag == "img":
        return f" {node.attributes.get('alt') or ''} "
    if tag in _INLINE:
        return " " if tag == "button" else ""
    if place.kind == "code":
        return "" if tag == "pre" else "\n"
    return " " if place.kind == "row" else ""


def _add(place: _Place, draft: Draft) -> None:
    """Add what was said in a place. What follows in it, after another block, is a paragraph."""
    if place.kind == "row" and place.row is None:
        cells = [_lines("".join(words)).replace("\n", " ") for words in place.cells] or [""]
        while cells and not cells[-1]:
            cells.pop()
        draft.add("row", " | ".join(cells), is_header=place.is_header)
        place.cells, place.words = [], []
        return
    said = "".join(place.words)
    said = said.replace(_BREAK, "\n") if place.kind == "code" else _lines(said)
    if place.kind == "heading":
        said = said.removesuffix("\u00b6")  # many pages end a heading with a link to it
    if said.strip():
        number = place.number + ("\n" if place.kind == "code" else " ") if place.number else ""
        draft.add(place.kind, number + said, level=place.level)
        place.kind, place.level, place.number = "paragraph", 0, ""
    place.words.clear()


def _lines(words: str) -> str:
    lines = (_BLANKS.sub(" ", line).strip() for line in words.split(_BREAK))
    return "\n".join(filter(None, lines))
