"""What the tests of files of items share."""

import json
from pathlib import Path

import pytest

from quire.stores import Entry, Place, Store

HERE, THERE = Place("", ""), Place("ana", "q3")
BOTH = pytest.mark.parametrize("ending", ["json", "jsonl"])


def entry(text: str, stream: str = "main") -> Entry:
    return Entry(stream, f'{{"kind":"message","text":"{text}"}}'.encode())


def texts(store: Store, place: Place = HERE) -> list[str]:
    return [json.loads(stored.body)["text"] for stored in store.read(place)]


def items_of(path: Path) -> list[object]:
    """What any program that reads JSON finds."""
    if path.suffix == ".json":
        found = json.loads(path.read_bytes())
        assert isinstance(found, list)
        return found  # pyright: ignore[reportUnknownVariableType]
    return [json.loads(line) for line in path.read_text().splitlines()]
