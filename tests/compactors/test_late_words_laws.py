"""Law 9: words that are empty, missing or late change nothing. Law 13 after every compactor."""

import contextlib

import pytest
from hypothesis import given, strategies as st

from quire.compactors import Compactor, Plan, Room, Summarize, record
from quire.errors import EditRefused, Irreducible
from quire.items import Edit, Hide, Mask, Message, Pin, Span, Undo
from quire.providers import PROVIDERS
from quire.state import Pool, Transcript
from quire.tokens import counter_for
from tests.compactors.compacting import COMPACTORS, HISTORIES, PERCENT, played, recorded, room
from tests.histories import Op
from tests.providers.conversations import MODELS, STEPS, TOOLS, Step, Talk

pytestmark = pytest.mark.laws

ASKING = st.sampled_from(
    [
        Summarize(floor=2, ceiling=4),
        Summarize(unit="tokens", size=5),
        Summarize(unit="turns", floor=1, ceiling=2),
    ]
)
COUNTER = counter_for("claude-sonnet-5")


def request_of(compactor: Compactor, transcript: Transcript, percent: int) -> Plan | None:
    try:
        return compactor.plan(transcript.view, room(transcript, percent))
    except Irreducible:
        return None


@given(HISTORIES, ASKING, PERCENT, st.sampled_from([None, "", " \n\t"]))
def test_no_words_change_nothing(ops: list[Op], compactor: Summarize, percent: int, text: str | None) -> None:
    transcript, _ = played(ops)
    plan = request_of(compactor, transcript, percent)
    if plan is None:
        return
    log = transcript.recorded()
    outcome = record(transcript, plan, text=text)
    assert outcome.fate == "discarded" and outcome.reason and not outcome.edits
    assert transcript.recorded() == log


@given(HISTORIES, ASKING, PERCENT, st.integers(0, 3), st.integers(0, 63))
def test_late_words_are_kept_only_if_all_is_as_it_was(
    ops: list[Op], compactor: Summarize, percent: int, code: int, pick: int
) -> None:
    transcript, _ = played(ops)
    plan = request_of(compactor, transcript, percent)
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


@given(HISTORIES, ASKING, PERCENT)
def test_the_prompt_tells_all_and_is_bounded(ops: list[Op], compactor: Summarize, percent: int) -> None:
    transcript, _ = played(ops)
    plan = request_of(compactor, transcript, percent)
    if plan is None or plan.request is None:
        return
    told = " ".join(item.text for item in plan.request.prompt if isinstance(item, Message))
    shown = {item.id: item for item in transcript.view}
    assert set(plan.request.items) <= shown.keys()
    words = [item.text for item in map(shown.get, plan.request.items) if isinstance(item, Message)]
    assert all(text.strip() in told for text in words if "\n" not in text)
    assert len(told) < 3_000 + 1_200 * len(plan.request.items)


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
