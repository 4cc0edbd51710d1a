"""Sub-agents: what they see, what comes back, and that they are found again after a restart."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, Literal

import pytest

from quire import Budget, Message, Session, Template, ToolResult
from quire.agent import Agent, Limits, tool
from quire.agent.builtin import Role, ask_user, delegating_tools, sub_agents
from quire.models import Scripted
from quire.sections import History, Instructions
from quire.stores import MemoryStore, Store
from tests.agent.answering import Gate, assert_whole, call, look, results
from tests.stores.keeping import twin

CALLED = "\nIt had called look (1 done): look before you do it again."

POINTER = "\n[from checker-1; read_work gives all that it did]"


class Checkers:
    """Makes agents that answer in turn, one model for each conversation, and keeps them."""

    def __init__(self, *replies: Any, tools: Any = (), **options: Any) -> None:
        self._replies, self._tools, self._options = replies, tools, options
        self._models: dict[str, Scripted] = {}
        self.made: list[Agent] = []

    def make(self, session: Session) -> Agent:
        model = self._models.setdefault(str(session.place), Scripted(self._replies, repeat=True))
        self.made.append(Agent(session, model=model, tools=self._tools, name="checker", **self._options))
        return self.made[-1]

    def role(self, sees: Literal["brief", "all"] | int = "brief") -> Role:
        return Role(name="checker", description="Checks.", make=self.make, sees=sees)

    def seen(self) -> str:
        return str(self.made[0].model.requests[0].payload["messages"])  # type: ignore[attr-defined]


def parent_of(role: Role, *replies: Any, store: Store | None = None) -> Agent:
    session = Session.open("ana/one", store=store or MemoryStore())
    if store is None:
        session.user("The margin is 12 %.")
        session.assistant("Noted.")
    return Agent(session, model=Scripted(replies), tools=delegating_tools(role, timeout=60.0))


def given(to: str = "checker", task: str = "Check the margin.", call_id: str | None = None) -> Any:
    return call("delegate", f'{{"to": "{to}", "task": "{task}"}}', call_id)


QUESTION = call("ask_user", '{"question": "Which margin?"}', "k1")


@pytest.mark.parametrize(("sees", "knows"), [("brief", False), ("all", True), (1, False)])
async def test_what_a_sub_agent_sees_is_chosen(sees: Any, knows: bool) -> None:
    checkers = Checkers("It is right.")
    parent = parent_of(checkers.role(sees), given(), "Checked.")
    assert (await parent.ask("Check it.")).text == "Checked."
    assert ("The margin is 12 %." in checkers.seen()) is knows and "Check the margin." in checkers.seen()
    assert [one.text for one in results(parent)] == [f"It is right.{POINTER}"]
    said = [item.text for item in parent.session.view() if isinstance(item, Message)]
    assert said == ["The margin is 12 %.", "Noted.", "Check it.", "Checked."]  # it writes nothing here
    assert_whole(parent)


@pytest.mark.parametrize("sees", ["brief", "all"])
async def test_the_whole_of_the_work_can_be_read(sees: Any) -> None:
    checkers = Checkers(call("look"), "It is right.", tools=[look])
    whole = '<call of="look">{}</call>\n<result of="look">seen</result>\n<assistant>It is right.</assistant>'
    reads = [call("read_work", f'{{"name": "checker-1", "start": {start}}}') for start in (0, 30)]
    unknown = call("read_work", '{"name": "checker-2"}')
    parent = parent_of(checkers.role(sees), given(), [*reads, unknown], "Read.")
    await parent.ask("Check it.")
    texts = [one.text for one in results(parent)]
    assert texts[1].endswith(whole) and texts[2] == texts[1][30:]
    assert "The margin is 12 %." not in texts[1]
    assert "no agent is called 'checker-2'; there is checker-1" in texts[3]
    checkers.made[0].session.forget(checkers.made[0].session.view()[-1].id)
    assert "It is right." not in "".join(one.text for one in results(parent))


@pytest.mark.parametrize("wire", ["openai", "anthropic", "gemini"])
@pytest.mark.parametrize("sees", ["brief", "all", 1])
async def test_those_that_work_at_once_send_the_same_beginning(sees: Any, wire: str) -> None:
    models, all_three = list[Scripted](), asyncio.Barrier(3)

    async def meet(_: object) -> str:
        await all_three.wait()
        return "Done."

    def make(session: Session) -> Agent:
        models.append(Scripted([meet], wire=wire, name="gpt-5.6"))
        template = Template(Instructions("Check."), History(), budget=Budget(window=8_000))
        return Agent(session, model=models[-1], tools=[look], template=template)

    role = Role(name="checker", description="Checks.", make=make, sees=sees)
    tasks = call("delegate_in_parallel", '{"role": "checker", "tasks": ["task a", "task b", "task c"]}')
    await parent_of(role, tasks, "Done.").ask("Go.")
    sent = [json.dumps(model.requests[0].payload) for model in models]
    assert len(sent) == 3 and ("The margin is 12 %." in sent[0]) is (sees == "all")
    assert len({one.rpartition(f"task {nth}")[::2] for one, nth in zip(sent, "abc", strict=True)}) == 1


async def test_what_was_called_before_a_task_failed_is_told(later: Callable[[float], None]) -> None:
    async def sleeps(_: object) -> str:
        later(60)
        await asyncio.Event().wait()
        return "never"

    async def told(then: Any, first: Any = None, **options: Any) -> str:
        checkers = Checkers(first or call("look"), then, tools=[look], **options)
        parent = parent_of(checkers.role(), given(), "Well.")
        await parent.ask("Go.")
        assert_whole(checkers.made[0])
        return results(parent)[0].text

    stopped = "checker-1 did not finish in 60 seconds, and was stopped."
    assert await told(sleeps) == stopped + CALLED
    limited = "checker-1 stopped before it was done (requests): "
    assert await told("never", limits=Limits(requests=1)) == limited + CALLED
    twice = "\nIt had called look (1 failed, 1 done): look before you do it again."
    again = await told(call("look"), limits=Limits(requests=2), first=call("look", '{"at": 1}'))
    assert again.endswith(twice), "an id that a model uses again belongs to another call"
    for fault, words in (
        (OSError(111, "refused"), "ConnectionRefusedError: [Errno 111] refused"),
        (KeyError("gone"), "KeyError: 'gone'"),
    ):
        assert await told(fault) == words + CALLED


@pytest.mark.parametrize("beside_question", [False, True])
async def test_a_call_of_a_sub_agent_that_needs_approval_is_named(beside_question: bool) -> None:
    pay = tool(name="pay", approve=True)(look.function)
    calls = [call("pay", "{}", "p1"), QUESTION][: 1 + beside_question]
    checkers = Checkers(calls, "Well.", "Well.", tools=[pay, ask_user])
    after = given("checker-1", "The gross one.", "c2")
    parent = parent_of(checkers.role(), given(call_id="c1"), "It waits.", after, "Done.")
    await parent.ask("Check it.")
    told = results(parent)[0].text
    assert all(words in told for words in ("p1", "pay", "ana/one%2Fchecker-1"))
    assert ("cancels the call" in told) is not beside_question
    assert ("keeps waiting" in told) is beside_question
    await parent.ask("The gross one.")
    assert bool(checkers.made[0].session.calls.list_open()) is beside_question


async def test_a_sub_agent_of_a_process_that_died_is_found() -> None:
    store, gate = MemoryStore(), Gate()
    role = Checkers(call("gate"), "x", tools=[gate.tool]).role()
    dying = asyncio.create_task(parent_of(role, given(), "x", store=store).ask("go"))
    await gate.begun.wait()
    left = twin(store)  # as a process leaves it that ends here
    dying.cancel()
    await asyncio.wait([dying])
    later_role = Checkers("Again.", tools=[gate.tool]).role()
    later = parent_of(later_role, given("checker-1", "And?"), "Done.", store=left)
    assert (await later.ask("And?")).text == "Done."
    assert "uncertain" in results(later)[0].text and results(later)[-1].text == f"Again.{POINTER}"
    assert Session.open("ana/one%2Fchecker-1", store=left).calls.list_open() == [] and gate.ran == 1


@pytest.mark.parametrize("sees", ["brief", "all"])
async def test_a_sub_agent_that_asks_is_found_again_after_a_restart(sees: Any) -> None:
    store = MemoryStore()
    first = parent_of(Checkers(QUESTION, tools=[ask_user]).role(sees), given(), "Which?", store=store)
    await first.ask("Check it.")
    kinds = [type(item).__name__ for item in first.session.view()]
    assert kinds == ["Message", "ToolCall", "ToolResult", "Message"]  # the record of it is not shown
    assert "Which margin?" in results(first)[0].text and "checker-1" in results(first)[0].text
    found = first.session.memory.search("checker-1").hits
    assert {hit.leaf.transcript for hit in found} == {"main"}
    role = Checkers("It is right.", tools=[ask_user]).role(sees)
    later = parent_of(role, given("checker-1", "Gross."), given(), "Done.", store=store)
    assert (await later.ask("Gross.")).text == "Done."
    assert [one.text.splitlines()[0] for one in results(later)[-2:]] == ["It is right.", "It is right."]
    asked = Session.open("ana/one%2Fchecker-1", store=store)
    assert "Gross." in [one.text for one in asked.view() if isinstance(one, ToolResult)]
    assert list(sub_agents(later.session)) == ["checker-1", "checker-2"]
    assert_whole(later)
    elsewhere = Agent(
        instructions="Other.", model=Scripted([given("checker-1"), "x"]), tools=delegating_tools(role)
    )
    await elsewhere.ask("go")
    assert "no agent is called 'checker-1'" in results(elsewhere)[0].text
