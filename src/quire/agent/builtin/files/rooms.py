"""Which folder below the root somebody's files are in: everybody's, an agent's, a scope's, a conversation's.

Rooms are beside each other, never one within another, so that who sees the files of all does not see those
of one conversation. Names are anybody's text: what is not a small letter, a digit, a dash or an underscore is
escaped byte by byte, so that two names never share a folder, also where a file system takes no notice of
case or of the ways to write one character.
"""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Literal, get_args

from quire.agent.builtin.files.opening import FOLDER, OWNER_ALONE, open_folder, telling
from quire.errors import InvalidValue, QuireError, WrongType
from quire.session import Session

Visibility = Literal["all", "agent", "scope", "conversation"]
"""Who shares files with whom."""

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_")
_LONGEST = 200
_KEPT_OF_LONG = 100
_PAUSE = 0.01
_CALLED = "the folder of the file tools"  # its place on the disk is nobody's business


class Rooms:
    """The rooms of one root, for one agent: `opened` gives the one that a session's files are in."""

    def __init__(self, root: str | Path, visibility: Visibility, agent: str = "") -> None:
        if visibility not in get_args(Visibility):
            raise InvalidValue(f"visibility is one of {', '.join(get_args(Visibility))}")
        if visibility == "agent" and not agent:
            raise InvalidValue('visibility="agent" needs the name of the agent')
        self._root = os.path.realpath(root)  # a link to the root, or above it, is the owner's own wish
        self._visibility = visibility
        self._agent = agent

    @contextmanager
    def opened(self, session: Session | None) -> Generator[int]:
        """The room as a file descriptor; it is made where it is not there yet."""
        names = self._names(session)
        with telling(_CALLED):
            os.makedirs(self._root, OWNER_ALONE, exist_ok=True)
            root = os.open(self._root, FOLDER)
        try:
            with open_folder(root, names, make=True, called=_CALLED) as room:
                yield room
        finally:
            os.close(root)

    @contextmanager
    def changing(self, session: Session | None, seconds: float) -> Generator[int]:
        """The room, and nobody else changes anything in it: an edit reads before it writes."""
        with self.opened(session) as room:
            _wait_for_turn(room, seconds)
            yield room  # closing gives the lock back

    def _names(self, session: Session | None) -> tuple[str, ...]:
        if self._visibility == "all":
            return ("all",)
        if self._visibility == "agent":
            return "agent", folder_name(self._agent)
        if session is None:
            raise InvalidValue(f"files of a {self._visibility} need a session, and there is none")
        place = session.place
        names = (place.scope,) if self._visibility == "scope" else (place.scope, place.conversation)
        return self._visibility, *map(folder_name, (self._agent, *names))


def folder_name(name: str) -> str:
    """The folder of a name: another one for each name, and never one that leads anywhere else."""
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a name is a text, not {type(name).__name__}")
    data = name.encode("utf-8", "surrogatepass")
    escaped = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in data) or "%"
    if len(escaped) <= _LONGEST:
        return escaped
    return f"{escaped[:_KEPT_OF_LONG]}%%{sha256(data).hexdigest()}"  # no escape has two percent signs


def _wait_for_turn(room: int, seconds: float) -> None:
    # Not a lock that waits for ever: another process may hold it, and a tool must come back.
    until = time.monotonic() + seconds
    while True:
        try:
            return fcntl.flock(room, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise QuireError(
                    f"others have been changing these files for {seconds:g} s: try again"
                ) from None
            time.sleep(_PAUSE)
