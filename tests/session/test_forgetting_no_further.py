"""Forgetting reaches no further than it has to: what others said in words of their own stays."""

import asyncio

import pytest

from quire import Agent, Session, ToolCall
from quire.agent.builtin import Role, delegating_tools, recall_tools
from quire.agent.tools import tool
from quire.items import Message
from quire.models import Scripted
from quire.stores import MemoryStore, Store
from tests.agent.test_forgetting_underway import Beside
from tests.session.recalling import PLAIN, results
from tests.session.test_forgetting import kept_bytes

SECRET = "The budget password is swordfish-0815."
TASK = "Check the budget of March against the invoices."
ANSWER = "The budget of March is 1,204 EUR over: invoice 88 was booked twice."
WEATHER = "The weather in Rome is 24 degrees and sunny."


def texts(one: Session) -> list[str]:
    return [item.text for item in one.view() if isinstance(item, Message)]


def checked(store: Store, *answers: str, tool_name: str = "delegate") -> Session:
    """A conversation in which others were asked to check something, at `books/checker-1` and so on."""
    books, left = Session.open("ana/books", store=store), iter(answers or (ANSWER,))
    role = Role(
        name="checker", description="checks", make=lambda own: Agent(own, model=Scripted([next(left)]))
    )
    task = f'{{"to": "checker", "task": "{TASK}"}}'
    tasks = f'{{"role": "checker", "tasks": ["{TASK}", "{TASK}", "{TASK}"]}}'
    call = ToolCall("d1", tool_name, task if tool_name == "delegate" else tasks)
    agent = Agent(books, PLAIN, model=Scripted([[call], "It is over."]), tools=delegating_tools(role))
    asyncio.run(agent.ask("Is the budget right?"))
    return books


def child(store: Store, number: int = 1) -> Session:
    return Session.open(f"ana/books%2Fchecker-{number}", store=store)


def test_a_result_that_lists_what_a_sub_agent_said_takes_nothing_from_it() -> None:
    store = MemoryStore()
    monday = Session.open("ana/monday", store=store)
    secret = monday.user(SECRET)
    books = checked(store)
    call = ToolCall("r1", "recall", '{"question": "budget", "limit": 20}')
    agent = Agent(books, PLAIN, model=Scripted([[call], "Found."]), tools=recall_tools())
    asyncio.run(agent.ask("What do we know of the budget?"))
    listed = results(books)[-1]
    assert SECRET in listed and ANSWER in listed and TASK in listed
    monday.forget(secret.id)
    assert b"swordfish" not in kept_bytes(store)
    assert texts(child(store)) == [TASK, ANSWER]


def test_what_a_fork_said_stays_though_a_search_of_ones_own_lists_it() -> None:
    store = MemoryStore()
    main = Session.open("ana/main", store=store)
    secret = main.user(SECRET)
    fork = main.fork("x")
    fork.user(TASK)
    call = main.call("search")
    main.tool(f"1. {SECRET}\n\n2. {TASK}", call_id=call.call_id)
    main.forget(secret.id)
    assert texts(fork)[-1] == TASK and b"swordfish" not in kept_bytes(store)


@pytest.mark.parametrize("is_named", [False, True])
def test_of_several_answers_in_one_result_the_one_that_tells_of_it_goes(is_named: bool) -> None:
    store = MemoryStore()
    secret = Session.open("ana/books", store=store).user(SECRET)
    books = checked(store, ANSWER, f"It says: {SECRET}", "Nothing wrong.", tool_name="delegate_in_parallel")
    named = next(
        item.id for item in books.view() if getattr(item, "call_id", "") == "d1" and hasattr(item, "is_error")
    )
    books.forget(*([secret.id, named] if is_named else [secret.id]))
    left = [texts(child(store, number))[-1] for number in (1, 2, 3)]
    assert [text for text in left if "swordfish" in text] == []
    assert (ANSWER in left) is not is_named
    assert b"swordfish" not in kept_bytes(store)


@pytest.mark.parametrize("where", ["beside", "fork", "by another process"])
def test_a_result_that_tells_nothing_of_it_is_kept(where: str) -> None:
    store = MemoryStore()
    here = Session.open("ana/q3", store=store)
    here.user("Hello.")
    below = here.fork("x") if where == "fork" else here.beside("x")
    secret = below.user(SECRET)

    @tool
    def weather() -> str:
        """Look at the sky."""
        seen = Beside(store) if where == "by another process" else store
        Session.open("ana/q3%2Fx", store=seen).forget(secret.id)
        return WEATHER

    agent = Agent(here, PLAIN, model=Scripted([[ToolCall("c1", "weather")], "Sunny."]), tools=[weather])
    asyncio.run(agent.ask("How is it?"))
    assert results(here) == [WEATHER]
    assert b"swordfish" not in kept_bytes(store)


def test_it_is_erased_without_blocking() -> None:
    async def erase() -> None:
        here = Session.open("ana/q3", store=MemoryStore())
        secret = here.user(SECRET)
        await here.erase(secret.id)
        assert texts(here) == ["[forgotten]"]

    asyncio.run(erase())
