"""The query tools as a model is told of them."""

from typing import Any

Properties = dict[str, dict[str, str]]

_SESSION: Properties = {
    "session_id": {"type": "string", "description": "Only of this session; of the one at hand without."}
}
_NODE = {"type": "string", "description": "Only what this node did."}
_ACTION = {"type": "string", "description": "Only tasks with this action, such as node.thinking."}


def create_all_context_tools() -> list[dict[str, Any]]:
    """All query tools, in the form of OpenAI's `tools`."""
    return [*_of_memory(), *_of_somebody(), *_of_the_bus()]


def _of_memory() -> list[dict[str, Any]]:
    asked: Properties = {
        "query": {"type": "string", "description": "What to look for, in words."},
        "session_id": {"type": "string", "description": "Only of this session; of all without."},
    }
    return [
        _tool("query_l1_memory", "The newest tasks, whole.", _SESSION),
        _tool("query_l2_memory", "The tasks that matter most, in short.", _SESSION),
        _tool("query_l3_memory", "Summaries of what was done.", _SESSION, limit=20),
        _tool("query_l4_memory", "Search all sessions for an answer.", asked, ("query",), limit=5),
    ]


def _of_somebody() -> list[dict[str, Any]]:
    told: Properties = {"action_filter": _ACTION} | _SESSION
    node: Properties = {"node_id": {"type": "string", "description": "The node."}}
    task: Properties = {"task_id": {"type": "string", "description": "The task, and what belongs to it."}}
    target: Properties = {
        "target_agent": {"type": "string", "description": "The agent that it is for."},
        "target_node_id": {"type": "string", "description": "The node that it is for."},
    }
    return [
        _tool("query_events_by_node", "The newest events of a node.", node | told, ("node_id",)),
        _tool("query_events_by_task", "The newest events of a task.", task | told, ("task_id",)),
        _tool("query_events_by_target", "What is for an agent or a node, by priority.", target | told),
    ]


def _of_the_bus() -> list[dict[str, Any]]:
    action: Properties = {"action": {"type": "string", "description": "The action, such as node.tool_call."}}
    task: Properties = {"task_id": {"type": "string", "description": "Only about this task."}}
    filters: Properties = {"action_filter": _ACTION, "node_filter": _NODE} | _SESSION
    node: Properties = {"node_id": _NODE} | _SESSION
    return [
        _tool("query_events_by_action", "The newest events with an action.", action | node, ("action",)),
        _tool("query_recent_events", "The newest events.", filters),
        _tool("query_thinking_process", "What was thought, in words.", task | node),
    ]


def _tool(
    name: str, description: str, properties: Properties, required: tuple[str, ...] = (), limit: int = 10
) -> dict[str, Any]:
    most = {"type": "integer", "minimum": 1, "description": f"How many at most; {limit} unless you say."}
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {**properties, "limit": most},
                "required": list(required),
            },
        },
    }
