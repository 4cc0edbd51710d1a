"""Histories that Anthropic takes, each with something that is easily mistaken for a fault."""

from typing import Any

from tests.providers.checking.anthropic_bad import (
    ASK,
    GO_ON,
    HAIKU,
    NEWEST,
    OPUS,
    assistant,
    call,
    image,
    result,
    system,
    text,
    thinking,
    user,
)

GOOD: dict[str, tuple[Any, str | None]] = {
    "a question": ([ASK], None),
    "two messages of the user in a row": ([ASK, GO_ON, user("Please.")], None),
    "a greeting of the assistant first": ([assistant("Hello!"), ASK], None),
    "parallel calls and then text": (
        [ASK, assistant(text("I look."), call("a"), call("b")), user(result("b"), result("a"), text("And?"))],
        None,
    ),
    "a long loop with thinking only at its start": (
        {
            "model": OPUS,
            "max_tokens": 4000,
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "messages": [
                ASK,
                assistant(thinking(thinking=""), {"type": "redacted_thinking", "data": "x"}, call("a")),
                user(result("a")),
                assistant(call("b")),
                user(result("b", None, is_error=True)),
            ],
        },
        None,
    ),
    "adaptive thinking that was not needed": (
        {"thinking": {"type": "adaptive"}, "messages": [ASK, assistant(call("a")), user(result("a"))]},
        None,
    ),
    "thinking enabled after a finished loop": (
        {
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "messages": [ASK, assistant(call("a")), user(result("a")), assistant("New."), GO_ON],
        },
        None,
    ),
    "pictures and documents": (
        [
            user(
                image(),
                {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}},
                {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
                },
                text("Compare."),
            )
        ],
        None,
    ),
    "results with pictures and nothing": (
        [
            ASK,
            assistant(call("a"), call("b"), call("c")),
            user(result("a", [text("seen"), image()]), result("b", ""), result("c", [])),
        ],
        None,
    ),
    "a result cleared to an empty text": (
        [ASK, assistant(call("a")), user({"type": "tool_result", "tool_use_id": "a"})],
        None,
    ),
    "instructions within the conversation": (
        [
            ASK,
            assistant(call("a")),
            user(result("a")),
            system("Be brief."),
            assistant("New."),
            GO_ON,
            system("Now."),
        ],
        OPUS,
    ),
    "instructions after a server tool": (
        [
            ASK,
            assistant({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
            system("Be brief."),
        ],
        NEWEST,
    ),
    "a directive without content": (
        [{"role": "system", "content": [], "output_config": {"effort": "low"}}, ASK],
        OPUS,
    ),
    "a turn that a server tool paused": (
        [
            ASK,
            assistant(
                text("I search."),
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            ),
        ],
        NEWEST,
    ),
    "a last word for a model that goes on with it": ([ASK, assistant("{")], "claude-3-5-haiku-20241022"),
    "an empty last word": ([ASK, assistant("")], HAIKU),
    "a history with calls and no tools": (
        {"model": OPUS, "max_tokens": 1, "messages": [ASK, assistant(call("a")), user(result("a"))]},
        None,
    ),
    "a block that is newer than this table": (
        [ASK, assistant({"type": "compaction", "content": "x"}), GO_ON],
        None,
    ),
}
