"""The coder: from a task to an answer by programs that a model writes, or to a program that is kept."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from quire.agent import Approver
from quire.errors import InvalidValue, ModelFailed, OverBudget, QuireError, WrongType, cut
from quire.items import Item, Message
from quire.models import AnyModel, model_of
from quire.programs.calls import ATTEMPT, Calls, Finished, Runner, ask, begin
from quire.programs.check import Program, check as check_program
from quire.programs.events import Checked, Faulted, Tell, Written, listener
from quire.programs.faults import ProgramFault
from quire.programs.kept import KeptProgram, Shelf
from quire.programs.price import Price, estimate
from quire.programs.prompts import RUN, calls_message, fault_message, program_in, prompt_for, written_by
from quire.programs.replay import MadeCalls
from quire.programs.sandbox import Bounds, Sandbox, shared_sandbox
from quire.programs.task import Task
from quire.programs.values import given_once
from quire.session import Session, checked_type
from quire.stores import MemoryStore
from quire.stores.store import checked_name
from quire.stores.streams import MAIN
from quire.tokens import whole

Writes = Callable[[str, Task, Sequence[Item]], Awaitable[str]]
"""Writes a program: given the name of an attempt, the task and the attempt's items, the reply."""

Checks = Callable[[str, Task], Awaitable[Program]]
"""Checks the text of a program, or raises a `ProgramFault`."""

Prices = Callable[[Program, Task], Price]
"""Estimates the price of a program."""


class Tried(NamedTuple):
    """An attempt by the name of its transcript, its faults in order, and how often it called each tool.

    Replayed calls are not counted.
    """

    attempt: str
    faults: tuple[QuireError, ...]
    calls: Mapping[str, int] = MappingProxyType({})

    def __str__(self) -> str:
        causes = "; ".join(f"{_kind(fault)}: {fault}" for fault in self.faults) or "it was not run"
        called = ", ".join(f"{cut(name)} ({count})" for name, count in self.calls.items())
        return f"{self.attempt}: {causes}" + (f"; it had called {called}" if called else "")


def _kind(fault: QuireError) -> str:
    return fault.kind if isinstance(fault, ProgramFault) else type(fault).__name__


class ProgramFailed(QuireError, RuntimeError):
    """No program came to an answer; `attempts` has the faults of each.

    `has_acted` says that tools were called: asking again calls them again.
    """

    def __init__(self, task: str, attempts: tuple[Tried, ...]) -> None:
        super().__init__(task, attempts)
        self.attempts = attempts
        self.has_acted = any(tried.calls for tried in attempts)

    def __str__(self) -> str:
        return "\n  ".join([f"no program did {cut(self.args[0])!r}", *map(str, self.attempts)])


class Answer(NamedTuple):
    """The answer of a program; `attempts` are all that were begun for it."""

    value: Any
    program: Program
    printed: str
    price: Price
    attempts: tuple[Tried, ...]


