"""Golden corpora: rows of an input and an expected outcome as JSON, and how present outcomes differ.

Ids that the library makes up are written as `~1`, `~2` …, in the order in which they appear.
"""

import json
import lzma
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple, cast

from tests.goldens import agents, core, keeping, programs, providers, recall

PACKAGES = (core, providers, keeping, recall, programs, agents)
CORPORA = tuple(corpus for package in PACKAGES for corpus in package.CORPORA)
DATA = Path(__file__).with_name("data")
ABSENT = "(absent)"


class Row(NamedTuple):
    """One case of a corpus."""

    name: str
    category: str
    input: dict[str, Any]
    expected: Any

    @property
    def corpus(self) -> str:
        return self.name.partition("-")[0]


def path_of(corpus: str) -> Path:
    return DATA / f"{'providers-' if corpus in providers.CORPORA else ''}{corpus}.jsonl.xz"


def read(corpus: str) -> list[Row]:
    """The rows of a corpus."""
    with lzma.open(path_of(corpus), "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    if corpus in providers.CORPORA:
        return [Row(name, corpus, given, expected) for name, given, expected in rows]
    return [
        Row(f"{corpus}-{number:04}", row["category"], row["input"], row["expected"])
        for number, row in enumerate(rows)
    ]


def write(corpus: str, rows: Iterable[Row]) -> None:
    if corpus in providers.CORPORA:
        values: list[Any] = [[row.name, row.input, row.expected] for row in rows]
    else:
        values = [{name: getattr(row, name) for name in ("category", "input", "expected")} for row in rows]
    text = "".join(f"{json.dumps(value, separators=(',', ':'))}\n" for value in values)
    path_of(corpus).write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def outcome_of(row: Row) -> Any:
    """The present outcome of a row."""
    package = next(package for package in PACKAGES if row.corpus in package.CORPORA)
    text = json.dumps(package.compute(row.category, row.input))
    return json.loads(core.numbered(text, row.input))


# Differences

_Change = tuple[str, str, Any, Any]


class Difference(NamedTuple):
    """One difference between an expected outcome and the present one."""

    row: Row
    path: str
    kind: str
    """Added, removed, changed or reordered."""
    expected: Any
    found: Any

    @property
    def title(self) -> str:
        """The wire or the category, the kind, and the path without indexes and names of properties."""
        path = re.sub(r"\[\d+\]", "[*]", self.path)
        path = re.sub(r"^(requests\[\*\]\.)?(names|parameters)\..*", r"\1\2.*", path)
        path = re.sub(r"\.(properties|\$defs|definitions|args|input)\.[^.\[]+", r".\1.*", path)
        return f"{self._wire()} {self.kind} {path}"

    def _wire(self) -> str:
        steps: list[dict[str, Any]] = self.row.input.get("steps") or [self.row.input]
        wires = (
            [step["wire"] for step in steps if "wire" in step] if self.row.corpus in providers.CORPORA else []
        )
        request = re.match(r"requests\[(\d+)\]", self.path)
        return str(wires[int(request[1]) if request else 0]) if wires else self.row.category


def differences(rows: Iterable[Row]) -> Iterator[Difference]:
    """All differences between expected outcomes and present ones."""
    for row in rows:
        for change in _compared(row.expected, outcome_of(row), ""):
            yield Difference(row, *change)


def _compared(expected: Any, found: Any, path: str) -> Iterator[_Change]:
    if expected == found and type(expected) is type(found):
        return
    if isinstance(expected, dict) and isinstance(found, dict):
        yield from _compared_fields(cast("dict[str, Any]", expected), cast("dict[str, Any]", found), path)
    elif isinstance(expected, list) and isinstance(found, list):
        lists = cast("list[object]", expected), cast("list[object]", found)
        words = path.endswith(("downgrades", "faults")) and all(isinstance(one, str) for one in lists[0])
        yield from (_compared_words if words else _compared_lists)(*lists, path)
    else:
        yield path, "changed", expected, found


def _compared_fields(expected: dict[str, Any], found: dict[str, Any], path: str) -> Iterator[_Change]:
    for name in dict.fromkeys((*expected, *found)):
        place = f"{path}.{name}" if path else name
        if name in expected and name in found:
            yield from _compared(expected[name], found[name], place)
        else:
            kind = "removed" if name in expected else "added"
            yield place, kind, expected.get(name, ABSENT), found.get(name, ABSENT)


def _compared_words(expected: list[object], found: list[object], path: str) -> Iterator[_Change]:
    """Downgrades and faults, whose order is free: the first word is the sort, the rest the place."""
    lost, new = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
    for entry in lost.elements():
        yield f"{path} {str(entry).split()[0]}", "removed", entry, ABSENT
    for entry in new.elements():
        yield f"{path} {str(entry).split()[0]}", "added", ABSENT, entry
    if not lost and not new:
        yield path, "reordered", expected, found


def _compared_lists(expected: list[object], found: list[object], path: str) -> Iterator[_Change]:
    """Lists of one length place by place; others after what is the same in both."""
    before, after = ([json.dumps(one, sort_keys=True) for one in values] for values in (expected, found))
    blocks = [("replace", 0, len(expected), 0, len(found))]
    if len(expected) != len(found):
        blocks = [*SequenceMatcher(None, before, after, False).get_opcodes()]
    for kind, low, high, low_found, high_found in blocks:
        if kind == "equal":
            continue
        if high - low == high_found - low_found:
            for place in range(low, high):
                yield from _compared(expected[place], found[place - low + low_found], f"{path}[{place}]")
            continue
        for place in range(low, high):
            yield f"{path}[{place}]", "removed", expected[place], ABSENT
        for place in range(low_found, high_found):
            yield f"{path}[{place}]", "added", ABSENT, found[place]
