"""What is told at once can be read at once, and whatever the past, it is told in the end."""

import pytest
from hypothesis import given, strategies as st

from quire.compactors import (
    Cascade,
    ClearToolResults,
    Compactor,
    Plan,
    Request,
    Room,
    Summarize,
    TruncateOldest,
)
from quire.errors import InvalidLimit, Irreducible
from quire.items import Item, Message, ToolCall, ToolResult
from quire.state import Transcript
from tests.compactors.compacting import HISTORIES, TOKENS, played, recorded
from tests.histories import Op
from tests.oracle import PlainTranscript

pytestmark = pytest.mark.laws

BRIEF = "{conversation}"
ASKING = st.sampled_from(
    [
        Summarize(floor=3, ceiling=6, prompt=BRIEF, size=10),
        Summarize(unit="tokens", prompt=BRIEF, size=10),
        Summarize(unit="turns", floor=1, ceiling=2, prompt=BRIEF, size=10),
        Cascade(
            ClearToolResults(keep=1, at_least=1, stub="-"), Summarize(unit="tokens", prompt=BRIEF, size=10)
        ),
    ]
)
READS = st.integers(120, 600)


def planned(compactor: Compactor, transcript: Transcript, room: Room) -> Plan | None:
    try:
        return compactor.plan(transcript.view, room)
    except Irreducible:
        return None


def told(request: Request) -> int:
    return TOKENS.total(sum(map(TOKENS.count, request.prompt))) + request.size


def narrow(transcript: Transcript, reads: int) -> Room:
    return Room(max(transcript.view.tokens(TOKENS) // 2, 40), TOKENS, reads=reads)


@given(HISTORIES, ASKING, READS)
def test_a_request_can_be_read_at_once(ops: list[Op], compactor: Compactor, reads: int) -> None:
    transcript, plain = played(ops)
    plan = planned(compactor, transcript, narrow(transcript, reads))
    if plan is None or plan.request is None:
        return
    assert told(plan.request) <= reads or len(groups_in(plan.request, plain)) == 1, "one group is never torn"


@given(HISTORIES, ASKING, READS)
def test_a_part_is_of_whole_groups(ops: list[Op], compactor: Compactor, reads: int) -> None:
    transcript, plain = played(ops)
    plan = planned(compactor, transcript, narrow(transcript, reads))
    if plan is None or plan.request is None:
        return
    shown = {item.id for item in transcript.view}
    for head in groups_in(plan.request, plain):
        assert {plain.log[p].id for p in plain.group(head)} & shown <= set(plan.request.items)


def groups_in(request: Request, plain: PlainTranscript) -> set[int]:
    heads = {plain.heads[plain.find(item_id)] for item_id in request.items}
    return {head for head in heads if head >= 0}


@given(HISTORIES, ASKING, READS)
def test_step_by_step_all_is_told(ops: list[Op], compactor: Compactor, reads: int) -> None:
    """Each step makes the view smaller, and the last leaves what a reader without a limit would have left."""
    transcript, _ = played(ops)
    space = narrow(transcript, reads)
    is_due = planned(compactor, transcript, Room(space.tokens, TOKENS, reads=10**6)) is not None
    steps = 0
    while (plan := planned(compactor, transcript, space)) is not None:
        before = transcript.view.tokens(TOKENS)
        assert recorded(transcript, plan, much=0.2).fate == "kept"
        assert transcript.view.tokens(TOKENS) < before
        steps += 1
        if plan.request is None or not plan.request.is_part:
            break
    assert bool(steps) == is_due, "what is due is never put off for being long"
    assert planned(compactor, transcript, Room(space.tokens, TOKENS, reads=10**6)) is None


def test_the_oldest_is_told_first_up_to_where_a_turn_begins() -> None:
    items = [Message("user" if n % 2 == 0 else "assistant", "x" * 400, id=str(n)) for n in range(40)]
    plan = Summarize(prompt=BRIEF, size=20).plan(Transcript(items).view, Room(10**6, TOKENS, reads=600))
    assert plan is not None and plan.request is not None and plan.request.is_part
    assert plan.request.items == ("0", "1", "2", "3")


def test_without_a_word_the_room_says_how_much_is_read() -> None:
    items = [Message("user" if n % 2 == 0 else "assistant", "x" * 400) for n in range(2_000)]
    for tokens in (500, 50_000):
        plan = Summarize(unit="tokens").plan(Transcript(items).view, Room(tokens, TOKENS))
        assert plan is not None and plan.request is not None and plan.request.is_part
        assert told(plan.request) <= max(tokens, 4_096)


def test_a_group_that_is_too_long_is_told_in_fewer_letters() -> None:
    work = [Message("user", "go", id="go")]
    calls = [ToolCall(f"c{n}", "look", "{}") for n in range(20)]
    results = [ToolResult(f"c{n}", "look", "y" * 1_000) for n in range(20)]
    items: list[Item] = [*work, *calls, *results, *(Message("user", f"then {n}") for n in range(30))]
    plan = Summarize(prompt=BRIEF, size=20).plan(Transcript(items).view, Room(10**6, TOKENS, reads=1_000))
    assert plan is not None and plan.request is not None
    assert len(plan.request.items) == 41 and told(plan.request) <= 1_000


def test_where_nobody_writes_the_next_has_its_turn() -> None:
    items = [Message("user" if n % 2 == 0 else "assistant", "x" * 400) for n in range(40)]
    view, room = Transcript(items).view, Room(2_000, TOKENS, reads=0)
    assert Summarize(unit="tokens").plan(view, room) is None
    plan = Cascade(Summarize(unit="tokens"), TruncateOldest()).plan(view, room)
    assert plan is not None and plan.request is None and plan.after <= 800


def test_a_cascade_takes_a_part_and_comes_back_for_the_rest() -> None:
    items = [Message("user" if n % 2 == 0 else "assistant", "x" * 400) for n in range(100)]
    cascade = Cascade(Summarize(unit="tokens", size=50), TruncateOldest())
    plan = cascade.plan(Transcript(items).view, Room(2_000, TOKENS, reads=3_000))
    assert plan is not None and plan.request is not None and plan.request.is_part and plan.after > 2_000


def test_reading_is_counted_in_whole_tokens() -> None:
    with pytest.raises(InvalidLimit):
        Room(10, TOKENS, reads=-1)
