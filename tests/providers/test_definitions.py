"""Tools as any provider's clients are given them, on every wire."""

import json
from typing import Any

import pytest

from quire.errors import InvalidValue, WrongType
from quire.items import Message
from quire.providers import PROVIDERS

ASKED = [Message("user", "look")]
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}


@pytest.mark.parametrize("field", ["function_declarations", "functionDeclarations"])
@pytest.mark.parametrize("wire", PROVIDERS)
def test_functions_in_one_entry_are_tools_of_every_wire(wire: str, field: str) -> None:
    functions: list[dict[str, Any]] = [{"name": "look", "parameters": SCHEMA}, {"name": "leave"}]
    rendered = PROVIDERS[wire].render(ASKED, tools=[{field: functions}])
    apart = PROVIDERS[wire].render(ASKED, tools=functions)
    assert rendered.payload == apart.payload and rendered.downgrades == ()
    assert '"look"' in json.dumps(rendered.payload) and '"leave"' in json.dumps(rendered.payload)
    assert PROVIDERS[wire].check(rendered.payload) == []


@pytest.mark.parametrize("wire", PROVIDERS)
def test_one_name_twice_is_refused_also_across_entries(wire: str) -> None:
    twice: list[dict[str, Any]] = [{"functionDeclarations": [{"name": "look"}]}, {"name": "look"}]
    with pytest.raises(InvalidValue, match="two tools are called 'look'"):
        PROVIDERS[wire].render(ASKED, tools=twice)


@pytest.mark.parametrize("wrong", ["look", {"name": "look"}, [["look"]], [{"functionDeclarations": "look"}]])
def test_what_is_no_list_of_definitions_is_refused(wrong: object) -> None:
    with pytest.raises(WrongType):
        PROVIDERS["openai"].render(ASKED, tools=wrong)  # type: ignore[arg-type]  # pyright: ignore
