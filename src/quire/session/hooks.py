"""Events, and the hooks that are called for them.

A hook of an event that is about to happen may refuse it by raising: then nothing changes. An error in a hook
of an event that has happened is logged and kept in `failures`, and has no other effect.

A hook that is a generator function runs around the work. It runs to its `yield` before the work, and
continues after it, both in the task of the work. So the work, its tasks and its threads see a context
variable that the hook sets.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable, Sequence
from contextlib import asynccontextmanager
from inspect import iscoroutinefunction, isgeneratorfunction
from typing import Any, NamedTuple, get_args

from quire.compactors import Outcome, Plan
from quire.context import Context, Template
from quire.errors import InvalidValue, WrongType, cut
from quire.items import Item, Note
from quire.memory import Quote
from quire.providers import Parsed
from quire.stores import Place
from quire.tokens import Definition, Usage, named

logger = logging.getLogger("quire.session")

_MAX_FAILURES = 100


class _OfItems(NamedTuple):
    place: Place
    stream: str
    items: tuple[Item, ...]


class Adding(_OfItems):
    """Items are about to be recorded in a stream, which is the name of a transcript, or the pool."""


class Added(_OfItems):
    """Items were recorded."""


class _OfNotes(NamedTuple):
    place: Place
    notes: tuple[Note, ...]
    by: Note | None = None


class Dropping(_OfNotes):
    """Notes are about to be dropped from the pool; `by` is the note that evicts them, or `None`."""


class Dropped(_OfNotes):
    """Notes were dropped from the pool."""


class Compacting(NamedTuple):
    """A plan to compact a transcript is about to be carried out."""

    place: Place
    stream: str
    plan: Plan


class Compacted(NamedTuple):
    """A plan was carried out or discarded: the outcome says which."""

    place: Place
    stream: str
    plan: Plan
    outcome: Outcome


class Building(NamedTuple):
    """A context is about to be built."""

    place: Place
    template: Template


class Built(NamedTuple):
    """A context was built."""

    place: Place
    context: Context


class Calling(NamedTuple):
    """A tool is about to be called."""

    place: Place
    name: str
    arguments: Any
    call_id: str


class Called(NamedTuple):
    """A tool was called. If it failed, `fault` is the name of its error, or a reason such as `timeout`."""

    place: Place
    name: str
    arguments: Any
    result: Any
    fault: str | None
    call_id: str


class Requesting(NamedTuple):
    """A model is about to be asked for an answer or a summary. `provider` is the name of its wire."""

    place: Place
    provider: str
    model: str
    items: Sequence[Item]
    tools: Sequence[Definition] = ()


class Requested(NamedTuple):
    """A model was asked. `answer` is empty if the request failed; then `fault` is the name of the error.

    `retries` are the names of the errors after which the request was sent again. `seconds` is the time from
    the first attempt to the end of the answer.
    """

    place: Place
    provider: str
    model: str
    answer: Parsed
    retries: tuple[str, ...]
    seconds: float
    fault: str | None = None


class Recalling(NamedTuple):
    """The memory is about to be searched for earlier items or documents."""

    place: Place
    question: str


class Recalled(NamedTuple):
    """Quotes were found, best first. The context shows those that fit."""

    place: Place
    question: str
    found: Sequence[Quote]


class Replying(NamedTuple):
    """An agent is about to take a turn."""

    place: Place
    agent: str


class Replied(NamedTuple):
    """A turn of an agent has ended: `stop` says how, as in its reply, or `fault` is the name of its error."""

    place: Place
    agent: str
    usage: Usage
    stop: str | None = None
    fault: str | None = None


RECORDING = (Adding, Added, Dropping, Dropped)
"""The events of recorded items and notes. A draft fires them when it is merged."""

Doing = Replying | Requesting | Calling | Building | Recalling | Compacting
"""The events that a generator hook can run around."""

_AfterWork = Replied | Requested | Called | Built | Recalled | Compacted
Event = Adding | Added | Dropping | Dropped | Doing | _AfterWork
"""Any event of a session."""

_EVENT_AFTER: dict[type, type] = {
    Adding: Added,
    Dropping: Dropped,
    Replying: Replied,
    Requesting: Requested,
    Calling: Called,
    Building: Built,
    Recalling: Recalled,
    Compacting: Compacted,
}
"""The event after something happened, by the event before it."""

FireAfter = Callable[[_AfterWork], Awaitable[None]]
"""Fires the event after the work that a hook can run around."""


class Hook:
    """A function with its events. Calling the hook calls the function."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        events: tuple[type, ...],
        where: Callable[[Any], bool] | None = None,
        name: str | None = None,
    ) -> None:
        self.function, self.events, self.where = function, events, where
        self.name = named(name or function.__name__, "the name of a hook")
        method = getattr(function, "__call__", None)  # noqa: B004  # of an object that can be called
        self.is_async = iscoroutinefunction(function) or iscoroutinefunction(method)
        self.is_around = isgeneratorfunction(function)
        if self.is_around and not set(events) <= set(get_args(Doing)):
            known = ", ".join(event.__name__ for event in get_args(Doing))
            raise InvalidValue(f"hook {cut(self.name)!r} is a generator: it can only be a hook of {known}")

    def __call__(self, event: Any) -> Any:
        return self.function(event)

    def __repr__(self) -> str:
        return f"<Hook {self.name!r} of {', '.join(event.__name__ for event in self.events)}>"

    def hears(self, event: Event) -> bool:
        """Whether the hook has to be called for an event."""
        return isinstance(event, self.events) and (self.where is None or self.where(event))