class Coder:
    """Answers tasks with programs: a model writes several, they are checked, and the cheapest is run first.

    Attempts are recorded in transcripts `attempt_a`, `attempt_b`, … of the session. A successful run is
    recorded in the transcript `main`, which may be a function that names it at that time. `write`, `check`
    and `price` replace the model, the checks and the estimate. `kept` is the folder of kept programs.

    The input of a task is one mapping, or keywords.
    """

    def __init__(
        self,
        model: AnyModel | str | None = None,
        *,
        session: Session | None = None,
        main: str | Callable[[], str] = MAIN,
        candidates: int = 3,
        rounds: int = 3,
        bounds: Bounds = Bounds(),  # noqa: B008
        sandbox: Sandbox | None = None,
        kept: str | Path | None = None,
        approver: Approver | None = None,
        write: Writes | None = None,
        check: Checks | None = None,
        price: Prices = estimate,
    ) -> None:
        checked_type(session, Session | None, "Coder(session=…) is a Session")
        checked_type(bounds, Bounds, "Coder(bounds=…) is Bounds")
        checked_type(kept, str | Path | None, "Coder(kept=…) is the path of a folder")
        self.model = None if model is None else model_of(model, "a Coder")
        self.session = session or Session.open(store=MemoryStore())
        main = checked_name(main) if isinstance(main, str) else main
        self._runner = Runner(self.session, main, sandbox or shared_sandbox(), bounds, approver)
        self._write = write
        self._check = check or self._standard_check
        self._price = price
        self._candidates = whole(candidates, "candidates", least=1)
        self._rounds = whole(rounds, "rounds", least=1)
        self._shelf = Shelf(None if kept is None else Path(kept), self._runner.sandbox)

    def __repr__(self) -> str:
        name = "no model" if self.model is None else self.model.name
        return f"<Coder of {self.session.place}, {name}>"

    async def answer(
        self, task: Task, given: Mapping[str, Any] | None = None, /, *, tell: Tell | None = None, **input: Any
    ) -> Answer:
        """The answer of a program written for this input; `ProgramFailed` if none comes to one."""
        values = _checked_task(task).read(given_once(given, input))
        attempts = await self._attempts(task, values, listener(tell))
        while ready := await self._ready(attempts):
            for attempt, program, price in ready:
                done = await attempt.run(program, values)
                if done is not None:
                    await self._runner.record(values, done)
                    return Answer(done.value, program, done.printed, price, _tried(attempts))
        raise ProgramFailed(task.name, _tried(attempts))

    async def run(
        self,
        task: Task,
        code: str,
        given: Mapping[str, Any] | None = None,
        /,
        *,
        tell: Tell | None = None,
        **input: Any,
    ) -> Answer:
        """The answer of a given program: it is checked and run, and no model writes."""
        checked_type(code, str, "Coder.run: the program is a text")
        values = _checked_task(task).read(given_once(given, input))
        program, price = await self.check(code, task)
        done = await self._runner.run(task, program, values, listener(tell))
        await self._runner.record(values, done)
        return Answer(done.value, program, done.printed, price, ())

    async def keep(self, task: Task, /, *, tell: Tell | None = None) -> KeptProgram:
        """A program for any input, as a tool. One that was kept for the same task is used without a model."""
        tell, writer = listener(tell), self._writer
        kept = await self._shelf.find(_checked_task(task), writer, self.check, tell)
        if kept is None:
            attempts = await self._attempts(task, None, tell)
            ready = await self._ready(attempts)
            if not ready:
                raise ProgramFailed(task.name, _tried(attempts))
            _, program, price = ready[0]
            kept = await self._shelf.put(task, writer, program, price)
        return KeptProgram(task, kept, self._runner, self._shelf)

    async def write(self, transcript: str, task: Task) -> str:
        """The next reply of an attempt, on its record."""
        if self._write is not None:
            text = await self._write(transcript, task, self.session.view(transcript))
            await self.session.aio.append(Message("assistant", text), to=transcript)
            return text
        if self.model is None:
            raise InvalidValue("a program is written by a model: the coder was given none")
        return written_by(await ask(self.session, self.model, transcript))

    async def check(self, code: str, task: Task) -> tuple[Program, Price]:
        """The program and its price, or a `ProgramFault`."""
        program = await self._check(code, task)
        return program, self._price(program, task)

    async def _standard_check(self, code: str, task: Task) -> Program:
        return await check_program(code, task, self._runner.sandbox)

    @property
    def _writer(self) -> str:
        """The name of the model or function that writes: another one would write another program."""
        names = [] if self.model is None else [self.model.name]
        if self._write is not None:
            kind: Any = self._write if hasattr(self._write, "__qualname__") else type(self._write)
            names.append(f"{kind.__module__}.{kind.__qualname__}")
        return " ".join(names)

    async def _attempts(self, task: Task, values: dict[str, Any] | None, tell: Tell) -> list["Attempt"]:
        made, attempts = MadeCalls(), list[Attempt]()
        for _ in range(self._candidates):
            name, _ = await begin(self.session, ATTEMPT, *prompt_for(task, values))
            attempts.append(Attempt(self, self._runner, name, task, self._rounds, tell, made))
        return attempts

    async def _ready(self, attempts: Sequence["Attempt"]) -> list[tuple["Attempt", Program, Price]]:
        """Let the attempts write that have no program; those that have one now, the cheapest first."""
        await _all(attempt.write() for attempt in attempts)
        ready = [(one, *one.ready) for one in attempts if one.ready is not None]
        return sorted(ready, key=lambda one: one[2])


class Attempt:
    """One candidate: it writes until a program passes the checks, and again after a failed run."""

    def __init__(
        self, coder: Coder, runner: Runner, name: str, task: Task, rounds: int, tell: Tell, made: MadeCalls
    ) -> None:
        self.name = name
        self.ready: tuple[Program, Price] | None = None
        """The program that passed the checks, with its price."""
        self._coder = coder
        self._runner = runner
        self._task = task
        self._rounds = rounds
        self._round = 0
        self._tell = tell
        self._made = made
        self._calls_told = 0
        self._faults: list[QuireError] = []

    @property
    def tried(self) -> Tried:
        """The attempt so far."""
        return Tried(self.name, tuple(self._faults), MappingProxyType(self._made.counted(self.name)))

    async def write(self) -> None:
        """Write until a program passes the checks, or no round is left."""
        while self.ready is None and self._round < self._rounds:
            self._round += 1
            try:
                self.ready = await self._written()
            except ProgramFault as fault:
                await self._fail(fault)
            except (ModelFailed, OverBudget) as fault:  # the next request would fail as well
                self._round = self._rounds
                self._note(fault)

    async def run(self, program: Program, values: dict[str, Any]) -> Finished | None:
        """Run the program; None if it failed, which the model reads in the next round."""
        await self._coder.session.aio.append(Message("user", RUN), to=self.name)
        calls = Calls(self._runner, self._task, self.name, self._tell, self._made)
        try:
            return await self._runner.run_with(calls, self._task, program, values, self._tell)
        except ProgramFault as fault:
            self.ready = None
            await self._fail(fault)
            return None

    async def _written(self) -> tuple[Program, Price]:
        made = self._made.since(self._calls_told)
        if made:
            self._calls_told += len(made)
            await self._coder.session.aio.append(calls_message(made), to=self.name)
        text = await self._coder.write(self.name, self._task)
        self._tell(Written(self.name, self._round, text))
        program, price = await self._coder.check(program_in(text), self._task)
        self._tell(Checked(self.name, program, price))
        return program, price

    async def _fail(self, fault: ProgramFault) -> None:
        await self._coder.session.aio.append(fault_message(fault), to=self.name)
        self._note(fault)

    def _note(self, fault: QuireError) -> None:
        self._faults.append(fault)
        self._tell(Faulted(self.name, fault))


async def _all(works: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run coroutines together; if one fails, the others are cancelled."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise


def _checked_task(task: Task) -> Task:
    if not isinstance(task, Task):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a coder is given a Task, not {type(task).__name__}")
    return task


def _tried(attempts: Sequence[Attempt]) -> tuple[Tried, ...]:
    return tuple(attempt.tried for attempt in attempts)
