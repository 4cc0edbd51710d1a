"""Compaction beside the conversation: never in its way, never half, once, found again after a crash."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from quire import Budget, Template, counter_for
from quire.compactors import (
    Cascade,
    ClearToolResults,
    Compactor,
    Offload,
    Plan,
    Room,
    Summarize,
    TruncateOldest,
)
from quire.errors import InvalidValue, ModelFailed, OverBudget, WindowExceeded
from quire.items import EDITS, Hide, Message, Span, Summary, ToolCall, ToolResult, now, use_clock
from quire.models import Scripted
from quire.sections import Ask, Catalogue, History, Instructions, Pooled
from quire.session import Compacted, Compacting, Hook, Session, hook
from quire.state import View
from quire.stores import MemoryStore
from quire.tokens import Prices
from tests.session.opened import SECRET, TEMPLATE, called, kept_bytes, run, session, talk, texts, twin
from tests.stores.keeping import kept

SUMMARIZE = Summarize(floor=4, ceiling=8)
COUNTER = counter_for("gpt-5.6")
WINDOW = 8_000
GIST = Scripted(["They talked."], repeat=True)


class Slow(Scripted):
    """A model that answers when it is told to."""

    def __init__(self, words: str = "They talked.") -> None:
        super().__init__([words], repeat=True)
        self.go, self.begun = asyncio.Event(), asyncio.Event()

    async def ask(self, items: Any, **options: Any) -> Any:
        self.begun.set()
        await self.go.wait()
        return await super().ask(items, **options)


async def begun(store: MemoryStore, model: Slow) -> Session:
    """A session whose model has been asked for a summary."""
    one = session(store, compactor=SUMMARIZE, model=model)
    talk(one, 6)
    await one.aio.build(TEMPLATE)
    await model.begun.wait()
    return one


def summaries(one: Session) -> int:
    return sum(isinstance(item, Summary) for item in one.view())


def test_a_plain_build_waits_for_a_summary_and_shows_it() -> None:
    one = session(compactor=SUMMARIZE, model=GIST)
    talk(one, 6)
    context = one.build(TEMPLATE)
    assert summaries(one) == 1 and list(context.items)[-len(one.view()) :] == list(one.view())
    assert context.receipt.advice == () and one.build(TEMPLATE).shared == len(context.items)


async def test_a_plain_verb_does_not_wait_for_a_task_of_the_loop_that_it_blocks() -> None:
    model = Slow("They talked.")
    one = await begun(MemoryStore(), model)
    with pytest.raises(InvalidValue, match="await the verb"):
        one.close()
    model.go.set()
    await one.aio.close()
    assert summaries(one) == 1


def _pinned(one: Session) -> None:
    one.pin(one.view()[1].id)


def _forgotten(one: Session) -> None:
    one.forget(one.view()[0].id)


@pytest.mark.parametrize("change", [_pinned, _forgotten])
async def test_a_late_summary_is_discarded_if_its_range_was_changed(
    change: Callable[[Session], None],
) -> None:
    model, store = Slow(f"They said {SECRET}."), MemoryStore()
    one = await begun(store, model)
    change(one)
    model.go.set()
    await one.aio.close()
    assert not summaries(one) and one.compaction.metrics.discarded == 1
    assert b"swordfish" not in kept_bytes(store)


async def test_what_a_summary_replaced_while_a_context_was_built_is_not_summarised_again() -> None:
    class WaitsForSummary(Pooled):
        def __init__(self, one: Session, model: Slow) -> None:
            super().__init__()
            self._one, self._model = one, model

        async def items(self, ask: Ask) -> Any:
            self._model.go.set()
            await self._one.aio.compaction.close()
            return ()

    model = Slow()
    one = await begun(MemoryStore(), model)
    await one.aio.build(Template(History(), WaitsForSummary(one, model), budget=Budget(window=8_000)))
    await one.aio.close()
    assert summaries(one) == 1 and one.compaction.metrics.discarded == 0


def test_failures_are_counted_and_backed_off() -> None:
    time = [1_000_000.0]
    store = MemoryStore()

    def turn() -> Any:
        one = session(store, compactor=SUMMARIZE, model=model)
        one.build(TEMPLATE)
        one.close()
        return one.compaction.metrics

    model = Scripted([ModelFailed("busy")], repeat=True)
    talk(session(store), 6)
    with use_clock(lambda: time[0]):
        metrics = [turn() for _ in range(3)][-1]
        assert (metrics.started, metrics.failed) == (1, 1) and "busy" in metrics.fault
        time[0] += 6
        assert turn().failed == 2
        time[0] += 6
        assert turn().failed == 2, "the second pause is longer"
        outcome = session(store, compactor=SUMMARIZE, model=model).compaction.run()
        assert outcome is not None and not outcome, "who asks for it is not kept waiting"
    assert not summaries(session(store))


async def test_two_sessions_ask_for_one_summary() -> None:
    with kept("sqlite") as held:
        model, second = Slow(), Slow()
        one = session(held.store, compactor=SUMMARIZE, model=model)
        other = session(held.open(), compactor=SUMMARIZE, model=second)
        talk(one, 6)
        await asyncio.gather(one.aio.build(TEMPLATE), model.begun.wait())
        await other.aio.build(TEMPLATE)
        refused = await other.aio.compaction.run()
        assert refused is not None and "another process" in refused.reason
        model.go.set()
        await asyncio.gather(one.aio.close(), other.aio.close())
        assert summaries(session(held.open())) == 1 and not second.begun.is_set()


def test_what_is_forgotten_once_it_was_planned_is_told_to_no_model() -> None:
    asked: list[str] = []

    def write(request: Any) -> str:
        asked.append(str(request.payload))
        return "They talked."

    def forget(event: Any) -> None:
        one.forget(one.view()[0].id)

    one = session(compactor=SUMMARIZE, model=Scripted([write]), hooks=[Hook(forget, (Compacting,))])
    one.user(SECRET)
    talk(one, 6)
    assert not one.compaction.run() and "swordfish" not in str(asked)


def test_never_a_half_state() -> None:
    """Whatever entry of the log a process dies after, the view has the whole summary or none of it."""
    one = session(compactor=SUMMARIZE, model=GIST)
    for n in range(12):
        talk(one, 1, str(n))
        one.build(TEMPLATE)
    assert summaries(one) == 1
    for version in range(one.version + 1):
        view = one.view(at=version)
        told = [item.id for item in one.view().recorded()[: view.revision] if type(item) not in EDITS]
        shown = [item.id for item in view if not isinstance(item, Summary)]
        count = len(view) - len(shown)
        assert count <= 1 and shown == told[len(told) - len(shown) :]
        assert (count == 1) == (len(shown) < len(told)), "what is not shown is told, all of it"


@hook(Compacting)
def refuse_compaction(event: Any) -> None:
    raise PermissionError("not now")


class Windowed(Scripted):
    """A model that reads so much at once, as every real one does; more than that is a `fault`."""

    def __init__(self, fault: type[ModelFailed] = ModelFailed, reads: int = WINDOW) -> None:
        super().__init__(["Goal: to know."], repeat=True)
        self.asked = list[int]()
        self._fault, self._reads = fault, reads

    async def ask(self, items: Any, **options: Any) -> Any:
        self.asked.append(sum(map(COUNTER.count, items)))
        if self.asked[-1] > self._reads:
            raise self._fault("too long")
        return await super().ask(items, **options)


def long_talk(one: Session, turns: int) -> None:
    for n in range(turns):
        one.append(Message("user", f"{n} " + "what about it " * 20), Message("assistant", "it is so " * 40))


def turn(one: Session, template: Template = TEMPLATE) -> None:
    one.user("And now?")
    one.build(template)
    one.assistant("So.")
    one.close()


@pytest.mark.parametrize(("unit", "says_so"), [("messages", True), ("tokens", False)])
def test_a_past_that_no_model_reads_at_once_is_told_in_steps(unit: Any, says_so: bool) -> None:
    model = Windowed(WindowExceeded, reads=3_000) if says_so else Windowed()
    one = session(compactor=Summarize(unit=unit), model=model)
    long_talk(one, 150)
    turn(one)
    assert len(model.asked) > 2 and model.asked[-1] <= (3_000 if says_so else WINDOW)
    assert summaries(one) == 1 and one.view().tokens(COUNTER) <= WINDOW


@pytest.mark.parametrize("model", [None, Scripted([ModelFailed("busy")]), Scripted(["long " * 9_000])])
def test_a_cascade_goes_on_where_there_are_no_words(model: Scripted | None) -> None:
    one = session(compactor=Cascade(Summarize(unit="tokens"), TruncateOldest()), model=model)
    long_talk(one, 150)
    turn(one)
    assert one.view().tokens(COUNTER) <= WINDOW
    assert any(isinstance(item, Hide) for item in one.view().recorded())


LOG = "GET /a 12 ms\n" * 3_000
NARROW = Template(
    Instructions("Be exact."),
    History(),
    Catalogue(),
    budget=Budget(window=4_000, reserve=300),
    model="gpt-5.6",
)
OFFLOADING: list[Compactor] = [Cascade(Offload(), ClearToolResults(), TruncateOldest()), Offload(ceiling=0)]


def read_log(one: Session) -> None:
    one.user("Read the log.")
    one.tool(LOG, call_id=called(one, "read").call_id)


@pytest.mark.parametrize("compactor", OFFLOADING, ids=lambda one: one.name)
def test_a_result_that_is_too_large_is_moved_and_the_turn_goes_on(compactor: Compactor) -> None:
    one = session(compactor=compactor)
    read_log(one)
    context = one.build(NARROW)
    (note,) = one.pool
    shown = [getattr(item, "text", "") for item in context.items]
    assert note.key is not None and note.content == LOG and context.receipt.tokens <= 3_700
    assert note.key in shown[-1], "sections are asked again: the catalogue knows the note"
    assert any(note.key in text for text in shown[:-1]), "a stub with its handle stands for it"


@pytest.mark.parametrize("compactor", [TruncateOldest(), Summarize()], ids=lambda one: one.name)
def test_what_cannot_be_made_to_fit_is_an_error_and_changes_nothing(compactor: Compactor) -> None:
    one = session(compactor=compactor)
    read_log(one)
    before = one.view().recorded()
    whole = Template(Instructions("Be exact."), History(shortens=False), budget=NARROW.budget)
    with pytest.raises(OverBudget):
        one.build(whole)
    assert one.view().recorded() == before
    assert one.build(NARROW).receipt.tokens <= 3_700, "without an option the result is shortened"


def test_forks_are_kept_small_children_and_drafts_begin_without() -> None:
    one = session(compactor=Summarize(), model=GIST)
    long_talk(one, 15)
    fork, child = one.fork("fork"), one.child("child")
    long_talk(child, 15)
    for other in (fork, child):
        turn(other)
    assert summaries(fork) == 1 and summaries(child) == summaries(one) == 0
    with one.draft() as draft:
        draft.build(TEMPLATE)
        assert summaries(draft) == 0
        draft.compaction.use(Summarize(), GIST)
        draft.build(TEMPLATE)
    assert summaries(one) == 1


class Stubborn:
    """A compactor that hides the first four items, whatever else is shown."""

    name = "stubborn"

    def plan(self, view: View, room: Room) -> Plan | None:
        if len(view) <= 8:
            return None
        first, _, _, last, *_ = view.recorded()
        before, edit = view.tokens(room.counter), Hide((Span(first.id, last.id),))
        return Plan(self.name, "it is long", before, before - 40, (edit,))


STICKY = [
    SUMMARIZE,
    Summarize(unit="turns", floor=2, ceiling=4),
    TruncateOldest(unit="messages", floor=4, ceiling=8),
    Cascade(TruncateOldest(unit="messages", floor=4, ceiling=8), SUMMARIZE),
    Stubborn(),
]


@pytest.mark.parametrize("compactor", STICKY, ids=lambda one: one.name)
def test_what_was_undone_is_not_compacted_again(compactor: Compactor) -> None:
    store = MemoryStore()
    one = session(store, compactor=compactor, model=GIST)
    talk(one, 6)
    one.build(TEMPLATE)
    first = one.view().recorded()[0].id
    undone = one.undo()
    assert one.view().fate(first).state == "shown"
    for number in range(12):
        again = session(store, compactor=compactor, model=GIST)  # a restart changes nothing
        talk(again, 1, f"later {number}")
        receipt = again.build(TEMPLATE).receipt
        assert again.view().fate(first).state == "shown" and receipt.advice == ()
    if not isinstance(compactor, Stubborn):
        assert len(one.view()) < 24, "the rest is compacted"
    one.undo(undone.id)
    assert one.view().fate(first).state != "shown"


def _edit(one: Session) -> None:
    users = [item for item in one.view().recorded() if isinstance(item, Message) and item.role == "user"]
    one.edit(users[3].id, "something else")


def _forget(one: Session) -> None:
    one.forget(one.view().recorded()[2].id)


@pytest.mark.parametrize("verb", [_edit, _forget])
def test_what_a_verb_shows_again_by_the_way_may_be_compacted(verb: Callable[[Session], None]) -> None:
    one = session(compactor=SUMMARIZE, model=GIST)
    talk(one, 6)
    one.build(TEMPLATE)
    first = one.view().recorded()[0].id
    assert one.view().fate(first).state == "summarised"
    verb(one)
    assert one.view().fate(first).state == "shown"
    talk(one, 3)
    one.build(TEMPLATE)
    assert one.view().fate(first).state == "summarised"


def test_a_result_whose_stub_was_undone_stays_in_full() -> None:
    clearing = ClearToolResults(keep=1, at_least=0, ceiling=100)
    one = session(compactor=clearing, model=GIST)
    for number in range(4):
        one.append(Message("user", f"question {number}"), ToolCall(f"c{number}", "look"))
        one.append(ToolResult(f"c{number}", "look", "seen " * 100, id=f"r{number}"))
    one.build(TEMPLATE)
    assert one.view().fate("r0").state == one.view().fate("r1").state == "masked"
    one.undo(one.view().fate("r0").by)
    one.append(Message("user", "more"), ToolCall("c4", "look"), ToolResult("c4", "look", "seen " * 100))
    one.build(TEMPLATE)
    assert [one.view().fate(f"r{number}").state for number in range(4)] == ["shown", *["masked"] * 3]


def test_the_budget_compacts_what_was_undone_and_the_receipt_says_so() -> None:
    heard: list[Compacted] = []
    compactor = Summarize(unit="tokens", size=20)
    one = session(compactor=compactor, model=GIST, hooks=[Hook(heard.append, (Compacted,))])
    talk(one, 30)
    roomy, narrow = (
        Template(History(), budget=Budget(window=window), model="gpt-5.6") for window in (400, 150)
    )
    one.build(roomy)
    first = one.view().recorded()[0].id
    one.undo()
    talk(one, 1, "later")
    assert one.build(roomy).receipt.tokens <= 400
    receipt = one.build(narrow).receipt
    assert one.view().fate(first).state == "summarised"
    assert "an undo had shown some of it again" in receipt.advice[0] in str(receipt)
    assert "an undo had shown some of it again" in receipt.explain(first).reason
    assert heard[-1].outcome.reason.endswith("nothing else makes the history fit")
    assert one.build(narrow).receipt.advice == (), "it is said once"


@pytest.mark.parametrize("compactor", [SUMMARIZE, Summarize(unit="tokens")], ids=["messages", "tokens"])
async def test_a_turn_is_cut_to_its_budget_while_a_summary_is_written(compactor: Compactor) -> None:
    model, whole = Slow(), True
    one = session(compactor=compactor, model=model)
    template = Template(History(), budget=Budget(window=200), model="gpt-5.6")
    for number in range(30):
        talk(one, 1, f"turn {number}")
        context = await one.aio.build(template)
        receipt, shown = context.receipt, context.render("openai")
        whole = len(one.view()) == len(context.items)
        assert receipt.tokens <= 200 and (whole or one.view().tokens(COUNTER) > 200)
        assert len(shown["messages"]) == len(context.items) and not summaries(one)
        [line] = receipt.lines()
        assert whole or "oldest left out" in line.note
        assert whole or any("still being written" in one for one in receipt.advice)
        await asyncio.sleep(0)
    assert not whole and one.compaction.metrics.pending == 1
    model.go.set()
    await one.aio.close()
    assert summaries(one) == 1 and texts(one.view())[-1] == "turn 29 answer 0"
    metrics = one.compaction.metrics
    assert (metrics.started, metrics.completed, metrics.failed, metrics.pending) == (1, 1, 0, 0)


def test_what_became_of_compactions_is_on_the_record() -> None:
    store = MemoryStore()
    prices = {"scripted": Prices(input=1.0, output=2.0)}
    models = [GIST, Scripted([ModelFailed("busy")]), Scripted(["long " * 9_000])]
    outcomes: list[Any] = []
    for model in models:
        one = session(store, compactor=SUMMARIZE, model=model, prices=prices)
        talk(one, 6)
        outcomes.append(one.compaction.run())
    refusing = session(store, compactor=SUMMARIZE, model=GIST, hooks=[refuse_compaction])
    outcomes.append(refusing.compaction.run())
    assert [bool(outcome) for outcome in outcomes] == [True, False, False, False]
    assert session(store, compactor=SUMMARIZE).compaction.run() is None, "nobody writes"
    with pytest.raises(InvalidValue):
        session(store).compaction.run()
    session(store).compaction.run(by=TruncateOldest(unit="messages", floor=4, ceiling=8))
    past = session(twin(store)).compaction.past()
    assert [(one.fate, one.reason) for one in past] == [
        ("kept", ""),
        ("failed", "busy"),
        ("discarded", "the summary is longer than what it would stand for"),
        ("discarded", "a hook refused it: PermissionError"),
        ("kept", ""),
    ]
    assert [outcome.reason for outcome in outcomes[1:]] == [one.reason for one in past[1:4]]
    summary, *_, cut = past
    view = session(store).view()
    assert isinstance(view.log.item(view.position(summary.edits[0])), Summary)
    assert summary.model == "scripted" and summary.cost and summary.usage.output and summary.before
    assert cut.by == "truncate-oldest" and cut.model is None and cut.cost is None
    assert cut.before > cut.after and summary.before > summary.after
    assert summary.ended_at is not None and summary.ended_at >= summary.began_at


def test_a_compaction_that_runs_is_seen_by_others_who_take_it_up_when_it_was_broken_off() -> None:
    store = MemoryStore()

    async def conversation() -> None:
        one = await begun(store, Slow())
        assert [attempt.fate for attempt in session(twin(store)).compaction.past()] == ["running"]
        later = now() + 61
        with use_clock(lambda: later):
            assert [attempt.fate for attempt in session(twin(store)).compaction.past()] == ["abandoned"]
        await one.aio.close(0)

    run(conversation())
    again = session(twin(store), compactor=SUMMARIZE, model=GIST)
    again.build(TEMPLATE)
    assert [attempt.fate for attempt in again.compaction.past()] == ["abandoned", "kept"]
    assert summaries(again) == 1
