"""Patterns for paths: `*`, `?` and `[a-z]` within a name, `**` for any folders.

A pattern is matched name by name, and never handed to the system: it cannot lead anywhere.
"""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from quire.errors import InvalidValue, TooLarge

_LONGEST = 500
_ANY_FOLDERS = "**"


def pattern_matcher(pattern: str) -> Callable[[Sequence[str]], bool]:
    """Whether the names of a path fit. A pattern without a slash is for names in any folder."""
    if len(pattern) > _LONGEST:
        raise TooLarge(f"the pattern has {len(pattern):,} characters; {_LONGEST} are the most")
    wanted = [part for part in pattern.split("/") if part not in ("", ".")]
    if not wanted or pattern.startswith("/") or ".." in wanted:
        raise InvalidValue("a pattern is relative and never goes up, such as *.md or notes/**/*.txt")
    if "/" not in pattern:
        wanted = [_ANY_FOLDERS, *wanted]
    return lambda names: _fits(names, wanted)


def _fits(names: Sequence[str], wanted: Sequence[str]) -> bool:
    # Where in the pattern one can be after each name: however many ** there are, no path takes long.
    places = _with_skipped({0}, wanted)
    for name in names:
        stepped = {place for place in places if wanted[place : place + 1] == [_ANY_FOLDERS]}
        stepped |= {place + 1 for place in places - stepped if _is_at(place, name, wanted)}
        places = _with_skipped(stepped, wanted)
    return len(wanted) in places


def _is_at(place: int, name: str, wanted: Sequence[str]) -> bool:
    return place < len(wanted) and fnmatchcase(name, wanted[place])


def _with_skipped(places: set[int], wanted: Sequence[str]) -> set[int]:
    """The places, and those reached when a ** stands for no folder at all."""
    reached: set[int] = set()
    for place in places:
        reached.add(place)
        while place < len(wanted) and wanted[place] == _ANY_FOLDERS:
            place += 1
            reached.add(place)
    return reached
