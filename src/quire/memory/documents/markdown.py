"""Markdown, parsed by `markdown-it-py` into blocks. What is inside a line stays as it is written."""

import re
from functools import cache
from typing import TYPE_CHECKING

from quire.errors import MissingExtra
from quire.memory.documents.document import Block, Draft

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_DEEPEST = 100
_CELL_MARK = re.compile(r"(?<!\\)\|")
_KEY = re.compile(r"[^\s:#-][^:]*:(?!//)")
_OTHER = re.compile(r"\s|-(?:\s|$)|#|[\]}],?\s*$|$")
"""In front matter beside keys: an indent, an item of a list, a comment, the end of a list, or nothing."""
_TITLE = re.compile(
    r"""(["']?)title\1\s*:\s*(?:"(?P<double>.*)"|'(?P<single>.*)'|(?P<plain>[^\s>|#"'{\[-].*?))\s*(?:\s\#.*)?$""",
    re.IGNORECASE,
)
"""A title on one line; values over several lines are not read as one."""


def read_markdown(text: str) -> Draft:
    """The blocks of a Markdown text."""
    lines = text.split("\n")
    front = _front_matter(lines)
    draft, body = Draft(), lines[len(front) + 2 :] if front else lines
    _read_tokens(_parser().parse("\n".join(body)), body, draft)
    titles = [found for line in front if (found := _TITLE.match(line))]
    draft.title = titles[0][titles[0].lastgroup or 0] if titles else ""
    rest = "\n".join(line for line in front if not (titles and line == titles[0].string)).strip("\n")
    if rest:  # it goes with the first words of the text: by itself it says little
        first = next((at for at, block in enumerate(draft.blocks) if block.kind != "heading"), 0)
        draft.blocks.insert(first, Block("code", rest))
    return draft


def _front_matter(lines: list[str]) -> list[str]:
    """The keys and values between a first line `---` and the next; two rules may also enclose a section."""
    ends = (at for at, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "..."))
    inner = lines[1 : next(ends, 1)] if lines[0].rstrip() == "---" else []
    is_front = any(map(_KEY.match, inner)) and all(_KEY.match(line) or _OTHER.match(line) for line in inner)
    return inner if is_front and inner[0].strip() else []


@cache
def _parser() -> "MarkdownIt":
    try:
        from markdown_it import MarkdownIt
    except ImportError as missing:
        raise MissingExtra("markdown-it-py", "documents") from missing
    parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable("table").disable("reference")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _read_tokens(tokens: "list[Token]", lines: list[str], draft: Draft) -> None:
    lists = 0
    number: str | None = None  # of the item whose first paragraph comes next; empty for a bullet
    heading, is_header, is_row = 0, False, False
    for token in tokens:
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                lists += 1
            case "bullet_list_close" | "ordered_list_close":
                lists -= 1
            case "list_item_open":
                number = f"{token.info}{token.markup} " if token.info else ""
            case "list_item_close":
                number = None
            case "heading_open":
                heading = int(token.tag[1:])
            case "thead_open" | "thead_close":
                is_header = token.type == "thead_open"
            case "tr_open" | "tr_close":
                is_row = token.type == "tr_open"
                if is_row and token.map:  # from the source: the parser drops cells beyond the columns
                    draft.add("row", _row(lines[token.map[0]]), is_header=is_header)
            case "inline" if heading:
                draft.add("heading", token.content, level=heading)
                heading = 0
            case "inline" if not is_row:
                _add_text(draft, token.content, lists, number)
                number = None
            case "fence" | "code_block":
                draft.add("code", token.content)
            case "html_block":
                _add_text(draft, token.content, lists, None)
            case _:
                pass


def _add_text(draft: Draft, text: str, lists: int, number: str | None) -> None:
    if number is None:
        draft.add("paragraph", text)
    else:
        draft.add("item", f"{number}{text}", level=max(lists - 1, 0))


def _row(line: str) -> str:
    inner = line.lstrip(" \t>").removeprefix("|").rstrip()
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return " | ".join(cell.strip().replace("\\|", "|") for cell in _CELL_MARK.split(inner))
