"""Copies of what somebody said or made, found however they are spelt: as JSON, printed, or within a text.

A content is its values: one text, or those of a record. A copy of a record holds all of them, in any order:
one that has another name or number in it is of something else. A few everyday words and small numbers stand
in many places by chance; they are a copy only where they are a value by themselves, or a record where that is
all of it. Media are known by their bytes.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import chain
from json import loads
from typing import Any, NamedTuple

from quire.stores.moments import is_moment
from quire.stores.spelt import as_read

_SHORTEST = 12
"""Characters from which on a content is looked for elsewhere."""

_EVERYDAY = 20
"""Words of fewer characters than this, and without a digit, may be what anybody says."""

_SMALL = 4
"""A number of fewer characters than this may be anybody's."""

_TELLING, _SEVERAL = 8, 24
"""A record is somebody's by a value of so many characters that is not everyday, or by so many in all."""

_CLOCKS = 1.0
"""Seconds by which the clocks of two who write may differ."""

_FEW = 30
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")


class Content(NamedTuple):
    """The values of a content as they are read, and whether it has to stand by itself to be a copy."""

    values: tuple[str, ...]
    is_alone: bool


def contents_of(value: Any) -> Iterator[Content]:
    """What a free value is recognised by: a text, the values of a record, or both where a text is JSON."""
    texts = list[str]()
    while isinstance(value, str):
        texts.append(as_read(value))
        value = _as_json(value)
    record = _record(value)
    for text in texts:
        if len(text) >= _SHORTEST and not is_moment(text):
            # The signs of JSON make nothing of everyday words that others would not have, too.
            yield Content((text,), _is_everyday(text) or (value is not None and record.is_alone))
    if sum(map(len, record.values)) >= _SHORTEST and not all(map(is_moment, record.values)):
        yield record


def _record(value: Any) -> Content:
    """The values of a record; where they are few and everyday, others have the same."""
    values = {text for text in map(as_read, values_in(value)) if text}
    telling = [text for text in values if len(text) >= _TELLING and not _is_everyday(text)]
    is_named = any(" " in text and not is_moment(text) for text in values)
    is_telling = any(is_named or not is_moment(text) for text in telling)
    return Content(tuple(sorted(values)), not is_telling and sum(map(len, values)) < _SEVERAL)


class Sought:
    """Contents to be found again, each with when it was said. Many take hardly longer than one."""

    def __init__(self) -> None:
        self._since: dict[Content, float] = {}
        self._by_word: dict[str, list[Content]] = {}
        self._others: list[Content] = []

    def __iter__(self) -> Iterator[Content]:
        return iter(self._since)

    def __contains__(self, content: object) -> bool:
        return content in self._since

    def add(self, contents: Iterable[Content], since: float = 0.0) -> None:
        """Look for more, which were said at some time; where one was said several times, at the first."""
        for content in contents:
            if content not in self._since:
                words = {word for value in content.values for word in _whole_words(value)}
                rarest = min(words, key=lambda word: (len(self._by_word.get(word, ())), word), default=None)
                known = self._others if rarest is None else self._by_word.setdefault(rarest, [])
                known.append(content)
            self._since[content] = min(self._since.get(content, since), since)

    def are_in(self, told: "Told", at: float | None = None) -> bool:
        """Whether one of them stands anywhere in what is told; where it is said when, one said before."""
        if not self._since:
            return False
        return any(
            told.has(content)
            for content in self._likely_in(told)
            if at is None or self._since[content] <= at + _CLOCKS
        )

    def _likely_in(self, told: "Told") -> Iterable[Content]:
        """Those that have a word in common with what is told. A few are sooner looked for than its words."""
        if len(self._since) <= _FEW:
            return self._since
        return chain(self._others, *(self._by_word[word] for word in self._by_word.keys() & told.words))


class Told:
    """What is told in free values, as it is read once somebody looks for something in it."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values

    @cached_property
    def words(self) -> set[str]:
        """All words and numbers."""
        return {*_WORD.findall(self._text), *_NUMBER.findall(self._text)}

    def has(self, content: Content) -> bool:
        """Whether all values of a content stand there, each as it is and not within a longer one."""
        if not all(value in self._text for value in content.values):  # nearly always, and soon seen
            return False
        if content.is_alone:
            return content.values in self._by_themselves
        return all(_stands_in(value, self._text) for value in content.values)

    @cached_property
    def _single(self) -> set[str]:
        return {as_read(text) for text in chain(values_in(self._values), _names_in(self._values))}

    @cached_property
    def _text(self) -> str:
        return "\n".join(self._single)  # no content holds the end of a line

    @cached_property
    def _by_themselves(self) -> set[tuple[str, ...]]:
        whole = (content.values for value in _opened(self._values) for content in contents_of(value))
        return {*((text,) for text in self._single), *whole}


def _opened(value: Any) -> Iterator[Any]:
    """All that is in a free value, each part of it and what a text is in JSON."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += [_as_json(one)] if isinstance(one, str) else _inside(one)


def _is_everyday(text: str) -> bool:
    if any(map(str.isdigit, text)):
        return len(text) < _SMALL
    return len(text) < (_EVERYDAY if " " in text else _SHORTEST)


def _stands_in(value: str, text: str) -> bool:
    at = text.find(value)
    while at >= 0:
        end = at + len(value)
        before, after = text[max(at - 2, 0) : at][::-1], text[end : end + 2]
        if not (_goes_on(before, value[0], ".:/-T") or _goes_on(after, value[-1], ".:/-")):
            return True
        at = text.find(value, at + 1)
    return False


def _goes_on(beside: str, edge: str, joins: str) -> bool:
    """Whether what stands beside the edge of a value makes another word or another number of it.

    Numbers are joined by some signs, as dates are; a comma stands between two in tables and in JSON.
    """
    if edge.isdigit():
        return beside[:1].isdigit() or (beside[:1] != "" and beside[:1] in joins and beside[1:].isdigit())
    return _is_cased(edge) and _is_cased(beside[:1])


def _is_cased(letter: str) -> bool:
    """Whether it is a letter of a script that parts words by blanks, as those with capitals do."""
    return letter.islower() or letter.isupper()


def _whole_words(text: str) -> Iterator[str]:
    """What stands in every copy: words between others, for at its ends a copy may run on, and numbers."""
    inner = (one.group() for one in _WORD.finditer(text) if one.start() > 0 and one.end() < len(text))
    return chain(inner, _NUMBER.findall(text))


def _as_json(text: str) -> Any:
    """What a text is where it is a record or a text in JSON, with its numbers as they are written."""
    if not text.lstrip().startswith(("{", "[", '"')):
        return None
    try:
        return loads(text, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError):
        return None


def values_in(value: Any) -> Iterator[str]:
    """All texts and numbers in a free value, and what stands for bytes."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield sha256(value).hexdigest()
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
