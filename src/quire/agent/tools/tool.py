"""Functions that a model may call: the decorator, the options of a tool, and the function's signature."""

import asyncio
import copy
import functools
import inspect
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from inspect import Parameter
from types import FunctionType, MappingProxyType, MethodType, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypedDict,
    Union,
    Unpack,
    cast,
    get_args,
    get_origin,
    overload,
)

import msgspec

from quire.agent.tools.arguments import Json, Misfit, read_json
from quire.agent.tools.output import MAX_OUTPUT, Allowance
from quire.agent.tools.schema import Fields, documented, hints_of
from quire.errors import InvalidLimit, InvalidValue, WrongType, cut
from quire.items import MAX_TEXT, freeze
from quire.providers import read_tools
from quire.session import Session
from quire.state import Pool
from quire.tokens import Definition, named, number, whole

Approve = bool | Callable[[Mapping[str, Any]], bool]
"""Whether a person approves calls: all of them, or those whose arguments a function says yes to."""

Kind = Literal["plain", "async", "generator"]

_BINDABLE = (FunctionType, classmethod, staticmethod)
_ANY_NUMBER = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_INJECTED = {Session: "a session", Pool: "a pool", Allowance: "an allowance"}


class Chosen(TypedDict, total=False):
    """The options by name, as `tool` takes them; see `Options`."""

    name: str | None
    description: str | None
    timeout: float | None
    lock: bool
    idempotent: bool
    approve: Approve
    asks_person: bool
    max_output: int
    fixed: Mapping[str, Any]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What one chooses for a tool.

    With `lock` its calls run one at a time. An `idempotent` tool is run again when it is unknown whether a
    call ran. `fixed` arguments are set here; no model sees or changes them. A call of a tool that
    `asks_person` waits for a person's answer, and the function is not run.
    """

    name: str | None = None
    description: str | None = None
    timeout: float | None = None
    lock: bool = False
    idempotent: bool = False
    approve: Approve = False
    asks_person: bool = False
    max_output: int = MAX_OUTPUT
    fixed: Mapping[str, Any] = {}

    def __post_init__(self) -> None:
        if self.name is not None:
            named(self.name, "the name of a tool")
        if not isinstance(self.description, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a description is a text, not {type(self.description).__name__}")
        if self.timeout is not None and number(self.timeout, "a timeout", 0) == 0:
            raise InvalidLimit("a timeout is more than 0 seconds; None means no timeout")
        for name in ("lock", "idempotent", "asks_person"):
            if not isinstance(value := getattr(self, name), bool):
                raise WrongType(f"{name} is true or false, not {type(value).__name__}")
        if not isinstance(self.approve, bool) and not callable(self.approve):
            raise WrongType(f"approve is true, false or a function, not {type(self.approve).__name__}")
        if whole(self.max_output, "max_output", least=1) > MAX_TEXT:
            raise InvalidLimit(f"max_output is above {MAX_TEXT:,}, the most that one result may have")
        if not isinstance(self.fixed, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"fixed arguments are given by name, not as {type(self.fixed).__name__}")


class Bound(NamedTuple):
    """Arguments as a function is called with them."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Injected(NamedTuple):
    """A parameter that the engine fills in: its type, and what it is where there is nothing to fill in."""

    kind: type
    otherwise: Any


