"""What calls hand over: looked at beside the loop, in bounded steps, and bounded for a run as a whole."""

import asyncio
import threading
from datetime import date
from typing import Any, TypedDict

import pytest
from hypothesis import given, strategies as st

from quire import Session, tool
from quire.models import Scripted
from quire.programs import Task
from quire.programs.bounds import Bounds
from quire.programs.calling import Calls
from quire.programs.events import Event
from quire.programs.faults import ProgramFault
from quire.programs.replaying import MadeCalls
from quire.programs.sandbox import Sandbox
from quire.programs.sandbox.handing import Handed
from quire.programs.sandbox.plain import DEEPEST, MOST_PARTS, NotPlain, TooLarge, plain
from quire.programs.values import as_text, plain as programs_plain, size_of
from quire.stores import MemoryStore
from tests.programs.coding import calculator, coder_of, solving

ENDLESS = 10**40
TREE = "x = {'k': 1}\nfor _ in range(60): x = {'l': x, 'r': x}\n"
CAUGHT = "for _ in range(9):\n    try:\n        await take({})\n    except Exception: pass\n1"


def shared(levels: int) -> Any:
    """A value of few parts that is, written out, a tree without end."""
    value: Any = {"k": 1}
    for _ in range(levels):
        value = {"l": value, "r": value}
    return value


def limited(code: str, bounds: Bounds, gives: Any = None) -> tuple[int, str]:
    """How many calls a program made until a limit, and what that says."""
    made = 0

    async def take(*_: Any) -> Any:
        nonlocal made
        made += 1
        return gives

    with pytest.raises(ProgramFault) as raised:
        asyncio.run(Sandbox(workers=1).run(code, functions={"take": take}, bounds=bounds))
    assert raised.value.kind == "limit"
    return made, str(raised.value)


def test_what_is_shared_is_gone_through_once() -> None:
    found = plain(shared(60), ENDLESS)  # gone through part by part, this would not end
    for _ in range(60):
        assert found["l"] is found["r"]
        found = found["l"]
    assert found == {"k": 1}


def test_what_is_shared_counts_as_often_as_it_is_there() -> None:
    assert plain([["abc"] * 3] * 3, 65) == [["abc"] * 3] * 3
    for value, most in (([["abc"] * 3] * 3, 64), (shared(60), 1_000_000)):
        with pytest.raises(TooLarge, match=f"larger than {most}"):
            plain(value, most)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | inner.map(lambda one: [one, one]),
)


@pytest.mark.laws
@given(VALUES)
def test_a_plain_value_stays_as_it_is(value: Any) -> None:
    assert plain(value, ENDLESS) == value


def test_there_is_a_bound_on_parts_and_on_depth() -> None:
    assert len(plain([0] * (MOST_PARTS - 1), ENDLESS)) == MOST_PARTS - 1
    with pytest.raises(TooLarge, match="parts"):
        plain([0] * MOST_PARTS, ENDLESS)
    deep: Any = 1
    for _ in range(DEEPEST):
        deep = [deep]
    with pytest.raises(NotPlain, match="deeper"):
        plain(deep, ENDLESS)
    with pytest.raises(NotPlain, match="deeper"):
        plain([deep[0], [deep[0]]], ENDLESS)  # it was seen before, less deep


def test_arguments_are_looked_at_in_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    look = Handed.given

    def looked(self: Handed, *given: Any) -> Any:
        threads.append(threading.get_ident())
        return look(self, *given)

    monkeypatch.setattr(Handed, "given", looked)

    async def take(*values: Any) -> int:
        return len(values)

    code = "first = await take(1)\n[first, await take(1, 2)]"
    assert asyncio.run(Sandbox(workers=1).run(code, functions={"take": take})).value == [1, 2]
    assert len(threads) == 2 and threading.get_ident() not in threads


TOO_MUCH = {
    "a tree that shares": (TREE + CAUGHT.format("x"), Bounds()),
    "a text": (CAUGHT.format("'x' * 100"), Bounds(answer=50)),
    "many parts": (CAUGHT.format("[0] * 400_000"), Bounds(answer=10_000_000)),
}


