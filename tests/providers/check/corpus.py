"""The corpus of payloads: one JSON row each with a name, a model, the payload and the faults expected.

A reviewer's finding is a row in `cases/<wire>.jsonl`.
"""

import json
from base64 import b64decode
from pathlib import Path
from typing import Any, NamedTuple, cast

from quire.providers import RULES

CASES = Path(__file__).with_name("cases")


class Case(NamedTuple):
    """A payload, and its faults as `rule place`."""

    name: str
    model: str | None
    payload: Any
    faults: list[str]


def _restored(value: Any) -> Any:
    """A value of a row; `{"$b64": …}` stands for bytes."""
    if isinstance(value, list):
        return [_restored(inner) for inner in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    if fields.keys() == {"$b64"}:
        return b64decode(fields["$b64"])
    return {key: _restored(inner) for key, inner in fields.items()}


def read_cases(wire: str) -> list[Case]:
    """The rows of a wire."""
    rows = (json.loads(line) for line in (CASES / f"{wire}.jsonl").read_text("utf-8").splitlines())
    return [Case(row["case"], row["model"], _restored(row["payload"]), row["faults"]) for row in rows]


ROWS: dict[str, list[Case]] = {wire: read_cases(wire) for wire in RULES}
