"""Results that a hook refuses: nothing of them is kept, the model is told, and the conversation goes on."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from quire import Handoff, Item, Note, Session, ToolCall, ToolResult
from quire.agent import Agent, Tool, tool
from quire.agent.builtin import ask_user
from quire.agent.reply import Ended
from quire.items import JSON
from quire.models import Scripted
from quire.session import Adding, Evicting, Hook
from quire.stores import Entry, MemoryStore, SQLiteStore, Store
from quire.stores.streams import STEPS
from tests.agent.answering import Gate, assert_whole, call, results, run

SECRET = "card 4111 1111 1111 1111"


@tool
async def slow() -> str:
    """Take a while."""
    await asyncio.sleep(0.01)
    return "ok"


@tool
async def customer() -> tuple[str, Note]:
    """Look up a customer."""
    return SECRET, Note(f"of the {SECRET}")


def no_cards(event: Adding) -> None:
    if "4111 1111" in str(event.items):
        raise ValueError(SECRET)


def no_results(event: Adding) -> None:
    if any(isinstance(item, ToolResult) for item in event.items):
        raise PermissionError


def agent_at(store: Store, *replies: object, hook: Hook | None = None, tools: Sequence[object] = ()) -> Agent:
    session = Session.open("ana/one", store=store, hooks=[hook or Hook(no_cards, (Adding,))])
    return Agent(session, model=Scripted(replies), tools=[slow, customer, *tools])  # type: ignore[arg-type]


SLOW, CUSTOMER = call("slow"), call("customer")


@pytest.mark.parametrize("calls", [[CUSTOMER], [CUSTOMER, SLOW], [SLOW, CUSTOMER], [SLOW, CUSTOMER, SLOW]])
def test_the_model_is_told_and_nothing_of_it_is_stored(calls: list[ToolCall], tmp_path: Path) -> None:
    async def talk() -> None:
        fresh = [call(one.name, "{}", f"c{place}") for place, one in enumerate(calls)]
        agent = agent_at(SQLiteStore(tmp_path / "a.db"), fresh, "Done.", "And on.")
        assert (await agent.ask("go")).text == "Done."
        told = {one.call_id: one for one in results(agent)}
        for one in fresh:
            if one.name == "slow":
                assert told[one.call_id].text == "ok"
            else:
                assert told[one.call_id].is_error and "refused by a hook" in told[one.call_id].text
                assert "ValueError" in told[one.call_id].text
        assert not any(isinstance(item, Note) for item in agent.session.view())
        assert (await agent.ask("and?")).text == "And on."
        assert_whole(agent)

    run(talk)
    assert not any(b"4111 1111" in file.read_bytes() for file in tmp_path.iterdir())


def test_who_listens_is_told_what_is_recorded() -> None:
    async def talk() -> None:
        agent = agent_at(MemoryStore(), [SLOW, CUSTOMER], "Done.")
        ended = [delta.result async for delta in agent.stream("go") if isinstance(delta, Ended)]
        assert {one.id for one in ended} == {one.id for one in results(agent)}

    run(talk)


@pytest.mark.parametrize("is_broken_off", [False, True])
def test_each_item_is_heard_of_once(is_broken_off: bool) -> None:
    async def talk() -> None:
        heard: list[Item] = []
        gate = Gate()
        listening = Hook(lambda event: heard.extend(event.items), (Adding,), name="listening")
        reply = [call("gate"), call("slow"), call("customer")]
        agent = agent_at(MemoryStore(), reply, "Done.", hook=listening, tools=[gate.tool])
        asking = asyncio.create_task(agent.ask("go"))
        while [how for _, how in agent.session.steps.standing()] != ["begun", "held", "held"]:
            await asyncio.sleep(0)
        if is_broken_off:
            await agent.interrupt()
        gate.go.set()
        await asking
        ids = [item.id for item in heard]
        assert len(ids) == len(set(ids)) and {item.id for item in agent.session.view()} == set(ids)
        assert_whole(agent)

    run(talk)


def test_a_hook_that_refuses_every_result_does_not_block_the_conversation() -> None:
    async def talk() -> None:
        store, gate = MemoryStore(), Gate()
        refusing = Hook(no_results, (Adding,))
        agent = agent_at(store, [call("gate"), SLOW], "Done.", hook=refusing, tools=[gate.tool])
        asking = asyncio.create_task(agent.ask("go"))
        await gate.begun.wait()
        await agent.interrupt()
        assert (await asking).stop == "interrupted"
        assert results(agent)[0].extras["uncertain"] is True
        assert (await agent.ask("and?")).text == "Done."
        assert_whole(agent)

    run(talk)


@pytest.mark.parametrize("goes_on", ["ask", "resume"])
def test_what_an_older_version_held_without_asking_is_asked_about(goes_on: str) -> None:
    async def talk() -> None:
        store = MemoryStore()
        one = Session.open("ana/one", store=store)
        one.user("go")
        left = one.call("customer")
        await one.steps.begin(left)
        held = JSON.encode_item(ToolResult(left.call_id, "customer", SECRET))
        store.append(one.place, [Entry(STEPS, held)], expected=one.version)
        agent = agent_at(store, "Done.")
        reply = await (agent.ask("and?") if goes_on == "ask" else agent.resume())
        assert reply.text == "Done." and "refused by a hook" in results(agent)[0].text
        assert_whole(agent)

    run(talk)


def test_a_person_whose_answer_is_refused_hears_of_it_and_may_say_another() -> None:
    async def talk() -> None:
        asks = call("ask_user", '{"question": "Which?"}')
        agent = agent_at(MemoryStore(), asks, "Done.", tools=[ask_user])
        assert (await agent.ask("go")).stop == "waiting"
        with pytest.raises(ValueError, match="4111"):
            await agent.ask(SECRET)
        assert results(agent) == []
        assert (await agent.ask("the blue one")).text == "Done."
        assert [one.text for one in results(agent)] == ["the blue one"]

    run(talk)


def test_what_comes_with_a_refused_result_is_refused_with_it() -> None:
    async def talk() -> None:
        session = Session.open("ana/one", store=MemoryStore(), hooks=[Hook(no_results, (Adding,))])
        bills = Agent(session, model=Scripted(["Bills."]), name="bills")
        agent = Agent(session, model=Scripted([call("hand_over_to_bills"), "Mine."]), handoffs=[bills])
        assert (await agent.ask("go")).text == "Mine.", "what is not on the record was not handed over"
        assert not any(isinstance(item, Handoff) for item in session.view())
        assert_whole(agent)

    run(talk)


@tool
async def statement() -> str:
    """Give more than is shown at once, with the secret where the model does not see it."""
    return "line " * 9_000 + SECRET + " line" * 9_000


@tool
async def filed() -> tuple[str, Note]:
    """Look up a customer, and keep what was found at hand."""
    return "Found.", Note(SECRET, key="card", description="of the customer")


@tool
async def told() -> tuple[str, Note]:
    """Tell a secret, and keep something else at hand."""
    return SECRET, Note("nothing of it", key="else", description="beside it")


def no_cards_said(event: Adding) -> None:
    if event.stream == "main":
        no_cards(event)


@pytest.mark.parametrize(
    ("given", "hears"),
    [(statement, no_cards), (filed, no_cards), (told, no_cards), (told, no_cards_said)],
)
@pytest.mark.parametrize("beside", [[], [SLOW]])
def test_nothing_that_came_with_it_is_kept_either(
    tmp_path: Path, given: Tool, hears: Callable[[Adding], None], beside: list[ToolCall]
) -> None:
    heard: list[Adding] = []

    def hearing(event: Adding) -> None:
        heard.append(event)
        hears(event)

    async def talk() -> None:
        store, hook = SQLiteStore(tmp_path / "a.db"), Hook(hearing, (Adding,))
        agent = agent_at(store, [*beside, call(given.name)], "Done.", hook=hook, tools=[given])
        assert (await agent.ask("go")).text == "Done."
        assert "refused by a hook: ValueError" in results(agent)[-1].text
        assert list(agent.session.pool) == [] and not results(agent)[-1].extras
        assert_whole(agent)

    run(talk)
    assert not any(b"4111 1111" in file.read_bytes() for file in tmp_path.iterdir())
    ids = [item.id for event in heard for item in event.items]
    assert len(ids) == len({*ids})


def test_what_hooks_allow_is_heard_of_once_and_kept(tmp_path: Path) -> None:
    heard: list[Adding] = []

    async def talk() -> None:
        hook = Hook(heard.append, (Adding,))
        agent = agent_at(MemoryStore(), [call("statement")], "Done.", hook=hook, tools=[statement])
        assert (await agent.ask("go")).text == "Done."
        [note] = agent.session.pool
        assert list(results(agent)[0].extras["quire.outputs"]) == [note.key]
        ids = [item.id for event in heard for item in event.items]
        assert len(ids) == len({*ids}) and {note.id, results(agent)[0].id} < {*ids}

    run(talk)


@tool
async def several() -> tuple[str, Note, Note]:
    """Give two notes."""
    return (
        "Paid.",
        Note("the first", key="one", description="x"),
        Note("the second", key="two", description="x"),
    )


@pytest.mark.parametrize("limit", [1, 2])
def test_a_note_that_nothing_may_give_way_for_refuses_the_result_alone(tmp_path: Path, limit: int) -> None:
    def guarding(event: Evicting) -> None:
        if event.note.key == "policy":
            raise PermissionError

    async def talk() -> None:
        store, hooks = SQLiteStore(tmp_path / "a.db"), [Hook(guarding, (Evicting,))]
        session = Session.open("ana/one", store=store, hooks=hooks, pool_limit=limit)
        session.pool.keep(Note("No refunds.", key="policy", description="x"))
        model = Scripted([[SLOW, call("several"), call("slow", "{}", "again")], "Done."])
        agent = Agent(session, model=model, tools=[slow, several])
        assert (await agent.ask("go")).text == "Done."
        assert [one.text for one in results(agent)] == [
            "ok",
            "The result of this call was refused by a hook: PermissionError.",
            "ok",
        ]
        assert [note.key for note in session.pool] == ["policy"]
        assert_whole(agent)
        await session.aio.close()

    run(talk)
    assert not any(b"the first" in file.read_bytes() for file in tmp_path.iterdir())
