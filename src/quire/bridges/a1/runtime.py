"""A1's runtime: contexts by name in one session, and the programs that act in them."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import cache, partial
from inspect import isawaitable
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, cast

import msgspec

from quire.agent.calls import CallRecord, execute_call, write_result
from quire.bridges.a1.context import Compact, Context, Message, dumped, read_contexts, read_json, write_json
from quire.bridges.a1.tools import Agent, Tool, as_tool, is_model, model_of
from quire.bridges.kit import mapping_at
from quire.errors import InvalidValue, WrongType, cut
from quire.items import ToolCall, ToolResult, new_id
from quire.programs import (
    PROGRAM,
    Checks,
    Coder,
    KeptProgram,
    Price,
    Program,
    ProgramFault,
    Task,
    check,
    estimate,
    shared_sandbox,
)
from quire.programs.calls import called_within
from quire.session import Session, labelled
from quire.stores.store import checked_name

MODEL_VARIABLE = "QUIRE_MODEL"
"""The environment variable that names the model of a runtime without `generate`."""


# Strategies


class Strategy(msgspec.Struct, frozen=True, kw_only=True):
    """How programs are made; `None` means as the runtime says."""

    num_candidates: int = 3
    max_iterations: int = 3
    generate: Any = None
    verify: Any = None
    cost: Any = None
    compact: Compact | None = None


def _checked_model(given: Any) -> Any:
    """A model or its name; an LLM tool stands for its model."""
    model = given if model_of(given) is None else model_of(given)
    if model is None or isinstance(model, str) or is_model(model):
        return model
    raise WrongType(f"generate is a model, its name or an LLM, not {type(model).__name__}")


def _verifiers(given: Any) -> list[Any]:
    row = cast("Iterable[Any]", given) if isinstance(given, list | tuple) else (given,)
    found = [one for one in row if one is not None]
    for one in found:
        if not callable(getattr(one, "verify", None)):
            raise WrongType(f"verify has a method `verify`, or is a list of such, not {type(one).__name__}")
    return found


# The runtime


class Runtime:
    """Contexts that belong together, and the programs that act in them.

    `generate` is the model that writes programs, its name or an `LLM`; by default the model that the
    environment variable `QUIRE_MODEL` names, or the local one. `verify` checks programs after the checks of
    the engine by `verify(code, agent)`, which returns whether one may run and what is wrong with it; it may
    be async, or a list. The program with the lowest `cost.compute_cost(code, agent)` runs first. Those that
    are kept are in `cache_dir`. `compact` runs after each message that leaves no call open. Fields of a
    `strategy` override the other arguments. With `keep_updated`, each change is in the file when its verb
    returns.
    """

    def __init__(
        self,
        generate: Any = None,
        verify: Any = None,
        cost: Any = None,
        compact: Compact | None = None,
        cache_dir: str | os.PathLike[str] = ".a1",
        strategy: Strategy | None = None,
        file_path: str | os.PathLike[str] | None = None,
        keep_updated: bool = False,
    ) -> None:
        self.strategy = strategy or Strategy()
        self.generate = _checked_model(self.strategy.generate or generate)
        self.verify = _verifiers(verify if self.strategy.verify is None else self.strategy.verify)
        self.cost = self.strategy.cost or cost
        self.compact = self.strategy.compact or compact or Compact()
        self.cache_dir = Path(cache_dir)
        self.file_path = None if file_path is None else Path(file_path)
        self.keep_updated = keep_updated
        self.session = Session.open(store="memory:")
        self._contexts: dict[str, Context] = {}
        self._is_compacting = False
        self._save()

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], keep_updated: bool = False, **options: Any) -> Self:
        """The runtime in a file with all its contexts, made current; empty if there is no file.

        Without `keep_updated`, the file is only read.
        """
        saved = mapping_at(read_json(path) or {}, "$")
        contexts = read_contexts(saved.get("contexts") or {})
        runtime = cls(**{"cache_dir": saved.get("cache_dir", ".a1"), **options}, file_path=path)
        for name, messages in contexts.items():
            runtime.get_context(name).extend(messages)
        runtime.keep_updated = keep_updated
        runtime._save()
        set_runtime(runtime)
        return runtime

    @property
    def CTX(self) -> Mapping[str, Context]:
        """All contexts by name."""
        for name in self.session.transcripts:
            if "~" not in name and self.session.view(name).revision:
                self.get_context(name)
        return MappingProxyType(self._contexts)

    def get_context(self, name: str = "main") -> Context:
        """The context with this name, made if there is none."""
        if name not in self._contexts:
            if "~" in checked_name(name):
                raise InvalidValue(f"the name of a context has no ~, as {cut(name)!r} has")
            self._contexts[name] = Context(session=self.session, transcript=name, changed=self._has_changed)
        return self._contexts[name]

    def new_context(self, label: str = "intermediate", branch_from: Context | None = None) -> Context:
        """A new context `label_a`, `label_b`, …; it may begin with the messages of another."""
        items = [] if branch_from is None else branch_from.copies()
        name = self.session.new(label)
        while name in self._contexts:  # it has no messages yet, so the session does not know it
            name = self.session.new(label)
        if items:
            self.session.append(*items, to=name)
        return self.get_context(name)

    def get_full_context(self, labels: str | Iterable[str] | None = None) -> list[Message]:
        """The messages of all contexts, or of those with some labels, by time and each once.

        A label stands for the context of that name and for those whose names begin with it and an underscore.
        """
        contexts = self.CTX
        found = {one.message_id: one for name in labelled(contexts, labels) for one in contexts[name]}
        return sorted(found.values(), key=lambda message: message.timestamp)

    def __enter__(self) -> Self:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _entered.set(_entered.get()[:-1])

    async def jit(self, agent: Agent, /, strategy: Strategy | None = None, **input: Any) -> Any:
        """The output of a program that is written for this input.

        On success input, calls and output are in `main`; otherwise nothing is, and the error lists what was
        wrong with each attempt.
        """
        coder = self._coder(agent, strategy)
        with self:
            try:
                answer = await coder.answer(agent.task, agent.given(input))
            finally:
                self.has_changed()
        return answer.value

    async def aot(self, agent: Agent, /, cache: bool = True, strategy: Strategy | None = None) -> "Compiled":
        """A program for any input, as a tool. With `cache` it is kept, and found again without a model."""
        coder = self._coder(agent, strategy, self.cache_dir if cache else None)
        with self:
            try:
                return Compiled(agent, await coder.keep(agent.task), self)
            finally:
                self.has_changed()

    async def execute(self, tool: Any, /, **input: Any) -> Any:
        """The result of a tool. The call and its result, or its error, are in `main`, except of an LLM."""
        one = as_tool(tool)
        with self:
            if model_of(one) is not None:
                return await one(**input)
            try:
                return await self._call(one, input)
            finally:
                self.has_changed()

    async def _call(self, tool: Any, input: Mapping[str, Any]) -> Any:
        ran: list[CallRecord] = []
        main = self.main()
        call = ToolCall(f"call_{new_id()}", tool.name, _as_json(input), agent_id=PROGRAM)
        await self.session.aio.append(call, to=main)

        async def record(one: CallRecord) -> ToolResult:
            ran.append(one)
            await write_result(partial(self.session.steps.answer, (), to=main), one)
            return one.result

        with called_within() as within:
            result = await execute_call(self.session, call, tool, record, to=main)
        if within:
            await self.session.aio.append(*within, to=main)
        outcome = ran[0].outcome
        if outcome is not None and not outcome.is_error:
            return result.text if tool.kind == "generator" else outcome.value
        raise (outcome and outcome.error) or RuntimeError(result.text)

    def main(self) -> str:
        """The transcript of the context `main`; it changes when the context is cleared."""
        return self.get_context().transcript

    def _coder(self, agent: Agent, strategy: Strategy | None, kept: Path | None = None) -> Coder:
        if not isinstance(agent, Agent):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a runtime runs an Agent, not {type(agent).__name__}")
        chosen = strategy or self.strategy
        model = _checked_model(chosen.generate) or self.generate
        verifiers = self.verify if chosen.verify is None else _verifiers(chosen.verify)
        cost = chosen.cost or self.cost
        return Coder(
            model or os.environ.get(MODEL_VARIABLE) or "local",
            session=self.session,
            main=self.main,
            candidates=chosen.num_candidates,
            rounds=chosen.max_iterations,
            kept=kept,
            check=_checks(verifiers, agent) if verifiers else None,
            price=estimate
            if cost is None
            else lambda one, _: Price(0, cost.compute_cost(one.code, agent), 0),
        )

    def has_changed(self) -> None:
        """Save and compact after programs or models have added to contexts."""
        self._has_changed(self.get_context())

    def _has_changed(self, context: Context) -> None:
        if self._is_compacting:
            return  # what the strategy itself changes is saved at its end
        self._is_compacting = True
        try:
            if not context.view.pending():
                self._compact()
        finally:
            self._is_compacting = False
            self._save()

    def _compact(self) -> None:
        if type(self.compact) is Compact:
            return
        compacted = self.compact.compact(dict(self.CTX))
        if not isinstance(compacted, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"compact returns contexts by name, not {type(compacted).__name__}")
        for name, context in compacted.items():
            if context is not self.get_context(name):
                self.get_context(name).messages = context.messages

    def _save(self) -> None:
        if self.keep_updated and self.file_path is not None:
            contexts = {name: dumped(context) for name, context in self.CTX.items()}
            write_json(self.file_path, {"cache_dir": str(self.cache_dir), "contexts": contexts})


def _as_json(arguments: Mapping[str, Any]) -> str:
    try:
        plain = msgspec.to_builtins(arguments, enc_hook=lambda value: value.model_dump(mode="json"))
    except (TypeError, AttributeError) as fault:
        raise WrongType(f"a tool is executed with values that JSON has: {fault}") from None
    return json.dumps(plain, ensure_ascii=False)


def _checks(verifiers: Sequence[Any], agent: Agent) -> Checks:
    async def check_program(code: str, task: Task) -> Program:
        program = await check(code, task, shared_sandbox())
        for verifier in verifiers:
            verdict = verifier.verify(code, agent)
            is_right, fault = await verdict if isawaitable(verdict) else verdict
            if not is_right:
                raise ProgramFault("answer", str(fault or "it was not accepted"))
        return program

    return check_program


class Compiled(Tool):
    """The program of an agent, as a tool.

    A call records the calls of the program in `main` of the current runtime, or of the one that compiled it
    if none was entered; `execute` also records input and output. Both record only a program that succeeds.
    As a tool of another agent it leaves recording to that agent.
    """

    def __init__(self, agent: Agent, program: KeptProgram, runtime: Runtime) -> None:
        super().__init__(
            name=agent.name,
            execute=program.function,
            description=agent.description,
            input_schema=agent.input_schema,
            output_schema=agent.output_schema,
        )
        self.function, self.__dict__["signature"] = program.function, program.signature
        self.agent = agent
        self.program = program
        self.execute = self._run
        self._runtime = runtime

    @property
    def code(self) -> str:
        """The text of the program."""
        return self.program.program.code

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The output for an input; only the calls of the program are in `main`."""
        with _current() or self._runtime as runtime:
            program = self.program.within(runtime.session, runtime.main)
            try:
                done = await program.perform(self.program.task.read(self._given(args, kwargs)))
                if done.items:
                    await runtime.session.aio.append(*done.items, to=runtime.main())
            finally:
                runtime.has_changed()
        return done.value

    async def _run(self, *args: Any, **kwargs: Any) -> Any:
        """The output for an input; on success input, calls and output are in `main`."""
        with _current() or self._runtime as runtime:
            program = self.program.within(runtime.session, runtime.main)
            try:
                return await program.run(self._given(args, kwargs))
            finally:
                runtime.has_changed()

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        return self.agent.given(self.by_name(args, kwargs))


