"""Functions that hear events. Several may hear the same; they are called in the order they were given.

A hook that hears of something about to happen may refuse it by raising: then nothing has changed. One that
hears of something done can lose nothing: its error is logged and kept in `failures`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from inspect import iscoroutinefunction
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from quire.errors import CancelledWithin, InvalidValue, UnknownHook, WrongType, cut
from quire.session.events import BEFORE, EVENTS, PAIRS, Event
from quire.session.stopping import is_told_to_stop
from quire.tokens import named

logger = logging.getLogger("quire.session")

_MOST_FAILURES = 100


class Hook:
    """A function with the events that it hears. It is called as the function itself."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        events: tuple[type, ...],
        where: Callable[[Any], bool] | None = None,
        name: str | None = None,
    ) -> None:
        self.function = function
        self.events = events
        self.where = where
        self.name = named(name or function.__name__, "the name of a hook")
        self.is_async = iscoroutinefunction(function) or iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004  # an object may be called too
        )

    def __call__(self, event: Any) -> Any:
        return self.function(event)

    def __repr__(self) -> str:
        return f"<Hook {self.name!r} of {', '.join(event.__name__ for event in self.events)}>"

    def hears(self, event: Event) -> bool:
        """Whether it is to be called for an event."""
        return isinstance(event, self.events) and (self.where is None or self.where(event))


class Named(Protocol):
    """What can be declared: a function under a name."""

    @property
    def name(self) -> str: ...
    @property
    def function(self) -> Callable[..., Any]: ...


Declared = TypeVar("Declared", bound=Named)


class Register(Generic[Declared]):
    """Hooks by name, so that what was saved with names finds them again."""

    def __init__(self) -> None:
        self._declared: dict[str, Declared] = {}

    def declare(self, one: Declared) -> Declared:
        """Make a hook known by its name; another of the same name is an error."""
        earlier = self._declared.get(one.name)
        if earlier is not None and not _is_same(earlier.function, one.function):
            raise InvalidValue(f"another hook is called {cut(one.name)!r} already")
        self._declared[one.name] = one
        return one

    def named(self, name: str) -> Declared:
        """The hook that was declared under a name."""
        if name not in self._declared:
            raise UnknownHook(f"no hook {cut(name)!r} was declared here")
        return self._declared[name]

    def clear(self) -> None:
        """Know none any more."""
        self._declared.clear()


_declared = Register[Hook]()


def hook(
    *events: type, where: Callable[[Any], bool] | None = None, name: str | None = None
) -> Callable[[Callable[[Any], Any]], Hook]:
    """Declare a function as a hook of some events: all that happens, or only `where` a question says yes.

    It is known by its name from then on, so that a session that was saved finds it again.
    """
    for event in events:
        if event not in EVENTS:
            known = ", ".join(one.__name__ for one in EVENTS)
            raise WrongType(
                f"a hook hears events, not {getattr(event, '__name__', event)!r}; there are {known}"
            )
    if not events:
        raise InvalidValue("a hook hears at least one event")

    def declared(function: Callable[[Any], Any]) -> Hook:
        if not callable(function):  # pyright: ignore[reportUnnecessaryComparison]
            raise WrongType(f"a hook is a function, not {type(function).__name__}")
        return _declared.declare(Hook(function, events, where, name))

    return declared


def hook_named(name: str) -> Hook:
    """The hook that was declared under a name."""
    return _declared.named(name)


def _is_same(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    """Whether two functions are the same one; a module that is loaded again declares its hooks again."""
    return one is other or (_origin(one) is not None and _origin(one) == _origin(other))


def _origin(function: Callable[..., Any]) -> tuple[str, str, str] | None:
    """Where a function was written, if that tells it from others: lambdas of a file all have one name."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_name == "<lambda>":
        return None
    return function.__module__, function.__qualname__, code.co_filename


class Failure(NamedTuple):
    """A hook that failed after the fact."""

    hook: str
    event: str
    fault: str


class Hooks:
    """Hooks in order, and what failed of them."""

    def __init__(self, hooks: Iterable[Hook | str] = ()) -> None:
        given = [hook_named(one) if isinstance(one, str) else one for one in hooks]
        for one in given:
            if not isinstance(one, Hook):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise WrongType(f"a session takes hooks, made by @hook, not {type(one).__name__}")
        self._hooks = given
        self.failures: list[Failure] = []

    def __bool__(self) -> bool:
        return bool(self._hooks)

    def given(self) -> list[Hook]:
        """The hooks themselves, for another session."""
        return list(self._hooks)

    def names(self) -> list[str]:
        """The names to save; `Hooks(names)` gives them back."""
        return [one.name for one in self._hooks]

    def fire(self, event: Event) -> None:
        """Call the hooks of an event; those that have to be awaited are refused here."""
        if isinstance(event, BEFORE):  # before anything happens, those of afterwards included
            self.refuse_async((type(event), *(after for before, after in PAIRS if before is type(event))))
        for one in self._hooks:
            try:
                answer = one(event) if one.hears(event) else None
                if isinstance(answer, Awaitable):
                    _close(answer)  # pyright: ignore[reportUnknownArgumentType]
                    raise WrongType(_is_async(one))
            except (Exception, asyncio.CancelledError) as fault:  # nothing is awaited: it is not our own
                self._report(one, event, fault)

    async def fire_and_wait(self, event: Event) -> None:
        """Call the hooks of an event, and await those that are async."""
        for one in self._hooks:
            try:
                answer = one(event) if one.hears(event) else None
                if isinstance(answer, Awaitable):
                    await answer
            except Exception as fault:
                self._report(one, event, fault)
            except asyncio.CancelledError as fault:
                if is_told_to_stop():
                    raise
                self._report(one, event, fault)  # it waited for something that was cancelled

    def are_async(self, events: Iterable[type]) -> bool:
        """Whether a hook that hears one of the events has to be awaited."""
        return any(one.is_async and not set(one.events).isdisjoint(events) for one in self._hooks)

    def refuse_async(self, events: Iterable[type]) -> None:
        """An error where a hook that hears one of the events has to be awaited."""
        for one in self._hooks:
            if one.is_async and not set(one.events).isdisjoint(events):
                raise WrongType(_is_async(one))

    def _report(self, one: Hook, event: Event, fault: BaseException) -> None:
        """Let a hook refuse what has not happened yet; what has happened stays, and its failure is kept."""
        if isinstance(event, BEFORE):
            if isinstance(fault, asyncio.CancelledError):  # who hears of that would take it for his own
                raise CancelledWithin(f"hook {cut(one.name)!r} waited for what was cancelled") from fault
            raise fault
        failure = Failure(one.name, type(event).__name__, type(fault).__name__)
        self.failures = [*self.failures, failure][-_MOST_FAILURES:]
        logger.warning("hook %s failed on %s: %s", *failure)


def _is_async(one: Hook) -> str:
    return f"hook {cut(one.name)!r} is async: use a verb that is awaited, such as `add`, or `async with`"


def _close(answer: Awaitable[Any]) -> None:
    """Let go of what a hook gave to be awaited, and nobody will."""
    if isinstance(answer, Coroutine):
        answer.close()
