"""A1's runtime: contexts by name in one session, and the programs that act in them."""

import os
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import msgspec

from quire.agent.tools import Tool as EngineTool, call_tool
from quire.bridges.a1.context import Compact, Context, Message, dumped, read_json, write_json
from quire.bridges.a1.tools import Agent, as_tool, model_of
from quire.errors import InvalidValue, cut
from quire.items import ToolCall, ToolResult, new_id
from quire.programs import PROGRAM, Coder, KeptProgram
from quire.programs.runner import nested_calls
from quire.programs.values import as_text
from quire.session import Session, checked_type, labelled, new_transcript
from quire.stores.store import checked_name

MODEL_VARIABLE = "QUIRE_MODEL"
"""The environment variable that names the model of a runtime without `generate`."""

_CACHE_DIR = ".a1"


class Strategy(msgspec.Struct, frozen=True, kw_only=True):
    """How programs are written: how many candidates at once, and how often each may be corrected."""

    num_candidates: int = 3
    max_iterations: int = 3


class SavedRuntime(msgspec.Struct):
    """The content of a runtime's file."""

    cache_dir: str = _CACHE_DIR
    contexts: dict[str, list[Message]] = {}


class Runtime:
    """Contexts by name in one session, and the programs that act in them.

    `generate` is the model that writes programs: a model, its name or an `LLM`. The default is the model that
    the environment variable `QUIRE_MODEL` names, or else the local one. Programs are stored in `cache_dir`.
    `compact` runs after each message, unless a call waits for its result. With `keep_updated`, a method that
    changes a context also writes the file.
    """

    def __init__(
        self,
        generate: Any = None,
        compact: Compact | None = None,
        cache_dir: str | os.PathLike[str] = _CACHE_DIR,
        strategy: Strategy | None = None,
        file_path: str | os.PathLike[str] | None = None,
        keep_updated: bool = False,
    ) -> None:
        self.generate = model_of(generate) or generate
        self.compact = compact or Compact()
        self.cache_dir = Path(cache_dir)
        self.strategy = strategy or Strategy()
        self.file_path = None if file_path is None else Path(file_path)
        self.keep_updated = keep_updated
        self.session = Session.open(store="memory:")
        self._contexts: dict[str, Context] = {}
        self._is_compacting = False
        if keep_updated:
            self._save()

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], keep_updated: bool = False, **options: Any) -> Self:
        """Read a runtime with its contexts from a file, and make it the current one.

        Without a file it is empty. The file is written only with `keep_updated`.
        """
        saved = read_json(path, SavedRuntime) or SavedRuntime()
        options.setdefault("cache_dir", saved.cache_dir)
        runtime = cls(**options, file_path=path)
        for name, messages in saved.contexts.items():
            runtime.get_context(name).extend(messages)
        runtime.keep_updated = keep_updated
        if keep_updated:
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
        """The context with this name, created if there is none."""
        if name not in self._contexts:
            if "~" in checked_name(name):
                raise InvalidValue(f"the name of a context must not have a ~, as {cut(name)!r} has")
            self._contexts[name] = Context(session=self.session, transcript=name, on_change=self.after_change)
        return self._contexts[name]

    def new_context(self, label: str = "intermediate", branch_from: Context | None = None) -> Context:
        """Create a context `label_a`, `label_b`, …, which may begin with the messages of another."""
        items = [] if branch_from is None else branch_from.copies()
        name = new_transcript(self.session, label)
        while name in self._contexts:  # a context without messages: the session has no transcript for it
            name = new_transcript(self.session, label)
        if items:
            self.session.append(*items, to=name)
        return self.get_context(name)

    def get_full_context(self, labels: str | Iterable[str] | None = None) -> list[Message]:
        """The messages of all contexts, or of those with these labels, sorted by time and each once.

        The label `x` selects the context `x` and those whose names begin with `x_`.
        """
        contexts = self.CTX
        messages = [message for name in labelled(contexts, labels) for message in contexts[name]]
        unique = {message.message_id: message for message in messages}
        return sorted(unique.values(), key=lambda message: message.timestamp.timestamp())

    def __enter__(self) -> Self:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _entered.set(_entered.get()[:-1])

    async def jit(self, agent: Agent, /, *, strategy: Strategy | None = None, **input: Any) -> Any:
        """Have a program written for this input, and return its output.

        `strategy` replaces the one of the runtime. On success, input, calls and output are recorded in
        `main`. On failure nothing is recorded, and the error lists the faults of each attempt.
        """
        with self:
            try:
                return (await self._coder(strategy).answer(agent.task, input)).value
            finally:
                self.after_change()

    async def aot(self, agent: Agent, /, cache: bool = True, strategy: Strategy | None = None) -> "Compiled":
        """Have a program written for any input, and return it as a tool.

        With `cache` the program is stored, and the next call reads it instead of asking the model.
        """
        with self:
            try:
                coder = self._coder(strategy, self.cache_dir if cache else None)
                return Compiled(agent, await coder.keep(agent.task), self)
            finally:
                self.after_change()

    async def execute(self, tool: Any, /, **input: Any) -> Any:
        """Call a tool, and return its result. Call and result or error are recorded in `main`.

        An `LLM` records its own calls.
        """
        tool = as_tool(tool)
        with self:
            if model_of(tool) is not None:
                return await tool(**input)
            call = ToolCall(f"call_{new_id()}", tool.name, as_text(input), agent_id=PROGRAM)
            self.session.append(call, to=self.main())
            with nested_calls() as nested:
                outcome, cancelled = await call_tool(tool, call.arguments, session=self.session)
            result = ToolResult(call.call_id, tool.name, outcome.content, is_error=outcome.is_error)
            self.session.append(result, *nested, to=self.main())
            self.after_change()
        if cancelled is not None:
            raise cancelled
        if outcome.is_error:
            raise outcome.error or InvalidValue(result.text)
        return result.text if tool.kind == "generator" else outcome.value

    def main(self) -> str:
        """The transcript of the context `main`; it changes when the context is cleared."""
        return self.get_context().transcript

    def _coder(self, strategy: Strategy | None, folder: Path | None = None) -> Coder:
        strategy = checked_type(strategy, Strategy | None, "a strategy must be a Strategy") or self.strategy
        return Coder(
            self.generate or os.environ.get(MODEL_VARIABLE) or "local",
            session=self.session,
            main=self.main,
            candidates=strategy.num_candidates,
            rounds=strategy.max_iterations,
            kept=folder,
        )

    def after_change(self, context: Context | None = None) -> None:
        """Compact, unless a call is pending in the context (by default `main`), and save."""
        if self._is_compacting:
            return  # the compaction changed the context, and saves at its end
        self._is_compacting = True
        try:
            if not (self.get_context() if context is None else context).view.pending():
                self._compact()
        finally:
            self._is_compacting = False
            if self.keep_updated:
                self._save()

    def _compact(self) -> None:
        if type(self.compact) is Compact:
            return  # it changes nothing: do not read all contexts
        compacted = self.compact.compact(dict(self.CTX))
        for name, context in compacted.items():
            if context is not self.get_context(name):
                self.get_context(name).messages = context.messages

    def _save(self) -> None:
        if self.file_path is not None:
            contexts = {name: dumped(context) for name, context in self.CTX.items()}
            write_json(self.file_path, {"cache_dir": str(self.cache_dir), "contexts": contexts})