# The current runtime


# All that were entered, the current one last: several tasks may enter the same runtime.
_entered: ContextVar[tuple[Runtime, ...]] = ContextVar("quire_a1_runtimes", default=())


@cache
def _shared() -> Runtime:
    return Runtime()


def _current() -> Runtime | None:
    entered = _entered.get()
    return entered[-1] if entered else None


def get_runtime() -> Runtime:
    """The current runtime; if none was set, one that the whole process shares."""
    return _current() or _shared()


def set_runtime(runtime: Runtime) -> None:
    """Make a runtime current in this task or thread and in those that it starts."""
    _entered.set((*_entered.get()[:-1], runtime))


def get_context(name: str = "main") -> Context:
    """The context with this name in the current runtime, made if there is none."""
    return get_runtime().get_context(name)


def new_context(label: str = "intermediate", branch_from: Context | None = None) -> Context:
    """A new context `label_a`, `label_b`, … in the current runtime."""
    return get_runtime().new_context(label, branch_from)


def get_full_context(labels: str | Iterable[str] | None = None) -> list[Message]:
    """The messages of all contexts of the current runtime, or of those with some labels."""
    return get_runtime().get_full_context(labels)


async def jit(agent: Agent, /, **input: Any) -> Any:
    """The output of a program that the current runtime has written for this input."""
    return await get_runtime().jit(agent, **input)


async def aot(agent: Agent, /, cache: bool = True) -> Compiled:
    """A program for any input, as a tool, by the current runtime."""
    return await get_runtime().aot(agent, cache)


async def execute(tool: Any, /, **input: Any) -> Any:
    """The result of a tool, recorded by the current runtime."""
    return await get_runtime().execute(tool, **input)
