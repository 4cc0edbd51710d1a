"""Running tools: errors, time, threads, turns and cancellation."""

import asyncio
import contextvars
import logging
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from quire.agent.tools import Outcome, Tool, run, tool
from quire.errors import InvalidLimit, StoreFailed, WrongType
from quire.items import Note
from tests.agent.tools.running import ran

STATE: contextvars.ContextVar[str] = contextvars.ContextVar("STATE", default="none")
SECRET = "hunter2"


def text(outcome: Outcome) -> str:
    assert isinstance(outcome.content, str)
    return outcome.content


class Broken(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def raising(fault: BaseException, *, is_async: bool) -> Tool:
    def plain() -> None:
        raise fault

    async def awaited() -> None:
        raise fault

    return tool(awaited if is_async else plain)


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (ValueError("bad"), "ValueError: bad"),
        (KeyError("k"), "KeyError: 'k'"),
        (TimeoutError("mine"), "TimeoutError: mine"),
        (TimeoutError(), "TimeoutError"),
        (Broken(), "Broken"),
        (SystemExit(1), "SystemExit: 1"),
        (ExceptionGroup("many", [ValueError("a")]), "ExceptionGroup: many (1 sub-exception): ValueError: a"),
    ],
)
def test_what_a_tool_raises_is_told(fault: BaseException, words: str, is_async: bool) -> None:
    outcome = ran(raising(fault, is_async=is_async), timeout=30)
    assert outcome.content == words and outcome.is_error and outcome.stop_reason == "error"


def test_odd_errors_of_plain_functions_are_told() -> None:
    assert text(ran(raising(StopIteration("x"), is_async=False))) == "StopIteration: x"
    cancelled = ran(raising(asyncio.CancelledError(), is_async=True))
    assert cancelled.is_error and cancelled.stop_reason == "cancelled"


