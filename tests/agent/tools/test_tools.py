"""Tools: what is declared, how calls are run, and what a model reads of them."""

import asyncio
import contextvars
import datetime
import enum
import inspect
import logging
import math
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, cast

import msgspec
import pydantic
import pytest
from hypothesis import given, strategies as st

from quire.agent.tools import Allowance, Outcome, Signature, Tool, output, run, run_or_stop, tool, tools_of
from quire.errors import InvalidLimit, InvalidValue, StoreFailed, WrongType
from quire.items import MAX_TEXT, Image, Note, ToolResult
from quire.session import Session
from quire.state import Pool
from quire.stores import MemoryStore
from tests.agent.tools.running import ran

STATE: contextvars.ContextVar[str] = contextvars.ContextVar("STATE", default="none")
PICTURE = Image(url="https://example.com/a.png")


@tool
def search(query: str, limit: int = 10) -> str:
    """Search the archive.

    Args:
        query: What to look for.
        limit: How many,
            at most.
    """
    return f"{query}/{limit}"


@tool
def later(item: "Later") -> int:
    return item.size


@dataclass
class Later:
    size: int


class Desk:
    def __init__(self, name: str) -> None:
        self.name = name

    @tool(description="Greet somebody.")
    def greet(self, who: str) -> str:
        return f"{self.name} greets {who}"

    @tool
    async def wait(self: "Desk", pool: Pool, times: int = 1) -> str:
        return f"{self.name} {times} {len(pool)}"

    @tool
    @staticmethod
    def add(one: int, other: int) -> int:
        return one + other


class Double:
    """Doubles."""

    async def __call__(self, number: int) -> int:
        return 2 * number


def properties(one: Tool) -> list[str]:
    return list(one.definition["parameters"]["properties"])


def test_a_definition_comes_from_the_signature_and_the_docstring() -> None:
    assert search.definition == {
        "name": "search",
        "description": "Search the archive.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for."},
                "limit": {"type": "integer", "description": "How many, at most.", "default": 10},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    }
    assert search("x", limit=2) == "x/2" and inspect.signature(search) == inspect.signature(search.function)
    assert ran(later, '{"item": {"size": 3}}').content == "3"  # a name that is defined after the tool

    @tool  # pyright: ignore[reportUnknownArgumentType]
    def lost(item: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore

    with pytest.raises(WrongType, match=r"'lost'.*'Nowhere'"):
        lost.definition  # noqa: B018  # pyright: ignore[reportUnusedExpression]


def test_methods_partials_objects_and_wrapped_functions_are_tools() -> None:
    desk = Desk("A")
    assert properties(desk.greet) == ["who"] and desk.greet.description == "Greet somebody."
    assert desk.greet("x") == "A greets x" == ran(desk.greet, {"who": "x"}).content
    assert properties(desk.wait) == ["times"] and ran(desk.wait, {"times": 2}, pool=Pool()).content == "A 2 0"
    assert ran(Desk.add, {"one": 1, "other": 2}).content == "3" and desk.add(1, 2) == 3

    def send(to: str, text: str, /, key: str) -> str:
        """Send a message."""
        return f"{to}{text}{key}"

    sender = tool(partial(send, "ann", key="secret"))
    assert sender.name == "send" and sender.description == "Send a message."
    assert properties(sender) == ["text"] and ran(sender, {"text": "!"}).content == "ann!secret"
    assert ran(sender, {"text": "!", "key": "x"}).is_error
    double = tool(Double(), name="double")
    assert double.description == "Doubles." and ran(double, {"number": 4}).content == "8"

    @tool
    @wraps(search.function)
    def loud(*args: Any, **kwargs: Any) -> str:
        return str(search(*args, **kwargs)).upper()

    assert properties(loud) == ["query", "limit"] and ran(loud, {"query": "a"}).content == "A/10"


def test_wrong_tools_and_options_are_refused() -> None:
    def takes_an_object(one: Desk) -> None: ...
    def takes_anything(*args, **kwargs): ...  # type: ignore[no-untyped-def]  # pyright: ignore
    def takes_a_field(one: int = pydantic.Field(ge=1)) -> None: ...

    functions: list[tuple[Any, str]] = [
        (takes_an_object, "one"),
        (takes_anything, "args"),
        (takes_a_field, "one"),
    ]
    for function, name in functions:
        with pytest.raises(WrongType, match=rf"'{function.__name__}'.*'{name}'"):
            tool(function)
    with pytest.raises(InvalidValue):
        tool(lambda: None)
    with pytest.raises(WrongType):
        tool(3)  # type: ignore[call-overload]  # pyright: ignore
    with pytest.raises(InvalidValue):
        tool(search)
    rows: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"timeout": 0}, InvalidLimit),
        ({"timeout": "5"}, WrongType),
        ({"max_output": 0}, InvalidLimit),
        ({"max_output": 10**9}, InvalidLimit),
        ({"lock": 1}, WrongType),
        ({"approve": "yes"}, WrongType),
        ({"name": ""}, InvalidValue),
        ({"description": 3}, WrongType),
        ({"fixed": {"nobody": 1}}, InvalidValue),
        ({"fixed": [1]}, WrongType),
    ]
    for wrong, error in rows:
        with pytest.raises(error):
            tool(search.function, **wrong)


