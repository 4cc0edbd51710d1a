"""Typed answers: the JSON schema that is sent to the model, and its text read as a value."""

import re
from collections.abc import Hashable, Mapping
from contextlib import suppress
from typing import Any, cast

from quire.agent.tools import Misfit, read_as, read_value, schema_of
from quire.context import Template
from quire.errors import InvalidValue, WrongType
from quire.models import AnswerShape, schema_message
from quire.sections import Instructions

_FENCED = re.compile(r"\A\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_JSON_INSIDE = re.compile(r"[{\[].*[}\]]", re.DOTALL)
_WRAPPER = "value"
"""The field that wraps a value that is not an object: providers require an object at the top."""


class AnswerType:
    """The type of an answer. `schema` is the JSON schema that the answer must fit; `None` allows any text."""

    def __init__(self, kind: Any) -> None:
        self.name = getattr(kind, "__name__", str(kind))
        self.schema: dict[str, Any] | None = None
        self._kind = kind
        self._with_schema: tuple[Template, Template] | None = None  # a template, and the same with the schema
        if kind is str:
            return
        if isinstance(kind, Mapping):
            self.name, self.schema, self._kind, self._is_object = "JSON", dict(cast(Any, kind)), Any, True
            return
        if not isinstance(kind, Hashable):
            raise WrongType(f"the output of an answer must be a type, such as a dataclass, not {kind!r:.80}")
        schema = schema_of(kind)
        self._is_object = schema.get("type") == "object" and "properties" in schema
        self.schema = schema if self._is_object else _wrap(schema)

    def read(self, text: str) -> Any:
        """Read a model's text as a value. `InvalidValue` tells the model what is wrong."""
        if self.schema is None:
            return text
        value = _read_json_answer(text)
        if not self._is_object and isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            value = fields[_WRAPPER] if set(fields) == {_WRAPPER} else fields
        try:
            return read_as(self._kind, value)
        except Misfit as fault:
            raise InvalidValue(str(fault)) from None

    def in_template(self, template: Template, shape: AnswerShape) -> Template:
        """The template, with the schema in words if the provider does not enforce it."""
        if self.schema is None or shape.is_enforced:
            return template
        if self._with_schema is None or self._with_schema[0] is not template:
            self._with_schema = (template, with_schema(template, self.schema))
        return self._with_schema[1]


def with_schema(template: Template, schema: Mapping[str, Any]) -> Template:
    """The template with the schema of the answer in words, at its end: what comes before stays cached."""
    return template.add(Instructions([schema_message(schema)], "schema of the answer", stability="volatile"))


def unfenced(text: str) -> str:
    """A text without the code fence that encloses it, if there is one."""
    fenced = _FENCED.match(text)
    return fenced.group(1) if fenced else text


def _read_json_answer(text: str) -> Any:
    """Read a JSON text; models also write a sentence before or after it."""
    try:
        return read_value(unfenced(text))
    except Misfit as fault:
        if inside := _JSON_INSIDE.search(text):
            with suppress(Misfit):
                return read_value(inside.group())
        raise InvalidValue(str(fault).replace("the arguments are", "the answer is", 1)) from None


def _wrap(schema: dict[str, Any]) -> dict[str, Any]:
    definitions = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
    return {
        "type": "object",
        "properties": {_WRAPPER: schema},
        "required": [_WRAPPER],
        "additionalProperties": False,
        **definitions,
    }
