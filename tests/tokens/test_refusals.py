"""What makes no sense is refused by an error of the library that says what was wanted."""

from collections.abc import Callable
from typing import Any

import pytest

from quire.errors import InvalidLimit, InvalidValue, QuireError, WrongType
from quire.items import Message
from quire.tokens import (
    FRAMINGS,
    MEDIA,
    Budget,
    Calibrated,
    Calibration,
    Estimate,
    Exact,
    Framing,
    Measured,
    Media,
    estimate,
    schema_tokens,
)
from quire.tokens.exact import exact
from tests.counting import Gives, Items

ANY: Any = object()
HELLO = Message("user", "hello world")
BUDGET = Budget(window=1_000)
FRAMING: dict[str, Any] = {
    "name": "f",
    "message": 1,
    "call": 1,
    "result": 1,
    "request": 1,
    "tools": 1,
    "tool": 1,
}
COSTS: dict[str, Any] = {"name": "m", "image": MEDIA["claude"].image, "second": None, "page": 1}


def untyped(function: Any, *given: Any, **named: Any) -> Callable[[], object]:
    """A call as it comes from code that no type checker has seen."""
    return lambda: function(*given, **named)


def measured(measure: Any) -> Measured:
    return Measured("k", measure, FRAMINGS["plain"], MEDIA["claude"])


def always(value: Any) -> Measured:
    def measure(_: str) -> Any:
        return value

    return measured(measure)


WRONG_TYPES: dict[str, Callable[[], object]] = {
    "a scale of text": untyped(Estimate, "x"),
    "a scale of nothing": untyped(Estimate, None),
    "a scale that is true": untyped(Estimate, True),
    "an encoding that is a list": untyped(Exact, []),
    "an encoding that is a number": untyped(exact, 5),
    "a framing that is a list": untyped(Exact, framing=[]),
    "media costs by number": untyped(Exact, media=5),
    "a measure that is no function": untyped(measured, 5),
    "a key that is a number": untyped(Measured, 5, len, FRAMINGS["plain"], MEDIA["claude"]),
    "an estimate of a number": untyped(estimate, 5),
    "an estimate of bytes": untyped(estimate, b"hello"),
    "requests that are a number": untyped(BUDGET.shared_out, 5),
    "requests that are a text": untyped(BUDGET.shared_out, "abc"),
    "names that are numbers": untyped(BUDGET.shared_out, [1, 2]),
    "a name in a mapping that is a number": untyped(BUDGET.shared_out, {1: 2}),
    "a calibrated number": untyped(Calibrated, 5),
    "a calibrated class": untyped(Calibrated, None),
    "a state that is a mapping": untyped(Calibrated, Estimate(), {}),
    "a tool that is a number": untyped(schema_tokens, [5], Exact()),
    "a tool that is a number, as JSON": untyped(schema_tokens, [5], Gives()),
    "tools that are a number": untyped(schema_tokens, 5, Exact()),
    "tools that are one tool": untyped(schema_tokens, {"name": "f"}, Exact()),
    "tools that are a text": untyped(Exact().count_tools, "f"),
    "tools counted by a number": untyped(schema_tokens, [], 5),
    "a framing named by a number": untyped(Framing, **FRAMING | {"name": 5}),
    "a framing by halves": untyped(Framing, **FRAMING | {"call": 1.5}),
    "a framing that may be typed": untyped(Framing, **FRAMING | {"typed": 1}),
    "media named by nothing": untyped(Media, **COSTS | {"name": None}),
    "media without a formula": untyped(Media, **COSTS | {"image": 85}),
    "a second of text": untyped(Media, **COSTS | {"second": "10"}),
    "a page that is true": untyped(Media, **COSTS | {"page": True}),
    "a measure by halves": untyped(always(1.5).text, "hello"),
    "a measure that is true": untyped(always(True).count, HELLO),
    "a count of nothing": untyped(Calibrated(Gives(None)).count, HELLO),
    "a count by halves": untyped(Calibrated(Gives(1.5)).count, HELLO),
    "a count that is true": untyped(schema_tokens, [{"name": "f"}], Gives(True)),
    "a total by halves": untyped(Calibrated(Gives(total=1.5)).total, 10),
    "a text that is a number": untyped(Exact().text, 3),
    "a text that is nothing": untyped(Exact().text, None),
    "a text that is zero": untyped(Estimate().text, 0),
    "a text that is empty bytes": untyped(Estimate(1.15).text, b""),
    "a total of nothing": untyped(Exact().total, None),
    "a total of text": untyped(Estimate().total, "3"),
    "a total of halves": untyped(Exact().total, 1.5),
    "a total of what is true": untyped(Exact().total, True),
    "a calibrated total of nothing": untyped(Calibrated(Exact()).total, None),
    "a calibrated total of text, by any counter": untyped(Calibrated(Gives()).total, "3"),
    "a correction of nothing": untyped(Calibrated(Exact()).corrected, None),
    "a correction of text": untyped(Calibrated(Exact()).corrected, "3"),
    "a correction of halves": untyped(Calibrated(Exact()).corrected, 1.5),
    "a count by a class": untyped(Calibrated, Items),
    "tools counted by a class": untyped(schema_tokens, [], Exact),
    "a calibration without a key": untyped(Calibration, None),
    "an overhead of text": untyped(Calibration, "k", (), "much"),
    "samples that are a list": untyped(Calibration, "k", []),
    "samples that are numbers": untyped(Calibration, "k", (1, 2)),
    "a total of a learned request": untyped(Calibrated(Gives(total="x")).learn, 10, 10),
}

