"""A long output is forgotten wherever it is: in results, in the pool, in what stands for it, read back."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from quire import Session, ToolResult
from quire.agent import Agent, tool
from quire.agent.builtin import bringing_back_tools
from quire.compactors import Offload, Room
from quire.models import Scripted
from quire.stores import SQLiteStore
from quire.tokens import counter_for
from tests.agent.answering import call

WORDS = "BEGINSECRET " + "word " * 6_000 + "MIDSECRET " + "word " * 6_000 + "ENDSECRET"
OTHER = "OTHERBEGIN " + "item " * 12_000 + "OTHEREND"
SECRETS = (b"BEGINSECRET", b"MIDSECRET", b"ENDSECRET")
Chosen = Callable[[Session], str]


def result_id(session: Session) -> str:
    return next(item.id for item in session.view() if isinstance(item, ToolResult) and item.name == "look")


def note_id(session: Session) -> str:
    return next(note.id for note in session.pool if "SECRET" in str(note.content))


def read_back_id(session: Session) -> str:
    return next(item.id for item in session.view() if isinstance(item, ToolResult) and item.name != "look")


def bytes_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


def session_in(folder: Path) -> Session:
    return Session.open("ana/one", store=SQLiteStore(folder / "quire.db"))


@tool
async def look() -> str:
    """Look."""
    return WORDS


@tool
async def other() -> str:
    """Look elsewhere."""
    return OTHER


@pytest.mark.parametrize("chosen", [result_id, note_id])
def test_a_result_and_the_notes_of_its_output_go_together(tmp_path: Path, chosen: Chosen) -> None:
    async def talk() -> None:
        session = session_in(tmp_path)
        model = Scripted([[call("look"), call("other")], "Looked."])
        await Agent(session, model=model, tools=[look, other]).ask("look")
        assert len(session.pool) == 2 and all(secret in bytes_in(tmp_path) for secret in SECRETS)
        await session.erase(chosen(session))
        assert [str(note.content) for note in session.pool] == [OTHER]
        await session.close()

    asyncio.run(talk())
    left = bytes_in(tmp_path)
    assert not any(secret in left for secret in SECRETS) and b"OTHERBEGIN" in left


@pytest.mark.parametrize("chosen", [result_id, note_id, read_back_id])
def test_what_was_moved_to_the_pool_and_read_back_goes_too(tmp_path: Path, chosen: Chosen) -> None:
    async def talk() -> None:
        session = session_in(tmp_path)
        asked = session.call("look", {})
        session.tool(WORDS, call_id=asked.call_id)
        session.assistant("Looked.")
        for number in range(8):
            session.user(f"And {number}?")
            session.assistant(f"Yes, {number}.")
        await session.compact(by=Offload(), room=Room(3_000, counter_for("gpt-4o")))
        [handle] = [note.key for note in session.pool]
        model = Scripted([call("read_back", f'{{"handle": "{handle}"}}'), "Read."])
        await Agent(session, model=model, tools=bringing_back_tools()).ask("read it")
        assert bytes_in(tmp_path).count(b"BEGINSECRET") >= 3
        await session.erase(chosen(session))
        await session.close()

    asyncio.run(talk())
    assert not any(secret in bytes_in(tmp_path) for secret in SECRETS)


@pytest.mark.parametrize("chosen", [result_id, note_id])
def test_the_same_output_given_twice_goes_twice(tmp_path: Path, chosen: Chosen) -> None:
    async def talk() -> None:
        session = session_in(tmp_path)
        model = Scripted([call("look", "{}", "one"), "Looked.", call("look", "{}", "two"), "The same."])
        agent = Agent(session, model=model, tools=[look])
        await agent.ask("look")
        await agent.ask("look again")
        await session.erase(chosen(session))
        assert list(session.pool) == []
        await session.close()

    asyncio.run(talk())
    assert not any(secret in bytes_in(tmp_path) for secret in SECRETS)


@pytest.mark.parametrize("chosen", ["look", "recent"])
def test_what_quotes_two_outputs_joins_them_not(tmp_path: Path, chosen: str) -> None:
    async def talk() -> None:
        session = session_in(tmp_path)

        @tool
        async def recent() -> str:
            """What was looked at lately."""
            return "\n".join(
                f"It gave: {item.text}" for item in session.view() if isinstance(item, ToolResult)
            )

        model = Scripted([[call("look"), call("other")], "Looked.", call("recent"), "Found."])
        short = [tool(name=one.name, max_output=350)(one.function) for one in (look, other)]
        agent = Agent(session, model=model, tools=[*short, recent])
        await agent.ask("look")
        await agent.ask("what was there?")
        found = {item.name: item for item in session.view() if isinstance(item, ToolResult)}
        assert found["recent"].text.count("kept as output-") == 2
        await session.erase(found[chosen].id)
        left = {item.name: item.text for item in session.view() if isinstance(item, ToolResult)}
        assert left["recent"] == "[forgotten]" and left["other"].startswith("OTHERBEGIN")
        assert len(session.pool) == (1 if chosen == "look" else 2)
        assert (left["look"] == "[forgotten]") == (chosen == "look")
        await session.close()

    asyncio.run(talk())


def test_what_is_being_read_back_does_not_come_back(tmp_path: Path) -> None:
    async def talk() -> None:
        session = session_in(tmp_path)
        await Agent(session, model=Scripted([call("look"), "Looked."]), tools=[look]).ask("look")
        [note] = session.pool
        held = note.key or ""
        begun, go_on = asyncio.Event(), asyncio.Event()

        @tool
        async def fetch(handle: str) -> str:
            """Fetch a part of an output, slowly."""
            part = str(session.pool.get(handle).content)[:200]
            begun.set()
            await go_on.wait()
            return part

        model = Scripted([call("fetch", f'{{"handle": "{held}"}}'), "Fetched."])
        asking = asyncio.create_task(Agent(session, model=model, tools=[fetch]).ask("fetch it"))
        await begun.wait()
        await session.erase(note.id)
        go_on.set()
        assert (await asking).text == "Fetched."
        await session.close()

    asyncio.run(talk())
    assert not any(secret in bytes_in(tmp_path) for secret in SECRETS)
