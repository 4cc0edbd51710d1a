"""What a source may be called."""

from quire.errors import InvalidValue, WrongType

MAX_SOURCE = 4_096
"""The longest name of a source, in characters: that of a path."""


def checked_source(source: str) -> str:
    """The name of a source, if it can be one."""
    if not isinstance(source, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a source is named by a text, not {type(source).__name__}")
    if not 0 < len(source) <= MAX_SOURCE or source != printable(source):
        raise InvalidValue(f"the name of a source has 1 to {MAX_SOURCE:,} printable characters")
    return source


def printable(source: str) -> str:
    """A name as it can be told: what a file system takes for a name need not be text."""
    written = source.encode("utf-8", "replace").decode("utf-8")
    return written if written.isprintable() else ascii(written)[1:-1]
