"""A1's runtime: contexts by name in one session, and the programs that act in them."""

import os
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from quire.bridges.a1.agents import Agent, checked_agent
from quire.bridges.a1.coding import coder_of
from quire.bridges.a1.compiled import Compiled
from quire.bridges.a1.context import Compact, Context, Message, dumped, read_contexts, read_json, write_json
from quire.bridges.a1.executing import OwnSandbox, executed
from quire.bridges.a1.strategies import checked_cost, checked_executor, checked_verifiers, checked_writer
from quire.bridges.a1.tools import as_tool, model_of
from quire.bridges.kit import mapping_at
from quire.errors import InvalidValue, WrongType, cut
from quire.models import Model
from quire.programs.sandbox import shared_sandbox
from quire.session import Session, labelled
from quire.stores.store import checked_name

MODEL_VARIABLE = "QUIRE_MODEL"
"""The environment variable that names the model of a runtime without `generate`."""


class Runtime:
    """Contexts that belong together, and the programs that act in them.

    `generate` writes programs: a model, its name or a strategy; by default the model that the environment
    variable `QUIRE_MODEL` names, or the local one. `verify` checks them, `cost` orders them, and those that
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
        executor: Any = None,
        cache_dir: str | os.PathLike[str] = ".a1",
        strategy: Any = None,
        file_path: str | os.PathLike[str] | None = None,
        keep_updated: bool = False,
    ) -> None:
        self.strategy = strategy
        self.generate = checked_writer(self._chosen("generate", generate))
        self.verify = checked_verifiers(self._chosen("verify", verify))
        self.cost = checked_cost(self._chosen("cost", cost))
        self.compact: Compact = self._chosen("compact", compact) or Compact()
        self.executor = checked_executor(executor)
        self.sandbox = shared_sandbox() if self.executor is None else OwnSandbox(self.executor)
        self.cache_dir = Path(cache_dir)
        self.file_path = None if file_path is None else Path(file_path)
        self.keep_updated = keep_updated
        self.session = Session.open(store="memory:")
        self._contexts: dict[str, Context] = {}
        self._is_compacting = False
        self._save()

    def _chosen(self, name: str, given: Any) -> Any:
        said = getattr(self.strategy, name, None)
        return given if said is None else said

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

    def __repr__(self) -> str:
        return f"<Runtime of {len(self.CTX)} contexts>"

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
            self._contexts[name] = Context.over(self.session, name, self._has_changed)
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

    def current(self) -> "Runtime":
        """The current runtime, or this one if none was entered."""
        return current_runtime() or self

    async def jit(self, agent: Agent, /, **input: Any) -> Any:
        """The output of a program that is written for this input.

        On success input, calls and output are in `main`; otherwise nothing is, and the error lists what was
        wrong with each attempt.
        """
        given = self._ready(agent).given(input)
        with self:
            answer = await coder_of(self, agent).answer(agent.task, given)
            self.has_grown()
        return answer.value

    async def aot(self, agent: Agent, /, cache: bool = True) -> Compiled:
        """A program for any input, as a tool. With `cache` it is kept, and found again without a model."""
        self._ready(agent)
        with self:
            kept = await coder_of(self, agent, self.cache_dir if cache else None).keep(agent.task)
        return Compiled(agent, kept, self)

    async def execute(self, tool: Any, /, **input: Any) -> Any:
        """The result of a tool. The call and its result, or its error, are in `main`, except of an LLM."""
        one = as_tool(tool)
        with self:
            if model_of(one) is not None:
                return await one(**input)
            value = await executed(one, input, self.session, self.get_context().transcript)
            self.has_grown()
        return value

    def _ready(self, agent: Agent) -> Agent:
        if self.generate is None:
            self.generate = Model(os.environ.get(MODEL_VARIABLE) or "local")
        return checked_agent(agent)

    def has_grown(self) -> None:
        """Save and compact after programs or models have added to contexts."""
        self._has_changed(self.get_context())

    def _has_changed(self, context: Context) -> None:
        if not self._is_compacting and not context.view.pending():
            self._is_compacting = True
            try:
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


# The current runtime


# All that were entered, the current one last: several tasks may enter the same runtime.
_entered: ContextVar[tuple[Runtime, ...]] = ContextVar("quire_a1_runtimes", default=())


@cache
def _shared() -> Runtime:
    return Runtime()


def current_runtime() -> Runtime | None:
    """The runtime that was entered or set here, if one was."""
    entered = _entered.get()
    return entered[-1] if entered else None


def get_runtime() -> Runtime:
    """The current runtime; if none was set, one that the whole process shares."""
    return current_runtime() or _shared()


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
