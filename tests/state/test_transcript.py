"""What a transcript refuses, and that nothing is half done."""

import random

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
from quire.state import Transcript


def user(item_id: str, text: str = "hello", at: float = 0.0) -> Message:
    return Message("user", text, id=item_id, created_at=at)


def assistant(item_id: str, text: str = "hi", at: float = 0.0) -> Message:
    return Message("assistant", text, id=item_id, created_at=at)


def only(item_id: str) -> tuple[Span, ...]:
    return (Span(item_id, item_id),)


def shown(transcript: Transcript) -> list[str]:
    return [item.id for item in transcript.view]


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


@pytest.mark.parametrize("wrong", ["text", 3, None, {"role": "user"}, Span("a", "b")])
def test_only_items_are_taken(wrong: object) -> None:
    transcript = Transcript([user("u1")])
    with pytest.raises(WrongType):
        transcript.append(wrong)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert shown(transcript) == ["u1"]


def test_an_id_is_taken_once() -> None:
    transcript = Transcript([user("u1"), assistant("a1")])
    for again in ("u1", "a1"):
        with pytest.raises(DuplicateId):
            transcript.append(user(again))
    assert len(transcript) == 2


def test_a_batch_is_recorded_whole_or_not_at_all() -> None:
    transcript = a_turn_with_tools()
    before, fork = shown(transcript), transcript.fork()
    batch: list[Item] = [
        ToolCall("c9", "search", id="t9"),
        Hide((Span("r1", "x2"),)),
        assistant("a9"),
        user("u1"),
    ]
    with pytest.raises(DuplicateId):
        transcript.extend(batch)
    assert shown(transcript) == before == shown(fork)
    assert not transcript.view.pending()
    assert "t9" not in transcript
    transcript.extend(batch[:3])
    assert [call.id for call in transcript.view.pending()] == ["t9"]
    assert shown(fork) == before


def test_unknown_ids_are_errors() -> None:
    transcript = Transcript([user("u1")])
    with pytest.raises(UnknownId, match="'nobody'"):
        transcript.get("nobody")
    with pytest.raises(KeyError):
        transcript.view.fate("nobody")
    for edit in (
        Mask("nobody", "x"),
        Pin("nobody"),
        Undo("nobody"),
        Hide(only("nobody")),
        Summary("x", only("nobody")),
    ):
        with pytest.raises(UnknownId):
            transcript.append(edit)
    assert len(transcript) == 1


