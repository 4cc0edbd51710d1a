"""Answers of a type: how models hear of their shape, what of it is counted, and what a correction says."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest

from quire import Agent, Message, Session
from quire.agent import tool
from quire.context import Template
from quire.errors import OverBudget
from quire.models import Scripted
from quire.providers import Parsed, Rendered
from quire.sections import History
from quire.stores import MemoryStore
from quire.tokens import Budget, Usage, answer_tokens, counter_for

WIRES = ("openai", "openai-responses", "anthropic", "gemini")


@dataclass
class Report:
    title: str
    scores: dict[str, float]


@dataclass
class Form:
    name: str
    town: str
    age: int
    colour: str


@tool
async def look(q: str) -> str:
    """Looks it up."""
    return q


def words_in(sent: Rendered) -> str:
    return json.dumps(sent.payload, default=list)


@pytest.mark.parametrize("wire", WIRES)
def test_what_the_wire_does_not_hold_is_told_with_the_question_and_not_recorded(wire: str) -> None:
    async def run() -> None:
        model = Scripted(['{"title": "t", "scores": {"ana": 3}}'], wire=wire, name="somebody-elses")
        agent = Agent("Score them.", model=model, tools=[look])
        assert (await agent.ask("ana?", output=Report)).output == Report("t", {"ana": 3.0})
        assert words_in(model.requests[0]).count("fits this schema") == 1
        assert not any("fits this schema" in getattr(item, "text", "") for item in agent.session.view())

    asyncio.run(run())


@pytest.mark.parametrize(
    ("wire", "name"),
    [("openai", "gpt-5.6"), ("anthropic", "claude-sonnet-5"), ("gemini", "gemini-3-pro")],
)
def test_a_model_that_is_held_is_told_nothing(wire: str, name: str) -> None:
    model = Scripted(['{"name": "a", "town": "b", "age": 1, "colour": "c"}'], wire=wire, name=name)
    asyncio.run(Agent("Ask.", model=model).ask("go", output=Form))
    assert "fits this schema" not in words_in(model.requests[0])


def test_what_comes_before_the_words_stays_as_it_is() -> None:
    async def run() -> None:
        model = Scripted(['{"title": "t", "scores": {}}'], wire="anthropic", repeat=True)
        agent = Agent("Score them.", model=model)
        await agent.ask("one", output=Report)
        await agent.ask("two", output=Report)
        first, second = (sent.payload["messages"] for sent in model.requests)
        assert first[0]["content"][0]["text"] == second[0]["content"][0]["text"] == "one"
        assert "fits this schema" in first[-1]["content"][-1]["text"]
        assert model.requests[0].payload["system"] == model.requests[1].payload["system"]
        assert first[-1]["content"][-1] == second[-1]["content"][-1]

    asyncio.run(run())


@pytest.mark.parametrize(
    "said",
    [
        "Here it is:\n```json\n{}\n```",
        "```\n{}\n```\nI hope that this helps.",
        'For instance {{"name": 1}}, so:\n\n```json\n{}\n```\nThere.',
        "Here it is: {}",
        "{}\n\nThat is all.",
        "Some code:\n```python\nprint(1)\n```\nAnd:\n```json\n{}\n```",
    ],
)
def test_an_answer_among_other_words_is_read(said: str) -> None:
    good = '{"name": "a", "town": "```b```", "age": 1, "colour": "}c{"}'
    model = Scripted([said.format(good)])
    reply = asyncio.run(Agent("Ask.", model=model).ask("go", output=Form))
    assert reply.output == Form("a", "```b```", 1, "}c{")


@pytest.mark.parametrize(
    "said",
    [
        "Either {0} or {0}.",
        "Here: [{0}]",
        "Here: [1, {0}]",
        "```json\n{0}\n```\nor\n```json\n{0}\n```",
        "Here: {1}",
    ],
)
def test_what_may_be_several_answers_or_none_is_asked_for_again(said: str) -> None:
    good = '{"name": "a", "town": "b", "age": 1, "colour": "c"}'
    model = Scripted([said.format(good, good.replace("1", '"old"')), good])
    reply = asyncio.run(Agent("Ask.", model=model).ask("go", output=Form))
    assert reply.output == Form("a", "b", 1, "c") and len(model.requests) == 2


def test_values_that_are_no_objects_are_read_among_words_too() -> None:
    for said in ("Here:\n```json\n[1, 2]\n```", 'Here: {"value": [1, 2]}'):
        model = Scripted([said])
        assert asyncio.run(Agent("Ask.", model=model).ask("go", output=list[int])).output == [1, 2]


def test_the_schema_that_is_sent_is_counted() -> None:
    async def run() -> None:
        session = Session.open(store=MemoryStore())
        model = Scripted(['{"name": "a", "town": "b", "age": 1, "colour": "c"}'], name="gpt-5.6")
        agent = Agent(session, model=model)
        await agent.ask("go", output=Form)
        schema = model.terms[0].get("output")
        counted = answer_tokens(schema, counter_for("gpt-5.6"))
        plain = Scripted(["x"], name="gpt-5.6")
        other = Session.open(store=MemoryStore())
        await Agent(other, model=plain).ask("go")
        assert counted > 40
        assert session.receipts[0].tokens == other.receipts[0].tokens + counted

    asyncio.run(run())


def test_there_is_room_for_the_schema_or_an_error_that_names_it() -> None:
    async def run() -> None:
        template = Template(History(), budget=Budget(window=60), model="gpt-5.6")
        session = Session.open(store=MemoryStore())
        agent = Agent(session, template, model=Scripted(["x"], name="gpt-5.6", repeat=True))
        await agent.ask("go")
        with pytest.raises(OverBudget) as caught:
            await agent.ask("go", output=Form)
        assert caught.value.parts[0] == "answer schema"

    asyncio.run(run())


@pytest.mark.parametrize("output", [Form, Report], ids=["held", "told"])
def test_an_answer_of_a_type_spoils_no_counter(output: Any) -> None:
    """What the provider reports holds the schema; so does what it is compared with."""

    async def run() -> None:
        session = Session.open(store=MemoryStore())
        good = '{"name": "a", "town": "b", "age": 1, "colour": "c"}'
        replies = [good if output is Form else '{"title": "t", "scores": {}}', "fine"]
        agent = Agent(session, model=Scripted(replies, name="claude-sonnet-5", wire="anthropic"))
        await agent.ask("Which?", output=output)
        learned = (await agent.preview()).receipt
        fresh = Session.open(store=MemoryStore())
        await fresh.aio.append(*session.view())
        unlearned = (
            await Agent(fresh, model=Scripted([], name="claude-sonnet-5", wire="anthropic")).preview()
        ).receipt
        assert abs(learned.tokens - unlearned.tokens) <= unlearned.tokens // 20

    asyncio.run(run())


def test_a_request_with_parts_that_nobody_counted_teaches_nothing() -> None:
    async def run() -> None:
        def looked_up(_: Rendered) -> Parsed:
            return Parsed((Message("assistant", "Found."),), Usage(5_000, 3), "stop", "claude-sonnet-5")

        session = Session.open(store=MemoryStore())
        agent = Agent(session, model=Scripted(looked_up, name="claude-sonnet-5", wire="anthropic"))
        await agent.ask("Which?")
        await session.aio.append(Message("user", "lorem ipsum " * 500))
        receipt = (await agent.preview()).receipt
        counter = counter_for("claude-sonnet-5")
        assert receipt.tokens == counter.total(session.view().counted(counter))

    asyncio.run(run())
