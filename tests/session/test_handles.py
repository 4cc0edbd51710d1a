"""Which long outputs a model may still ask for: as a look at all that is shown would say, for less."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from quire.errors import EditRefused
from quire.items import Hide, Item, Mask, Message, Note, Span, ToolCall, ToolResult, Undo
from quire.session.handles import Handles, handle_of, named_in
from quire.state import Transcript, View
from tests.session.test_pool_limit import offloaded

NAMES = [f"output-{n:010x}" for n in range(4)]

steps = st.lists(
    st.tuples(
        st.sampled_from(["result", "mask", "hide", "undo"]), st.integers(0, 40), st.sampled_from(NAMES)
    ),
    max_size=25,
)


def edited(transcript: Transcript, kind: str, at: int, handle: str) -> list[Item]:
    """What a step adds, if there is something that it can be done to."""
    if kind == "result":
        call = ToolCall(f"c{len(transcript)}", "read")
        return [Message("user", "q"), call, ToolResult(call.call_id, "read", f"[kept as {handle}]")]
    recorded = transcript.recorded()
    chosen = [item for item in recorded if isinstance(item, Mask | Hide if kind == "undo" else ToolResult)]
    if not chosen:
        return []
    target = chosen[at % len(chosen)].id
    if kind == "undo":
        return [Undo(target)]
    return [Mask(target, f"[now {handle}]") if kind == "mask" else Hide((Span(target, target),))]


@given(steps, st.sets(st.integers(0, 25)))
def test_it_is_what_a_look_at_all_that_is_shown_says(
    done: list[tuple[str, int, str]], asked_at: set[int]
) -> None:
    transcripts, handles = {"main": Transcript(), "aside": Transcript()}, Handles()
    for nth, (kind, at, handle) in enumerate(done):
        transcript = transcripts["main" if at % 3 else "aside"]
        with suppress(EditRefused):
            transcript.extend(edited(transcript, kind, at, handle))
        if nth in asked_at:
            handles = Handles(handles)
            handles.staying(NAMES, transcripts, ())
    shown = set[str]().union(*(named_in(transcript.view) for transcript in transcripts.values()))
    assert handles.staying(NAMES, transcripts, ()) == shown


def test_what_was_looked_at_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    one = asyncio.run(offloaded(3))
    for n in range(4):
        one.keep(Note("mine", key=f"own {n}"))
    looked: list[int] = []
    recorded = Transcript.recorded

    def counted(transcript: Transcript, since: int = 0) -> list[Item]:
        looked.append(len(transcript) - since)
        return recorded(transcript, since)

    def refused(_: View) -> Iterator[Item]:
        raise AssertionError("all that is shown was looked at")

    with monkeypatch.context() as patched:
        patched.setattr(Transcript, "recorded", counted)
        patched.setattr(View, "__iter__", refused)
        one.keep(Note("mine", key="next"))
        assert looked == []
        one.user("more")
        one.assistant("of it")
        one.keep(Note("mine", key="after"))
        assert looked == [2]
        with one.draft() as draft:
            draft.keep(Note("mine", key="in a draft"))
            one.user("meanwhile")
        assert sum(looked) == 3


@pytest.mark.parametrize(
    "key", ["output-20261116153000", "output-1763307575123", "output-2026-11-16", "my-output-0123456789x"]
)
def test_keys_of_ones_own_are_no_handles(key: str) -> None:
    assert handle_of(Note("x", key=key)) is None
    assert named_in([ToolResult("c", "read", f"[kept as {key}]")]) == set()


def test_the_notes_of_one_output_have_one_handle() -> None:
    [handle] = {handle_of(Note("x", key=key)) for key in ("output-0123456789", "output-0123456789-12")}
    said = "all 9 are kept as output-0123456789, then output-0123456789-2]"
    assert named_in([ToolResult("c", "read", said)]) == {handle}
