"""Functions that a model may call: the decorator, the tool, and the signature of its function."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from hashlib import blake2b
from inspect import Parameter
from types import MappingProxyType, NoneType, UnionType
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
    get_type_hints,
    overload,
)

import msgspec

from quire.agent.tools.output import MAX_OUTPUT, Allowance
from quire.agent.tools.schema import Fields, Json, Misfit, documented, read_json
from quire.errors import InvalidLimit, InvalidValue, WrongType, cut
from quire.items import MAX_TEXT, Origin, checked_origin, freeze
from quire.providers import read_tools
from quire.session import Session, check_names
from quire.state import Pool
from quire.tokens import Definition, named, number, whole

Approve = bool | Literal["if_untrusted"] | Callable[[Mapping[str, Any]], bool]
"""Which calls a person has to approve: with `True` all, with a function those for whose arguments it returns
true, with "if_untrusted" those of requests that show untrusted content since the user's last message."""

IF_UNTRUSTED = "if_untrusted"

Kind = Literal["plain", "async", "generator"]

_INJECTED = {Session: "a session", Pool: "a session", Allowance: "an allowance"}
_REFUSED_KINDS = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD, Parameter.POSITIONAL_ONLY)


class Signature:
    """The parameters of a function: those that a model fills in, and those that Quire injects.

    `returns` is the return annotation, or None. Arguments that a `functools.partial` sets by name are hidden
    from the model.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        inner = _unwrap(function)
        hints = get_type_hints(inner, include_extras=True)
        self.returns: Any = hints.get("return")
        self._injected: dict[str, tuple[type, Any]] = {}  # their types and defaults
        self._docstring = inspect.getdoc(inner)
        fixed: Json = cast(Any, function).keywords if isinstance(function, partial) else {}
        annotations: Json = {}
        defaults: Json = {}
        for name, parameter in inspect.signature(cast(Any, function)).parameters.items():
            hint = hints.get(name, Any)
            if name in fixed:
                continue
            if name in ("self", "cls") and name not in hints:
                raise WrongType("a method needs its object: tool(desk.greet)")
            if parameter.kind in _REFUSED_KINDS:
                raise WrongType(f"the parameter {name!r} cannot be given by name, as models do")
            if (injected := _injected_type(hint)) is not None:
                is_optional = NoneType in get_args(hint) and parameter.default is Parameter.empty
                self._injected[name] = (injected, None if is_optional else parameter.default)
                continue
            annotations[name] = hint
            if parameter.default is not Parameter.empty:
                defaults[name] = parameter.default
                if type(parameter.default).__name__ == "FieldInfo":
                    raise WrongType(f"the default of {name!r} is a field of pydantic's: put it in Annotated")
        self._fields = Fields(annotations, defaults)

    def schema(self) -> Json:
        """The schema of the arguments that a model fills in."""
        return self._fields.schema(documented(self._docstring).parameters)

    def read(self, arguments: Mapping[str, Any]) -> Json:
        """Validate a model's arguments and add the defaults; `Misfit` if they do not fit."""
        return self._fields.read(arguments, noun="argument")

    def inject(self, session: Session | None = None, allowance: Allowance | None = None) -> Json:
        """The arguments that Quire injects. The pool is a copy: a tool changes it by returning notes."""
        values: Json = {}
        for name, (kind, default) in self._injected.items():
            value: Any = allowance if kind is Allowance else session
            if kind is Pool and session is not None:
                value = session.pool.copy()
            values[name] = default if value is None else value
            if values[name] is Parameter.empty:
                raise InvalidValue(
                    f"the tool's parameter {name!r} needs {_INJECTED[kind]}, and none is given"
                )
        return values


class ToolOptions(TypedDict, total=False):
    """The options of a tool by name; see `Tool`."""

    name: str | None
    description: str | None
    timeout: float | None
    idempotent: bool
    approve: Approve
    asks_person: bool
    once: bool
    max_output: int
    trust: Origin


