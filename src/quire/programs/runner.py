"""The runner of programs: it makes and records their calls of tools and models."""

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple, cast

from quire.agent.answer import with_schema
from quire.agent.calls import EndedCall, approval_of, execute_call, uncertain, write_result
from quire.agent.side_effects import describe_calls_in, has_acted, mark_acted
from quire.agent.speaker import Approver
from quire.agent.tools import Outcome, Tool
from quire.agent.tools.output import DONE
from quire.agent.turn import keep_receipts, shield
from quire.agent.window import budget_for
from quire.context import Template
from quire.errors import CapReached, Conflict, Forgotten, ModelFailed, QuireError, StoreError
from quire.items import Item, Message, ToolCall, ToolResult, new_id, text_of
from quire.models import Answering, AnswerShape, AnyModel, Terms, answer_text, shape_of
from quire.programs.prompts import NOTICE, code_message, fault_message, incomplete
from quire.programs.replay import PastCall, take_match, validated
from quire.programs.sandbox import Bounds, shared_sandbox
from quire.programs.schemas import check_schema, read_answer
from quire.programs.source import MAX_FAULT, ProgramFault
from quire.programs.task import MODEL_PARAMETERS, Task
from quire.programs.values import FOR_MODELS, as_text, by_name, plain
from quire.providers import Parsed, Rendered
from quire.sections import History
from quire.session import (
    Requesting,
    Session,
    beside_loop,
    hooked_request,
    hooks_of,
    new_transcript,
    not_run,
    turn_of,
)
from quire.stores.store import checked_name
from quire.stores.threads import COMPUTING, STORE

ATTEMPT = "attempt"
INTERMEDIATE = "intermediate"
"""The label of the transcripts with the questions that programs ask models."""

PROGRAM = "quire.program"
"""The `agent_id` of calls that programs make, in contrast to calls of a model's reply."""

_STOPPED = "the program was stopped"
_FATAL = (StoreError, Conflict, Forgotten, CapReached)
"""Errors after which a program makes no further calls: they cannot be recorded, or a cap is reached."""


async def begin(session: Session, label: str, *items: Item) -> tuple[str, tuple[Item, ...]]:
    """Begin a transcript with a label; return its name, and the items as recorded."""
    name = await STORE.do(new_transcript, session, label)
    return name, await session.aio.append(*items, to=name)


async def ask(
    session: Session, model: AnyModel, transcript: str, schema: Mapping[str, Any] | None = None
) -> Parsed:
    """Ask a model for the next message of a transcript, and record its answer."""
    # Calls of programs are left out: the model did not make them, and this request offers it no tools.
    history = History(transcript, where=lambda item: not isinstance(item, ToolCall | ToolResult))
    template, shape = Template(history, budget=budget_for(model), model=model.name), AnswerShape()
    has_own_window = getattr(model, "context", None) is not None  # as a local model has
    max_tokens = (template.budget.reserve or None) if has_own_window else None
    if schema:
        shape = shape_of(model, schema)
        template = template if shape.is_enforced else with_schema(template, schema)
    context = await session.aio.build(template, model=model.name, output=shape.sent)
    caches = getattr(model, "caches", True)
    sent = await beside_loop(session, partial(context.render, model.wire, model=model.name, cache=caches))
    terms = Terms(output=schema, max_tokens=max_tokens)
    request = Requesting(session.place, model.wire, model.name, context.items)
    async with hooked_request(hooks_of(session), request) as set_answer:
        answering = model.send(sent, stream=False, **terms)
        try:
            await keep_receipts(context, sent, answering, terms)
            parsed = await answering.whole()
        except BaseException as error:
            set_answer(await answering.close())
            await shield(_record_partial(session, transcript, answering, sent))
            if isinstance(error, QuireError) or not isinstance(error, Exception):
                raise
            # Only its type is named, because its message may quote the request.
            raise ModelFailed(f"{model.name} failed: {type(error).__name__}") from error
        set_answer(parsed)
    return await session.aio.record(parsed, to=transcript, sent=sent)


async def _record_partial(session: Session, transcript: str, answering: Answering, sent: Rendered) -> None:
    partial_answer = await answering.close()
    if partial_answer.items or partial_answer.usage is not None:
        await session.aio.record(partial_answer._replace(error=None), to=transcript, sent=sent)


