"""Tasks: the input that is read, the names and prompt of a program, and the answer that is accepted."""

from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict

import pydantic
import pytest

from quire.agent import tool
from quire.errors import InvalidValue
from quire.models import Scripted
from quire.programs import ProgramFault, Task
from tests.programs.coding import ADDING, coder_of, said, solving


@dataclass
class AsDataclass:
    problem: str
    tries: int = 3
    tags: list[str] = field(default_factory=list)


class AsModel(pydantic.BaseModel):
    problem: str
    tries: int = 3
    tags: list[str] = []


class AsDictionary(TypedDict):
    problem: str
    tries: NotRequired[int]


@pytest.mark.parametrize("kind", [AsDataclass, AsModel], ids=lambda kind: kind.__name__)
def test_fields_are_read_with_their_defaults(kind: Any) -> None:
    task = Task("solve", input=kind)
    assert task.read({"problem": "x"}) == {"problem": "x", "tries": 3, "tags": []}
    assert task.read({"problem": "x", "tries": "4", "tags": ("a",)})["tries"] == 4
    with pytest.raises(InvalidValue, match="problem"):
        task.read({})


def test_an_optional_key_that_is_absent_is_none() -> None:
    assert Task("solve", input=AsDictionary).read({"problem": "x"}) == {"problem": "x", "tries": None}


def test_the_input_is_one_text_by_default() -> None:
    assert Task("solve").read({"input": "x"}) == {"input": "x"}
    with pytest.raises(InvalidValue, match="no input 'other'"):
        Task("solve").read({"input": "x", "other": 1})
    named = Task("solve", input={"first": AsModel, "second": AsDataclass})
    assert named.read({"first": {"problem": "x"}, "second": {"problem": "y"}})["first"]["tries"] == 3


def test_an_answer_is_a_value_of_the_output_type() -> None:
    assert Task("solve", output=AsDataclass).answer({"problem": "x"}) == AsDataclass("x")
    assert Task("solve", output=int).answer("4") == 4
    with pytest.raises(ProgramFault, match="does not fit") as fault:
        Task("solve", output=list[int]).answer({"a": 1})
    assert fault.value.kind == "answer"


def test_names_are_legal_and_distinct() -> None:
    @tool(name="for")
    async def loop() -> None:
        """Loop."""

    @tool(name="print")
    async def other() -> None:
        """Print."""

    names = {"for_": str, "output": str, "a b": int, "llm": str, "2nd": str}
    task = Task("t", input=names, tools=[loop, other], models=[Scripted([], name="m")])
    assert set(task.tools) == {"for_", "print_"} and set(task.models) == {"llm_a", "llm"}
    values = {"for_": "1", "output": "2", "a b": 3, "llm": "4", "2nd": "5"}
    assert list(task.variables(values)) == ["for__", "output_", "a_b", "llm_", "_2nd"]
    two = Task("t", models=[Scripted([], name="m"), Scripted([], name="n")])
    assert {name: model.name for name, model in two.models.items()} == {"llm_a": "m", "llm_b": "n"}


async def test_the_prompt_has_the_rules_the_task_the_declarations_and_the_input() -> None:
    coder = coder_of(ADDING, ADDING)
    await coder.answer(solving(), {"problem": "x" * 100_000})
    (role, rules), (_, asked) = said(coder.session, "attempt_a")[:2]
    assert role == "system" and "`output`" in rules
    for part in ("# Task: solve", "Solve a problem.", "async def calculator(a: int, b: int", "class Output"):
        assert part in asked
    assert "xxx" in asked and "left out here" in asked and len(asked) < 10_000
    await coder.keep(solving())
    kept = said(coder.session, "attempt_b")[1][1]
    assert "other values each time" in kept and "xxx" not in kept
