"""The sandbox: runs programs in processes that reach nothing of the machine but the functions they are given.

A program is fed to Monty with a prelude and an ending of ours. The prelude defines the functions of the host
as async functions that count the calls nobody awaits; arguments and the answer leave the sandbox as JSON
text, so that what cannot be written fails inside the program, at its line and within its limits.
"""

import ast
import asyncio
import builtins
import json
import os
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from functools import cache
from inspect import isawaitable
from keyword import iskeyword
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

import msgspec

from quire.errors import InvalidLimit, InvalidValue, WrongType, cut
from quire.models import PerLoop
from quire.programs.check import Diagnostic, Wrap, answer_of, bindings, names_in, parse, wrapped
from quire.programs.faults import Kind, ProgramFault, at_line
from quire.programs.values import encodable, size_of
from quire.programs.workers import Worker, Workers
from quire.stores.threads import COMPUTING

if TYPE_CHECKING:
    from pydantic_monty import FunctionSnapshot, FutureSnapshot, MontyError, MontySession

HostFunction = Callable[..., Awaitable[Any]]

_PATIENCE = 10.0
"""Seconds that a cancelled host call may take to end."""

_LEAST = {"memory": 1 << 20, "depth": 1, "calls": 0, "printed": 0, "answer": 2, "handed": 0}
"""The least value of each whole number: below a mebibyte the interpreter itself has no room."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one run of a program.

    `seconds` is its computing time, `wall` its whole time with the waiting for tools (None is unlimited),
    `memory` in bytes, `depth` of nested calls, `calls` of functions that it is given, `printed` characters,
    `answer` the characters of its answer as JSON, and of the arguments of one call. `handed` are the
    characters of all arguments and results together.
    """

    seconds: float = 10.0
    wall: float | None = 600.0
    memory: int = 64 << 20
    depth: int = 200
    calls: int = 1_000
    printed: int = 100_000
    answer: int = 1_000_000
    handed: int = 32_000_000

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value, is_time = getattr(self, name), name in ("seconds", "wall")
            if name == "wall" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float if is_time else int):
                raise WrongType(f"Bounds.{name} is a number, not {type(value).__name__}")
            if is_time and not 0 < value < inf:
                raise InvalidLimit(f"Bounds.{name} must be finite and more than zero")
            if not is_time and value < _LEAST[name]:
                raise InvalidLimit(f"Bounds.{name} must be at least {_LEAST[name]}")


_CHECKING = Bounds(seconds=10.0, memory=256 << 20)
"""The limits of the type checker."""


class Ran(NamedTuple):
    """The outcome of a program; `seconds` is its whole time, `calls` counts the functions it called."""

    value: Any
    printed: str
    calls: int
    seconds: float


