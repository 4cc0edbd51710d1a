"""Markdown: headings, paragraphs, lists, code and tables. What is inside a line stays as it is."""

import re

from msgspec.structs import replace

from quire.memory.documents.document import Block, Draft, Kind
from quire.memory.documents.front_matter import FrontMatter, front_matter

# One way to match a line, or none: where there are several, a long run of blanks is tried in all of them.
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_FENCE = re.compile(r"([ \t]*)(`{3,}(?=[^`]*$)|~{3,})")
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|(\d{1,9})([.)]))[ \t]+(\S.*)$")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_RULED = re.compile(r":?-+:?").fullmatch
_QUOTE = re.compile(r"^(?: {0,3}>[ \t]?)+")
_CELLS = re.compile(r"(?<!\\)\|")
_INDENT = 4


def read_markdown(text: str) -> Draft:
    """The blocks of a Markdown text."""
    reader = _Reader(text.split("\n"))
    reader.read()
    return reader.draft


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self.draft = Draft()
        self._lines = lines
        self._at = 0
        self._kind: Kind = "paragraph"
        self._level = 0
        self._open: list[str] = []
        self._is_of_item = False

    def read(self) -> None:
        before = front_matter(self._lines)
        if before is not None:
            self.draft.title, self._at = before.title, len(before.lines) + 2
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not (
                self._fenced(line)
                or self._table(line)
                or self._heading(line)
                or self._item(line)
                or self._indented(line)
            ):
                self._line(line)
        self._close()
        if before is not None:
            self._place_before(before)

    def _place_before(self, before: FrontMatter) -> None:
        """Put what stood before the text to its first words: by itself it says little. The title is told."""
        blocks = self.draft.blocks
        at = next((at for at, block in enumerate(blocks) if block.kind != "heading"), None)
        if at is None:
            self.draft.add("code", "\n".join(before.lines))
            return
        rest = "\n".join(before.rest).strip("\n")
        if rest and blocks[at].kind == "paragraph":
            blocks[at] = replace(blocks[at], text=f"{rest}\n\n{blocks[at].text}")
        elif rest:
            blocks.insert(at, Block("code", rest))

    def _fenced(self, line: str) -> bool:
        fence = _FENCE.match(line)
        if not fence:
            return False
        self._close()
        indent, mark = len(fence[1]), fence[2]
        is_end = re.compile(rf"[ \t]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$").match
        start = self._at + 1
        end = next((at for at in range(start, len(self._lines)) if is_end(self._lines[at])), len(self._lines))
        self.draft.add("code", "\n".join(_less(inner, indent) for inner in self._lines[start:end]))
        self._at = end + 1
        return True

    def _table(self, line: str) -> bool:
        rule = self._lines[self._at + 1] if self._at + 1 < len(self._lines) else ""
        ruled = _cells(rule) if "|" in line and "|" in rule else [""]
        if not all(map(_RULED, ruled)) or len(_cells(line)) != len(ruled):
            return False
        self._close()
        self.draft.add("row", " | ".join(_cells(line)), is_header=True)
        self._at += 2
        while self._at < len(self._lines) and "|" in self._lines[self._at]:
            self.draft.add("row", " | ".join(_cells(self._lines[self._at])))
            self._at += 1
        return True

    def _heading(self, line: str) -> bool:
        found = _HEADING.match(line)
        if found:
            self._close()
            self.draft.add("heading", _unclosed(found[2] or ""), level=len(found[1]))
        elif self._open and self._kind == "paragraph" and (under := _UNDERLINE.match(line)):
            text = " ".join(map(str.strip, self._open))
            self._open = []
            self.draft.add("heading", text, level=1 if under[1][0] == "=" else 2)
        elif _RULE.match(line):
            self._close()
        else:
            return False
        self._at += 1
        return True

    def _item(self, line: str) -> bool:
        """An item, with its number where it has one: others name it by that."""
        found = _ITEM.match(line)
        if not found or self._goes_on(found[1], found[2]):
            return False
        self._close()
        self._kind, self._level, self._is_of_item = "item", len(_wide(found[1])) // 2, True
        self._open = [f"{found[2]}{found[3]} {found[4]}" if found[2] else found[4]]
        self._at += 1
        return True

    def _goes_on(self, indent: str, number: str | None) -> bool:
        """Whether what looks like an item goes on with a paragraph: a line may begin with a year.

        Not so a paragraph of an item, which the next item ends.
        """
        is_inside = bool(self._open) and self._kind == "paragraph"
        is_other = number is not None and int(number) != 1 and not self._is_of_item
        return is_inside and (len(_wide(indent)) >= _INDENT or is_other)

    def _indented(self, line: str) -> bool:
        """Code by its indent, unless it goes on with a paragraph or an item."""
        if self._open or self._kind == "item" or not _is_code(line):
            return False
        start = self._at
        while self._at < len(self._lines) and (
            _is_code(self._lines[self._at]) or not self._lines[self._at].strip()
        ):
            self._at += 1
        self.draft.add(
            "code", "\n".join(_less(_wide(inner), _INDENT) for inner in self._lines[start : self._at])
        )
        return True

    def _line(self, line: str) -> None:
        self._at += 1
        text = _QUOTE.sub("", line)
        if not text.strip():
            self._close()
            return
        if not self._open:
            self._kind, self._level = "paragraph", 0
            self._is_of_item = self._is_of_item and text[0].isspace()
        self._open.append(text.strip() if self._kind == "item" else text.rstrip())

    def _close(self) -> None:
        if self._open:
            self.draft.add(self._kind, "\n".join(self._open), level=self._level)
            self._open = []


def _is_code(line: str) -> bool:
    return bool(line.strip()) and _wide(line)[:_INDENT].isspace()


def _wide(line: str) -> str:
    return line.expandtabs(_INDENT)


def _less(line: str, indent: int) -> str:
    """A line without so many blanks at its beginning, where it has them."""
    return line[min(indent, len(line) - len(line.lstrip(" \t"))) :]


def _unclosed(heading: str) -> str:
    """A heading without the marks that close it."""
    plain = heading.rstrip(" \t")
    unmarked = plain.rstrip("#")
    return unmarked if not unmarked or unmarked[-1] in " \t" else plain


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip().replace("\\|", "|") for cell in _CELLS.split(inner)]
