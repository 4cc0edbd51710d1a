"""Tools: what is declared, how calls are run, and what a model reads of them."""

import asyncio
import contextvars
import datetime
import inspect
import logging
import math
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial, wraps
from typing import Any, cast

import pydantic
import pytest
from hypothesis import given, strategies as st

from quire.agent.tools import Allowance, Outcome, Tool, call_tool, run, tool, tools_of
from quire.errors import InvalidValue, StoreFailed, WrongType
from quire.items import MAX_TEXT, Image, Note, ToolResult
from quire.session import Adding, Session, hook
from quire.state import Pool
from quire.stores import MemoryStore
from quire.stores.threads import DaemonThreads
from tests.agent.tools.kinds import Point
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


class Desk:
    def __init__(self, name: str) -> None:
        self.name = name

    def greet(self, who: str) -> str:
        """Greet somebody."""
        return f"{self.name} greets {who}"


def properties(one: Tool) -> list[str]:
    return list(one.definition["parameters"]["properties"])


def test_a_definition_comes_from_the_signature_and_the_docstring() -> None:
    parameters = search.definition["parameters"]
    assert search.definition["description"] == "Search the archive." and parameters["required"] == ["query"]
    limit = {"type": "integer", "description": "How many, at most.", "default": 10}
    assert parameters["properties"]["limit"] == limit
    assert search("x", limit=2) == "x/2" and inspect.signature(search) == inspect.signature(search.function)


def test_methods_partials_and_wrapped_functions_are_tools() -> None:
    greet = tool(Desk("A").greet)
    assert properties(greet) == ["who"] and greet.description == "Greet somebody."
    assert greet("x") == "A greets x" == ran(greet, {"who": "x"}).content

    def send(to: str, text: str, key: str) -> str:
        """Send a message."""
        return f"{to}{text}{key}"

    sender = tool(partial(send, "ann", key="secret"))
    assert sender.name == "send" and sender.description == "Send a message."
    assert properties(sender) == ["text"] and ran(sender, {"text": "!"}).content == "ann!secret"
    assert ran(sender, {"text": "!", "key": "x"}).is_error

    @tool
    @wraps(search.function)
    def loud(*args: Any, **kwargs: Any) -> str:
        return str(search(*args, **kwargs)).upper()

    assert properties(loud) == ["query", "limit"] and ran(loud, {"query": "a"}).content == "A/10"


def test_a_person_is_asked_where_it_cannot_be_told_whether_to_ask() -> None:
    def pay(amount: float, to: str = "ann") -> None: ...

    large = tool(pay, approve=lambda arguments: arguments["amount"] > 10 or arguments["to"] != "ann")
    assert large.needs_approval('{"amount": "11"}') and not large.needs_approval({"amount": 1})
    assert tool(pay, approve=lambda arguments: arguments["nothing"]).needs_approval({"amount": 1})


def test_tools_of_an_agent_have_different_names() -> None:
    native = {"type": "web_search"}
    for twice in ([search, search], [search, search.definition], [native, native]):
        with pytest.raises(InvalidValue, match="two tools are called"):
            tools_of(twice)  # type: ignore[arg-type]
    for wrong in ("search", search.definition, 3, [3]):
        with pytest.raises(WrongType):
            tools_of(wrong)  # type: ignore[arg-type]  # pyright: ignore


def test_session_pool_and_allowance_are_filled_in() -> None:
    @tool(max_output=99)
    def look(
        key: str, session: Session, pool: Pool, allowance: Allowance, other: Session | None = None
    ) -> str:
        pool.clear()
        return f"{session.place} {other is session} {allowance.limit}"

    session = Session.open("ana/q3", store=MemoryStore())
    session.pool.keep(Note("v", key="k"))
    assert properties(look) == ["key"]
    assert ran(look, {"key": "k"}, session=session).content == "ana/q3 True 99"
    assert len(session.pool) == 1  # the tool had a copy
    assert ran(look, {"key": "k", "session": "x"}, session=session).is_error
    with pytest.raises(InvalidValue, match="needs a session"):
        ran(look, {"key": "k"})


