"""A1's tools and agents: functions with schemas, and what an agent is to do with them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial, wraps
from inspect import isasyncgenfunction, isawaitable, iscoroutinefunction
from typing import Any, TypeGuard, cast, get_args, overload

import msgspec

from quire.agent.tools import (
    Bound,
    Json,
    Misfit,
    Options,
    Signature,
    Tool as Function,
    read_as,
    schema_of,
)
from quire.errors import InvalidValue, WrongType, cut
from quire.models import AnyModel
from quire.programs import Task

# Schemas


class Input(msgspec.Struct):
    """The input of an agent without an input schema."""

    input: str


class Output(msgspec.Struct):
    """The output of an agent without an output schema."""

    output: str


def _checked_schema(schema: Any, name: str) -> Any:
    if not isinstance(schema, type):
        kind = type(schema).__name__
        raise WrongType(f"{name} is a pydantic model or another type with fields, not a {kind}")
    return schema


def _fields_of(value: Any) -> dict[str, Any]:
    """The fields of a value of a schema, by name."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    kind: Any = type(cast("object", value))
    for fields in ("model_fields", "__struct_fields__", "__dataclass_fields__"):
        if hasattr(kind, fields):
            return {name: getattr(value, name) for name in getattr(kind, fields)}
    raise WrongType(f"a {kind.__name__} has no fields")


def _models_within(kind: Any, seen: set[Any]) -> Iterator[type]:
    """The pydantic models in a type, from the outside in."""
    if isinstance(kind, type) and hasattr(kind, "model_fields") and kind not in seen:
        seen.add(kind)
        yield kind
        for field in cast("Any", kind).model_fields.values():
            yield from _models_within(field.annotation, seen)
    for inner in get_args(kind):
        yield from _models_within(inner, seen)


