"""What a call gives, gathered as it comes: words and media for the model, notes for where they belong."""

from collections.abc import Awaitable, Callable, Iterable

from msgspec.structs import replace

from quire.agent.tools.capping import Room, capped, kept
from quire.agent.tools.outputs import Piece
from quire.errors import Conflict, StoreError, cut
from quire.items import Content, Note, Part, new_id
from quire.session import Session

Route = Callable[[Note], Awaitable[object]]
"""Keeps a note where it belongs, and may give what it kept of it, if that is another note."""

DONE = "Done."
"""What a model reads of a tool that gave nothing."""

MAX_GATHERED = 128 * 1024 * 1024
"""Characters that one call may give; a tool that goes on and on is stopped there."""

_LONGEST_FAULT = 2_000


class TooMuch(Exception):
    """A tool gave more than anybody keeps."""


class NotKept(Exception):
    """A note of a tool was refused where it was to be kept."""


class NotTold(Exception):
    """A tool gave what cannot be put into words, by what is the cause."""


class Gathering:
    """What one call has given so far."""

    def __init__(self, about: str, route: Route | None, room: Room | None = None) -> None:
        self._about = about
        self._route = route
        self._room = room
        self._parts: list[Part] = []
        self._size = 0
        self.notes: list[Note] = []
        self.routed: list[Note] = []
        self.broken: BaseException | None = None
        """Why notes cannot be kept at all, where the reason is no fault of the tool's."""

    async def take(self, pieces: Iterable[Piece], *, at_once: bool) -> None:
        """Take pieces in; notes are kept `at_once` where there is a way to, or else left to the caller."""
        for piece in pieces:
            if isinstance(piece, Note):
                await self._take_note(piece, at_once)
                self._add(_line(piece))
            elif isinstance(piece, bytes):
                notes = kept(piece, f"output of {self._about}")
                self.notes += notes
                handles = ", then ".join(str(note.key) for note in notes)
                self._add(f"[{len(piece):,} bytes that are no text, kept as {handles}]")
            else:
                self._add(piece)

    def content(self, most: int, fault: str | None = None) -> Content:
        """What the model reads: of words no more than so many characters, and then what went wrong."""
        texts = [part for part in self._parts if isinstance(part, str)]
        media = [part for part in self._parts if not isinstance(part, str)]
        told, notes = capped(fault or "", _LONGEST_FAULT, f"error of {self._about}")
        self.notes += notes
        ending = [told] if told else []
        whole = "\n".join(texts)
        if self._room is not None:
            most = self._room(whole, most)
        if len(whole) > most:
            text, notes = capped(whole, most, f"output of {self._about}")
            self.notes += notes
            return (text, *media, *ending) if media else "\n".join([text, *ending])
        if media:
            return _joined([*self._parts, *ending])
        return "\n".join([*texts, *ending]) if texts or ending else DONE

    def _add(self, part: Part) -> None:
        self._parts.append(part)
        if isinstance(part, str):
            self._size += len(part) + 1
            if self._size > MAX_GATHERED:
                raise TooMuch(f"it gave more than {MAX_GATHERED:,} characters and was stopped there")

    async def _take_note(self, note: Note, at_once: bool) -> None:
        if self._route is None or not at_once:
            self.notes.append(note)
            return
        try:
            kept = await self._route(note)
        except (StoreError, Conflict) as fault:
            self.broken = fault
            raise
        except Exception as fault:
            raise NotKept(f"a note was not kept: {type(fault).__name__}: {fault}") from None
        self.routed.append(kept if isinstance(kept, Note) else note)


def route_of(session: Session) -> Route:
    """How a session keeps notes: those with a key in its pool, others in its transcript."""

    async def route(note: Note) -> Note:
        if note.key is not None:
            await session.aio.pool.keep(note)
            return note
        given = given_now(note)
        await session.aio.append(given)
        return given

    return route


def given_now(note: Note) -> Note:
    """A note without a key as what is given now: a tool may give the same again, such as one it has cached.

    A transcript has it each time that it was given. In a pool a note takes its own place again.
    """
    return replace(note, id=new_id())


def _line(note: Note) -> str:
    said = " ".join((note.description or "").split())
    if note.key is None:
        return f"[noted{': ' + said if said else ''}]"
    return f"[kept as {cut(note.key)}{': ' + said if said else ''}]"


def _joined(parts: list[Part]) -> tuple[Part, ...]:
    """Parts in order, with texts that follow each other as one."""
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(last := joined[-1], str):
            joined[-1] = f"{last}\n{part}"
        else:
            joined.append(part)
    return tuple(part for part in joined if part != "")
