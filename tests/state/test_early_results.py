"""A result that was recorded before its call: the two stand together where the call is shown first."""

import pytest
from hypothesis import given, strategies as st

from quire.errors import QuireError, SplitsGroup
from quire.items import Hide, Item, Message, Pin, Reasoning, Span, Summary, ToolCall, ToolResult, Undo
from quire.state import Transcript, is_closing, merge_all, truncate
from tests.counting import Items
from tests.oracle import PlainTranscript
from tests.state.test_transcript_laws import check


def ids(transcript: Transcript) -> str:
    return " ".join(item.id for item in transcript.view)


def early(*more: Item) -> Transcript:
    """A tool that ran while the reply was still being written."""
    return Transcript(
        [
            Message("user", "go", id="u", created_at=1.0),
            ToolResult("c", "look", "found", id="r", created_at=3.0),
            ToolCall("c", "look", id="k", created_at=2.0),
            *more,
        ]
    )


def test_the_call_does_not_wait_and_stands_with_its_result() -> None:
    transcript = early(Message("assistant", "done", id="d", created_at=4.0))
    assert ids(transcript) == "u k r d"
    assert transcript.view.pending() == transcript.at(4).pending() == []
    assert [{item.id for item in group.items} for group in transcript.view.groups()][1] == {"k", "r"}
    assert not any(is_closing(item) for item in transcript.fork().recorded())


@pytest.mark.parametrize("part", ["k", "r"])
def test_the_two_are_not_parted(part: str) -> None:
    transcript = early(Message("user", "next", id="u2", created_at=5.0))
    with pytest.raises(SplitsGroup):
        transcript.append(Hide((Span(part, part),)))
    transcript.append(Hide((Span("r", "k"),), id="h"))
    assert ids(transcript) == "u u2"
    transcript.append(Undo("h"))
    assert ids(transcript) == "u k r u2"


def test_what_lies_between_them_does_not_part_them() -> None:
    transcript = early(
        Message("user", "while it ran", id="m", created_at=2.5),
        Message("user", "next", id="n", created_at=6.0),
    )
    assert ids(transcript) == "u k r m n", "a group is not broken into"
    late = Transcript(
        [
            Message("user", "go", id="u", created_at=1.0),
            Message("user", "while it ran", id="m", created_at=2.5),
            ToolResult("c", "look", "found", id="r", created_at=3.0),
            ToolCall("c", "look", id="k", created_at=2.0),
            Message("user", "next", id="n", created_at=6.0),
        ]
    )
    assert ids(late) == "u k m r n"
    cut = truncate(late.view, tokens=4, counter=Items())
    assert cut is not None
    late.append(cut)
    assert ids(late) == "k m r n", "the call goes on after the cut"


def test_a_call_that_is_shown_after_a_result_waits_for_its_own() -> None:
    transcript = Transcript([ToolResult("c", "look", "of another", id="r", created_at=1.0)])
    transcript.append(ToolCall("c", "look", id="k", created_at=2.0))
    assert [call.id for call in transcript.view.pending()] == ["k"]


def test_nothing_joins_a_result_that_is_hidden() -> None:
    result = ToolResult("c", "look", "found", id="r", created_at=3.0)
    transcript = Transcript([Message("user", "go", id="u", created_at=1.0), result])
    transcript.append(Hide((Span("r", "r"),), id="h"))
    transcript.append(ToolCall("c", "look", id="k", created_at=2.0))
    assert ids(transcript) == "u k" and [call.id for call in transcript.view.pending()] == ["k"]


def test_a_merge_keeps_them_together() -> None:
    parent = Transcript([Message("user", "go", id="u", created_at=1.0)])
    child = parent.fork()
    child.append(ToolResult("c", "look", "found", id="r", created_at=3.0))
    child.append(ToolCall("c", "look", id="k", created_at=2.0))
    merge_all(parent, child)
    assert ids(parent) == "u k r" and not parent.view.pending()


STEPS = st.lists(
    st.tuples(st.sampled_from("ccrruathsp"), st.integers(0, 1), st.integers(0, 12), st.integers(0, 12)),
    max_size=16,
)


def step(index: int, op: tuple[str, int, int, int], recorded: list[Item]) -> Item:
    kind, number, at, other = op
    item_id, time = f"i{index:02d}", index + float(at - 6 if at % 2 else 0)
    first, last = sorted((at % len(recorded), other % len(recorded)))
    match kind:
        case "c":
            return ToolCall(f"c{number}", "look", id=item_id, created_at=time)
        case "r":
            return ToolResult(f"c{number}", "look", "x", id=item_id, created_at=time)
        case "u":
            return Message("user", "go on", id=item_id, created_at=time)
        case "a":
            return Message("assistant", "so", id=item_id, created_at=time)
        case "t":
            return Reasoning("hm", id=item_id, created_at=time)
        case "h":
            return Hide((Span(recorded[first].id, recorded[last].id),), id=item_id)
        case "s":
            return Summary("gist", (Span(recorded[first].id, recorded[last].id),), id=item_id)
        case _:
            return Pin(recorded[first].id, id=item_id)


@pytest.mark.laws
@given(STEPS, st.booleans())
def test_the_laws_hold_whatever_comes_before_what(ops: list[tuple[str, int, int, int]], split: bool) -> None:
    transcript, plain = Transcript(), PlainTranscript()
    opening = Message("user", "go", id="i", created_at=0.0)
    transcript.append(opening)
    plain.append(opening)
    for index, op in enumerate(ops, 1):
        item = step(index, op, transcript.recorded())
        try:
            transcript.append(item)
        except QuireError:
            continue
        plain.append(item)
        if split and index % 3 == 0:
            transcript = transcript.copy()
    check(transcript, plain)
    waiting = [plain.log[p].id for p in plain.open_calls()]
    assert [call.id for call in transcript.view.pending()] == waiting
    for revision in range(len(transcript) + 1):
        past = Transcript(transcript.recorded()[:revision])
        assert transcript.at(revision).pending() == past.view.pending()