class _SchemaSignature(Signature):
    """The fields of a schema as the parameters of a function."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self.order, self.fixed, self.injected, self.returns = (), {}, {}, None

    def schema(self) -> Json:
        """The JSON schema."""
        return {"properties": {}, **schema_of(self._schema)}

    def read(self, given: Mapping[str, Any]) -> Json:
        """The fields of a valid value."""
        return _fields_of(read_as(self._schema, dict(given)))

    def bind(self, values: Mapping[str, Any]) -> Bound:
        """Values by name."""
        return Bound((), dict(values))


# Tools


class Tool(Function):
    """A function that programs, models and code may call. Its input is validated.

    Without schemas, the annotations of `execute` say what it takes and returns. With an output schema, a
    dictionary that it returns becomes a value of the schema.
    """

    model: AnyModel | None = None
    """The model that answers, if the tool is an `LLM`."""

    def __init__(
        self,
        *,
        name: str,
        execute: Callable[..., Any],
        description: str | None = None,
        input_schema: Any = None,
        output_schema: Any = None,
        is_terminal: bool = False,
    ) -> None:
        if not callable(execute):
            raise WrongType(f"execute is a function, not {type(execute).__name__}")
        self.input_schema = None if input_schema is None else _checked_schema(input_schema, "input_schema")
        self._output = None if output_schema is None else _checked_schema(output_schema, "output_schema")

        @wraps(execute)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            return self._result(await execute(*args, **kwargs))

        @wraps(execute)
        def called(*args: Any, **kwargs: Any) -> Any:
            return self._result(execute(*args, **kwargs))

        function: Callable[..., Any] = awaited if iscoroutinefunction(execute) else called
        function = execute if isasyncgenfunction(execute) else function
        signature = None if input_schema is None else _SchemaSignature(input_schema)
        super().__init__(function, Options(name=name, description=description), signature=signature)
        if self._output is not None:
            self.signature.returns = self._output
        self.execute = execute
        self.is_terminal = is_terminal

    @property
    def output_schema(self) -> Any:
        """The schema of the result, if there is one."""
        returns = self.signature.returns
        return returns if self._output is not None or hasattr(returns, "model_fields") else None

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the tool with one value of a model, with a text for its `content`, or by name."""
        try:
            read = self.signature.read(self.by_name(args, kwargs))
        except Misfit as fault:
            raise InvalidValue(f"the input of {cut(self.name)!r}: {fault}") from None
        bound = self.signature.bind({**read, **self.signature.fixed})
        result = self.function(*bound.args, **bound.kwargs)
        return await result if isawaitable(result) else result

    def by_name(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call by name."""
        if not args:
            return dict(kwargs)
        if len(args) == 1 and hasattr(type(cast("object", args[0])), "model_fields"):
            return {**_fields_of(args[0]), **kwargs}
        if len(args) == 1 and isinstance(args[0], str) and "content" in self.signature.schema()["properties"]:
            return {"content": args[0], **kwargs}
        raise WrongType(
            f"{cut(self.name)!r} is called with a value of a model, with a text for its `content`, or by name"
        )

    def _result(self, value: Any) -> Any:
        schema = self.output_schema
        if schema is None or not isinstance(value, Mapping):
            return value
        try:
            return read_as(schema, dict(cast("Mapping[str, Any]", value)))
        except Misfit as fault:
            raise InvalidValue(f"the result of {cut(self.name)!r}: {fault}") from None


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
    make = partial(_made, name=name, description=description, is_terminal=is_terminal)
    return make if function is None else make(function)


def _made(function: Any, name: str | None = None, **options: Any) -> Tool:
    if isinstance(function, Function) or not callable(function):
        raise WrongType(f"a tool is made of a function, not of {type(function).__name__}")
    own_name: str = getattr(function, "__name__", type(function).__name__)
    if name is None and own_name == "<lambda>":
        raise InvalidValue("a function without a name needs one: tool(name=...)")
    return Tool(name=name or own_name, execute=function, **options)


def as_tool(given: Any) -> Function:
    """A tool as it is, or a plain function as a tool."""
    return given if isinstance(given, Function) else _made(given)


def flattened(tools: Any) -> tuple[Function, ...]:
    """Tools, functions and lists of them, in one row."""
    if isinstance(tools, list | tuple):
        return tuple(one for inner in cast("Iterable[Any]", tools) for one in flattened(inner))
    return (as_tool(tools),)


def model_of(tool: object) -> AnyModel | None:
    """The model of an LLM tool; `None` for any other."""
    return tool.model if isinstance(tool, Tool) else None


def is_model(given: object) -> TypeGuard[AnyModel]:
    """Whether something answers by itself."""
    return callable(getattr(given, "send", None))


# Agents


class Agent:
    """A task by its schemas and tools. A runtime has programs written that do it."""

    def __init__(
        self,
        name: str = "agent",
        description: str = "",
        input_schema: Any = None,
        output_schema: Any = None,
        tools: Iterable[Any] = (),
    ) -> None:
        self.name = name
        self.description = description
        given = Input if input_schema is None else input_schema
        self.input_schema = _checked_schema(given, "input_schema")
        returned = Output if output_schema is None else output_schema
        self.output_schema = _checked_schema(returned, "output_schema")
        if not isinstance(tools, list | tuple):
            raise WrongType(f"the tools of an agent are a list, not {type(tools).__name__}")
        self.tools = flattened(tools)
        models = [model for one in self.tools if (model := model_of(one)) is not None]
        self.task = Task(
            name,
            description,
            input=self.input_schema,
            output=self.output_schema,
            tools=[one for one in self.tools if model_of(one) is None],
            models=models,
            constants=self._schemas() if models else {},
        )

    def given(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Input by the names of the schema: one value for a single field may have any name."""
        fields = self.task.input.get("properties", {})
        if len(values) == len(fields) == 1:
            return dict(zip(fields, values.values(), strict=True))
        return dict(values)

    def _schemas(self) -> dict[str, Json]:
        """JSON schemas by name, which programs give to models as `output_schema`."""
        outputs = [one.output_schema for one in self.tools if isinstance(one, Tool)]
        found: dict[str, Json] = {}
        for schema in (self.output_schema, self.input_schema, *outputs):
            for kind in _models_within(schema, set()):
                if kind.__name__.isidentifier() and kind.__name__ != "Output":  # the type of the answer
                    found.setdefault(kind.__name__, schema_of(kind))
        return found
