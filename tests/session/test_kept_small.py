"""A live session is kept small: whatever its history shows, whoever writes and fails, wherever it goes on."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from quire import Budget, Template, counter_for
from quire.compactors import Cascade, Summarize, TruncateOldest
from quire.errors import InvalidValue, ModelFailed, WindowExceeded, WrongType
from quire.items import Hide, Message, Summary, ToolCall, ToolResult, use_clock
from quire.models import Scripted
from quire.sections import History, Instructions
from quire.session import Compacting, Session, hook
from tests.session.opened import plans, session

COUNTER = counter_for("gpt-5.6")
WINDOW = 8_000
TEMPLATE = Template(Instructions("Be exact."), History(), budget=Budget(window=WINDOW), model="gpt-5.6")
HISTORIES: dict[str, Callable[[], History]] = {
    "all": lambda: History(),
    "where": lambda: History(where=lambda item: not isinstance(item, ToolCall | ToolResult)),
    "transform": lambda: History(transform=lambda item: item),
    "turns": lambda: History(turns=3),
    "messages": lambda: History(messages=5),
}


class Windowed:
    """A model that reads so much at once, as every real one does; more than that is a `fault`."""

    name, wire = "windowed", "openai"

    def __init__(self, fault: type[ModelFailed] = ModelFailed, reads: int = WINDOW) -> None:
        self.is_down, self.asked = False, list[int]()
        self._fault, self._reads = fault, reads
        self._inner = Scripted(["Goal: to know."], repeat=True)

    async def ask(self, items: Any, **options: Any) -> Any:
        if self.is_down:
            raise ModelFailed("overloaded")
        self.asked.append(sum(map(COUNTER.count, items)))
        if self.asked[-1] > self._reads:
            raise self._fault("too long")
        return await self._inner.ask(items, **options)


def talk(one: Session, turns: int) -> None:
    for n in range(turns):
        one.append(Message("user", f"{n} " + "what about it " * 20), Message("assistant", "it is so " * 40))


async def turn(one: Session, template: Template = TEMPLATE) -> None:
    one.user("And now?")
    await one.build(template)
    one.assistant("So.")
    await one.close()


def summaries(one: Session) -> int:
    return sum(isinstance(item, Summary) for item in one.view())


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_whatever_the_history_shows_the_transcript_is_kept_small(history: Callable[[], History]) -> None:
    template = Template(Instructions("Be exact."), history(), budget=Budget(window=500), model="gpt-5.6")

    async def conversation() -> None:
        one = session(compactor=TruncateOldest())
        for n in range(30):
            one.user("w " * 40)
            await one.build(template)
            await one.close()
            assert one.view().tokens(COUNTER) <= 500
            one.assistant(f"{n} " + "a " * 40)
        assert one.compaction is not None
        assert one.compaction.metrics.hits + one.compaction.metrics.misses == 30

    asyncio.run(conversation())


@pytest.mark.parametrize("compactor", [Summarize(), Summarize(unit="tokens")], ids=["messages", "tokens"])
def test_a_past_that_no_model_reads_at_once_is_told_in_steps(compactor: Summarize) -> None:
    async def conversation() -> None:
        model = Windowed()
        one = session(compactor=compactor, model=model)
        talk(one, 150)
        await turn(one)
        assert len(model.asked) > 2 and max(model.asked) <= WINDOW
        assert summaries(one) == 1 and one.view().tokens(COUNTER) <= WINDOW
        assert one.compaction is not None and one.compaction.metrics.failed == 0 and not plans(one)

    asyncio.run(conversation())


def test_after_an_outage_it_recovers() -> None:
    time = [1_000_000.0]

    async def conversation() -> None:
        model = Windowed()
        one = session(compactor=Summarize(unit="tokens"), model=model)
        for n in range(150):
            model.is_down = 30 < n < 80
            time[0] += 700
            talk(one, 1)
            await turn(one)
            assert model.is_down or one.view().tokens(COUNTER) <= WINDOW + 100
        assert summaries(one) == 1

    with use_clock(lambda: time[0]):
        asyncio.run(conversation())


def test_a_model_that_says_that_it_was_too_much_is_told_less_at_once() -> None:
    async def conversation() -> None:
        model = Windowed(WindowExceeded, reads=3_000)
        one = session(compactor=Summarize(), model=model)
        talk(one, 60)
        await turn(one)
        assert model.asked[0] > 3_000 and model.asked[-1] <= 3_000
        assert summaries(one) == 1 and len(one.view()) <= 21

    asyncio.run(conversation())


def test_where_nothing_is_short_enough_the_model_is_left_alone() -> None:
    async def conversation() -> None:
        model = Windowed(WindowExceeded, reads=10)
        one = session(compactor=Summarize(), model=model)
        talk(one, 60)
        for _ in range(3):
            await turn(one)
        assert len(model.asked) < 12 and not summaries(one) and not plans(one)

    asyncio.run(conversation())


@pytest.mark.parametrize("model", [None, Scripted([ModelFailed("busy")]), Scripted(["long " * 9_000])])
def test_a_cascade_goes_on_where_there_are_no_words(model: Scripted | None) -> None:
    async def conversation() -> None:
        one = session(compactor=Cascade(Summarize(unit="tokens"), TruncateOldest()), model=model)
        talk(one, 150)
        await turn(one)
        assert one.view().tokens(COUNTER) <= WINDOW and any(isinstance(i, Hide) for i in one.recorded())

    asyncio.run(conversation())


def test_what_is_not_full_is_not_cut_because_words_failed() -> None:
    async def conversation() -> None:
        model = Windowed()
        one = session(compactor=Cascade(Summarize(unit="tokens"), TruncateOldest()), model=model)
        talk(one, 35)
        await turn(one)
        model.is_down = True
        outcome = await one.compact()
        assert outcome is not None and not outcome and outcome.reason == "overloaded"
        assert len(one.view()) == 72

    asyncio.run(conversation())


@hook(Compacting)
def refuse_keeping_small(event: Any) -> None:
    raise PermissionError("not now")


def test_compacting_says_what_came_of_it() -> None:
    async def conversation(**options: Any) -> Any:
        one = session(compactor=Summarize(), **options)
        talk(one, 15)
        return await one.compact(TEMPLATE)

    kept = asyncio.run(conversation(model=Scripted(["Gist."])))
    assert kept and kept.fate == "kept"
    failed = asyncio.run(conversation(model=Scripted([ModelFailed("busy")])))
    assert (bool(failed), failed.fate, failed.reason) == (False, "discarded", "busy")
    refused = asyncio.run(conversation(model=Scripted(["Gist."]), hooks=[refuse_keeping_small]))
    assert not refused and "PermissionError" in refused.reason
    assert asyncio.run(conversation(model=None)) is None, "nobody writes, and nothing else is to be done"


def test_compacting_by_hand_asks_a_model_that_rests() -> None:
    async def conversation() -> None:
        one = session(compactor=Summarize(), model=Scripted([ModelFailed("busy"), "Gist."]))
        talk(one, 15)
        assert not await one.compact(TEMPLATE)
        assert await one.compact(TEMPLATE)

    asyncio.run(conversation())


def test_a_fork_is_kept_small_and_a_conversation_beside_begins_without() -> None:
    async def conversation() -> None:
        one = session(compactor=Summarize(), model=Scripted(["Gist."], repeat=True))
        talk(one, 15)
        child = one.fork("child")
        await turn(child)
        assert summaries(child) == 1 and not summaries(one)
        assert child.compaction is not one.compaction
        assert one.beside("other").compaction is None and session().fork("x").compaction is None

    asyncio.run(conversation())


def test_a_draft_waits_for_what_keeps_it_small() -> None:
    async def conversation() -> None:
        one = session()
        talk(one, 15)
        async with one.draft() as draft:
            assert draft.compaction is None
            draft.use(Summarize(), Scripted(["Gist."]))
            await draft.build(TEMPLATE)
        assert summaries(one) == 1 and not plans(one)

    asyncio.run(conversation())


def test_a_session_without_a_compactor_says_so() -> None:
    with pytest.raises(InvalidValue, match="use"):
        asyncio.run(session().compact())
    nothing: Any = "summarize"
    with pytest.raises(WrongType):
        session().use(nothing)
