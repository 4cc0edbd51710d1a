"""Tasks: what is read of what is given, what a program is told of, and what it may answer."""

from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict
from unicodedata import normalize

import msgspec
import pydantic
import pytest
from hypothesis import given, strategies as st

from quire.agent import tool
from quire.errors import InvalidValue, WrongType
from quire.models import Scripted
from quire.programs import ProgramFault, Task
from quire.programs.values import as_text, by_name, legal_name, plain
from tests.programs.coding import calculator, solving


@dataclass
class AsDataclass:
    """One."""

    problem: str
    tries: int = 3
    tags: list[str] = field(default_factory=list)


class AsStruct(msgspec.Struct, omit_defaults=True):
    """One."""

    problem: str
    tries: int = 3
    tags: list[str] = []


class AsModel(pydantic.BaseModel):
    """One."""

    problem: str
    tries: int = 3
    tags: list[str] = []


class AsDictionary(TypedDict):
    """One."""

    problem: str
    tries: NotRequired[int]
    tags: NotRequired[list[str]]


@pytest.mark.parametrize("kind", [AsDataclass, AsStruct, AsModel], ids=lambda kind: kind.__name__)
def test_fields_are_read_with_their_defaults(kind: Any) -> None:
    task = Task("solve", input=kind)
    assert task.read({"problem": "x"}) == {"problem": "x", "tries": 3, "tags": []}
    assert task.read({"problem": "x", "tries": "4", "tags": ("a",)})["tries"] == 4
    with pytest.raises(InvalidValue, match="problem"):
        task.read({})


def test_what_may_be_left_out_is_none() -> None:
    task = Task("solve", input=AsDictionary)
    assert task.read({"problem": "x"}) == {"problem": "x", "tries": None, "tags": None}


def test_the_input_is_one_text_unless_it_is_said() -> None:
    assert Task("solve").read({"input": "x"}) == {"input": "x"}
    with pytest.raises(WrongType, match="type with fields"):
        Task("solve", input=int)
    with pytest.raises(InvalidValue, match="name"):
        Task("solve", input={"": int})


def test_answers_are_values_of_the_type() -> None:
    assert Task("solve", output=AsDataclass).answer({"problem": "x"}) == AsDataclass("x")
    assert Task("solve", output=int).answer("4") == 4
    with pytest.raises(ProgramFault, match="does not fit") as fault:
        Task("solve", output=list[int]).answer({"a": 1})
    assert fault.value.kind == "answer"


def test_names_are_legal_and_apart() -> None:
    @tool(name="for")
    async def loop() -> None:
        """Loop."""

    @tool(name="print")
    async def other() -> None:
        """Print."""

    task = Task(
        "t",
        input={"for_": str, "output": str, "a b": int, "llm": str},
        tools=[loop, other],
        models=[Scripted([], name="m")],
    )
    assert set(task.tools) == {"for_", "print_"} and set(task.models) == {"llm_a", "llm"}
    assert task.variables({"for_": "1", "output": "2", "a b": 3, "llm": "4"}) == {
        "for__": "1",
        "output_": "2",
        "a_b": 3,
        "llm_": "4",
    }
    compile(task.stubs, "stubs.py", "exec")


def test_models_have_letters() -> None:
    task = Task("t", models=[Scripted([], name="m"), Scripted([], name="n")])
    assert {name: model.name for name, model in task.models.items()} == {"llm_a": "m", "llm_b": "n"}
    with pytest.raises(WrongType, match="list"):
        Task("t", models="openai:gpt-5.6")


def test_tools_that_run_elsewhere_are_refused() -> None:
    with pytest.raises(InvalidValue, match="run here"):
        Task("t", tools=[{"name": "x", "description": "", "parameters": {"type": "object"}}])


def test_the_version_is_the_same_in_another_process_of_the_same_task() -> None:
    assert solving().version == solving().version != solving(tools=[]).version
    assert solving().declared[0].name == "calculator"
    assert solving().declared[0].returns is not None


def test_positions_are_those_of_the_stub() -> None:
    schema = calculator.definition["parameters"]
    assert by_name(schema, (1, 2), {"operation": "add"}) == {"a": 1, "b": 2, "operation": "add"}
    with pytest.raises(TypeError, match="by place"):
        by_name(schema, (1, 2, 3, 4), {})
    with pytest.raises(TypeError, match="twice"):
        by_name(schema, (1,), {"a": 1})


@pytest.mark.laws
@given(st.text(), st.sets(st.sampled_from(["a", "a_", "_", "for_", "x1"])), st.booleans())
def test_any_name_becomes_a_legal_one(name: str, taken: set[str], is_function: bool) -> None:
    legal = legal_name(name, taken, is_function=is_function)
    assert legal.isidentifier() and legal not in taken and legal != "output"
    assert normalize("NFKC", legal) == legal  # or Python would read another name
    compile(f"{legal} = 1", "name.py", "exec")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.laws
@given(JSON)
def test_plain_values_stay_as_they_are(value: Any) -> None:
    assert plain(value) == value
    as_text(value).encode()


def test_what_has_no_form_in_json_says_what_it_is() -> None:
    assert plain({"a": (1, {2}), "b": b"x"}) == {"a": [1, [2]], "b": "eA=="}
    assert "Scripted" in plain(Scripted([], name="m"))
    assert plain([AsModel(problem="x")]) == [{"problem": "x", "tries": 3, "tags": []}]
