"""Texts that no request can carry: JSON is sent as UTF-8, which has no half of a surrogate pair."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from quire.providers.checking.faults import Findings
from quire.providers.checking.reading import as_list, as_object

RULE = "A text can be written as UTF-8: half of a surrogate pair cannot, and a client fails to send it."
_DEEPEST = 100  # levels that are looked at: a payload may hold itself


class _Place(NamedTuple):
    """Where a value stands, as a step from what holds it; a path is written only for a fault."""

    before: "_Place | None"
    step: str
    depth: int

    def path(self) -> str:
        steps: list[str] = []
        place: _Place | None = self
        while place is not None:
            steps.append(place.step)
            place = place.before
        return "".join(reversed(steps)).lstrip(".")


def check_texts(findings: Findings, body: Mapping[str, Any]) -> int:
    """Note every text in a request, names of fields included, that cannot be sent; the length of all."""
    size = 0
    waiting: list[tuple[_Place, Any]] = [(_Place(None, "", 0), body)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str):
            size += len(value)
            if not value.isascii() and _has_half(value):
                findings.add(place.path(), "not_unicode", "it has half of a surrogate pair")
        elif place.depth < _DEEPEST:
            waiting += _inside(findings, place, value)
    return size


def _inside(findings: Findings, place: _Place, value: object) -> Iterator[tuple[_Place, Any]]:
    fields, depth = as_object(value), place.depth + 1
    if fields is not None:
        for name, inner in cast("Mapping[Any, Any]", fields).items():
            if isinstance(name, str) and _has_half(name):
                findings.add(place.path(), "not_unicode", "the name of a field has half of a surrogate pair")
            elif isinstance(inner, str | list | tuple | Mapping):
                yield _Place(place, f".{name}", depth), inner
    for index, inner in enumerate(as_list(value) or ()):
        if isinstance(inner, str | list | tuple | Mapping):
            yield _Place(place, f"[{index}]", depth), inner


def _has_half(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
