"""Notes that a tool gives again, and what was held and cannot be recorded: they hold up nothing."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from quire import Item, Note, Session, ToolCall, ToolResult
from quire.agent import Agent, Tool, tool
from quire.agent.tools import run as run_tool
from quire.items import JSON
from quire.models import Scripted
from quire.stores import Entry, MemoryStore, SQLiteStore, Store
from quire.stores.streams import STEPS
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


def held(call_id: str) -> Note:
    """The note that the next held result is of a call, as it stands in the log."""
    return Note(content={"held": call_id}, key="held")


def left_by_another(store: Store, *came: Item, name: str = "hours") -> tuple[Session, ToolCall]:
    """A conversation in which a call was begun, and another's result is held as an older version did."""
    one = Session.open("ana/one", store=store)
    one.user("go")
    one.append(LOOSE)
    one.append(ToolCall("s", "slow"), ToolCall("h", name))
    begun, waiting = one.view().pending()
    asyncio.run(one.steps.begin(begun, waiting))
    result = ToolResult("h", name, "What it gave.")
    items: Sequence[Item] = (held(waiting.id), result, *came)
    entries = [Entry(STEPS, JSON.encode_item(item)) for item in items]
    store.append(one.place, entries, expected=one.version)
    return Session.open("ana/one", store=store), waiting


@pytest.mark.parametrize("goes_on", ["ask", "resume"])
@pytest.mark.parametrize(
    "came", [[LOOSE], [Note("new"), LOOSE], [Note("one", id="same"), Note("two", id="same")]]
)
def test_a_conversation_that_was_stopped_by_what_is_held_comes_free(goes_on: str, came: list[Item]) -> None:
    session, waiting = left_by_another(MemoryStore(), *came)
    assert session.steps.standing()[1] == (waiting, "held")

    async def talk() -> None:
        agent = Agent(session, model=Scripted(["Done.", "And on."]), tools=[hours, slow])
        assert (await (agent.ask("and?") if goes_on == "ask" else agent.resume())).text == "Done."
        first, second = results(agent)
        assert "uncertain" in first.text
        assert second.is_error and "It was run, and what it gave could not be kept: item" in second.text
        assert notes(agent) == [LOOSE], "what came with it is not there either"
        assert (await agent.ask("and?")).text == "And on."
        assert_whole(agent)

    run(talk)


def test_what_is_held_beside_it_is_recorded() -> None:
    async def talk() -> None:
        store = MemoryStore()
        session = Session.open("ana/one", store=store)
        session.user("go")
        session.append(LOOSE)
        session.append(*(ToolCall(name, "hours") for name in "abc"))
        waiting = session.view().pending()
        await session.steps.begin(*waiting)
        for one in waiting:
            note = LOOSE if one.call_id == "b" else Note("x")
            came: list[Item] = [held(one.id), ToolResult(one.call_id, "hours", one.call_id), note]
            entries = [Entry(STEPS, JSON.encode_item(item)) for item in came]
            await session.aio.refresh()
            store.append(session.place, entries, expected=session.version)
        again = Session.open("ana/one", store=store)
        agent = Agent(again, model=Scripted(["Done."]), tools=[hours])
        assert (await agent.ask("and?")).text == "Done."
        a, b, c = results(agent)
        assert (a.text, c.text) == ("a", "c") and "could not be kept" in b.text
        assert [note.content for note in notes(agent)] == ["nine to five", "x", "x"]
        assert_whole(agent)

    run(talk)


def no_cards(item: Item) -> Item:
    if "card 4111" in str(item):
        raise ValueError("card numbers stay out")
    return item


def unwritable(item: Item) -> Item:
    has_card = isinstance(item, ToolResult) and "card 4111" in item.text
    return replace(item, extras={"raw": object()}) if has_card else item


@tool
async def card() -> tuple[str, Note]:
    """Give a card, and keep something at hand."""
    return "card 4111", Note("beside", key="beside", description="x")


@pytest.mark.parametrize("redact", [no_cards, unwritable])
@pytest.mark.parametrize("calls", [["card"], ["slow", "card", "slow"], ["card", "slow"]])
def test_what_redaction_does_not_let_be_written_holds_up_nothing(redact: object, calls: list[str]) -> None:
    async def talk() -> None:
        session = Session.open("ana/one", store=MemoryStore(), redact=redact)  # type: ignore[arg-type]
        reply = [call(name, "{}", f"c{place}") for place, name in enumerate(calls)]
        agent = Agent(session, model=Scripted([reply, "Done.", "And on."]), tools=[card, slow])
        assert (await agent.ask("go")).text == "Done."
        told = {one.name: one for one in results(agent)}
        words = "refused by a hook: ValueError" if redact is no_cards else "could not be kept: "
        assert told["card"].is_error and words in told["card"].text and "card 4111" not in str(told)
        assert [one.text for one in results(agent) if one.name == "slow"] == ["ok"] * calls.count("slow")
        assert redact is not no_cards or not list(session.pool)
        assert (await agent.ask("and?")).text == "And on."
        assert_whole(agent)

    run(talk)


def test_what_was_held_before_it_was_redacted_holds_up_nothing() -> None:
    store = MemoryStore()
    _, waiting = left_by_another(store, Note("of the card 4111"))
    session = Session.open("ana/one", store=store, redact=no_cards)

    async def talk() -> None:
        agent = Agent(session, model=Scripted(["Done."]), tools=[hours, slow])
        assert (await agent.ask("and?")).text == "Done."
        assert "refused" in results(agent)[1].text and results(agent)[1].call_id == waiting.call_id
        assert_whole(agent)

    run(talk)
