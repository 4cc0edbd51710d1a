"""Conversations for tests."""

from typing import Any

from quire.bridges.a1 import Context


def call(call_id: str, name: str = "search", arguments: str = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def said(context: Context) -> list[str]:
    return [message.content for message in context]


def talk(context: Context, turns: int) -> Context:
    """Turns of four messages each: a question, a call, its result, an answer."""
    for n in range(turns):
        context.user(f"question {n}")
        context.assistant("", tool_calls=[call(f"c{n}")])
        context.tool(f"found {n}", name="search", tool_call_id=f"c{n}")
        context.assistant(f"answer {n}")
    return context


def is_paired(context: Context) -> bool:
    """Whether each call has its result, and each result its call."""
    calls = [c["id"] for message in context for c in message.tool_calls or ()]
    return sorted(calls) == sorted(m.tool_call_id or "" for m in context if m.role == "tool")
