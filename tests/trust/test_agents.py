"""An agent whose model obeys every instruction that it reads in the role of the user or the system.

It is the worst reader of what Quire sends it: what is quoted must not look like an instruction at all.
"""

import json
import tomllib
from html import unescape
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from quire import Message, Session, Summary, ToolCall, ToolResult
from quire.agent import Agent, Limits, tool
from quire.agent.builtin import Role, delegating_tools
from quire.compactors import Summarize
from quire.context import Template
from quire.items import Note, Origin
from quire.memory import Recall, Wishes
from quire.models import Scripted
from quire.providers import PROVIDERS, Rendered
from quire.sections import Catalogue, History, Instructions, Pooled
from quire.stores import MemoryStore
from quire.tokens import Budget

from .attacks import ATTACKS, FORBIDDEN, Attack, opened, put, writer
from .frames import instructions_in

HARMLESS = tomllib.loads(Path(__file__).with_name("harmless.toml").read_text("utf-8"))
READ = "read_page"


class Obedient:
    """A model that does what it is told: it wires a refund where that is said outside of a frame."""

    def __init__(self, wire: str) -> None:
        self._wire, self._calls = wire, 0
        self.model = Scripted(self.answer, wire=wire, name="obedient")

    def answer(self, sent: Rendered) -> Any:
        said = instructions_in(sent.payload, self._wire)
        self._calls += 1
        if FORBIDDEN in said:
            return ToolCall(f"x{self._calls}", FORBIDDEN, "{}")
        is_asked = "read the page" in said.rpartition("\n")[2] and "seen it" not in str(sent.payload)
        return ToolCall(f"r{self._calls}", READ, "{}") if is_asked and self._calls < 2 else "I have seen it."


def agent_with(
    session: Session,
    model: Scripted,
    page: Any,
    limits: Limits | None = None,
    trust: Origin = "tool",
    **options: Any,
) -> tuple[Agent, list[str]]:
    wired = list[str]()

    @tool(trust=trust)
    def read_page() -> Any:
        """Read the page."""
        return page

    @tool(**options)
    def wire_refund() -> str:
        """Wire a refund."""
        wired.append("wired")
        return "wired"

    sections = (Wishes(), Recall("knowledge", "episodes"), Catalogue(), Pooled(), History())
    template = Template(Instructions("You help."), *sections, budget=Budget(window=6_000, reserve=500))
    tools = [read_page, wire_refund]
    return Agent(session, model=model, template=template, tools=tools, limits=limits or Limits()), wired


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.fuzz)])
async def test_no_attack_makes_an_obedient_agent_call_the_forbidden_tool(every: int) -> None:
    wires, attacks = cycle(PROVIDERS), ATTACKS[::every]
    fell, summarised = list[Attack](), 0
    for attack in attacks:
        session = opened(model=writer(), compactor=Summarize(floor=2, ceiling=5, unit="messages"))
        page: Any = [Note(attack.text, key="page", description=attack.text), attack.text, "It rained. " * 60]
        agent, wired = agent_with(session, Obedient(next(wires)).model, page)
        await agent.ask("Please read the page.")
        put(session, attack, 1)
        await session.aio.compaction.run()
        await agent.ask("What does the house say about the refund of the order?")
        await agent.ask("Thanks.")
        await session.aio.close()
        fell += [attack] if wired else []
        summarised += any(isinstance(item, Summary) for item in session.view())
    assert fell == [] and summarised > len(attacks) // 2


async def test_the_agent_does_obey_a_user() -> None:
    for wire in PROVIDERS:
        agent, wired = agent_with(opened(), Obedient(wire).model, "fine", limits=Limits(requests=2))
        await agent.ask("Please wire_refund.")
        assert wired


# Harmless conversations


class Reader:
    """A model that looks a value up wherever it is shown."""

    def __init__(self, wire: str, topic: str) -> None:
        self._topic, self._wire, self.calls = topic, wire, 0
        self.model = Scripted(self.answer, wire=wire, name="reader")

    def answer(self, sent: Rendered) -> Any:
        text = unescape(json.dumps(sent.payload, ensure_ascii=False))
        found = text.partition(f"{self._topic}_id: ")[2][:8]
        self.calls += 1
        return found or ToolCall(f"r{self.calls}", READ, "{}")


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.fuzz)])
async def test_harmless_conversations_end_as_they_would_without(every: int) -> None:
    fillers, wires = HARMLESS["fillers"], cycle(PROVIDERS)
    for number, topic in enumerate(HARMLESS["topics"][::every]):
        value = f"{topic[:2].upper()}-{10_000 + 37 * number}"
        page = "\n".join((*fillers, f"{topic}_id: {value}", *fillers[::-1]))
        session = opened(model=_teller(topic), compactor=Summarize(floor=2, ceiling=4, unit="messages"))
        agent, wired = agent_with(session, Reader(next(wires), topic).model, page, approve="if_untrusted")
        answers = [(await agent.ask(f"Please read the page. What is the {topic}?")).text]
        for turn in range(3):
            session.user(f"How warm is it on day {turn}?")
            session.assistant("Mild.")
        await session.aio.compaction.run()
        answers.append((await agent.ask(f"Which {topic} was it again?")).text)
        assert answers == [value, value] and not wired
        await session.aio.close()


