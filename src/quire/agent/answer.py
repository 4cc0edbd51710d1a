"""Answers of a type: the JSON schema that the model is given, and reading its text as a value."""

import re
from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, cast

from quire.agent.tools import Misfit, read_as, read_value, schema_of
from quire.context import Template
from quire.errors import InvalidValue, WrongType
from quire.models import AnswerShape, schema_message
from quire.sections import Instructions

_FENCED = re.compile(r"\A\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_FENCE = re.compile(r"^[ \t]*```.*$", re.MULTILINE)
_OBJECT = re.compile(r"[^{\[]*(\{.*\})[^}\]]*", re.DOTALL)
_WRAPPER = "value"
"""The field around a value that is no object: providers require an object at the top."""


class AnswerType:
    """The type of an answer. `schema` is what the model is held to; `None` if any text will do."""

    def __init__(self, kind: Any) -> None:
        self.name = getattr(kind, "__name__", str(kind))
        self.schema: dict[str, Any] | None = None
        self._kind = kind
        self._with_schema: tuple[Template, Template] | None = None
        if kind is str:
            return
        if not isinstance(kind, Hashable):
            raise WrongType(f"the output of an answer is a type, such as a dataclass, not {kind!r:.80}")
        schema = schema_of(kind)
        self._is_object = schema.get("type") == "object" and "properties" in schema
        self.schema = schema if self._is_object else _wrapped(schema)

    def __repr__(self) -> str:
        return f"<AnswerType {self.name}>"

    def read(self, text: str) -> Any:
        """The value of a model's text; `InvalidValue` with all faults, worded for the model."""
        if self.schema is None:
            return text
        value = _json_in(text)
        try:
            if self._is_object or not isinstance(value, dict) or _WRAPPER not in value:
                return read_as(self._kind, value)
            return self._unwrapped(cast("dict[str, Any]", value))
        except Misfit as fault:
            raise InvalidValue(str(fault)) from None

    def _unwrapped(self, value: dict[str, Any]) -> Any:
        try:
            return read_as(self._kind, value[_WRAPPER])
        except Misfit:
            with suppress(Misfit):
                return read_as(self._kind, value)  # a mapping with a key of this name
            raise

    def in_template(self, template: Template, shape: AnswerShape) -> Template:
        """The template, with the schema in words if nothing else holds the model to it."""
        if self.schema is None or shape.is_enforced:
            return template
        if self._with_schema is None or self._with_schema[0] is not template:
            self._with_schema = (template, with_schema(template, self.schema))
        return self._with_schema[1]


def answer_type(kind: Any) -> AnswerType | None:
    """The type of an answer, if one is asked for."""
    return None if kind is None else AnswerType(kind)


def with_schema(template: Template, schema: Mapping[str, Any]) -> Template:
    """A template that says the schema of the answer in words, at its end, so that caches of the rest hold."""
    return template.add(Instructions([schema_message(schema)], "schema of the answer", stability="volatile"))


def unfenced(text: str) -> str:
    """A text without the code fence around all of it, if there is one."""
    fenced = _FENCED.match(text)
    return fenced.group(1) if fenced else text


def _json_in(text: str) -> Any:
    try:
        return read_value(unfenced(text))
    except Misfit as fault:
        for part in _parts(text):
            with suppress(Misfit):
                return read_value(part)
        raise InvalidValue(str(fault).replace("the arguments are", "the answer is", 1)) from None


def _parts(text: str) -> Iterator[str]:
    """What may be the answer within other text: the only fenced block, or the only object."""
    fences = [*islice(_FENCE.finditer(text), 3)]
    if len(fences) == 2:
        yield text[fences[0].end() : fences[1].start()]
    if found := _OBJECT.fullmatch(text):
        yield found.group(1)


def _wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    definitions = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
    return {
        "type": "object",
        "properties": {_WRAPPER: schema},
        "required": [_WRAPPER],
        "additionalProperties": False,
        **definitions,
    }
