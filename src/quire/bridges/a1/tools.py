"""A1's tools and agents: functions with schemas, and what an agent is to do with them."""

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
        self._schema, self._injected, self.returns = schema, {}, None

    def schema(self) -> Json:
        """The JSON schema."""
        return {"properties": {}, **schema_of(self._schema)}

    def read(self, arguments: Mapping[str, Any]) -> Json:
        """The fields of a valid value."""
        known = self.schema()["properties"]
        for name in arguments:
            if name not in known:
                raise Misfit(f"there is no input {cut(name)!r}; there is {', '.join(known)}")
        value = read_as(self._schema, dict(arguments))
        return {name: getattr(value, name) for name in known}


# Tools


class Tool(EngineTool):
    """A function that programs, models and code may call. Its input is validated.

    Without schemas, the annotations of `execute` say what it takes and returns. With an output schema, a
    dictionary that it returns becomes a value of the schema. The result of a tool that `is_terminal` is the
    answer of the model that calls it.
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
        own = None if input_schema is None else _SchemaSignature(input_schema)
        function = execute if output_schema is None else _converting(execute, output_schema)
        super().__init__(function, name=name, description=description, signature=own)
        if output_schema is not None:
            self.signature.returns = output_schema
        self.input_schema = input_schema
        self.output_schema = self.signature.returns
        self.execute = execute
        self.is_terminal = is_terminal

    async def __call__(self, /, *args: Any, **input: Any) -> Any:
        """Call the function with a valid input."""
        placed = zip(signature(self.function).parameters, args, strict=False)
        try:
            read = self.signature.read({**dict(placed), **input})
        except Misfit as fault:
            raise InvalidValue(f"the input of {cut(self.name)!r}: {fault}") from None
        result = self.function(**read)
        return await result if isawaitable(result) else result


def _converting(execute: Callable[..., Any], output_schema: Any) -> Callable[..., Any]:
    """The function, with the dictionaries that it returns as values of a schema."""

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


def as_tool(given: Any) -> EngineTool:
    """A tool as it is, or a plain function as a tool."""
    return given if isinstance(given, EngineTool) else Tool(execute=given)


def model_of(tool: object) -> AnyModel | None:
    """The model of an LLM tool; `None` for any other."""
    return tool.model if isinstance(tool, Tool) else None


# Agents


class Agent:
    """A task by its schemas and tools. A runtime has programs written that do it.

    Without schemas, it has a text as its `input`, and another as its output.
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
        self.tools = [as_tool(one) for one in tools]
        models = [model for one in self.tools if (model := model_of(one)) is not None]
        self.task = Task(
            name,
            description,
            input=input_schema,
            output=output_schema,
            tools=[one for one in self.tools if model_of(one) is None],
            models=models,
            constants=self._schemas() if models else {},
        )

    def _schemas(self) -> dict[str, Json]:
        """JSON schemas by name, which programs give to models as `output_schema`."""
        outputs = [one.output_schema for one in self.tools if isinstance(one, Tool)]
        found: dict[str, Json] = {}
        for schema in (self.output_schema, self.input_schema, *outputs):
            for kind in _models_within(schema, set()):
                if kind.__name__.isidentifier() and kind.__name__ != "Output":  # the type of the answer
                    found.setdefault(kind.__name__, schema_of(kind))
        return found
