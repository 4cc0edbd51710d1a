"""Running a program: its calls of tools and models, and what is recorded of them."""

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple, cast

from quire.agent.answer import with_schema
from quire.agent.calls import CallRecord, approval_of, execute_call, not_run, uncertain, write_result
from quire.agent.side_effects import describe_calls, has_acted, mark_acted
from quire.agent.speaker import Approver
from quire.agent.tools import Outcome, Tool
from quire.agent.tools.output import DONE
from quire.agent.turn import shield
from quire.agent.window import budget_for
from quire.context import Template
from quire.errors import CapReached, Conflict, Forgotten, ModelFailed, QuireError, StoreError
from quire.items import Item, Message, ToolCall, ToolResult, new_id, text_of
from quire.models import Answering, AnswerShape, AnyModel, answer_text, shape_of
from quire.programs.check import Program
from quire.programs.events import Answered, Asked, Called, Gave, Printed, Started, Tell
from quire.programs.faults import LONGEST, ProgramFault
from quire.programs.prompts import RUN, code_message, fault_message, incomplete
from quire.programs.replay import Made, MadeCalls, call_key
from quire.programs.sandbox import Bounds, Sandbox
from quire.programs.task import MODEL_PARAMETERS, Task
from quire.programs.values import FOR_MODELS, as_text, by_name, check_schema, plain, read_answer
from quire.providers import Parsed, Rendered
from quire.sections import History
from quire.session import Session
from quire.stores.store import checked_name
from quire.stores.threads import COMPUTING, STORE

ATTEMPT = "attempt"
INTERMEDIATE = "intermediate"

PROGRAM = "quire.program"
"""The `agent_id` of calls of programs, which distinguishes them from calls of a model's reply."""

_STOPPED = "the program was stopped"
_BREAKING = (StoreError, Conflict, Forgotten, CapReached)
"""Errors after which a program makes no further calls: nothing can be recorded, or nothing may be spent."""

_caller: ContextVar[list[Item] | None] = ContextVar("quire_calling_program", default=None)
"""The items of the call of a program within which another program runs."""


async def begin(session: Session, label: str, *items: Item) -> tuple[str, tuple[Item, ...]]:
    """Begin a transcript with a label: its name, and the items as they are recorded."""
    name = await STORE.do(session.new, label)
    return name, await session.aio.append(*items, to=name)


async def ask(
    session: Session, model: AnyModel, transcript: str, schema: Mapping[str, Any] | None = None
) -> Parsed:
    """Ask a model for the next message of a transcript, and record its answer."""
    # Calls of programs are not the model's own, and it is offered no tools.
    history = History(transcript, where=lambda item: not isinstance(item, ToolCall | ToolResult))
    template, shape = Template(history, budget=budget_for(model), model=model.name), AnswerShape()
    longest = template.budget.reserve or None if getattr(model, "context", None) is not None else None
    if schema:
        shape = shape_of(model, schema)
        template = template if shape.is_enforced else with_schema(template, schema)
    context = await session.aio.build(template, model=model.name, output=shape.sent)
    sent = context.render(model.wire, model=model.name)
    answering = model.send(sent, stream=False, output=schema, max_tokens=longest)
    try:
        parsed = await answering.whole()
    except BaseException as error:
        await shield(_record_partial(session, transcript, answering, sent))
        if isinstance(error, QuireError) or not isinstance(error, Exception):
            raise
        # The words of a client's error may quote the request.
        raise ModelFailed(f"{model.name} failed: {type(error).__name__}") from error
    return await session.aio.record(parsed, to=transcript, sent=sent)


async def _record_partial(session: Session, transcript: str, answering: Answering, sent: Rendered) -> None:
    partial_answer = await answering.close()
    if partial_answer.items or partial_answer.usage is not None:
        await session.aio.record(partial_answer._replace(error=None), to=transcript, sent=sent)


