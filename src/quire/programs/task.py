"""Tasks: what a program is to do, its inputs, the functions it may call, and the type of its answer."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

import msgspec

from quire.agent.tools import Misfit, Tool, tools_of
from quire.errors import InvalidValue, WrongType, cut
from quire.models import AnyModel, Model
from quire.programs.source import ProgramFault
from quire.programs.stubs import Declared, stubs_of
from quire.programs.values import Inputs, Typed, legal_name, plain, returned_by
from quire.session import checked_type, free_name
from quire.tokens import named

_FORMAT = 2
"""Part of each version: a new number makes all kept programs be written again."""

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
    """What a program is to do. `input` is a type with fields, or a mapping of names to types.

    A program has its inputs as variables, calls tools by their names, asks models as `llm_a`, `llm_b` and so
    on (a single model also as `llm`), and answers with a value of the type `output`. `constants` are further
    variables, for every input the same; one whose name is taken is left out.
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
        self.description = checked_type(description, str, "a description is a text")
        self.tools = _by_legal_name(tools)
        self.models = _by_letter(models, self.tools)
        self._input = Inputs({"input": str} if input is None else input)
        self.output_type = output
        self._output = Typed(output)
        self._variables: dict[str, str] = {}
        for key in self._input.properties:
            taken = {*self.tools, *self.models, *self._variables.values()}
            self._variables[key] = legal_name(key, taken)
        taken = {"output", "Output", *self.tools, *self.models, *self._variables.values()}
        self._constants = {name: value for name, value in constants.items() if name not in taken}

    def __repr__(self) -> str:
        return f"<Task {self.name!r} of {len(self.tools)} tools and {len(self.models)} models>"

    @property
    def input(self) -> Mapping[str, Any]:
        """The JSON schema of the input."""
        return self._input.schema

    @property
    def output(self) -> Mapping[str, Any]:
        """The JSON schema of the answer."""
        return self._output.schema

    @property
    def names(self) -> frozenset[str]:
        """The variables and functions that a program is given."""
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
        """The same for the type checker, with loose types for what a program receives."""
        return stubs_of(self.declared, self._inputs(), self.output, loose=True)

    def _inputs(self) -> Mapping[str, Any]:
        """The schema of the inputs under the names of a program's variables."""
        renamed = {self._variables[key]: schema for key, schema in self._input.properties.items()}
        renamed |= {name: {"type": "object"} for name in self._constants}
        return {**self.input, "properties": renamed, "required": list(renamed)}

    @cached_property
    def version(self) -> str:
        """A digest of everything that a program for this task depends on."""
        parts: dict[str, Any] = {
            "format": _FORMAT,
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
        checked_type(given, Mapping, "the input is a mapping of values by name")
        try:
            return self._input.read(given)
        except Misfit as fault:
            raise InvalidValue(f"the input of {cut(self.name)!r}: {fault}") from None

    def variables(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values of an input by the names of a program's variables."""
        return self._constants | {self._variables[key]: value for key, value in values.items()}

    def answer(self, value: Any) -> Any:
        """The answer of a program as a value of the type `output`, or a `ProgramFault`."""
        try:
            return self._output.read(value)
        except Misfit as fault:
            raise ProgramFault("answer", f"the answer does not fit: {fault}") from None


def _by_legal_name(tools: Iterable[Any]) -> Mapping[str, Tool]:
    given = tools_of(tools)
    if len(given.definitions) > len(given.tools):
        raise InvalidValue("a program can only call tools that run in this process")
    found: dict[str, Tool] = {}
    for name, tool in given.tools.items():
        found[legal_name(name, found, is_function=True)] = tool
    return MappingProxyType(found)


def _by_letter(models: Iterable[AnyModel | str], taken: Mapping[str, Tool]) -> Mapping[str, AnyModel]:
    if isinstance(models, str):
        raise WrongType("models are a list, not a text")
    given = [Model(model) if isinstance(model, str) else model for model in models]
    found: dict[str, AnyModel] = {}
    for model in given:
        found[free_name("llm", {*found, *taken})] = model
    if len(given) == 1 and "llm" not in taken:
        found["llm"] = given[0]
    return MappingProxyType(found)
