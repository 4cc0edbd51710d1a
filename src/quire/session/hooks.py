"""Events, and the hooks that hear them.

A hook of something about to happen may refuse it by raising: then nothing has changed. An error in a hook of
something done changes nothing either: it is logged, and kept in `failures`.

A generator function is a hook around what happens. It runs to its `yield` before, and on after; both in the
task that does it. So a context variable that it sets is seen by the work, and by the tasks and threads of it.
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
    """Items are about to be recorded in a stream: a transcript by its name, or the pool."""


class Added(_OfItems):
    """Items were recorded."""


class _OfNotes(NamedTuple):
    place: Place
    notes: tuple[Note, ...]
    by: Note | None = None


class Dropping(_OfNotes):
    """Notes are about to be dropped from the pool; `by` is the note that evicts them, if one does."""


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
    """A tool was called. `fault` names what it raised, or else why it failed, such as `timeout`."""

    place: Place
    name: str
    arguments: Any
    result: Any
    fault: str | None
    call_id: str


class Requesting(NamedTuple):
    """A model is about to be asked, for an answer or for a summary. `provider` is the name of its wire."""

    place: Place
    provider: str
    model: str
    items: Sequence[Item]
    tools: Sequence[Definition] = ()


class Requested(NamedTuple):
    """A model was asked. `answer` is what came of it; `fault` names the error if it failed.

    `retries` are the names of the errors after which the request was sent again. `seconds` is the time from
    the first try to the end of the answer.
    """

    place: Place
    provider: str
    model: str
    answer: Parsed
    retries: tuple[str, ...]
    seconds: float
    fault: str | None = None


class Recalling(NamedTuple):
    """What was said before, or a document, is about to be searched for."""

    place: Place
    question: str


class Recalled(NamedTuple):
    """Quotes were found, best first; which of them are shown is decided later."""

    place: Place
    question: str
    found: Sequence[Quote]


class Replying(NamedTuple):
    """An agent is about to take a turn."""

    place: Place
    agent: str


class Replied(NamedTuple):
    """A turn of an agent has ended: `stop` is that of its reply, or `fault` names the error."""

    place: Place
    agent: str
    usage: Usage
    stop: str | None = None
    fault: str | None = None


RECORDING = (Adding, Added, Dropping, Dropped)
"""The events of what is written. In a draft they are fired when it is merged."""

Doing = Replying | Requesting | Calling | Building | Recalling | Compacting
"""Something that hooks may run around."""

_Done = Replied | Requested | Called | Built | Recalled | Compacted
Event = Adding | Added | Dropping | Dropped | Doing | _Done
"""Any event of a session."""

_AFTER: dict[type, type] = {
    Adding: Added,
    Dropping: Dropped,
    Replying: Replied,
    Requesting: Requested,
    Calling: Called,
    Building: Built,
    Recalling: Recalled,
    Compacting: Compacted,
}
"""For each event of something about to happen, the event of that done."""

Done = Callable[[_Done], Awaitable[None]]
"""Fires the event of something that was done."""


class Hook:
    """A function with the events that it hears. Calling it calls the function."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        events: tuple[type, ...],
        where: Callable[[Any], bool] | None = None,
        name: str | None = None,
    ) -> None:
        self.function, self.events, self.where = function, events, where
        self.name = named(name or function.__name__, "the name of a hook")
        called = getattr(function, "__call__", None)  # noqa: B004  # an object may be called too
        self.is_async = iscoroutinefunction(function) or iscoroutinefunction(called)
        self.is_around = isgeneratorfunction(function)
        if self.is_around and not set(events) <= set(get_args(Doing)):
            known = ", ".join(one.__name__ for one in get_args(Doing))
            raise InvalidValue(f"hook {cut(self.name)!r} is a generator: it hears only {known}")

    def __call__(self, event: Any) -> Any:
        return self.function(event)

    def __repr__(self) -> str:
        return f"<Hook {self.name!r} of {', '.join(event.__name__ for event in self.events)}>"

    def hears(self, event: Event) -> bool:
        """Whether it is to be called for an event."""
        return isinstance(event, self.events) and (self.where is None or self.where(event))


def hook(*events: type, where: Callable[[Any], bool] | None = None) -> Callable[[Callable[[Any], Any]], Hook]:
    """Declare a function as a hook of some events, or only of those `where` a function returns true.

    A generator function runs around what happens. It yields once: what `yield` returns is the event after,
    and what it raises is the error if there is no such event.
    """
    known = (*_AFTER, *_AFTER.values())
    if not events or any(event not in known for event in events):
        names = ", ".join(one.__name__ for one in known)
        raise InvalidValue(f"a hook hears one event or more of these: {names}")

    def declared(function: Callable[[Any], Any]) -> Hook:
        if not callable(function):
            raise WrongType(f"a hook is a function, not {type(function).__name__}")
        return Hook(function, events, where)

    return declared


