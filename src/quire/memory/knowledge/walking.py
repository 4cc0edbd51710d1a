"""The files of a folder. Links are not followed: one that leads out could bring in anything."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from quire.errors import InvalidValue, cut
from quire.memory.knowledge.reports import Remark


class Found(msgspec.Struct):
    """The files to read by what they are called, what cannot be read, and which folders are not known.

    All are called after what was named; a link is followed only where it is that itself.
    """

    called: str
    follow_link: bool = False
    files: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    failed: list[Remark] = msgspec.field(default_factory=list[Remark])
    closed: list[str] = msgspec.field(default_factory=list[str])

    def may_hold(self, source: str) -> bool:
        """Whether a source may still be there: it was seen, or stands where nobody could look."""
        seen = source in self.files or any(remark.source == source for remark in self.failed)
        return seen or any(source.startswith(f"{folder}/") for folder in self.closed)


def found_at(path: "str | os.PathLike[str]", name: str | None) -> Found:
    """What is to be read at a path: the file itself, or the files of a folder and of those in it.

    What begins with a dot is left out.
    """
    root = os.path.abspath(path)
    called = root.replace(os.sep, "/") if name is None else name.rstrip("/")
    if os.path.isdir(root):
        return _walk(root, Found(called))
    if not os.path.lexists(root):
        raise InvalidValue(f"there is neither a file nor a folder {cut(os.fspath(path))!r}")
    return Found(called, True, {called: root})


def _walk(root: str, found: Found) -> Found:
    real, called = os.path.realpath(root), found.called

    def cannot_look(fault: OSError) -> None:
        folder = _called(os.fsdecode(fault.filename), root, called)
        found.closed.append(folder)
        found.failed.append(Remark(folder, f"the folder cannot be read: {fault.strerror}"))

    for folder, folders, files in os.walk(root, onerror=cannot_look):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for path in _paths(folder, [*folders, *files]):
            source = _called(path, root, called)
            if os.path.islink(path):
                found.failed += _link(path, source, real)
            elif not os.path.isdir(path):
                found.files[source] = path
    return found


def _paths(folder: str, names: list[str]) -> Iterator[str]:
    yield from (os.path.join(folder, name) for name in sorted(names) if not name.startswith("."))


def _called(path: str, root: str, called: str) -> str:
    within = os.path.relpath(path, root)
    return called if within == os.curdir else f"{called}/{within.replace(os.sep, '/')}"


def _link(path: str, source: str, real: str) -> Iterator[Remark]:
    """What there is to say of a link. What it leads to inside the folder is met by its own name."""
    target = os.path.realpath(path)
    if not os.path.exists(target):
        yield Remark(source, "a link that leads nowhere")
    elif not Path(target).is_relative_to(real):
        yield Remark(source, "a link that leads out of the folder is not followed")
