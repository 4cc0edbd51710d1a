"""The coder: a model writes programs that answer a task, or one program that is kept."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from quire.agent import Approver
from quire.agent.calls import run_concurrently
from quire.errors import InvalidValue, ModelFailed, OverBudget, QuireError, cut
from quire.items import Message
from quire.models import AnyModel, model_of
from quire.programs.check import check
from quire.programs.library import KeptProgram, find_program, path_of, save_program
from quire.programs.price import Price, estimate
from quire.programs.prompts import NOTICE, calls_message, complete_text, fault_message, program_in, prompt_for
from quire.programs.replay import PastCall
from quire.programs.runner import ATTEMPT, Calls, FinishedRun, Runner, ask, begin
from quire.programs.sandbox import Bounds
from quire.programs.source import ProgramFault
from quire.programs.task import Task
from quire.session import Session, checked_type
from quire.stores import MemoryStore
from quire.stores.store import checked_name
from quire.stores.streams import MAIN
from quire.tokens import whole

_TASK = "a coder must be given a Task"


class AttemptReport(NamedTuple):
    """The transcript of an attempt, its faults in order, and how often it called each tool.

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
    """No program found an answer; `attempts` has the faults of each.

    `has_acted` says that tools were called: a new try calls them again.
    """

    def __init__(self, task: str, attempts: tuple[AttemptReport, ...]) -> None:
        super().__init__(task, attempts)
        self.attempts = attempts
        self.has_acted = any(report.calls for report in attempts)

    def __str__(self) -> str:
        return "\n  ".join([f"no program answered the task {cut(self.args[0])!r}", *map(str, self.attempts)])


class Answer(NamedTuple):
    """The answer of a program, with the reports of all attempts."""

    value: Any
    code: str
    printed: str
    price: Price
    attempts: tuple[AttemptReport, ...]


