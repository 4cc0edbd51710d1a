"""The laws of every compactor of ours; and of those that go to a floor, and those that request summaries."""

import pytest
from hypothesis import given, strategies as st

from quire.compactors import (
    Cascade,
    ClearToolResults,
    Compactor,
    Offload,
    Request,
    Room,
    Summarize,
    TruncateOldest,
    plan_around_undone,
)
from quire.errors import Irreducible
from quire.items import Item, Message, ToolResult, Undo
from quire.state import Transcript, is_structural
from quire.testing import CompactorLaws
from quire.testing.compactors import (
    HISTORIES,
    PERCENT,
    TOKENS,
    plan_of,
    protected,
    random_history,
    record_plan,
    room_of,
)
from quire.testing.histories import Op
from quire.testing.plain import PlainTranscript

pytestmark = pytest.mark.laws

BY_FLOOR: list[TruncateOldest | Summarize] = [
    TruncateOldest(),
    TruncateOldest(floor=0.8, ceiling=0.9),
    TruncateOldest(floor=40, ceiling=80),
    TruncateOldest(unit="messages", floor=3, ceiling=6),
    TruncateOldest(unit="turns", floor=1, ceiling=2),
    Summarize(floor=3, ceiling=6),
    Summarize(unit="tokens", size=10),
    Summarize(unit="tokens", floor=0.8, size=20),
    Summarize(unit="turns", floor=1, ceiling=2),
]
BY_RESULT: list[Compactor] = [
    ClearToolResults(keep=1, at_least=1, stub="-"),
    ClearToolResults(keep=0, at_least=0.2, stub="-", ceiling=0.5),
    Offload(larger_than=30, keep=1),
    Offload(larger_than=10, keep=0, ceiling=0),
]
COMPACTORS: list[Compactor] = [
    *BY_FLOOR,
    *BY_RESULT,
    Cascade(ClearToolResults(keep=1, at_least=1, stub="-"), TruncateOldest()),
    Cascade(Offload(larger_than=30), ClearToolResults(keep=0), Summarize(unit="tokens", size=10)),
    Cascade(TruncateOldest(unit="turns", floor=2, ceiling=4), Cascade(TruncateOldest())),
    Cascade(ClearToolResults(keep=1, at_least=1, stub="-"), Summarize(floor=3, ceiling=6)),
    *(Summarize(floor=2, ceiling=4), Summarize(unit="tokens", size=5)),
]
"""A new compactor is one more line here."""

FLOORED = st.sampled_from(BY_FLOOR)
BRIEF = "{conversation}"
READING = st.sampled_from(
    [
        Summarize(floor=3, ceiling=6, prompt=BRIEF, size=10),
        Summarize(unit="tokens", prompt=BRIEF, size=10),
        Summarize(unit="turns", floor=1, ceiling=2, prompt=BRIEF, size=10),
    ]
)
READS = st.integers(120, 600)


class TestCompactors(CompactorLaws):
    compactors = COMPACTORS


def _never_left_out(shown: list[Item], plain: PlainTranscript) -> list[Item]:
    """What is protected, with the last result, which may be masked."""
    stays = {item.id for item in protected(shown, plain)}
    if shown and isinstance(shown[-1], ToolResult):
        newest = next(p for p, item in enumerate(plain.log) if item.id == shown[-1].id)
        stays |= {plain.log[p].id for p in plain.group(newest)}
    return [item for item in shown if item.id in stays]


@given(HISTORIES, FLOORED, PERCENT)
def test_the_view_is_at_the_floor_or_the_parts_are_named(
    ops: list[Op], compactor: TruncateOldest | Summarize, percent: int
) -> None:
    transcript, plain = random_history(ops)
    view, space = transcript.view, room_of(transcript, percent)
    extent = compactor.extent(space)
    count, total = extent.counter.count, extent.counter.total
    held = view.tokens(extent.counter)
    slack = compactor.size if isinstance(compactor, Summarize) else 0
    try:
        plan = compactor.plan(view, space)
    except Irreducible as fault:
        parts = [item for item in view if item.id in fault.parts]
        assert held > extent.ceiling and len(parts) == len(fault.parts)
        assert total(sum(map(count, parts))) + slack + 5 > extent.floor
        return
    if plan is None:
        assert held <= extent.ceiling or (isinstance(compactor, Summarize) and compactor.unit != "tokens")
        return
    record_plan(transcript, plan)
    for item in transcript.recorded(since=len(plain.log)):
        plain.append(item)
    left = transcript.view.tokens(extent.counter)
    assert held > extent.ceiling >= left
    if left > extent.floor:
        lowest = total(sum(map(count, _never_left_out(list(transcript.view), plain))))
        assert lowest + slack > extent.floor, "the floor could be reached"
        assert left <= (lowest + slack + extent.ceiling) // 2, "half of what is above that goes"