def test_versions_change_with_the_definition() -> None:
    def one(a: int, b: int) -> None: ...
    def two(b: int, a: int) -> None: ...

    two.__name__ = "one"
    assert tool(one).version == tool(one, timeout=3).version != tool(two).version
    assert tool(one, description="other").version != tool(one).version


def test_approval() -> None:
    def pay(amount: float, to: str = "ann") -> None: ...

    always = tool(pay, approve=True)
    assert always.needs_approval({"amount": 1}) and not tool(pay).needs_approval({"amount": 1})
    assert not always.needs_approval("{}")  # arguments that do not fit are not run
    large = tool(pay, approve=lambda arguments: arguments["amount"] > 10 or arguments["to"] != "ann")
    assert large.needs_approval('{"amount": "11"}') and not large.needs_approval({"amount": 1})
    assert tool(pay, approve=lambda arguments: arguments["nothing"]).needs_approval({"amount": 1})


def test_tools_of_an_agent_have_different_names() -> None:
    native = {"type": "web_search"}
    found = tools_of([search, later.function, native])
    assert set(found.tools) == {"search", "later"} and found.definitions[2] is native
    for twice in ([search, search], [search, search.definition], [native, native]):
        with pytest.raises(InvalidValue, match="two tools are called"):
            tools_of(twice)  # type: ignore[arg-type]
    for wrong in ("search", search.definition, 3, [3]):
        with pytest.raises(WrongType):
            tools_of(wrong)  # type: ignore[arg-type]  # pyright: ignore


def test_session_pool_allowance_and_fixed_arguments_are_hidden() -> None:
    @tool(fixed={"secret": 7}, max_output=99)
    def look(
        key: str,
        session: Session,
        pool: Pool,
        allowance: Allowance,
        secret: int,
        other: Session | None = None,
    ) -> str:
        pool.clear()
        return f"{session.place} {other is session} {allowance.most} {secret}"

    session = Session.open("ana/q3", store=MemoryStore())
    session.pool.keep(Note("v", key="k"))
    assert properties(look) == ["key"]
    assert ran(look, {"key": "k"}, session=session).content == "ana/q3 True 99 7"
    assert len(session.pool) == 1  # the tool had a copy
    for hidden in ("session", "secret"):
        assert ran(look, {"key": "k", hidden: "x"}, session=session).is_error
    with pytest.raises(InvalidValue, match="needs a session"):
        ran(look, {"key": "k"})

    @tool
    def more(session: Session | None = None, **more: str) -> str:
        return f"{session is None} {more}"

    assert ran(more, {"x": "y"}).content == "True {'x': 'y'}" and ran(more, {"session": "x"}).is_error


def test_arguments_are_read_with_defaults_and_bound_to_their_places() -> None:
    def mixed(one: int, two: int = 2, /, *rest: int, three: int = 3, **more: str) -> str:
        return f"{one} {two} {rest} {three} {more}"

    signature = Signature(mixed)
    assert signature.read({"one": "1"}) == {"one": 1, "two": 2, "rest": (), "three": 3}
    assert signature.returns is str
    assert ran(mixed, {"one": 1}).content == "1 2 () 3 {}"
    assert ran(mixed, {"one": 1, "rest": [8, "9"], "x": "y"}).content == "1 2 (8, 9) 3 {'x': 'y'}"
    assert "x: expected str, got int" in str(ran(mixed, {"one": 1, "x": 3}).content)


