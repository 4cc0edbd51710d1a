"""The coder: who answers tasks with programs that a model writes, at once or to be kept."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from quire.agent.calls import Approver
from quire.errors import InvalidValue, WrongType
from quire.items import Item, Message
from quire.models import AnyModel, Model
from quire.programs.asking import Asking
from quire.programs.attempts import Attempt, Checks, Prices, ProgramFailed, Tried, Ways, Writes, side_by_side
from quire.programs.blocks import written_in
from quire.programs.check import Program, check
from quire.programs.events import Checked, Tell, listening
from quire.programs.faults import ProgramFault
from quire.programs.keeping import KeptProgram
from quire.programs.performing import Performance, Stage, perform, perform_in_main
from quire.programs.pricing import Cost, Price, cost_of_model, price_of
from quire.programs.prompting import RUN, prompt_for
from quire.programs.recording import ATTEMPT, begin, record_run
from quire.programs.replaying import MadeCalls
from quire.programs.sandbox import Bounds, Sandbox, shared_sandbox
from quire.programs.shelf import Shelf
from quire.programs.task import Task
from quire.programs.values import as_text, given_once
from quire.session import Session
from quire.stores import MemoryStore
from quire.stores.store import checked_name
from quire.stores.streams import MAIN
from quire.stores.threads import COMPUTING
from quire.tokens import whole


class Answer(NamedTuple):
    """What a program answered, and how it came to that; `attempts` are those that were begun."""

    value: Any
    program: Program
    printed: str
    price: Price
    attempts: tuple[Tried, ...]


class Coder:
    """Answers tasks with programs. A model writes them, they are checked, and the cheapest is run.

    What is tried is recorded in transcripts `attempt_a`, `attempt_b`, … of the session; in the one that is
    called `main` stands what succeeded, and nothing else; a function says its name when that is written.
    `write`, `check` and `price` take the places of the model, of the checks and of the estimate. `kept` is
    the folder of programs that are kept.

    What a task is given stands in one mapping, or in keywords where none of them is a name of ours.
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
        price: Prices | None = None,
    ) -> None:
        self.model = Model(model) if isinstance(model, str) else model
        self.session = session or Session.open(store=MemoryStore())
        main = checked_name(main) if isinstance(main, str) else main
        self._stage = Stage(self.session, main, sandbox or shared_sandbox(), bounds, approver)
        self._writes = write
        self._ways = Ways(self._write, check or self._check, price or estimate)
        self._candidates = whole(candidates, "candidates", least=1)
        self._rounds = whole(rounds, "rounds", least=1)
        self._shelf = Shelf(None if kept is None else Path(kept), self._stage.sandbox)

    def __repr__(self) -> str:
        name = "no model" if self.model is None else self.model.name
        return f"<Coder of {self.session.place}, {name}>"

    async def answer(
        self, task: Task, given: Mapping[str, Any] | None = None, /, *, tell: Tell | None = None, **input: Any
    ) -> Answer:
        """The answer of a program that is written for this input; `ProgramFailed` if none comes to one."""
        values = await _read(task, given_once(given, input))
        said = Message("user", await COMPUTING.do(as_text, values))
        tell, made = listening(tell), MadeCalls(self._stage.bounds.handed)
        stage = self._stage._replace(made=made)
        attempts = await self._begun(task, values, tell, made)
        while ready := await self._ready(attempts):
            for attempt in ready:
                done = await self._tried(attempt, stage, task, values, tell)
                if done is not None and attempt.ready is not None:
                    await record_run(self.session, stage.main, done.deeds, said, done.text)
                    return _answer(done, attempt.ready, attempts)
        raise ProgramFailed(task.name, _tries(attempts))

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
        """The answer of a program that is at hand: it is checked and run, and no model is asked for it."""
        values = await _read(task, given_once(given, input))
        program = await self._ways.check(code, task)
        done = await perform_in_main(self._stage, task, program, values, listening(tell))
        return Answer(done.value, program, done.printed, self._ways.price(program, task), ())

    async def keep(self, task: Task, /, *, tell: Tell | None = None) -> KeptProgram:
        """A program for any input, as a tool. One that was kept for the same task is used without a model."""
        tell = listening(tell)
        model = self._writer
        found = await self._shelf.find(_checked(task), model, self._ways.check, tell)
        if found is None:
            attempts = await self._begun(task, None, tell, MadeCalls(self._stage.bounds.handed))
            ready = await self._ready(attempts)
            if not ready or ready[0].ready is None:
                raise ProgramFailed(task.name, _tries(attempts))
            best = ready[0].ready
            found = await self._shelf.put(task, model, best.program, best.price)
        return KeptProgram(task, found, self._stage, self._shelf)

    @property
    def _writer(self) -> str:
        """Who writes programs: what another would write is another program."""
        named = [] if self.model is None else [self.model.name]
        if self._writes is not None:
            kind: Any = self._writes if hasattr(self._writes, "__qualname__") else type(self._writes)
            named.append(f"{kind.__module__}.{kind.__qualname__}")
        return " ".join(named)

    async def _begun(
        self, task: Task, values: dict[str, Any] | None, tell: Tell, made: MadeCalls
    ) -> list[Attempt]:
        attempts: list[Attempt] = []
        for _ in range(self._candidates):
            name, _ = await begin(self.session, ATTEMPT, *prompt_for(task, values))
            attempts.append(Attempt(name, task, self.session, self._ways, self._rounds, tell, made))
        return attempts

    async def _ready(self, attempts: Sequence[Attempt]) -> list[Attempt]:
        """The attempts that have a program, the cheapest first, after all wrote that have none."""
        await side_by_side(attempt.write() for attempt in attempts if attempt.goes_on)
        priced = [(attempt.ready.price, attempt) for attempt in attempts if attempt.ready is not None]
        return [attempt for _, attempt in sorted(priced, key=lambda one: one[0])]

    async def _tried(
        self, attempt: Attempt, stage: Stage, task: Task, values: dict[str, Any], tell: Tell
    ) -> Performance | None:
        assert attempt.ready is not None
        await self.session.aio.append(Message("user", RUN), to=attempt.name)
        try:
            return await perform(stage, task, attempt.ready.program, values, attempt.name, tell)
        except ProgramFault as fault:
            await attempt.fail(fault)
            return None

    async def _write(self, transcript: str, task: Task, items: Sequence[Item]) -> str:
        if self._writes is not None:
            text = await self._writes(transcript, task, items)
            await self.session.aio.append(Message("assistant", text), to=transcript)
            return text
        if self.model is None:
            raise InvalidValue("a program is written by a model: the coder was given none")
        return written_in(await Asking(self.session, self.model, transcript).answer())

    async def _check(self, code: str, task: Task) -> Program:
        return await check(code, task, self._stage.sandbox)


def estimate(program: Program, task: Task) -> Price:
    """What a program is taken to cost: its calls, by the facts of the models that it asks."""
    models = {name: cost_of_model(model.name) for name, model in task.models.items()}
    return price_of(program.code, {**dict.fromkeys(task.tools, Cost()), **models})


async def _read(task: Task, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a task is given, read beside the loop: there may be much of it."""
    return await COMPUTING.do(_checked(task).read, given)


def _checked(task: Task) -> Task:
    if not isinstance(task, Task):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a coder is given a Task, not {type(task).__name__}")
    return task


def _tries(attempts: Sequence[Attempt]) -> tuple[Tried, ...]:
    return tuple(attempt.tried for attempt in attempts)


def _answer(done: Performance, ready: Checked, attempts: Sequence[Attempt]) -> Answer:
    return Answer(done.value, ready.program, done.printed, ready.price, _tries(attempts))
