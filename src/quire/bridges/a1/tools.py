"""A1's tools: functions with schemas, called with a value, a text or by name."""

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial, wraps
from inspect import Parameter, Signature, isawaitable, iscoroutinefunction
from typing import Any, NamedTuple, cast, overload

from quire.agent import Tool as Function
from quire.agent.tools import Misfit, Options, hints_of, written_function
from quire.bridges.a1.schemas import (
    checked_schema,
    fields_of,
    is_model,
    made_schema,
    result_of,
    signature_of,
)
from quire.errors import InvalidValue, WrongType, cut
from quire.models import AnyModel


class Tool(Function):
    """A function that programs, models and code may call. Called, its input is validated.

    `execute` is the function. Without schemas, what it takes and gives is what its annotations say; where
    there is an output schema, a dictionary that it gives becomes a value of that. `names` are those that
    annotations in quotes may use beside those of the function's module.
    """

    model: AnyModel | None = None
    """Who answers, where the tool is a model. It is the only thing that makes one a model's tool."""

    def __init__(
        self,
        *,
        name: str,
        execute: Callable[..., Any],
        description: str | None = None,
        input_schema: Any = None,
        output_schema: Any = None,
        is_terminal: bool = False,
        names: Mapping[str, Any] | None = None,
    ) -> None:
        if not callable(execute):
            raise WrongType(f"what a tool executes is a function, not {type(execute).__name__}")
        given = None if input_schema is None else checked_schema(input_schema, "an input_schema")
        self._names = dict(names or {})
        if output_schema is None:
            output_schema = _returned(execute, self._names)
        gives = None if output_schema is None else checked_schema(output_schema, "an output_schema")
        function = _shaped(execute, given, gives, name)
        super().__init__(function, Options(name=name, description=description), self._names)
        if given is not None:
            self.__dict__["signature"] = signature_of(given, self.function)
        self._given = given
        self.execute: Callable[..., Any] = execute
        self.output_schema = gives
        self.is_terminal = is_terminal

    @cached_property
    def input_schema(self) -> Any:
        """What it takes, as a model of pydantic."""
        if self._given is not None:
            return self._given
        hints = hints_of(written_function(self.function), self._names)
        fields = {
            one.name: (hints.get(one.name, Any), ... if one.default is one.empty else one.default)
            for one in self.signature.order
        }
        return made_schema(f"{self.name}_Input", fields)

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it with one value of a model, with a text for its `content`, or by name."""
        try:
            read = self.signature.read(self._by_name(args, kwargs))
        except Misfit as fault:
            raise InvalidValue(f"the input of {cut(self.name)!r}: {fault}") from None
        bound = self.signature.bind({**read, **self.signature.fixed})
        given = self.function(*bound.args, **bound.kwargs)
        return await given if isawaitable(given) else given

    def _by_name(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        if not args:
            return dict(kwargs)
        if len(args) == 1 and is_model(args[0]):
            return {**fields_of(args[0]), **kwargs}
        if (
            len(args) == 1
            and isinstance(args[0], str)
            and "content" in self.definition["parameters"]["properties"]
        ):
            return {"content": args[0], **kwargs}
        raise WrongType(
            f"{cut(self.name)!r} is called with a value of a model, with a text for its `content`, or by name"
        )


class ToolSet(NamedTuple):
    """Tools that belong together, other sets among them."""

    name: str
    description: str = ""
    tools: Iterable[Any] = ()


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *, name: str | None = None, description: str | None = None, is_terminal: bool = False
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    is_terminal: bool = False,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a function a tool: `@tool`, or `@tool(name="add", description="Add two numbers")`."""
    # Annotations in quotes may name what is local to where the function is declared.
    caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    names = {} if caller.f_locals is caller.f_globals else dict(caller.f_locals)
    making = partial(_made, name=name, description=description, is_terminal=is_terminal, names=names)
    return making if function is None else making(function)


def as_tool(given: Any) -> Function:
    """A tool, of A1's or of the engine's, as it is; a plain function as a tool."""
    return given if isinstance(given, Function) else _made(given)


def flattened(tools: Any) -> tuple[Function, ...]:
    """Tools, functions, and lists and `ToolSet`s of them, in one row."""
    if isinstance(tools, ToolSet):
        return flattened(tools.tools)
    if isinstance(tools, list | tuple):
        row = cast("Iterable[Any]", tools)
        return tuple(one for inner in row for one in flattened(inner))
    return (as_tool(tools),)


def model_of(tool: object) -> AnyModel | None:
    """Who answers, where a tool is a model."""
    return tool.model if isinstance(tool, Tool) else None


def _made(function: Any, name: str | None = None, **chosen: Any) -> Tool:
    if isinstance(function, Function):
        raise InvalidValue(f"{cut(function.name)!r} is a tool already")
    if not callable(function):
        raise WrongType(f"a tool is a function, not {type(function).__name__}")
    own = getattr(function, "__name__", type(function).__name__)
    if name is None and own == "<lambda>":
        raise InvalidValue("a function without a name is a tool only under a name: tool(name=...)")
    return Tool(name=name or own, execute=function, **chosen)


def _returned(function: Any, names: Mapping[str, Any]) -> Any:
    """The model that a function is annotated to give, if it is one."""
    try:
        hint = hints_of(written_function(function), names).get("return")
    except (NameError, WrongType):
        return None
    return hint if hasattr(hint, "model_fields") else None


def _shaped(execute: Any, given: Any, gives: Any, name: str) -> Any:
    """The function that is called: all of an input as one value where there is a schema for it."""
    if given is None and gives is None:
        return execute

    def finished(value: Any) -> Any:
        return _awaited(value) if isawaitable(value) else result_of(gives, value, name)

    async def _awaited(value: Any) -> Any:
        return result_of(gives, await value, name)

    if given is None:
        return _like(execute, lambda *args, **kwargs: finished(execute(*args, **kwargs)))

    def with_fields(values: Any) -> Any:
        return finished(execute(**fields_of(values)))

    shaped = _like(execute, with_fields)
    del shaped.__wrapped__
    shaped.__annotations__ = {"values": given, **({} if gives is None else {"return": gives})}
    shaped.__signature__ = Signature([Parameter("values", Parameter.POSITIONAL_OR_KEYWORD)])
    return shaped


def _like(execute: Any, call: Callable[..., Any]) -> Any:
    """A function that is awaited where the one it stands for is; others may run in threads of their own."""

    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return await call(*args, **kwargs)

    return wraps(execute)(awaited if iscoroutinefunction(execute) else call)
