"""Tasks: a description for programs, their inputs, the functions they may call, the type of the answer."""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, cast

import msgspec

from quire.agent.tools import Fields, Json, Misfit, Tool, read_as, schema_of, tools_of
from quire.errors import InvalidValue, WrongType, cut
from quire.models import AnyModel, Model
from quire.programs.source import ProgramFault
from quire.programs.stubs import Declared, stubs_of
from quire.programs.values import legal_name, plain, returned_by
from quire.session import checked_type, free_name
from quire.tokens import named

_VERSION = 2
"""Part of each task's version: a new number makes kept programs obsolete."""

MODEL_PARAMETERS: Mapping[str, Any] = MappingProxyType(
    {
        "type": "object",
        "properties": {
            "prompt": {"type": "string"},
            "output_schema": {"anyOf": [{"type": "object"}, {"type": "null"}], "default": None},
        },
        "required": ["prompt"],
        "additionalProperties": False,
    }
)
"""The parameters of a model as a function of a program."""

_MODEL_DESCRIPTION = (
    "Ask the language model {name}. It sees only the prompt. It answers with text, or, given a JSON schema "
    "as output_schema, with a value that fits the schema."
)


class Task:
    """A task for programs. `input` is a type with fields, or a mapping of names to types.

    A program has its inputs as variables, calls tools by their names, asks models as `llm_a`, `llm_b` and so
    on (a single model also as `llm`), and answers with a value of the type `output`. `constants` are further
    variables, the same for every input; a constant whose name is used otherwise is left out.
    """

    def __init__(
        self,
        name: str,
        description: str = "",
        *,
        input: Any = None,
        output: Any = str,
        tools: Iterable[Any] = (),
        models: Iterable[AnyModel | str] = (),
        constants: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.name = named(name, "the name of a task")
        self.description = checked_type(description, str, "a description must be a text")
        self.tools = _by_legal_name(tools)
        self.models = _by_letter(models, self.tools)
        self.input, self._read_input = _input_of({"input": str} if input is None else input)
        """The JSON schema of the input."""
        if "properties" not in self.input:
            raise WrongType("the input of a task must be a type with fields, or types by name")
        self.output_type = output
        self.output = _schema_of(output)
        """The JSON schema of the answer."""
        self._variables: dict[str, str] = {}
        for key in self.input["properties"]:
            reserved = {*self.tools, *self.models, *self._variables.values()}
            self._variables[key] = legal_name(key, reserved)
        reserved = {"output", "Output", *self.tools, *self.models, *self._variables.values()}
        self._constants = {name: value for name, value in constants.items() if name not in reserved}

    def __repr__(self) -> str:
        return f"<Task {self.name!r} of {len(self.tools)} tools and {len(self.models)} models>"

    @property
    def names(self) -> frozenset[str]:
        """The names of a program's variables and functions."""
        return frozenset((*self._variables.values(), *self._constants, *self.tools, *self.models))

    @cached_property
    def declared(self) -> tuple[Declared, ...]:
        """The functions that a program may call."""
        tools = (
            Declared(name, tool.description, tool.definition["parameters"], returned_by(tool))
            for name, tool in self.tools.items()
        )
        models = (
            Declared(name, _MODEL_DESCRIPTION.format(name=model.name), MODEL_PARAMETERS)
            for name, model in self.models.items()
        )
        return (*tools, *models)

    @cached_property
    def stubs(self) -> str:
        """The variables, functions and types that a program may use, as Python text for the model."""
        return stubs_of(self.declared, self._inputs(), self.output)

    @cached_property
    def checker_stubs(self) -> str:
        """The stubs for the type checker, with loose types for values that a program receives."""
        return stubs_of(self.declared, self._inputs(), self.output, loose=True)

    def _inputs(self) -> Mapping[str, Any]:
        """The schema of the inputs under the names of a program's variables."""
        renamed = {self._variables[key]: schema for key, schema in self.input["properties"].items()}
        renamed |= {name: {"type": "object"} for name in self._constants}
        return {**self.input, "properties": renamed, "required": list(renamed)}

    @cached_property
    def version(self) -> str:
        """A digest of everything that a program for this task depends on."""
        parts: dict[str, Any] = {
            "format": _VERSION,
            "name": self.name,
            "description": self.description,
            "input": self.input,
            "output": self.output,
            "tools": [(name, tool.version, returned_by(tool)) for name, tool in self.tools.items()],
            "models": [(name, model.name) for name, model in self.models.items()],
            "constants": self._constants,
        }
        return blake2b(msgspec.json.encode(plain(parts)), digest_size=16).hexdigest()

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The input as JSON values with defaults filled in, or an `InvalidValue`."""
        checked_type(given, Mapping, "the input must be a mapping of values by name")
        properties = self.input["properties"]
        try:
            for key in given:
                if key not in properties:  # some types ignore unknown fields
                    raise Misfit(f"there is no input {cut(str(key))!r}; there is {', '.join(properties)}")
            values = plain(self._read_input(plain(dict(given))))
        except Misfit as fault:
            raise InvalidValue(f"the input of {cut(self.name)!r}: {fault}") from None
        return {key: values.get(key, schema.get("default")) for key, schema in properties.items()}

    def variables(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values of an input by the names of a program's variables."""
        return self._constants | {self._variables[key]: value for key, value in values.items()}

    def answer(self, value: Any) -> Any:
        """The answer of a program as a value of the type `output`, or a `ProgramFault`."""
        try:
            return read_as(self.output_type, value)
        except Misfit as fault:
            raise ProgramFault("answer", f"the answer does not fit: {fault}") from None


def _input_of(kind: Any) -> tuple[Json, Callable[[Any], Any]]:
    """The JSON schema of an input, and a function that reads it."""
    if not isinstance(kind, Mapping):
        return _resolve(_schema_of(kind)), partial(read_as, kind)
    kinds = cast("Mapping[str, Any]", kind)
    for field_kind in kinds.values():
        _schema_of(field_kind)
    fields = Fields(kinds)
    return fields.schema(), lambda values: fields.read(values, "input")


def _schema_of(kind: Any) -> Json:
    if isinstance(kind, Mapping):
        raise WrongType("a task must have types, such as a TypedDict or a model, not JSON schemas")
    try:
        return schema_of(kind)
    except NameError as fault:
        raise WrongType(f"a task cannot have a type that is not defined: {fault}") from None


def _resolve(schema: Json) -> Json:
    """A schema with its outermost reference resolved."""
    definitions: Json = schema.get("$defs", {})
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    return {**definitions[name], "$defs": definitions} if name in definitions else schema


def _by_legal_name(tools: Iterable[Any]) -> Mapping[str, Tool]:
    toolbox = tools_of(tools)
    if len(toolbox.definitions) > len(toolbox.tools):
        raise InvalidValue("a program can only call tools that run in this process")
    tool_by_name: dict[str, Tool] = {}
    for name, tool in toolbox.tools.items():
        tool_by_name[legal_name(name, tool_by_name, is_function=True)] = tool
    return MappingProxyType(tool_by_name)


def _by_letter(models: Iterable[AnyModel | str], reserved: Mapping[str, Tool]) -> Mapping[str, AnyModel]:
    if isinstance(models, str):
        raise WrongType("models must be a list, not a text")
    opened = [Model(model) if isinstance(model, str) else model for model in models]
    model_by_name: dict[str, AnyModel] = {}
    for model in opened:
        model_by_name[free_name("llm", {*model_by_name, *reserved})] = model
    if len(opened) == 1 and "llm" not in reserved:
        model_by_name["llm"] = opened[0]
    return MappingProxyType(model_by_name)