class Sandbox:
    """Runs programs and checks their types. Processes start when first needed, and end with the event loop.

    `workers` programs compute at a time, by default one per processor. `programs` may have begun, including
    those that wait for functions; others wait for a place, and the waiting counts as their time.
    """

    def __init__(self, *, workers: int | None = None, programs: int = 64) -> None:
        if (workers is not None and workers < 1) or programs < 1:
            raise InvalidLimit("a sandbox has at least one worker, and room for one program")
        computing = workers or max(2, os.cpu_count() or 1)
        self._workers = PerLoop(lambda: Workers(computing, programs))

    async def run(
        self,
        code: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        functions: Mapping[str, HostFunction] | None = None,
        bounds: Bounds = Bounds(),  # noqa: B008  # it is frozen
        tell: Callable[[str], object] | None = None,
    ) -> Ran:
        """Run a program to its answer or to a `ProgramFault`; no host call is running afterwards."""
        begun = perf_counter()
        values, text = await COMPUTING.do(lambda: (_input_values(inputs or {}), _with_ending(code)))
        workers = await self._workers.get()
        async with workers.admitted(bounds.wall) as deadline:
            worker = workers.worker(_limits(bounds))
            printed = _Printed(bounds.printed, tell, worker.stop)
            run = _Run(worker, functions or {}, bounds)

            def begin(session: "MontySession") -> Any:
                session.feed_run(_prelude(functions or {}))
                return session.feed_start(text, inputs=values, print_callback=printed.take)

            try:
                async with asyncio.timeout_at(deadline):
                    answer, unawaited = await _ended(run, begin, code, printed)
            except TimeoutError:
                worker.stop()
                text = f"it took longer than {bounds.wall} s"
                raise ProgramFault("limit", text, printed=str(printed)) from None
            except BaseException:
                worker.stop()
                raise
            finally:
                try:
                    await run.end()
                finally:
                    await worker.leave()
        _check_awaited(unawaited, code, str(printed))
        return Ran(answer, str(printed), run.calls, perf_counter() - begun)

    async def diagnose(self, code: str, stubs: str) -> list[Diagnostic]:
        """The findings of Monty's parser and type checker; nothing of the program runs."""
        from pydantic_monty import MontyError, MontyTypingError

        text = await COMPUTING.do(_declared, code)
        workers = await self._workers.get()

        def findings(session: "MontySession") -> str:
            try:
                snapshot: Any = session.feed_start(text)
                while getattr(snapshot, "function_name", _STOP) != _STOP:
                    snapshot = snapshot.resume_not_handled()  # it asks for stubs of a module
            except MontyTypingError as found:
                return found.display()
            except MontyError as error:
                raise _fault_of(error, code, "", (), ahead=1) from None
            return "[]"

        async with workers.admitted(_CHECKING.wall):
            worker = workers.worker(
                _limits(_CHECKING),
                type_check=True,
                type_check_stubs=_exporting(stubs),
                type_check_format="json",
            )
            try:
                rows = json.loads(await worker.begin(findings))
            finally:
                await worker.leave()
        return [Diagnostic(row["code"], row["location"]["row"] - 1, str(row["message"])) for row in rows]

    async def close(self) -> None:
        """End the processes of this loop; they start again when another program runs."""
        await self._workers.close()


@cache
def shared_sandbox() -> Sandbox:
    """The sandbox that is used if none is given."""
    return Sandbox()


def _limits(bounds: Bounds) -> Any:
    return {
        "max_feed_duration_secs": bounds.seconds,
        "max_memory": bounds.memory,
        "max_recursion_depth": bounds.depth + _PRELUDE_DEPTH,
        "max_suspensions": 10_000 + 4 * bounds.calls,  # sleeping and looking up names suspend too
    }


# The text that is fed

_PRELUDE_FILE = "<python-input-0>"
_STOP = "quire_stop"
_LAST = "_quire_last"
_HOST = "_quire_host"
_PRELUDE_DEPTH = 4
"""How many calls of the prelude may stand on top of those of a program."""

_PRELUDE = """
from typing import Any
import json as _quire_json
from collections import deque as _quire_deque
import datetime as _quire_datetime
from decimal import Decimal as _quire_Decimal
_quire_rows = (list, tuple, set, frozenset, _quire_deque)
_quire_times = (_quire_datetime.date, _quire_datetime.datetime, _quire_datetime.time)
_quire_texts = (_quire_datetime.timedelta, _quire_Decimal)
_quire_dict, _quire_isinstance, _quire_hasattr, _quire_getattr = dict, isinstance, hasattr, getattr
_quire_list, _quire_str, _quire_next, _quire_StopIteration = list, str, next, StopIteration
_quire_left = {}
def _quire_text(value):
    try:
        return _quire_json.dumps(value, allow_nan=False, ensure_ascii=False)
    except TypeError:
        return _quire_json.dumps(_quire_plain(value), allow_nan=False, ensure_ascii=False)
def _quire_plain(value):
    if _quire_isinstance(value, _quire_dict):
        return {
            key if _quire_isinstance(key, _quire_rows) else _quire_plain(key): _quire_plain(one)
            for key, one in value.items()
        }
    if _quire_isinstance(value, _quire_rows):
        return [_quire_plain(one) for one in value]
    if _quire_isinstance(value, _quire_times):
        return value.isoformat()
    if _quire_isinstance(value, _quire_texts):
        return _quire_str(value)
    if _quire_hasattr(value, "__dataclass_fields__"):
        return {name: _quire_plain(_quire_getattr(value, name)) for name in value.__dataclass_fields__}
    return value
def _quire_counted(name, function):
    def called(*given, **named):
        _quire_left[name] = _quire_left.get(name, 0) + 1
        return _quire_begun(name, function(*given, **named))
    return called
async def _quire_begun(name, coroutine):
    _quire_left[name] -= 1
    return await coroutine
def next(iterator, *default):
    if not _quire_isinstance(iterator, _quire_list):
        return _quire_next(iterator, *default)
    if iterator:
        return iterator.pop(0)
    if default:
        return default[0]
    raise _quire_StopIteration
"""
"""`next` is there because Monty's generator expressions, `zip` and the like are lists."""