def test_wrong_arguments_are_told_before_anything_is_run() -> None:
    calls: list[int] = []

    def take(a: int) -> None:
        calls.append(a)

    rows: list[tuple[Any, str]] = [
        ('{"a": }', "column 7"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ("[1]", "a JSON object, not list"),
        ('{"b": 1}', "there is no argument 'b'; there is a"),
        ("{}", "the argument 'a' is missing"),
        ('{"a": 1, "a": 2}', "'a' is given twice"),
        ('{"a": ' + "[" * 200 + "]" * 200 + "}", "nested deeper than 100"),
        ('{"a": "' + "x" * 9_000_000 + '"}', "9,000,009 characters"),
        ('{"a": ' + "9" * 5000 + "}", "not JSON"),
    ]
    for arguments, words in rows:
        outcome = ran(take, arguments)
        assert outcome.is_error and words in str(outcome.content) and len(str(outcome.content)) < 500
        assert not outcome.has_begun
    assert calls == []
    for arguments in ("", "null", "{}", '"{}"'):
        assert ran(nothing, arguments).content == "ran"
    assert ran(search, '{"query": "x\ny"}').content == "x\ny/10"  # a line break inside a text


def nothing() -> str:
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
                outcome = ran(partial(function, fault=fault))
            assert (outcome.content, outcome.is_error, outcome.stop_reason) == (words, True, "error")
            assert outcome.error is fault and outcome.has_begun
    assert "ValueError at " in caplog.text and "bad" not in caplog.text
    assert ran(partial(plain, fault=StopIteration("x"))).content == "StopIteration: x"
    cancelled = ran(partial(awaited, fault=asyncio.CancelledError()))
    assert cancelled.is_error and cancelled.stop_reason == "cancelled"


async def test_plain_functions_run_in_threads_side_by_side() -> None:
    barrier = threading.Barrier(40)

    def meet() -> str:
        barrier.wait(60)  # all have to be there at once
        return f"{STATE.get()} {threading.current_thread() is threading.main_thread()}"

    STATE.set("mine")
    outcomes = await asyncio.gather(*(run(tool(meet)) for _ in range(40)))
    assert {one.content for one in outcomes} == {"mine False"}


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

    stopped = ran(tool(slow, timeout=0.05))
    assert stopped.stop_reason == "timeout" and stopped.is_error and ended == ["tidied up"]
    assert "within 0.05 seconds. It was stopped" in str(stopped.content)
    left = next(out for s in (0.05, 0.5, 5, 50) if (out := ran(tool(plain, timeout=s))).has_begun)
    assert not release.is_set() and "may still be running" in str(left.content)

    async def main() -> Outcome:
        outcome = await run(tool(stubborn, timeout=0.05))
        release.set()
        return outcome

    assert "It was told to stop and did not" in str(asyncio.run(main()).content)


def test_a_tool_that_times_out_before_it_begins_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, called = list[Callable[[], object]](), list[str]()

    def submit(_: DaemonThreads, work: Callable[..., object], *args: object) -> Future[object]:
        waiting.append(partial(work, *args))
        return Future()

    monkeypatch.setattr(DaemonThreads, "submit", submit)
    outcome = ran(tool(lambda: called.append("paid"), name="pay", description="Pay.", timeout=0.01))
    assert (outcome.stop_reason, outcome.has_begun) == ("timeout", False)
    assert "It had not begun, and was not run." in str(outcome.content)
    waiting[0]()
    assert not called


def test_a_process_does_not_wait_for_a_tool_that_hangs() -> None:
    program = (
        "import asyncio, time\nfrom quire.agent.tools import run, tool\n"
        "def hang() -> None: time.sleep(600)\n"
        "print(asyncio.run(run(tool(hang, timeout=0.05))).stop_reason)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "timeout\n", done.stderr


async def test_a_call_that_completes_though_it_is_cancelled_is_not_lost() -> None:
    begun = asyncio.Event()

    async def finishes() -> str:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return "paid"

    task = asyncio.create_task(call_tool(tool(finishes), "{}"))
    await begun.wait()
    task.cancel()
    outcome, cancelled = await task
    assert outcome.content == "paid" and cancelled is not None


class Model(pydantic.BaseModel):
    z: float


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
            [datetime.date(2026, 5, 1), Model(z=1.5), Plain()],
            '["2026-05-01", {"z": 1.5}, "an object of ours"]',
        ),
        (Point(3), '{"x": 3, "y": 0.0, "tags": []}'),
        (Plain(), "an object of ours"),
        (b"bytes", "bytes"),
        ("half \ud800", "half \ufffd"),
        (holds, "[1, [...]]"),
        (PICTURE, (PICTURE,)),
        ([PICTURE, "and", "this"], (PICTURE, "and\nthis")),
    ]

    async def give(value: Any) -> Any:
        return value

    for value, content in rows:
        outcome = ran(partial(give, value=value))
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

    async def steps(how: str) -> AsyncIterator[str]:
        yield "one"
        if how == "raise":
            raise ValueError("then")
        try:
            await asyncio.sleep(3600)
        finally:
            closed.append(True)

    assert ran(plain).content == '1\n{"a": 2}' and closed == [True]
    assert ran(steps, {"how": "raise"}).content == "one\nValueError: then"
    late = ran(tool(steps, timeout=0.05), {"how": "wait"})
    assert str(late.content).startswith("one\nThe tool did not finish") and late.stop_reason == "timeout"
    assert closed == [True, True]


