"""How the golden corpora of programs are computed.

A row of `right` or `wrong` has a task and a program for it. `setting` is Python text: the types and the tools
of the task. `input` and `output` are types as Python text, `inputs` are values. The calls in an outcome are
those that reached a tool, with all arguments. A fault is a kind and a line.

A row of `right` says whether the program is refused before it is run, and what it gives where it is run.
A row of `wrong` says when the program fails; `unchecked` is how a run without any check ended when the row
was made, or None where that gave a value: the run does not reach the fault. Rows of the category `answer`
have several programs for one answer, written one after the other. A row of `hostile` says what stops a
program.
"""

import asyncio
import dataclasses
import functools
import inspect
import os
import re
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import msgspec

from quire import agent
from quire.errors import QuireError
from quire.items import ToolCall, use_clock
from quire.models import Scripted
from quire.programs import Answer, Bounds, Coder, Event, ProgramFailed, ProgramFault, Started, Task

Json = Any
T = TypeVar("T")

CORPORA = ("right", "wrong", "hostile")
EVERY = {"right": 4, "wrong": 4}
"""The test suite compares one row in so many: checking the types of a program takes a tenth of a second."""

HOSTILE = Bounds(seconds=20, wall=60, memory=16 << 20, depth=100, calls=20, printed=2_000, answer=5_000)
"""Bounds of hostile programs, but for those that a row has: only one of them can be reached in good time."""

SECRETS = ("quire-secret-of-the-host", "root:", str(Path(__file__).parent))
WRITTEN = Path("/tmp/quire-was-here")
LIMITS = {
    "seconds": "time limit|computed for too long",
    "wall": "took longer",
    "memory": "memory limit",
    "depth": "recursion",
    "calls": r"more than \d+ (calls|times)|called .*more than|suspension limit",
    "printed": "printed more",
    "answer": "is given is too large",
}
"""Words by which a fault of the kind `limit` names its bound."""


