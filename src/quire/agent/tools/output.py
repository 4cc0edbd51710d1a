"""What a call of a tool gives: text and media for the model, and notes to be kept.

Output that is too long for the model is shown by its beginning and its end; all of it goes into notes.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from quire.compactors import handle_for
from quire.errors import Conflict, StoreError, cut
from quire.items import MAX_TEXT, Audio, Content, File, Image, Note, Part, new_id, replace_surrogates
from quire.session import Session

StopReason = Literal["completed", "error", "timeout", "refused", "cancelled"]

Room = Callable[[str, int], int]
"""How many characters of a text there is room for, of so many at most."""

Piece = Part | Note | bytes

MAX_OUTPUT = 50_000
"""Characters of output that a model is shown, unless a tool sets its own limit."""

MAX_GATHERED = 128 * 1024 * 1024
"""Characters that one call may give; a tool that goes on for ever is stopped there."""

DONE = "Done."
"""What a model reads of a tool that returned nothing."""

_LONGEST_FAULT = 2_000
_SEPARATE = (Image, Audio, File, Note)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one call of a tool.

    The model reads `content`. The caller keeps `notes`: those with a key in the pool, others in the
    transcript. `value` is what the function returned (None for generators), `error` what it raised,
    `has_begun` whether it was called.
    """

    content: Content
    is_error: bool = False
    stop_reason: StopReason = "completed"
    notes: tuple[Note, ...] = ()
    value: Any = None
    error: BaseException | None = None
    has_begun: bool = False


def failed(words: str, stop_reason: StopReason = "error") -> Outcome:
    """The outcome of a call that was not begun."""
    return Outcome(content=words, is_error=True, stop_reason=stop_reason)


class Allowance(NamedTuple):
    """How many characters of a call's output a model is shown, if there is room for them.

    A tool with a parameter of this type should return no more than that, and say how to read on. Of longer
    output of other tools, the beginning and the end are shown.
    """

    most: int
    room: Room | None = None

    def characters(self, text: str) -> int:
        """How many characters of a text are shown, its beginning and its end together."""
        return min(self.most, len(text)) if self.room is None else self.room(text, self.most)

    def holds(self, text: str) -> bool:
        """Whether all of a text is shown."""
        return self.characters(text) >= len(text)


def ends(text: str, most: int) -> tuple[str, str]:
    """The beginning and the end of a text, so many characters together; two thirds are the beginning."""
    ending = most // 3
    return text[: most - ending], text[len(text) - ending :]


def shortened(text: str, most: int, about: str) -> tuple[str, list[Note]]:
    """A text as a model is shown it, and notes that hold the whole where that is not all of it."""
    if len(text) <= most:
        return text, []
    notes = _notes_with(text, about)
    beginning, ending = ends(text, most)
    left_out = f"{len(text) - most:,} characters are left out here"
    return f"{beginning}\n[{left_out}: all {len(text):,} are kept as {_handles(notes)}]\n{ending}", notes


def given_now(note: Note) -> Note:
    """A note without a key under a new id: a tool may give the same note twice, and both are recorded."""
    return replace(note, id=new_id())


class ToolOutputError(Exception):
    """An error of the output, not of the tool: its text is for the model as it is."""