class Signature:
    """The parameters of a function: which of them a model fills in, and which the engine does.

    `order` has all parameters, `injected` those that the engine fills in, `fixed` the arguments that are set
    already. `returns` is the return annotation, or None.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        fixed: Mapping[str, Any] | None = None,
        names: Mapping[str, Any] | None = None,
    ) -> None:
        hints = _hints_of(function, names or {})
        self.returns: Any = hints.get("return")
        self.order = _parameters_of(function)
        self.fixed = {**(function.keywords if isinstance(function, partial) else {}), **(fixed or {})}
        self.injected: dict[str, Injected] = {}
        self._docstring = docstring_of(function)  # pyright: ignore[reportUnknownArgumentType]
        annotations: dict[str, Any] = {}
        defaults: dict[str, Any] = {}
        rest = None
        for index, parameter in enumerate(self.order):
            name, hint = parameter.name, hints.get(parameter.name, Any)
            if index == 0 and name in ("self", "cls"):
                hint = Any  # the object fills it in, once the method is bound
            if name in self.fixed:
                continue
            if injected := _injected(hint, parameter):
                self.injected[name] = injected
            elif parameter.kind in _ANY_NUMBER and hint is Any:
                raise WrongType(f"the parameter {name!r} takes any arguments: annotate it, or name them")
            elif parameter.kind is Parameter.VAR_KEYWORD:
                rest = hint
            elif parameter.kind is Parameter.VAR_POSITIONAL:
                annotations[name], defaults[name] = list.__class_getitem__(hint), ()
            else:
                annotations[name] = hint
                if parameter.default is not Parameter.empty:
                    defaults[name] = _checked_default(parameter)
        self._fields = _fields(annotations, defaults, rest)
        unknown = [name for name in self.fixed if name not in {one.name for one in self.order}]
        if unknown and rest is None:
            raise InvalidValue(f"there is no parameter {cut(unknown[0])!r} to fix")

    def schema(self) -> Json:
        """The schema of what a model fills in."""
        return self._fields.schema(documented(self._docstring).parameters)

    def read(self, given: Mapping[str, Any]) -> Json:
        """The arguments of a model, validated, with the function's defaults for others; or a `Misfit`."""
        for name in given:
            if name in self.injected or name in self.fixed:
                raise Misfit(f"there is no argument {cut(name)!r}")
        return self._fields.read(given, noun="argument")

    def inject(
        self,
        session: Session | None = None,
        pool: Pool | None = None,
        allowance: Allowance | None = None,
    ) -> Json:
        """What the engine fills in. The pool is a copy: a tool reads it, and returns notes to be kept."""
        values: Json = {}
        for name, wanted in self.injected.items():
            value: Any = session if wanted.kind is Session else allowance
            if wanted.kind is Pool:
                value = pool.fork() if pool is not None else session and session.pool.copy()
            values[name] = wanted.otherwise if value is None else value
            if values[name] is Parameter.empty:
                needed = _INJECTED[wanted.kind]
                raise InvalidValue(f"the tool's parameter {name!r} needs {needed}, and none is given")
        return values

    def bind(self, values: Mapping[str, Any]) -> Bound:
        """Values by name, in their places."""
        names = {parameter.name: parameter for parameter in self.order}
        arguments = {name: value for name, value in values.items() if name in names}
        rest = {name: value for name, value in values.items() if name not in names}
        if rest:
            arguments[self.order[-1].name] = rest
        bound = inspect.BoundArguments(inspect.Signature(self.order), OrderedDict(arguments))
        return Bound(bound.args, bound.kwargs)


