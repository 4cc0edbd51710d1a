"""Copies of what somebody said or made, found however they are spelt: as JSON, printed, or within a text.

A content is its values: one text, or those of a record. A copy holds all of them, or nearly: one value of a
record is none of it, since others have the same. What is short, or only a few everyday words, stands in many
places by chance; it is a copy only where it is a value by itself.
"""

import re
from collections.abc import Iterable, Iterator, Set
from itertools import chain
from typing import Any

import msgspec

from quire.stores.spelt import as_read

Content = tuple[str, ...]
"""The values of a content as they are read, the longest first."""

_SHORTEST = 12
"""Characters from which on a content is looked for elsewhere."""

_SHORTEST_VALUE = 4
"""Those of a value of a record: shorter ones stand everywhere."""

_EVERYDAY = 20
"""A text of fewer characters than this, and without a digit, may be what anybody says."""

_MAY_LACK = 0.2
"""The share of a content that a copy may lack."""

_WORD = re.compile(r"\w+")


def contents_of(value: Any) -> Iterator[Content]:
    """What a free value is recognised by: a text, the values of a record, or both where a text is JSON."""
    if isinstance(value, str):
        whole = as_read(value)
        if len(whole) >= _SHORTEST:
            yield (whole,)
        value = _as_json(value)
    values = {text for text in map(as_read, values_in(value)) if len(text) >= _SHORTEST_VALUE}
    if sum(map(len, values)) >= _SHORTEST:
        yield tuple(sorted(values, key=lambda text: (-len(text), text)))


class Sought:
    """Contents to be found again. To look for many takes about as long as for one."""

    def __init__(self, contents: Iterable[Content] = ()) -> None:
        self._known: set[Content] = set()
        self._by_word: dict[str, list[Content]] = {}
        self._others: list[Content] = []
        self.update(contents)

    def __iter__(self) -> Iterator[Content]:
        return iter(self._known)

    def update(self, contents: Iterable[Content]) -> None:
        """Look for more."""
        for content in contents:
            if content not in self._known:
                self._known.add(content)
                word = _inner_word(content[0]) if len(content) == 1 else None
                known = self._others if word is None else self._by_word.setdefault(word, [])
                known.append(content)

    def are_in(self, value: Any) -> bool:
        """Whether one of them stands anywhere in a free value."""
        if not self._known:
            return False
        told = {as_read(text) for text in chain(values_in(value), _names_in(value))}
        text = "\n".join(told)  # no content holds the end of a line
        words = self._by_word.keys() & _WORD.findall(text)
        likely = chain(self._others, *(self._by_word[word] for word in words))
        return any(_stands_in(content, text, told) for content in likely)


def _stands_in(content: Content, text: str, told: Set[str]) -> bool:
    lacking, most = 0, _MAY_LACK * sum(map(len, content))
    found: list[str] = []
    for value in content:
        if value in text:
            found.append(value)
        else:
            lacking += len(value)
        if lacking > most:
            return False
    return len(found) > 1 or not _is_everyday(found[0]) or found[0] in told


def _is_everyday(text: str) -> bool:
    return len(text) < _EVERYDAY and not any(map(str.isdigit, text))


def _inner_word(text: str) -> str | None:
    """The longest word that stands between others: at its ends a copy may run into what is beside it."""
    inner = (one.group() for one in _WORD.finditer(text) if one.start() > 0 and one.end() < len(text))
    return max(inner, key=len, default=None)


def _as_json(text: str) -> Any:
    """What a text is where it is a record in JSON."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None


def values_in(value: Any) -> Iterator[str]:
    """All texts and numbers in a free value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    else:
        for one in _inside(value):
            yield from values_in(one)


def _names_in(value: Any) -> Iterator[str]:
    """All names that values have in a free value."""
    if isinstance(value, dict):
        yield from map(str, value)  # pyright: ignore[reportUnknownArgumentType]
    for one in _inside(value):
        yield from _names_in(one)


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return value if isinstance(value, list | tuple) else ()  # pyright: ignore[reportUnknownVariableType]
