"""Tools of Anthropic's on clouds: those that its own servers run are refused there, the others are not."""

from typing import Any

import pytest

from quire.items import Message
from quire.providers import PROVIDERS

BEDROCK = ["us.anthropic.claude-opus-4-8-v1:0", "bedrock/claude-opus-4-8", "anthropic.claude-opus-4-8"]
VERTEX = ["vertex_ai/claude-opus-4-8", "claude-opus-4-5@20251101"]
RUN_THERE: list[dict[str, Any]] = [
    {"type": "web_search_20250305", "name": "web_search"},
    {"type": "web_fetch_20260209", "name": "web_fetch"},
    {"type": "code_execution_20260120", "name": "code_execution"},
    {"type": "mcp_toolset", "mcp_server_name": "crm"},
]
RUN_HERE: list[dict[str, Any]] = [
    {"type": "bash_20250124", "name": "bash"},
    {"type": "memory_20250818", "name": "memory"},
    {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
    {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
]


def kinds(model: str) -> tuple[set[str], list[str]]:
    tools = [*RUN_THERE, *RUN_HERE]
    rendered = PROVIDERS["anthropic"].render([Message("user", "Hi.")], model=model, tools=tools)
    changes = [str(note.change) for note in rendered.downgrades]
    return {tool["type"] for tool in rendered.payload["tools"]}, changes


@pytest.mark.parametrize("model", BEDROCK)
def test_bedrock_gets_none_that_anthropics_servers_run(model: str) -> None:
    assert kinds(model) == ({tool["type"] for tool in RUN_HERE}, ["tools_left_out"] * len(RUN_THERE))


@pytest.mark.parametrize("model", VERTEX)
def test_vertex_runs_the_search_alone(model: str) -> None:
    taken = {"web_search_20250305", *(tool["type"] for tool in RUN_HERE)}
    assert kinds(model) == (taken, ["tools_left_out"] * 3)


@pytest.mark.parametrize("model", [*BEDROCK, *VERTEX])
@pytest.mark.parametrize("direct", [[], ["direct"]])
def test_where_no_code_runs_a_tool_is_not_for_code_alone(model: str, direct: list[str]) -> None:
    tool: dict[str, Any] = {
        "name": "look",
        "input_schema": {},
        "allowed_callers": [*direct, "code_execution_20260120"],
    }
    rendered = PROVIDERS["anthropic"].render(
        [Message("user", "Hi.")], model=model, tools=[RUN_THERE[2], tool]
    )
    assert [one["name"] for one in rendered.payload["tools"]] == ["look"]
    assert "allowed_callers" not in rendered.payload["tools"][0]
    assert [note.change for note in rendered.downgrades] == ["tools_left_out", "fields_left_out"]


def test_anthropic_gets_all() -> None:
    assert kinds("claude-opus-4-8") == ({tool["type"] for tool in [*RUN_THERE, *RUN_HERE]}, [])
