"""A1's runtime: contexts by name, kept together in one session, and the programs that act in them."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any, Self

from quire.bridges.a1.agents import Agent, checked_agent
from quire.bridges.a1.coding import coder_of
from quire.bridges.a1.compacting import Compact
from quire.bridges.a1.compiled import Compiled
from quire.bridges.a1.conversation import Context
from quire.bridges.a1.current import enter, leave, set_runtime
from quire.bridges.a1.executing import OwnSandbox, executed
from quire.bridges.a1.files import session_at
from quire.bridges.a1.messages import Message
from quire.bridges.a1.naming import checked_context_name, contexts_among
from quire.bridges.a1.strategies import checked_cost, checked_executor, checked_verifiers, checked_writer
from quire.bridges.a1.tools import as_tool, model_of
from quire.errors import InvalidValue, WrongType
from quire.items import ConfigChange, Item
from quire.programs.sandbox import shared_sandbox
from quire.session import Session, labelled


class Runtime:
    """Contexts that belong together and know nothing of other runtimes', and the programs that act in them.

    `generate` writes programs: a model, its name or a strategy. `verify` looks them through, one or several;
    `cost` prices them; `executor` runs them in the place of the sandbox; those that are kept are in
    `cache_dir`. `compact` is asked after each message that leaves no call waiting. What a `strategy` says
    holds before the other arguments.
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
    ) -> None:
        self.strategy = strategy
        self.generate = checked_writer(self._chosen("generate", generate))
        self.verify = checked_verifiers(self._chosen("verify", verify))
        self.cost = checked_cost(self._chosen("cost", cost))
        self.compact: Compact = self._chosen("compact", compact) or Compact()
        self.executor = checked_executor(executor)
        self.sandbox = shared_sandbox() if self.executor is None else OwnSandbox(self.executor)
        self.cache_dir = Path(cache_dir)
        self._compacting = Lock()
        self._naming = Lock()
        self._begin(Session.open(store="memory:"))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], keep_updated: bool = False, **options: Any) -> Self:
        """The runtime in a file with all its contexts, put to work here; empty where there is no file.

        With `keep_updated` each message is in the file when its verb returns; without, the file is only read.
        """
        runtime = cls(**options)
        runtime._begin(session_at(path, keep_updated))
        set_runtime(runtime)
        return runtime

    def _chosen(self, name: str, given: Any) -> Any:
        said = getattr(self.strategy, name, None)
        return given if said is None else said

    def _begin(self, session: Session) -> None:
        self._session = session
        self._contexts: dict[str, Context] = {}

    def __repr__(self) -> str:
        return f"<Runtime of {len(self.CTX)} contexts>"

    @property
    def session(self) -> Session:
        """The engine's session, in which each context is a transcript."""
        return self._session

    @property
    def CTX(self) -> Mapping[str, Context]:
        """All contexts by name: those that were asked for, and those that were in the file."""
        known = (name for name in self._session.transcripts if self._session.view(name).revision)
        for name in contexts_among(known):
            self.get_context(name)
        return MappingProxyType(self._contexts)

    def get_context(self, name: str = "main") -> Context:
        """The context of a name, made where there is none yet."""
        found = self._contexts.get(name)
        if found is None:
            made = Context.over(self._session, checked_context_name(name), self.has_grown)
            found = self._contexts.setdefault(name, made)
        return found

    def new_context(self, label: str = "intermediate", branch_from: Context | None = None) -> Context:
        """Another context of a label: `label_a`, `label_b`, …; it may begin with another's messages."""
        items = [] if branch_from is None else branch_from.copies()
        with self._naming:
            # A transcript is there once it has an item; a change of nothing is one that no model sees.
            return self._begun(checked_context_name(label), items or [ConfigChange()])

    def _begun(self, label: str, items: list[Item]) -> Context:
        """A context of a free name that nobody else takes: programs begin transcripts of these labels too."""
        name = self._session.new(label)
        while name in self._contexts:  # which nothing was said in yet
            name = self._session.new(label)
        self._session.append(*items, to=name)
        return self.get_context(name)

    def get_full_context(self, labels: str | Iterable[str] | None = None) -> list[Message]:
        """The messages of all contexts, or of those of some labels, by time and each once.

        A label stands for the context of that name and for all that begin with it and an underscore.
        """
        contexts = self.CTX
        found: dict[str, Message] = {}
        for name in labelled(contexts, labels):
            for message in contexts[name]:
                found.setdefault(message.message_id, message)
        return sorted(found.values(), key=lambda message: message.timestamp.timestamp())

    def __enter__(self) -> Self:
        enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        leave()

    async def jit(self, agent: Agent, /, **input: Any) -> Any:
        """The answer of a program that is written for this input.

        On success input, calls and output are in `main`; else nothing is, and the error says what each
        attempt died of.
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
        """What a tool gives; the call and its result, or its error, are in `main`, unless a model answers."""
        one = as_tool(tool)
        with self:
            if model_of(one) is not None:
                return await one(**input)
            value = await executed(one, input, self._session, self.get_context().transcript)
            self.has_grown()
        return value

    def _ready(self, agent: Agent) -> Agent:
        if self.generate is None:
            raise InvalidValue("programs are written by a model or a strategy: give the runtime `generate`")
        return checked_agent(agent)

    def has_grown(self) -> None:
        """Ask the strategy, unless it is at work: what it says itself is no reason to ask it again."""
        if type(self.compact) is Compact or not self._compacting.acquire(blocking=False):
            return
        try:
            given = self.compact.compact(dict(self.CTX))
            if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise WrongType(f"compact gives the contexts back by name, not {type(given).__name__}")
            for name, context in given.items():
                own = self.get_context(name)
                if context is not own:
                    own.messages = context.messages
        finally:
            self._compacting.release()
