"""Answers of a type: schemas, reading, corrections, and how the schema is sent and counted."""

import json
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import pydantic
import pytest

from quire import Session
from quire.agent import Agent
from quire.context import Template
from quire.errors import OverBudget
from quire.models import Scripted
from quire.sections import History
from quire.stores import MemoryStore
from quire.tokens import Budget, answer_tokens, counter_for


@dataclass
class Form:
    name: str
    town: str
    age: int


class Row(TypedDict):
    kind: Literal["city", "river"]
    scores: dict[str, float]


class Checked(pydantic.BaseModel):
    size: int = pydantic.Field(gt=0)


FORM = '{"name": "a", "town": "```b```", "age": 1}'
GOOD = Form("a", "```b```", 1)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Form, FORM, GOOD),
        (Row, '{"kind": "city", "scores": {"a": 1}}', {"kind": "city", "scores": {"a": 1.0}}),
        (Checked, '{"size": 3}', Checked(size=3)),
        (dict[str, int], '{"value": 1, "other": 2}', {"value": 1, "other": 2}),
        (str, "Any text.", "Any text."),
        (Form, f"Here it is:\n```json\n{FORM}\n```", GOOD),
        (Form, f"Here it is: {FORM}\n\nThat is all.", GOOD),
        (list[int], "Here:\n```json\n[1, 2]\n```", [1, 2]),
    ],
)
async def test_a_text_is_read_as_a_value(kind: Any, text: str, value: Any) -> None:
    model = Scripted([text])
    agent = Agent(instructions="Ask.", model=model)
    assert (await agent.ask("go", output=kind)).output == value and len(model.requests) == 1
    assert (await agent.resume(output=kind)).output == value  # of the answer that is there


@pytest.mark.parametrize(
    ("kind", "wrong", "told"),
    [
        (Form, "Gladly!", ["the answer is not JSON"]),
        (Form, '{"name": 1, "age": "old"}', ["name"]),
        (Checked, '{"size": 0}', ["size"]),
        (list[Row], '{"value": [{"kind": "hill", "scores": {"a": "x"}}]}', ["[0].kind"]),
        (Form, f"Either {FORM} or {FORM}.", ["not JSON"]),
    ],
)
async def test_a_wrong_answer_is_asked_for_again_with_its_fault(
    kind: Any, wrong: str, told: list[str]
) -> None:
    right = {Form: FORM, Checked: '{"size": 3}'}.get(kind, '{"value": []}')
    model = Scripted([wrong, right])
    reply = await Agent(instructions="Ask.", model=model).ask("go", output=kind)
    correction = [one for one in model.requests[1].payload["messages"] if "not what was asked" in str(one)]
    assert reply.stop == "done" and all(word in str(correction) for word in told)


@pytest.mark.parametrize("name", ["gpt-5.6", "somebody-elses"])
async def test_the_schema_is_sent_by_the_wire_or_in_words_at_the_end_and_not_recorded(name: str) -> None:
    model = Scripted([FORM, FORM], name=name)
    agent = Agent(instructions="Ask.", model=model)
    await agent.ask("one", output=Form)
    await agent.ask("two", output=Form)
    texts = [json.dumps(sent.payload["messages"]).count("fits this schema") for sent in model.requests]
    assert texts == ([0, 0] if name == "gpt-5.6" else [1, 1])
    if name != "gpt-5.6":
        assert "fits this schema" in str(model.requests[1].payload["messages"][-1])
    assert "fits this schema" not in str(list(agent.session.view()))


async def test_the_schema_counts_in_the_budget_and_the_receipt() -> None:
    def agent_in(window: int) -> Agent:
        template = Template(History(), budget=Budget(window=window), model="gpt-5.6")
        model = Scripted([FORM], name="gpt-5.6", repeat=True)
        return Agent(Session.open(store=MemoryStore()), template=template, model=model)

    agent, plain = agent_in(1_000), agent_in(1_000)
    await agent.ask("go", output=Form)
    await plain.ask("go")
    counted = answer_tokens(agent.model.terms[0].get("output"), counter_for("gpt-5.6"))  # type: ignore[attr-defined]
    assert agent.session.receipts[0].tokens == plain.session.receipts[0].tokens + counted > 40
    small = agent_in(50)
    await small.ask("go")
    with pytest.raises(OverBudget) as caught:
        await small.ask("go", output=Form)
    assert caught.value.parts[0] == "answer schema"