@pytest.mark.parametrize("case", TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_program_ends_where_it_hands_over_too_much_at_once(case: tuple[str, Bounds]) -> None:
    made, words = limited(*case)
    assert made == 0
    assert "a function is given" in words


def test_what_is_no_value_can_be_caught_and_counts_as_a_call() -> None:
    code = "for _ in range({}):\n    try:\n        await take(float('nan'))\n    except TypeError: pass\n1"

    async def take(_: Any) -> None:
        """Never called."""

    run = Sandbox(workers=1).run(code.format(3), functions={"take": take}, bounds=Bounds(calls=3))
    ran = asyncio.run(run)
    assert (ran.value, ran.calls) == (1, 3)
    assert "more than 3 functions" in limited(code.format(4), Bounds(calls=3))[1]


TOGETHER = {
    "what it gives": ("for _ in range(9): await take('x' * 3_000)\n1", None, 3),
    "what it is given": ("for _ in range(9): await take()\n1", "x" * 3_000, 4),
    "rows that it is given": ("for _ in range(9): await take()\n1", [{"a": "x" * 1_000}] * 3, 4),
    "numbers beyond those of JSON": ("for _ in range(9): await take()\n1", [10**3_000], 4),
    "what was refused": (CAUGHT.format("'x' * 3_000, float('nan')"), None, 0),
}


@pytest.mark.parametrize("case", TOGETHER.values(), ids=TOGETHER)
def test_there_is_a_bound_on_all_that_the_calls_of_a_run_hand_over(case: tuple[str, Any, int]) -> None:
    code, gives, calls = case
    made, words = limited(code, Bounds(handed=10_000), gives)
    assert made == calls
    assert "more than 10000 characters" in words


def test_an_answer_runs_no_further_program_once_its_calls_have_handed_over_too_much() -> None:
    async def answered() -> tuple[list[int], str]:
        session, made, task = Session.open("ana/one", store=MemoryStore()), MadeCalls(most=100), solving()
        after: list[int] = []

        def calls() -> Calls:
            return Calls(task, session, "attempt_a", None, _unheard, made)

        for _ in range(2):
            first = calls()
            await first.functions["calculator"](a=1, b=2)
            after.append(made.handed)
        with pytest.raises(ValueError, match="only add"):
            await calls().functions["calculator"](a=1, b=2, operation="x" * 100)
        with pytest.raises(ProgramFault, match="more than 100 characters") as raised:
            calls()
        return after, raised.value.kind

    (first, second), kind = asyncio.run(answered())
    assert 0 < first < second <= 100
    assert kind == "limit"


def test_questions_and_their_answers_count_for_an_answer() -> None:
    async def asked() -> int:
        session, made = Session.open("ana/one", store=MemoryStore()), MadeCalls()
        task = solving(models=[Scripted(["b" * 20])], tools=[calculator])
        await Calls(task, session, None, None, _unheard, made).functions["llm"]("a" * 10)
        return made.handed

    assert asyncio.run(asked()) == 30


def test_a_program_within_its_bounds_is_told_nothing_of_them() -> None:
    code = "for n in range(200): await calculator(a=n, b=n)\noutput = {'result': 'x' * 1000}"
    answer = asyncio.run(coder_of(code).answer(solving(), problem="x" * 10_000))
    assert answer.value == {"result": "x" * 1000}


class Row(TypedDict):
    """A row of a table."""

    id: int
    at: date


class Kept:
    """A tool that takes many rows, and the threads that it and the reading of them ran in."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.more: dict[str, Any] = {}
        self.session: Session | None = None
        self.thread = 0
        self.tool = tool(self.save)

    async def save(
        self, rows: list[Row], session: Session, to: str = "main", *, dry: bool = False, **more: int
    ) -> int:
        """Keep rows."""
        self.rows, self.session, self.thread = rows, session, threading.get_ident()
        self.more = {"to": to, "dry": dry, **more}
        return len(rows)


@pytest.mark.parametrize("count", [1, 3_000])
def test_many_arguments_are_read_as_few_are(count: int) -> None:
    async def saved() -> Kept:
        kept = Kept()
        task = Task("save", input={"n": int}, output=int, tools=[kept.tool])
        code = (
            "rows = [{'id': i, 'at': '2026-01-02'} for i in range(n)]\n"
            "output = await save(rows=rows, dry=True, other=3)"
        )
        coder = coder_of(code)
        assert (await coder.answer(task, n=count)).value == count
        assert kept.session is coder.session and kept.thread == threading.get_ident()
        return kept

    kept = asyncio.run(saved())
    assert kept.rows[0] == {"id": 0, "at": date(2026, 1, 2)} and len(kept.rows) == count
    assert kept.more == {"to": "main", "dry": True, "other": 3}


@pytest.mark.parametrize("count", [1, 3_000])
def test_what_does_not_fit_is_told_the_same_way(count: int) -> None:
    async def refused() -> tuple[str, list[Row]]:
        kept = Kept()
        task = Task("save", input={"n": int}, output=str, tools=[kept.tool])
        code = (
            "rows = [{'id': i, 'at': 'never'} for i in range(n)]\n"
            "try:\n    output = str(await save(rows=rows))\n"
            "except RuntimeError as fault:\n    output = str(fault)"
        )
        return (await coder_of(code).answer(task, n=count)).value, kept.rows

    words, rows = asyncio.run(refused())
    assert words.startswith("The call of save was not run: ") and "at" in words
    assert rows == []


def test_a_value_and_its_text_are_one() -> None:
    odd: list[Any] = [(1, 2), {1: date(2026, 1, 2)}, {2**100}, object, "\ud800", float("inf"), {(1, 2): 3}]
    for value in odd:
        assert as_text(value) == as_text(programs_plain(value))
        assert size_of(programs_plain(value)) > 0


def _unheard(_: Event) -> None:
    pass
