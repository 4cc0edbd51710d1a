"""Histories for Messages: any items in any order, and conversations that the wire can carry whole."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from quire.items import (
    File,
    Image,
    Item,
    Message,
    Opaque,
    Part,
    Reasoning,
    ToolCall,
    ToolResult,
    parts_of,
)
from quire.providers import CachePlan
from tests.items.strategies import contents, items, texts

STEERED = "claude-opus-4-8"
BOUND = "claude-fable-5-1"
OLDER = "claude-sonnet-4-5"
MODELS = (None, OLDER, STEERED, BOUND, "claude-3-haiku", "someone/else", "deepseek-v4-pro", "kimi-k2.5")
TOOLS: list[dict[str, Any]] = [
    {"name": "tool1", "description": "One.", "parameters": {"type": "object", "properties": {}}},
    {"name": "tool two", "parameters": {"anyOf": [{"type": "object"}]}},
]
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
_SERVED = '{"block":{"id":"srvtoolu_1","input":{},"name":"web_search","type":"server_tool_use"}}'
_FOUND = '{"block":{"content":[],"tool_use_id":"srvtoolu_1","type":"web_search_tool_result"}}'
_DATA = ('{"signature":"s"}', '{"redacted":"r"}', _SERVED, "[]", "no json", "")


def anything() -> st.SearchStrategy[list[Item]]:
    """Items of every kind in any order; calls, results, thoughts and media are more frequent."""
    agents = st.sampled_from([None, None, "helper"])
    ids, names = st.sampled_from(["a", "b", "c|d", "e" * 90]), st.sampled_from(["tool1", "tool two", "t3"])
    arguments = st.sampled_from(["{}", '{"a": "é"}', "", "[1]", "nope"])
    calls = st.builds(ToolCall, ids, names, arguments, agent_id=agents)
    results = st.builds(ToolResult, ids, names, contents(), st.booleans())
    said = st.builds(Message, st.sampled_from(["user", "assistant", "system"]), contents(), agent_id=agents)
    owners = st.sampled_from(["anthropic", "anthropic", "openai"])
    models = st.sampled_from([OLDER, STEERED, BOUND])
    states = st.builds(Opaque, owners, models, st.sampled_from(_DATA), st.none() | st.just("stale"))
    thoughts = st.builds(Reasoning, texts(), st.none() | states, agent_id=agents)
    return st.lists(calls | calls | results | said | thoughts | items(), max_size=16)


def plans() -> st.SearchStrategy[CachePlan | None]:
    """No plan, or any."""

    def planned(static: int, more: int | None, long: bool) -> CachePlan:
        slow = None if more is None else static + more
        return CachePlan(static=static, slow=slow, keep="long" if long else "short")

    return st.none() | st.builds(planned, st.integers(0, 4), st.none() | st.integers(0, 12), st.booleans())


def _filled() -> st.SearchStrategy[str]:
    return texts().map(lambda text: f"{text}.")


@st.composite
def conversations(draw: st.DrawFn) -> list[Item]:
    """Histories that the wire can carry whole to a model that takes instructions in the middle."""
    media: st.SearchStrategy[Part] = st.sampled_from(
        [
            Image(data=PNG, media_type="image/png"),
            Image(url="https://example.com/a.png"),
            File(data=b"%PDF-1.7", media_type="application/pdf", name="a.pdf"),
            File(data="né".encode(), media_type="text/plain"),
        ]
    )
    mixed: st.SearchStrategy[tuple[Part, ...]] = st.tuples(_filled(), media) | st.tuples(media, _filled())
    made: list[Item] = [Message("system", draw(_filled())) for _ in range(draw(st.integers(0, 2)))]
    made.append(Message("user", draw(_filled() | mixed)))
    for turn in draw(st.lists(st.integers(0, 5), max_size=6)):
        if draw(st.booleans()):
            state = Opaque("anthropic", STEERED, draw(st.sampled_from(_DATA[:3])))
            words = draw(texts()) if "signature" in state.data else ""
            made.append(Reasoning(words, state))
            if state.data == _SERVED:
                made.append(Reasoning("", Opaque("anthropic", STEERED, _FOUND)))
        if turn < 3:
            made.append(Message("assistant", draw(_filled())))
        calls = [ToolCall(f"call_{len(made)}_{index}", f"tool{index}") for index in range(turn)]
        results = _filled() | mixed if turn % 2 else _filled()
        made += [*calls, *(ToolResult(call.call_id, call.name, draw(results)) for call in calls)]
        if not calls:
            if turn >= 3:
                made.append(Message("assistant", draw(_filled())))
            made.append(Message("user", draw(_filled() | mixed)))
        if draw(st.integers(0, 3)) == 0:
            made.append(Message("system", draw(_filled())))
    return made


def told(history: Sequence[Item]) -> list[Any]:
    """A conversation without what only a library knows of it."""
    return [_told(item) for item in history]


def _told(item: Item) -> Any:
    match item:
        case Message():
            return item.role, item.parts
        case ToolCall():
            return item.call_id, item.name, item.arguments
        case ToolResult():
            return item.call_id, item.name, parts_of(item.content), item.is_error
        case Reasoning():
            return item.text, item.state
        case _:
            return item