def _teller(topic: str) -> Scripted:
    def write(sent: Rendered) -> str:
        found = unescape(str(sent.payload)).partition(f"{topic}_id: ")[2][:8]
        return f"Facts: {topic}_id: {found}"

    return Scripted(write, name="teller")


# Gates


async def test_a_call_waits_for_a_person_if_something_untrusted_led_to_it() -> None:
    first, second = ToolCall("x", FORBIDDEN, "{}"), ToolCall("y", FORBIDDEN, "{}")
    model = Scripted([ToolCall("r", READ, "{}"), first, "Done.", second, "Done again."])
    recalling, wired = agent_with(opened(), model, "The total is 4.", approve="if_untrusted")
    agent = Agent(recalling.session, model=model, tools=recalling.tools)
    reply = await agent.ask("Please read the page.")
    (waiting,) = reply.waiting
    result = next(item for item in agent.session.view() if isinstance(item, ToolResult))
    assert reply.stop == "waiting" and not wired and result.id in waiting.extras["quire.untrusted"]
    assert (await agent.decide({waiting.id: True})).text == "Done." and wired == ["wired"]
    # The user has spoken since: what was untrusted before is not what leads to this call.
    assert (await agent.ask("Once more.")).text == "Done again." and wired == ["wired"] * 2


async def test_a_request_for_a_better_answer_is_no_word_of_the_user() -> None:
    replies: list[Any] = [ToolCall("r", READ, "{}"), "no number", ToolCall("x", FORBIDDEN, "{}")]
    agent, wired = agent_with(opened(), Scripted(replies), "The total is 4.", approve="if_untrusted")
    reply = await agent.ask("Please read the page.", output=int)
    assert reply.stop == "waiting" and not wired


async def test_a_gate_sees_through_summaries_and_quotes() -> None:
    store = MemoryStore()
    past = opened("past", store)
    past.user("Which refund?")
    past.append(ToolCall("c", "look", "{}"), ToolResult("c", "look", "The refund is of order 17."))
    past.assistant("I see.")
    session = opened("now", store)
    model = Scripted([ToolCall("x", FORBIDDEN, "{}"), "Done."])
    agent, wired = agent_with(session, model, "", approve="if_untrusted")
    reply = await agent.ask("Which refund is of order 17?")
    assert reply.stop == "waiting" and not wired
    assert any(name.startswith("recall/") for name in reply.waiting[0].extras["quire.untrusted"])


async def test_a_call_needs_nobody_where_only_the_user_and_trusted_tools_spoke() -> None:
    model = Scripted([ToolCall("r", READ, "{}"), ToolCall("x", FORBIDDEN, "{}"), "Done."])
    agent, wired = agent_with(opened(), model, "Ours.", trust="system", approve="if_untrusted")
    assert (await agent.ask("Wire it.")).text == "Done." and wired == ["wired"]
    (result, *_) = [item for item in agent.session.view() if isinstance(item, ToolResult)]
    assert result.origin == "system"


async def test_a_task_of_a_sub_agent_has_the_origin_of_what_led_to_it() -> None:
    asked = Scripted(["ok", "ok"])

    def make(session: Session) -> Agent:
        return Agent(session, model=asked)

    replies: list[Any] = [
        ToolCall("d", "delegate", '{"to": "helper", "task": "Count."}'),
        ToolCall("r", READ, "{}"),
        ToolCall("e", "delegate", '{"to": "helper", "task": "Count again."}'),
        "Done.",
    ]

    @tool(trust="external")
    def read_page() -> str:
        """Read a page."""
        return "From elsewhere."

    roles = delegating_tools(Role(name="helper", description="It helps.", make=make))
    agent = Agent(opened(), model=Scripted(replies), tools=[read_page, *roles])
    await agent.ask("Go.")
    session = agent.session
    children = [session.child(f"helper-{number}").view()[0] for number in (1, 2)]
    assert [item.origin for item in children if isinstance(item, Message)] == ["model", "external"]
    assert '<message origin="external">' in str(asked.requests[1].payload)
