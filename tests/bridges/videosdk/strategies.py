"""Items of every kind, and histories made of verbs."""

from typing import Any

from hypothesis import strategies as st

from quire.bridges.videosdk import (
    AgentConfigUpdate,
    AgentHandoff,
    ChatItem,
    ChatMessage,
    ChatRole,
    FunctionCall,
    FunctionCallOutput,
    ImageContent,
)

texts = st.text(max_size=30)
names = st.text("abcdef_", min_size=1, max_size=8)
agents = st.none() | st.sampled_from(["a", "b"])
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
mappings = st.dictionaries(texts, values, max_size=3)
images = st.builds(
    ImageContent,
    st.sampled_from(["https://x.io/a.png", "data:image/png;base64,AAAA", b"\xff\xd8\xff123"]),
    st.sampled_from(["auto", "low", "high"]),
)
contents: st.SearchStrategy[Any] = texts | st.lists(texts | images, max_size=3)
extras = (
    mappings
    | st.just({"summary": True})
    | st.fixed_dictionaries({"summary": st.booleans() | st.just("yes"), "x": values})
)


@st.composite
def common(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "created_at": draw(st.none() | st.floats(-1e9, 2e9)),
        "agent_id": draw(agents),
    }


@st.composite
def items(draw: st.DrawFn) -> ChatItem:
    given = draw(common())
    match draw(st.sampled_from(["message", "call", "output", "handoff", "update"])):
        case "message":
            return ChatMessage(
                role=draw(st.sampled_from(ChatRole)),
                content=draw(contents),
                interrupted=draw(st.booleans()),
                extra=draw(extras),
                confidence=draw(st.none() | st.floats(0, 1)),
                metrics=draw(st.none() | mappings),
                audio_instructions=draw(st.none() | texts),
                text_instructions=draw(st.none() | texts),
                **given,
            )
        case "call":
            metadata = draw(st.none() | mappings)
            return FunctionCall(
                name=draw(names), arguments=draw(texts), call_id=draw(names), metadata=metadata, **given
            )
        case "output":
            error = draw(st.booleans())
            return FunctionCallOutput(
                name=draw(names), output=draw(texts), call_id=draw(names), is_error=error, **given
            )
        case "handoff":
            to, by, why = draw(names), draw(agents), draw(st.none() | texts)
            return AgentHandoff(to_agent=to, from_agent=by, reason=why, **given)
        case _:
            told, tools = draw(st.none() | texts), draw(st.none() | st.lists(names, max_size=3))
            return AgentConfigUpdate(instructions=told, tools=tools, **given)


VERBS = (
    *("user", "user", "assistant", "developer", "system", "image", "call", "call", "answer", "answer"),
    *("lone output", "handoff", "update", "insert", "replace", "truncate items", "truncate tokens"),
    *("summarize", "fork", "narrow", "copy", "merge", "merge result", "merge summary", "save", "lend"),
)
histories = st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 9)), max_size=25)
