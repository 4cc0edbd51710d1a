"""Tools of Anthropic's on Bedrock: those that its own servers run are refused there, the others are not."""

from typing import Any

import pytest

from quire.items import Message
from quire.providers import PROVIDERS

BEDROCK = ["us.anthropic.claude-opus-4-8-v1:0", "bedrock/claude-opus-4-8", "anthropic.claude-opus-4-8"]
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


def test_anthropic_gets_all() -> None:
    assert kinds("claude-opus-4-8") == ({tool["type"] for tool in [*RUN_THERE, *RUN_HERE]}, [])
