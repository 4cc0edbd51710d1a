"""Digests of payloads that grow from turn to turn: of what stood in the one before, nothing is read again."""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import compress
from operator import is_not
from typing import Any, NamedTuple, cast

from msgspec.json import encode

_AGO = (0, 4, 16, 64)
"""How far before the end a digest can be taken up again: the last messages are often written anew."""


_MARKS = 3 * len(_AGO)


class _Known(NamedTuple):
    """How a payload began, and the digest of it up to some of its messages."""

    head: bytes
    messages: Sequence[Any]
    marks: tuple[tuple[int, Any], ...]


class Digests:
    """SHA-256 of the JSON of one session's payloads, each taken up where the one before it can be."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def of(self, payload: Mapping[str, Any], wire: str) -> str:
        """The digest of a payload; those of one wire go on from each other."""
        name = max(payload, key=lambda key: len(payload[key]) if isinstance(payload[key], list) else -1)
        if not isinstance(payload[name], list):
            return hashlib.sha256(encode(payload)).hexdigest()
        messages = cast("list[Any]", payload[name])
        keys = list(payload)
        before, after = keys[: keys.index(name)], keys[keys.index(name) + 1 :]
        head = _joined(payload, before, name)
        marks = self._taken_up(wire, head, messages)
        done, digest = marks[0][0], marks[0][1].copy()
        for stop in sorted({max(len(messages) - ago, done) for ago in _AGO}):
            digest.update(_listed(messages, done, stop))
            done = stop
            marks.insert(0, (done, digest.copy()))
        self._known[wire] = _Known(head, messages, tuple(marks[:_MARKS]))
        digest.update(b"]" + b"".join(b"," + _field(payload, key) for key in after) + b"}")
        return str(digest.hexdigest())

    def _taken_up(self, wire: str, head: bytes, messages: Sequence[Any]) -> list[tuple[int, Any]]:
        """Up to how many messages nothing need be read again, with the digests so far, the longest first."""
        known = self._known.get(wire)
        if known is None or known.head != head:
            return [(0, hashlib.sha256(head))]
        same = _same(known.messages, messages)
        return [*(mark for mark in known.marks if mark[0] <= same), (0, hashlib.sha256(head))]


def _same(earlier: Sequence[Any], later: Sequence[Any]) -> int:
    """How many messages from the start are the same, word for word.

    Nearly all are the very same objects: what is rendered once is handed on as it is. Those that are marked
    for a cache are made anew.
    """
    both = min(len(earlier), len(later))
    for place in compress(range(both), map(is_not, earlier, later)):
        if encode(earlier[place]) != encode(later[place]):
            return place
    return both


def _joined(payload: Mapping[str, Any], keys: Sequence[str], name: str) -> bytes:
    fields = [*(_field(payload, key) for key in keys), encode(name) + b":["]
    return b"{" + b",".join(fields)


def _field(payload: Mapping[str, Any], key: str) -> bytes:
    return encode(key) + b":" + encode(payload[key])


def _listed(messages: Sequence[Any], start: int, stop: int) -> bytes:
    """Some of the messages as they stand in their list."""
    if start == stop:
        return b""
    listed = encode(messages[start:stop])[1:-1]
    return b"," + listed if start else listed