class Coder:
    """Answers tasks with programs: a model writes several, they are checked, and the cheapest runs first.

    Attempts are recorded in the transcripts `attempt_a`, `attempt_b`, … of the session. A successful run is
    recorded in the transcript `main`, which is a name, or a function that returns the name at each run.
    `kept` is the folder of kept programs.
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
        kept: str | Path | None = None,
        approver: Approver | None = None,
    ) -> None:
        checked_type(session, Session | None, "Coder(session=…) must be a Session")
        checked_type(bounds, Bounds, "Coder(bounds=…) must be Bounds")
        checked_type(kept, str | Path | None, "Coder(kept=…) must be the path of a folder")
        self.model = None if model is None else model_of(model, "Coder(model=…)")
        self.session = session or Session.open(store=MemoryStore())
        main = checked_name(main) if isinstance(main, str) else main
        self._runner = Runner(self.session, main, bounds, approver)
        self._candidates = whole(candidates, "candidates", least=1)
        self._rounds = whole(rounds, "rounds", least=1)
        self._folder = None if kept is None else Path(kept)

    def __repr__(self) -> str:
        name = "no model" if self.model is None else self.model.name
        return f"<Coder of {self.session.place}, {name}>"

    async def answer(self, task: Task, input: Mapping[str, Any]) -> Answer:
        """The answer of a program written for this input; `ProgramFailed` if none finds one."""
        values = checked_type(task, Task, _TASK).read(input)
        attempts = await self._attempts(task, values)
        while ready := await _write_programs(attempts):
            for attempt, code, price in ready:
                finished = await attempt.run(code, values)
                if finished is not None:
                    await self._runner.record(values, finished)
                    return Answer(finished.value, code, finished.printed, price, _reports(attempts))
        raise ProgramFailed(task.name, _reports(attempts))

    async def run(self, task: Task, code: str, input: Mapping[str, Any]) -> Answer:
        """Check and run a program of the caller, and return its answer."""
        checked_type(code, str, "Coder.run: the program must be a text")
        values = checked_type(task, Task, _TASK).read(input)
        await check(code, task)
        finished = await self._runner.run(task, code, values)
        await self._runner.record(values, finished)
        return Answer(finished.value, code, finished.printed, estimate(code, task), ())

    async def keep(self, task: Task) -> KeptProgram:
        """A program for any input, as a tool. A program that was kept for the same task is used again."""
        checked_type(task, Task, _TASK)
        writer = "" if self.model is None else self.model.name
        path = None if self._folder is None else path_of(self._folder, task, writer)
        code = None if path is None else await find_program(path, task)
        if code is None:
            attempts = await self._attempts(task, None)
            ready = await _write_programs(attempts)
            if not ready:
                raise ProgramFailed(task.name, _reports(attempts))
            _, code, _ = ready[0]
            if path is not None:
                await save_program(path, task, writer, code, estimate(code, task))
        return KeptProgram(task, code, estimate(code, task), path, self._runner)

    async def _attempts(self, task: Task, values: dict[str, Any] | None) -> list["Attempt"]:
        if self.model is None:
            raise InvalidValue("the coder has no model to write programs")
        log, attempts = list[PastCall](), list[Attempt]()
        for _ in range(self._candidates):
            name, _ = await begin(self.session, ATTEMPT, *prompt_for(task, values))
            attempts.append(Attempt(self.model, self._runner, name, task, self._rounds, log))
        return attempts


@dataclass
class Attempt:
    """One candidate: the model writes until a program passes the checks, and again after a failed run.

    `name` is its transcript. `log` has the calls of all attempts for the answer.
    """

    model: AnyModel
    runner: Runner
    name: str
    task: Task
    rounds_left: int
    log: list[PastCall]
    ready: tuple[str, Price] | None = None
    """The program that passed the checks, with its price."""
    faults: list[QuireError] = field(default_factory=list)
    reported_count: int = 0
    """How many calls of the log were reported to the model."""

    @property
    def report(self) -> AttemptReport:
        """The attempt so far."""
        calls = Counter(past.call.name for past in self.log if past.attempt == self.name)
        return AttemptReport(self.name, tuple(self.faults), MappingProxyType(calls))

    async def write(self) -> None:
        """Write until a program passes the checks, or no round is left."""
        while self.ready is None and self.rounds_left:
            self.rounds_left -= 1
            try:
                self.ready = await self._write_once()
            except ProgramFault as fault:
                await self._fail(fault)
            except (ModelFailed, OverBudget) as fault:  # the next request would fail as well
                self.rounds_left = 0
                self.faults.append(fault)

    async def run(self, code: str, values: dict[str, Any]) -> FinishedRun | None:
        """Run the program; None if it failed. The model reads the fault in the next round."""
        await self.runner.session.aio.append(Message("user", NOTICE), to=self.name)
        calls = Calls(self.runner, self.task, self.name, self.log)
        try:
            return await self.runner.run_with(calls, self.task, code, values)
        except ProgramFault as fault:
            self.ready = None
            await self._fail(fault)
            return None

    async def _write_once(self) -> tuple[str, Price]:
        calls = self.log[self.reported_count :]
        if calls:
            self.reported_count += len(calls)
            await self.runner.session.aio.append(calls_message(calls), to=self.name)
        text = complete_text(await ask(self.runner.session, self.model, self.name))
        code = program_in(text)
        await check(code, self.task)
        return code, estimate(code, self.task)

    async def _fail(self, fault: ProgramFault) -> None:
        await self.runner.session.aio.append(fault_message(fault), to=self.name)
        self.faults.append(fault)


async def _write_programs(attempts: Sequence[Attempt]) -> list[tuple[Attempt, str, Price]]:
    """Let each attempt write a program unless it has one; return those that have one, the cheapest first."""
    await run_concurrently(attempt.write() for attempt in attempts)
    ready = [(attempt, *attempt.ready) for attempt in attempts if attempt.ready is not None]
    return sorted(ready, key=lambda candidate: candidate[2])


def _reports(attempts: Sequence[Attempt]) -> tuple[AttemptReport, ...]:
    return tuple(attempt.report for attempt in attempts)
