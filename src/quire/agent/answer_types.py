"""The value that an answer is to be: its JSON schema for the model, and how its words are read."""

import re
from typing import Any, cast

from quire.agent.tools.arguments import read_json, read_value
from quire.agent.tools.shapes import Definitions, Misfit, Shape, Shaper
from quire.errors import InvalidValue, WrongType, cut

_FENCED = re.compile(r"\A\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_WRAPPED = "value"
"""The field that holds what is no object itself: providers want an object outside."""


class AnswerType:
    """A type of answers."""

    schema: dict[str, Any] | None = None
    """What a model is held to; none where any words will do."""

    def __init__(self, kind: Any) -> None:
        self.name = getattr(kind, "__name__", str(kind))
        self._shape: Shape | None = None
        if kind is str:
            return
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
        words = unfenced(text)
        try:
            if self._is_object:
                return _read(self._shape, read_json(words))
            return _unwrapped(self._shape, read_value(words))
        except Misfit as fault:
            raise InvalidValue(str(fault)) from None


def unfenced(text: str) -> str:
    """What a model wrote, without the fence that all of it stands in, if it does."""
    fenced = _FENCED.match(text)
    return fenced.group(1) if fenced else text


def answer_type(kind: Any) -> AnswerType | None:
    """The type that an answer is to have; none where nobody asks for a value."""
    return None if kind is None else AnswerType(kind)


def _read(shape: Shape, value: Any) -> Any:
    try:
        return shape.read(value, False)
    except Misfit:
        return shape.read(value, True)


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