class Compiled(EngineTool):
    """The program of an agent, as a tool.

    A run records the calls of its program in `main` of the current runtime, or if none is current, of the
    runtime that compiled it. `execute` also records input and output. A program that fails records nothing.
    An agent that has this tool records the calls that it makes of it.
    """

    def __init__(self, agent: Agent, program: KeptProgram, runtime: Runtime) -> None:
        name, description = agent.name, agent.description
        super().__init__(program.function, name=name, description=description, signature=program.signature)
        self.input_schema = agent.input_schema
        self.output_schema = agent.output_schema
        self.program = program
        self._runtime = runtime

    @property
    def code(self) -> str:
        """The text of the program."""
        return self.program.code

    async def __call__(self, /, **input: Any) -> Any:
        """Run the program, and return its output; only its calls are recorded in `main`."""
        with _current() or self._runtime as runtime:
            program = self.program.within(runtime.session, runtime.main)
            try:
                result = await program.perform(program.task.read(input))
                if result.items:
                    await runtime.session.aio.append(*result.items, to=runtime.main())
            finally:
                runtime.after_change()
        return result.value

    async def execute(self, **input: Any) -> Any:
        """Run the program, and return its output; input, calls and output are recorded in `main`."""
        with _current() or self._runtime as runtime:
            try:
                return await self.program.within(runtime.session, runtime.main).run(input)
            finally:
                runtime.after_change()


# The current runtime


# The runtimes that this task or thread has entered, the current one last.
_entered: ContextVar[tuple[Runtime, ...]] = ContextVar("quire_a1_runtimes", default=())


@cache
def _default_runtime() -> Runtime:
    return Runtime()


def _current() -> Runtime | None:
    entered = _entered.get()
    return entered[-1] if entered else None


def get_runtime() -> Runtime:
    """The current runtime; if there is none, the default one of this process."""
    return _current() or _default_runtime()


def set_runtime(runtime: Runtime) -> None:
    """Make a runtime the current one in this task or thread and in tasks that it starts."""
    _entered.set((*_entered.get()[:-1], runtime))


def get_context(name: str = "main") -> Context:
    """The context with this name in the current runtime, created if there is none."""
    return get_runtime().get_context(name)


def new_context(label: str = "intermediate", branch_from: Context | None = None) -> Context:
    """Create a context `label_a`, `label_b`, … in the current runtime."""
    return get_runtime().new_context(label, branch_from)
