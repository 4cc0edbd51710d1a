"""What a transcript promises and what it refuses, by example."""

import pytest

from quire.errors import (
    CallPending,
    DuplicateId,
    EditRefused,
    LastUserMessage,
    OutOfRange,
    SplitsGroup,
    UnknownId,
    WrongType,
)
from quire.items import (
    ConfigChange,
    Hide,
    Item,
    Mask,
    Message,
    Note,
    Pin,
    Reasoning,
    Span,
    Summary,
    ToolCall,
    ToolResult,
    Undo,
)
from quire.state import Transcript, config_at, view_after


def user(item_id: str, text: str = "hello") -> Message:
    return Message("user", text, id=item_id, created_at=0.0)


def assistant(item_id: str, text: str = "hi") -> Message:
    return Message("assistant", text, id=item_id, created_at=0.0)


def over(first: str, last: str = "") -> tuple[Span, ...]:
    return (Span(first, last or first),)


def shown(transcript: Transcript) -> str:
    return " ".join(item.id for item in transcript.view)


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


@pytest.mark.parametrize("wrong", ["text", 3, None, {"role": "user"}, Span("a", "b")])
def test_only_items_are_taken(wrong: object) -> None:
    transcript = users(1)
    with pytest.raises(WrongType):
        transcript.append(wrong)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert shown(transcript) == "u0"


def test_an_id_is_taken_once() -> None:
    transcript = Transcript([user("u1"), assistant("a1")])
    for again in ("u1", "a1"):
        with pytest.raises(DuplicateId):
            transcript.append(user(again))
    assert len(transcript) == 2


def test_arrival_order_is_the_order_whatever_the_times_are() -> None:
    transcript = Transcript(Note(n, id=n, created_at=at) for n, at in [("a", 9.0), ("b", 1.0), ("c", 5.0)])
    assert shown(transcript) == "a b c"
    assert [item.id for item in transcript.recorded()] == ["a", "b", "c"]


def test_a_batch_is_recorded_whole_or_not_at_all() -> None:
    transcript = a_turn_with_tools()
    before, fork = shown(transcript), transcript.fork()
    batch: list[Item] = [
        ToolCall("c9", "search", id="t9"),
        Hide(over("r1", "x2")),
        assistant("a9"),
        user("u1"),
    ]
    with pytest.raises(DuplicateId):
        transcript.extend(batch)
    assert shown(transcript) == before == shown(fork)
    assert not transcript.view.pending() and "t9" not in transcript
    transcript.extend(batch[:3])
    assert [call.id for call in transcript.view.pending()] == ["t9"]
    assert shown(fork) == before


def test_unknown_ids_are_errors() -> None:
    transcript = users(1)
    with pytest.raises(UnknownId, match="'nobody'"):
        transcript.get("nobody")
    with pytest.raises(KeyError):
        transcript.view.fate("nobody")
    edits: list[Item] = [Mask("nobody", "x"), Pin("nobody"), Undo("nobody"), Hide(over("nobody"))]
    for edit in (*edits, Summary("x", over("nobody"))):
        with pytest.raises(UnknownId):
            transcript.append(edit)
    assert len(transcript) == 1


@pytest.mark.parametrize("revision", [-1, 2, 10**9])
def test_revisions_out_of_range_are_errors(revision: int) -> None:
    with pytest.raises(OutOfRange):
        users(1).at(revision)
    with pytest.raises(IndexError):
        users(1).recorded(revision)


@pytest.mark.parametrize(
    ("edit", "error"),
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
    ],
)
def test_edits_that_would_spoil_the_history_are_refused(edit: Item, error: type[Exception]) -> None:
    transcript = a_turn_with_tools()
    before = shown(transcript)
    with pytest.raises(error):
        transcript.append(edit)
    assert shown(transcript) == before and len(transcript) == 9


def test_an_open_call_cannot_be_taken_away() -> None:
    transcript = a_turn_with_tools()
    transcript.extend([ToolCall("c3", "slow", id="t3"), user("u3")])
    for spans in (over("t3"), over("a2", "t3")):
        with pytest.raises(CallPending):
            transcript.append(Hide(spans))
    transcript.append(ToolResult("c3", "slow", "done", id="x3"))
    with pytest.raises(SplitsGroup):
        transcript.append(Hide(over("t3")))
    transcript.append(Hide((*over("t3"), *over("x3"))))
    assert shown(transcript).endswith("a2 u2 u3")


