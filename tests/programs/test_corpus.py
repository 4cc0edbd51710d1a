"""Programs that pass, programs that fail, and programs that mean harm: what each comes to, row by row.

A row of `programs.jsonl` is a task and a program for it. `setting` is Python text, the types and the tools of
the task; `input` and `output` are types as Python text. `calls` are those that reached a tool. A program
gives a `value`, or has a `fault` (its kind and its line) `before` it is run or in its `run`.

A row of `hostile.jsonl` is a program that tries to leave the sandbox or to use it up, run unchecked.
"""

import functools
import inspect
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quire import agent
from quire.programs import Bounds, Coder, ProgramFault, Sandbox, Task

SECRETS = ("quire-secret-of-the-host", "root:", str(Path(__file__).parent))
WRITTEN = Path("/tmp/quire-was-here")
HOSTILE = Bounds(seconds=60, wall=60, memory=16 << 20, depth=100, calls=20, printed=2_000, answer=5_000)
"""Bounds of hostile programs, but for those that a row has: only one of them can be reached in good time."""

LIMITS = {
    "seconds": ("time limit", "computed for too long"),
    "wall": ("took longer",),
    "memory": ("memory limit",),
    "depth": ("recursion",),
    "calls": ("more than 20", "suspension limit"),
    "printed": ("printed more",),
}
"""Words by which a fault of the kind `limit` names its bound."""


some_or_all = pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.fuzz)])


def rows(name: str, every: int) -> Iterator[Any]:
    return map(json.loads, Path(__file__).with_name(name).read_text().splitlines()[::every])


def plain(value: Any) -> Any:
    """A value of any type as JSON."""
    return json.loads(json.dumps(msgspec.to_builtins(value, str_keys=True, enc_hook=str)))


def task_of(row: Any, calls: list[Any]) -> Task:
    """The task of a row, whose tools note their calls."""

    def noting(function: Any = None, **options: Any) -> Any:
        if function is None:
            return functools.partial(noting, **options)

        @functools.wraps(function)
        async def call(*args: Any, **kwargs: Any) -> Any:
            bound = inspect.signature(function).bind(*args, **kwargs)
            bound.apply_defaults()
            calls.append([function.__name__, plain(bound.arguments)])
            return await function(*args, **kwargs)

        return agent.tool(**options)(call)

    names: dict[str, Any] = {"tool": noting, "__name__": "setting"}
    exec(row["setting"], names)
    return Task(
        "task",
        input={name: eval(text, names) for name, text in row["input"].items()},
        output=eval(row["output"], names),
        tools=[names[name] for name in row["tools"]],
    )


@some_or_all
async def test_a_program_gives_a_value_or_has_a_fault(every: int) -> None:
    coder = Coder()
    for row in rows("programs.jsonl", every):
        calls, found, begun = list[Any](), dict[str, Any](), len(coder.session.transcripts)
        try:
            answer = await coder.run(task_of(row, calls), row["code"], row["inputs"])
            found = {"value": plain(answer.value)}
        except ProgramFault as fault:
            when = "run" if len(coder.session.transcripts) > begun else "before"
            found = {"when": when, "fault": [fault.kind, fault.line]}
        assert {**found, "calls": calls} == row["expected"], row["code"]


@some_or_all
async def test_no_program_leaves_its_sandbox_or_uses_it_up(every: int) -> None:
    os.environ["QUIRE_SECRET"] = SECRETS[0]
    sandbox = Sandbox()
    for row in rows("hostile.jsonl", every):
        calls: list[Any] = []

        async def given(value: Any = None, calls: list[Any] = calls) -> int:
            calls.append(value)
            return 1

        bounds = msgspec.structs.replace(HOSTILE, **row.get("bounds", {}))
        try:
            ran = await sandbox.run(row["code"], functions={"given": given}, bounds=bounds)
            found, said = json.dumps(ran.value), f"{ran.value} {ran.printed}"
        except ProgramFault as fault:
            found, said = fault.kind, f"{fault} {fault.printed}"
            if fault.kind == "limit":
                found = next(name for name, words in LIMITS.items() if any(word in said for word in words))
        assert found == row["ends"], row["code"]
        assert len(calls) <= bounds.calls and not any(secret in said for secret in SECRETS), row["code"]
        assert not WRITTEN.exists(), row["code"]
