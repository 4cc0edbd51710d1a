"""Digests of payloads that grow from turn to turn: of what stood in the one before, nothing is read again."""

import hashlib
from collections.abc import Mapping, Sequence
from operator import is_
from typing import Any, NamedTuple, cast

from msgspec.json import encode

_AGO = (0, 4, 16, 64)
"""How far before the end a digest can be taken up again: the last messages are often written anew."""


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
        done, digest = self._taken_up(wire, head, messages)
        marks: list[tuple[int, Any]] = []
        for stop in sorted({max(len(messages) - ago, done) for ago in _AGO}):
            digest.update(_listed(messages, done, stop))
            done = stop
            marks.append((done, digest.copy()))
        self._known[wire] = _Known(head, messages, tuple(reversed(marks)))
        digest.update(b"]" + b"".join(b"," + _field(payload, key) for key in after) + b"}")
        return str(digest.hexdigest())

    def _taken_up(self, wire: str, head: bytes, messages: Sequence[Any]) -> tuple[int, Any]:
        """How many messages need not be read again, and the digest up to there."""
        known = self._known.get(wire)
        if known is not None and known.head == head:
            for count, digest in known.marks:
                # The very same objects: what is rendered once is handed on as it is.
                if count <= len(messages) and all(map(is_, known.messages[:count], messages)):
                    return count, digest.copy()
        return 0, hashlib.sha256(head)


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