def test_a_mask_can_be_undone_and_redone() -> None:
    transcript = a_turn_with_tools()
    transcript.append(Mask("x1", "[cleared]", id="m1"))
    assert transcript.view[5] == ToolResult("c1", "search", "[cleared]", id="x1", created_at=0.0)
    assert transcript.view.fate("x1") == ("masked", "m1")
    transcript.append(Undo("m1", id="n1"))
    assert transcript.view[5] == transcript.get("x1")
    with pytest.raises(EditRefused):
        transcript.append(Undo("m1"))
    transcript.append(Undo("n1"))
    assert transcript.view.fate("x1") == ("masked", "m1")


def test_a_mask_of_what_is_hidden_shows_when_it_comes_back() -> None:
    transcript = users(3)
    transcript.extend([Hide(over("u0"), id="h"), Mask("u0", "[cleared]", id="m"), Undo("h")])
    assert transcript.view.fate("u0") == ("masked", "m")


def test_a_summary_stands_where_its_range_began_and_the_next_folds_it() -> None:
    transcript = Transcript([Message("system", "be kind", id="s", created_at=0.0)])
    transcript.extend([user("u1"), assistant("a1"), user("u2"), assistant("a2"), user("u3")])
    transcript.append(Summary("first", over("u1", "a1"), id="g1"))
    assert shown(transcript) == "s g1 u2 a2 u3"
    with pytest.raises(EditRefused, match="all that 'g1' covers"):
        transcript.append(Summary("second", over("a1", "a2")))
    transcript.append(Summary("both", over("u1", "a2"), id="g2"))
    assert shown(transcript) == "s g2 u3"
    assert transcript.view.fate("u1") == ("covered", "g2")
    transcript.append(Undo("g2"))
    assert shown(transcript) == "s g1 u2 a2 u3"


def test_a_summary_that_comes_back_does_not_overlap_another() -> None:
    transcript = users(6)
    transcript.append(Summary("one", over("u0", "u2"), id="s1"))
    transcript.append(Hide(over("s1"), id="hide"))
    transcript.append(Summary("two", over("u2", "u4"), id="s2"))
    with pytest.raises(EditRefused):
        transcript.append(Undo("hide"))
    assert shown(transcript) == "s2 u5"


def test_several_summaries_together_do_not_fold_one() -> None:
    transcript = users(4)
    transcript.extend([Summary("both", over("u0", "u1"), id="both"), Hide(over("both"), id="hide")])
    transcript.extend([Summary("1", over("u0"), id="first"), Summary("2", over("u1"), id="second")])
    with pytest.raises(EditRefused):
        transcript.append(Undo("hide"))
    for edit in ("second", "first", "hide", "both"):
        transcript.append(Undo(edit))
    assert shown(transcript) == "u0 u1 u2 u3"


def test_undo_gives_back_the_place_of_a_summary_beside_a_pin() -> None:
    transcript = users(6)
    transcript.extend([Summary("s", (*over("u1"), *over("u3")), id="s"), Pin("u1")])
    before = shown(transcript)
    transcript.extend([Summary("all", over("u0", "u3"), id="all"), Undo("all")])
    assert shown(transcript) == before == "u0 s u1 u2 u4 u5"


def test_a_pin_brings_a_hidden_group_back_and_keeps_it() -> None:
    transcript = a_turn_with_tools()
    transcript.append(Hide(over("u1", "a2")))
    transcript.append(Pin("x1", id="p"))
    assert shown(transcript) == "r1 a1 t1 t2 x1 x2 u2"
    with pytest.raises(EditRefused, match="pinned"):
        transcript.append(Mask("x1", "[cleared]"))
    transcript.append(Undo("p"))
    assert shown(transcript) == "u2"


def test_undoing_a_pin_does_not_split_a_group_that_has_grown() -> None:
    transcript = Transcript([user("u"), Reasoning("hm", id="r")])
    transcript.extend([Pin("r", id="pin"), Hide(over("r")), ToolCall("c", "t", id="call")])
    with pytest.raises(CallPending):
        transcript.append(Undo("pin"))
    assert shown(transcript) == "u r call"


