"""What a transcript promises and what it refuses, by example."""

import pytest

from quire.errors import CallPending, DuplicateId, EditRefused, LastUserMessage, SplitsGroup
from quire.items import Hide, Item, Mask, Message, Pin, Reasoning, Span, Summary, ToolCall, ToolResult, Undo
from quire.state import Transcript, view_after


def user(item_id: str, text: str = "hello") -> Message:
    return Message("user", text, id=item_id, created_at=0.0)


def assistant(item_id: str, text: str = "hi") -> Message:
    return Message("assistant", text, id=item_id, created_at=0.0)


def over(first: str, last: str = "") -> tuple[Span, ...]:
    return (Span(first, last or first),)


def shown(transcript: Transcript) -> str:
    """The ids of what is shown, with a star before a stub."""
    items = ((item.id, "*" * (transcript.get(item.id) != item)) for item in transcript.view)
    return " ".join(star + item_id for item_id, star in items)


def a_turn_with_tools() -> Transcript:
    return Transcript(
        [
            user("u1"),
            Reasoning("hm", id="r1", created_at=0.0),
            assistant("a1"),
            ToolCall("c1", "search", id="t1", created_at=0.0),
            ToolCall("c2", "search", id="t2", created_at=0.0),
            ToolResult("c1", "search", "found", id="x1", created_at=0.0),
            ToolResult("c2", "search", "found", id="x2", created_at=0.0),
            assistant("a2"),
            user("u2"),
        ]
    )


def users(count: int) -> Transcript:
    return Transcript(user(f"u{number}") for number in range(count))


Step = tuple[Item, str | type[Exception]]