class Calls:
    """The functions of one run of a program. Calls are recorded in a transcript as they happen.

    `log` has the calls of all attempts at the answer. A call that had an effect is replayed from it.
    """

    def __init__(self, runner: "Runner", task: Task, transcript: str, log: list[PastCall]) -> None:
        self._session = runner.session
        self._approver = runner.approver
        self.transcript = transcript
        self._log = log
        self._replays = [past for past in log if past.has_effect]
        self._entries: list[list[Item]] = []
        """Each call or question with its results, in the order in which they began."""
        self._fatal: Exception | None = None
        """The error after which no call is made, even if the program caught it."""
        self.functions: Mapping[str, Callable[..., Awaitable[Any]]] = {
            **{name: partial(self._guarded, self._call, tool) for name, tool in task.tools.items()},
            **{name: partial(self._guarded, self._ask, model) for name, model in task.models.items()},
        }

    def items(self) -> tuple[Item, ...]:
        """The calls with their results, and the questions that were answered."""
        return tuple(item for entry in self._entries if len(entry) > 1 for item in entry)

    def summary(self) -> str:
        """A sentence about the calls of tools and their outcomes; empty if there were none."""
        return describe_calls_in([item for entry in self._entries for item in entry])

    def check_fatal(self) -> None:
        """Raise the fatal error, if there is one, with the calls that were made before."""
        if self._fatal is not None:
            text = self.summary()
            raise mark_acted(self._fatal, text) if text else self._fatal

    async def _guarded(self, function: Callable[..., Awaitable[Any]], /, *args: Any, **kwargs: Any) -> Any:
        if self._fatal is not None:
            raise self._fatal
        try:
            return await function(*args, **kwargs)
        except _FATAL as error:
            self._fatal = self._fatal or error
            raise

    def _begin_entry(self) -> list[Item]:
        self._entries.append([])
        return self._entries[-1]

    async def _call(self, tool: Tool, /, *args: Any, **kwargs: Any) -> Any:
        arguments_by_name = by_name(tool.definition["parameters"], args, kwargs)
        call = ToolCall(f"call_{new_id()}", tool.name, as_text(arguments_by_name), agent_id=PROGRAM)
        arguments, entry = validated(tool, arguments_by_name), self._begin_entry()
        if recorded := take_match(self._replays, tool.name, arguments):
            entry += (*await self._write(call, recorded.result_for(call)), *recorded.nested)
        else:
            stopped = uncertain(call, _STOPPED)
            recorded = PastCall(attempt=self.transcript, call=call, result=stopped, arguments=arguments)
            await self._run_tool(recorded, tool, entry)
        if recorded.error is not None:
            raise recorded.error
        return recorded.value

    async def _run_tool(self, past: PastCall, tool: Tool, entry: list[Item]) -> None:
        """Run a call. It is recorded before it runs, and has a result however it ends."""

        async def record(ended: EndedCall) -> ToolResult:
            written = await write_result(self._write, ended)
            past.result = next(item for item in written if isinstance(item, ToolResult))
            _set_outcome(past, ended, tool)
            entry.extend((*written, *past.nested))
            if ended.outcome is not None and ended.outcome.has_begun:
                self._log.append(past)
            return past.result

        try:
            entry += await self._write(past.call)
            reason = await self._refusal(past.call, tool)
            with nested_calls() as past.nested:
                if reason is not None:
                    await record(EndedCall(not_run(past.call, reason)))
                else:
                    past.has_effect = not tool.is_idempotent  # assumed if the call is stopped
                    await execute_call(self._session, past.call, tool, record, to=self.transcript)
        except BaseException:
            if not any(isinstance(item, ToolResult) for item in entry):
                await shield(self._record_stop(past, entry))
            raise

    async def _record_stop(self, past: PastCall, entry: list[Item]) -> None:
        """Record that a call was stopped."""
        past.error = RuntimeError(past.result.text)
        if past.has_effect:
            self._log.append(past)
        if entry:
            entry += await self._write(past.result)

    async def _refusal(self, call: ToolCall, tool: Tool) -> str | None:
        """Why a call may not run. A program cannot wait for a person."""
        if tool.asks_person:
            return "a person answers it, and a program cannot wait for a person"
        verdict = await approval_of(call, tool, self._approver)
        if verdict is None:
            return "a person has to approve it, and a program cannot wait for a person"
        if verdict is not True:
            return verdict
        return None if self._fatal is None else "the program cannot continue"

    async def _write(self, *items: Item, **options: Any) -> tuple[Item, ...]:
        return await turn_of(self._session).answer((), *items, to=self.transcript, **options)

    async def _ask(self, model: AnyModel, /, *args: Any, **kwargs: Any) -> Any:
        values = by_name(MODEL_PARAMETERS, args, kwargs)
        prompt, schema = values.get("prompt"), check_schema(values.get("output_schema"))
        if not isinstance(prompt, str):
            raise TypeError("the prompt for a model must be a text")
        entry = self._begin_entry()
        # A prompt may contain whatever the program has read, so it is untrusted.
        question = Message("user", prompt, origin="external")
        name, recorded = await begin(self._session, INTERMEDIATE, question)
        entry += recorded
        parsed = await ask(self._session, model, name, schema)
        text, reason = answer_text(parsed), incomplete(parsed)
        if reason is not None or not text.strip():
            raise ModelFailed(f"{model.name} gave no complete answer: {reason or parsed.finish}")
        entry += [item for item in parsed.items if isinstance(item, Message)]
        return text if schema is None else await COMPUTING.do(read_answer, text, schema)


