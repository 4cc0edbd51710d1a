"""Running things on the record: single tools, and programs by somebody's own executor."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from functools import wraps
from inspect import isawaitable
from time import perf_counter
from typing import Any

from quire.agent import Tool as Function
from quire.bridges.a1.giving import check_data
from quire.bridges.a1.strategies import Executor
from quire.items import Message
from quire.programs.calls import Calls, Runner
from quire.programs.check import Diagnostic
from quire.programs.events import listener
from quire.programs.faults import ProgramFault
from quire.programs.sandbox import Bounds, HostFunction, Ran, Sandbox, shared_sandbox
from quire.programs.task import Task
from quire.programs.values import plain
from quire.session import Session


async def executed(tool: Function, given: Mapping[str, Any], session: Session, transcript: str) -> Any:
    """What a tool gives, with the call and what came of it on the record; what it raises is raised."""
    check_data(tool, given)
    values: list[Any] = []
    task = Task(tool.name, tools=[_noting(tool, values)])
    runner = Runner(session, transcript, shared_sandbox(), Bounds(), None)
    calls = Calls(runner, task, transcript, listener(None))
    (call,) = calls.functions.values()
    told = await call(**given)
    # What it called is recorded with the call itself; what it asked is when all of it succeeded.
    asked = [item for item in calls.record if isinstance(item, Message)]
    if asked:
        await session.aio.append(*asked, to=transcript)
    return values[0] if values else told


class OwnSandbox(Sandbox):
    """Somebody's own executor in the place of the sandbox; how safe it is, is theirs to say."""

    def __init__(self, executor: Executor) -> None:
        super().__init__()
        self._executor = executor

    @property
    def name(self) -> str:
        """What programs are kept by: those that were written for one executor may not run by another."""
        kind = type(self._executor)
        return f"{kind.__module__}.{kind.__qualname__}"

    async def diagnose(self, code: str, stubs: str) -> list[Diagnostic]:
        """Nothing: which names and features there are only the executor knows."""
        return []

    async def run(
        self,
        code: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        functions: Mapping[str, HostFunction] | None = None,
        bounds: Bounds = Bounds(),  # noqa: B008  # it is frozen
        tell: Callable[[str], object] | None = None,
    ) -> Ran:
        """Run a program: its inputs stand before it, and its functions are tools of the executor's."""
        begun = perf_counter()
        offered = [Offered(name, function) for name, function in (functions or {}).items()]
        given = "".join(f"{name} = {value!r}\n" for name, value in (inputs or {}).items())
        try:
            async with asyncio.timeout(bounds.wall):
                coming = self._executor.execute(given + code, tools=offered)
                found = await coming if isawaitable(coming) else coming
        except Exception as fault:
            raise ProgramFault("raised", f"{type(fault).__name__}: {fault}") from fault
        printed = str(getattr(found, "logs", "") or "")
        if getattr(found, "error", None):
            raise ProgramFault("raised", str(found.error), printed=printed)
        value = getattr(found, "output", found)
        return Ran(plain(value), printed, sum(one.calls for one in offered), perf_counter() - begun)


class Offered:
    """A function as an executor is given it: a tool with a name, which is awaited."""

    def __init__(self, name: str, execute: HostFunction) -> None:
        self.name = name
        self.execute = execute
        self.calls = 0

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        self.calls += 1
        return await self.execute(*args, **kwargs)


def _noting(tool: Function, values: list[Any]) -> Function:
    """The same tool; what it gives is also put in a list, as it is: the record has its text alone."""
    if tool.kind == "generator":
        return tool
    noting, function = copy(tool), tool.function

    def noted(value: Any) -> Any:
        values.append(value)
        return value

    async def when_given(coming: Awaitable[Any]) -> Any:
        return noted(await coming)

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        value = function(*args, **kwargs)
        return when_given(value) if isawaitable(value) else noted(value)

    noting.function = called
    return noting
