"""Bounds are checked when they are made, and a fault is of a kind that there is."""

from typing import Any

import pytest

from quire.errors import InvalidLimit, InvalidValue, WrongType
from quire.programs.bounds import Bounds
from quire.programs.faults import LONGEST, ProgramFault, at_line


@pytest.mark.parametrize(
    "wrong",
    [{"seconds": 0}, {"seconds": float("inf")}, {"wall": -1}, {"memory": 10}, {"depth": 0}, {"calls": -1}],
)
def test_a_limit_that_is_none_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidLimit, match=next(iter(wrong))):
        Bounds(**wrong)


@pytest.mark.parametrize(
    "wrong", [{"seconds": "1"}, {"seconds": None}, {"wall": True}, {"memory": 1e9}, {"calls": True}]
)
def test_a_limit_of_another_type_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(WrongType, match=next(iter(wrong))):
        Bounds(**wrong)


def test_any_wall_is_allowed() -> None:
    assert Bounds(wall=None).wall is None


def test_a_fault_is_bounded_and_of_a_kind() -> None:
    found = ProgramFault("raised", "x" * 10_000, 3, "printed")
    assert len(str(found)) == LONGEST + 1
    assert (found.kind, found.line, found.printed) == ("raised", 3, "printed")
    with pytest.raises(InvalidValue):
        ProgramFault("odd", "x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_line_is_shown_where_there_is_one() -> None:
    assert at_line("a\n  b", 2, "no") == "line 2, `b`: no"
    assert at_line("a", 7, "no") == "no"
    assert len(at_line("x" * 1000, 1, "no")) < 200
