"""Copies of what somebody said or made, found however they are spelt: as JSON, printed, or within a text.

A content is its values: one text, or those of a record. A copy of a record holds all of them, in any order:
one that has another name or number in it is of something else. What is short, or only a few everyday words,
stands in many places by chance; it is a copy only where it is a value by itself.
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

_EVERYDAY = 20
"""A text of fewer characters than this, and without a digit, may be what anybody says."""

_BY_CHANCE = 4
"""A value of fewer characters than this stands within many words: it has to be one."""

_CLOCKS = 1.0
"""Seconds by which the clocks of two who write may differ."""

_WORD = re.compile(r"\w+")


def contents_of(value: Any) -> Iterator[Content]:
    """What a free value is recognised by: a text, the values of a record, or both where a text is JSON."""
    if isinstance(value, str):
        whole = as_read(value)
        if len(whole) >= _SHORTEST:
            yield (whole,)
        value = _as_json(value)
    values = {text for text in map(as_read, values_in(value)) if text}
    if sum(map(len, values)) >= _SHORTEST:
        yield tuple(sorted(values, key=lambda text: (-len(text), text)))


class Sought:
    """Contents to be found again, each with when it was said. Many take hardly longer than one."""

    def __init__(self) -> None:
        self._since: dict[Content, float] = {}
        self._by_word: dict[str, list[Content]] = {}
        self._others: list[Content] = []

    def __iter__(self) -> Iterator[Content]:
        return iter(self._since)

    def add(self, contents: Iterable[Content], since: float = 0.0) -> None:
        """Look for more, which were said at some time; where one was said several times, at the first."""
        for content in contents:
            if content not in self._since:
                word = max(filter(None, map(_inner_word, content)), key=len, default=None)
                known = self._others if word is None else self._by_word.setdefault(word, [])
                known.append(content)
            self._since[content] = min(self._since.get(content, since), since)

    def are_in(self, value: Any, at: float | None = None) -> bool:
        """Whether one of them stands anywhere in a free value; where it is told when, one said before."""
        if not self._since:
            return False
        told = {as_read(text) for text in chain(values_in(value), _names_in(value))}
        text = "\n".join(told)  # no content holds the end of a line
        words = {*_WORD.findall(text)}
        likely = chain(self._others, *(self._by_word[word] for word in self._by_word.keys() & words))
        return any(
            (at is None or self._since[content] <= at + _CLOCKS) and _stands_in(content, text, told, words)
            for content in likely
        )


def _stands_in(content: Content, text: str, told: Set[str], words: Set[str]) -> bool:
    if not all(value in text for value in content):
        return False
    if any(len(value) < _BY_CHANCE and value.isalnum() and value not in words for value in content):
        return False
    longest = content[0]
    return len(content) > 1 or not _is_everyday(longest) or longest in told


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