def test_wrong_arguments_are_told_before_anything_is_run() -> None:
    calls: list[int] = []

    def take(a: int) -> None:
        calls.append(a)

    holds: list[Any] = []
    holds.append(holds)
    rows: list[tuple[Any, str]] = [
        ("{", "not JSON"),
        ('{"a": 1,}', "column 9"),
        ('{"a": NaN}', "NaN is no number"),
        ("[1]", "a JSON object, not an array"),
        ('{"b": 1}', "there is no argument 'b'; there is a"),
        ("{}", "the argument 'a' is missing"),
        ('{"a": 1, "a": 2}', "'a' is given twice"),
        ('{"a": ' + "[" * 200 + "]" * 200 + "}", "nested deeper than 100"),
        ('{"a": "' + "x" * 9_000_000 + '"}', "9,000,009 characters"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"a": ' + "9" * 5000 + "}", "not JSON"),
        ({"a": holds}, "hold themselves"),
        ({"a": [0] * 600_000}, "500,000 values"),
        (3, "a JSON object, not 3"),
    ]
    for arguments, words in rows:
        outcome = ran(take, arguments)
        assert outcome.is_error and words in str(outcome.content) and len(str(outcome.content)) < 500
        assert not outcome.has_begun
    assert calls == []
    for arguments in ("", "null", "{}", '"{}"'):
        assert ran(lambda_free, arguments).content == "ran"
    assert ran(search, '{"query": "x\ny"}').content == "x\ny/10"  # a line break inside a text


def lambda_free() -> str:
    return "ran"


class Broken(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_errors_of_a_tool_are_told_without_their_traceback(caplog: pytest.LogCaptureFixture) -> None:
    rows: list[tuple[BaseException, str]] = [
        (ValueError("bad"), "ValueError: bad"),
        (TimeoutError(), "TimeoutError"),
        (Broken(), "Broken"),
        (SystemExit(1), "SystemExit: 1"),
        (ExceptionGroup("many", [ValueError("a")]), "ExceptionGroup: many (1 sub-exception): ValueError: a"),
    ]

    def plain(fault: BaseException) -> None:
        raise fault

    async def awaited(fault: BaseException) -> None:
        raise fault

    for fault, words in rows:
        for function in (plain, awaited):
            with caplog.at_level(logging.DEBUG, "quire.agent"):
                outcome = ran(tool(function, fixed={"fault": fault}), timeout=30)
            assert (outcome.content, outcome.is_error, outcome.stop_reason) == (words, True, "error")
            assert outcome.error is fault and outcome.has_begun
    assert "ValueError at " in caplog.text and "bad" not in caplog.text
    assert ran(tool(plain, name="stop", fixed={"fault": StopIteration("x")})).content == "StopIteration: x"
    cancelled = ran(tool(awaited, fixed={"fault": asyncio.CancelledError()}))
    assert cancelled.is_error and cancelled.stop_reason == "cancelled"


def test_plain_functions_run_in_threads_side_by_side() -> None:
    barrier = threading.Barrier(40)

    def meet() -> str:
        barrier.wait(30)  # all have to be there at once
        return f"{STATE.get()} {threading.current_thread() is threading.main_thread()}"

    async def main() -> set[Any]:
        STATE.set("mine")
        return {one.content for one in await asyncio.gather(*(run(tool(meet)) for _ in range(40)))}

    assert asyncio.run(main()) == {"mine False"}


def test_a_tool_that_takes_too_long_is_stopped_or_left_behind() -> None:
    ended: list[str] = []
    release = threading.Event()

    async def slow() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append("tidied up")

    def plain() -> None:
        release.wait(60)

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    stopped = ran(tool(slow, timeout=3600), timeout=0.05)
    assert stopped.stop_reason == "timeout" and stopped.is_error and ended == ["tidied up"]
    assert "within 0.05 seconds. It was stopped" in str(stopped.content)
    left = ran(tool(plain, timeout=0.05))
    assert not release.is_set() and "may still be running" in str(left.content) and left.has_begun

    async def main() -> Outcome:
        outcome = await run(tool(stubborn, timeout=0.05))
        release.set()
        return outcome

    assert "It was told to stop and did not" in str(asyncio.run(main()).content)
    for wrong, error in ((-1, InvalidLimit), ("x", WrongType)):
        with pytest.raises(error):
            ran(slow, timeout=wrong)


def test_a_process_does_not_wait_for_a_tool_that_hangs() -> None:
    program = (
        "import asyncio, time\nfrom quire.agent.tools import run, tool\n"
        "def hang() -> None: time.sleep(600)\n"
        "print(asyncio.run(run(tool(hang), timeout=0.05)).stop_reason)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "timeout\n", done.stderr


@pytest.mark.parametrize("kind", ["async", "generator", "plain"])
def test_cancelling_a_run_stops_the_tool(kind: str) -> None:
    closed: list[str] = []
    begun, release = threading.Event(), threading.Event()

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
        functions: dict[str, Callable[..., Any]] = {"async": slow, "generator": steps, "plain": plain}
        task = asyncio.create_task(run(tool(functions[kind])))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert closed == ([] if kind == "plain" else ["closed"])

    asyncio.run(main())
    release.set()


def test_a_call_that_completes_though_it_is_cancelled_is_not_lost() -> None:
    async def main() -> tuple[Outcome, asyncio.CancelledError | None]:
        begun = asyncio.Event()

        async def finishes() -> str:
            begun.set()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                return "paid"
            return "never"

        task = asyncio.create_task(run_or_stop(tool(finishes), "{}"))
        await begun.wait()
        task.cancel()
        return await task

    outcome, cancelled = asyncio.run(main())
    assert outcome.content == "paid" and cancelled is not None


@pytest.mark.parametrize("kind", ["async", "plain", "both"])
def test_a_lock_lets_one_call_in_at_a_time_in_order(kind: str) -> None:
    inside, most, order = 0, 0, list[int]()

    def step(change: int) -> None:
        nonlocal inside, most
        inside += change
        most = max(most, inside)

    def plain(number: int) -> None:
        order.append(number)
        step(1)
        time.sleep(0.002)
        step(-1)

    async def awaited(number: int) -> None:
        order.append(number)
        step(1)
        await asyncio.sleep(0.002)
        step(-1)

    def both(number: int) -> Any:
        return awaited(number)  # called in a thread, awaited by the event loop

    functions: dict[str, Callable[..., Any]] = {"async": awaited, "plain": plain, "both": both}
    one = tool(functions[kind], lock=True)

    async def main() -> None:
        outcomes = await asyncio.gather(*(run(one, {"number": number}) for number in range(8)))
        assert not any(outcome.is_error for outcome in outcomes)

    asyncio.run(main())
    assert order == list(range(8))
    threads = [threading.Thread(target=lambda: asyncio.run(main())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1 and len(order) == 32


def test_a_lock_is_held_until_the_thread_is_done_and_not_by_those_who_gave_up() -> None:
    release, calls = threading.Event(), list[str]()

    @tool(lock=True)
    def slow(name: str) -> str:
        calls.append(name)
        if name == "first":
            release.wait(60)
        return name

    async def main() -> list[Outcome]:
        first = await run(slow, {"name": "first"}, timeout=0.05)
        second = await run(slow, {"name": "second"}, timeout=0.05)
        waiting = [asyncio.create_task(run(slow, {"name": "waiting"})) for _ in range(3)]
        await asyncio.sleep(0.02)
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        release.set()
        return [first, second, await run(slow, {"name": "third"})]

    first, second, third = asyncio.run(main())
    assert first.stop_reason == second.stop_reason == "timeout" and third.content == "third"
    assert "not begun" in str(second.content) and not second.has_begun and calls == ["first", "third"]


class Struct(msgspec.Struct):
    y: int


class Model(pydantic.BaseModel):
    z: float


class Word(str, enum.Enum):  # noqa: UP042  # people have these
    A = "a"


class Plain:
    def __str__(self) -> str:
        return "an object of ours"


def test_values_become_text_and_media() -> None:
    holds: list[Any] = [1]
    holds.append(holds)
    rows: list[tuple[Any, Any]] = [
        ("words", "words"),
        ("", ""),
        (None, "Done."),
        (True, "true"),
        (math.nan, "NaN"),
        ({1: [1, None]}, '{"1": [1, null]}'),
        ([], "[]"),
        (
            [datetime.date(2026, 5, 1), Struct(2), Model(z=1.5), Plain()],
            '["2026-05-01", {"y": 2}, {"z": 1.5}, "an object of ours"]',
        ),
        (Later(3), '{"size": 3}'),
        (Word.A, '"a"'),
        (Plain(), "an object of ours"),
        (b"bytes", "bytes"),
        ("half \ud800", "half \ufffd"),
        (holds, "[1, [...]]"),
        (PICTURE, (PICTURE,)),
        ([PICTURE, "and", "this"], (PICTURE, "and\nthis")),
    ]
    for value, content in rows:

        async def give(value: Any) -> Any:
            return value

        def give_too(value: Any) -> Any:
            return value

        for function in (give, give_too):
            outcome = ran(tool(function, fixed={"value": value}))
            assert outcome.content == content and not outcome.is_error and outcome.notes == ()
            assert outcome.value is value


def test_generators_of_all_kinds_are_gone_through() -> None:
    closed: list[bool] = []

    def plain() -> Iterator[Any]:
        try:
            yield 1
            yield {"a": 2}
        finally:
            closed.append(True)

    async def gives_one() -> Any:
        return plain()

    def awaited() -> Any:
        async def inner() -> str:
            return "later"

        return inner()

    async def steps(how: str) -> AsyncIterator[str]:
        yield "one"
        if how == "raise":
            raise ValueError("then")
        await asyncio.sleep(3600)

    assert ran(plain).content == '1\n{"a": 2}' == ran(gives_one).content and closed == [True, True]
    assert ran(awaited).content == "later"
    assert ran(steps, {"how": "raise"}).content == "one\nValueError: then"
    late = ran(tool(steps, timeout=0.05), {"how": "wait"})
    assert str(late.content).startswith("one\nThe tool did not finish") and late.stop_reason == "timeout"


def test_notes_that_are_returned_are_left_to_the_caller() -> None:
    keyed, loose = Note("a", key="k", description="about a"), Note("b", description="about b")

    async def give() -> Any:
        return [keyed, loose, "and words"]

    outcome = ran(give)
    assert outcome.notes == (keyed, loose) and outcome.routed == ()
    assert outcome.content == "[kept as k: about a]\n[noted: about b]\nand words"


def test_notes_that_are_yielded_are_kept_at_once() -> None:
    async def steps(session: Session) -> AsyncIterator[Any]:
        yield Note("a", key="k")
        assert "k" in session.pool
        yield [Note("b")]
        assert [item.content for item in session.view() if isinstance(item, Note)] == ["b"]

    def plain_steps(session: Session) -> Iterator[Any]:
        yield Note("a", key="k")
        assert "k" in session.pool
        yield [Note("b")]

    for function in (steps, plain_steps):
        outcome = ran(function, session=Session.open("ana/q3", store=MemoryStore()))
        assert not outcome.is_error, outcome.content
        assert outcome.notes == () and [note.content for note in outcome.routed] == ["a", "b"]
        assert outcome.content == "[kept as k]\n[noted]"


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
    assert "PermissionError: not this one" in str(outcome.content) and outcome.routed == ()
    assert outcome.error is None  # the tool itself raised nothing


@given(st.text(min_size=1, max_size=300), st.integers(1, 100))
def test_nothing_of_long_output_is_lost(text: str, most: int) -> None:
    async def give() -> str:
        return text

    outcome = ran(tool(give, max_output=most))
    if len(text) <= most:
        assert outcome.content == text and not outcome.notes
        return
    (note,) = outcome.notes
    content = str(outcome.content)
    assert note.content == text and note.key and note.key in content
    assert content.startswith(text[: most - most // 3]) and content.endswith(text[len(text) - most // 3 :])


def _room_for_fifty(_text: str, _most: int) -> int:
    return 50


def test_very_long_output_bytes_and_errors_are_kept_in_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    large = "0123456789" * (MAX_TEXT // 10 + 1)

    async def give(what: str) -> Any:
        return large if what == "text" else b"\xff\x00" * 10

    async def steps() -> AsyncIterator[Any]:
        yield "x" * 100
        yield PICTURE
        raise ValueError("y" * 5_000)

    outcome = ran(give, {"what": "text"})
    assert len(str(outcome.content)) < 51_000 and "".join(note.content for note in outcome.notes) == large
    assert str(outcome.content).startswith(large[:33_334]) and str(outcome.content).endswith(large[-16_666:])
    keys = [str(note.key) for note in outcome.notes]
    assert keys[1] == f"{keys[0]}-2" and all(key in str(outcome.content) for key in keys)
    ToolResult("c", "t", outcome.content)
    outcome = ran(give, {"what": "bytes"})
    assert outcome.content == f"[20 bytes that are no text, kept as {outcome.notes[0].key}]"
    outcome = ran(tool(steps, max_output=30))
    text, picture, fault = cast("Sequence[Any]", outcome.content)
    assert picture == PICTURE and str(text).startswith("x" * 20) and str(fault).startswith("ValueError: yyy")
    assert sorted(len(note.content) for note in outcome.notes) == [100, 5_012]
    assert len(str(ran(search, {"query": "x" * 99}, room=_room_for_fifty).content)) < 200

    async def endless() -> AsyncIterator[str]:
        while True:
            yield "x" * 1000

    monkeypatch.setattr(output, "MAX_GATHERED", 1_000_000)
    outcome = ran(endless)
    assert outcome.is_error and "was stopped there" in str(outcome.content)
