"""Random histories: parallel, pending and interrupted calls, media, reasoning, late items, edits of edits.

Hypothesis draws numbers; an `Author` turns them into items for the transcript. Most items are valid.
"""

from contextlib import suppress
from typing import Any

from hypothesis import strategies as st

from quire.errors import QuireError
from quire.items import (
    Audio,
    ConfigChange,
    Distrust,
    File,
    Handoff,
    Hide,
    Image,
    Item,
    Mask,
    Message,
    Note,
    Opaque,
    Pin,
    Reasoning,
    Span,
    Summary,
    ToolCall,
    ToolResult,
    Undo,
)
from quire.state import Transcript
from quire.testing.plain import PlainTranscript

CONTENT_OPS = 11
EDIT_OPS = 6
OPS = st.lists(
    st.tuples(
        st.integers(0, CONTENT_OPS + EDIT_OPS - 1), st.integers(0, 63), st.integers(0, 63), st.integers(0, 40)
    ),
    max_size=40,
)
Op = tuple[int, int, int, int]
"""The code of a kind of item, two numbers that choose its fields, and one that may date it back."""


class Author:
    """Makes the next item of a random history."""

    def __init__(self, prefix: str = "i") -> None:
        self._prefix = prefix
        self._count = 0

    def next_id(self, disorder: int) -> str:
        """An id; most ids rise."""
        self._count += 1
        letter = "a" if disorder % 7 == 0 else "m"
        return f"{letter}{self._prefix}{self._count:05d}"

    def item(self, transcript: Transcript, op: Op) -> Item | None:
        """The item of an operation, or None if it has none here."""
        code, a, b, lateness = op
        at = self._count + 50.0 - (lateness if lateness > 34 else 0)
        if code < CONTENT_OPS:
            return self._content(transcript, code, a, b, at)
        return self._edit(transcript, code - CONTENT_OPS, a, b, at)

    def _content(self, transcript: Transcript, code: int, a: int, b: int, at: float) -> Item:
        item_id, agent = self.next_id(a), (None, None, None, "helper")[b % 4]
        reply = (None, None, "r1", "r2")[a // 8 % 4]
        pending = transcript.view.pending()
        if code in (7, 8) and pending:
            call = pending[a % len(pending)]
            picture = (f"result {a}", Image(url="https://example.com/a.png", width=10, height=20))
            content = picture if b % 5 == 0 else f"result {a}"
            return ToolResult(call.call_id, call.name, content, b % 3 == 0, id=item_id, created_at=at)
        fields: dict[str, Any] = {"id": item_id, "created_at": at, "agent_id": agent, "reply_id": reply}
        new_call = ToolCall(f"c{a % 8}", f"tool{b % 3}", "{}", **fields)
        media = (f"look {a}", Audio(data=b"\0" * (1 + b)), File(url="file:///a.pdf", name="a.pdf"))
        items: list[Item] = [
            Message("user", f"question {a}", id=item_id, created_at=at),
            Message("assistant", f"answer {a}", b % 4 == 0, **fields),
            Reasoning(f"thought {a}", Opaque("p", "m", "x"), **fields),
            *[new_call] * 3,
            Message("user", media, id=item_id, created_at=at),
            ToolResult(f"orphan{a}", "tool", "out of nowhere", id=item_id, created_at=at),
            Message("system" if a % 2 else "developer", f"rule {a}", id=item_id, created_at=at),
            ConfigChange(f"be {a}", ("tool1",), id=item_id, created_at=at),
            Note({"n": a}, id=item_id, created_at=at) if a % 2 else Handoff("b", id=item_id, created_at=at),
        ]
        return items[code]

    def _edit(self, transcript: Transcript, code: int, a: int, b: int, at: float) -> Item | None:
        recorded = transcript.recorded()
        if not recorded:
            return None
        item_id = self.next_id(a)
        first, last = sorted((a % len(recorded), b % len(recorded)))
        target = recorded[a % len(recorded)]
        edits = [item for item in recorded if isinstance(item, Hide | Summary | Mask | Pin | Distrust | Undo)]
        match code:
            case 0:
                return Hide((Span(recorded[first].id, recorded[last].id),), id=item_id, created_at=at)
            case 1 | 2:
                folded = [item for item in transcript.view if isinstance(item, Summary) and item.spans]
                spans: tuple[Span, ...] = (Span(recorded[first].id, recorded[last].id),)
                if b % 3:
                    spans += tuple(span for item in folded for span in (Span(item.id, item.id), *item.spans))
                return Summary(f"gist {a}", spans, id=item_id, created_at=at)
            case 3:
                return Mask(target.id, "[cleared]", id=item_id, created_at=at)
            case 4:
                kind = Pin if b % 2 else Distrust
                return kind(target.id, id=item_id, created_at=at)
            case _:
                edit = edits[b % len(edits)] if edits else target
                return Undo(edit.id, id=item_id, created_at=at)


def apply_ops(
    ops: list[Op], transcript: Transcript, author: Author, plain: PlainTranscript | None = None
) -> Transcript:
    """Apply operations to a transcript, and to its plain counterpart if there is one."""
    for op in ops:
        item = author.item(transcript, op)
        with suppress(QuireError):
            if item is not None:
                transcript.append(item)
                if plain is not None:
                    plain.append(item)
    return transcript
