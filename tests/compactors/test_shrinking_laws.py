"""Laws 5 to 8, held by every compactor over random histories."""

import pytest
from hypothesis import given, strategies as st

from quire.compactors import (
    Cascade,
    ClearToolResults,
    Compactor,
    Plan,
    Planner,
    Room,
    Summarize,
    TruncateOldest,
)
from quire.errors import Irreducible
from quire.items import JSON, Item, Message, Summary, ToolResult
from quire.state import Pool, Transcript, structural
from tests.compactors.compacting import (
    ANY_LENGTH,
    BY_FLOOR,
    COMPACTORS,
    HISTORIES,
    PERCENT,
    TOKENS,
    WITHIN,
    Wordy,
    played,
    recorded,
    room,
)
from tests.histories import Op
from tests.oracle import PlainTranscript
from tests.state.chains import check, play

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


@given(HISTORIES, ANY, PERCENT, WITHIN)
def test_what_must_stay_stays_word_for_word(
    ops: list[Op], compactor: Compactor, percent: int, much: float
) -> None:
    transcript, plain = played(ops)
    before = list(transcript.view)
    must = [item for item in _must_stay(before, plain) if not isinstance(item, Summary)]
    plan = planned(compactor, transcript, percent)
    if plan is None:
        return
    assert recorded(transcript, plan, much=much).fate == "kept"
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


@given(HISTORIES, ANY, PERCENT, WITHIN)
def test_what_a_plan_foresees_comes_true(
    ops: list[Op], compactor: Compactor, percent: int, much: float
) -> None:
    transcript, _ = played(ops)
    plan = planned(compactor, transcript, percent)
    if plan is None:
        return
    pool = Pool()
    assert recorded(transcript, plan, pool, much).fate == "kept"
    left = transcript.view.tokens(TOKENS)
    assert left == plan.after if plan.request is None or much == 1 else left <= plan.after
    assert list(pool) == list(plan.notes)
    assert plan.saved > 0
    assert plan.request is None or plan.after <= room_before(plan).tokens


def room_before(plan: Plan) -> Room:
    """The room that words were planned for."""
    assert plan.request is not None and plan.request.room is not None
    return plan.request.room


@given(HISTORIES, ANY, PERCENT, ANY_LENGTH)
def test_words_of_any_length_make_nothing_larger_and_nothing_unfit(
    ops: list[Op], compactor: Compactor, percent: int, much: float
) -> None:
    transcript, _ = played(ops)
    space = room(transcript, percent)
    before, log = transcript.view.tokens(TOKENS), transcript.recorded()
    plan = planned(compactor, transcript, percent)
    if plan is None:
        return
    pool = Pool()
    outcome = recorded(transcript, plan, pool, much)
    left = transcript.view.tokens(TOKENS)
    if outcome.fate == "discarded":
        assert much > 1 and outcome.reason
        assert transcript.recorded() == log and not list(pool)
    else:
        assert left < before
        assert left <= space.tokens or plan.after > space.tokens or much > 1


@given(HISTORIES, ANY, PERCENT)
def test_what_does_not_fit_is_made_to_or_the_parts_are_named(
    ops: list[Op], compactor: Compactor, percent: int
) -> None:
    """Clearing and offloading alone take what there is to take; where they are not enough, others go on."""
    transcript, _ = played(ops)
    space = room(transcript, percent)
    held = transcript.view.tokens(TOKENS)
    try:
        plan = compactor.plan(transcript.view, space)
    except Irreducible as fault:
        assert set(fault.parts) <= {item.id for item in transcript.view}
        # Nobody is to blame where there is no room for the framing of a request and a few words.
        assert fault.parts or space.tokens <= TOKENS.total(TOKENS.count(Summary("w" * 40)))
        return
    if held > space.tokens and _has_a_floor(compactor):
        assert plan is not None and plan.after <= space.tokens
    if held > space.tokens and plan is not None and isinstance(compactor, Cascade | Planner):
        _assert_enough(compactor, transcript, plan, space)


def _has_a_floor(compactor: Compactor) -> bool:
    """Whether something in it goes down to a floor of tokens."""
    inner = compactor.compactors if isinstance(compactor, Cascade | Planner) else ()
    by_tokens = isinstance(compactor, TruncateOldest | Summarize) and compactor.unit == "tokens"
    return by_tokens or any(map(_has_a_floor, inner))


def _assert_enough(compactor: Compactor, transcript: Transcript, plan: Plan, space: Room) -> None:
    """A quarter is free, or none of those that had nothing to say would have taken more."""
    if plan.request is not None or plan.after <= space.tokens - space.tokens // 4:
        return
    assert recorded(transcript, plan).fate == "kept"
    early = Room(space.tokens, space.counter, early=True)
    for one in compactor.compactors if isinstance(compactor, Cascade) else ():
        if f"{one.name}: " in plan.reason:
            continue  # it has gone as far as it goes at once
        try:
            more = one.plan(transcript.view, early)
        except Irreducible:
            continue
        assert more is None, f"{one.name} could have gone on"


@given(HISTORIES, ANY, PERCENT, WITHIN)
def test_compacting_twice_changes_nothing(
    ops: list[Op], compactor: Compactor, percent: int, much: float
) -> None:
    transcript, _ = played(ops)
    space = room(transcript, percent)
    plan = planned(compactor, transcript, percent)
    if plan is None:
        return
    assert recorded(transcript, plan, much=much).fate == "kept"
    shown = list(transcript.view)
    assert compactor.plan(transcript.view, space) is None
    again = recorded(transcript, plan, much=much)
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
    if plan is None:
        assert held <= extent.ceiling or _gains_nothing(compactor, transcript, space)
        return
    assert held > extent.ceiling
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


def _gains_nothing(compactor: TruncateOldest | Summarize, transcript: Transcript, space: Room) -> bool:
    """Whether all fits, and what would go takes no more than the shortest of summaries."""
    assert isinstance(compactor, Summarize) and compactor.unit != "tokens"
    old = TruncateOldest(unit=compactor.unit, floor=compactor.floor, ceiling=compactor.ceiling)
    plan = old.plan(transcript.view, space)
    earlier = sum(TOKENS.count(item) for item in transcript.view if isinstance(item, Summary))
    shortest = TOKENS.count(Summary("w" * 4))
    fits = transcript.view.tokens(TOKENS) <= space.tokens
    return fits and plan is not None and plan.saved + earlier <= shortest


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
