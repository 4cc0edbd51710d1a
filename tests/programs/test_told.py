"""What stubs tell a model beside types: what parameters and inputs are for, and what they default to."""

import ast
from typing import Annotated, Any

from pydantic import BaseModel, Field

from quire.agent import tool
from quire.programs import Task
from quire.programs.stubs import Declared, stubs_of
from tests.programs.coding import coder_of, run


@tool
async def transfer(  # noqa: D417  # of some, nothing is said
    amount: float,
    unit: str = "EUR",
    tags: list[str] = [],  # noqa: B006
    note: str | None = None,
) -> str:
    """Transfer money.

    Args:
        amount: in cents, and no
            fraction of one
        unit: an ISO code
    """
    return f"{amount} {unit}"


class Given(BaseModel):
    """What is given."""

    text: str = Field(description="at most ten words")


class Named(BaseModel):
    """Reads one name, and writes another."""

    user: int = Field(validation_alias="uid", serialization_alias="userId")


@tool
async def named() -> list[Named]:
    """Name somebody."""
    return [Named.model_validate({"uid": 3})]


def told(parameters: dict[str, Any], description: str = "") -> ast.AsyncFunctionDef:
    schema = {"type": "object", "properties": parameters}
    node = ast.parse(stubs_of([Declared("f", description, schema)])).body[-1]
    assert isinstance(node, ast.AsyncFunctionDef)
    return node


def test_parameters_are_told_with_what_they_are_for_and_their_defaults() -> None:
    stubs = Task("pay", input=Given, tools=[transfer]).stubs
    assert (
        "unit: str = 'EUR'" in stubs
        and "tags: list[str] = []" in stubs
        and "note: str | None = None" in stubs
    )
    assert "        amount: in cents, and no fraction of one\n        unit: an ISO code\n" in stubs
    assert "\ntext: str  # at most ten words\n" in stubs


def test_the_stubs_are_of_use_to_the_checker() -> None:
    async def work() -> None:
        task = Task("pay", input=Given, tools=[transfer])
        answer = await coder_of("output = await transfer(3)", rounds=1).answer(task, text="x")
        assert answer.value == "3.0 EUR"

    run(work)


def test_what_is_long_or_no_plain_value_is_cut() -> None:
    long = told({"a": {"description": "x" * 5_000}, "b": {"default": "y" * 5_000}, "c": {"default": 10**500}})
    assert len(ast.get_docstring(long) or "") < 300
    assert [ast.unparse(one) for one in long.args.defaults] == ["..."] * 3


def test_whatever_a_schema_says_it_is_python() -> None:
    odd = {"description": 'a """ and \\ and\na # line\udce9', "default": "it's \udce9"}
    node = told({"a": odd, "odd name": odd}, 'ends with "')
    docstring = ast.get_docstring(node) or ""
    assert "odd name: a ''' and \\ and a # line" in docstring and docstring.startswith('ends with "')
    assert ast.literal_eval(node.args.defaults[0]) == "it's \udce9"


def test_what_is_told_is_part_of_the_version() -> None:
    def version(unit: str, text: str) -> str:
        @tool
        async def pay(amount: Annotated[int, Field(description=text)], unit: str = unit) -> None:
            """Pay."""

        return Task("pay", tools=[pay]).version

    assert version("EUR", "a") == version("EUR", "a") != version("USD", "a")
    assert version("EUR", "a") != version("EUR", "b")


def test_a_result_has_the_names_that_it_is_written_with() -> None:
    async def work() -> None:
        task = Task("name", output=int, tools=[named])
        answer = await coder_of("output = (await named())[0]['userId']", rounds=1).answer(task, input="")
        assert answer.value == 3

    run(work)