def test_notes_that_are_returned_are_left_to_the_caller() -> None:
    keyed, loose = Note("a", key="k", description="about a"), Note("b", description="about b")

    async def give() -> Any:
        return [keyed, loose, "and words"]

    outcome = ran(give)
    assert outcome.notes == (keyed, loose)
    assert outcome.content == "[kept as k: about a]\n[noted: about b]\nand words"


def test_notes_that_are_yielded_are_kept_at_once() -> None:
    def steps(session: Session) -> Iterator[Any]:
        yield Note("a", key="k")
        assert "k" in session.pool
        yield [Note("b")]
        assert [item.content for item in session.view() if isinstance(item, Note)] == ["b"]

    outcome = ran(steps, session=Session.open("ana/q3", store=MemoryStore()))
    assert outcome.notes == () and outcome.content == "[kept as k]\n[noted]"


def test_a_store_that_fails_is_no_fault_of_the_tool() -> None:
    async def steps() -> AsyncIterator[Note]:
        yield Note("x", key="k")

    class Failing(MemoryStore):
        def append(self, *args: Any, **kwargs: Any) -> Any:
            raise StoreFailed("gone")

    with pytest.raises(StoreFailed):
        ran(steps, session=Session.open("ana/q3", store=Failing()))

    @hook(Adding)
    def veto(_: Adding) -> None:
        raise PermissionError("not this one")

    outcome = ran(steps, session=Session.open("ana/q3", store=MemoryStore(), hooks=[veto]))
    assert "a note was not kept: " in str(outcome.content) and outcome.error is None


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


def test_very_long_output_bytes_and_errors_are_kept_in_notes() -> None:
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
    assert outcome.content == f"[20 bytes that are not text, kept as {outcome.notes[0].key}]"
    outcome = ran(tool(steps, max_output=30))
    text, picture, fault = cast("Sequence[Any]", outcome.content)
    assert picture == PICTURE and str(text).startswith("x" * 20) and str(fault).startswith("ValueError: yyy")
    assert sorted(len(note.content) for note in outcome.notes) == [100, 5_012]
    room = asyncio.run(call_tool(search, {"query": "x" * 99}, room=lambda _text, _most: 50))[0]
    assert len(str(room.content)) < 200
