"""Laws 5 and 6 on the way to shrink that needs no words, and on forks and merges, over random histories."""

import pytest
from hypothesis import given, strategies as st

from quire.errors import Irreducible
from quire.items import ConfigChange, Item, Message, Pin, Summary, ToolCall, ToolResult
from quire.state import (
    Transcript,
    fork_scoped,
    instructions,
    is_closing,
    merge_all,
    merge_result,
    of_kind,
    plan_summary,
    structural,
    truncate,
)
from tests.counting import FourCharacters, Items
from tests.histories import OPS, Author, Op
from tests.oracle import PlainTranscript, is_edit
from tests.state.chains import play
from tests.state.test_transcript_laws import check

pytestmark = [pytest.mark.laws, pytest.mark.usefixtures("lineage")]

TOKENS = FourCharacters()


def plain_of(transcript: Transcript) -> PlainTranscript:
    plain = PlainTranscript()
    for item in transcript.recorded():
        plain.append(item)
    return plain


@given(OPS, st.integers(0, 400))
def test_truncation_reaches_its_aim_or_says_why_not(ops: list[Op], tokens: int) -> None:
    transcript, plain = Transcript(), PlainTranscript()
    transcript = play(ops, transcript, plain, Author())
    before = transcript.view
    try:
        edit = truncate(before, tokens=tokens, counter=TOKENS)
    except Irreducible as error:
        assert before.tokens(TOKENS) > tokens
        assert set(error.parts) <= {item.id for item in before}
        assert TOKENS.total(sum(TOKENS.count(i) for i in before if i.id in error.parts)) > tokens
        return
    if edit is None:
        assert before.tokens(TOKENS) <= tokens
        return
    transcript.append(edit)
    plain.append(edit)
    check(transcript, plain)
    assert transcript.view.tokens(TOKENS) <= tokens
    assert truncate(transcript.view, tokens=tokens, counter=TOKENS) is None
    kept = {item.id for item in transcript.view}
    assert {item.id for item in before if structural(item)} <= kept


@given(OPS, st.integers(1, 12))
def test_a_cut_falls_where_a_turn_begins(ops: list[Op], limit: int) -> None:
    transcript, plain = Transcript(), PlainTranscript()
    transcript = play(ops, transcript, plain, Author())
    try:
        edit = truncate(transcript.view, tokens=limit, counter=Items())
    except Irreducible:
        return
    if edit is None:
        return
    before = list(transcript.view)
    transcript.append(edit)
    kept = {item.id for item in transcript.view}
    users = [index for index, item in enumerate(before) if isinstance(item, Message) and item.role == "user"]
    gone = [index for index, item in enumerate(before) if item.id not in kept]
    inside = [index for index in gone if users and index > users[-1]]
    if inside or not users:
        return  # the last turn alone was too long
    pinned = {plain.log[p].id for p in plain.pinned()}
    cut = next(index for index in users if index > max(gone))  # the turn with which the shown part begins
    later = {i.id for i in before[cut:]} | {call.id for call in transcript.view.pending()}
    for item in before[:cut]:
        if item.id in kept and item.id not in pinned and not structural(item):
            assert {plain.log[p].id for p in plain.group(plain.find(item.id))} & later, "left behind"


@given(OPS, st.integers(1, 4), st.sets(st.sampled_from(["tool0", "tool1", "tool2"])) | st.none())
def test_a_narrow_fork_shows_its_scope(ops: list[Op], turns: int, tools: set[str] | None) -> None:
    parent, plain = Transcript(), PlainTranscript()
    parent = play(ops, parent, plain, Author())
    before = list(parent.view)
    child = fork_scoped(parent, turns=turns, tools=tools)
    assert list(parent.view) == before
    twin = plain.copy()
    for item in child.recorded(since=len(parent)):
        twin.append(item)
    check(child, twin)
    shown = list(child.view)
    pinned = {twin.log[p].id for p in twin.pinned()}
    told = [i for i in before if isinstance(i, ConfigChange) or (isinstance(i, Message) and "rule" in i.text)]
    assert [i.id for i in shown if i.id in {t.id for t in told}] == [t.id for t in told]
    users = [i.id for i in before if isinstance(i, Message) and i.role == "user"]
    kept = [i.id for i in shown if isinstance(i, Message) and i.role == "user"]
    assert [i for i in kept if i not in pinned] == [i for i in users[-turns:] if i not in pinned]
    if tools is not None:
        assert all(
            i.name in tools or i.id in pinned
            for i in shown
            if isinstance(i, ToolCall | ToolResult) and not i.call_id.startswith("orphan")
        )


@given(OPS, OPS, OPS)
def test_merging_brings_all_once_and_at_the_end(past: list[Op], ours: list[Op], theirs: list[Op]) -> None:
    parent, plain = Transcript(), PlainTranscript()
    parent = play(past, parent, plain, Author())
    child = parent.fork()
    child = play(theirs, child, plain_of(child), Author("q"))
    parent = play(ours, parent, plain, Author("p"))
    own = [i for i in child.recorded() if not is_edit(i) and not is_closing(i) and i.id not in parent]
    closed = [i.id for i in parent.recorded() if is_closing(i)]
    merged = merge_all(parent, child, agent_id="worker")
    told = {i.id for i in own if (instructions | of_kind(ConfigChange))(i)}
    assert {i.id for i in own} - {i.id for i in merged} == told
    assert all(i.agent_id for i in merged if not is_edit(i))
    for item in merged:
        plain.append(item)
    check(parent, plain)
    assert merge_all(parent, child) == []
    assert [i.id for i in parent.recorded() if is_closing(i)] == closed


@given(OPS, OPS)
def test_a_result_or_a_summary_comes_back_once(past: list[Op], theirs: list[Op]) -> None:
    parent, plain = Transcript(), PlainTranscript()
    parent = play(past, parent, plain, Author())
    child = parent.fork()
    child = play(theirs, child, plain_of(child), Author("q"))
    spoken = [
        group.items[-1] for group in child.view.groups() if not any(map(of_kind(ToolCall), group.items))
    ]
    answers = [i.id for i in spoken if isinstance(i, Message) and i.role == "assistant"]
    known = {item.id for item in plain.log}
    merged = merge_result(parent, child, agent_id="worker")
    assert [i.id for i in merged] == [i for i in answers[-1:] if i not in known]
    assert all(i.agent_id in ("worker", "helper") for i in merged)
    assert merge_result(parent, child) == []
    plan = plan_summary(parent, child, agent_id="worker")
    if plan is not None:
        assert plan.summary(" ") is None
        summary = plan.summary("it went well")
        assert isinstance(summary, Summary)
        parent.append(summary)
        assert parent.view[-1] == summary
        assert plan_summary(parent, child) is None


@given(OPS)
def test_pins_survive_forks_and_replays(ops: list[Op]) -> None:
    transcript, plain = Transcript(), PlainTranscript()
    transcript = play(ops, transcript, plain, Author())
    replayed = Transcript(transcript.recorded())
    assert list(replayed.view) == list(transcript.view)
    pinned: list[Item] = [plain.log[p] for p in plain.active() if isinstance(plain.log[p], Pin)]
    for pin in pinned:
        assert isinstance(pin, Pin)
        assert transcript.view.fate(pin.target).state == "pinned"
        assert transcript.fork().view.fate(pin.target).state == "pinned"
