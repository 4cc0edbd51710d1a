"""A1's runtime: contexts by name, kept together in one session."""

import os
from collections.abc import Iterable, Mapping
from threading import Lock
from types import MappingProxyType
from typing import Any, NoReturn, Self

from quire.bridges.a1.compacting import Compact
from quire.bridges.a1.conversation import Context
from quire.bridges.a1.current import enter, leave, set_runtime
from quire.bridges.a1.files import session_at
from quire.bridges.a1.messages import Message
from quire.bridges.a1.naming import checked_context_name, contexts_among
from quire.errors import WrongType
from quire.session import Session
from quire.stores.streams import free_name, labelled


class Runtime:
    """Contexts that belong together and know nothing of other runtimes'.

    `compact` is asked after each message that leaves no call waiting. The other arguments are kept for
    agents and programs, which Quire does not have yet.
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
        self.generate, self.verify, self.cost, self.executor = generate, verify, cost, executor
        self.cache_dir, self.strategy = cache_dir, strategy
        self.compact: Compact = getattr(strategy, "compact", None) or compact or Compact()
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
            made = Context.over(self._session, checked_context_name(name), self._compact)
            found = self._contexts.setdefault(name, made)
        return found

    def new_context(self, label: str = "intermediate", branch_from: Context | None = None) -> Context:
        """Another context of a label: `label_a`, `label_b`, …; it may begin with another's messages."""
        with self._naming:
            context = self.get_context(free_name(checked_context_name(label), self.CTX))
        if branch_from is not None:
            context.take(branch_from)
        return context

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

    async def jit(self, agent: Any, **inputs: Any) -> NoReturn:
        """Not there yet."""
        self._refuse("jit")

    async def aot(self, agent: Any, **options: Any) -> NoReturn:
        """Not there yet."""
        self._refuse("aot")

    async def execute(self, tool: Any, **inputs: Any) -> NoReturn:
        """Not there yet."""
        self._refuse("execute")

    def _refuse(self, verb: str) -> NoReturn:
        raise NotImplementedError(
            f"Runtime.{verb} needs agents and programs, which this version of Quire does not have"
        )

    def _compact(self) -> None:
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