SCENARIOS: dict[str, tuple[Transcript, list[Step]]] = {
    "an edit that would leave a broken history is refused": (
        a_turn_with_tools(),
        [
            (Hide(over("t1", "x2")), SplitsGroup),
            (Hide(over("x1")), SplitsGroup),
            (Hide(over("u1", "t1")), SplitsGroup),
            (Summary("gist", over("r1")), SplitsGroup),
            (Hide(over("u2")), LastUserMessage),
            (Hide(over("u1", "u2")), LastUserMessage),
            (Mask("u2", "[cleared]"), LastUserMessage),
            (Hide(over("a2", "u1")), EditRefused),
            (Mask("t1", "[cleared]"), EditRefused),
            (Mask("r1", "[cleared]"), EditRefused),
            (Undo("u1"), EditRefused),
            (user("u1"), DuplicateId),
        ],
    ),
    "an open call cannot be taken away": (
        Transcript([assistant("a"), user("u1"), ToolCall("c", "slow", id="t"), user("u2")]),
        [
            (Hide(over("t")), CallPending),
            (Hide(over("u1", "t")), CallPending),
            (ToolResult("c", "slow", "done", id="x"), "a u1 t u2 x"),
            (Hide(over("t")), SplitsGroup),
            (Hide((*over("t"), *over("x"))), "a u1 u2"),
        ],
    ),
    "a mask can be undone and redone": (
        a_turn_with_tools(),
        [
            (Mask("x1", "[cleared]", id="m"), "u1 r1 a1 t1 t2 *x1 x2 a2 u2"),
            (Undo("m", id="n"), "u1 r1 a1 t1 t2 x1 x2 a2 u2"),
            (Undo("m"), EditRefused),
            (Undo("n"), "u1 r1 a1 t1 t2 *x1 x2 a2 u2"),
        ],
    ),
    "a mask of what is hidden shows when it comes back": (
        users(3),
        [(Hide(over("u0"), id="h"), "u1 u2"), (Mask("u0", "[cleared]"), "u1 u2"), (Undo("h"), "*u0 u1 u2")],
    ),
    "a summary stands where its range began, and the next folds it": (
        Transcript([Message("system", "be kind", id="s"), *users(4).view]),
        [
            (Summary("first", over("u0", "u1"), id="g1"), "s g1 u2 u3"),
            (Summary("second", over("u1", "u2")), EditRefused),
            (Summary("second", (*over("u2"), *over("g1")), id="g2"), "s g2 u3"),
            (Undo("g2"), "s g1 u2 u3"),
            (Hide(over("u0", "u1"), id="h"), "s u2 u3"),
            (Undo("h"), "s g1 u2 u3"),
            (Summary("both", over("u0", "u2"), id="g3"), "s g3 u3"),
            (Undo("g3"), "s g1 u2 u3"),
            (Hide((*over("u2"), *over("g1"))), "s u3"),
        ],
    ),
    "a summary that comes back does not overlap another": (
        users(6),
        [
            (Summary("one", over("u0", "u2"), id="s1"), "s1 u3 u4 u5"),
            (Hide(over("s1"), id="hide"), "u3 u4 u5"),
            (Summary("two", over("u2", "u4"), id="s2"), "s2 u5"),
            (Undo("hide"), EditRefused),
        ],
    ),
    "several summaries together do not fold one": (
        users(4),
        [
            (Summary("both", over("u0", "u1"), id="both"), "both u2 u3"),
            (Hide(over("both"), id="hide"), "u2 u3"),
            (Summary("1", over("u0"), id="first"), "first u2 u3"),
            (Summary("2", over("u1"), id="second"), "first second u2 u3"),
            (Undo("hide"), EditRefused),
            (Undo("second"), "first u2 u3"),
            (Undo("first"), "u2 u3"),
            (Undo("hide"), "both u2 u3"),
            (Undo("both"), "u0 u1 u2 u3"),
        ],
    ),
    "undo gives back the place of a summary beside a pin": (
        users(6),
        [
            (Summary("s", (*over("u1"), *over("u3")), id="s"), "u0 s u2 u4 u5"),
            (Pin("u1"), "u0 s u1 u2 u4 u5"),
            (Summary("only the pinned", over("u1")), EditRefused),
            (Summary("all", over("u0", "u3"), id="all"), "all u1 u4 u5"),
            (Undo("all"), "u0 s u1 u2 u4 u5"),
        ],
    ),
    "a pin brings a hidden group back and keeps it": (
        a_turn_with_tools(),
        [
            (Hide(over("u1", "a2"), id="h"), "u2"),
            (Pin("x1", id="p"), "r1 a1 t1 t2 x1 x2 u2"),
            (Mask("x1", "[cleared]"), EditRefused),
            (Pin("p"), EditRefused),
            (Undo("p"), "u2"),
        ],
    ),
    "undoing a pin does not split a group that has grown": (
        Transcript([user("u"), Reasoning("hm", id="r")]),
        [
            (Pin("r", id="pin"), "u r"),
            (Hide(over("r")), "u r"),
            (ToolCall("c", "t", id="call"), "u r call"),
            (Undo("pin"), CallPending),
            (ToolResult("c", "t", "x", id="x"), "u r call x"),
            (Undo("pin"), SplitsGroup),
        ],
    ),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_edits_show_what_they_promise_or_are_refused(name: str) -> None:
    start, steps = SCENARIOS[name]
    transcript = start.copy()
    for item, expected in steps:
        before, length = shown(transcript), len(transcript)
        if isinstance(expected, str):
            transcript.append(item)
            assert shown(transcript) == expected, item
        else:
            with pytest.raises(expected):
                transcript.append(item)
            assert (shown(transcript), len(transcript)) == (before, length), item


def test_edits_can_be_tried_on_a_view() -> None:
    transcript = Transcript([user("u1"), assistant("a1"), user("u2"), ToolCall("c", "read", id="call")])
    gist = Summary("gist", over("u1", "a1"), id="S")
    assert [item.id for item in view_after(transcript.view, [gist])] == ["S", "u2", "call"]
    with pytest.raises(LastUserMessage):
        view_after(transcript.view, [Hide(over("u2"))])
    with pytest.raises(CallPending):
        view_after(transcript.view, [gist, Hide(over("call"))])
    with pytest.raises(DuplicateId):
        view_after(transcript.view, [Mask("u1", "a", id="m"), Mask("u1", "b", id="m")])
