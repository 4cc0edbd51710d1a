"""What is said to a model in place of what has no words, or around what is not the user's own.

It is here because it takes tokens too. All of it is constant, so that the same items stay the same bytes.
"""

from typing import Any

import msgspec

from quire.items import Note

NO_OUTPUT = "(no output)"
FAILED = "Error: "


def in_file(name: str | None, text: str) -> str:
    """The text of a file, told from that of another by its name on a line before it."""
    line = " ".join((name or "").split())
    return f"[{line}]\n{text}" if line and text else text


def summarized(text: str) -> str:
    """A summary, told from what somebody said."""
    return f"<summary>\n{text}\n</summary>"


def noted(note: Note) -> str:
    """A note with its heading."""
    heading = " ".join(filter(None, (note.key, note.description)))
    content = note_text(note.content)
    return f"<note>\n{heading}\n{content}\n</note>" if heading else f"<note>\n{content}\n</note>"


def note_text(content: Any) -> str:
    """The content of a note as text: JSON where it is none."""
    if content is None or isinstance(content, str):
        return content or ""
    try:
        return msgspec.json.encode(content, enc_hook=repr).decode()
    except (TypeError, ValueError, RecursionError):
        return repr(content)
