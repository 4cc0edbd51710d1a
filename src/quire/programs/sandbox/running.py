"""One run of a program: what it asks for is looked up, called and waited for, until it is done."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from inspect import isawaitable
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import msgspec

from quire.errors import InvalidValue, WrongType, cut
from quire.programs.bounds import Bounds
from quire.programs.faults import ProgramFault
from quire.programs.sandbox.answers import answer_of
from quire.programs.sandbox.awaited import called_by
from quire.programs.sandbox.handing import Handed
from quire.programs.sandbox.plain import NotPlain, TooLarge
from quire.programs.sandbox.raising import raised_inside
from quire.programs.sandbox.workers import Seat
from quire.programs.values import writable

if TYPE_CHECKING:
    from pydantic_monty import FunctionSnapshot, FutureSnapshot, MontySession

HostFunction = Callable[..., Awaitable[Any]]

PATIENCE = 10.0
"""How long a host call that was cancelled may take to end, in seconds."""


class _Pause(NamedTuple):
    """Where a program waits or ended, and what it gives to a function or as its answer.

    That is plain values, or the error that says why they are none.
    """

    snapshot: Any
    given: Any = None


class Run:
    """A program on its seat, with the host calls that are under way."""

    def __init__(self, seat: Seat, functions: Mapping[str, HostFunction], bounds: Bounds) -> None:
        self._seat = seat
        self._functions = functions
        self._bounds = bounds
        self._handed = Handed(bounds)
        self._under_way: dict[int, asyncio.Task[Any]] = {}
        self.raised: set[str] = set()
        """What functions said that failed: the program may die of it, and it is no fault of its own."""
        self.calls = 0
        self.left: Any = None
        """What the program that ended said of calls that it wrote and did not begin."""

    async def through(self, begin: "Callable[[MontySession], Any]") -> Any:
        """Go from the beginning to the end; the answer of the program, or `NotPlain` if it is none."""
        try:
            return await self._through(await self._seat.open(lambda session: self._paused(begin(session))))
        except TooLarge as wrong:
            self._over(str(wrong))

    async def _through(self, pause: _Pause) -> Any:
        from pydantic_monty import FunctionSnapshot, FutureSnapshot, MontyComplete, NameLookupSnapshot

        while not isinstance(pause.snapshot, MontyComplete):
            if isinstance(pause.snapshot, FunctionSnapshot):
                pause = await self._called(pause.snapshot, pause.given)
            elif isinstance(pause.snapshot, FutureSnapshot):
                pause = await self._waited(pause.snapshot)
            elif isinstance(pause.snapshot, NameLookupSnapshot):
                pause = await self._on(pause.snapshot.resume)  # all that there is has been given
            else:
                raise ProgramFault("missing", f"the sandbox asks for a {type(pause.snapshot).__name__}")
        return pause.given

    async def end(self) -> None:
        """Cancel the host calls that are under way, and wait until they have ended."""
        tasks = [task for task in self._under_way.values() if not task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=PATIENCE)
        for task in self._under_way.values():
            if task.done() and not task.cancelled():
                task.exception()  # looked at, so that nobody is warned of it later

    async def _on(self, resume: Callable[[], Any]) -> _Pause:
        """Let the program go on to where it waits the next time."""
        return await self._seat.turn(lambda: self._paused(resume()))

    def _paused(self, snapshot: Any) -> _Pause:
        """What became of a turn. In the thread of its seat: large values take their time."""
        from pydantic_monty import FunctionSnapshot, MontyComplete

        if isinstance(snapshot, MontyComplete):
            return _Pause(snapshot, self._answer(snapshot.output))
        if not isinstance(snapshot, FunctionSnapshot) or snapshot.is_os_function:
            return _Pause(snapshot)
        self.calls += 1
        if self.calls > self._bounds.calls or called_by(snapshot.function_name) not in self._functions:
            return _Pause(snapshot)
        try:
            return _Pause(snapshot, self._handed.given(snapshot.args, snapshot.kwargs))
        except TooLarge:
            raise
        except (NotPlain, ValueError) as wrong:
            return _Pause(snapshot, wrong)

    def _answer(self, found: Any) -> Any:
        answer, self.left = found
        try:
            return answer_of(answer, self._bounds.answer)
        except NotPlain as wrong:
            return wrong

    async def _called(self, snapshot: "FunctionSnapshot", given: Any) -> _Pause:
        name = called_by(str(snapshot.function_name))
        if snapshot.is_os_function:
            return await self._of_the_machine(snapshot, name)
        if self.calls > self._bounds.calls:
            self._over(f"the program called more than {self._bounds.calls} functions")
        function = self._functions.get(name)
        if function is None:
            return await self._answered(snapshot, _error("NameError", f"name '{name}' is not defined"))
        if isinstance(given, Exception):
            text = f"{name}() cannot be given this: {given}"
            return await self._answered(snapshot, _error("TypeError", text))
        return await self._begun(snapshot, _call(function, *given))

    async def _of_the_machine(self, snapshot: "FunctionSnapshot", name: str) -> _Pause:
        """Sleeping is waiting here, where it can be stopped; nothing else of the machine is given."""
        if name not in ("time.sleep", "asyncio.sleep"):
            return await self._on(snapshot.resume_not_handled)
        seconds = float(snapshot.args[0])
        if name == "asyncio.sleep":
            return await self._begun(snapshot, asyncio.sleep(seconds))
        await asyncio.sleep(seconds)
        return await self._answered(snapshot, {"return_value": None})

    async def _begun(self, snapshot: "FunctionSnapshot", work: Any) -> _Pause:
        self._under_way[snapshot.call_id] = asyncio.create_task(work)
        return await self._answered(snapshot, {"future": ...})

    async def _waited(self, snapshot: "FutureSnapshot") -> _Pause:
        pending = {number: self._under_way[number] for number in snapshot.pending_call_ids}
        await asyncio.wait(pending.values(), return_when=asyncio.FIRST_COMPLETED)
        done = {number: task for number, task in pending.items() if task.done()}
        for number in done:
            del self._under_way[number]
        return await self._on(lambda: snapshot.resume(self._gave(done)))

    def _gave(self, done: Mapping[int, asyncio.Task[Any]]) -> Any:
        """What calls came to. In the thread of the seat: large values take their time."""
        gave = self._handed.gave({number: _outcome(task) for number, task in done.items()})
        self.raised.update(one["message"] for one in gave.values() if "message" in one)
        return gave

    async def _answered(self, snapshot: "FunctionSnapshot", result: Any) -> _Pause:
        return await self._on(lambda: snapshot.resume(result))

    def _over(self, text: str) -> NoReturn:
        self._seat.stop()
        raise ProgramFault("limit", text)


def given_values(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a program as plain values; whoever runs it is told of those that are none."""
    wrong = [name for name in inputs if not name.isidentifier() or iskeyword(name) or name == "output"]
    if wrong:
        raise InvalidValue(f"a program can have no input of the name {cut(str(wrong[0]))!r}")
    try:
        return {name: writable(msgspec.to_builtins(value)) for name, value in inputs.items()}
    except (TypeError, ValueError, RecursionError) as error:
        raise WrongType(f"an input of a program is no plain value: {cut(str(error))}") from None


async def _call(function: HostFunction, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Any:
    found = function(*args, **kwargs)
    return await found if isawaitable(found) else found


def _outcome(task: asyncio.Task[Any]) -> Any:
    if task.cancelled():
        return _error("RuntimeError", "the call was cancelled")
    error = task.exception()
    if error is not None:
        return raised_inside(error)
    try:
        return {"return_value": msgspec.to_builtins(task.result())}
    except (TypeError, ValueError, RecursionError) as wrong:
        return _error("TypeError", f"what the function gave is no value for a program: {wrong}")


def _error(kind: str, message: str) -> Any:
    return {"exc_type": kind, "message": message}