class Calls:
    """The functions of one run of a program. Calls are recorded in a transcript as they happen.

    A call that was `made` for the same answer before is replayed.
    """

    def __init__(
        self, runner: "Runner", task: Task, transcript: str, tell: Tell, made: MadeCalls | None = None
    ) -> None:
        self._session = runner.session
        self._approver = runner.approver
        self.transcript = transcript
        self._tell = tell
        self._made = MadeCalls() if made is None else made
        self._replays = self._made.replays()
        self._entries: list[list[Item]] = []
        """Each call and each question with what came of it, in the order in which they began."""
        self.broken: BaseException | None = None
        """The error after which no call is made, though the program may have caught it."""
        self.functions: Mapping[str, Callable[..., Awaitable[Any]]] = {
            **{name: partial(self._guarded, self._call, tool) for name, tool in task.tools.items()},
            **{name: partial(self._guarded, self._ask, model) for name, model in task.models.items()},
        }

    def items(self) -> tuple[Item, ...]:
        """The calls with their results, and the questions that were answered."""
        ended = (entry for entry in self._entries if len(entry) > 1)
        return tuple(item for entry in ended for item in entry)

    def summary(self) -> str:
        """The calls of tools and how they ended, as a sentence; empty if there were none."""
        called: list[tuple[str, ToolResult | None]] = []
        for entry in self._entries:
            if entry and isinstance(entry[0], ToolCall):
                results = (item for item in entry if isinstance(item, ToolResult))
                called.append((entry[0].name, next(results, None)))
        return describe_calls(called)

    def check_unbroken(self) -> None:
        """Raise the error after which no call was made, with the calls made before."""
        if self.broken is not None:
            told = self.summary()
            raise mark_acted(self.broken, told) if told else self.broken

    async def _guarded(self, function: Callable[..., Awaitable[Any]], /, *args: Any, **given: Any) -> Any:
        if self.broken is not None:
            raise self.broken
        try:
            return await function(*args, **given)
        except _BREAKING as error:
            self.broken = self.broken or error
            raise

    def _begin(self) -> list[Item]:
        self._entries.append([])
        return self._entries[-1]

    async def _call(self, tool: Tool, /, *args: Any, **given: Any) -> Any:
        arguments = as_text(by_name(tool.definition["parameters"], args, given))
        call = ToolCall(f"call_{new_id()}", tool.name, arguments, agent_id=PROGRAM)
        key, entry = call_key(tool, arguments), self._begin()
        if earlier := self._replays.get(key):
            made = earlier.popleft()
            made = made._replace(result=made.result_for(call))
            entry += (*await self._write(call, made.result), *made.within)
            self._tell(Called(self.transcript, call))
        else:
            made = await self._made_now(call, tool, key, entry)
        self._tell(Gave(self.transcript, made.result))
        return made.outcome()

    async def _made_now(self, call: ToolCall, tool: Tool, key: str, entry: list[Item]) -> Made:
        """Run a call. It is recorded before it runs, and gets a result however it ends."""
        made, may_have_run = Made(self.transcript, call, uncertain(call, _STOPPED), key), False

        async def record(ended: CallRecord) -> ToolResult:
            nonlocal made
            written = await write_result(self._write, ended)
            result = next(item for item in written if isinstance(item, ToolResult))
            made = _ended(made, ended, result, tool)._replace(within=tuple(within))
            if ended.outcome is not None and ended.outcome.has_begun:
                self._made.add(made)
            entry.extend((*written, *within))
            return made.result

        try:
            entry += await self._write(call)
            self._tell(Called(self.transcript, call))
            why_not = await self._refusal(call, tool)
            with called_within() as within:
                if why_not is not None:
                    await record(CallRecord(not_run(call, why_not)))
                else:
                    may_have_run = True
                    await execute_call(self._session, call, tool, record, to=self.transcript)
        except BaseException:
            if not any(isinstance(item, ToolResult) for item in entry):
                await shield(self._close(made, entry, may_have_run and not tool.is_idempotent))
            raise
        return made

    async def _close(self, made: Made, entry: list[Item], lasts: bool) -> None:
        """Record that a call was stopped."""
        if lasts:
            self._made.add(made._replace(error=RuntimeError(made.result.text), lasts=True))
        if entry:
            entry += await self._write(made.result)

    async def _refusal(self, call: ToolCall, tool: Tool) -> str | None:
        """Why a call may not run. A program cannot wait for a person."""
        if tool.asks_person:
            return "a person answers it, and a program cannot wait for one"
        verdict = await approval_of(call, tool, self._approver)
        if verdict is None:
            return "a person has to approve of it, and nobody was there to ask"
        if verdict is not True:
            return verdict
        return None if self.broken is None else "the program cannot go on"

    async def _write(self, *items: Item, **options: Any) -> tuple[Item, ...]:
        return await self._session.steps.answer((), *items, to=self.transcript, **options)

    async def _ask(self, model: AnyModel, /, *args: Any, **given: Any) -> Any:
        values = by_name(MODEL_PARAMETERS, args, given)
        prompt, schema = values.get("prompt"), check_schema(values.get("output_schema"))
        if not isinstance(prompt, str):
            raise TypeError("a model is asked with a prompt, which is a text")
        entry = self._begin()
        name, question = await begin(self._session, INTERMEDIATE, Message("user", prompt))
        entry += question
        self._tell(Asked(self.transcript, name, model.name))
        parsed = await ask(self._session, model, name, schema)
        text, why = answer_text(parsed), incomplete(parsed)
        if why is not None or not text.strip():
            raise ModelFailed(f"{model.name} gave no whole answer: {why or parsed.finish}")
        entry += [item for item in parsed.items if isinstance(item, Message)]
        return text if schema is None else await COMPUTING.do(read_answer, text, schema)


