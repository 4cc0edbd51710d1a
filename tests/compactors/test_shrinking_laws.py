"""Laws 5 to 8, held by every compactor over random histories."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.compactors import ClearToolResults, Compactor, Plan, Room, Summarize, TruncateOldest
from quire.errors import Irreducible
from quire.items import JSON, Item, Message, Summary, ToolResult
from quire.state import Pool, Transcript, structural
from tests.compactors.compacting import (
    BY_FLOOR,
    COMPACTORS,
    HISTORIES,
    PERCENT,
    TOKENS,
    Wordy,
    played,
    recorded,
    room,
)
from tests.histories import Op
from tests.oracle import PlainTranscript
from tests.state.chains import play
from tests.state.test_transcript_laws import check

pytestmark = [pytest.mark.laws, pytest.mark.usefixtures("lineage")]

ANY = st.sampled_from(COMPACTORS)
FLOORED = st.sampled_from(BY_FLOOR)


def planned(compactor: Compactor, transcript: Transcript, percent: int) -> Plan | None:
    """What the compactor says, or nothing where it is at its end."""
    try:
        return compactor.plan(transcript.view, room(transcript, percent))
    except Irreducible:
        return None


@given(HISTORIES, ANY, PERCENT)
def test_a_plan_changes_nothing(ops: list[Op], compactor: Compactor, percent: int) -> None:
    transcript, plain = played(ops)
    log, shown = transcript.recorded(), list(transcript.view)
    first, second = (planned(compactor, transcript, percent) for _ in range(2))
    assert transcript.recorded() == log
    assert list(transcript.view) == shown
    check(transcript, plain)
    if first is not None and second is not None:
        assert (first.before, first.after, len(first.edits)) == (
            second.before,
            second.after,
            len(second.edits),
        )
        assert first.before == transcript.view.tokens(TOKENS)
        assert first.edits or first.request is not None
    assert (first is None) == (second is None)


@given(HISTORIES, ANY, PERCENT)
def test_what_must_stay_stays_word_for_word(ops: list[Op], compactor: Compactor, percent: int) -> None:
    transcript, plain = played(ops)
    before = list(transcript.view)
    must = [item for item in _must_stay(before, plain) if not isinstance(item, Summary)]
    plan = planned(compactor, transcript, percent)
    if plan is None:
        return
    assert recorded(transcript, plan).fate == "kept"
    for item in transcript.recorded(since=len(plain.log)):
        plain.append(item)
    check(transcript, plain)
    restored = Transcript(JSON.decode(JSON.encode(transcript.recorded())))
    assert list(restored.view) == list(transcript.view)
    for somewhere in (transcript, restored, transcript.fork()):
        shown = {item.id: item for item in somewhere.view}
        assert all(shown.get(item.id) == item for item in must)


def _must_stay(shown: list[Item], plain: PlainTranscript) -> list[Item]:
    pinned = {plain.log[p].id for p in plain.pinned()}
    waits = {plain.log[p].id for call in plain.open_calls() for p in plain.group(call)}
    users = [item.id for item in shown if isinstance(item, Message) and item.role == "user"]
    always = pinned | waits | set(users[-1:])
    return [item for item in shown if item.id in always or structural(item)]


def _must_be_shown(shown: list[Item], plain: PlainTranscript) -> list[Item]:
    """The same with what a tool gave last, which may be masked and not left out."""
    stays = {item.id for item in _must_stay(shown, plain)}
    if shown and isinstance(shown[-1], ToolResult):
        newest = next(p for p, item in enumerate(plain.log) if item.id == shown[-1].id)
        stays |= {plain.log[p].id for p in plain.group(newest)}
    return [item for item in shown if item.id in stays]


@given(HISTORIES, ANY, PERCENT)
def test_groups_are_atomic(ops: list[Op], compactor: Compactor, percent: int) -> None:
    transcript, plain = played(ops)
    shown = {item.id for item in transcript.view}
    plan = planned(compactor, transcript, percent)
    if plan is None:
        return
    recorded(transcript, plan)
    left = {item.id for item in transcript.view}
    for position, item in enumerate(plain.log):
        members = {plain.log[p].id for p in plain.group(position)} & shown
        if item.id in shown and plain.heads[position] >= 0:
            assert members <= left or not members & left


@given(HISTORIES, ANY, PERCENT)
def test_what_a_plan_foresees_comes_true(ops: list[Op], compactor: Compactor, percent: int) -> None:
    transcript, _ = played(ops)
    plan = planned(compactor, transcript, percent)
    if plan is None:
        return
    pool = Pool()
    recorded(transcript, plan, pool)
    left = transcript.view.tokens(TOKENS)
    assert left == plan.after if plan.request is None else left <= plan.after
    assert list(pool) == list(plan.notes)
    if plan.request is None:
        assert plan.saved > 0 or _goes_by_numbers(compactor)


def _goes_by_numbers(compactor: Compactor) -> bool:
    """Whether it counts messages or turns: these may have no tokens to speak of."""
    return isinstance(compactor, TruncateOldest | Summarize) and compactor.unit != "tokens"


@given(HISTORIES, ANY, PERCENT)
def test_compacting_twice_changes_nothing(ops: list[Op], compactor: Compactor, percent: int) -> None:
    transcript, _ = played(ops)
    space = room(transcript, percent)
    plan = planned(compactor, transcript, percent)
    if plan is None:
        return
    assert recorded(transcript, plan).fate == "kept"
    shown = list(transcript.view)
    assert compactor.plan(transcript.view, space) is None
    again = recorded(transcript, plan)
    assert again.fate == "discarded"
    assert list(transcript.view) == shown


@given(HISTORIES, FLOORED, PERCENT)
def test_the_view_is_at_the_floor_or_the_parts_are_named(
    ops: list[Op], compactor: TruncateOldest | Summarize, percent: int
) -> None:
    transcript, plain = played(ops)
    view = transcript.view
    space = room(transcript, percent)
    extent = compactor.extent(space)
    held = view.tokens(extent.counter)
    try:
        plan = compactor.plan(view, space)
    except Irreducible as fault:
        assert held > extent.ceiling
        parts = [item for item in view if item.id in fault.parts]
        assert len(parts) == len(fault.parts)
        size = compactor.size if isinstance(compactor, Summarize) else 0
        assert extent.counter.total(sum(map(extent.counter.count, parts))) + size + 5 > extent.floor
        return
    assert (plan is None) == (held <= extent.ceiling)
    if plan is None:
        return
    recorded(transcript, plan)
    for item in transcript.recorded(since=len(plain.log)):
        plain.append(item)
    left = transcript.view.tokens(extent.counter)
    assert left <= extent.ceiling
    if left > extent.floor and not (isinstance(compactor, Summarize) and compactor.keep_turns):
        slack = compactor.size if isinstance(compactor, Summarize) else 0
        stays = _must_be_shown(list(transcript.view), plain)
        lowest = extent.counter.total(sum(map(extent.counter.count, stays)))
        assert lowest + slack > extent.floor, "the floor could be reached"
        assert left <= (lowest + slack + extent.ceiling) // 2, "half of what is above that goes"


@given(HISTORIES, FLOORED, PERCENT)
def test_a_cut_falls_where_a_turn_begins(
    ops: list[Op], compactor: TruncateOldest | Summarize, percent: int
) -> None:
    transcript, plain = played(ops)
    before = list(transcript.view)
    plan = planned(compactor, transcript, percent)
    if plan is None:
        return
    recorded(transcript, plan)
    kept = {item.id for item in transcript.view}
    users = [index for index, item in enumerate(before) if isinstance(item, Message) and item.role == "user"]
    gone = [index for index, item in enumerate(before) if item.id not in kept]
    if not users or any(index > users[-1] for index in gone):
        return  # the last turn alone was too long
    pinned = {plain.log[p].id for p in plain.pinned()}
    cut = next(index for index in users if index > max(gone))
    later = {i.id for i in before[cut:]} | {call.id for call in transcript.view.pending()}
    for item in before[:cut]:
        if item.id in kept and item.id not in pinned and not structural(item):
            assert {plain.log[p].id for p in plain.group(plain.find(item.id))} & later, "left behind"


@given(HISTORIES, HISTORIES, st.sampled_from([c for c in BY_FLOOR if isinstance(c, Summarize)]), PERCENT)
def test_a_summary_folds_the_earlier_one(
    past: list[Op], later: list[Op], compactor: Summarize, percent: int
) -> None:
    transcript, plain = played(past)
    for author in (Wordy("y"), Wordy("z")):
        shown = {item.id for item in transcript.view}
        plan = planned(compactor, transcript, percent)
        if plan is not None:
            assert plan.request is not None
            recorded(transcript, plan)
            told = {i for i in plan.request.items if isinstance(transcript.get(i), Summary)}
            now = {item.id for item in transcript.view}
            assert not told & now
            assert len(now - shown) == 1, "one summary comes"
            for item in transcript.recorded(since=len(plain.log)):
                plain.append(item)
        transcript = play(later, transcript, plain, author)
    check(transcript, plain)


@given(HISTORIES, st.integers(0, 3), PERCENT)
def test_the_newest_results_are_not_cleared(ops: list[Op], keep: int, percent: int) -> None:
    transcript, _ = played(ops)
    results = [item for item in transcript.view if isinstance(item, ToolResult)]
    plan = planned(ClearToolResults(keep=keep, at_least=5, stub="-"), transcript, percent)
    if plan is None:
        return
    assert plan.saved >= 5 and percent < 100
    recorded(transcript, plan)
    left = [item for item in transcript.view if isinstance(item, ToolResult)]
    assert left[len(left) - keep :] == results[len(results) - keep :]


@given(HISTORIES, ANY)
def test_an_early_plan_is_as_good_as_any(ops: list[Op], compactor: Compactor) -> None:
    transcript, plain = played(ops)
    early = Room(2 * transcript.view.tokens(TOKENS), TOKENS, early=True)
    try:
        plan = compactor.plan(transcript.view, early)
    except Irreducible:
        return
    if plan is None:
        return
    assert recorded(transcript, plan).fate == "kept"
    for item in transcript.recorded(since=len(plain.log)):
        plain.append(item)
    check(transcript, plain)
    assert transcript.view.tokens(TOKENS) <= plan.after