_FUNCTION = """
async def {name}(*given, **named):
    return await _quire_host("{name}", _quire_text([given, named]))
{name} = _quire_counted("{name}", {name})
"""
_ENDING = "\n[_quire_text({answer}), _quire_left]\n"


def _prelude(functions: Collection[str]) -> str:
    legal = [name for name in functions if name.isidentifier() and not iskeyword(name)]
    return _PRELUDE + "".join(_FUNCTION.format(name=name) for name in legal)


def _with_ending(code: str) -> str:
    """The program with an ending that hands out its answer as JSON, and the calls that were not awaited."""
    tree = parse(code)
    last = answer_of(tree)
    wraps: list[Wrap] = [] if last is None else [(last, f"{_LAST} = (", ")")]
    wraps += ((node, f'_quire_counted("{node.id}", ', ")") for node in _own_functions(tree))
    return wrapped(code, wraps) + _ENDING.format(answer="output" if last is None else _LAST)


def _own_functions(tree: ast.Module) -> Iterator[ast.Name]:
    """Where a program uses its own async functions, so that calls of them are counted too."""
    bound = Counter(name for _, name in bindings(tree))
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)}
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id in own and bound[node.id] == 1:
                yield node
        elif not isinstance(node, ast.JoinedStr):  # where a tree knows no places in the text
            waiting += ast.iter_child_nodes(node)


def _declared(code: str) -> str:
    """The program with its answer declared as `Output`, after one line of ours that stops it."""
    tree = parse(code)
    last = answer_of(tree)
    if last is not None:
        return f"{_STOP}()\n{wrapped(code, [(last, f'{_LAST}: Output = (', ')')])}"
    annotated = [node.target for node in ast.walk(tree) if isinstance(node, ast.AnnAssign)]
    is_declared = any(isinstance(target, ast.Name) and target.id == "output" for target in annotated)
    return f"{_STOP}()\n{code}" if is_declared else f"output: Output; {_STOP}()\n{code}"


def _exporting(stubs: str) -> str:
    """The stubs with a list of all their names: without it, those with an underscore are private."""
    return f"{stubs}\ndef {_STOP}() -> None: ...\n__all__ = {[*names_in(stubs), _STOP]}\n"


