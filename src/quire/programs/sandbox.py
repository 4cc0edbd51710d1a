"""The sandbox: runs programs in processes that reach nothing of the machine but their functions.

Monty runs a program between a prelude and an ending of ours. The prelude defines the functions of the host as
async functions, and counts calls that are never awaited. Arguments and the answer leave the sandbox as JSON
text, so a value that JSON cannot express fails inside the program, at its line and within its limits.
"""

import ast
import asyncio
import builtins
import json
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from quire.errors import WrongType, cut
from quire.models import PerLoop
from quire.programs.source import Kind, ProgramFault, Wrap, answer_of, async_functions, at_line, parse, wrap
from quire.programs.stubs import names_in
from quire.programs.values import encodable
from quire.programs.workers import Worker, Workers
from quire.stores.threads import COMPUTING
from quire.tokens import number, whole

if TYPE_CHECKING:
    from pydantic_monty import FunctionSnapshot, FutureSnapshot, MontyError, MontySession

HostFunction = Callable[..., Awaitable[Any]]

_CANCEL_SECONDS = 10.0
"""Seconds that a cancelled host call may take to end."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one run of a program.

    `seconds` limits its computing time, `wall` its whole time, waiting for tools included (None is no limit),
    `memory` its bytes, `depth` its nested calls, `calls` its calls of tools and models, `printed` the
    characters that it prints, `answer` those of its answer as JSON and of the arguments of one call.
    """

    seconds: float = 10.0
    wall: float | None = 600.0
    memory: int = 64 << 20
    depth: int = 200
    calls: int = 1_000
    printed: int = 100_000
    answer: int = 1_000_000

    def __post_init__(self) -> None:
        number(self.seconds, "Bounds.seconds", 0.001)
        if self.wall is not None:
            number(self.wall, "Bounds.wall", 0.001)
        whole(self.memory, "Bounds.memory", 1 << 20)  # below, the interpreter itself has no room
        whole(self.depth, "Bounds.depth", 1)
        for name in ("calls", "printed", "answer"):
            whole(getattr(self, name), f"Bounds.{name}", 0)


_CHECKING = Bounds(seconds=30.0, memory=256 << 20)
"""The limits of the type checker."""


class SandboxResult(NamedTuple):
    """The answer of a program as a JSON value, and its printed text."""

    value: Any
    printed: str


class Diagnostic(NamedTuple):
    """One finding of the type checker: the name of its rule, the line of the program, the message."""

    rule: str
    line: int
    message: str


class Sandbox:
    """Runs programs and checks their types. Processes start when first needed, and end with the event loop.

    At most `programs` run at once, including those that wait for functions. Others wait for a place; the wait
    counts towards their `wall` time.
    """

    def __init__(self, *, programs: int = 64) -> None:
        whole(programs, "the programs of a sandbox", 1)
        self._workers = PerLoop(lambda: Workers(programs))

    async def run(
        self,
        code: str,
        *,
        inputs: Mapping[str, Any] = MappingProxyType({}),
        functions: Mapping[str, HostFunction] = MappingProxyType({}),
        bounds: Bounds = Bounds(),  # noqa: B008  # it is frozen
    ) -> SandboxResult:
        """Run a program to its answer or to a `ProgramFault`; no host call runs afterwards."""
        values, text = await COMPUTING.do(lambda: (_input_values(inputs), _with_ending(code)))
        workers = await self._workers.get()
        worker = workers.worker(_limits(bounds))
        printed = _Printed(bounds.printed, worker.stop)
        run = _Run(worker, code, functions, bounds, printed)

        def begin(session: "MontySession") -> Any:
            session.feed_run(_PRELUDE + "".join(_FUNCTION.format(name=name) for name in functions))
            return session.feed_start(text, inputs=values, print_callback=printed.add)

        try:
            async with asyncio.timeout(bounds.wall), workers.place():
                try:
                    return SandboxResult(await run.drive(begin), str(printed))
                except BaseException:
                    worker.stop()
                    raise
                finally:
                    try:
                        await run.end()
                    finally:
                        await worker.leave()
        except Exception as error:
            raise run.fault_of(error) from None

    async def diagnose(self, code: str, stubs: str) -> list[Diagnostic]:
        """The findings of Monty's parser and type checker; the program does not run."""
        from pydantic_monty import MontyError, MontyTypingError

        text = await COMPUTING.do(_with_output_type, code)
        workers = await self._workers.get()

        def findings(session: "MontySession") -> str:
            try:
                snapshot: Any = session.feed_start(text)
                while getattr(snapshot, "function_name", _STOP_FUNCTION) != _STOP_FUNCTION:
                    snapshot = snapshot.resume_not_handled()  # a request for stubs of a module
            except MontyTypingError as error:
                return error.display()
            except MontyError as error:
                raise _fault_of(error, code, ahead=1) from None
            return "[]"

        async with workers.place():
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