@pytest.mark.parametrize("revision", [-1, 2, 10**9])
def test_revisions_out_of_range_are_errors(revision: int) -> None:
    transcript = Transcript([user("u1")])
    with pytest.raises(OutOfRange):
        transcript.at(revision)
    with pytest.raises(IndexError):
        transcript.recorded(revision)
    with pytest.raises(WrongType):
        transcript.at("1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        (Hide((Span("t1", "x2"),)), SplitsGroup),
        (Hide(only("x1")), SplitsGroup),
        (Hide((Span("u1", "t1"),)), SplitsGroup),
        (Summary("gist", only("r1")), SplitsGroup),
        (Hide(only("u2")), LastUserMessage),
        (Hide((Span("u1", "u2"),)), LastUserMessage),
        (Hide((Span("a2", "u1"),)), EditRefused),
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
    assert shown(transcript) == before
    assert len(transcript) == len(before)


def test_a_call_that_waits_is_left_alone() -> None:
    transcript = a_turn_with_tools()
    transcript.extend([ToolCall("c3", "slow", id="t3"), user("u3")])
    for spans in (only("t3"), (Span("a2", "t3"),)):
        with pytest.raises(CallPending):
            transcript.append(Hide(spans))
    transcript.append(ToolResult("c3", "slow", "done", id="x3"))
    with pytest.raises(SplitsGroup):
        transcript.append(Hide(only("t3")))
    transcript.append(Hide((Span("t3", "t3"), Span("x3", "x3"))))
    assert "t3" not in shown(transcript)


def test_a_mask_can_be_undone_and_redone() -> None:
    transcript = a_turn_with_tools()
    mask = Mask("x1", "[cleared]", id="m1")
    transcript.append(mask)
    assert transcript.view[5] == ToolResult("c1", "search", "[cleared]", id="x1", created_at=0.0)
    assert transcript.view.fate("x1") == ("masked", "m1")
    transcript.append(Undo("m1", id="n1"))
    assert transcript.view[5] == transcript.get("x1")
    with pytest.raises(EditRefused):
        transcript.append(Undo("m1"))
    transcript.append(Undo("n1"))
    assert transcript.view.fate("x1") == ("masked", "m1")


def test_a_summary_stands_where_its_range_began_and_is_folded_by_the_next() -> None:
    transcript = Transcript([Message("system", "be kind", id="s", created_at=0.0)])
    transcript.extend([user("u1"), assistant("a1"), user("u2"), assistant("a2"), user("u3")])
    transcript.append(Summary("first", (Span("u1", "a1"),), id="g1"))
    assert shown(transcript) == ["s", "g1", "u2", "a2", "u3"]
    with pytest.raises(EditRefused, match="all that 'g1' covers"):
        transcript.append(Summary("second", (Span("a1", "a2"),)))
    transcript.append(Summary("both", (Span("u1", "a2"),), id="g2"))
    assert shown(transcript) == ["s", "g2", "u3"]
    assert transcript.view.fate("u1").state == "covered"
    transcript.append(Undo("g2"))
    assert shown(transcript) == ["s", "g1", "u2", "a2", "u3"]


def test_a_pin_brings_a_hidden_group_back_and_keeps_it() -> None:
    transcript = a_turn_with_tools()
    transcript.append(Hide((Span("u1", "a2"),)))
    transcript.append(Pin("x1", id="p"))
    assert shown(transcript) == ["r1", "a1", "t1", "t2", "x1", "x2", "u2"]
    with pytest.raises(EditRefused, match="pinned"):
        transcript.append(Mask("x1", "[cleared]"))
    transcript.append(Undo("p"))
    assert shown(transcript) == ["u2"]


def test_what_comes_late_is_shown_by_its_time_and_recorded_as_it_came() -> None:
    transcript = Transcript([user("u1", at=1.0), assistant("a1", at=3.0), user("u2", at=5.0)])
    transcript.append(Note("remember", id="n", created_at=2.0))
    assert shown(transcript) == ["u1", "n", "a1", "u2"]
    assert [item.id for item in transcript.recorded()] == ["u1", "a1", "u2", "n"]
    assert [item.id for item in transcript.at(3)] == ["u1", "a1", "u2"]


def test_a_late_item_does_not_break_into_a_group() -> None:
    transcript = Transcript([user("u1", at=1.0), ToolCall("c", "t", id="t1", created_at=2.0)])
    transcript.append(ToolResult("c", "t", "done", id="x1", created_at=6.0))
    transcript.append(user("u2", at=7.0))
    transcript.append(user("late", at=4.0))
    assert shown(transcript) == ["u1", "t1", "x1", "late", "u2"]


def test_a_result_never_comes_before_its_call() -> None:
    transcript = Transcript([user("u1", at=1.0), ToolCall("c", "t", id="t1", created_at=5.0)])
    transcript.append(ToolResult("c", "t", "from a slow clock", id="x1", created_at=2.0))
    assert shown(transcript) == ["u1", "t1", "x1"]
    assert not transcript.view.pending()


def test_a_fork_closes_the_calls_that_wait() -> None:
    transcript = Transcript([user("u1"), ToolCall("c", "slow", id="t1", created_at=0.0)])
    child = transcript.fork()
    closing = child.view[-1]
    assert isinstance(closing, ToolResult)
    assert (closing.call_id, closing.extras) == ("c", {"quire.closed": "fork"})
    assert shown(transcript) == ["u1", "t1"]
    assert [call.id for call in transcript.view.pending()] == ["t1"]


def test_items_are_found_whatever_their_ids_are() -> None:
    ids = [f"{number:06d}" for number in range(3000)]
    shuffled = random.Random(7).sample(ids, len(ids))
    for order in (ids, ids[::-1], shuffled, ids[:1500] + shuffled[:10] + ids[1500:]):
        unique = list(dict.fromkeys(order))
        transcript = Transcript(user(item_id) for item_id in unique)
        assert [transcript.get(item_id).id for item_id in unique] == unique
        assert "000000x" not in transcript
        with pytest.raises(DuplicateId):
            transcript.append(user(unique[len(unique) // 2]))


def test_forks_of_forks_find_everything() -> None:
    transcript = Transcript()
    for depth in range(40):
        transcript = transcript.fork()
        transcript.extend(user(f"{depth:03d}-{number:03d}") for number in range(20))
    assert len(transcript.view) == 800
    assert transcript.get("000-000").id == "000-000"
    assert [item.id for item in transcript.view[399:401]] == ["019-019", "020-000"]
    with pytest.raises(DuplicateId):
        transcript.append(user("000-007"))


def test_a_view_is_a_sequence() -> None:
    view = a_turn_with_tools().view
    assert (len(view), view[0].id, view[-1].id) == (9, "u1", "u2")
    assert [item.id for item in view[1:3]] == ["r1", "a1"]
    assert [item.id for item in view[::4]] == ["u1", "t2", "u2"]
    assert view[100:] == []
    for index in (9, -10):
        with pytest.raises(OutOfRange):
            view[index]
    assert view == a_turn_with_tools().view
    assert view != a_turn_with_tools().view[1:]
