"""Histories that go on in forks, while the parents they share their segments with go elsewhere."""

import contextlib

from quire.errors import EditRefused, QuireError
from quire.items import (
    ConfigChange,
    Hide,
    Item,
    Mask,
    Message,
    Note,
    Pin,
    Span,
    Summary,
    ToolCall,
    ToolResult,
)
from quire.state import Transcript
from quire.testing.histories import Author, Op
from quire.testing.plain import PlainTranscript


def handed_on(transcript: Transcript, plain: PlainTranscript, op: Op) -> Transcript:
    """A fork that has written something, its parent gone astray; now and then, mostly where no call waits."""
    if op[1] % (3 if not transcript.view.pending() else 9):
        return transcript
    child = transcript.fork()
    for closing in child.recorded(since=len(plain.log)):
        plain.append(closing)
    if op[2] % 2:
        go_astray(transcript, op)
    play_one(child, plain, Note("handed on", id=f"h{len(plain.log):05d}", created_at=60.0))
    if not op[2] % 2:
        go_astray(transcript, op)
    return child


def go_astray(parent: Transcript, op: Op) -> None:
    """Let a parent write everything that its segment records, and fail at the last of it now and then."""
    ids = [f"{'an'[op[3] % 2]}x{len(parent):05d}-{number:02d}" for number in range(9)]
    astray: list[Item | None] = [
        ToolCall("c1", "tool1", id=ids[0]),
        Message("user", "elsewhere", id=ids[1]),
        ToolResult("c1", "tool1", "far", id=ids[2]),
        ConfigChange("be elsewhere", id=ids[3]),
        Message("user", "the last", id=ids[4]),
        *(Mask(ids[1], "[astray]", id=ids[5]), Pin(ids[1], id=ids[6])),
        *(Hide((Span(ids[1], ids[1]),), id=ids[7]), Summary("gist", (Span(ids[1], ids[1]),), id=ids[8])),
    ]
    if op[0] % 2:
        astray.append(None)  # no item at all: the batch fails, and all of it is left behind
    with contextlib.suppress(QuireError):
        parent.extend(astray)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def play(ops: list[Op], transcript: Transcript, plain: PlainTranscript, author: Author) -> Transcript:
    """Record what the operations stand for in both, and give back the transcript that it ended in."""
    for op in ops:
        item = author.item(transcript, op)
        if item is not None:
            play_one(transcript, plain, item)
        transcript = handed_on(transcript, plain, op)
    return transcript


def play_one(transcript: Transcript, plain: PlainTranscript, item: Item) -> None:
    """Record one item in both; a refusal changes nothing."""
    before = list(transcript.view)
    try:
        transcript.append(item)
    except EditRefused:
        assert list(transcript.view) == before
        return
    plain.append(item)


def plain_of(transcript: Transcript) -> PlainTranscript:
    """The oracle of a transcript."""
    plain = PlainTranscript()
    for item in transcript.recorded():
        plain.append(item)
    return plain


def check(transcript: Transcript, plain: PlainTranscript) -> None:
    view = transcript.view
    assert list(view) == plain.shown()
    assert len(view) == len(plain.shown())
    assert list(reversed(view)) == plain.shown()[::-1]
    assert transcript.recorded() == plain.log
    hold_shrinking_laws(plain)


def hold_shrinking_laws(plain: PlainTranscript) -> None:
    shown = {p for p in plain.shown_positions() if p is not None}
    for position in shown:
        assert plain.group(position) <= shown, "a group is shown in part"
    for position in plain.open_calls():
        assert plain.group(position) <= shown, "a call that waits is not shown"
    assert plain.pinned() <= shown
    users = [p for p, item in enumerate(plain.log) if isinstance(item, Message) and item.role == "user"]
    if users:
        assert users[-1] in shown
