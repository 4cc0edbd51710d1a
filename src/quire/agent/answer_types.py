"""The value that an answer is to be: its JSON schema for the model, and how its words are read."""

import re
from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, cast

from quire.agent.answer_faults import faults_in
from quire.agent.tools import Misfit, read_json, read_value
from quire.agent.tools.shapes import Definitions, Shape, Shaper
from quire.context import Template
from quire.errors import InvalidValue, WrongType, cut
from quire.models import AnswerShape, schema_message
from quire.sections import Instructions

_FENCED = re.compile(r"\A\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_FENCE = re.compile(r"^[ \t]*```.*$", re.MULTILINE)
_OBJECT = re.compile(r"[^{\[]*(\{.*\})[^}\]]*", re.DOTALL)
_SECTION = "shape of the answer"
_WRAPPED = "value"
"""The field that holds what is no object itself: providers want an object outside."""


class AnswerType:
    """A type of answers."""

    schema: dict[str, Any] | None = None
    """What a model is held to; none where any words will do."""

    def __init__(self, kind: Any) -> None:
        self.name = getattr(kind, "__name__", str(kind))
        self._shape: Shape | None = None
        self._told: tuple[Template, Template] | None = None
        if kind is str:
            return
        if not isinstance(kind, Hashable):  # a list or a schema is no type
            raise WrongType(f"an answer has a type, such as a dataclass, not {type(kind).__name__}")
        try:
            self._shape = Shaper().shape(kind)
        except NameError as fault:
            raise WrongType(f"an answer cannot be a {cut(self.name)}: {fault}") from None
        definitions = Definitions()
        schema = self._shape.schema(definitions)
        self._is_object = schema.get("type") == "object" and "properties" in schema
        self.schema = definitions.written(schema if self._is_object else _around(schema))

    def __repr__(self) -> str:
        return f"<AnswerType {self.name}>"

    def read(self, text: str) -> Any:
        """The value that a model wrote, or an `InvalidValue` with words that it can be told."""
        if self._shape is None:
            return text
        value = self._json(text)
        try:
            return _read(self._shape, value) if self._is_object else _unwrapped(self._shape, value)
        except Misfit as fault:
            several = self._faults(value)
            raise InvalidValue("; ".join(several) if len(several) > 1 else str(fault)) from None

    def told_in(self, template: Template, shape: AnswerShape) -> Template:
        """The template of a turn: it tells the schema in words where nothing else holds a model to it."""
        if self.schema is None or shape.is_enforced:
            return template
        if self._told is None or self._told[0] is not template:
            self._told = (template, telling(template, self.schema))
        return self._told[1]

    def _json(self, text: str) -> Any:
        read = read_json if self._is_object else read_value
        try:
            return read(unfenced(text))
        except Misfit as fault:
            for words in _within(text):
                with suppress(Misfit):
                    return read(words)
            raise InvalidValue(_of_an_answer(str(fault))) from None

    def _faults(self, value: Any) -> list[str]:
        schema = self.schema or {}
        if self._is_object or (isinstance(value, dict) and _WRAPPED in value):
            return faults_in(value, schema)
        return faults_in({_WRAPPED: value}, schema)


def unfenced(text: str) -> str:
    """What a model wrote, without the fence that all of it stands in, if it does."""
    fenced = _FENCED.match(text)
    return fenced.group(1) if fenced else text


def _within(text: str) -> Iterator[str]:
    """What may be the answer among other words: the only block in fences, or the one object."""
    fences = [*islice(_FENCE.finditer(text), 3)]
    if len(fences) == 2:
        yield text[fences[0].end() : fences[1].start()]
    if found := _OBJECT.fullmatch(text):
        yield found.group(1)


def telling(template: Template, schema: Mapping[str, Any]) -> Template:
    """A template that tells the schema of an answer in words, at its end.

    What is before that is as in any other turn, so what a provider has cached of it still serves.
    """
    return template.add(Instructions([schema_message(schema)], _SECTION, stability="volatile"))


def answer_type(kind: Any) -> AnswerType | None:
    """The type that an answer is to have; none where nobody asks for a value."""
    return None if kind is None else AnswerType(kind)


def _read(shape: Shape, value: Any) -> Any:
    try:
        return shape.read(value, False)
    except Misfit:
        return shape.read(value, True)


def _of_an_answer(fault: str) -> str:
    """A fault in words for an answer: it is read as the arguments of a call are."""
    for verb, instead in (("are", "is"), ("have", "has"), ("hold", "holds")):
        fault = fault.replace(f"the arguments {verb} ", f"the answer {instead} ", 1)
    return fault


def _around(schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {_WRAPPED: schema},
        "required": [_WRAPPED],
        "additionalProperties": False,
    }


def _unwrapped(shape: Shape, value: Any) -> Any:
    """A value that was asked for in an object around it, with or without that."""
    inside = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if _WRAPPED not in inside:
        return _read(shape, value)
    try:
        return _read(shape, inside[_WRAPPED])
    except Misfit as fault:
        try:
            return _read(shape, value)
        except Misfit:
            raise fault from None