def test_tracebacks_stay_where_they_are(caplog: pytest.LogCaptureFixture) -> None:
    def fail(password: str) -> None:
        raise ValueError(f"wrong {password}")

    with caplog.at_level(logging.DEBUG, "quire.agent"):
        outcome = ran(fail, {"password": SECRET})
    assert text(outcome) == f"ValueError: wrong {SECRET}"
    assert (
        "ValueError at " in caplog.text
        and SECRET not in caplog.text
        and "raise" not in caplog.text.replace("raised", "")
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("{", "not JSON"),
        ('{"a": 1,}', "column 9"),
        ('{"a": NaN}', "NaN is no number"),
        ("[1]", "a JSON object, not an array"),
        ("3", "a JSON object, not 3"),
        ('{"b": 1}', "there is no argument 'b'; there is a"),
        ("{}", "the argument 'a' is missing"),
        ('{"a": 1, "a": 2}', "'a' is given twice"),
        ('{"a": "x"}', "a: expected a whole number, got the text 'x'"),
        ('{"a": ' + "[" * 200 + "]" * 200 + "}", "nested deeper than 100"),
        ('{"a": "' + "x" * 9_000_000 + '"}', "9,000,009 characters"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"a": ' + "9" * 5000 + "}", "not JSON"),
        ({"a": {3: 1}}, "expected a whole number"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_wrong_arguments_are_told_before_anything_is_run(arguments: Any, words: str) -> None:
    calls: list[int] = []

    def take(a: int) -> None:
        calls.append(a)

    outcome = ran(take, arguments)
    assert outcome.is_error and outcome.stop_reason == "error" and calls == []
    assert words in text(outcome) and len(text(outcome)) < 500


def test_values_that_hold_themselves_are_refused() -> None:
    holds: list[Any] = []
    holds.append(holds)
    wide: list[Any] = [1] * 10
    for _ in range(12):
        wide = [wide] * 10
    for value in (holds, wide):
        outcome = ran(lambda_taking_anything(), {"a": value})
        assert outcome.is_error


def lambda_taking_anything() -> Tool:
    def take(a: Any) -> None: ...

    return tool(take)


@pytest.mark.parametrize("arguments", ["", "  ", "null", "{}", '"{}"'])
def test_no_arguments_may_be_said_in_many_ways(arguments: str) -> None:
    def nothing() -> str:
        return "ran"

    assert ran(nothing, arguments).content == "ran"


def test_line_breaks_in_texts_are_taken() -> None:
    def echo(a: str) -> str:
        return a

    assert ran(echo, '{"a": "x\ny"}').content == "x\ny"


def test_plain_functions_run_in_threads_with_the_callers_context() -> None:
    def look() -> str:
        return f"{STATE.get()} {threading.current_thread() is threading.main_thread()}"

    async def main() -> Outcome:
        STATE.set("mine")
        return await run(tool(look))

    assert asyncio.run(main()).content == "mine False"


def test_plain_functions_run_side_by_side() -> None:
    barrier = threading.Barrier(8)

    def meet() -> int:
        return barrier.wait(30)  # all eight have to be there at once

    async def main() -> list[Outcome]:
        return await asyncio.gather(*(run(tool(meet)) for _ in range(8)))

    assert sorted(text(one) for one in asyncio.run(main())) == [str(number) for number in range(8)]


def test_an_async_tool_that_takes_too_long_is_stopped() -> None:
    ended: list[str] = []

    async def slow() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append("tidied up")

    outcome = ran(tool(slow, timeout=0.05))
    assert outcome.stop_reason == "timeout" and outcome.is_error and ended == ["tidied up"]
    assert "within 0.05 seconds" in text(outcome) and "stopped" in text(outcome)


def test_a_plain_tool_that_takes_too_long_is_left_behind() -> None:
    release = threading.Event()

    def slow() -> None:
        release.wait(60)

    outcome = ran(tool(slow, timeout=0.05))  # the loop ends too, without waiting
    assert not release.is_set()
    release.set()
    assert outcome.stop_reason == "timeout" and "may still be running" in text(outcome)


def test_a_tool_that_will_not_stop_is_left_behind() -> None:
    async def main() -> Outcome:
        release = asyncio.Event()

        async def stubborn() -> None:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue

        outcome = await run(tool(stubborn, timeout=0.05))
        release.set()
        return outcome

    outcome = asyncio.run(main())
    assert outcome.stop_reason == "timeout" and "did not" in text(outcome)


def test_a_timeout_may_be_given_for_one_call() -> None:
    async def slow() -> None:
        await asyncio.sleep(3600)

    assert ran(tool(slow, timeout=3600), timeout=0.01).stop_reason == "timeout"
    with pytest.raises(InvalidLimit):
        ran(slow, timeout=-1)
    with pytest.raises(WrongType):
        asyncio.run(run(slow))  # type: ignore[arg-type]  # pyright: ignore


def test_what_was_yielded_before_the_end_is_not_lost() -> None:
    async def steps(how: str) -> AsyncIterator[str]:
        yield "one"
        if how == "raise":
            raise ValueError("then")
        await asyncio.sleep(3600)

    raised, late = ran(steps, {"how": "raise"}), ran(tool(steps, timeout=0.05), {"how": "wait"})
    assert text(raised) == "one\nValueError: then"
    assert text(late).startswith("one\nThe tool did not finish") and late.stop_reason == "timeout"


@pytest.mark.parametrize("kind", ["async", "generator", "plain"])
def test_cancelling_a_run_stops_the_tool_and_goes_on(kind: str) -> None:
    closed: list[str] = []
    begun = threading.Event()
    release = threading.Event()

    async def slow() -> None:
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            closed.append("closed")

    async def steps() -> AsyncIterator[int]:
        begun.set()
        try:
            while True:
                yield 1
                await asyncio.sleep(0.001)
        finally:
            closed.append("closed")

    def plain() -> None:
        begun.set()
        release.wait(60)

    async def main() -> None:
        task = asyncio.create_task(run(tool({"async": slow, "generator": steps, "plain": plain}[kind])))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert closed == ([] if kind == "plain" else ["closed"])

    asyncio.run(main())
    release.set()


def test_generators_of_all_kinds_are_gone_through() -> None:
    def plain() -> Iterator[Any]:
        yield 1
        yield {"a": 2}

    async def gives_one() -> Any:
        return plain()

    def awaited() -> Any:
        async def inner() -> str:
            return "later"

        return inner()

    assert ran(plain).content == '1\n{"a": 2}' == ran(gives_one).content
    assert ran(awaited).content == "later"


def one_at_a_time(calls: int, loops: int, *, is_async: bool) -> int:
    """The most that were ever inside at once, over several loops in threads of their own."""
    inside, most, guard = 0, 0, threading.Lock()

    def step(change: int) -> None:
        nonlocal inside, most
        with guard:
            inside += change
            most = max(most, inside)

    def plain() -> None:
        step(1)
        time.sleep(0.002)
        step(-1)

    async def awaited() -> None:
        step(1)
        await asyncio.sleep(0.002)
        step(-1)

    one = tool(awaited if is_async else plain, lock=True)

    async def main() -> None:
        outcomes = await asyncio.gather(*(run(one) for _ in range(calls)))
        assert not any(outcome.is_error for outcome in outcomes)

    threads = [threading.Thread(target=lambda: asyncio.run(main())) for _ in range(loops)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return most


@pytest.mark.parametrize("is_async", [True, False])
def test_a_lock_lets_one_call_through_at_a_time(is_async: bool) -> None:
    assert one_at_a_time(8, 4, is_async=is_async) == 1


def test_a_lock_is_held_until_the_thread_is_really_done() -> None:
    release, calls = threading.Event(), list[str]()

    @tool(lock=True)
    def slow(name: str) -> str:
        calls.append(name)
        if name == "first":
            release.wait(60)
        return name

    async def main() -> tuple[Outcome, Outcome, Outcome]:
        first = await run(slow, {"name": "first"}, timeout=0.05)
        second = await run(slow, {"name": "second"}, timeout=0.05)
        release.set()
        third = await run(slow, {"name": "third"})
        return first, second, third

    first, second, third = asyncio.run(main())
    assert first.stop_reason == second.stop_reason == "timeout" and third.content == "third"
    assert "not begun" in text(second) and calls == ["first", "third"]


def test_who_gives_up_waiting_keeps_nobody_out() -> None:
    release = threading.Event()

    @tool(lock=True)
    def slow() -> str:
        release.wait(60)
        return "done"

    async def main() -> list[Outcome]:
        first = asyncio.create_task(run(slow))
        await asyncio.sleep(0.02)
        waiting = [asyncio.create_task(run(slow)) for _ in range(5)]
        await asyncio.sleep(0.02)
        for task in waiting[:4]:
            task.cancel()
        release.set()
        await asyncio.wait(waiting)
        return [await first, await waiting[4]]

    assert [outcome.content for outcome in asyncio.run(main())] == ["done", "done"]


def test_a_store_that_fails_is_no_fault_of_the_tool() -> None:
    async def steps() -> AsyncIterator[Note]:
        yield Note("x", key="k")

    async def lost(_: Note) -> None:
        raise StoreFailed("gone")

    async def vetoed(_: Note) -> None:
        raise PermissionError("not this one")

    with pytest.raises(StoreFailed):
        ran(steps, route=lost)
    outcome = ran(steps, route=vetoed)
    assert outcome.is_error and "PermissionError: not this one" in text(outcome) and outcome.routed == ()
