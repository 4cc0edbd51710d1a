"""Answers that are one of several: a program may give each of them, and a wrong one is told."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel

from quire.programs import Task
from quire.programs.faults import ProgramFault
from tests.programs.coding import coder_of, run


class Found(BaseModel):
    """What was found."""

    name: str
    price: float


class Missed(BaseModel):
    """Why nothing was."""

    reason: str


class Circle(BaseModel):
    """One kind."""

    kind: Literal["circle"]
    r: float


class Square(BaseModel):
    """The other."""

    kind: Literal["square"]
    a: float


FOUND, MISSED = {"name": "x", "price": 1.5}, {"reason": "none"}
GIVEN: list[tuple[Any, Any]] = [
    (Found | Missed, FOUND),
    (Found | Missed, MISSED),
    (Found | None, None),
    (Found | None, FOUND),
    (Found | str, "nothing"),
    (list[Found] | Missed, [FOUND]),
    (list[Found] | Missed, MISSED),
    (list[Found | Missed], [FOUND, MISSED]),
    (Circle | Square, {"kind": "square", "a": 1.0}),
]


@pytest.mark.parametrize(("kind", "value"), GIVEN)
def test_each_of_them_is_taken(kind: Any, value: Any) -> None:
    async def work() -> None:
        task = Task("find", input={"n": int}, output=kind)
        coder = coder_of()
        found = await coder.run(task, f"output = {value!r}", n=1)
        assert found.value == task.answer(value)
        either = f"if n > 5:\n    output = {value!r}\nelse:\n    found = {value!r}\n    output = found"
        assert (await coder.run(task, either, n=1)).value == found.value

    run(work)


@pytest.mark.parametrize("value", [{"nam": "x"}, {"name": 1, "price": 2.0}, {"name": "x"}, 5])
def test_what_is_none_of_them_is_a_fault(value: Any) -> None:
    async def work() -> None:
        with pytest.raises(ProgramFault) as raised:
            await coder_of().run(
                Task("find", input={"n": int}, output=Found | Missed), f"output = {value!r}", n=1
            )
        assert raised.value.kind in ("types", "answer")

    run(work)