class Tool:
    """A function that a model may call. Called, it is the function itself, with nothing checked or filled in.

    `names` are names that annotations in quotes may use beside those of the function's module. A `signature`
    replaces the function's own.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        options: Options | None = None,
        names: Mapping[str, Any] | None = None,
        *,
        signature: Signature | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self._options = options or Options()
        self._names = dict(names or {})
        self.function: Any = function
        self.name = named(self._options.name or _name_of(function), "the name of a tool")
        self.__name__ = getattr(function, "__name__", self.name)
        self.__doc__ = docstring_of(function)
        self.lock = Lock() if self._options.lock else None
        self.kind: Kind = _kind_of(function)
        self._has_own_signature = signature is None
        if signature is not None:
            self.__dict__["signature"] = signature
        else:
            with suppress(NameError):  # a name in quotes may be defined later; other faults are raised now
                self.__dict__["signature"] = self._read_signature()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function as it is."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Tool {self.name!r}>"

    @overload
    def __get__(self, instance: None, owner: type) -> "Tool": ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> "Tool": ...
    def __get__(self, instance: object, owner: type | None = None) -> "Tool":
        """The tool of an object: a method that is a tool, bound to its object."""
        bound: Any = self.function
        if type(self.function) in _BINDABLE and self._has_own_signature:
            bound = self.function.__get__(instance, owner)
        if bound is self.function:
            return self
        tool = copy.copy(self)
        functools.update_wrapper(tool, bound)
        tool.function = bound
        for name in ("signature", "definition"):
            tool.__dict__.pop(name, None)
        return tool

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @functools.cached_property
    def signature(self) -> Signature:
        """The parameters of the function."""
        try:
            return self._read_signature()
        except NameError as fault:
            raise WrongType(f"the tool {cut(self.name)!r}: {fault}") from None

    def _read_signature(self) -> Signature:
        try:
            return Signature(self.function, self._options.fixed, self._names)
        except (WrongType, InvalidValue) as fault:
            raise type(fault)(f"the tool {cut(self.name)!r}: {fault}") from None

    @functools.cached_property
    def definition(self) -> Definition:
        """The tool as models see it: a name, a description and a JSON schema."""
        parameters = self.signature.schema()
        shown: Definition = freeze(
            {"name": self.name, "description": self.description, "parameters": parameters}
        )
        return shown

    @property
    def description(self) -> str:
        """What the tool does, in words for a model."""
        given = self._options.description
        return documented(self.__doc__).description if given is None else given

    @property
    def timeout(self) -> float | None:
        """Seconds that a call may take; `None` means any."""
        return self._options.timeout

    @property
    def is_idempotent(self) -> bool:
        """Whether a call that may have run can be run again."""
        return self._options.idempotent

    @property
    def asks_person(self) -> bool:
        """Whether a person answers its calls, and the function is not run."""
        return self._options.asks_person

    @property
    def approve(self) -> Approve:
        """Whether a person approves each call, or the function that says of which."""
        return self._options.approve

    @property
    def max_output(self) -> int:
        """Characters of its output that a model is shown; longer output goes to the pool."""
        return self._options.max_output

    @property
    def version(self) -> str:
        """A digest of the definition."""
        return blake2b(msgspec.json.encode(self.definition), digest_size=8).hexdigest()

    def needs_approval(self, arguments: str | Mapping[str, Any]) -> bool:
        """Whether a person has to approve a call. A call with wrong arguments needs none: it is not run."""
        if not self.approve:
            return False
        try:
            read = self.signature.read(read_json(arguments))
        except Misfit:
            return False
        try:
            return self.approve is True or bool(cast(Any, self.approve)(read))
        except Exception:  # a call is not harmless because the check failed
            return True


class Lock:
    """Lets one call in at a time, in order of arrival, from any event loop. Any thread may release it."""

    _PAUSE = 0.002

    def __init__(self) -> None:
        self._line: list[object] = []

    async def acquire(self) -> None:
        """Wait until all earlier callers have released the lock."""
        ticket = object()
        self._line.append(ticket)
        try:
            while self._line[0] is not ticket:
                await asyncio.sleep(self._PAUSE)
        except BaseException:
            self._line.remove(ticket)
            raise

    def release(self) -> None:
        """Let the next caller in."""
        del self._line[0]


@overload
def tool(function: Callable[..., Any], /, **chosen: Unpack[Chosen]) -> Tool: ...
@overload
def tool(**chosen: Unpack[Chosen]) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None, /, **chosen: Unpack[Chosen]
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a function a tool: `@tool`, `@tool(timeout=5)` or `tool(function, name="other")`.

    The schema comes from its signature, the descriptions from its docstring. See `Options` for the rest.
    """
    # Annotations in quotes may use names that are local to where the function is declared.
    caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    names = {} if caller.f_locals is caller.f_globals else dict(caller.f_locals)
    options = Options(**chosen)
    return partial(_made, options, names) if function is None else _made(options, names, function)


class Toolset(NamedTuple):
    """Tools by name, and the definitions of all, those that a provider runs included."""

    tools: Mapping[str, Tool]
    definitions: tuple[Definition, ...]


