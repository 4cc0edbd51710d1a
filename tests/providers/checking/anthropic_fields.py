"""Fields that Anthropic's API has not, as libraries and other services leave them, and fields that it has."""

from typing import Any

from tests.providers.checking.anthropic_bad import (
    ASK,
    GO_ON,
    OPUS,
    Json,
    assistant,
    call,
    image,
    result,
    system,
    text,
    thinking,
    user,
)

ANSWER: Json = {"id": "msg_1", "type": "message", "stop_reason": "end_turn", "usage": {}}
SEARCH: Json = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND: Json = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
CACHED: Json = {"cache_control": {"type": "ephemeral"}}
CITED: Json = {"citations": {"enabled": True}, "context": "c", "title": "t"}

FOREIGN: dict[str, Any] = {
    "the name of a speaker": ([{**ASK, "name": "ann"}], None, [("messages[0].name", "unknown_field")]),
    "an answer with all that it said": (
        [ASK, {**assistant("Hi."), **ANSWER}, GO_ON],
        None,
        [("messages[1].id", "unknown_field")],
    ),
    "calls beside a message": (
        [ASK, {**assistant("Hi."), "tool_calls": []}, GO_ON],
        None,
        [("messages[1].tool_calls", "unknown_field")],
    ),
    "what a stream leaves": (
        [
            ASK,
            assistant(thinking(index=0), {**text("Hi."), "index": 1}, call("a", partial_json="{}", index=2)),
            user(result("a")),
        ],
        None,
        [
            ("messages[1].content[0].index", "unknown_field"),
            ("messages[1].content[1].index", "unknown_field"),
            ("messages[1].content[2].partial_json", "unknown_field"),
        ],
    ),
    "what a stream leaves in a search": (
        [ASK, assistant({**SEARCH, "index": 0}, {**FOUND, "index": 1}, text("Hi.")), GO_ON],
        None,
        [
            ("messages[1].content[0].index", "unknown_field"),
            ("messages[1].content[1].index", "unknown_field"),
        ],
    ),
    "the name of a tool on a result": (
        [ASK, assistant(call("a")), user(result("a", name="search"))],
        None,
        [("messages[2].content[0].name", "unknown_field")],
    ),
    "what libraries have beside texts": (
        [
            ASK,
            assistant(call("a")),
            user(result("a", [{**text("found"), "_meta": {}}]), {**text("Go on."), "id": "lc_1"}),
        ],
        None,
        [
            ("messages[2].content[0].content[0]._meta", "unknown_field"),
            ("messages[2].content[1].id", "unknown_field"),
        ],
    ),
    "options of the AI SDK on instructions": (
        {"system": [{**text("Be brief."), "providerOptions": {}}], "messages": [ASK]},
        None,
        [("system[0].providerOptions", "unknown_field")],
    ),
    "a request to OpenAI": (
        {"messages": [ASK], "response_format": {"type": "json_object"}, "n": 1},
        None,
        [("response_format", "unknown_field")],
    ),
    "a message with its role alone at fault": (
        [ASK, {"role": "tool", "tool_call_id": "a", "content": "found"}],
        None,
        [("messages[1].role", "role")],
    ),
}

TAKEN_FIELDS: dict[str, Any] = {
    "all that blocks may have": (
        [
            user(
                {**text("See."), **CACHED, "citations": None},
                {**image(), **CACHED, "transformations": []},
                {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "x"},
                    **CITED,
                },
            ),
            assistant(call("a", caller={"type": "direct"}, toolset_name="t")),
            user(result("a", is_error=False, toolset_name="t", **CACHED)),
        ],
        None,
    ),
    "a field that is newer than this list": ([user({**text("See."), "newer": 1})], None),
    "nothing under the name of another": ([{**ASK, "name": None}], None),
    "instructions that are cleared later": (
        [ASK, {**system("Be brief."), "clear_at": {"type": "turn"}}],
        OPUS,
    ),
    "all that a request may have": (
        {
            **{"messages": [ASK], "model": OPUS, "max_tokens": 9, "metadata": {"user_id": "u"}, "top_k": 1},
            **{"container": "c", "context_management": {"edits": []}, "mcp_servers": [], "betas": ["b"]},
            **{"service_tier": "auto", "stop_sequences": ["x"], "stream": True, "inference_geo": "us"},
            **{"extra_headers": {}, "extra_body": {}, "timeout": 5, "output_config": {}, "newer": 1},
        },
        None,
    ),
}