@contextmanager
def called_within() -> Generator[list[Item], None, None]:
    """The items of programs that run within a call of a tool, for whoever records the call."""
    items: list[Item] = []
    token = _caller.set(items)
    try:
        yield items
    finally:
        _caller.reset(token)


def _ended(made: Made, ended: CallRecord, result: ToolResult, tool: Tool) -> Made:
    """A call with its result as it was recorded, and what the program receives."""
    outcome, made = ended.outcome, made._replace(result=result)
    if outcome is None or not outcome.has_begun:
        return made._replace(error=RuntimeError(result.text))
    acted = outcome.stop_reason != "error" or outcome.error is None or has_acted(outcome.error)
    made = made._replace(lasts=acted and not tool.is_idempotent)
    if result.is_error:
        is_refused = result.content != ended.result.content  # by a hook
        return made._replace(error=RuntimeError(result.text) if is_refused else _error(outcome, result.text))
    return made._replace(value=_value(outcome))


def _value(outcome: Outcome) -> Any:
    """The value for a program: what the tool returned, or text if it is a generator or returned media."""
    value = outcome.value
    parts = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else [value]
    is_generated = value is None and outcome.content != DONE
    if is_generated or any(isinstance(part, FOR_MODELS) for part in parts):
        return text_of(outcome.content)
    return plain(outcome.value)


def _error(outcome: Outcome, words: str) -> Exception:
    """The error for a program: the tool's own, so that the program can catch it by its type."""
    if outcome.stop_reason == "timeout":
        return TimeoutError(words)
    if isinstance(outcome.error, Exception):
        return outcome.error
    return mark_acted(RuntimeError(words)) if outcome.stop_reason == "error" else RuntimeError(words)


class Finished(NamedTuple):
    """A run that came to an answer; `items` are its calls and questions."""

    value: Any
    text: str
    printed: str
    items: tuple[Item, ...]


class Runner(NamedTuple):
    """Where programs run: the conversation that they belong to, the sandbox and its bounds.

    `main` is the transcript of successful runs, or a function that names it when a run is recorded.
    """

    session: Session
    main: str | Callable[[], str]
    sandbox: Sandbox
    bounds: Bounds
    approver: Approver | None

    async def run(self, task: Task, program: Program, values: dict[str, Any], tell: Tell) -> Finished:
        """Run a program in an attempt of its own. A fault has the calls that were made."""
        opening = Message("user", as_text(values)), code_message(program.code), Message("user", RUN)
        name, _ = await begin(self.session, ATTEMPT, *opening)
        calls = Calls(self, task, name, tell)
        try:
            done = await self.run_with(calls, task, program, values, tell)
        except ProgramFault as fault:
            await self.session.aio.append(fault_message(fault), to=name)
            told = calls.summary()
            text = str(fault)[: LONGEST - len(told)] + told
            raise ProgramFault(fault.kind, text, fault.line, fault.printed, has_acted=bool(told)) from None
        if (caller := _caller.get()) is not None:
            caller += done.items
        return done

    async def run_with(
        self, calls: Calls, task: Task, program: Program, values: dict[str, Any], tell: Tell
    ) -> Finished:
        """Run a program with the functions of `calls`."""
        name = calls.transcript
        tell(Started(name, program))
        try:
            ran = await self.sandbox.run(
                program.code,
                inputs=task.variables(values),
                functions=calls.functions,
                bounds=self.bounds,
                tell=lambda text: tell(Printed(name, text)),
            )
        except ProgramFault:
            calls.check_unbroken()
            raise
        calls.check_unbroken()
        try:
            value = task.answer(ran.value)
        except ProgramFault as fault:
            raise ProgramFault(fault.kind, str(fault), fault.line, ran.printed) from None
        text = as_text(value)
        tell(Answered(name, text))
        return Finished(value, text, ran.printed, calls.items())

    async def record(self, values: dict[str, Any], done: Finished) -> None:
        """Record a successful run in the main transcript, in one write."""
        main = self.main if isinstance(self.main, str) else checked_name(self.main())
        given, answer = Message("user", as_text(values)), Message("assistant", done.text)
        await self.session.aio.append(given, *done.items, answer, to=main)