@cache
def shared_sandbox() -> Sandbox:
    """The sandbox of all runners."""
    return Sandbox()


def _limits(bounds: Bounds) -> Any:
    return {
        "max_feed_duration_secs": bounds.seconds,
        "max_memory": bounds.memory,
        "max_recursion_depth": bounds.depth + _PRELUDE_DEPTH,
        "max_suspensions": 10_000 + 4 * bounds.calls,  # sleeping and looking up names suspend too
    }


# The text for Monty

_PRELUDE_FILE = "<python-input-0>"
_STOP_FUNCTION = "quire_stop"
_LAST_VARIABLE = "_quire_last"
_HOST_FUNCTION = "_quire_host"
_PRELUDE_DEPTH = 4
"""Nested calls of the prelude on top of those of a program."""

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
            key if _quire_isinstance(key, _quire_rows) else _quire_plain(key): _quire_plain(element)
            for key, element in value.items()
        }
    if _quire_isinstance(value, _quire_rows):
        return [_quire_plain(element) for element in value]
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
"""It defines `next` because Monty's generator expressions, `zip` and the like are lists."""

_FUNCTION = """
async def {name}(*given, **named):
    return await _quire_host("{name}", _quire_text([given, named]))
{name} = _quire_counted("{name}", {name})
"""
_ENDING = "\n[_quire_text({answer}), _quire_left]\n"


def _with_ending(code: str) -> str:
    """The program with an ending that returns its answer as JSON, and the calls that were not awaited."""
    tree = parse(code)
    last = answer_of(tree)
    wraps: list[Wrap] = [] if last is None else [(last, f"{_LAST_VARIABLE} = (", ")")]
    wraps += ((node, f'_quire_counted("{node.id}", ', ")") for node in _uses_of_own_functions(tree))
    return wrap(code, wraps) + _ENDING.format(answer="output" if last is None else _LAST_VARIABLE)


def _uses_of_own_functions(tree: ast.Module) -> Iterator[ast.Name]:
    """The places where a program uses its own async functions, whose calls are counted too."""
    own_names, pending = async_functions(tree), list[ast.AST]([tree])
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id in own_names:
                yield node
        elif not isinstance(node, ast.JoinedStr):  # nodes inside have no positions in the text
            pending += ast.iter_child_nodes(node)


def _with_output_type(code: str) -> str:
    """The program for the type checker: its answer has the type `Output`, and a first line stops its run."""
    tree = parse(code)
    last = answer_of(tree)
    if last is not None:
        return f"{_STOP_FUNCTION}()\n{wrap(code, [(last, f'{_LAST_VARIABLE}: Output = (', ')')])}"
    annotated = [node.target for node in ast.walk(tree) if isinstance(node, ast.AnnAssign)]
    is_declared = any(isinstance(target, ast.Name) and target.id == "output" for target in annotated)
    return f"{_STOP_FUNCTION}()\n{code}" if is_declared else f"output: Output; {_STOP_FUNCTION}()\n{code}"