def hook(*events: type, where: Callable[[Any], bool] | None = None) -> Callable[[Callable[[Any], Any]], Hook]:
    """Declare a function as a hook of some events, or only of those for which `where` returns true.

    A generator function runs around the work, and must yield once. `yield` returns the event after the work,
    or raises the error of the work if there is no such event.
    """
    known = (*_EVENT_AFTER, *_EVENT_AFTER.values())
    if not events or any(event not in known for event in events):
        names = ", ".join(event.__name__ for event in known)
        raise InvalidValue(f"a hook must hear one or more of these events: {names}")

    def declare(function: Callable[[Any], Any]) -> Hook:
        if not callable(function):
            raise WrongType(f"a hook must be a function, not {type(function).__name__}")
        return Hook(function, events, where)

    return declare


class HookFailure(NamedTuple):
    """The error of a hook of an event that has happened: the names of hook, event and error."""

    hook: str
    event: str
    fault: str


class Hooks:
    """The hooks of a session, which are called in order, and their failures."""

    def __init__(self, hooks: Iterable[Hook] = ()) -> None:
        self.all = list(hooks)
        for each in self.all:
            if not isinstance(each, Hook):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise WrongType(f"a session takes hooks, made by @hook, not {type(each).__name__}")
        self.failures: list[HookFailure] = []

    @property
    def has_record_hooks(self) -> bool:
        """Whether there is a hook of recorded items or notes."""
        return any(not set(each.events).isdisjoint(RECORDING) for each in self.all)

    @asynccontextmanager
    async def around(self, event: Doing, *, may_wait: bool = True) -> AsyncGenerator[FireAfter, None]:
        """Fire an event before the block. Yields a function that fires the event after the work."""
        if not self.all:
            yield _ignore
            return
        started: list[tuple[Hook, Generator[Any, Any, Any]]] = []
        after: _AfterWork | None = None
        fault: BaseException | None = None

        async def fire_after(event_after: _AfterWork) -> None:
            nonlocal after
            after = event_after
            await self.fire(event_after, may_wait=may_wait)

        await self.fire(event, may_wait=may_wait)
        try:
            for each in self.all:
                if each.is_around and each.hears(event):
                    generator = each(event)
                    next(generator, None)
                    started.append((each, generator))
            yield fire_after
        except BaseException as error:
            fault = error
            raise
        finally:
            for each, generator in reversed(started):
                try:
                    _end(generator, after, fault)
                except Exception as error:
                    self._keep_failure(each, event, error)

    async def fire(self, event: Event, *, may_wait: bool = True) -> None:
        """Call the hooks of an event. Without `may_wait`, an async hook is refused before any is called."""
        after = _EVENT_AFTER.get(type(event))
        if after is not None and not may_wait:
            self.refuse_async((type(event), after))
        for each in self.all:
            try:
                if each.hears(event) and not each.is_around:
                    await _call(each, event, may_wait)
            except Exception as fault:
                if after is not None:  # the hook refuses the event, which has not happened yet
                    raise
                self._keep_failure(each, event, fault)

    def refuse_async(self, events: Iterable[type]) -> None:
        """Raise `WrongType` if a hook of one of the events has to be awaited."""
        for each in self.all:
            if each.is_async and not set(each.events).isdisjoint(events):
                raise WrongType(_async_refused(each))

    def _keep_failure(self, failed: Hook, event: Event, fault: Exception) -> None:
        failure = HookFailure(failed.name, type(event).__name__, type(fault).__name__)
        self.failures = [*self.failures, failure][-_MAX_FAILURES:]
        logger.warning("hook %s failed on %s: %s", *failure)


class DraftHooks(Hooks):
    """The hooks of a draft. Events of recorded items and notes are fired only when it is merged."""

    def __init__(self, outer: Hooks) -> None:
        super().__init__(outer.all)
        self._outer = outer

    @asynccontextmanager
    async def around(self, event: Doing, *, may_wait: bool = True) -> AsyncGenerator[FireAfter, None]:
        """Fire the events of the work at once."""
        async with self._outer.around(event, may_wait=may_wait) as fire_after:
            yield fire_after

    async def fire(self, event: Event, *, may_wait: bool = True) -> None:
        """Fire an event at once, unless it is of recorded items or notes."""
        if not isinstance(event, RECORDING):
            await self._outer.fire(event, may_wait=may_wait)


async def _call(called: Hook, event: Event, may_wait: bool) -> None:
    """Call a hook, and await its result if that is awaitable: a plain function may return a coroutine."""
    result = called(event)
    if not isinstance(result, Awaitable):
        return
    if may_wait:
        await result
        return
    if isinstance(result, Coroutine):
        result.close()
    raise WrongType(_async_refused(called))


async def _ignore(_: object) -> None:
    """The `FireAfter` of a session without hooks."""


def _end(generator: Generator[Any, Any, Any], after: _AfterWork | None, fault: BaseException | None) -> None:
    """Run a generator from its `yield` to its end, with the event after the work or with its error."""
    try:
        if after is None and fault is not None:
            generator.throw(fault)
        else:
            generator.send(after)
    except StopIteration:
        return
    except BaseException as error:
        if error is fault:
            return
        raise
    generator.close()
    raise RuntimeError("a hook that is a generator must yield exactly once")


def _async_refused(refused: Hook) -> str:
    return f"hook {cut(refused.name)!r} is async: use an awaited verb, such as `session.aio.append`"
