"""Notes that a tool gives again, and what was held and cannot be recorded: they hold up nothing."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path

import pytest

from quire import Note, Session, ToolCall
from quire.agent import Agent, Tool, tool
from quire.agent.tools import run as run_tool
from quire.stores import MemoryStore, SQLiteStore
from tests.agent.answering import agent_of, assert_whole, call, results, run

LOOSE = Note("nine to five", description="opening hours")


@tool
@cache
def hours() -> Note:
    """Give the opening hours."""
    return Note("nine to five", description="opening hours")


@tool
def twice() -> list[Note]:
    """Give the same twice."""
    return [LOOSE, LOOSE]


@tool
async def yielding() -> AsyncIterator[Note]:
    """Give the same twice, one after the other."""
    yield LOOSE
    yield LOOSE


@tool
async def slow() -> str:
    """Take a while."""
    await asyncio.sleep(0.01)
    return "ok"


def notes(agent: Agent) -> list[Note]:
    return [item for item in agent.session.view() if isinstance(item, Note)]


@pytest.mark.parametrize("given", [hours, twice, yielding])
@pytest.mark.parametrize("is_late", [False, True])
def test_a_note_that_is_given_again_is_another(given: Tool, is_late: bool, tmp_path: Path) -> None:
    async def talk() -> None:
        def reply(turn: int) -> list[ToolCall]:
            calls = [call(given.name, "{}", f"g{turn}{place}") for place in range(2)]
            return [call("slow", "{}", f"s{turn}"), *calls] if is_late else calls

        store = SQLiteStore(tmp_path / "a.db")
        agent = agent_of(reply(0), "Once.", reply(1), "Again.", tools=[given, slow], store=store)
        assert [(await agent.ask("go")).text, (await agent.ask("again")).text] == ["Once.", "Again."]
        assert not any(one.is_error for one in results(agent))
        assert len({note.id for note in notes(agent)}) == (4 if given is hours else 8)
        assert {note.content for note in notes(agent)} == {"nine to five"}
        assert_whole(agent)
        kinds = [type(item) for item in agent.session.view()]
        half = len(kinds) // 2
        assert Counter(kinds[:half]) == Counter(kinds[half:]), "each is shown where it was given"

    run(talk)


def test_what_an_outcome_gives_is_found_by_its_id_and_forgotten() -> None:
    async def talk() -> None:
        one = Session.open("ana/one", store=MemoryStore())
        given = (await run_tool(yielding, session=one)).routed
        assert [item.id for item in one.view()] == [note.id for note in given]
        one.forget(given[0].id)
        assert "[forgotten]" in str(next(iter(one.view())))

    run(talk)


def test_what_an_answer_has_is_found_by_its_id() -> None:
    async def talk() -> None:
        agent = agent_of(call("twice"), "Done.", tools=[twice])
        given = [item for item in (await agent.ask("go")).items if isinstance(item, Note)]
        assert given == notes(agent) and len(given) == 2

    run(talk)


def test_a_note_with_a_key_is_the_one_that_was_given() -> None:
    async def talk() -> None:
        rates = Note({"usd": 1.07}, key="rates", description="rates")
        outcome = await run_tool(tool(name="rates")(lambda: [rates, rates]))
        assert [note.id for note in outcome.notes] == [rates.id] * 2

    run(talk)