class HookFailure(NamedTuple):
    """A hook that failed after the fact."""

    hook: str
    event: str
    fault: str


class Hooks:
    """Hooks in the order they were given, and their failures."""

    def __init__(self, hooks: Iterable[Hook] = ()) -> None:
        self.all = list(hooks)
        for one in self.all:
            if not isinstance(one, Hook):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise WrongType(f"a session takes hooks, made by @hook, not {type(one).__name__}")
        self.failures: list[HookFailure] = []

    @property
    def hear_records(self) -> bool:
        """Whether a hook hears of what is recorded."""
        return any(not set(one.events).isdisjoint(RECORDING) for one in self.all)

    @asynccontextmanager
    async def around(self, event: Doing, *, may_wait: bool = True) -> AsyncGenerator[Done, None]:
        """Call the hooks of an event before the block, and give it what calls those of the event after."""
        if not self.all:
            yield _unheard
            return
        begun: list[tuple[Hook, Generator[Any, Any, Any]]] = []
        after: _Done | None = None
        fault: BaseException | None = None

        async def done(ended: _Done) -> None:
            nonlocal after
            after = ended
            await self.fire(ended, may_wait=may_wait)

        await self.fire(event, may_wait=may_wait)
        try:
            for one in self.all:
                if one.is_around and one.hears(event):
                    running = one(event)
                    next(running, None)
                    begun.append((one, running))
            yield done
        except BaseException as error:
            fault = error
            raise
        finally:
            for one, running in reversed(begun):
                try:
                    _end(running, after, fault)
                except Exception as error:
                    self._keep_failure(one, event, error)

    async def fire(self, event: Event, *, may_wait: bool = True) -> None:
        """Call the hooks of an event. If none may wait, an async hook is refused before anything happens."""
        after = _AFTER.get(type(event))
        if after is not None and not may_wait:
            self.refuse_async((type(event), after))
        for one in self.all:
            try:
                if one.hears(event) and not one.is_around:
                    await _call(one, event, may_wait)
            except Exception as fault:
                if after is not None:  # the hook refuses what is about to happen
                    raise
                self._keep_failure(one, event, fault)

    def refuse_async(self, events: Iterable[type]) -> None:
        """Raise `WrongType` if a hook of one of the events has to be awaited."""
        for one in self.all:
            if one.is_async and not set(one.events).isdisjoint(events):
                raise WrongType(_is_async(one))

    def _keep_failure(self, one: Hook, event: Event, fault: Exception) -> None:
        failure = HookFailure(one.name, type(event).__name__, type(fault).__name__)
        self.failures = [*self.failures, failure][-_MAX_FAILURES:]
        logger.warning("hook %s failed on %s: %s", *failure)


class DraftHooks(Hooks):
    """The hooks of a draft: of what is recorded they hear when it is merged."""

    def __init__(self, outer: Hooks) -> None:
        super().__init__(outer.all)
        self._outer = outer

    @asynccontextmanager
    async def around(self, event: Doing, *, may_wait: bool = True) -> AsyncGenerator[Done, None]:
        """Pass on an event."""
        async with self._outer.around(event, may_wait=may_wait) as done:
            yield done

    async def fire(self, event: Event, *, may_wait: bool = True) -> None:
        """Pass on an event, unless it is of what is recorded."""
        if not isinstance(event, RECORDING):
            await self._outer.fire(event, may_wait=may_wait)


async def _call(one: Hook, event: Event, may_wait: bool) -> None:
    """Call a hook, and wait if it has to be awaited: a plain function may return an awaitable too."""
    answer = one(event)
    if not isinstance(answer, Awaitable):
        return
    if may_wait:
        await answer
        return
    if isinstance(answer, Coroutine):
        answer.close()
    raise WrongType(_is_async(one))


async def _unheard(_: object) -> None:
    """The `Done` of a session without hooks."""


def _end(running: Generator[Any, Any, Any], after: _Done | None, fault: BaseException | None) -> None:
    """Let a generator run from its `yield` to its end: with the event after, or else with the error."""
    try:
        if after is None and fault is not None:
            running.throw(fault)
        else:
            running.send(after)
    except StopIteration:
        return
    except BaseException as error:
        if error is fault:
            return
        raise
    running.close()
    raise RuntimeError("a hook around something yields once")


def _is_async(one: Hook) -> str:
    return f"hook {cut(one.name)!r} is async: use an awaited verb, such as `session.aio.append`"