@given(HISTORIES, FLOORED, PERCENT)
def test_a_cut_falls_where_a_turn_begins(
    ops: list[Op], compactor: TruncateOldest | Summarize, percent: int
) -> None:
    transcript, plain = random_history(ops)
    before = list(transcript.view)
    plan = plan_of(compactor, transcript, room_of(transcript, percent))
    if plan is None:
        return
    record_plan(transcript, plan)
    kept = {item.id for item in transcript.view}
    users = [index for index, item in enumerate(before) if isinstance(item, Message) and item.role == "user"]
    gone = [index for index, item in enumerate(before) if item.id not in kept]
    if not users or any(index > users[-1] for index in gone):
        return  # the last turn alone was too long
    pinned = {plain.log[p].id for p in plain.pinned()}
    cut = next(index for index in users if index > max(gone))
    later = {i.id for i in before[cut:]} | {call.id for call in transcript.view.pending()}
    for item in before[:cut]:
        if item.id in kept and item.id not in pinned and not is_structural(item):
            assert {plain.log[p].id for p in plain.group(plain.find(item.id))} & later, "left behind"


def narrow(transcript: Transcript, reads: int) -> Room:
    return Room(max(transcript.view.tokens(TOKENS) // 2, 40), TOKENS, reads=reads)


def groups_in(request: Request, plain: PlainTranscript) -> set[int]:
    heads = {plain.heads[plain.find(item_id)] for item_id in request.items}
    return {head for head in heads if head >= 0}


@given(HISTORIES, READING, READS)
def test_a_request_can_be_read_at_once_and_has_whole_groups(
    ops: list[Op], compactor: Compactor, reads: int
) -> None:
    transcript, plain = random_history(ops)
    plan = plan_of(compactor, transcript, narrow(transcript, reads))
    if plan is None or plan.request is None:
        return
    size = TOKENS.total(sum(map(TOKENS.count, plan.request.prompt))) + plan.request.size
    assert size <= reads or len(groups_in(plan.request, plain)) == 1
    shown = {item.id for item in transcript.view}
    for head in groups_in(plan.request, plain):
        assert {plain.log[p].id for p in plain.group(head)} & shown <= set(plan.request.items)


@given(HISTORIES, READING, READS)
def test_part_by_part_everything_is_summarized(ops: list[Op], compactor: Compactor, reads: int) -> None:
    transcript, _ = random_history(ops)
    space = narrow(transcript, reads)
    wide = Room(space.tokens, TOKENS, reads=10**6)
    is_due, steps = plan_of(compactor, transcript, wide) is not None, 0
    while (plan := plan_of(compactor, transcript, space)) is not None:
        before = transcript.view.tokens(TOKENS)
        assert record_plan(transcript, plan, length=0.2).fate == "kept"
        assert transcript.view.tokens(TOKENS) < before
        steps += 1
        if plan.request is None or not plan.request.is_part:
            break
    assert bool(steps) == is_due and plan_of(compactor, transcript, wide) is None


@given(HISTORIES, st.sampled_from(COMPACTORS), PERCENT, st.integers(20, 110))
def test_what_was_undone_is_compacted_again_only_if_nothing_else_makes_the_view_fit(
    ops: list[Op], compactor: Compactor, percent: int, later: int
) -> None:
    transcript, _ = random_history(ops)
    whole, plan = transcript.view, plan_of(compactor, transcript, room_of(transcript, percent))
    if plan is None or not record_plan(transcript, plan):
        return
    undone = [item.id for item in whole if transcript.view.fate(item.id) != whole.fate(item.id)]
    for edit in reversed(transcript.recorded(whole.revision)):
        transcript.append(Undo(edit.id))
    shown, room = transcript.view, room_of(transcript, later)
    assert list(shown) == list(whole)
    try:
        again = plan_around_undone(compactor, shown, room)
    except Irreducible:
        return
    if again is None:
        return
    assert again.before == shown.tokens(TOKENS) and again.saved > 0
    trial, usual = transcript.copy(), plan_of(compactor, transcript, room)
    assert usual is not None
    is_kept = bool(record_plan(trial, usual))
    if is_kept and any(trial.view.fate(item) != shown.fate(item) for item in undone) and not again.forced:
        assert again.after <= room.tokens or (again.request is not None and again.request.is_part)
    if record_plan(transcript, again):
        is_touched = any(transcript.view.fate(item) != shown.fate(item) for item in undone)
        assert is_touched == again.forced
        assert again.request is not None or transcript.view.tokens(TOKENS) == again.after
    assert not again.forced or shown.tokens(TOKENS) > room.tokens
