"""Output that is too long for a model: its beginning and its end, and all of it in notes with a handle."""

from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

from quire.compactors import handle_for
from quire.errors import cut
from quire.items import MAX_TEXT, Note, new_id

Room = Callable[[str, int], int]
"""How many characters of a text there is room for, of so many at most."""


class Allowance(NamedTuple):
    """How much a model is shown of what one call gives: so many characters, if there is room for them.

    A tool with a parameter of this type is told, so that it gives no more and says how to go on. Of what
    others give beyond that the ends are shown.
    """

    most: int
    room: Room | None = None

    def characters(self, text: str) -> int:
        """How many characters of a text are shown: of its beginning and its end together."""
        return min(self.most, len(text)) if self.room is None else self.room(text, self.most)

    def holds(self, text: str) -> bool:
        """Whether all of a text is shown."""
        return self.characters(text) >= len(text)


def fitted(told: Callable[[int], str], rows: int, allowance: Allowance | None) -> str:
    """What is told of the first of so many rows: of as many as are shown, and of one in any case."""
    whole = told(rows)
    if allowance is None or allowance.holds(whole):
        return whole
    few = bisect_left(range(1, rows), True, key=lambda count: not allowance.holds(told(count)))
    return told(min(max(few, 1), rows))


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