def test_nothing_joins_a_reply_that_is_hidden() -> None:
    transcript = Transcript([user("u"), assistant("a"), Hide(over("a"), id="h")])
    transcript.extend([ToolCall("c", "t", id="call"), Undo("h")])
    assert [[item.id for item in group.items] for group in transcript.view.groups()] == [
        *(["u"], ["a"], ["call"])
    ]


def test_a_fork_closes_the_open_calls() -> None:
    transcript = Transcript([user("u1"), ToolCall("c", "slow", id="t1")])
    closing = transcript.fork().view[-1]
    assert isinstance(closing, ToolResult)
    assert (closing.call_id, closing.extras) == ("c", {"quire.closed": "fork"})
    assert shown(transcript) == "u1 t1"
    assert [call.id for call in transcript.view.pending()] == ["t1"]


def test_the_past_knows_which_calls_were_open() -> None:
    transcript = Transcript([user("u"), ToolResult("k", "t", "of another", id="x")])
    transcript.extend([ToolCall("k", "t", id="k"), ToolResult("k", "t", "found", id="r")])
    assert [call.id for call in transcript.at(3).pending()] == ["k"]
    assert transcript.view.pending() == transcript.at(4).pending() == []


def test_a_view_is_a_sequence() -> None:
    view = a_turn_with_tools().view
    assert (len(view), view[0].id, view[-1].id) == (9, "u1", "u2")
    assert [item.id for item in view[1:3]] == ["r1", "a1"]
    assert [item.id for item in view[::4]] == ["u1", "t2", "u2"]
    assert view[100:] == [] and view.index(view[3]) == 3
    for index in (9, -10):
        with pytest.raises(OutOfRange):
            view[index]
    assert view == a_turn_with_tools().view
    assert view != a_turn_with_tools().view[1:]


@pytest.mark.parametrize("length", [100, 300])
def test_slices_of_the_view_of_a_fork_are_those_of_its_list(length: int) -> None:
    fork = Transcript([Message("user", f"{n}") for n in range(length)]).fork()
    fork.extend([Message("user", f"more {n}") for n in range(20)])
    listed = list(fork.view)
    for start in (0, 5, length - 1, length, length + 5, -3, None):
        for stop in (0, 7, length - 19, length, length + 10, -5, None):
            assert fork.view[start:stop] == listed[start:stop]
            assert fork.view[start:stop:-1] == listed[start:stop:-1]


def test_edits_can_be_tried_on_a_view() -> None:
    transcript = Transcript([user("u1"), assistant("a1"), user("u2"), ToolCall("c", "read", id="call")])
    gist = Summary("gist", over("u1", "a1"), id="S")
    assert [item.id for item in view_after(transcript.view, [gist])] == ["S", "u2", "call"]
    assert list(view_after(transcript.view, [gist, Undo("S")])) == list(transcript.view)
    assert "S" not in transcript and len(transcript) == 4
    with pytest.raises(LastUserMessage):
        view_after(transcript.view, [Hide(over("u2"))])
    with pytest.raises(CallPending):
        view_after(transcript.view, [gist, Hide(over("call"))])
    with pytest.raises(DuplicateId):
        view_after(transcript.view, [Mask("u1", "a", id="m"), Mask("u1", "b", id="m")])
    with pytest.raises(WrongType):
        view_after(transcript.view, [Note("x")])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


def test_the_last_configuration_counts_whatever_is_shown() -> None:
    transcript = Transcript(
        [
            *(Message("system", "first", id="1"), Message("user", "hello", id="2")),
            *(ConfigChange("second", ("search",), id="3"), ConfigChange(tools=(), id="4")),
            *(Message("developer", ("third", "rule"), id="5"), Message("user", "and?", id="6")),
        ]
    )
    expected = {"1": ("first", None), "2": ("first", None), "3": ("second", ("search",)), "4": ("second", ())}
    for edit in (Hide(over("1", "5"), id="h"), Undo("h"), Summary("rules", over("3", "5"), id="s")):
        transcript.append(edit)
        view = transcript.view
        assert {item_id: config_at(view, item_id) for item_id in expected} == expected
        assert config_at(view) == config_at(view, "6") == ("third\nrule", ())
        assert config_at(view, separator=" ").instructions == "third rule"
    assert config_at(view, "s") == expected["3"], "it stands where the first item that it covers is"
    assert config_at(Transcript().view) == (None, None)
    with pytest.raises(UnknownId):
        config_at(view, "nobody")
