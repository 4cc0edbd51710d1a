"""Attempts at a program, each with rounds of its own: written, checked, and told what is wrong."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from quire.errors import ModelFailed, OverBudget, QuireError, cut
from quire.items import Item, Message
from quire.programs.blocks import code_in
from quire.programs.check import Program
from quire.programs.events import Checked, Faulted, Tell, Written
from quire.programs.faults import ProgramFault
from quire.programs.pricing import Price
from quire.programs.prompting import told_of_calls, told_of_fault
from quire.programs.replaying import MadeCalls
from quire.programs.task import Task
from quire.session import Session

Writes = Callable[[str, Task, Sequence[Item]], Awaitable[str]]
"""Gives the answer of whoever writes a program, given the transcript of an attempt and what it shows."""

Checks = Callable[[str, Task], Awaitable[Program]]
"""Gives a program that can be run, or raises a `ProgramFault`."""

Prices = Callable[[Program, Task], Price]
"""Says what a program is taken to cost."""


class Ways(NamedTuple):
    """How programs are written, checked and priced."""

    write: Writes
    check: Checks
    price: Prices


class Tried(NamedTuple):
    """An attempt by the name of its transcript, all that it died of, in order, and what it called how often.

    Calls that only gave again what they had given to an earlier program are not counted.
    """

    attempt: str
    faults: tuple[QuireError, ...]
    calls: Mapping[str, int] = MappingProxyType({})

    def __str__(self) -> str:
        causes = "; ".join(f"{_kind(fault)}: {fault}" for fault in self.faults) or "it was not run"
        called = ", ".join(f"{cut(name)} ({count})" for name, count in self.calls.items())
        return f"{self.attempt}: {causes}" + (f"; it had called {called}" if called else "")


class ProgramFailed(QuireError, RuntimeError):
    """No program came to an answer; `attempts` has what each died of.

    One that `has_acted` had programs that called tools, and who asks again calls them again.
    """

    def __init__(self, task: str, attempts: tuple[Tried, ...]) -> None:
        super().__init__(task, attempts)
        self.attempts = attempts
        self.has_acted = any(tried.calls for tried in attempts)

    def __str__(self) -> str:
        lines = [f"no program did {cut(self.args[0])!r}", *map(str, self.attempts)]
        return "\n  ".join(lines)


class Attempt:
    """One candidate, from the prompt to a program that can be run, as often as it has rounds left."""

    def __init__(
        self,
        name: str,
        task: Task,
        session: Session,
        ways: Ways,
        rounds: int,
        tell: Tell,
        made: MadeCalls,
    ) -> None:
        self.name = name
        self._task = task
        self._session = session
        self._ways = ways
        self._rounds = rounds
        self._round = 0
        self._tell = tell
        self._made = made
        self._calls_told = 0
        self._faults: list[QuireError] = []
        self.ready: Checked | None = None
        """The program that can be run, with its price."""

    @property
    def goes_on(self) -> bool:
        """Whether it has no program, and may write another."""
        return self.ready is None and self._round < self._rounds

    @property
    def tried(self) -> Tried:
        """What became of it so far."""
        return Tried(self.name, tuple(self._faults), MappingProxyType(self._made.counted(self.name)))

    async def write(self) -> None:
        """Write programs until one can be run, or no round is left."""
        while self.goes_on:
            self._round += 1
            try:
                self.ready = await self._written()
            except ProgramFault as fault:
                await self.fail(fault)
            except (ModelFailed, OverBudget) as fault:  # asking again would come to the same
                self._round = self._rounds
                self._note(fault)

    async def fail(self, fault: ProgramFault) -> None:
        """Put a fault of the program on the record, where the model reads it in the next round."""
        self.ready = None
        await self._session.aio.append(Message("user", told_of_fault(fault)), to=self.name)
        self._note(fault)

    async def _tell_of_calls(self) -> None:
        """Put on the record which calls were made since the last round, by this attempt and by others."""
        made = self._made.since(self._calls_told)
        if made:
            self._calls_told += len(made)
            await self._session.aio.append(Message("user", told_of_calls(made)), to=self.name)

    async def _written(self) -> Checked:
        await self._tell_of_calls()
        text = await self._ways.write(self.name, self._task, self._session.view(self.name))
        self._tell(Written(self.name, self._round, text))
        program = await self._ways.check(code_in(text), self._task)
        checked = Checked(self.name, program, self._ways.price(program, self._task))
        self._tell(checked)
        return checked

    def _note(self, fault: QuireError) -> None:
        self._faults.append(fault)
        self._tell(Faulted(self.name, fault))


async def side_by_side(works: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do all of some works; where one fails, none of the others goes on."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise


def _kind(fault: QuireError) -> str:
    return fault.kind if isinstance(fault, ProgramFault) else type(fault).__name__