class Tool:
    """A function that a model may call. Called directly, it is the plain function: nothing is checked.

    - `name` and `description` replace those of the function.
    - A call may take `timeout` seconds.
    - An `idempotent` tool is run again if it is unknown whether a call ran.
    - Calls that `approve` selects wait for a person's approval.
    - A call of a tool that `asks_person` waits for a person's answer; the function is not run.
    - A tool that runs `once` returns its earlier result if a call with the same arguments succeeded before.
    - Its results have the origin `trust`: `external` if others write their content.
    - A model is shown `max_output` characters; longer output goes to the pool.
    - A `signature` replaces the function's own.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        timeout: float | None = None,
        idempotent: bool = False,
        approve: Approve = False,
        asks_person: bool = False,
        once: bool = False,
        max_output: int = MAX_OUTPUT,
        trust: Origin = "tool",
        signature: Signature | None = None,
    ) -> None:
        inner = _unwrap(function)
        functools.update_wrapper(self, inner)
        self.function: Any = function
        self.name = named(inner.__name__ if name is None else name, "the name of a tool")
        if self.name == "<lambda>":
            raise InvalidValue("a function without a name needs one: tool(name=...)")
        if not isinstance(description, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a description must be a text, not {type(description).__name__}")
        self._description = description
        self.timeout = timeout
        if timeout is not None and number(timeout, "a timeout", 0) == 0:
            raise InvalidLimit("a timeout must be more than 0 seconds; None means no timeout")
        self.is_idempotent, self.asks_person, self.once = idempotent, asks_person, once
        self.approve: Approve = approve
        if not isinstance(approve, bool) and approve != IF_UNTRUSTED and not callable(approve):
            raise WrongType(
                f"approve must be true, false, {IF_UNTRUSTED!r} or a function, not {cut(str(approve))}"
            )
        self.names_untrusted = approve == IF_UNTRUSTED
        """Whether its calls list the untrusted items of the request that they answer."""
        self.trust: Origin = checked_origin(trust)
        self.max_output = whole(max_output, "max_output", least=1)
        if max_output > MAX_TEXT:
            raise InvalidLimit(f"max_output must be at most {MAX_TEXT:,}, the most that one result may have")
        self.kind: Kind = "async" if inspect.iscoroutinefunction(inner) else "plain"
        if inspect.isasyncgenfunction(inner):
            self.kind = "generator"
        try:
            self.signature = Signature(function) if signature is None else signature
        except (WrongType, InvalidValue, NameError, TypeError, ValueError) as fault:
            raise WrongType(f"the tool {cut(self.name)!r}: {fault}") from None

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Tool {self.name!r}>"

    @functools.cached_property
    def definition(self) -> Definition:
        """The tool as models see it: a name, a description and a JSON schema."""
        parameters = self.signature.schema()
        definition: Definition = freeze(
            {"name": self.name, "description": self.description, "parameters": parameters}
        )
        return definition

    @property
    def description(self) -> str:
        """What the tool does, in words for a model."""
        return documented(self.__doc__).description if self._description is None else self._description

    @property
    def version(self) -> str:
        """A digest of the definition."""
        return blake2b(msgspec.json.encode(self.definition), digest_size=8).hexdigest()

    def needs_approval(self, arguments: str | Mapping[str, Any]) -> bool:
        """Whether a person has to approve a call. A call with wrong arguments needs none: it is not run."""
        if not self.approve:
            return False
        try:
            values = self.signature.read(read_json(arguments))
        except Misfit:
            return False
        try:
            return not callable(self.approve) or bool(cast(Any, self.approve)(values))
        except Exception:  # if the check fails, a person decides
            return True


@overload
def tool(function: Callable[..., Any], /, **options: Unpack[ToolOptions]) -> Tool: ...
@overload
def tool(**options: Unpack[ToolOptions]) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None, /, **options: Unpack[ToolOptions]
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a function a tool: `@tool`, `@tool(timeout=5)` or `tool(function, name="other")`.

    The schema comes from its signature, the descriptions from its docstring. See `Tool` for the options.
    """
    check_names(options, ToolOptions, "tool")
    return partial(Tool, **options) if function is None else Tool(function, **options)


class Toolset(NamedTuple):
    """Tools by name, and the definitions of all, including tools without a function."""

    tools: Mapping[str, Tool]
    definitions: tuple[Definition, ...]


def tools_of(values: Iterable[Tool | Callable[..., Any] | Definition]) -> Toolset:
    """A `Toolset` of tools, plain functions, and definitions of tools that the caller runs.

    The definitions of functions come first. Two tools of the same name are an error.
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"tools must be a list, not {type(cast(object, values)).__name__}")
    entries: list[Any] = list(values)
    definitions: list[Definition] = [entry for entry in entries if isinstance(entry, Mapping)]
    functions = [entry for entry in entries if not isinstance(entry, Mapping)]
    tools = [entry if isinstance(entry, Tool) else Tool(entry) for entry in functions]
    all_definitions = (*(one.definition for one in tools), *definitions)
    names: set[str] = set()
    for one in read_tools(all_definitions):
        if one.name in names:
            raise InvalidValue(f"two tools are called {cut(one.name)!r}")
        names.add(one.name)
    return Toolset(MappingProxyType({one.name: one for one in tools}), all_definitions)


def _unwrap(function: Any) -> Any:
    """The function or method beneath partials, or `WrongType`."""
    while isinstance(function, partial):
        function = cast(Any, function).func
    if not inspect.isroutine(function):
        raise WrongType(f"a tool must be a function or a method, not {type(function).__name__}")
    return function


def _injected_type(hint: Any) -> type | None:
    """The type of a parameter that Quire injects; None if a model fills the parameter in."""
    hint = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    others = [member for member in members if member is not NoneType]
    return next((kind for kind in _INJECTED if others == [kind]), None)
