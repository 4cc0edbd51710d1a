"""Gemini: functions with any parameters, with some, and with none."""

from typing import Any

import pytest

from quire.items import Message
from quire.providers import PROVIDERS

GEMINI = PROVIDERS["gemini"]


def declared(schema: Any) -> dict[str, Any]:
    sent = GEMINI.render([Message("user", "Go.")], tools=[{"name": "save", "parameters": schema}])
    assert GEMINI.check(sent.payload) == []
    (function,) = sent.payload["config"]["tools"][0]["function_declarations"]
    return function  # type: ignore[no-any-return]


@pytest.mark.parametrize("more", [{}, True, {"type": "any"}, {"type": "string"}])
def test_a_function_that_takes_anything_says_so(more: Any) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": more}
    written = declared(schema)["parameters_json_schema"]
    assert written["additionalProperties"] == ({} if more == {"type": "any"} else more)


@pytest.mark.parametrize("schema", [None, {"type": "object"}, {"type": "object", "properties": {}}])
def test_a_function_that_takes_nothing_has_no_parameters(schema: Any) -> None:
    assert declared(schema) == {"name": "save"}
    closed = {**(schema or {"type": "object"}), "additionalProperties": False}
    assert declared(closed) == {"name": "save"}