class Made:
    """A task made of a row, and the calls that reached its tools."""

    def __init__(self, given: Json) -> None:
        self.calls: list[Json] = []
        self.names: dict[str, Any] = {"tool": self.tool, "__name__": "setting"}
        exec(given["setting"], self.names)
        self.task = Task(
            given.get("name", "task"),
            given.get("description", ""),
            input=self._input(given.get("input")),
            output=self.type(given["output"]),
            tools=[self.names[name] for name in given["tools"]],
            models=[Scripted(replies, name=name) for name, replies in given.get("models", {}).items()],
        )

    def type(self, text: str) -> Any:
        return eval(text, self.names)

    def _input(self, given: Json) -> Any:
        if given is None or isinstance(given, str):
            return None if given is None else self.type(given)
        return {name: self.type(text) for name, text in given.items()}

    def tool(self, function: Any = None, **options: Any) -> Any:
        """`quire.agent.tool`, for a function whose calls are noted."""
        if function is None:
            return functools.partial(self.tool, **options)
        watched = self._watched_async if inspect.iscoroutinefunction(function) else self._watched
        return agent.tool(**options)(functools.wraps(function)(watched(function)))

    def _watched_async(self, function: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            self._note(function, args, kwargs)
            return await function(*args, **kwargs)

        return call

    def _watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._note(function, args, kwargs)
            return function(*args, **kwargs)

        return call

    def _note(self, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        self.calls.append([function.__name__, plain(bound.arguments)])


async def run(made: Made, given: Json, tell: Callable[[Event], None]) -> Answer:
    """Check and run the program of a row."""
    coder = Coder(candidates=1, bounds=bounds_of(given), approver=approver_of(given))
    return await coder.run(made.task, given["code"], given["inputs"], tell=tell)


@contextmanager
def unchecked() -> Generator[None]:
    """Programs are run without any check."""

    async def accept(code: str, task: Task) -> None:
        pass

    with patch("quire.programs.coder.check", accept):
        yield


def bounds_of(given: Json, otherwise: Bounds = Bounds()) -> Bounds:  # noqa: B008
    return msgspec.structs.replace(otherwise, **given.get("bounds", {}))


def approver_of(given: Json) -> Callable[[ToolCall], bool | str] | None:
    def approve(_: ToolCall) -> bool | str:
        verdict: bool | str = given["approved"]
        return verdict

    return approve if "approved" in given else None


def plain(value: Any) -> Json:
    """A value of any type as JSON."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_plain_object)


def _plain_object(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if dump is not None else str(value)


def fault_in(error: QuireError) -> Json:
    return [error.kind, error.line] if isinstance(error, ProgramFault) else [type(error).__name__, None]


# Programs that run


async def right(given: Json) -> Json:
    """Whether the program is refused, what it gives, and the calls. What is refused is run unchecked."""
    made, refused = Made(given), None
    try:
        answer = await run(made, given, _ignore)
    except ProgramFault as fault:
        refused, made = fault_in(fault), Made(given)
        with unchecked():
            answer = await run(made, given, _ignore)
    told = {"refused": refused, "value": plain(answer.value), "calls": made.calls}
    return {**told, "printed": answer.printed} if answer.printed else told


async def wrong(given: Json) -> Json:
    """When the program fails and how, or what it gives, and the calls."""
    made, events = Made(given), list[Event]()
    try:
        answer = await run(made, given, events.append)
    except QuireError as error:
        when = "run" if any(isinstance(event, Started) for event in events) else "before"
        return {"when": when, "fault": fault_in(error), "calls": made.calls}
    return {"when": None, "value": plain(answer.value), "calls": made.calls}


async def answers(given: Json) -> Json:
    """An answer to which several programs are written: its value, or that all failed; faults and calls."""
    made = Made(given)
    coder = Coder(
        Scripted([f"```python\n{code}\n```" for code in given["programs"]]),
        candidates=given.get("candidates", 1),
        rounds=given.get("rounds", 3),
        bounds=bounds_of(given),
        approver=approver_of(given),
    )
    try:
        answer = await coder.answer(made.task, given["inputs"])
    except ProgramFailed as failed:
        end: Json = {"failed": failed.has_acted}
        attempts = failed.attempts
    else:
        end, attempts = {"value": plain(answer.value)}, answer.attempts
    faults = [[tried.attempt, [fault_in(fault) for fault in tried.faults]] for tried in attempts]
    counted = [dict(tried.calls) for tried in attempts]
    return {**end, "faults": faults, "counted": counted, "calls": made.calls}


# Programs that mean harm


async def hostile(given: Json) -> Json:
    """What stops a program: a kind of fault and, for a limit, which; or the plain answer that it came to."""
    made = Made(given)
    os.environ["QUIRE_SECRET"] = SECRETS[0]
    coder = Coder(bounds=bounds_of(given, HOSTILE))
    try:
        with nullcontext() if given.get("checked") else unchecked():
            answer = await coder.run(made.task, given["code"], given.get("inputs", {}))
    except ProgramFault as fault:
        _no_escape(f"{fault} {fault.printed}")
        return {"fault": fault.kind, "bound": bound_of(fault), "calls": len(made.calls)}
    _no_escape(f"{answer.value} {answer.printed}")
    return {"value": plain(answer.value), "calls": len(made.calls)}


def bound_of(fault: ProgramFault) -> str | None:
    if fault.kind != "limit":
        return None
    return next((name for name, words in LIMITS.items() if re.search(words, str(fault))), "unknown")


def _no_escape(text: str) -> None:
    assert not any(secret in text for secret in SECRETS), "a program has read from its host"
    assert not WRITTEN.exists(), "a program has written a file"


# Rows


def _ignore(_: Event) -> None:
    pass


CATEGORIES: dict[str, Callable[[Json], Coroutine[Any, Any, Json]]] = {
    "right": right,
    "wrong": wrong,
    "answer": answers,
    "hostile": hostile,
}


def compute(category: str, given: Json) -> Json:
    """The outcome of one row."""
    with use_clock(lambda: 0.0):
        return asyncio.run(CATEGORIES[category](given))
