"""A turn that does not fit, where a compactor can make it fit: it is made to, now, and the turn goes on."""

import asyncio
from typing import Any

import pytest

from quire import Agent, Budget, Template, tool
from quire.compactors import Cascade, ClearToolResults, Compactor, Offload, Summarize, TruncateOldest
from quire.errors import ModelFailed, OverBudget
from quire.items import Message, ToolCall, ToolResult, now, use_clock
from quire.models import Scripted
from quire.sections import Catalogue, History, Instructions
from quire.session import Compacting, Session, hook
from quire.stores import MemoryStore
from tests.session.opened import Twin, apart, plans, session

LOG = "GET /a 12 ms\n" * 3_000
TEMPLATE = Template(
    Instructions("Be exact."),
    History(),
    Catalogue(),
    budget=Budget(window=4_000, reserve=300),
    model="gpt-5.6",
)
OFFLOADING: list[Compactor] = [
    Cascade(Offload(), ClearToolResults(), TruncateOldest()),
    Offload(ceiling=0),
]


def read(one: Session, *outputs: str) -> None:
    one.user("Read the log.")
    one.append(*(ToolCall(f"c{n}", "read", "{}") for n in range(len(outputs))))
    one.append(*(ToolResult(f"c{n}", "read", output) for n, output in enumerate(outputs)))


@pytest.mark.parametrize("compactor", OFFLOADING, ids=lambda one: one.name)
@pytest.mark.parametrize("is_built_before", [True, False])
def test_a_result_that_is_too_large_is_moved_and_the_turn_goes_on(
    compactor: Compactor, is_built_before: bool
) -> None:
    async def conversation() -> None:
        one = session(compactor=compactor)
        if is_built_before:
            one.user("Hello.")
            await one.build(TEMPLATE)
            one.assistant("Hello.")
        read(one, LOG)
        context = await one.build(TEMPLATE)
        (note,) = one.pool
        shown = [getattr(item, "text", "") for item in context.items]
        assert note.key is not None and note.content == LOG
        assert any(note.key in text for text in shown[:-1]), "a stub with its handle stands for it"
        assert note.key in shown[-1], "sections are asked again: the catalogue knows the note"
        assert context.receipt.tokens <= 3_700
        await one.close()

    asyncio.run(conversation())


def test_so_it_is_after_a_restart_and_for_results_that_are_too_large_together() -> None:
    compactor = Cascade(Offload(larger_than=300), ClearToolResults(), TruncateOldest())

    async def conversation() -> None:
        store = MemoryStore()
        read(session(store), *["line of text\n" * 250] * 6)
        again = apart(Twin(store), compactor=compactor)
        context = await again.build(TEMPLATE)
        assert context.receipt.tokens <= 3_700 and len(again.pool)
        await again.close()

    asyncio.run(conversation())


def test_an_agent_goes_on_after_results_that_are_too_large() -> None:
    @tool
    def look(path: str) -> str:
        """Look."""
        return "line of text here\n" * 1_500

    async def conversation() -> str:
        calls = [ToolCall(f"c{n}", "look", f'{{"path": "f{n}"}}') for n in range(3)]
        model = Scripted([calls, "Done."], name="gpt-5.6")
        template = Template(Instructions("Be exact."), History(), budget=Budget(window=8_000, reserve=500))
        agent = Agent(session(), template, model=model, tools=[look], compactor=OFFLOADING[0])
        return str(await agent.ask("Read three files."))

    assert asyncio.run(conversation()) == "Done."


def test_what_cannot_be_made_to_fit_is_an_error_that_says_why() -> None:
    async def conversation(compactor: Compactor, **options: Any) -> OverBudget:
        one = session(compactor=compactor, **options)
        read(one, LOG)
        before = one.recorded()
        with pytest.raises(OverBudget) as caught:
            await one.build(TEMPLATE)
        assert one.recorded() == before and not plans(one)
        return caught.value

    assert "must stay" in asyncio.run(conversation(TruncateOldest())).__notes__[0]
    refused = asyncio.run(conversation(Offload(), hooks=[refuse_all_room]))
    assert "PermissionError" in refused.__notes__[0]


@hook(Compacting)
def refuse_all_room(event: Any) -> None:
    raise PermissionError("not now")


def test_a_history_that_is_not_to_blame_stays_as_it_is() -> None:
    async def conversation() -> None:
        one = session(compactor=Offload(ceiling=0))
        read(one, "short " * 1_100, "short " * 1_100)
        before = one.recorded()
        with pytest.raises(OverBudget):
            await one.build(
                Template(Instructions("Be exact. " * 9_000), History(), budget=Budget(window=4_000))
            )
        assert one.recorded() == before

    asyncio.run(conversation())


def test_where_words_would_be_needed_a_model_that_rests_is_not_asked_again() -> None:
    time = [now()]

    async def conversation() -> None:
        model = Scripted([ModelFailed("busy")], repeat=True)
        one = session(compactor=Cascade(Offload(), Summarize(unit="tokens")), model=model)
        for n in range(60):
            one.user(f"Question {n}: " + "what about it " * 20)
            one.assistant("It is so. " * 20)
        one.user("Hm " * 1_500)
        await one.build(TEMPLATE)
        await one.close()
        asked = len(model.requests)
        read(one, LOG)
        await one.build(TEMPLATE)
        await one.close()
        assert asked == 1 == len(model.requests) and len(one.pool) == 1

    with use_clock(lambda: time[0]):
        asyncio.run(conversation())


def test_two_turns_at_once_make_room_once() -> None:
    async def conversation() -> None:
        one = session(compactor=Offload())
        read(one, LOG)
        contexts = await asyncio.gather(one.build(TEMPLATE), one.build(TEMPLATE))
        assert one.compaction is not None and one.compaction.metrics.completed == 1
        assert len({context.receipt.tokens for context in contexts}) == 1
        await one.close()

    asyncio.run(conversation())


def test_compacting_needs_no_context_before_it() -> None:
    async def conversation(template: Template | None) -> Session:
        one = session(compactor=Cascade(Offload(), TruncateOldest()))
        for n in range(60):
            one.append(Message("user", f"{n} " + "w " * 50), Message("assistant", "a " * 50))
        outcome = await one.compact(template)
        assert outcome and outcome.fate == "kept"
        return one

    assert 0 < len(asyncio.run(conversation(None)).view()) < 60
    narrow = asyncio.run(conversation(TEMPLATE))
    assert narrow._room is None  # pyright: ignore[reportPrivateUsage]
    assert 0 < len(narrow.view()) < 30, "the template leaves less"
