"""Paths as a model writes them, taken apart into names; and names as a model may read them.

A path is names with slashes between them, below the folder of the tools. What could mean another place to
some file system is refused here, by its look; that no link leads anywhere is seen to where files are opened.
Names that are others elsewhere (a dot or a space at the end) are refused, not mended: what the model asked
for is what is done.
"""

import unicodedata
from collections.abc import Sequence

from quire.agent.builtin.files.limits import MAX_DEPTH
from quire.errors import InvalidValue, TooLarge, WrongType, cut

_MAX_PATH = 4_000
_MAX_NAME = 255
_UNSEEN = ("Cc", "Cs", "Zl", "Zp")  # controls, halves of characters, ends of lines and paragraphs


def names_in(path: str) -> tuple[str, ...]:
    """The names that a path is made of; none for the folder of the tools itself."""
    if not isinstance(path, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a path is a text, not {type(path).__name__}")
    if len(path) > _MAX_PATH:
        raise TooLarge(f"the path has {len(path):,} characters; {_MAX_PATH:,} are the most")
    if path.startswith("/"):
        raise InvalidValue(f"{shown(path)} begins with a slash: paths are relative, such as notes/plan.md")
    if path == "~" or path.startswith("~/"):
        raise InvalidValue(f"{shown(path)}: there is no home folder here; paths are such as notes/plan.md")
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    if len(names) > MAX_DEPTH:
        raise TooLarge(f"the path leads through {len(names)} folders; {MAX_DEPTH} are the most")
    for name in names:
        _check(name)
    return names


def file_names_in(path: str) -> tuple[tuple[str, ...], str]:
    """The folders that lead to a file or folder, and its own name."""
    names = names_in(path)
    if not names:
        raise InvalidValue("a path to a file is needed, such as notes/plan.md")
    return names[:-1], names[-1]


def shown(path: str | Sequence[str]) -> str:
    """A path as it stands in an answer: on one line, without what nobody sees, cut where it is long."""
    text = path if isinstance(path, str) else "/".join(path)
    return cut(visible(text)) or "the folder"


def visible(text: str) -> str:
    """A name on one line, with escapes for what cannot be shown or sent."""
    return "".join(one.encode("unicode_escape").decode() if _is_unseen(one) else one for one in text)


def counted(number: int, noun: str) -> str:
    """How many of something, in words."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _check(name: str) -> None:
    alike = unicodedata.normalize("NFKC", name)
    if ".." in (name, alike.strip()):
        raise InvalidValue("a path never goes up: .. is not a name here")
    if any(map(_is_unseen, name)):
        raise InvalidValue(f"{shown(name)} has control characters in its name")
    if "\\" in name:
        raise InvalidValue(f"{shown(name)} has a backslash: folders are parted by / here")
    if "/" in alike or "\\" in alike or not alike.strip(". "):
        raise InvalidValue(f"{shown(name)} has signs that look like dots or slashes of a path")
    if name[-1] in ". ":
        raise InvalidValue(f"{shown(name)} ends with a dot or a space: it would be another name elsewhere")
    if len(name.encode()) > _MAX_NAME:
        raise TooLarge(f"the name {shown(name)} has more than {_MAX_NAME} bytes")


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in _UNSEEN
