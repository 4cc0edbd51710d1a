"""How much the file tools read, write, show and wait."""

from typing import NamedTuple

from quire.errors import InvalidLimit

MAX_DEPTH = 40
"""The most folders a path leads through: each one that is open costs a file descriptor."""


class FileLimits(NamedTuple):
    """What one call of a file tool may take at most; what is beyond is refused or left out, in words."""

    text_bytes: int = 10_000_000
    """The largest file that is read, searched, edited or written."""
    copy_bytes: int = 100_000_000
    """The most that one copy writes."""
    entries: int = 20_000
    """The most files and folders that one call looks at."""
    listed: int = 500
    """The most names that one call shows."""
    matches: int = 200
    """The most lines that one search shows."""
    line_characters: int = 2_000
    """Where a longer line is cut when it is shown."""
    shown_characters: int = 40_000
    """The most text of a file that one call shows."""
    seconds: float = 10.0
    """The longest that a find or a search looks, or that a change waits for another one."""

    def checked(self) -> "FileLimits":
        """These limits, if each is more than nothing."""
        for name, value in self._asdict().items():
            if not value > 0:
                raise InvalidLimit(f"the limit {name} is more than 0, not {value}")
        return self