_nested: ContextVar[list[Item] | None] = ContextVar("quire_nested_calls", default=None)


@contextmanager
def nested_calls() -> Generator[list[Item], None, None]:
    """Collect the items of programs that run within a tool call, for the code that records the call."""
    items: list[Item] = []
    token = _nested.set(items)
    try:
        yield items
    finally:
        _nested.reset(token)


def _set_outcome(past: PastCall, ended: EndedCall, tool: Tool) -> None:
    """Set the value or error for the program, and whether the call may have had an effect."""
    outcome, result = ended.outcome, past.result
    if outcome is None or not outcome.has_begun:
        past.has_effect, past.error = False, RuntimeError(result.text)
        return
    may_have_acted = outcome.stop_reason != "error" or outcome.error is None or has_acted(outcome.error)
    past.has_effect = may_have_acted and not tool.is_idempotent
    if not result.is_error:
        past.value = _value(outcome)
    elif result.content != ended.result.content:  # a hook refused it
        past.error = RuntimeError(result.text)
    else:
        past.error = _error(outcome, result.text)


def _value(outcome: Outcome) -> Any:
    """The value for a program: the tool's return value, or its text for generators and media."""
    value = outcome.value
    parts = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else [value]
    is_generated = value is None and outcome.content != DONE
    if is_generated or any(isinstance(part, FOR_MODELS) for part in parts):
        return text_of(outcome.content)
    return plain(outcome.value)


def _error(outcome: Outcome, text: str) -> Exception:
    """The error for a program: the tool's own if it has one, so that the program can catch it by type."""
    if outcome.stop_reason == "timeout":
        return TimeoutError(text)
    if isinstance(outcome.error, Exception):
        return outcome.error
    return mark_acted(RuntimeError(text)) if outcome.stop_reason == "error" else RuntimeError(text)


# Runs


class FinishedRun(NamedTuple):
    """A run that has an answer; `items` are its calls and questions."""

    value: Any
    text: str
    printed: str
    items: tuple[Item, ...]


class Runner(NamedTuple):
    """Runs programs in a conversation, within bounds.

    `main` is the transcript of successful runs, or a function that returns its name when a run is recorded.
    """

    session: Session
    main: str | Callable[[], str]
    bounds: Bounds
    approver: Approver | None

    async def run(self, task: Task, code: str, values: dict[str, Any]) -> FinishedRun:
        """Run a program in a new attempt. A fault names the calls that were made."""
        opening = (
            Message("user", as_text(values), origin="external"),
            code_message(code),
            Message("user", NOTICE),
        )
        name, _ = await begin(self.session, ATTEMPT, *opening)
        calls = Calls(self, task, name, [])
        try:
            finished = await self.run_with(calls, task, code, values)
        except ProgramFault as fault:
            await self.session.aio.append(fault_message(fault), to=name)
            summary = calls.summary()
            fault.text = fault.text[: MAX_FAULT - len(summary)] + summary
            fault.has_acted = bool(summary)
            raise
        if (outer := _nested.get()) is not None:
            outer += finished.items
        return finished

    async def run_with(self, calls: Calls, task: Task, code: str, values: dict[str, Any]) -> FinishedRun:
        """Run a program with the functions of `calls`."""
        inputs, functions = task.variables(values), calls.functions
        try:
            result = await shared_sandbox().run(code, inputs=inputs, functions=functions, bounds=self.bounds)
        except ProgramFault:
            calls.check_fatal()
            raise
        calls.check_fatal()
        try:
            value = task.answer(result.value)
        except ProgramFault as fault:
            fault.printed = result.printed
            raise
        return FinishedRun(value, as_text(value), result.printed, calls.items())

    async def record(self, values: dict[str, Any], finished: FinishedRun) -> None:
        """Record a successful run in the main transcript, in one write."""
        main = self.main if isinstance(self.main, str) else checked_name(self.main())
        question, answer = Message("user", as_text(values)), Message("assistant", finished.text)
        await self.session.aio.append(question, *finished.items, answer, to=main)
