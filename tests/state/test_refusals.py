"""What callers hand in by mistake is refused with an error of the library, short and without content."""

from collections.abc import Callable
from typing import Any

import pytest

from quire.errors import QuireError, UnknownId, UnknownKey, WrongType
from quire.items import Message
from quire.state import (
    Pool,
    Transcript,
    Window,
    fork_scoped,
    groups,
    merge_all,
    merge_result,
    of_kind,
    pending_calls,
    plan_summary,
    select,
    truncate,
)


def talk() -> Transcript:
    return Transcript([Message("user", "hello", id="u"), Message("assistant", "hi", id="a")])


def plan() -> Any:
    return plan_summary(Transcript(), talk())


class Half:
    """Counts, and knows neither its key nor a total."""

    def count(self, item: object) -> int:
        return 1


MISTAKES: dict[str, Callable[[Any], object]] = {
    "tokens": lambda wrong: talk().view.tokens(wrong),
    "truncate": lambda wrong: truncate(talk().view, tokens=1, counter=wrong),
    "fork_scoped": lambda wrong: fork_scoped(wrong),
    "merge_result child": lambda wrong: merge_result(talk(), wrong),
    "merge_result parent": lambda wrong: merge_result(wrong, talk()),
    "merge_all": lambda wrong: merge_all(talk(), wrong),
    "plan_summary": lambda wrong: plan_summary(wrong, talk()),
    "summary": lambda wrong: plan().summary(wrong),
    "Pool": lambda wrong: Pool(wrong),
    "get": lambda wrong: Pool().get(wrong),
    "remove": lambda wrong: Pool().remove(wrong),
    "Window": lambda wrong: Window(wrong, limit=2),
    "groups": lambda wrong: groups(wrong),
    "pending_calls": lambda wrong: pending_calls(wrong),
    "select": lambda wrong: select(wrong, of_kind(Message)),
    "select by": lambda wrong: select(talk().view, wrong),
    "of_kind": lambda wrong: of_kind(wrong),
}


@pytest.mark.parametrize("wrong", [None, 3, 1.5, Half()], ids=["none", "int", "float", "object"])
@pytest.mark.parametrize("call", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_a_wrong_type(call: Callable[[Any], object], wrong: object) -> None:
    with pytest.raises(WrongType):
        call(wrong)


@pytest.mark.parametrize("tools", [b"x", bytearray(b"x"), "x"])
def test_one_name_is_not_several(tools: Any) -> None:
    with pytest.raises(WrongType):
        fork_scoped(talk(), tools=tools)


@pytest.mark.parametrize("key", [[], {}, None, 3])
def test_what_is_no_key_is_not_in_the_pool(key: object) -> None:
    assert key not in Pool()
    with pytest.raises(WrongType):
        Pool().get(key)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_long_names_are_cut() -> None:
    long = "s" * 100_000
    calls: list[tuple[type[QuireError], Callable[[], object]]] = [
        (UnknownKey, lambda: Pool().get(long)),
        (UnknownId, lambda: talk().get(long)),
        (UnknownId, lambda: talk().view.fate(long)),
    ]
    for error, call in calls:
        with pytest.raises(error) as caught:
            call()
        assert "s" * 80 in str(caught.value) and len(str(caught.value)) < 200
