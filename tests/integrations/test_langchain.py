"""Quire inside LangChain's agents: what is sent fits and is never refused, what happened is kept."""

# pyright: basic

import asyncio
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from quire import Budget, Session, Template
from quire.errors import InvalidValue
from quire.integrations.langchain import QuireMiddleware
from quire.integrations.langgraph import QuireSaver
from quire.items import Message, ToolResult
from quire.providers import check
from quire.sections import History
from quire.stores import MemoryStore
from tests.integrations.chat import ScriptedChat, call, faults
from tests.integrations.killed import die, handle_in, run_killed

CONFIG: Any = {"configurable": {"thread_id": "t1"}, "recursion_limit": 500}
ASYNC = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
BOOK = "\n".join(f"Line {number} of the book, which has many lines." for number in range(3_000))


@tool
def look(page: int) -> str:
    """Look at a page of the book."""
    return f"Page {page} says nothing of importance."


@tool
def read_book() -> str:
    """Read the whole book."""
    return BOOK


def invoke(agent: Any, given: Any, is_async: bool = False, config: Any = CONFIG) -> Any:
    return asyncio.run(agent.ainvoke(given, config)) if is_async else agent.invoke(given, config)


def run(agent: Any, messages: list[Any], is_async: bool = False, config: Any = CONFIG) -> list[AnyMessage]:
    answered: list[AnyMessage] = invoke(agent, {"messages": messages}, is_async, config)["messages"]
    return answered


def looking(times: int) -> Callable[[list[Any]], AIMessage]:
    """A script: look at so many pages, one after the other, then say so."""

    def script(messages: list[Any]) -> AIMessage:
        page = max((int(one.tool_call_id) for one in messages if isinstance(one, ToolMessage)), default=0) + 1
        return AIMessage("I have looked.") if page > times else call(str(page), page=page)

    return script


@ASYNC
def test_requests_fit_the_window_and_the_state_stays_whole(is_async: bool) -> None:
    quire = QuireMiddleware(Template(History(), budget=Budget(window=500)), MemoryStore())
    model = ScriptedChat(script=looking(30))
    agent = create_agent(
        model, [look], system_prompt="Look.", middleware=[quire], checkpointer=InMemorySaver()
    )
    state = run(agent, [HumanMessage("Look at thirty pages.")], is_async)
    session = quire.session("t1")

    assert len(state) == 62 and isinstance(state[0], HumanMessage)
    assert max(map(len, model.requests)) < 40
    assert all(isinstance(one[0], SystemMessage) and not faults(one) for one in model.requests)
    assert all(receipt.tokens <= 500 for receipt in session.receipts)
    assert len(session.receipts) == len(model.requests) == 31
    results = [one for one in session.view().recorded() if isinstance(one, ToolResult)]
    assert [one.call_id for one in results] == [str(page) for page in range(1, 31)]
    assert session.receipts[-1].explain(results[0]).fate == "left out"


BLOCKS: dict[str, list[Any]] = {
    "an image": [HumanMessage([{"type": "image", "base64": "aGVsbG8=", "mime_type": "image/png"}])],
    "a file of the provider": [HumanMessage([{"type": "file", "file_id": "file-1"}])],
    "a search of the provider": [
        HumanMessage("Search."),
        AIMessage([{"type": "server_tool_call", "id": "s1", "name": "web_search", "args": {}}]),
        HumanMessage("Go on."),
    ],
}


@pytest.mark.parametrize("messages", BLOCKS.values(), ids=BLOCKS)
def test_blocks_of_all_kinds_are_sent(messages: list[Any]) -> None:
    model = ScriptedChat(script=lambda _: AIMessage("I see."))
    run(create_agent(model, [], middleware=[QuireMiddleware(32_000, MemoryStore())]), messages)
    assert [one.content for one in model.requests[0]] == [one.content for one in messages]


def test_usage_is_recorded() -> None:
    def script(_: Any) -> AIMessage:
        details: Any = {"cache_read": 60, "cache_creation": 10}
        tokens: Any = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
        return AIMessage("Yes.", usage_metadata={**tokens, "input_token_details": details})

    quire = QuireMiddleware(32_000, MemoryStore())
    run(create_agent(ScriptedChat(script=script), [], middleware=[quire]), [HumanMessage("Are you there?")])
    usage = quire.session("t1").spending.usage
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (100, 20, 60, 10)


@ASYNC
def test_a_long_result_is_kept_whole_and_read_back_in_pieces(is_async: bool) -> None:
    def script(messages: list[Any]) -> AIMessage:
        if len(messages) == 1:
            return call("1", "read_book")
        _, *further = messages[-1].text.split("go on with start=")
        if len(messages) > 3 and not further:
            return AIMessage("I have read it.")
        start = int(further[0].rstrip("]")) if further else 0
        return call(str(len(messages)), "read_back", handle=handle_in(messages[2].text), start=start)

    quire = QuireMiddleware(60_000, MemoryStore())
    model = ScriptedChat(script=script)
    agent = create_agent(model, [read_book], middleware=[quire], checkpointer=InMemorySaver())
    state = run(agent, [HumanMessage("Read the book.")], is_async)
    results = [one for one in state if isinstance(one, ToolMessage)]
    pieces = [one.text.split("\n[characters ")[0] for one in results[1:]]

    assert len(results[0].text) < 60_000 < len(BOOK)
    assert results[0].text.startswith(BOOK[:10_000]) and results[0].text.endswith(BOOK[-10_000:])
    assert "".join(pieces) == BOOK and len(pieces) > 1
    assert [note.content for note in quire.session("t1").pool] == [BOOK]