def tools_of(values: Iterable[Tool | Callable[..., Any] | Definition]) -> Toolset:
    """Tools, plain functions and definitions of tools that a provider runs; no two have the same name."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"tools are a list, not {type(cast(object, values)).__name__}")
    given: list[Any] = list(values)
    definitions: list[Definition] = [one for one in given if isinstance(one, Mapping)]
    tools = [
        one if isinstance(one, Tool) else _made(Options(), {}, one)
        for one in given
        if not isinstance(one, Mapping)
    ]
    every = (*(one.definition for one in tools), *definitions)
    names: set[str] = set()
    for one in read_tools(every):
        if one.name in names:
            raise InvalidValue(f"two tools are called {cut(one.name)!r}")
        names.add(one.name)
    return Toolset(MappingProxyType({one.name: one for one in tools}), every)


def _made(options: Options, names: Mapping[str, Any], function: Any) -> Tool:
    if isinstance(function, Tool):
        raise InvalidValue(f"{cut(function.name)!r} is a tool already")
    if not callable(function) and not isinstance(function, classmethod):
        raise WrongType(f"a tool is a function, not {type(function).__name__}")
    return Tool(cast("Callable[..., Any]", function), options, names)


def written_function(function: Any) -> Any:
    """The function that somebody wrote, beneath partials, methods and wrappers."""
    while True:
        if isinstance(function, partial):
            function = cast(Any, function).func
        elif isinstance(function, MethodType | classmethod | staticmethod):
            function = cast(Any, function).__func__
        elif (wrapped := getattr(function, "__wrapped__", None)) is not None:
            function = wrapped
        elif inspect.isroutine(function) or isinstance(function, type):
            return function
        else:  # an object that can be called
            function = type(function).__call__


def docstring_of(function: Callable[..., Any]) -> str | None:
    """The docstring of a function; of an object that can be called, that of its class."""
    written = written_function(function)
    own = function.__doc__ if isinstance(function, FunctionType | MethodType) else None
    described = type(function).__doc__ if type(function).__module__ != "functools" else None
    return own or written.__doc__ or (described if written is type(function).__call__ else None)


def _name_of(function: Callable[..., Any]) -> str:
    of = function if hasattr(function, "__name__") else getattr(function, "func", type(function))
    name = str(getattr(of, "__name__", type(of).__name__))
    if name == "<lambda>":
        raise InvalidValue("a function without a name needs one: tool(name=...)")
    return name


def _kind_of(function: Callable[..., Any]) -> Kind:
    inner: Any = getattr(function, "__func__", function)
    for one in (inner, getattr(inner.__class__, "__call__", None)):  # noqa: B004  # an object may be called too
        if inspect.isasyncgenfunction(one):
            return "generator"
        if inspect.iscoroutinefunction(one):
            return "async"
    return "plain"


def _parameters_of(function: Any) -> tuple[Parameter, ...]:
    try:
        # A classmethod that is not bound has no signature of its own.
        inner: Any = cast(Any, function).__func__ if isinstance(function, classmethod) else function
        return tuple(inspect.signature(inner).parameters.values())
    except (ValueError, TypeError):
        raise WrongType("the function does not say which parameters it takes") from None


def _hints_of(function: Callable[..., Any], names: Mapping[str, Any]) -> Json:
    written = written_function(function)
    return hints_of(getattr(written, "__init__") if isinstance(written, type) else written, names)  # noqa: B009


def _injected(hint: Any, parameter: Parameter) -> Injected | None:
    if get_origin(hint) is Annotated:
        return _injected(get_args(hint)[0], parameter)
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    others = [member for member in members if member is not NoneType]
    if len(others) != 1 or others[0] not in _INJECTED:
        return None
    is_optional = len(others) < len(members) and parameter.default is Parameter.empty
    return Injected(others[0], None if is_optional else parameter.default)


def _checked_default(parameter: Parameter) -> Any:
    if type(parameter.default).__name__ == "FieldInfo":
        raise WrongType(
            f"the default of {parameter.name!r} is a field of pydantic's: put it in Annotated[...]"
        )
    return parameter.default


def _fields(annotations: Mapping[str, Any], defaults: Mapping[str, Any], rest: Any) -> Fields:
    for name, annotation in annotations.items():
        try:
            Fields({name: annotation})
        except WrongType as fault:
            raise WrongType(f"the parameter {name!r}: {fault}") from None
    return Fields(annotations, defaults, rest)
