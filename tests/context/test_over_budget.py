"""Who is named where what is required is too much: those to blame, and nobody else."""

from typing import Any

import pytest

from quire import Budget, Template, counter_for
from quire.errors import OverBudget
from quire.items import Message
from quire.sections import Ask, History, Instructions
from quire.state import Transcript
from tests.context.building import built

COUNTER = counter_for("gpt-5.6")
SMALL = Budget(window=200)
QUESTION = Message("user", "Well?", id="question")


def over(instructions: str, *items: Message, tools: Any = ()) -> OverBudget:
    template = Template(Instructions(instructions), History(), budget=SMALL)
    with pytest.raises(OverBudget) as caught:
        built(template, Ask(views={"main": Transcript(items).view}, tools=tools), COUNTER)
    return caught.value


def test_of_instructions_that_are_too_long_no_item_is_blamed() -> None:
    fault = over("Be exact. " * 200, QUESTION)
    assert fault.parts[0] == "instructions" and "question" not in str(fault)


def test_of_tools_that_are_too_long_no_item_is_blamed() -> None:
    fault = over("Be exact.", QUESTION, tools=[{"name": "look", "description": "far " * 400}])
    assert fault.parts[0] == "tool definitions" and "question" not in str(fault)


def test_of_a_history_the_largest_that_must_stay_is_blamed() -> None:
    fault = over(
        "Be exact.", Message("system", "Be brief.", id="rule"), Message("user", "w " * 400, id="long")
    )
    assert fault.parts[0] == "history" and "'long'" in str(fault)
