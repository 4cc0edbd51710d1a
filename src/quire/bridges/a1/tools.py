"""A1's tools, which are functions with schemas, and agents, which are tasks with tools."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from inspect import isawaitable, signature
from typing import Any, cast, get_args, overload

from quire.agent.tools import Json, Misfit, Signature, Tool as EngineTool, read_as, schema_of
from quire.errors import InvalidValue, cut
from quire.models import AnyModel
from quire.programs import Task

# Schemas


def _models_within(kind: Any, seen: set[Any]) -> Iterator[type]:
    """The pydantic models in a type, each before the models of its fields."""
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
        self._schema, self._injected, self.returns = schema, {}, None

    def schema(self) -> Json:
        """The JSON schema."""
        return {"properties": {}, **schema_of(self._schema)}

    def read(self, arguments: Mapping[str, Any]) -> Json:
        """Validate the arguments with the schema, and return the fields of the value."""
        fields = self.schema()["properties"]
        for name in arguments:
            if name not in fields:
                raise Misfit(f"there is no input {cut(name)!r}; there is {', '.join(fields)}")
        value = read_as(self._schema, dict(arguments))
        return {name: getattr(value, name) for name in fields}


# Tools


class Tool(EngineTool):
    """A function with validated input, for programs, models and code.

    Without schemas, the annotations of `execute` are used. With an output schema, a dictionary that `execute`
    returns becomes a value of the schema. If a model calls a tool that `is_terminal`, the tool's result is
    the model's answer.
    """

    model: AnyModel | None = None
    """The model that answers, if the tool is an `LLM`."""

    def __init__(
        self,
        *,
        execute: Callable[..., Any],
        name: str | None = None,
        description: str | None = None,
        input_schema: Any = None,
        output_schema: Any = None,
        is_terminal: bool = False,
    ) -> None:
        own_signature = None if input_schema is None else _SchemaSignature(input_schema)
        function = execute if output_schema is None else _converting(execute, output_schema)
        super().__init__(function, name=name, description=description, signature=own_signature)
        if output_schema is not None:
            self.signature.returns = output_schema
        self.input_schema = input_schema
        self.output_schema = self.signature.returns
        self.execute = execute
        self.is_terminal = is_terminal

    async def __call__(self, /, *args: Any, **input: Any) -> Any:
        """Validate the input, and call the function with it."""
        positional = dict(zip(signature(self.function).parameters, args, strict=False))
        try:
            valid = self.signature.read({**positional, **input})
        except Misfit as fault:
            raise InvalidValue(f"the input of {cut(self.name)!r}: {fault}") from None
        result = self.function(**valid)
        return await result if isawaitable(result) else result


def _converting(execute: Callable[..., Any], output_schema: Any) -> Callable[..., Any]:
    """A function that calls another and turns a dictionary that it returns into a value of a schema."""

    @wraps(execute)
    async def convert(*args: Any, **kwargs: Any) -> Any:
        result = execute(*args, **kwargs)
        value = await result if isawaitable(result) else result
        try:
            return read_as(output_schema, value) if isinstance(value, dict) else value
        except Misfit as fault:
            raise InvalidValue(f"the result of {cut(execute.__name__)!r}: {fault}") from None

    return convert


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

    def declare(function: Callable[..., Any]) -> Tool:
        return Tool(name=name, execute=function, description=description, is_terminal=is_terminal)

    return declare if function is None else declare(function)


def as_tool(tool: Any) -> EngineTool:
    """A tool as it is, or a tool made of a plain function."""
    return tool if isinstance(tool, EngineTool) else Tool(execute=tool)


def model_of(tool: object) -> AnyModel | None:
    """The model of an LLM tool; `None` for any other."""
    return tool.model if isinstance(tool, Tool) else None


# Agents


class Agent:
    """A task with schemas and tools, for which a runtime has programs written.

    Without schemas, its `input` is a text, and so is its output.
    """

    def __init__(
        self,
        name: str = "agent",
        description: str = "",
        input_schema: Any = None,
        output_schema: Any = str,
        tools: Iterable[Any] = (),
    ) -> None:
        self.name = name
        self.description = description
        self.input_schema = input_schema
        self.output_schema = output_schema
        self.tools = [as_tool(tool) for tool in tools]
        models = [model for tool in self.tools if (model := model_of(tool)) is not None]
        self.task = Task(
            name,
            description,
            input=input_schema,
            output=output_schema,
            tools=[tool for tool in self.tools if model_of(tool) is None],
            models=models,
            constants=self._schemas() if models else {},
        )

    def _schemas(self) -> dict[str, Json]:
        """JSON schemas by name: constants of a program that it can pass to models as `output_schema`."""
        outputs = [tool.output_schema for tool in self.tools if isinstance(tool, Tool)]
        schemas: dict[str, Json] = {}
        for schema in (self.output_schema, self.input_schema, *outputs):
            for kind in _models_within(schema, set()):
                name = kind.__name__
                if name.isidentifier() and name != "Output":  # programs have an Output already
                    schemas.setdefault(name, schema_of(kind))
        return schemas
