"""Laws 5 to 9 and 13 for every compactor, over random histories."""

import contextlib

import pytest
from hypothesis import given, strategies as st

from quire.compactors import Compactor, Plan, Request, Room, Summarize, TruncateOldest, record
from quire.errors import EditRefused, Irreducible
from quire.items import JSON, Edit, Hide, Item, Mask, Message, Pin, Span, Summary, ToolResult, Undo
from quire.providers import PROVIDERS
from quire.state import Pool, Transcript, structural
from quire.tokens import counter_for
from tests.compactors.compacting import (
    ANY_LENGTH,
    BY_FLOOR,
    COMPACTORS,
    HISTORIES,
    PERCENT,
    TOKENS,
    WITHIN,
    Wordy,
    go_on,
    played,
    recorded,
    room,
)
from tests.histories import Op
from tests.oracle import PlainTranscript
from tests.providers.conversations import MODELS, STEPS, TOOLS, Step, Talk

pytestmark = pytest.mark.laws

ANY = st.sampled_from(COMPACTORS)
FLOORED = st.sampled_from(BY_FLOOR)
SUMMARIZING = st.sampled_from(
    [
        Summarize(floor=2, ceiling=4),
        Summarize(unit="tokens", size=5),
        Summarize(unit="turns", floor=1, ceiling=2),
    ]
)
BRIEF = "{conversation}"
READING = st.sampled_from(
    [
        Summarize(floor=3, ceiling=6, prompt=BRIEF, size=10),
        Summarize(unit="tokens", prompt=BRIEF, size=10),
        Summarize(unit="turns", floor=1, ceiling=2, prompt=BRIEF, size=10),
    ]
)
READS = st.integers(120, 600)
COUNTER = counter_for("claude-sonnet-5")


def planned(compactor: Compactor, transcript: Transcript, space: Room) -> Plan | None:
    """What the compactor plans, or None if the view is irreducible."""
    try:
        return compactor.plan(transcript.view, space)
    except Irreducible:
        return None


@given(HISTORIES, ANY, PERCENT)
def test_a_plan_changes_nothing(ops: list[Op], compactor: Compactor, percent: int) -> None:
    transcript, _ = played(ops)
    log, shown = transcript.recorded(), list(transcript.view)
    first, second = (planned(compactor, transcript, room(transcript, percent)) for _ in range(2))
    assert transcript.recorded() == log and list(transcript.view) == shown
    assert (first is None) == (second is None)
    if first is not None and second is not None:
        assert (first.before, first.after) == (second.before, second.after)
        assert first.before == transcript.view.tokens(TOKENS) and first.saved > 0
        assert first.edits or first.request is not None


@given(HISTORIES, ANY, PERCENT, WITHIN)
def test_protected_items_and_groups_stay_whole_and_the_plan_is_exact(
    ops: list[Op], compactor: Compactor, percent: int, much: float
) -> None:
    transcript, plain = played(ops)
    before = list(transcript.view)
    protected = [item for item in _protected(before, plain) if not isinstance(item, Summary)]
    plan = planned(compactor, transcript, room(transcript, percent))
    if plan is None:
        return
    pool = Pool()
    assert recorded(transcript, plan, pool, much).fate == "kept"
    assert list(pool) == list(plan.notes)
    left = transcript.view.tokens(TOKENS)
    assert left == plan.after if plan.request is None or much == 1 else left <= plan.after
    restored = Transcript(JSON.decode(JSON.encode(transcript.recorded())))
    assert list(restored.view) == list(transcript.view)
    shown = {item.id: item for item in transcript.view}
    assert all(shown.get(item.id) == item for item in protected)
    was_shown = {item.id for item in before}
    for position, item in enumerate(plain.log):
        members = {plain.log[p].id for p in plain.group(position)} & was_shown
        if item.id in was_shown and plain.heads[position] >= 0:
            assert members <= shown.keys() or not members & shown.keys()
    for item in transcript.recorded(since=len(plain.log)):
        plain.append(item)
    assert list(transcript.view) == plain.shown()


def _protected(shown: list[Item], plain: PlainTranscript) -> list[Item]:
    pinned = {plain.log[p].id for p in plain.pinned()}
    waits = {plain.log[p].id for call in plain.open_calls() for p in plain.group(call)}
    users = [item.id for item in shown if isinstance(item, Message) and item.role == "user"]
    always = pinned | waits | set(users[-1:])
    return [item for item in shown if item.id in always or structural(item)]


def _never_left_out(shown: list[Item], plain: PlainTranscript) -> list[Item]:
    """The same with the last result, which may be masked."""
    stays = {item.id for item in _protected(shown, plain)}
    if shown and isinstance(shown[-1], ToolResult):
        newest = next(p for p, item in enumerate(plain.log) if item.id == shown[-1].id)
        stays |= {plain.log[p].id for p in plain.group(newest)}
    return [item for item in shown if item.id in stays]


@given(HISTORIES, ANY, PERCENT, ANY_LENGTH)
def test_words_of_any_length_make_nothing_larger_and_nothing_unfit(
    ops: list[Op], compactor: Compactor, percent: int, much: float
) -> None:
    transcript, _ = played(ops)
    space = room(transcript, percent)
    before, log = transcript.view.tokens(TOKENS), transcript.recorded()
    plan = planned(compactor, transcript, space)
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


@given(HISTORIES, ANY, PERCENT, WITHIN)
def test_compacting_twice_changes_nothing(
    ops: list[Op], compactor: Compactor, percent: int, much: float
) -> None:
    transcript, _ = played(ops)
    space = room(transcript, percent)
    plan = planned(compactor, transcript, space)
    if plan is None:
        return
    assert recorded(transcript, plan, much=much).fate == "kept"
    shown = list(transcript.view)
    assert compactor.plan(transcript.view, space) is None
    assert recorded(transcript, plan, much=much).fate == "discarded"
    assert list(transcript.view) == shown