def test_each_thread_and_each_agent_inside_of_another_has_a_conversation_of_its_own() -> None:
    store = MemoryStore()
    quire = QuireMiddleware(32_000, store, scope=lambda config: config["configurable"]["tenant"])
    inner = create_agent(ScriptedChat(script=looking(1)), [look], middleware=[quire])

    @tool
    def ask_reader(question: str) -> str:
        """Ask the reader."""
        return run(inner, [HumanMessage(question)], config=None)[-1].text

    def script(messages: list[Any]) -> AIMessage:
        return (
            AIMessage(messages[-1].text) if len(messages) > 1 else call("1", "ask_reader", question="What?")
        )

    outer = create_agent(ScriptedChat(script=script), [ask_reader], middleware=[quire])
    for thread in ("t1", "t2"):
        config = {"configurable": {"thread_id": thread, "tenant": "acme"}}
        state = run(outer, [HumanMessage("Ask.")], config=config)
        assert state[-1].text == "I have looked."
        session = quire.session(thread, scope="acme")
        texts = [one.text for one in session.view() if isinstance(one, Message)]
        assert texts == ["Ask.", "I have looked."]
    inside = [name for name in store.conversations("acme") if name not in ("t1", "t2")]
    assert sorted(name.split("/")[0] for name in inside) == ["t1", "t2"]


def test_a_run_without_a_thread_is_refused() -> None:
    model = ScriptedChat(script=lambda _: AIMessage("Yes."))
    agent = create_agent(model, [], middleware=[QuireMiddleware(32_000, MemoryStore())])
    with pytest.raises(InvalidValue, match="thread_id"):
        run(agent, [HumanMessage("Are you there?")], config=None)


def reader(path: str, page_that_kills: int | None, *idempotent: str) -> Any:
    """An agent that looks at five pages; its process may be killed while it looks at one."""

    @tool("look")
    def look_or_die(page: int) -> str:
        """Look at a page of the book."""
        with open(f"{path}.looked", "a") as looked:
            looked.write(str(page))
        if page == page_that_kills:
            die()
        return f"Page {page} says nothing of importance."

    quire, saver = QuireMiddleware(32_000, path, idempotent=idempotent), QuireSaver(path)
    return create_agent(
        ScriptedChat(script=looking(5)), [look_or_die], middleware=[quire], checkpointer=saver
    )


def test_an_agent_goes_on_after_its_process_was_killed_in_a_tool(tmp_path: Path) -> None:
    (tmp_path / "killed").mkdir()
    path, question = str(tmp_path / "killed" / "quire.db"), {"messages": [("user", "Look at five pages.")]}
    run_killed(__name__, f"reader({path!r}, 3).invoke({question!r}, CONFIG, durability='sync')")
    for number, (idempotent, is_async) in enumerate(product(((), ("look",)), (False, True))):
        copied = shutil.copytree(tmp_path / "killed", tmp_path / str(number))
        check_that_it_goes_on(str(copied / "quire.db"), idempotent, is_async)


def check_that_it_goes_on(path: str, idempotent: tuple[str, ...], is_async: bool) -> None:
    agent = reader(path, None, *idempotent)
    state = invoke(agent, None, is_async)["messages"]
    results = [one for one in state if isinstance(one, ToolMessage)]
    assert [one.tool_call_id for one in results] == ["1", "2", "3", "4", "5"]
    assert Path(f"{path}.looked").read_text() == ("1233" if idempotent else "123") + "45"
    assert results[2].text.startswith("Page 3" if idempotent else "It is uncertain whether this was done")

    session = Session.open("t1", store=path)
    kept = session.view()
    assert [one.call_id for one in kept if isinstance(one, ToolResult)] == ["1", "2", "3", "4", "5"]
    assert len(kept) == len(kept.recorded()) == len(state)
    sent = [receipt.request() for receipt in session.receipts]
    assert len(sent) == 6 and not any(check(one, "openai") for one in sent)


@ASYNC
def test_a_tool_that_asks_goes_on_with_the_answer_and_one_that_raised_does_not_run_again(
    is_async: bool,
) -> None:
    asked = list[int]()

    @tool("look")
    def look_if_allowed(page: int) -> str:
        """Look at a page of the book."""
        asked.append(page)
        if interrupt("May I?") == "no":
            raise OSError("the page is torn")
        return f"Page {page} says nothing of importance."

    store, model = MemoryStore(), ScriptedChat(script=looking(2))
    middleware: Any = [QuireMiddleware(32_000, store)]
    agent = create_agent(model, [look_if_allowed], middleware=middleware, checkpointer=QuireSaver(store))
    asking = {"messages": [HumanMessage("Look at two pages.")]}
    assert "__interrupt__" in invoke(agent, asking, is_async)
    assert "__interrupt__" in invoke(agent, Command(resume="yes"), is_async)
    with pytest.raises(OSError, match="torn"):
        invoke(agent, Command(resume="no"), is_async)
    texts = [one.text for one in invoke(agent, None, is_async)["messages"] if isinstance(one, ToolMessage)]
    assert texts[0] == "Page 1 says nothing of importance." and "uncertain" in texts[1]
    assert asked == [1, 1, 2, 2]