WRONG_VALUES: dict[str, Callable[[], object]] = {
    "a framing below zero": untyped(Framing, **FRAMING | {"tool": -1}),
    "a page below zero": untyped(Media, **COSTS | {"page": -1}),
    "a second below zero": untyped(Media, **COSTS | {"second": -0.5}),
    "a second that is no number": untyped(Media, **COSTS | {"second": float("nan")}),
    "a measure below zero": untyped(always(-1).count, HELLO),
    "a count below zero": untyped(Calibrated(Gives(-1)).count, HELLO),
    "a total below zero": untyped(Calibrated(Gives(total=-1)).total, 10),
    "a total of less than nothing": untyped(Exact().total, -1),
    "a calibrated total of less than nothing": untyped(Calibrated(Exact()).total, -1),
    "a correction of less than nothing": untyped(Calibrated(Exact()).corrected, -1),
    "a scale below zero": untyped(Estimate, -1),
    "a total beyond all counts": untyped(Exact().total, 10**400),
    "a calibrated total beyond all counts": untyped(Calibrated(Exact()).total, 10**400),
    "a correction beyond all counts": untyped(Calibrated(Exact()).corrected, 10**400),
    "a learned count beyond all counts": untyped(Calibrated(Exact()).learn, 10**400, 10),
    "a report beyond all counts": untyped(Calibrated(Exact()).learn, 10, 10**400),
    "a count beyond all counts": untyped(Calibrated(Gives(10**400)).count, HELLO),
    "a total that is beyond all counts": untyped(Calibrated(Gives(total=10**400)).total, 10),
    "a measure beyond all counts": untyped(always(10**400).text, "hello"),
    "tools beyond all counts": untyped(schema_tokens, [{"name": "f"}], Gives(10**400)),
}


@pytest.mark.parametrize("call", WRONG_TYPES.values(), ids=WRONG_TYPES)
def test_the_wrong_type_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(WrongType, match="not"):
        call()


@pytest.mark.parametrize("call", WRONG_VALUES.values(), ids=WRONG_VALUES)
def test_a_number_out_of_range_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(InvalidLimit):
        call()


@pytest.mark.parametrize("given", [None, 1.5, "3", True, -1, 10**400])
def test_the_counter_that_gives_no_count_is_named(given: Any) -> None:
    calls: list[Callable[[], object]] = [
        untyped(Calibrated(Gives(given)).count, HELLO),
        untyped(Calibrated(Gives(total=given)).total, 10),
        untyped(schema_tokens, [{"name": "f"}], Gives(given)),
    ]
    for call in calls:
        with pytest.raises(QuireError, match="of the counter 'gives'"):
            call()


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(InvalidValue, match="empty"):
        untyped(Framing, **FRAMING | {"name": ""})()


@pytest.mark.parametrize("value", [None, 5, [], {}, ANY, b"x", 1.5, True, float("nan")])
def test_whatever_is_handed_in_only_our_own_errors_come_out(value: Any) -> None:
    counter, calibrated = Exact(), Calibrated(Exact())
    functions: list[Callable[[Any], object]] = [
        *(Estimate, Exact, estimate, exact, BUDGET.shared_out, Calibrated),
        *(counter.text, counter.total, counter.count, counter.count_tools),
        *(calibrated.total, calibrated.corrected, calibrated.count, calibrated.count_tools),
    ]
    for function in functions:
        try:
            function(value)
        except QuireError:
            continue


def test_a_whole_number_of_another_kind_is_a_count() -> None:
    class Tokens(int):
        pass

    assert always(Tokens(3)).text("hello") == 3
