"""Tools that a service brings, on both wires of OpenAI."""

from typing import Any

import pytest

from quire.errors import Downgraded
from quire.items import Message
from quire.providers import Anthropic, OpenAIChat, OpenAIResponses, read_tools
from tests.providers.openai_chat.laws import Wire

WIRES = [OpenAIChat(), OpenAIResponses()]
USER = [Message("user", "hi")]
OURS: dict[str, Any] = {"name": "look", "input_schema": {"type": "object", "properties": {}}}
FOREIGN: list[dict[str, Any]] = [
    {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
    {"type": "computer_use_20250305", "name": "computer"},
    {"type": "bash_20250124", "name": "bash"},
    {"google_search": {}},
]
OWN: list[dict[str, Any]] = [
    {"type": "web_search"},
    {"type": "web_search_2025_08_26"},
    {"type": "web_search_preview"},
    {"type": "web_search_preview_2025_03_11"},
    {"type": "file_search", "vector_store_ids": ["vs_1"]},
    {"type": "computer_use_preview", "display_width": 9, "display_height": 9, "environment": "linux"},
    {"type": "code_interpreter", "container": {"type": "auto"}},
    {"type": "mcp", "server_label": "a", "server_url": "https://example.com"},
    {"type": "image_generation"},
    {"type": "local_shell"},
    {"type": "shell"},
    {"type": "apply_patch"},
]
FORM = {"syntax": "lark", "definition": "start: /x/"}
FLAT = {"type": "custom", "name": "run", "description": "Runs.", "format": {"type": "grammar", **FORM}}
NESTED = {
    "type": "custom",
    "custom": {"name": "run", "description": "Runs.", "format": {"type": "grammar", "grammar": FORM}},
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("tool", FOREIGN)
def test_a_tool_of_another_service_is_left_out(wire: Wire, tool: dict[str, Any]) -> None:
    rendered = wire.render(USER, tools=[tool, OURS])
    assert len(rendered.payload["tools"]) == 1
    assert [downgrade.change for downgrade in rendered.downgrades] == ["tools_left_out"]
    assert "tools" not in wire.render(USER, tools=[tool]).payload
    with pytest.raises(Downgraded):
        wire.render(USER, tools=[tool], strict=True)


@pytest.mark.parametrize("tool", OWN)
def test_responses_has_tools_that_chat_has_not(tool: dict[str, Any]) -> None:
    rendered = OpenAIResponses().render(USER, tools=[tool], strict=True)
    assert rendered.payload["tools"] == [tool] and OpenAIResponses().check(rendered.payload) == []
    chat = OpenAIChat().render(USER, tools=[tool])
    assert "tools" not in chat.payload and chat.downgrades[0].change == "tools_left_out"


@pytest.mark.parametrize("tool", [FLAT, NESTED])
def test_a_tool_that_takes_any_text_goes_in_the_shape_of_the_wire(tool: dict[str, Any]) -> None:
    for wire, shape in zip(WIRES, (NESTED, FLAT), strict=True):
        payload = wire.render(USER, tools=[tool], strict=True).payload
        assert payload["tools"] == [shape] and wire.check(payload) == []


@pytest.mark.parametrize("form", [{}, {"format": {"type": "text"}}])
def test_a_tool_that_takes_any_text_may_have_no_grammar(form: dict[str, Any]) -> None:
    flat, nested = (
        {"type": "custom", "name": "run", **form},
        {"type": "custom", "custom": {"name": "run", **form}},
    )
    for tool in (flat, nested):
        assert OpenAIChat().render(USER, tools=[tool]).payload["tools"] == [nested]
        assert OpenAIResponses().render(USER, tools=[tool]).payload["tools"] == [flat]


def test_a_custom_tool_with_a_schema_is_a_function() -> None:
    tool = {"type": "custom", **OURS}
    assert OpenAIChat().render(USER, tools=[tool]).payload["tools"][0]["function"]["name"] == "look"
    assert Anthropic().render(USER, tools=[tool]).payload["tools"][0]["name"] == "look"


def test_tools_of_one_type_are_told_apart() -> None:
    other = {"type": "custom", "custom": {"name": "stop"}}
    servers = [{"type": "mcp", "server_label": label, "server_url": "https://example.com"} for label in "ab"]
    assert [tool.name for tool in read_tools([NESTED, other, *servers])] == ["a", "b", "run", "stop"]
