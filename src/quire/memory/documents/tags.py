"""HTML in its tokens: text, and tags that begin and end.

A page is a stranger's, and may open whatever it likes and close none of it. So nothing is looked for to the
end of a page more than once: however it is written, its length says how long it takes to read.
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

_BLANK = r" \t\n\r\f"
_TAG = re.compile(rf"</?([A-Za-z][^{_BLANK}/>]*)")
_BETWEEN = re.compile(rf"[{_BLANK}/]*")
_ATTRIBUTE = re.compile(rf"=?[^{_BLANK}/>=]*")
_EQUALS = re.compile(rf"[{_BLANK}]*=[{_BLANK}]*")
_BARE = re.compile(rf"[^{_BLANK}>]*")
_QUOTES = ("'", '"')
_COMMENT = re.compile(r"<!--(?:-?>|.*?--!?>)", re.DOTALL)
_PASSED_BY = ("<!", "<?", "</")
_RAW = ("script", "style", "title")
_RAW_ENDS = {tag: re.compile(rf"</{tag}(?=[{_BLANK}/>])", re.IGNORECASE) for tag in _RAW}
_NO_CHARACTER = re.compile(r"&#[0-9]{100,};?")  # and Python reads no number of some thousand digits


class Tag(NamedTuple):
    """A tag that begins, that ends, or does both, where it is closed at once."""

    name: str
    attributes: dict[str, str | None]
    begins: bool
    ends: bool


class Tokens:
    """The text and the tags of a page, in order, without its comments and scripts."""

    def __init__(self, page: str) -> None:
        self.is_cut_off = False
        """Whether a comment was never closed: then all that follows is in it."""
        self._page = page
        self._at = 0
        self._text_until = 0  # what is before is text, whatever looks like a tag in it
        self._has_whole_titles = True
        self._has_whole_tags = True
        self._has_whole_sections = True

    def __iter__(self) -> Iterator[str | Tag]:
        page, last = self._page, self._page.rfind(">")
        while self._at < len(page):
            start = page.find("<", max(self._at, self._text_until))
            if start < 0 or (start > last and not page.startswith("<!--", start)):
                start = len(page)
            if start > self._at:
                yield _unescaped(page[self._at : start])
            self._at = start
            if start < len(page):
                yield from self._marked()

    def _marked(self) -> Iterator[str | Tag]:
        """What begins with an angle: a tag, what a reader does not see, or only an angle."""
        if named := _TAG.match(self._page, self._at):
            yield self._tag(named)
        elif self._page.startswith(_PASSED_BY, self._at):
            self._pass_by()
        else:
            self._at += 1
            yield "<"

    def _pass_by(self) -> None:
        """A comment, a section, a declaration, or what is none of them and is passed by as they are."""
        page, start = self._page, self._at
        if page.startswith("<!--", start):
            comment = _COMMENT.match(page, start)
            self.is_cut_off = comment is None
            self._at = comment.end() if comment else len(page)
            return
        self._at = page.find(">", start) + 1
        if page.startswith("<![CDATA[", start) and self._has_whole_sections:
            end = page.find("]]>", start)
            self._has_whole_sections = end >= 0
            self._at = end + 3 if end >= 0 else self._at

    def _tag(self, named: "re.Match[str]") -> Tag:
        page, is_end = self._page, named[0].startswith("</")
        inside = _inside(page, named.end(), len(page)) if self._has_whole_tags else None
        if inside is None or inside.end is None:
            # Nobody closed this tag, or a quotation mark in it. From here on each ends at the next angle.
            self._has_whole_tags = False
            stop = page.find(">", named.end()) + 1
            inside = _inside(page, named.end(), stop)._replace(end=stop)
        self._at = inside.end or len(page)
        tag = Tag(named[1].lower(), inside.attributes, not is_end, is_end or inside.is_closed)
        if tag.name in _RAW_ENDS and not tag.ends:
            self._begin_raw(tag.name)
        return tag

    def _begin_raw(self, name: str) -> None:
        """What follows has no tags, up to the end of this one: a script is passed by, a title is text."""
        if name == "title" and not self._has_whole_titles:
            return
        end = _RAW_ENDS[name].search(self._page, self._at)
        if name != "title":
            self._at = end.start() if end else len(self._page)
        elif end:
            self._text_until = end.start()
        else:
            self._has_whole_titles = False  # nobody closed it, and the page goes on behind it


class _Inside(NamedTuple):
    attributes: dict[str, str | None]
    end: int | None  # none where the tag never ends
    is_closed: bool = False


def _inside(page: str, at: int, stop: int) -> _Inside:
    """What a tag says after its name, which ends at `at`; of an attribute that it has twice, the first."""
    found: dict[str, str | None] = {}
    while True:
        begun, at = at, _after(_BETWEEN, page, at, stop)
        if at >= stop:
            return _Inside(found, None)
        if page[at] == ">":
            return _Inside(found, at + 1, page.endswith("/", begun, at))
        end = _after(_ATTRIBUTE, page, at, stop)
        name = page[at:end].lower()
        value, at = _value(page, end, stop)
        found.setdefault(name, value)


def _value(page: str, at: int, stop: int) -> tuple[str | None, int]:
    """The value of an attribute whose name ends here, and where it ends itself."""
    equals = _EQUALS.match(page, at, stop)
    if equals is None:
        return None, at
    begin = equals.end()
    if page.startswith(_QUOTES, begin, stop):
        end = page.find(page[begin], begin + 1, stop)
        end = stop - 1 if end < 0 else end  # the last is what ends the tag
        return _unescaped(page[begin + 1 : end]), end + 1
    end = _after(_BARE, page, begin, stop)
    return _unescaped(page[begin:end]), end


def _after(pattern: "re.Pattern[str]", text: str, at: int, stop: int) -> int:
    found = pattern.match(text, at, stop)
    return found.end() if found else at


def _unescaped(written: str) -> str:
    return unescape(_NO_CHARACTER.sub("\ufffd", written)) if "&" in written else written
