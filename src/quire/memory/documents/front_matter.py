"""What some tools put before a Markdown text, between two rules: keys and values, a title among them.

It is not read as YAML: all of it is kept as it stands, and of its values only the title matters.
"""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

_KEY = re.compile(r"[^\s:#-][^:]*:(?!//)")
_OTHERS = re.compile(r"\s|-(?:\s|$)|#|[\]}],?\s*$|$")
"""An indent, an item of a list, a comment, the end of a list or of keys, or nothing."""

_TITLE = re.compile(r"""(["']?)title\1[ \t]*:(.*)$""", re.IGNORECASE)
_BLOCK = re.compile(r"[>|][-+0-9]{0,2}$")
_NO_TEXT = re.compile(r"-(?:\s|$)|[^\s:'\"]+:(?:\s|$)")
_DOUBLY_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(?:#.*)?')
_QUOTED = re.compile(r"'((?:[^']|'')*)'\s*(?:#.*)?")
_ESCAPED = re.compile(r'\\(["\\/])')
_COMMENT = re.compile(r"(?:^|[ \t])#")


class FrontMatter(NamedTuple):
    """Its lines, the title that they give or nothing, and the lines beside those of the title."""

    lines: list[str]
    title: str
    rest: list[str]


def front_matter(lines: Sequence[str]) -> FrontMatter | None:
    """What stands before a text, or nothing: two rules may also have a section between them."""
    if lines[0].rstrip() != "---":
        return None
    ends = (at for at, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "..."))
    inner = list(lines[1 : next(ends, 1)])
    if not inner or not inner[0].strip() or not any(map(_KEY.match, inner)):
        return None
    if not all(_KEY.match(line) or _OTHERS.match(line) for line in inner):
        return None
    return _titled(inner)


def _titled(lines: list[str]) -> FrontMatter:
    for at, line in enumerate(lines):
        if found := _TITLE.match(line):
            more = list(takewhile(_goes_on, lines[at + 1 :]))
            if title := _value(found[2].strip(), [one.strip() for one in more if one.strip()]):
                return FrontMatter(lines, title, lines[:at] + lines[at + 1 + len(more) :])
    return FrontMatter(lines, "", lines)


def _goes_on(line: str) -> bool:
    """Whether a line goes on with the value of a key before it."""
    return not line or line[0].isspace()


def _value(first: str, more: list[str]) -> str:
    """A text in one line, however it is written: quoted, in a block of its own, or over several lines."""
    written = _COMMENT.split(first, 1)[0].strip()
    if _BLOCK.match(written):
        return " ".join(more)
    more = [one for one in more if not one.startswith("#")]
    if not written:
        return "" if not more or _NO_TEXT.match(more[0]) else _value(more[0], more[1:])
    whole = " ".join((first, *more))
    if doubly := _DOUBLY_QUOTED.fullmatch(whole):
        return _ESCAPED.sub(r"\1", doubly[1])
    if quoted := _QUOTED.fullmatch(whole):
        return quoted[1].replace("''", "'")
    return " ".join((written, *more))
