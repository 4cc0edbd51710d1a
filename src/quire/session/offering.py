"""What a call gave: hooks are asked about all of it before any is written, and its notes are pooled at once.

Who takes back what he wrote would have to forget it, and all that says the same with it.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from quire.items import Item, Note, ToolCall, ToolResult
from quire.session.events import Adding, Event
from quire.session.recording import Recording
from quire.stores.streams import MAIN

Instead = Callable[[ToolResult, Exception], ToolResult]
"""Gives what is recorded in place of a result: a hook refuses it, and this is why, or it is `Unkept`."""


class Unkept(Exception):
    """Why the record does not take a result, or what came with it, though nobody refuses it."""


def raised(_: ToolResult, fault: Exception) -> ToolResult:
    """Nothing is recorded in place of a result: that it was refused is an error."""
    raise fault


class Offering(Recording):
    """The verb for all that came of a call."""

    async def offer(
        self,
        result: ToolResult,
        *others: Item,
        pooled: Sequence[Note] = (),
        given_by: ToolCall | None = None,
        to: str | None = MAIN,
        instead: Instead = raised,
    ) -> ToolResult:
        """Let hooks hear of all that a call gave before any of it is written, and pool the notes of it.

        `to` names the transcript that the result and others are for, if they are for one: who records them
        next asks nobody again. `pooled` are the notes for the pool, `given_by` a call (see `keep`). Hooks
        hear of what gives way to them too, and all of them are written at once. Gives the result, or what
        `instead` gives for it where hooks refuse any of this: then nothing was written.
        """
        try:
            with _refusals():
                notes = [self._ready_note(note) for note in pooled]
                ready = () if to is None else self._ready([result, *others])
                if self.hooks and to is not None:
                    await self.hooks.fire_and_wait(Adding(self.place, to, ready))
            if notes:
                await self._put_all(notes, given_by, self._asked)
        except _Refused as refused:
            result, others = instead(result, refused.fault), ()
        if self.hooks and to is not None:
            self._allowed.update(item.id for item in (result, *others))
        return result

    async def _asked(self, event: Event) -> None:
        with _refusals():
            await self.hooks.fire_and_wait(event)


class _Refused(Exception):
    """Somebody who was asked refused."""

    def __init__(self, fault: Exception) -> None:
        super().__init__(fault)
        self.fault = fault


@contextmanager
def _refusals() -> Generator[None, None, None]:
    """Tell what is raised by who is asked from what a store raises: hooks may raise anything."""
    try:
        yield
    except Exception as fault:
        raise _Refused(fault) from fault