class Output:
    """What one call has given so far. A plain tool adds to it from its thread.

    Notes that a generator yields are kept in the session at once; all others are left to the caller, to be
    kept with the result.
    """

    def __init__(self, name: str, session: Session | None, allowance: Allowance) -> None:
        self._name = name
        self._session = session
        self._allowance = allowance
        self._loop = asyncio.get_running_loop()
        self._parts: list[Part] = []
        self._size = 0
        self._notes: list[Note] = []
        self.is_closed = False
        """Whether nobody reads further output."""
        self.store_error: BaseException | None = None
        """Why notes cannot be kept, where that is no fault of the tool."""

    def add_returned(self, value: Any) -> None:
        """Add what a function returned."""
        for piece in _pieces(value):
            if isinstance(piece, Note):
                self._notes.append(piece)
            self._add(piece)

    async def add_yielded(self, value: Any) -> None:
        """Add what a generator yielded."""
        for piece in _pieces(value):
            if isinstance(piece, Note):
                await self._keep(piece)
            self._add(piece)

    def add_from_thread(self, value: Any) -> None:
        """Add what a plain generator yielded in its thread, and wait until its notes are kept."""
        for piece in _pieces(value):
            if isinstance(piece, Note):
                keeping = asyncio.run_coroutine_threadsafe(self._keep(piece), self._loop)
                while not self.is_closed:
                    try:
                        keeping.result(1)
                        break
                    except TimeoutError:
                        if keeping.done():
                            raise
            self._add(piece)

    def outcome(self, stop_reason: StopReason, words: str | None, **facts: Any) -> Outcome:
        """The outcome, with words on what went wrong."""
        content = self._content(words)  # which may add notes
        return Outcome(
            content=content,
            is_error=words is not None,
            stop_reason=stop_reason,
            notes=tuple(self._notes),
            **facts,
        )

    def _add(self, piece: Piece) -> None:
        if isinstance(piece, Note):
            part: Part = _line_of(piece)
        elif isinstance(piece, bytes):
            notes = _notes_with(piece, f"output of {self._name}")
            self._notes += notes
            part = f"[{len(piece):,} bytes that are no text, kept as {_handles(notes)}]"
        else:
            part = piece
        self._parts.append(part)
        if isinstance(part, str):
            self._size += len(part) + 1
            if self._size > MAX_GATHERED:
                raise ToolOutputError(f"it gave more than {MAX_GATHERED:,} characters and was stopped there")

    async def _keep(self, note: Note) -> None:
        if self._session is None:
            self._notes.append(note)
            return
        try:
            if note.key is None:
                await self._session.aio.append(given_now(note))
            else:
                await self._session.aio.pool.keep(note)
        except (StoreError, Conflict) as fault:
            self.store_error = fault
            raise
        except Exception as fault:
            raise ToolOutputError(f"a note was not kept: {type(fault).__name__}: {fault}") from None

    def _content(self, words: str | None) -> Content:
        parts = list(self._parts)
        media = [part for part in parts if not isinstance(part, str)]
        texts = [part for part in parts if isinstance(part, str)]
        ending = [self._capped(words, _LONGEST_FAULT, f"error of {self._name}")] if words else []
        whole = "\n".join(texts)
        if not self._allowance.holds(whole):
            text = self._capped(whole, self._allowance.characters(whole), f"output of {self._name}")
            return (text, *media, *ending) if media else "\n".join([text, *ending])
        if media:
            return _joined([*parts, *ending])
        return "\n".join([*texts, *ending]) if texts or ending else DONE

    def _capped(self, text: str, most: int, about: str) -> str:
        """A text as the model is shown it; where that is not all of it, notes hold the whole."""
        shown, notes = shortened(text, most, about)
        self._notes += notes
        return shown


def _pieces(value: Any) -> Iterator[Piece]:
    """The pieces of a value: texts, media, notes, and bytes that are no text. `None` has none."""
    if value is None:
        return
    if isinstance(value, _SEPARATE):
        yield value
    elif isinstance(value, bytes | bytearray | memoryview):
        data = bytes(cast(bytes, value))
        try:
            yield data.decode()
        except UnicodeDecodeError:
            yield data
    elif isinstance(value, list | tuple) and any(
        isinstance(one, _SEPARATE) for one in cast("list[Any]", value)
    ):
        for one in cast("list[Any]", value):
            yield from _pieces(one)
    else:
        try:
            yield replace_surrogates(_text_of(value))
        except Exception as fault:  # a value may have code of its own for this
            raise ToolOutputError(
                f"It ran, but what it returned has no text: {type(fault).__name__}: {fault}"
            ) from None


def _text_of(value: Any) -> str:
    """A value as text: itself, JSON, or its own `str`."""
    try:
        built = msgspec.to_builtins(value, str_keys=True, enc_hook=_encode)
        return built if isinstance(built, str) else json.dumps(built, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError, OverflowError):
        return str(value)


def _encode(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) and not isinstance(value, type) else str(value)


def _notes_with(content: str | bytes, about: str) -> list[Note]:
    """Notes that hold a text or bytes; the first has the plain handle as its key."""
    handle = handle_for(new_id())
    unit = "characters" if isinstance(content, str) else "bytes"
    pieces = [content[start : start + MAX_TEXT] for start in range(0, len(content), MAX_TEXT)]
    notes: list[Note] = []
    for number, piece in enumerate(pieces, 1):
        key = handle if number == 1 else f"{handle}-{number}"
        part = f", part {number} of {len(pieces)}" if len(pieces) > 1 else ""
        notes.append(Note(piece, key=key, description=f"{cut(about)}, {len(content):,} {unit}{part}"))
    return notes


def _handles(notes: Iterable[Note]) -> str:
    return ", then ".join(str(note.key) for note in notes)


def _line_of(note: Note) -> str:
    description = " ".join((note.description or "").split())
    about = f": {description}" if description else ""
    return f"[noted{about}]" if note.key is None else f"[kept as {cut(note.key)}{about}]"


def _joined(parts: list[Part]) -> tuple[Part, ...]:
    """Parts in order, with neighbouring texts as one."""
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(last := joined[-1], str):
            joined[-1] = f"{last}\n{part}"
        else:
            joined.append(part)
    return tuple(part for part in joined if part != "")