def _input_values(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a program as plain values."""
    wrong = [name for name in inputs if not name.isidentifier() or iskeyword(name) or name == "output"]
    if wrong:
        raise InvalidValue(f"a program can have no input of the name {cut(str(wrong[0]))!r}")
    try:
        return {name: encodable(msgspec.to_builtins(value)) for name, value in inputs.items()}
    except (TypeError, ValueError, RecursionError) as error:
        raise WrongType(f"an input of a program is no plain value: {cut(str(error))}") from None


# One run


class _Printed:
    """The printed text of one run, up to a limit. The worker's thread adds to it, the loop is told."""

    def __init__(self, most: int, tell: Callable[[str], object] | None, stop: Callable[[], None]) -> None:
        self._left = most
        self._tell = tell
        self._stop = stop
        self._loop = asyncio.get_running_loop()
        self._texts: list[str] = []
        self.is_over = False

    def __str__(self) -> str:
        return "".join(self._texts)

    def take(self, _stream: str, text: str) -> None:
        """Keep what there is room for; beyond it the program is stopped."""
        kept = text[: self._left]
        self._left -= len(kept)
        if kept:
            self._texts.append(kept)
            if self._tell is not None:
                self._loop.call_soon_threadsafe(self._tell, kept)
        if len(kept) < len(text):
            self.is_over = True
            self._stop()


class _Run:
    """A program in its worker, with the host calls that are running."""

    def __init__(self, worker: Worker, functions: Mapping[str, HostFunction], bounds: Bounds) -> None:
        self._worker = worker
        self._functions = functions
        self._bounds = bounds
        self._room = bounds.handed
        self._running: dict[int, asyncio.Task[Any]] = {}
        self.raised: set[str] = set()
        """Messages of errors that host functions raised: the program may end with one of them."""
        self.calls = 0

    async def drive(self, begin: "Callable[[MontySession], Any]") -> tuple[Any, Mapping[str, int]]:
        """Run from the beginning to the end: the answer, and the calls that were not awaited."""
        from pydantic_monty import FunctionSnapshot, FutureSnapshot, MontyComplete, NameLookupSnapshot

        snapshot = await self._worker.begin(begin)
        while not isinstance(snapshot, MontyComplete):
            if isinstance(snapshot, FunctionSnapshot):
                snapshot = await self._call(snapshot)
            elif isinstance(snapshot, FutureSnapshot):
                snapshot = await self._wait(snapshot)
            elif isinstance(snapshot, NameLookupSnapshot):
                snapshot = await self._worker.turn(snapshot.resume)  # there is no other name
            else:
                raise ProgramFault("missing", f"the sandbox asks for a {type(snapshot).__name__}")
        text, left = cast("tuple[Any, Any]", snapshot.output)
        if not isinstance(text, str) or not isinstance(left, dict):  # the program has rebound our names
            raise ProgramFault("answer", "the answer cannot be taken: it is no JSON")
        if len(text) > self._bounds.answer:
            reason = f"it is larger than {self._bounds.answer} characters"
            raise ProgramFault("answer", f"the answer cannot be taken: {reason}")
        return await _loaded(text), cast("Mapping[str, int]", left)

    async def end(self) -> None:
        """Cancel the host calls that are running, and wait until they have ended."""
        tasks = [task for task in self._running.values() if not task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_PATIENCE)
        for task in self._running.values():
            if task.done() and not task.cancelled():
                task.exception()  # retrieved, so that asyncio does not log it

    async def _call(self, snapshot: "FunctionSnapshot") -> Any:
        name = str(snapshot.function_name)
        if snapshot.is_os_function:
            return await self._machine(snapshot, name)
        if name != _HOST:
            return await self._answer(snapshot, _error("NameError", f"name '{name}' is not defined"))
        self.calls += 1
        if self.calls > self._bounds.calls:
            self._over(f"the program called more than {self._bounds.calls} functions")
        name, text = _named_call(snapshot.args)
        if len(text) > self._bounds.answer:
            text = f"what a function is given is too large: larger than {self._bounds.answer} characters"
            self._over(text)
        self._hand_over(len(text))
        function = self._functions.get(name)
        if function is None:
            return await self._answer(snapshot, _error("NameError", f"name '{name}' is not defined"))
        given, named = await _loaded(text)
        return await self._start(snapshot, _called(function, given, named))

    async def _machine(self, snapshot: "FunctionSnapshot", name: str) -> Any:
        """Sleeping is waiting here, where it can be stopped; nothing else of the machine is given."""
        if name not in ("time.sleep", "asyncio.sleep"):
            return await self._worker.turn(snapshot.resume_not_handled)
        seconds = float(snapshot.args[0])
        if name == "asyncio.sleep":
            return await self._start(snapshot, asyncio.sleep(seconds))
        await asyncio.sleep(seconds)
        return await self._answer(snapshot, {"return_value": None})

    async def _start(self, snapshot: "FunctionSnapshot", work: Any) -> Any:
        self._running[snapshot.call_id] = asyncio.create_task(work)
        return await self._answer(snapshot, {"future": ...})

    async def _wait(self, snapshot: "FutureSnapshot") -> Any:
        pending = {number: self._running[number] for number in snapshot.pending_call_ids}
        await asyncio.wait(pending.values(), return_when=asyncio.FIRST_COMPLETED)
        done = {number: task for number, task in pending.items() if task.done()}
        for number in done:
            del self._running[number]
        return await self._worker.turn(lambda: snapshot.resume(self._results(done)))

    def _results(self, done: Mapping[int, asyncio.Task[Any]]) -> Any:
        """The results of host calls; in the worker's thread, because large values take time."""
        results = {number: _result(task) for number, task in done.items()}
        self._hand_over(size_of(results))
        self.raised.update(one["message"] for one in results.values() if "message" in one)
        return results

    async def _answer(self, snapshot: "FunctionSnapshot", result: Any) -> Any:
        return await self._worker.turn(lambda: snapshot.resume(result))

    def _hand_over(self, characters: int) -> None:
        self._room -= characters
        if self._room < 0:
            self._over(f"the calls of the program hand over more than {self._bounds.handed} characters")

    def _over(self, text: str) -> NoReturn:
        self._worker.stop()
        raise ProgramFault("limit", text)


_LARGE = 20_000
"""Characters of JSON that are read in a thread, so that the event loop is not held up."""


async def _ended(
    run: _Run, begin: "Callable[[MontySession], Any]", code: str, printed: _Printed
) -> tuple[Any, Mapping[str, int]]:
    """Run a program to its end; its errors become faults."""
    from pydantic_monty import MontyError

    try:
        ended = await run.drive(begin)
    except MontyError as error:
        if not printed.is_over:
            raise _fault_of(error, code, str(printed), run.raised) from None
    except ProgramFault as fault:
        raise ProgramFault(fault.kind, str(fault), fault.line, str(printed)) from None
    else:
        if not printed.is_over:
            return ended
    raise ProgramFault("limit", "it printed more than it may", printed=str(printed))


def _check_awaited(unawaited: Mapping[str, int], code: str, printed: str) -> None:
    """Raise a fault if a program called a function and never awaited the call."""
    for name, count in unawaited.items():
        if count > 0:
            nodes = (node for node in ast.walk(parse(code)) if isinstance(node, ast.Name) and node.id == name)
            lines = {node.lineno for node in nodes}
            line = lines.pop() if len(lines) == 1 else None
            times = f"{count} times" if count > 1 else "once"
            text = (
                f"`{name}` was called and never awaited, {times}: nothing was done by that. Await each call"
            )
            raise ProgramFault("types", at_line(code, line, text), line, printed)


async def _loaded(text: str) -> Any:
    try:
        return await COMPUTING.do(json.loads, text) if len(text) > _LARGE else json.loads(text)
    except ValueError:  # the program has rebound what the prelude defines
        raise ProgramFault("answer", "the answer cannot be taken: it is no JSON") from None


def _named_call(given: tuple[Any, ...]) -> tuple[str, str]:
    """The name of a host function and its arguments as JSON, as the prelude gives them."""
    match given:
        case (str(name), str(text)):
            return name, text
        case _:
            raise ProgramFault("names", f"`{_HOST}` is a name of the sandbox")


async def _called(function: HostFunction, given: Any, named: Any) -> Any:
    found = function(*given, **named)
    return await found if isawaitable(found) else found


def _result(task: asyncio.Task[Any]) -> Any:
    if task.cancelled():
        return _error("RuntimeError", "the call was cancelled")
    error = task.exception()
    if error is not None:
        return _error_inside(error)
    try:
        return {"return_value": encodable(msgspec.to_builtins(task.result()))}
    except (TypeError, ValueError, RecursionError) as wrong:
        return _error("TypeError", f"the result of the function is no plain value: {wrong}")


# Errors

_KNOWN = {
    *("ArithmeticError", "OverflowError", "ZeroDivisionError", "LookupError", "IndexError", "KeyError"),
    *("RuntimeError", "NotImplementedError", "AttributeError", "NameError", "ValueError", "OSError"),
    *("FileNotFoundError", "FileExistsError", "IsADirectoryError", "NotADirectoryError", "PermissionError"),
    *("AssertionError", "TypeError", "TimeoutError", "ImportError", "ModuleNotFoundError"),
}
"""Builtin errors that a program can catch by their names."""

_MAX_MESSAGE = 2_000
_LIMIT = re.compile("memory limit|time limit|duration|recursion|suspension")
_MISSING = re.compile(
    r"not (yet )?support|cannot suspend in this synchronous context|^No module named|^cannot import"
    r"|^Wildcard imports|^cannot convert '\w+' object to bytes|^module '\w+' has no attribute"
    r"|^'(function|builtin_function_or_method)' object has no"
)
_UNDEFINED = re.compile(r"^name '(\w+)' is not defined")
_NO_ATTRIBUTE = re.compile(r"^(?:type object )?'(\w+)'(?: object)? has no attribute '(\w+)'")


def _error(kind: str, message: str) -> Any:
    return {"exc_type": kind, "message": message}


def _error_inside(error: BaseException) -> Any:
    """An error of a host function as the program gets it: its nearest builtin type, with its message."""
    kinds = (kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
    name = next((kind for kind in kinds if kind in _KNOWN), "RuntimeError")
    try:
        text = str(error.args[0]) if isinstance(error, KeyError) and len(error.args) == 1 else str(error)
    except Exception:  # an error of the user's own may fail to describe itself
        text = ""
    return _error(name, encodable(text or type(error).__name__)[:_MAX_MESSAGE])


def _fault_of(
    error: "MontyError", code: str, printed: str, raised: Collection[str], *, ahead: int = 0
) -> ProgramFault:
    """What a program ended with, and its line. `raised` are messages of host functions.

    `ahead` counts the lines of ours before the program.
    """
    from pydantic_monty import MontyCrashedError, MontyRuntimeError, MontySyntaxError

    if isinstance(error, MontyCrashedError):
        reason = "it computed for too long" if error.timed_out else "its process ended"
        return ProgramFault("limit", f"the program was stopped: {reason}", printed=printed)
    if not isinstance(error, MontyRuntimeError | MontySyntaxError):
        return ProgramFault("raised", str(error), printed=printed)
    ours = () if ahead else (_PRELUDE_FILE,)
    lines = [frame.line - ahead for frame in error.traceback() if frame.filename not in ours]
    last = code.count("\n") + 1
    name, message = str(error.display("type-msg")).partition(":")[0], error.display("msg")
    kind: Kind = "syntax" if isinstance(error, MontySyntaxError) else _kind(name, message, raised)
    if kind in ("raised", "names") and max(lines, default=0) > last:
        text = f"the answer cannot be taken: {name}: {message}"
        if name == "NameError":
            text = "the program has no answer: it ended before `output` was set"
        return ProgramFault("answer", text, printed=printed)
    line = next((line for line in reversed(lines) if 0 < line <= last), None)
    hint = " (the sandbox has only a part of Python: write it another way)" if kind == "missing" else ""
    return ProgramFault(kind, at_line(code, line, f"{name}: {message}{hint}"), line, printed)


def _kind(name: str, message: str, raised: Collection[str]) -> Kind:
    if any(one and one in message for one in raised):
        return "raised"
    if name in ("MemoryError", "RecursionError") or (
        name in ("TimeoutError", "RuntimeError") and _LIMIT.search(message)
    ):
        return "limit"
    undefined = _UNDEFINED.match(message) if name == "NameError" else None
    if undefined:
        return "missing" if hasattr(builtins, undefined[1]) else "names"
    if name in ("SyntaxError", "IndentationError"):
        return "syntax"
    attribute = _NO_ATTRIBUTE.match(message)
    is_pythons = attribute and hasattr(getattr(builtins, attribute[1], None), attribute[2])
    return "missing" if is_pythons or _MISSING.search(message) else "raised"
