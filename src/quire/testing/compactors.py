"""The laws of a compactor: protected items stay, groups stay whole, and a plan does once what it says."""

from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import ClassVar

import msgspec
from hypothesis import given, strategies as st

from quire.compactors import Compactor, Outcome, Plan, Room, record
from quire.errors import EditRefused, Irreducible
from quire.items import (
    JSON,
    Edit,
    Hide,
    Item,
    Mask,
    Message,
    Pin,
    Span,
    Summary,
    ToolResult,
    Undo,
    is_below,
    lowest,
    own_origin,
)
from quire.providers import PROVIDERS
from quire.state import Pool, Transcript, is_structural, origin_of
from quire.testing.conversations import MODELS, STEPS, TOOLS, Step, Talk
from quire.testing.examples import examples
from quire.testing.histories import OPS, Author, Op, apply_ops
from quire.testing.plain import FourCharacters, PlainTranscript
from quire.tokens import counter_for

TOKENS = FourCharacters()
_COUNTER = counter_for("claude-sonnet-5")
_USUAL_CODES = (0, 0, 0, 0, 1, 1, 1, 1, 2, 3, 3, 4, 5, 6, 7, 7, 7, 8, 8, 10)
_RARE_CODES = (8, 9, 10, 11, 12, 13, 14, 14, 15, 15, 16)  # one operation in eight: most are edits
_MAX_EXTRA_OPS = 36
_TRIES = 200


def _many_ops(seed: int) -> list[Op]:
    random = Random(seed)
    draw = random.randrange
    return [
        (random.choice(_USUAL_CODES if draw(8) else _RARE_CODES), draw(64), draw(64), draw(36))
        for _ in range(12 + draw(_MAX_EXTRA_OPS))
    ]


# A few operations, which hypothesis can shrink; or enough operations to fill a view.
HISTORIES = st.one_of(OPS, st.integers(0, 2**32).map(_many_ops))
PERCENT = st.one_of(st.integers(0, 110), st.integers(40, 99))
"""The room, in percent of the view."""

AT_MOST_REQUESTED = st.sampled_from([0.0, 0.5, 1.0])
ANY_LENGTH = st.sampled_from([0.0, 1.0, 1.2, 2.0, 3.0, 40.0])
"""Lengths of a summary, as factors of the requested size."""


class LongWinded(Author):
    """An author with long tool results."""

    def item(self, transcript: Transcript, op: Op) -> Item | None:
        item = super().item(transcript, op)
        if isinstance(item, ToolResult) and isinstance(item.content, str):
            return msgspec.structs.replace(item, content=item.content + " and so on" * (op[1] + 1))
        return item


def random_history(ops: list[Op]) -> tuple[Transcript, PlainTranscript]:
    """A random history, and its plain counterpart."""
    transcript, plain = Transcript(), PlainTranscript()
    apply_ops(ops, transcript, LongWinded(), plain)
    return transcript, plain


