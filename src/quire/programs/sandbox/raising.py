"""Errors on their way in and out: what a host function raised, and what a program died of."""

import builtins
import re
from collections.abc import Collection, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from quire.programs.faults import Kind, ProgramFault, at_line
from quire.programs.sandbox.lacked import TYPES
from quire.programs.sandbox.naming import bindings
from quire.programs.sandbox.own_calls import written_at
from quire.programs.sandbox.own_errors import is_own_error, lines_passed
from quire.programs.sandbox.source import AHEAD, tree_of

if TYPE_CHECKING:
    from pydantic_monty import MontyError

_KNOWN = {
    *("ArithmeticError", "OverflowError", "ZeroDivisionError", "LookupError", "IndexError", "KeyError"),
    *("RuntimeError", "NotImplementedError", "AttributeError", "NameError", "ValueError", "OSError"),
    *("FileNotFoundError", "FileExistsError", "IsADirectoryError", "NotADirectoryError", "PermissionError"),
    *("AssertionError", "TypeError", "TimeoutError", "ImportError", "ModuleNotFoundError"),
}
"""Builtin errors that a program can catch by their names."""

_LONGEST_MESSAGE = 2_000
_LIMITS = re.compile(
    "memory limit|time limit|duration|maximum recursion depth|recursion limit|max_suspensions|suspension"
)
_LACKING = re.compile(
    r"does not yet support|not supported in this environment|cannot suspend in this synchronous context"
    r"|^(No module named|cannot import|Wildcard imports)"
    r"|^callable replacement is not yet supported|^'list' object is not an iterator$"
    r"|^cannot convert '(list|range|set|tuple)' object to bytes$"
    r"|^unsupported operand type\(s\) for [*/]: 'datetime\.timedelta' and 'float'"
    r"|^unsupported operand type\(s\) for \*: 'float' and 'datetime\.timedelta'"
    r"|^(Pattern\.\w+|asyncio\.run)\(\) takes exactly one argument"
    r"|^re\.Match\.\w+\(\) takes no keyword arguments"
)
_KEYWORD = re.compile(r"^([\w.]+)\(\) got an unexpected keyword argument ")
_NO_FRACTION = "'float' object cannot be interpreted as an integer"
_LIMIT_KINDS = {"MemoryError", "RecursionError", "TimeoutError", "RuntimeError"}
_LACKING_KINDS = {"NotImplementedError", "ModuleNotFoundError", "ImportError", "RuntimeError", "TypeError"}
_MODULE_LACKS = re.compile(r"^module '\w+' has no attribute ")
_TYPE_LACKS = re.compile(r"^(?:type object )?'([\w.]+)'(?: object)? has no attribute '(\w+)'")
_BARE = ("collections.Counter",)
"""Types of modules that the sandbox tells of without their modules."""

_TYPES: dict[str, type] = {
    **TYPES,
    **{path.rpartition(".")[2]: TYPES[path] for path in _BARE},
    "builtin_function_or_method": BuiltinFunctionType,
    "function": FunctionType,
}
_UNDEFINED = re.compile(r"^name '(\w+)' is not defined")


