"""What stands around the messages in a request to Anthropic: instructions, tools, cache breakpoints."""

from typing import Any

import pytest

from quire.providers import check

Json = dict[str, Any]
ASK: Json = {"role": "user", "content": "What is new?"}
FIVE: Json = {"type": "ephemeral"}
HOUR: Json = {"type": "ephemeral", "ttl": "1h"}


def tool(name: str, **more: Any) -> Json:
    return {"name": name, "input_schema": {"type": "object", "properties": {}}, **more}


def body(*messages: Json, **more: Any) -> Json:
    return {"model": "claude-opus-5", "max_tokens": 100, "messages": list(messages or [ASK]), **more}


def said(words: str, **more: Any) -> Json:
    return {"role": "user", "content": [{"type": "text", "text": words, **more}]}


THOUGHT: Json = {"type": "thinking", "thinking": "hm", "signature": "c2ln", "cache_control": FIVE}
THINKING: Json = {"type": "adaptive"}

CITED: Json = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "x"},
    "citations": {"enabled": True},
}
PLAIN: Json = {**CITED, "citations": {"enabled": False}}
FOUND: Json = {
    "type": "search_result",
    "source": "s",
    "title": "t",
    "content": [{"type": "text", "text": "x"}],
}
USE: Json = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}


def turn(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def gave(*blocks: Json) -> Json:
    return turn({"type": "tool_result", "tool_use_id": "t", "content": list(blocks)})


def holding(*parts: Json) -> Json:
    return {"type": "document", "source": {"type": "content", "content": list(parts)}}


def picture(data: str = "iVBORw0KGgo=", kind: str = "image/png") -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


INSIDE = "messages[0].content[0].source.content[0]"
LETTERS: Json = {"type": "document", "source": {"type": "content", "content": "x" * 12_000_000}}

ODD: Json = {
    "type": "object",
    "properties": {"$top": {}, "x" * 65: {}, "a.b-c_1": {"properties": {"$in": {}}}},
}
CLOSED: Json = {"type": "object", "properties": {}, "additionalProperties": False}
REQUESTS: dict[str, tuple[Any, list[tuple[str, str]]]] = {
    "names of properties that the API does not take": (
        body(tools=[tool("f", input_schema=ODD)]),
        [
            ("tools[0].input_schema.properties.$top", "tool_property"),
            (f"tools[0].input_schema.properties.{'x' * 65}", "tool_property"),
        ],
    ),
    "a strict tool that is open": (
        body(tools=[tool("f", strict=True)]),
        [("tools[0].input_schema", "tool_strict")],
    ),
    "more strict tools than a request may have": (
        body(tools=[tool(f"f{n}", strict=True, input_schema=CLOSED) for n in range(21)]),
        [("tools", "strict_count")],
    ),
    "a request of more than 32 MB": (
        body({"role": "user", "content": [LETTERS] * 3}),
        [("messages", "request_size")],
    ),
    "citations on one document of two": (
        body(turn(CITED, PLAIN)),
        [("messages[0].content[1]", "citations_mixed")],
    ),
    "citations on a document, none on one in a result": (
        body(turn(CITED), USE, gave(PLAIN), tools=[tool("f")]),
        [("messages[2].content[0].content[0]", "citations_mixed")],
    ),
    "citations on one search result of two": (
        body(turn(FOUND, {**FOUND, "citations": {"enabled": True}}, PLAIN)),
        [("messages[0].content[1]", "citations_mixed")],
    ),
    "tool uses cleared before thinking": (
        body(
            context_management={
                "edits": [{"type": "clear_tool_uses_20250919"}, {"type": "clear_thinking_20251015"}]
            }
        ),
        [("context_management.edits[1]", "edit_order")],
    ),
    "a strange picture in a document": (
        body(turn(holding(picture(kind="image/bmp")))),
        [(f"{INSIDE}.source.media_type", "media_type")],
    ),
    "no base64 in a document": (
        body(turn(holding(picture(data="@@@")))),
        [(f"{INSIDE}.source.data", "media_data")],
    ),
    "a large picture in a document": (
        body(turn(holding(picture(data="iVBORw0KGgoA".ljust(10 * 1024 * 1024 + 4, "A"))))),
        [(f"{INSIDE}.source.data", "media_size")],
    ),
    "an address that is none in a document": (
        body(turn(holding({"type": "image", "source": {"type": "url", "url": "ftp://x"}}))),
        [(f"{INSIDE}.source.url", "media_source")],
    ),
    "a recording in a document": (
        body(turn(holding({"type": "audio"}))),
        [(f"{INSIDE}.type", "media_source")],
    ),
    "too many pictures in documents": (
        body(turn(*[holding(*[picture()] * 301)] * 2)),
        [("messages", "image_count")],
    ),
    "no max_tokens": ({"model": "claude-opus-5", "messages": [ASK]}, [("max_tokens", "max_tokens")]),
    "five breakpoints": (
        body(
            said("a", cache_control=FIVE),
            said("b", cache_control=FIVE),
            system=[{"type": "text", "text": "Be kind.", "cache_control": FIVE}],
            tools=[tool("search", cache_control=FIVE)],
            cache_control=FIVE,
        ),
        [("cache_control", "cache_count")],
    ),
    "an hour after five minutes": (
        body(said("a", cache_control=HOUR), tools=[tool("search", cache_control=FIVE)]),
        [("messages[0].content[0].cache_control", "cache_order")],
    ),
    "a strange lifetime": (
        body(said("a", cache_control={"type": "ephemeral", "ttl": "30m"})),
        [("messages[0].content[0].cache_control", "cache_shape")],
    ),
    "a breakpoint on thinking": (
        body(ASK, {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "So."}]}, ASK),
        [("messages[1].content[0].cache_control", "cache_place")],
    ),
    "a name with a dot": (body(tools=[tool("fs.read")]), [("tools[0].name", "tool_name")]),
    "a name too long": (body(tools=[tool("x" * 129)]), [("tools[0].name", "tool_name")]),
    "a tool twice": (
        body(tools=[tool("web_search"), {"type": "web_search_20260209", "name": "web_search"}]),
        [("tools[1].name", "duplicate_tool")],
    ),
    "a tool of another provider": (
        body(tools=[{"name": "search", "parameters": {"type": "object"}}]),
        [("tools[0].input_schema", "tool_schema")],
    ),
    "a union at the top": (
        body(tools=[tool("search", input_schema={"type": "object", "anyOf": []})]),
        [("tools[0].input_schema.anyOf", "tool_schema")],
    ),
    "properties that are a list": (
        body(tools=[tool("search", input_schema={"type": "object", "properties": []})]),
        [("tools[0].input_schema.properties", "tool_schema")],
    ),
    "more to think than to say": (
        body(max_tokens=2000, thinking={"type": "enabled", "budget_tokens": 2000}),
        [("thinking.budget_tokens", "thinking_budget")],
    ),
    "half of an emoji in a tool": (
        body(tools=[tool("search", description="\ud83d", input_schema={"type": "object", "\ud83d": 1})]),
        [("tools[0].description", "not_unicode"), ("tools[0].input_schema", "not_unicode")],
    ),
    "a choice of no tool": (
        body(tools=[tool("search")], tool_choice={"type": "tool", "name": "find"}),
        [("tool_choice.name", "tool_choice")],
    ),
    "a choice without tools": (body(tool_choice={"type": "any"}), [("tool_choice", "tool_choice")]),
    "a choice in the words of others": (
        body(tools=[tool("search")], tool_choice={"type": "required"}),
        [("tool_choice.type", "tool_choice")],
    ),
    "a tool forced while thinking": (
        body(tools=[tool("search")], tool_choice={"type": "any"}, thinking=THINKING),
        [("tool_choice", "forced_tool")],
    ),
    "instructions that are a message": (body(system={"role": "system"}), [("system", "system_content")]),
    "a picture among the instructions": (
        body(system=[{"type": "image", "source": {}}]),
        [("system[0].type", "system_content")],
    ),
    "an empty instruction": (body(system=[{"type": "text", "text": ""}]), [("system[0]", "empty_text")]),
    "tools that are an object": (body(tools={"search": {}}), [("tools", "shape")]),
}

