"""Where programs run: in processes that reach nothing of the machine but the functions they are given."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from quire.errors import InvalidLimit
from quire.models import PerLoop
from quire.programs.bounds import Bounds
from quire.programs.faults import ProgramFault
from quire.programs.sandbox.awaited import AHEAD_OF_ALL, functions_ahead
from quire.programs.sandbox.diagnosing import Found, typed_fault
from quire.programs.sandbox.lacking import check_lacking
from quire.programs.sandbox.loose_calls import LOOSE
from quire.programs.sandbox.marking import Faulty
from quire.programs.sandbox.never_begun import check_none_left
from quire.programs.sandbox.own_calls import lines_put_in
from quire.programs.sandbox.plain import NotPlain
from quire.programs.sandbox.printing import Printed
from quire.programs.sandbox.raising import fault_of
from quire.programs.sandbox.running import HostFunction, Run, given_values
from quire.programs.sandbox.source import answering, declaring, tree_of
from quire.programs.sandbox.workers import Seat, Workers, until_checked
from quire.stores.threads import COMPUTING

if TYPE_CHECKING:
    from pydantic_monty import MontySession

__all__ = ["HostFunction", "Ran", "Sandbox", "shared_sandbox"]

_CHECKING = Bounds(seconds=10.0, memory=256 << 20)
"""The checker is the sandbox's own and not the program's: these only keep it from taking the machine."""


class Ran(NamedTuple):
    """What came of a program; `seconds` is all the time it took, `calls` those of functions it was given."""

    value: Any
    printed: str
    calls: int
    seconds: float


class Sandbox:
    """Runs programs and checks them. Workers start when first needed, and end with the event loop.

    `workers` compute at a time, as many as there are processors; `programs` may have begun, those that wait
    for their functions included. Others wait for a place, which counts as time of theirs.
    """

    def __init__(self, *, workers: int | None = None, programs: int = 64) -> None:
        if (workers is not None and workers < 1) or programs < 1:
            raise InvalidLimit("a sandbox has one worker at least, and room for one program")
        most = workers or max(2, os.cpu_count() or 1)
        self._workers = PerLoop(lambda: Workers(most, programs))

    async def run(
        self,
        code: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        functions: Mapping[str, HostFunction] | None = None,
        bounds: Bounds = Bounds(),  # noqa: B008  # it is frozen
        tell: Callable[[str], None] | None = None,
    ) -> Ran:
        """Run a program to its answer or to a `ProgramFault`; no host call is under way after it."""
        begun = perf_counter()
        tree_of(code)
        # What is large takes its time: beside the loop it holds up nobody.
        values = await COMPUTING.do(given_values, inputs or {})
        text = await COMPUTING.do(answering, code, bounds.answer, {*values, *(functions or {})})
        workers = await self._workers.get()
        async with workers.admitted(bounds.wall) as until:
            seat = workers.seat(bounds)
            printed = Printed(bounds.printed, tell, seat.stop)
            run = Run(seat, functions or {}, bounds)

            def begin(session: "MontySession") -> Any:
                session.feed_run(functions_ahead(functions or {}))
                return session.feed_start(text, inputs=values, print_callback=printed.take)

            async with _ending(run, seat, printed, code, bounds), asyncio.timeout_at(until):
                found = await run.through(begin)
        if isinstance(found, NotPlain):
            raise ProgramFault("answer", f"the answer cannot be taken: {found}", printed=str(printed))
        check_none_left(run.left, code, tree_of(code), str(printed))
        return Ran(found, str(printed), run.calls, perf_counter() - begun)

    async def check(self, code: str, stubs: str) -> None:
        """The sandbox's own parser and type checker, on the answer too; nothing of the program is run."""
        await COMPUTING.do(check_lacking, code, tree_of(code), stubs)
        found = await self._looked_at(code, stubs)
        if found is None:
            return
        if found.fault.kind != "types":
            raise found.fault
        again = await self._looked_at(code, stubs, found.places)
        if again is not None:
            # What is ours means nothing to who wrote the program; it may make too much of it to be read, too.
            is_ours = LOOSE in str(again.fault) or again.fault.kind == "syntax"
            raise found.fault if is_ours else again.fault

    async def _looked_at(self, code: str, stubs: str, first: Faulty | None = None) -> Found | None:
        """What the type checker finds, at the first look and at the one after it was refused."""
        from pydantic_monty import MontyError

        text, declared = await COMPUTING.do(declaring, code, stubs, first)
        workers = await self._workers.get()

        def fault(session: "MontySession") -> Found | None:
            try:
                until_checked(session.feed_start(text))
            except MontyError as error:
                return typed_fault(error, code, text, stubs)
            return None

        async with workers.admitted(_CHECKING.wall):
            seat = workers.seat(
                _CHECKING, type_check=True, type_check_stubs=declared, type_check_format="json"
            )
            try:
                return await seat.open(fault)
            finally:
                await seat.leave()

    async def close(self) -> None:
        """End the workers of this loop; they start again where another program is run."""
        await self._workers.close()


@cache
def shared_sandbox() -> Sandbox:
    """The sandbox that is used where none is given."""
    return Sandbox()


@asynccontextmanager
async def _ending(
    run: Run, seat: Seat, printed: Printed, code: str, bounds: Bounds
) -> AsyncGenerator[None, None]:
    """Ends what was begun for a program; the ways to end too soon are told apart here."""
    from pydantic_monty import MontyError

    try:
        yield
    except TimeoutError:
        seat.stop()
        raise ProgramFault("limit", f"it took longer than {bounds.wall} s", printed=str(printed)) from None
    except MontyError as error:
        if not printed.over:
            put_in = lines_put_in(tree_of(code))
            raise fault_of(error, code, str(printed), run.raised, (AHEAD_OF_ALL,), put_in) from None
    except BaseException:
        seat.stop()
        raise
    finally:
        try:
            await run.end()
        finally:
            await seat.leave()
    if printed.over:
        text = f"it printed more than {bounds.printed} characters"
        raise ProgramFault("limit", text, printed=str(printed))