@given(HISTORIES, FLOORED, PERCENT)
def test_the_view_is_at_the_floor_or_the_parts_are_named(
    ops: list[Op], compactor: TruncateOldest | Summarize, percent: int
) -> None:
    transcript, plain = played(ops)
    view, space = transcript.view, room(transcript, percent)
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
    recorded(transcript, plan)
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
    transcript, plain = played(ops)
    before = list(transcript.view)
    plan = planned(compactor, transcript, room(transcript, percent))
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
        plan = planned(compactor, transcript, room(transcript, percent))
        if plan is not None:
            assert plan.request is not None
            recorded(transcript, plan)
            folded = {i for i in plan.request.items if isinstance(transcript.get(i), Summary)}
            now = {item.id for item in transcript.view}
            assert not folded & now and len(now - shown) == 1
            for item in transcript.recorded(since=len(plain.log)):
                plain.append(item)
        go_on(transcript, plain, later, author)
    assert list(transcript.view) == plain.shown()


@given(HISTORIES, SUMMARIZING, PERCENT, st.sampled_from([None, "", " \n\t"]))
def test_an_empty_summary_changes_nothing(
    ops: list[Op], compactor: Summarize, percent: int, text: str | None
) -> None:
    transcript, _ = played(ops)
    plan = planned(compactor, transcript, room(transcript, percent))
    if plan is None:
        return
    log = transcript.recorded()
    outcome = record(transcript, plan, text=text)
    assert outcome.fate == "discarded" and outcome.reason and not outcome.edits
    assert transcript.recorded() == log


@given(HISTORIES, SUMMARIZING, PERCENT, st.integers(0, 3), st.integers(0, 63))
def test_a_late_summary_is_kept_only_if_its_items_are_unchanged(
    ops: list[Op], compactor: Summarize, percent: int, code: int, pick: int
) -> None:
    transcript, _ = played(ops)
    plan = planned(compactor, transcript, room(transcript, percent))
    if plan is None or plan.request is None:
        return
    transcript.append(Message("user", "meanwhile", created_at=1e6))
    before = [transcript.view.fate(item) for item in plan.request.items]
    target = plan.request.items[pick % len(plan.request.items)]
    edits: tuple[Edit, ...] = (
        Hide((Span(target, target),)),
        Mask(target, "[-]"),
        Pin(target),
        Undo(target),
    )
    with contextlib.suppress(EditRefused):
        transcript.append(edits[code])
    changed = before != [transcript.view.fate(item) for item in plan.request.items]
    shown = list(transcript.view)
    outcome = record(transcript, plan, text="a gist")
    if changed:
        assert outcome.fate == "discarded"
        assert list(transcript.view) == shown
    else:
        assert outcome.fate == "kept"


@given(STEPS, STEPS, st.sampled_from(COMPACTORS), st.integers(10, 120))
def test_no_wire_finds_a_fault_after_compaction(
    past: list[Step], later: list[Step], compactor: Compactor, percent: int
) -> None:
    talk = Talk()
    pool = Pool()
    for steps in (past, later):
        talk.play(steps)
        view = talk.transcript.view
        try:
            plan = compactor.plan(view, Room(view.tokens(COUNTER) * percent // 100, COUNTER))
        except Irreducible:
            continue
        if plan is not None:
            outcome = recorded(talk.transcript, plan, pool, much=0.0)
            assert outcome.fate == "kept" or (plan.request is not None and plan.request.size < 4)
        for wire, provider in PROVIDERS.items():
            model = MODELS[wire][0]
            rendered = provider.render(talk.transcript.view, model=model, tools=TOOLS)
            assert provider.check(rendered.payload, model) == []


def narrow(transcript: Transcript, reads: int) -> Room:
    return Room(max(transcript.view.tokens(TOKENS) // 2, 40), TOKENS, reads=reads)


def groups_in(request: Request, plain: PlainTranscript) -> set[int]:
    heads = {plain.heads[plain.find(item_id)] for item_id in request.items}
    return {head for head in heads if head >= 0}


@given(HISTORIES, READING, READS)
def test_a_request_can_be_read_at_once_and_has_whole_groups(
    ops: list[Op], compactor: Compactor, reads: int
) -> None:
    transcript, plain = played(ops)
    plan = planned(compactor, transcript, narrow(transcript, reads))
    if plan is None or plan.request is None:
        return
    size = TOKENS.total(sum(map(TOKENS.count, plan.request.prompt))) + plan.request.size
    assert size <= reads or len(groups_in(plan.request, plain)) == 1
    shown = {item.id for item in transcript.view}
    for head in groups_in(plan.request, plain):
        assert {plain.log[p].id for p in plain.group(head)} & shown <= set(plan.request.items)


@given(HISTORIES, READING, READS)
def test_part_by_part_everything_is_summarized(ops: list[Op], compactor: Compactor, reads: int) -> None:
    transcript, _ = played(ops)
    space = narrow(transcript, reads)
    wide = Room(space.tokens, TOKENS, reads=10**6)
    is_due, steps = planned(compactor, transcript, wide) is not None, 0
    while (plan := planned(compactor, transcript, space)) is not None:
        before = transcript.view.tokens(TOKENS)
        assert recorded(transcript, plan, much=0.2).fate == "kept"
        assert transcript.view.tokens(TOKENS) < before
        steps += 1
        if plan.request is None or not plan.request.is_part:
            break
    assert bool(steps) == is_due and planned(compactor, transcript, wide) is None