ACCEPTED: dict[str, Any] = {
    "keyword arguments without a model": {"messages": [ASK], "system": "Be kind."},
    "tools of all sorts and one chosen": body(
        tools=[tool("search"), tool("find", type="custom"), {"type": "bash_20250124", "name": "bash"}],
        tool_choice={"type": "tool", "name": "bash"},
        system=[{"type": "text", "text": "Be kind."}],
    ),
    "a choice among an MCP server's tools": body(
        tools=[{"type": "mcp_toolset", "mcp_server_name": "files"}],
        tool_choice={"type": "tool", "name": "read"},
    ),
    "four breakpoints, hours first": body(
        said("a", cache_control=HOUR),
        said("b", cache_control=FIVE),
        said("c", cache_control={"type": "ephemeral", "ttl": "5m"}),
        tools=[tool("search", cache_control=HOUR)],
        cache_control=None,
    ),
    "a free choice while thinking": body(
        tools=[tool("search")], tool_choice={"type": "auto"}, thinking=THINKING, system=None
    ),
    "thinking that goes on between calls": body(
        max_tokens=2000,
        thinking={"type": "enabled", "budget_tokens": 3000},
        betas=["interleaved-thinking-2025-05-14"],
    ),
    "no tools, and none to be called": body(tool_choice={"type": "none"}),
}


@pytest.mark.parametrize("case", REQUESTS)
def test_each_fault_is_named_at_its_place(case: str) -> None:
    payload, expected = REQUESTS[case]
    assert [(fault.place, fault.rule) for fault in check(payload)] == expected


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_is_accepted_has_no_fault(case: str) -> None:
    assert check(ACCEPTED[case]) == []
