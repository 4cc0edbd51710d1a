"""Bytes of a file as text that a model may read: UTF-8, in numbered lines, within a size."""

import codecs
from collections.abc import Iterator, Sequence

from quire.agent.builtin.files.limits import FileLimits
from quire.agent.builtin.files.paths import counted, shown
from quire.agent.tools.output import Allowance, fitted
from quire.errors import InvalidValue, OutOfRange, TooLarge

_MARK = "\ufeff"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def text_of(data: bytes, path: Sequence[str]) -> str:
    """The text of a file, or why it has none."""
    if data.startswith(_UTF_16):
        raise InvalidValue(f"{shown(path)} is text in UTF-16; only UTF-8 is read")
    if b"\x00" in data:
        raise InvalidValue(f"{shown(path)} is binary ({counted(len(data), 'byte')}), not text")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidValue(
            f"{shown(path)} is not UTF-8: byte {error.start:,} (0x{data[error.start]:02x}), in line {line:,}"
        ) from None


def bytes_of(text: str, path: Sequence[str], most: int) -> bytes:
    """A text as it is written, if it can be and is not too large."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise InvalidValue(
            f"the text for {shown(path)} has half of a character at {error.start:,}: UTF-8 has none"
        ) from None
    if len(data) > most:
        raise TooLarge(f"the text for {shown(path)} has {len(data):,} bytes; {most:,} are the most")
    return data


def replaced(text: str, old: str, new: str, path: Sequence[str], *, everywhere: bool) -> tuple[str, int]:
    """A text with one piece of it replaced, and in how many places."""
    if not old:
        raise InvalidValue("the old text is empty: say what is to be replaced")
    if old == new:
        raise InvalidValue("the old text and the new one are the same: nothing would change")
    if old not in text and "\r\n" in text:  # lines are shown without their ends, and so they come back
        old, new = (one.replace("\r\n", "\n").replace("\n", "\r\n") for one in (old, new))
    count = text.count(old)
    if not count:
        raise InvalidValue(
            f"the old text is not in {shown(path)}: it must match exactly, spaces and lines too"
        )
    if count > 1 and not everywhere:
        raise InvalidValue(
            f"the old text is {count:,} times in {shown(path)}: take in more around it, or replace all"
        )
    return text.replace(old, new), count


def numbered(
    text: str,
    path: Sequence[str],
    first: int,
    count: int,
    limits: FileLimits,
    allowance: Allowance | None = None,
) -> str:
    """Some lines with their numbers, and a last line that says what there is and how to go on."""
    if first < 1 or count < 1:
        raise OutOfRange("lines are counted from 1, and at least one is read")
    lines = text.removeprefix(_MARK).split("\n")
    if lines[-1] == "":
        lines.pop()  # the end of the last line, not a line of its own
    if not lines:
        return f"[{shown(path)} is empty]"
    if first > len(lines):
        raise OutOfRange(f"{shown(path)} has {counted(len(lines), 'line')}; there is no line {first:,}")
    rows = list(_rows(lines[first - 1 : first - 1 + count], first, limits))

    def told(few: int) -> str:
        last = first + few - 1
        going_on = f"; go on with first={last + 1}" if last < len(lines) else ""
        return "\n".join((*rows[:few], f"[lines {first:,} to {last:,} of {len(lines):,}{going_on}]"))

    return fitted(told, len(rows), allowance)


def _rows(lines: Sequence[str], first: int, limits: FileLimits) -> Iterator[str]:
    left = limits.shown_characters
    for number, line in enumerate(lines, first):
        row = f"{number:>6}\t{shortened(line.removesuffix(chr(13)), limits.line_characters)}"
        left -= len(row)
        if left < 0 and number > first:  # at least one: who goes on must get on
            return
        yield row


def shortened(line: str, most: int) -> str:
    """A line, cut where it is too long to be shown."""
    return line if len(line) <= most else f"{line[:most]}… [cut: {len(line):,} characters]"