def room_of(transcript: Transcript, percent: int) -> Room:
    """A room of `percent` of the view."""
    return Room(transcript.view.tokens(TOKENS) * percent // 100, TOKENS)


def plan_of(compactor: Compactor, transcript: Transcript, room: Room) -> Plan | None:
    """The plan of a compactor, or None if the view is irreducible."""
    try:
        return compactor.plan(transcript.view, room)
    except Irreducible:
        return None


def record_plan(transcript: Transcript, plan: Plan, pool: Pool | None = None, length: float = 1.0) -> Outcome:
    """Record a plan; a requested summary has `length` times the requested size."""
    text = None if plan.request is None else "w" * max(int(4 * plan.request.size * length), 3)
    return record(transcript, plan, text=text, pool=Pool() if pool is None else pool)


def protected(shown: list[Item], plain: PlainTranscript) -> list[Item]:
    """The items that must stay: pins, waiting calls, the last user message, and structural items."""
    pinned = {plain.log[p].id for p in plain.pinned()}
    waiting = {plain.log[p].id for call in plain.open_calls() for p in plain.group(call)}
    users = [item.id for item in shown if isinstance(item, Message) and item.role == "user"]
    always = pinned | waiting | set(users[-1:])
    return [item for item in shown if item.id in always or is_structural(item)]


class CompactorLaws:
    """The laws of a compactor. A subclass sets `compactors`, and pytest runs them.

    The histories are short: most views have less than 1,000 tokens, and the room is up to 110 percent of a
    view. Give a compactor limits that such views exceed.
    """

    compactors: ClassVar[Sequence[Compactor]] = ()
    """The compactors to test: one, or one per configuration. Each example draws one of them."""

    def draw(self, data: st.DataObject) -> Compactor:
        """One of the compactors."""
        assert self.compactors, f"set {type(self).__name__}.compactors"
        return data.draw(st.sampled_from(self.compactors), "compactor")

    def test_it_has_a_plan_for_some_history(self) -> None:
        """Otherwise the other laws have nothing to test."""
        for compactor in self.compactors:
            histories = map(random_history, map(_many_ops, range(_TRIES)))
            plans = (plan_of(compactor, history, room_of(history, 50)) for history, _ in histories)
            assert any(plans), f"{compactor} has no plan for any of {_TRIES} histories at half their size"

    @examples()
    @given(st.data(), HISTORIES, PERCENT)
    def test_planning_changes_nothing_and_gives_the_same_plan_again(
        self, data: st.DataObject, ops: list[Op], percent: int
    ) -> None:
        compactor = self.draw(data)
        transcript, _ = random_history(ops)
        log, shown = transcript.recorded(), list(transcript.view)
        first, second = (plan_of(compactor, transcript, room_of(transcript, percent)) for _ in range(2))
        assert transcript.recorded() == log and list(transcript.view) == shown, (
            "plan() changed the transcript"
        )
        assert (first is None) == (second is None), "the same view has a plan once, and none the other time"
        if first is not None and second is not None:
            sizes = [(plan.before, plan.after) for plan in (first, second)]
            assert sizes[0] == sizes[1], "two plans for the same view differ in before or after"
            assert first.before == transcript.view.tokens(TOKENS), "plan.before is not the size of the view"
            assert first.saved > 0, "the plan saves nothing: it should be None"
            assert first.edits or first.request is not None, "the plan has neither edits nor a request"

    @examples()
    @given(st.data(), HISTORIES, PERCENT, AT_MOST_REQUESTED)
    def test_protected_items_stay_and_groups_stay_whole(
        self, data: st.DataObject, ops: list[Op], percent: int, length: float
    ) -> None:
        """A call stays with its result; pins, waiting calls and the last user message stay shown."""
        compactor = self.draw(data)
        transcript, plain = random_history(ops)
        before = list(transcript.view)
        plan = plan_of(compactor, transcript, room_of(transcript, percent))
        if plan is None:
            return
        outcome = record_plan(transcript, plan, length=length)
        assert outcome.fate == "kept", f"the transcript refuses the plan: {outcome.reason}"
        shown = {item.id: item for item in transcript.view}
        for item in protected(before, plain):
            if not isinstance(item, Summary):
                assert shown.get(item.id) == item, f"{item} is protected, and no longer shown as it was"
        was_shown = {item.id for item in before}
        for position, item in enumerate(plain.log):
            members = {plain.log[p].id for p in plain.group(position)} & was_shown
            if item.id in was_shown and plain.heads[position] >= 0:
                rest = members & shown.keys()
                assert rest in (members, set()), f"{members - rest} of the group {members} is left out"

    @examples()
    @given(st.data(), HISTORIES, PERCENT, AT_MOST_REQUESTED)
    def test_a_plan_does_exactly_what_it_says(
        self, data: st.DataObject, ops: list[Op], percent: int, length: float
    ) -> None:
        compactor = self.draw(data)
        transcript, plain = random_history(ops)
        plan = plan_of(compactor, transcript, room_of(transcript, percent))
        if plan is None:
            return
        pool = Pool()
        outcome = record_plan(transcript, plan, pool, length)
        assert outcome.fate == "kept", f"the transcript refuses the plan: {outcome.reason}"
        assert list(pool) == list(plan.notes), "the pool does not have the notes of the plan"
        size = transcript.view.tokens(TOKENS)
        is_exact = plan.request is None or length == 1
        assert size <= plan.after, f"plan.after is {plan.after}, and the view then has {size} tokens"
        assert size == plan.after or not is_exact, f"plan.after is {plan.after}, and the view then has {size}"
        restored = Transcript(JSON.decode(JSON.encode(transcript.recorded())))
        assert list(restored.view) == list(transcript.view), "another view once the transcript is read back"
        for item in transcript.recorded(since=len(plain.log)):
            plain.append(item)
            assert is_below(own_origin(item), "user"), f"{item} passes for an edit that a person made"
            covered = plain.covered_by(len(plain.log) - 1) if isinstance(item, Summary) else set[int]()
            least_trusted = lowest(own_origin(plain.log[p]) for p in covered)
            is_trusted = is_below(least_trusted, origin_of(transcript.view, item))
            assert not is_trusted, f"{item} is trusted more than what it is made of"
        assert list(transcript.view) == plain.shown(), "the edits have another effect than they should"

    @examples()
    @given(st.data(), HISTORIES, PERCENT, ANY_LENGTH)
    def test_a_summary_of_any_length_makes_nothing_larger(
        self, data: st.DataObject, ops: list[Op], percent: int, length: float
    ) -> None:
        compactor = self.draw(data)
        transcript, _ = random_history(ops)
        room = room_of(transcript, percent)
        before, log = transcript.view.tokens(TOKENS), transcript.recorded()
        plan = plan_of(compactor, transcript, room)
        if plan is None:
            return
        pool = Pool()
        outcome = record_plan(transcript, plan, pool, length)
        after = transcript.view.tokens(TOKENS)
        if outcome.fate == "discarded":
            assert length > 1, f"a summary of the requested size is discarded: {outcome.reason}"
            assert transcript.recorded() == log and not list(pool), "a discarded plan changed something"
        else:
            assert after < before, f"{before} tokens were shown before the plan, and {after} after it"
            fits = after <= room.tokens or plan.after > room.tokens or length > 1
            assert fits, f"plan.after is {plan.after}; the view has {after} tokens, more than the room"

    @examples()
    @given(st.data(), HISTORIES, PERCENT, AT_MOST_REQUESTED)
    def test_compacting_twice_changes_nothing(
        self, data: st.DataObject, ops: list[Op], percent: int, length: float
    ) -> None:
        compactor = self.draw(data)
        transcript, _ = random_history(ops)
        room = room_of(transcript, percent)
        plan = plan_of(compactor, transcript, room)
        if plan is None:
            return
        outcome = record_plan(transcript, plan, length=length)
        assert outcome.fate == "kept", f"the transcript refuses the plan: {outcome.reason}"
        shown = list(transcript.view)
        assert compactor.plan(transcript.view, room) is None, (
            "right after a plan was recorded, there is another"
        )
        assert record_plan(transcript, plan, length=length).fate == "discarded", "a plan was recorded twice"
        assert list(transcript.view) == shown, "a discarded plan changed the view"

    @examples()
    @given(st.data(), HISTORIES, HISTORIES, PERCENT)
    def test_a_summary_folds_the_earlier_one(
        self, data: st.DataObject, past: list[Op], later: list[Op], percent: int
    ) -> None:
        compactor = self.draw(data)
        transcript, plain = random_history(past)
        for author in (LongWinded("y"), LongWinded("z")):
            shown = {item.id for item in transcript.view}
            plan = plan_of(compactor, transcript, room_of(transcript, percent))
            if plan is not None:
                record_plan(transcript, plan)
                asked = () if plan.request is None else plan.request.items
                folded = {item for item in asked if isinstance(transcript.get(item), Summary)}
                now = {item.id for item in transcript.view}
                assert not folded & now, "an earlier summary is shown beside the one that contains it"
                assert len(now - shown) == (plan.request is not None), (
                    "a plan shows items that were not shown"
                )
                for item in transcript.recorded(since=len(plain.log)):
                    plain.append(item)
            apply_ops(later, transcript, author, plain)
        assert list(transcript.view) == plain.shown(), "the edits have another effect than they should"

    @examples()
    @given(st.data(), HISTORIES, PERCENT, st.sampled_from([None, "", " \n\t"]))
    def test_an_empty_summary_changes_nothing(
        self, data: st.DataObject, ops: list[Op], percent: int, text: str | None
    ) -> None:
        compactor = self.draw(data)
        transcript, _ = random_history(ops)
        plan = plan_of(compactor, transcript, room_of(transcript, percent))
        if plan is None or plan.request is None:
            return
        log, pool = transcript.recorded(), Pool()
        outcome = record(transcript, plan, text=text, pool=pool)
        assert outcome.fate == "discarded" and outcome.reason and not outcome.edits, (
            "an empty summary is kept"
        )
        assert transcript.recorded() == log and not list(pool), "an empty summary changed something"

    @examples()
    @given(st.data(), HISTORIES, PERCENT, st.integers(0, 3), st.integers(0, 63))
    def test_a_late_summary_is_kept_only_if_its_items_are_unchanged(
        self, data: st.DataObject, ops: list[Op], percent: int, code: int, pick: int
    ) -> None:
        compactor = self.draw(data)
        transcript, _ = random_history(ops)
        plan = plan_of(compactor, transcript, room_of(transcript, percent))
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
        with suppress(EditRefused):
            transcript.append(edits[code])
        changed = before != [transcript.view.fate(item) for item in plan.request.items]
        shown = list(transcript.view)
        outcome = record(transcript, plan, text="a gist", pool=Pool())
        expected = "discarded" if changed else "kept"
        assert outcome.fate == expected, (
            f"its items have {'' if changed else 'not '}changed: {outcome.reason}"
        )
        if changed:
            assert list(transcript.view) == shown, "a discarded summary changed the view"

    @examples()
    @given(st.data(), STEPS, STEPS, st.integers(10, 120))
    def test_no_provider_refuses_a_compacted_view(
        self, data: st.DataObject, past: list[Step], later: list[Step], percent: int
    ) -> None:
        compactor = self.draw(data)
        talk = Talk()
        pool = Pool()
        for steps in (past, later):
            talk.play(steps)
            view = talk.transcript.view
            try:
                plan = compactor.plan(view, Room(view.tokens(_COUNTER) * percent // 100, _COUNTER))
            except Irreducible:
                continue
            if plan is not None:
                outcome = record_plan(talk.transcript, plan, pool, length=0.0)
                is_tiny = plan.request is not None and plan.request.size < 4
                assert outcome.fate == "kept" or is_tiny, f"the plan is discarded: {outcome.reason}"
            for wire, models in MODELS.items():
                provider, model = PROVIDERS[wire], models[0]
                rendered = provider.render(talk.transcript.view, model=model, tools=TOOLS)
                faults = provider.check(rendered.payload, model)
                assert faults == [], f"{wire} would refuse what is left"
