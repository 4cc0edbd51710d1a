"""Long outputs that are kept in a pool, and what is shown in their place and names them by a handle."""

import re
from collections.abc import Iterable

from quire.compactors.offloading import HANDLE, HANDLE_DIGITS
from quire.items import Item, Mask, Note, ToolResult
from quire.session.workspace import Workspace
from quire.state import Pool

# Of an output that is in several notes, the handle of the first is what the others' begin with.
_PLAIN_HANDLE = re.compile(f"{re.escape(HANDLE)}[0-9a-f]{{{HANDLE_DIGITS}}}")


def is_output(note: Note) -> bool:
    """Whether a note holds a long output, or a part of one."""
    return _handle_of(note) is not None


def outputs_named(merged: Iterable[Item], theirs: Pool, ours: Pool) -> list[Note]:
    """The long outputs in a fork's pool that something merged names by a handle, and that are not here."""
    named = _named_in(merged)
    return [note for note in theirs if _handle_of(note) in named and note.key not in ours]


def bounded_notes(workspace: Workspace) -> list[Note]:
    """The notes of a pool that a limit is for: all but the outputs that a model may still ask for.

    That is as long as something shown names them. One that nothing has named yet is on its way: its stub is
    recorded after it.
    """
    notes = list(workspace.pool)
    outputs = {handle for note in notes if (handle := _handle_of(note)) is not None}
    gone = _no_longer_shown(outputs, workspace)
    return [note for note in notes if (handle := _handle_of(note)) is None or handle in gone]


def _no_longer_shown(handles: set[str], workspace: Workspace) -> set[str]:
    """Those of some handles that were shown once, and are not now."""
    left = set(handles)
    for transcript in workspace.transcripts.values():
        left -= _named_in(transcript.view) if left else set()
    known = set[str]()
    for transcript in workspace.transcripts.values():
        known |= _named_in(transcript.recorded()) if left else set()
    return left & known


def _handle_of(note: Note) -> str | None:
    found = _PLAIN_HANDLE.match(note.key or "")
    return None if found is None else found.group()


def _named_in(items: Iterable[Item]) -> set[str]:
    stubs = (
        one.stub if isinstance(one, Mask) else one.text for one in items if isinstance(one, Mask | ToolResult)
    )
    return {handle for stub in stubs for handle in _PLAIN_HANDLE.findall(stub)}
