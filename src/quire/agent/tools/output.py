"""The output of a tool call: text and media for the model, and notes to be kept.

The model sees the beginning and the end of output that is too long; notes hold all of it.
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
"""Returns how many characters of a text fit, at most the number that it is called with."""

OutputPart = Part | Note | bytes

MAX_OUTPUT = 50_000
"""Characters of output that a model is shown, unless a tool sets its own limit."""

MAX_COLLECTED = 128 * 1024 * 1024
"""Characters that one call may return or yield; an endless tool is stopped there."""

DONE = "Done."
"""The text for a model when a tool returned nothing."""

_MAX_ERROR = 2_000
_NOT_TEXT = (Image, Audio, File, Note)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one tool call.

    The model reads `content`. The caller stores `notes`: those with a key in the pool, others in the
    transcript. `value` is the function's return value (None for generators), `error` the exception that it
    raised; `has_begun` says whether it was called.
    """

    content: Content
    is_error: bool = False
    stop_reason: StopReason = "completed"
    notes: tuple[Note, ...] = ()
    value: Any = None
    error: BaseException | None = None
    has_begun: bool = False


def failed(words: str, stop_reason: StopReason = "error") -> Outcome:
    """The outcome of a call that did not begin."""
    return Outcome(content=words, is_error=True, stop_reason=stop_reason)


class Allowance(NamedTuple):
    """How many characters of a call's output a model is shown: `limit`, or less where there is less room.

    A tool with a parameter of this type should return no more, and say how to read on. Longer output of other
    tools is shown by its beginning and its end.
    """

    limit: int
    room: Room | None = None

    def characters(self, text: str) -> int:
        """How many characters of a text are shown."""
        return min(self.limit, len(text)) if self.room is None else self.room(text, self.limit)

    def holds(self, text: str) -> bool:
        return self.characters(text) >= len(text)


def ends(text: str, limit: int) -> tuple[str, str]:
    """The beginning and the end of a text, `limit` characters together; two thirds are the beginning."""
    ending = limit // 3
    return text[: limit - ending], text[len(text) - ending :]


def shortened(text: str, limit: int, about: str) -> tuple[str, list[Note]]:
    """The text to show a model, and notes that hold all of it if it was shortened."""
    if len(text) <= limit:
        return text, []
    notes = _notes_holding(text, about)
    beginning, ending = ends(text, limit)
    left_out = f"{len(text) - limit:,} characters are left out here"
    return f"{beginning}\n[{left_out}: all {len(text):,} are kept as {_handles(notes)}]\n{ending}", notes


def with_new_id(note: Note) -> Note:
    """A copy of a note under a new id: a tool may return the same note twice, and both are recorded."""
    return replace(note, id=new_id())


class ToolOutputError(Exception):
    """An error of the output, not of the tool: the model reads its text unchanged."""


class Output:
    """The output of one call so far. A plain tool adds to it from its thread.

    Notes that a generator yields are stored in the session at once; the caller stores the others with the
    result.
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
        """Whether further output is ignored."""
        self.store_error: BaseException | None = None
        """An error of the store, which is not the tool's fault."""

    def add_returned(self, value: Any) -> None:
        for part in _parts_of(value):
            if isinstance(part, Note):
                self._notes.append(part)
            self._add(part)

    async def add_yielded(self, value: Any) -> None:
        """Add a value that a generator yielded."""
        for part in _parts_of(value):
            if isinstance(part, Note):
                await self._store_note(part)
            self._add(part)

    def add_from_thread(self, value: Any) -> None:
        """Add a value that a plain generator yielded in its thread, and wait until its notes are stored."""
        for part in _parts_of(value):
            if isinstance(part, Note):
                storing = asyncio.run_coroutine_threadsafe(self._store_note(part), self._loop)
                while not self.is_closed:
                    try:
                        storing.result(1)
                        break
                    except TimeoutError:
                        if storing.done():
                            raise
            self._add(part)

    def outcome(self, stop_reason: StopReason, words: str | None, **facts: Any) -> Outcome:
        """The outcome; `words` say what went wrong."""
        content = self._content(words)  # may add notes
        return Outcome(
            content=content,
            is_error=words is not None,
            stop_reason=stop_reason,
            notes=tuple(self._notes),
            **facts,
        )

    def _add(self, output: OutputPart) -> None:
        if isinstance(output, Note):
            part: Part = _line_of(output)
        elif isinstance(output, bytes):
            notes = _notes_holding(output, f"output of {self._name}")
            self._notes += notes
            part = f"[{len(output):,} bytes that are not text, kept as {_handles(notes)}]"
        else:
            part = output
        self._parts.append(part)
        if isinstance(part, str):
            self._size += len(part) + 1
            if self._size > MAX_COLLECTED:
                raise ToolOutputError(f"it returned more than {MAX_COLLECTED:,} characters and was stopped")

    async def _store_note(self, note: Note) -> None:
        if self._session is None:
            self._notes.append(note)
            return
        try:
            if note.key is None:
                await self._session.aio.append(with_new_id(note))
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
        ending = [self._shorten(words, _MAX_ERROR, f"error of {self._name}")] if words else []
        whole = "\n".join(texts)
        if not self._allowance.holds(whole):
            text = self._shorten(whole, self._allowance.characters(whole), f"output of {self._name}")
            return (text, *media, *ending) if media else "\n".join([text, *ending])
        if media:
            return _joined([*parts, *ending])
        return "\n".join([*texts, *ending]) if texts or ending else DONE

    def _shorten(self, text: str, limit: int, about: str) -> str:
        """The text to show the model; notes hold all of it if it was shortened."""
        shown, notes = shortened(text, limit, about)
        self._notes += notes
        return shown


def _parts_of(value: Any) -> Iterator[OutputPart]:
    """The parts of a value: texts, media, notes, and bytes that are not text. `None` has none."""
    if value is None:
        return
    if isinstance(value, _NOT_TEXT):
        yield value
    elif isinstance(value, bytes | bytearray | memoryview):
        data = bytes(cast(bytes, value))
        try:
            yield data.decode()
        except UnicodeDecodeError:
            yield data
    elif isinstance(value, list | tuple) and any(
        isinstance(inner, _NOT_TEXT) for inner in cast("list[Any]", value)
    ):
        for inner in cast("list[Any]", value):
            yield from _parts_of(inner)
    else:
        try:
            yield replace_surrogates(_text_of(value))
        except Exception as fault:  # the value's own code may fail
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


def _notes_holding(content: str | bytes, about: str) -> list[Note]:
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