def raised_inside(error: BaseException) -> Any:
    """An error of a host function as the program gets it: its nearest builtin, with its message."""
    kinds = (kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
    name = next((kind for kind in kinds if kind in _KNOWN), "RuntimeError")
    # A KeyError prints its argument in quotes, and the one in the sandbox will do so again.
    said = _words(error)
    bare = isinstance(error, KeyError) and len(error.args) == 1 and said == repr(error.args[0])
    text = str(error.args[0]) if bare else said
    return {"exc_type": name, "message": (text or type(error).__name__)[:_LONGEST_MESSAGE]}


def _words(error: BaseException) -> str:
    """What an error says; one of somebody's own may fail at that."""
    try:
        return str(error)
    except Exception:
        return ""


def fault_of(
    error: "MontyError",
    code: str,
    printed: str,
    raised: Collection[str] = (),
    ahead: Collection[str] = (),
    put_in: Sequence[int] = (),
) -> ProgramFault:
    """What a program died of, with its line; lines of ours stood before it as it was given.

    `raised` is what functions said that it called: whatever that reads like, the program did not lack it.
    What is in texts of the names `ahead` is ours, and so is a line before each of the lines `put_in`.
    """
    from pydantic_monty import MontyCrashedError, MontyRuntimeError, MontySyntaxError, MontyTypingError

    if isinstance(error, MontyCrashedError):
        reason = "it computed for too long" if error.timed_out else "its worker ended under it"
        return ProgramFault("limit", f"the program was stopped: {reason}", printed=printed)
    if isinstance(error, MontyTypingError):
        return ProgramFault("types", error.display(), printed=printed)
    if not isinstance(error, MontyRuntimeError | MontySyntaxError):
        return ProgramFault("raised", str(error), printed=printed)
    others = {*ahead, "<string>"}
    frames = [frame for frame in error.traceback() if frame.filename not in others]
    lines = [written_at(frame.line - AHEAD, put_in) for frame in frames]
    ends, message = code.count("\n") + 1, error.display("msg")
    within = [line for line in lines if 0 < line <= ends]
    name, line = _name_of(error), within[-1] if within else None
    died = _Died(name, message, code, line)
    kind: Kind = "syntax" if isinstance(error, MontySyntaxError) else died.kind(raised)
    if kind in ("raised", "names") and max(lines, default=0) > ends:
        return ProgramFault("answer", _no_answer(name, message), printed=printed)
    return died.fault(kind, printed)


class _Died(NamedTuple):
    """An error that a program died of, and the line that it is told by."""

    name: str
    message: str
    code: str
    line: int | None

    def kind(self, raised: Collection[str]) -> Kind:
        if self.message in raised or is_own_error(self.name, tree_of(self.code), self.line):
            return "raised"
        is_refused = self.name == "TypeError" and _is_refused(self.message, self.code, self.line)
        kind = _kind(self.name, self.message, raised)
        return "missing" if kind == "raised" and is_refused else kind

    def fault(self, kind: Kind, printed: str) -> ProgramFault:
        text = f"{self.name}: {self.message}{_lacking(kind)}"
        if kind != "syntax" and self.line is not None:
            among = lines_passed(self.name, tree_of(self.code), self.line)
            if len(among) > 1:
                return ProgramFault(kind, f"lines {among[0]} to {among[-1]}: {text}", printed=printed)
        return ProgramFault(kind, at_line(self.code, self.line, text), self.line, printed)


def _name_of(error: Any) -> str:
    return str(error.display("type-msg")).partition(":")[0]


def _kind(name: str, message: str, raised: Collection[str]) -> Kind:
    if any(_reads_like_ours(said) and said in message for said in raised):
        return "raised"
    if name in ("MemoryError", "RecursionError") or (name in _LIMIT_KINDS and _LIMITS.search(message)):
        return "limit"
    if name in _LACKING_KINDS and _LACKING.search(message):
        return "missing"
    if name == "AttributeError" and (_MODULE_LACKS.search(message) or _is_pythons(message)):
        return "missing"
    undefined = _UNDEFINED.match(message) if name == "NameError" else None
    if undefined:
        return "missing" if hasattr(builtins, undefined[1]) else "names"
    return "syntax" if name in ("SyntaxError", "IndentationError") else "raised"


def _is_refused(message: str, code: str, line: int | None) -> bool:
    """Whether a function of Python's own was given what it takes there, and not in the sandbox."""
    if message == _NO_FRACTION and line is not None:
        return "timedelta" in code.split("\n")[line - 1]
    refused = _KEYWORD.match(message)
    return refused is not None and not {*refused[1].split(".")} & {
        name for _, name in bindings(tree_of(code))
    }


def _reads_like_ours(said: str) -> bool:
    """Whether what a function said would be taken for the sandbox's own words where it is told again."""
    return _LACKING.search(said) is not None or _LIMITS.search(said) is not None


def _is_pythons(message: str) -> bool:
    """Whether this says that a type has not what it has in Python."""
    lacks = _TYPE_LACKS.match(message)
    return lacks is not None and hasattr(_TYPES.get(lacks[1], getattr(builtins, lacks[1], None)), lacks[2])


def _lacking(kind: Kind) -> str:
    return " (the sandbox has only a part of Python: write it another way)" if kind == "missing" else ""


def _no_answer(name: str, message: str) -> str:
    if name == "NameError":
        return "the program has no answer: it ended before `output` was set"
    return f"the answer cannot be taken: {name}: {message}"
