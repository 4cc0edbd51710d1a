"""Reading a file of elements: what is whole, what a crash tore, what is damaged, what a person wrote.

What Quire wrote has one element per line, and only such a file can have a torn end: an end that stops in the
middle, because the append that wrote it never returned. An end that is finished and wrong, or a fault that
whole elements follow, is damage, and nobody but its owner may say what becomes of it.
"""

import json
import re
from typing import BinaryIO, NamedTuple

from quire.errors import StoreDamaged
from quire.stores.contents import Contents, Spot
from quire.stores.elements import MORE_FOLLOWS, Element, Form, understood

_SPACE = re.compile(r"[ \t\n\r]*")
_LEAST_ZEROS = 512  # what disks write at once
_whole_value = json.JSONDecoder().raw_decode


class Scanned(NamedTuple):
    """How far a file is whole."""

    end: int
    """Where its last whole append ends."""

    torn: int | None = None
    """How many bytes an append that never returned left after it; `None` if none was under way."""

    by_hand: bool = False
    """Whether it is whole, but not one element per line."""


class _Stop(NamedTuple):
    """Where reading line by line came to its end."""

    end: int
    at: int
    in_batch: bool


def scan(file: BinaryIO, form: Form, contents: Contents, end: int, name: str) -> Scanned:
    """Put what a file has after some byte into the contents; `StoreDamaged` where that cannot be told."""
    stop = _scan_lines(file, form, contents, end)
    file.seek(stop.end)
    rest = file.read()
    if rest in form.endings and not stop.in_batch:
        return Scanned(stop.end)
    unread = rest[stop.at - stop.end :]
    if (stop.in_batch or unread) and not unread.strip(MORE_FOLLOWS):
        return Scanned(stop.end, torn=len(rest))
    fault = _scan_by_hand(file, form, whole := Contents())
    if fault is None:
        contents.take(whole)
        return Scanned(stop.end, by_hand=True)
    if _has_begun(rest, form, stop.end) and _is_torn(unread, rest.endswith(form.closing)):
        return Scanned(stop.end, torn=len(rest))
    byte, count = max((stop.at, contents.count), (fault, whole.count))
    raise StoreDamaged(f"{name} is damaged at byte {byte:,}, after {count:,} whole elements")


def _scan_lines(file: BinaryIO, form: Form, contents: Contents, end: int) -> _Stop:
    file.seek(end)
    if not end and form.opening:
        if file.read(len(form.opening)) != form.opening:
            return _Stop(0, 0, False)
        end = len(form.opening)
    lead = form.lead(end)
    if file.read(len(lead)) != lead:
        return _Stop(end, end, False)
    return _scan_elements(file, form, contents, _Stop(end, end + len(lead), False))


def _scan_elements(file: BinaryIO, form: Form, contents: Contents, start: _Stop) -> _Stop:
    end, offset, _ = start
    batch: list[tuple[Element, int, int]] = []
    for line in file:
        text = line.rstrip(form.after + b"\0")  # zeros for what never came may follow a whole element
        goes_on = text.startswith(MORE_FOLLOWS)
        element = understood(text[goes_on:])
        if element is None:
            break
        batch.append((element, offset + goes_on, offset + len(text)))
        if not goes_on:
            end = offset + len(text)
            _put(contents, batch)
            batch = []
        offset += len(line)
        if line[len(text) :] != form.between:
            break
    return _Stop(end, offset, bool(batch))


def _put(contents: Contents, elements: list[tuple[Element, int, int]]) -> None:
    for element, start, end in elements:
        inner = start + element.inner
        contents.add(element.place, Spot(element.stream, inner, end - inner))


def _has_begun(rest: bytes, form: Form, end: int) -> bool:
    """Whether this can be what an append leaves, which overwrites the closing and ends with it."""
    written, _, after = rest.partition(b"\0")
    is_over = not after.strip(b"\0")
    if is_over and form.closing.startswith(written):
        return True
    for start in (form.lead(end) + b"{", form.lead(end) + MORE_FOLLOWS + b"{"):
        first_bytes = [start[:done] for done in range(len(start))]
        over_closing = [done + form.closing[len(done) :] for done in first_bytes]
        if written.startswith(start) or written in first_bytes or (written in over_closing and is_over):
            return True
    return False


def _is_torn(unread: bytes, has_closing: bool) -> bool:
    """Whether text stops in the middle, or in zeros that a loss of power left for what never came."""
    begun, _, _ = unread.partition(b"\0")
    has_zeros = unread.endswith(b"\0") or bytes(_LEAST_ZEROS) in unread
    if b"\n" in begun.rstrip(b"\n") or (not has_zeros and (has_closing or _holds_a_value(begun))):
        return False
    return not any(understood(line.strip(b"\t,")) for line in unread.split(b"\n"))


def _holds_a_value(unread: bytes) -> bool:
    return _end_of_value(unread.lstrip(MORE_FOLLOWS).decode("latin-1"), 0) > 0


def _scan_by_hand(file: BinaryIO, form: Form, contents: Contents) -> int | None:
    """Look through a file in any layout, and give the byte of its first fault."""
    file.seek(0)
    text = file.read().decode("latin-1")  # one character for each byte, so that positions are the same
    opening, between, closing = (mark.decode().strip() for mark in (form.opening, form.between, form.closing))
    at = _after_space(text, 0)
    if not text.startswith(opening, at):
        return at
    at = _after_space(text, at + len(opening))
    while not (text.startswith(closing, at) and _after_space(text, at + len(closing)) == len(text)):
        if contents.count:
            if not text.startswith(between, at):
                return at
            at = _after_space(text, at + len(between))
        end = _end_of_value(text, at)
        element = understood(text[at:end].encode("latin-1"))
        if element is None:
            return at
        _put(contents, [(element, at, end)])
        at = _after_space(text, end)
    return None


def _end_of_value(text: str, at: int) -> int:
    try:
        return _whole_value(text, at)[1]
    except (ValueError, RecursionError):
        return at


def _after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return at if space is None else space.end()
