"""Output that is too long for a model: its beginning and its end, and all of it in notes with a handle."""

from collections.abc import Callable

from quire.compactors.offloading import handle_for
from quire.errors import cut
from quire.items import MAX_TEXT, Note, new_id

Room = Callable[[str, int], int]
"""How many characters of a text there is room for, of so many at most."""


def capped(text: str, most: int, about: str) -> tuple[str, list[Note]]:
    """A text as a model is given it, and the notes that hold all of it where that is not the whole."""
    if len(text) <= most:
        return text, []
    notes = kept(text, about)
    beginning, ending = ends(text, most)
    left_out = len(text) - most
    handles = ", then ".join(str(note.key) for note in notes)
    # Who brings them back is not said: not every agent has a tool for it, and that one tells of itself.
    stub = f"[{left_out:,} characters are left out here: all {len(text):,} are kept as {handles}]"
    return f"{beginning}\n{stub}\n{ending}", notes


def ends(text: str, most: int) -> tuple[str, str]:
    """The beginning and the end of a text: so many characters together, of which two parts in three first."""
    ending = most // 3
    return text[: most - ending], text[len(text) - ending :]


def kept(content: str | bytes, about: str) -> list[Note]:
    """A text, or bytes, in as many notes as it takes; the first has the plain handle."""
    handle = handle_for(new_id())
    unit = "characters" if isinstance(content, str) else "bytes"
    pieces = [content[start : start + MAX_TEXT] for start in range(0, len(content), MAX_TEXT)]
    notes: list[Note] = []
    for number, piece in enumerate(pieces, 1):
        key = handle if number == 1 else f"{handle}-{number}"
        part = f", part {number} of {len(pieces)}" if len(pieces) > 1 else ""
        notes.append(Note(piece, key=key, description=f"{cut(about)}, {len(content):,} {unit}{part}"))
    return notes
