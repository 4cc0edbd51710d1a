"""Programs of the model that wait for what their calls give: what is refused, and what is taken."""

from typing import Any

from tests.providers.checking.anthropic_bad import (
    ASK,
    GO_ON,
    Json,
    assistant,
    call,
    image,
    result,
    text,
    user,
)

CODE: Json = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {"code": "x"}}
RAN: Json = {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {"stdout": "5"}}
SEARCH: Json = {"type": "server_tool_use", "id": "srvtoolu_2", "name": "web_search", "input": {"query": "x"}}
FOUND: Json = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_2", "content": []}
MCP: Json = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "e", "server_name": "s", "input": {}}
BY: Json = {"caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}}
CALLED = assistant(CODE, call("a", **BY))
INSIDE = assistant(CODE, {**SEARCH, **BY}, {**FOUND, **BY}, call("a", caller={"type": "direct"}))


def sent(*messages: Json, **more: Any) -> Json:
    return {"messages": list(messages), **more}


PROGRAMS: dict[str, Any] = {
    "a search that the user did not wait for": (
        [ASK, assistant(SEARCH, text("I look.")), GO_ON],
        None,
        [("messages[1].content[0]", "unanswered_server_call")],
    ),
    "a tool of an MCP server that the user did not wait for": (
        [ASK, assistant(text("I look."), MCP), GO_ON, assistant("Well."), GO_ON],
        None,
        [("messages[1].content[1]", "unanswered_server_call")],
    ),
    "a program that called nothing, and was not waited for": (
        [ASK, assistant(CODE), GO_ON],
        None,
        [("messages[1].content[0]", "unanswered_server_call")],
    ),
    "words beside the results that a search was put off for": (
        [ASK, assistant(SEARCH, call("a")), user(result("a"), text("Hurry."))],
        None,
        [("messages[1].content[0]", "unanswered_server_call")],
    ),
    "a search that was put off and forgotten": (
        [ASK, assistant(SEARCH, call("a")), user(result("a")), assistant("Well."), GO_ON],
        None,
        [("messages[1].content[0]", "unanswered_server_call")],
    ),
    "a program without its container": (
        sent(ASK, CALLED, user(result("a"))),
        None,
        [("container", "container")],
    ),
    "a program in a container that is yet to be made": (
        sent(ASK, CALLED, user(result("a")), container={"skills": []}),
        None,
        [("container", "container")],
    ),
    "a search of a program without its container": (
        sent(ASK, INSIDE, user(result("a")), container=None),
        None,
        [("container", "container")],
    ),
    "words beside what a program waits for": (
        sent(ASK, CALLED, user(result("a"), text("Hurry.")), container="container_1"),
        None,
        [("messages[2].content[1]", "program_results")],
    ),
    "a picture beside what a program waited for": (
        [ASK, CALLED, user(result("a"), image(), text("This.")), assistant(RAN, text("So.")), GO_ON],
        None,
        [("messages[2].content[1]", "program_results")],
    ),
}

WAITING: dict[str, Any] = {
    "a program in its container": (sent(ASK, CALLED, user(result("a")), container="container_1"), None),
    "a container with skills": (
        sent(ASK, CALLED, user(result("a")), container={"id": "container_1", "skills": []}),
        None,
    ),
    "messages alone, whose container is said elsewhere": ([ASK, CALLED, user(result("a"))], None),
    "a program that is done": (
        sent(ASK, CALLED, user(result("a")), assistant(RAN, call("b")), user(result("b"), text("And?"))),
        None,
    ),
    "a program that calls and calls again": (
        [ASK, CALLED, user(result("a")), assistant(call("b", **BY)), user(result("b"))],
        None,
    ),
    "a search that was put off, and then made": (
        [ASK, assistant(SEARCH, call("a")), user(result("a")), assistant(FOUND, text("So.")), GO_ON],
        None,
    ),
    "a turn that was paused, and went on": (
        [ASK, assistant(SEARCH), assistant(FOUND, text("So.")), GO_ON],
        None,
    ),
    "a search that is put off": (sent(ASK, assistant(SEARCH, call("a")), user(result("a"))), None),
}