def _exporting(stubs: str) -> str:
    """The stubs with `__all__`: without it, names with an underscore are private."""
    return f"{stubs}\ndef {_STOP_FUNCTION}() -> None: ...\n__all__ = {[*names_in(stubs), _STOP_FUNCTION]}\n"


def _input_values(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a program as plain values."""
    try:
        return {name: encodable(msgspec.to_builtins(value)) for name, value in inputs.items()}
    except (TypeError, ValueError, RecursionError) as error:
        raise WrongType(f"an input of a program is not a plain value: {cut(str(error))}") from None


# One run


class _Printed:
    """The printed text of one run, up to a limit. The worker's thread adds to it."""

    def __init__(self, limit: int, stop: Callable[[], None]) -> None:
        self._left = limit
        self._stop = stop
        self._texts: list[str] = []
        self._is_full = False

    def __str__(self) -> str:
        return "".join(self._texts)

    def add(self, _stream: str, text: str) -> None:
        """Add text up to the limit; beyond it the program is stopped."""
        fitting = text[: self._left]
        self._left -= len(fitting)
        self._texts.append(fitting)
        if len(fitting) < len(text):
            self._is_full = True
            self._stop()

    def fault(self) -> ProgramFault | None:
        """The fault of a program that printed more than the limit."""
        return ProgramFault("limit", "it printed more than the limit") if self._is_full else None


@dataclass
class _Run:
    """A program in its worker; `running` has the host calls that are running, by their ids in Monty."""

    worker: Worker
    code: str
    functions: Mapping[str, HostFunction]
    bounds: Bounds
    printed: _Printed
    running: dict[int, asyncio.Task[Any]] = field(default_factory=dict)
    raised: set[str] = field(default_factory=set)
    """Messages of errors that host functions raised, which the program may end with."""
    call_count: int = 0

    async def drive(self, begin: "Callable[[MontySession], Any]") -> Any:
        """Run from the beginning to the answer."""
        from pydantic_monty import FunctionSnapshot, FutureSnapshot, MontyComplete, NameLookupSnapshot

        snapshot = await self.worker.begin(begin)
        while not isinstance(snapshot, MontyComplete):
            if isinstance(snapshot, FunctionSnapshot):
                snapshot = await self._call(snapshot)
            elif isinstance(snapshot, FutureSnapshot):
                snapshot = await self._wait(snapshot)
            elif isinstance(snapshot, NameLookupSnapshot):
                snapshot = await self.worker.turn(snapshot.resume)  # the name is not defined
            else:
                raise ProgramFault("missing", f"the sandbox asks for a {type(snapshot).__name__}")
        text, unawaited = cast("tuple[Any, Any]", snapshot.output)
        if not isinstance(text, str) or not isinstance(unawaited, dict):  # the program has rebound our names
            raise ProgramFault("answer", "the answer cannot be used: it is not JSON")
        if len(text) > self.bounds.answer:
            reason = f"it is larger than {self.bounds.answer} characters"
            raise ProgramFault("answer", f"the answer cannot be used: {reason}")
        if fault := self.printed.fault():
            raise fault
        _check_awaited(cast("Mapping[str, int]", unawaited), self.code)
        return _read_json(text)

    def fault_of(self, error: Exception) -> Exception:
        """The error that ended the run; a fault of the program has the printed text."""
        from pydantic_monty import MontyError

        if isinstance(error, TimeoutError):
            error = ProgramFault("limit", f"it took longer than {self.bounds.wall} s")
        elif isinstance(error, MontyError):
            error = self.printed.fault() or _fault_of(error, self.code, self.raised)
        if isinstance(error, ProgramFault):
            error.printed = str(self.printed)
        return error

    async def end(self) -> None:
        """Cancel the host calls that are running, and wait until they have ended."""
        tasks = [task for task in self.running.values() if not task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CANCEL_SECONDS)
        for task in self.running.values():
            if task.done() and not task.cancelled():
                task.exception()  # retrieved, so that asyncio does not log it

    async def _call(self, snapshot: "FunctionSnapshot") -> Any:
        name = str(snapshot.function_name)
        if snapshot.is_os_function:
            return await self._os_call(snapshot, name)
        if name != _HOST_FUNCTION:
            return await self._answer(snapshot, _error("NameError", f"name '{name}' is not defined"))
        self.call_count += 1
        if self.call_count > self.bounds.calls:
            raise ProgramFault("limit", f"the program called more than {self.bounds.calls} functions")
        match snapshot.args:
            case (str(name), str(text)):
                pass
            case _:
                raise ProgramFault("names", f"`{_HOST_FUNCTION}` is a name of the sandbox")
        if len(text) > self.bounds.answer:
            reason = f"larger than {self.bounds.answer} characters"
            raise ProgramFault("limit", f"the arguments of a function are too large: {reason}")
        function = self.functions.get(name)
        if function is None:
            return await self._answer(snapshot, _error("NameError", f"name '{name}' is not defined"))
        args, kwargs = _read_json(text)
        return await self._start(snapshot, _await_call(function, args, kwargs))

    async def _os_call(self, snapshot: "FunctionSnapshot", name: str) -> Any:
        """Sleep on the host, where it can be stopped; every other call of the machine fails."""
        if name not in ("time.sleep", "asyncio.sleep"):
            return await self.worker.turn(snapshot.resume_not_handled)
        seconds = float(snapshot.args[0])
        if name == "asyncio.sleep":
            return await self._start(snapshot, asyncio.sleep(seconds))
        await asyncio.sleep(seconds)
        return await self._answer(snapshot, {"return_value": None})

    async def _start(self, snapshot: "FunctionSnapshot", work: Any) -> Any:
        self.running[snapshot.call_id] = asyncio.create_task(work)
        return await self._answer(snapshot, {"future": ...})

    async def _wait(self, snapshot: "FutureSnapshot") -> Any:
        pending = {call: self.running[call] for call in snapshot.pending_call_ids}
        await asyncio.wait(pending.values(), return_when=asyncio.FIRST_COMPLETED)
        done = {call: task for call, task in pending.items() if task.done()}
        for call in done:
            del self.running[call]
        return await self.worker.turn(lambda: snapshot.resume(self._results(done)))

    def _results(self, done: Mapping[int, asyncio.Task[Any]]) -> Any:
        """The results of host calls; encoded in the worker's thread, because large values take time."""
        results = {call: _result(task) for call, task in done.items()}
        self.raised.update(result["message"] for result in results.values() if "message" in result)
        return results

    async def _answer(self, snapshot: "FunctionSnapshot", result: Any) -> Any:
        return await self.worker.turn(lambda: snapshot.resume(result))


def _check_awaited(unawaited: Mapping[str, int], code: str) -> None:
    """Raise a fault if a program called a function and never awaited the call."""
    for name, count in unawaited.items():
        if count > 0:
            names = (node for node in ast.walk(parse(code)) if isinstance(node, ast.Name))
            lines = {node.lineno for node in names if node.id == name}
            line = lines.pop() if len(lines) == 1 else None
            times = f"{count} times" if count > 1 else "once"
            text = f"`{name}` was called and never awaited, {times}, which does nothing. Await each call"
            raise ProgramFault("types", at_line(code, line, text), line)


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # the program has redefined names of the prelude
        raise ProgramFault("answer", "the answer cannot be used: it is not JSON") from None


async def _await_call(function: HostFunction, args: Any, kwargs: Any) -> Any:
    return await function(*args, **kwargs)


def _result(task: asyncio.Task[Any]) -> Any:
    if task.cancelled():
        return _error("RuntimeError", "the call was cancelled")
    error = task.exception()
    if error is not None:
        return _error_from(error)
    try:
        return {"return_value": encodable(msgspec.to_builtins(task.result()))}
    except (TypeError, ValueError, RecursionError) as fault:
        return _error("TypeError", f"the result of the function is not a plain value: {fault}")


# Errors

_CATCHABLE = {
    *("ArithmeticError", "OverflowError", "ZeroDivisionError", "LookupError", "IndexError", "KeyError"),
    *("RuntimeError", "NotImplementedError", "AttributeError", "NameError", "ValueError", "OSError"),
    *("FileNotFoundError", "FileExistsError", "IsADirectoryError", "NotADirectoryError", "PermissionError"),
    *("AssertionError", "TypeError", "TimeoutError", "ImportError", "ModuleNotFoundError"),
}
"""Builtin errors that a program can catch by their names."""

_MAX_MESSAGE = 2_000
_LIMIT_WORDS = re.compile("memory limit|time limit|duration|recursion|suspension")
_MISSING_WORDS = re.compile(
    r"not (yet )?support|cannot suspend in this synchronous context|^No module named|^cannot import"
    r"|^Wildcard imports|^cannot convert '\w+' object to bytes|^module '\w+' has no attribute"
    r"|^'(function|builtin_function_or_method)' object has no"
)
_UNDEFINED = re.compile(r"^name '(\w+)' is not defined")
_NO_ATTRIBUTE = re.compile(r"^(?:type object )?'(\w+)'(?: object)? has no attribute '(\w+)'")


def _error(kind: str, message: str) -> Any:
    return {"exc_type": kind, "message": message}


def _error_from(error: BaseException) -> Any:
    """An error of a host function for the program: its nearest builtin type, with its message."""
    kinds = (kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
    name = next((kind for kind in kinds if kind in _CATCHABLE), "RuntimeError")
    try:
        text = str(error.args[0]) if isinstance(error, KeyError) and len(error.args) == 1 else str(error)
    except Exception:  # the error's own code may fail
        text = ""
    return _error(name, encodable(text or type(error).__name__)[:_MAX_MESSAGE])


def _fault_of(
    error: "MontyError", code: str, raised: Collection[str] = (), *, ahead: int = 0
) -> ProgramFault:
    """The fault that a program ended with, and its line. `raised` are messages of host functions.

    `ahead` is the number of our lines before the program.
    """
    from pydantic_monty import MontyCrashedError, MontyRuntimeError, MontySyntaxError

    if isinstance(error, MontyCrashedError):
        reason = "it computed for too long" if error.timed_out else "its process ended"
        return ProgramFault("limit", f"the program was stopped: {reason}")
    if not isinstance(error, MontyRuntimeError | MontySyntaxError):
        return ProgramFault("raised", str(error))
    own_files = () if ahead else (_PRELUDE_FILE,)
    lines = [frame.line - ahead for frame in error.traceback() if frame.filename not in own_files]
    last = code.count("\n") + 1
    name, message = str(error.display("type-msg")).partition(":")[0], error.display("msg")
    kind: Kind = "syntax" if isinstance(error, MontySyntaxError) else _kind(name, message, raised)
    if kind in ("raised", "names") and max(lines, default=0) > last:
        text = f"the answer cannot be used: {name}: {message}"
        if name == "NameError":
            text = "the program has no answer: it ended before `output` was set"
        return ProgramFault("answer", text)
    line = next((line for line in reversed(lines) if 0 < line <= last), None)
    hint = " (the sandbox has only a part of Python: write it another way)" if kind == "missing" else ""
    return ProgramFault(kind, at_line(code, line, f"{name}: {message}{hint}"), line)


def _kind(name: str, message: str, raised: Collection[str]) -> Kind:
    if any(raised_message and raised_message in message for raised_message in raised):
        return "raised"
    if name in ("MemoryError", "RecursionError") or (
        name in ("TimeoutError", "RuntimeError") and _LIMIT_WORDS.search(message)
    ):
        return "limit"
    undefined = _UNDEFINED.match(message) if name == "NameError" else None
    if undefined:
        return "missing" if hasattr(builtins, undefined[1]) else "names"
    if name in ("SyntaxError", "IndentationError"):
        return "syntax"
    attribute = _NO_ATTRIBUTE.match(message)
    is_in_python = attribute and hasattr(getattr(builtins, attribute[1], None), attribute[2])
    return "missing" if is_in_python or _MISSING_WORDS.search(message) else "raised"
