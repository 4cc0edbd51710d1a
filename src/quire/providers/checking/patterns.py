"""Patterns and ids in a schema, where a provider reads them and refuses what it cannot read."""

import re
from collections.abc import Iterator

from quire.providers.checking.reading import Fields, as_object
from quire.providers.checking.schemas import each_schema

_AROUND = ("(?=", "(?!", "(?<=", "(?<!")
_IN_ADDRESSES = re.compile(r"(?:[A-Za-z0-9._~:/?\#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f][0-9A-Fa-f])*")


def check_readable(tool: Fields, key: str) -> None:
    """Note each pattern in a schema that is none to the provider, and each id that is no URI reference."""
    for place, value in each_schema(tool, key):
        schema = as_object(value) or {}
        pattern, name = schema.get("pattern"), schema.get("$id")
        if isinstance(pattern, str):
            _check_pattern(tool, f"{place}.pattern", pattern)
        for each in as_object(schema.get("patternProperties")) or {}:
            _check_pattern(tool, f"{place}.patternProperties", each)
        if isinstance(name, str) and not _is_reference(name):
            tool.findings.add(f"{place}.$id", "tool_id", "is no URI reference")


def looks_around(pattern: str) -> bool:
    """Whether a pattern depends on what is before or after it."""
    return any(pattern.startswith(_AROUND, at) for at in outside(pattern) if pattern[at] == "(")


def outside(pattern: str) -> Iterator[int]:
    """The places in a pattern that are in no class of characters; what is escaped is passed over."""
    at, opened = 0, -1
    while at < len(pattern):
        if opened < 0:
            yield at
        if pattern[at] == "\\":
            at += 1
        elif opened < 0 and pattern[at] == "[":
            opened = at + pattern.startswith("^", at + 1)
        elif pattern[at] == "]" and at > opened + 1:
            opened = -1  # right after its beginning it is one of the characters
        at += 1


def compiles(pattern: str) -> bool:
    """Whether Python takes a pattern for one."""
    try:
        re.compile(_without_warnings(pattern))
    except (re.error, OverflowError, RecursionError):
        return False
    except FutureWarning:
        return True
    return True


def _without_warnings(pattern: str) -> str:
    """The same pattern with escapes before what Python warns of in classes of characters."""
    in_classes = {*range(len(pattern))}.difference(outside(pattern))
    written, at = "", 0
    while at < len(pattern):
        if pattern[at] == "\\":
            written += pattern[at : at + 2]
            at += 2
            continue
        doubtful = pattern[at] in "[&~|" or (pattern[at] == "-" and written.endswith("-"))
        written += f"\\{pattern[at]}" if doubtful and at in in_classes else pattern[at]
        at += 1
    return written


def _check_pattern(tool: Fields, place: str, pattern: str) -> None:
    if looks_around(pattern):
        tool.findings.add(place, "tool_pattern", "lookaround is not supported")
    elif not compiles(pattern):
        tool.findings.add(place, "tool_pattern", "is no regular expression that Python compiles")


def _is_reference(text: str) -> bool:
    return _IN_ADDRESSES.fullmatch(text) is not None and text.count("#") < 2
