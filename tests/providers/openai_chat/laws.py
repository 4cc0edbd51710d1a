"""What must hold for both wires of OpenAI, whatever the history; `test_laws` of each holds it to that."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any
from unittest.mock import patch

import msgspec
from hypothesis import strategies as st

from quire.items import (
    Content,
    File,
    Handoff,
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
from quire.providers import CachePlan, OpenAIChat, OpenAIResponses, Rendered
from quire.state import Transcript
from tests.histories import Author, Op
from tests.items.strategies import items, texts
from tests.providers.test_speaking_laws import forgotten

Wire = OpenAIChat | OpenAIResponses

MODELS = (None, "gpt-4o", "gpt-5.6", "o1-mini", "gpt-4o-audio-preview", "deepseek-v4-pro", "gemini-3-pro")
TOOLS: list[dict[str, Any]] = [{"name": "tool1", "parameters": {"type": "object", "properties": {}}}]
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8


def anything() -> st.SearchStrategy[list[Item]]:
    """Turns that are nearly plain, with items of every kind strewn in."""
    return st.lists(_turns() | _strewn().map(lambda item: [item]), max_size=12).map(
        lambda turns: [item for turn in turns for item in turn]
    )


def _turns() -> st.SearchStrategy[list[Item]]:
    ids = st.sampled_from(["a", "b", "c|d", "e" * 90]) | st.integers(0, 99).map(str)
    between = st.lists(_strewn(), max_size=1)
    return st.builds(
        _turn,
        ids,
        st.sampled_from(["tool1", "tool1", "a tool"]),
        between,
        between,
        texts(),
        _agents(),
        st.booleans(),
    )


def _turn(
    call_id: str,
    name: str,
    before: list[Item],
    after: list[Item],
    text: str,
    agent: str | None,
    failed: bool,
) -> list[Item]:
    said, call = Message("assistant", "so", agent_id=agent), ToolCall(call_id, name)
    return [
        Message("user", "q"),
        said,
        *before,
        call,
        *after,
        ToolResult(call_id, name, text, failed),
        Message("user", "?"),
    ]


def _strewn() -> st.SearchStrategy[Item]:
    ids, names = st.sampled_from(["a", "b", "c|d", "e" * 90]), st.sampled_from(["tool1", "tool two", "t3"])
    results = st.builds(ToolResult, ids, names, texts() | st.just(("x", Image(data=PNG))))
    said = st.builds(Message, st.sampled_from(["user", "assistant"]), texts(), agent_id=_agents())
    states = st.builds(
        Opaque, st.sampled_from(["openai", "openai-responses", "p"]), st.just("gpt-5.6"), _data()
    )
    arguments = st.sampled_from(["{}", '{"a": "é"}', ""])
    calls = st.builds(ToolCall, ids, names, arguments, st.none() | states, agent_id=_agents())
    thoughts = st.builds(Reasoning, texts(), st.none() | states, agent_id=_agents())
    return calls | results | said | thoughts | st.builds(Handoff, st.just("b")) | items()


def _agents() -> st.SearchStrategy[str | None]:
    return st.sampled_from([None, None, "helper"])


def _data() -> st.SearchStrategy[str]:
    sealed = '{"id":"rs_1","summary":[],"encrypted_content":"x"}'
    searched = '{"type":"web_search_call","id":"ws_1","status":"completed"}'
    thought = '{"fields":{"reasoning":null,"reasoning_details":[{"type":"reasoning.text"}]}}'
    signed = '{"fields":{"extra_content":{"google":{"thought_signature":"x"}},"reasoning":7,"other":1}}'
    odd = ['{"phase":"commentary"}', "[]", "not json", '{"id":7}', '{"fields":[]}']
    return st.sampled_from([sealed, sealed, searched, thought, signed, *odd])


def plans() -> st.SearchStrategy[CachePlan | None]:
    """No plan, or any."""
    return st.none() | st.builds(
        _plan, st.integers(0, 4), st.none() | st.integers(0, 12), st.none() | st.just("k" * 70)
    )


def _plan(static: int, more: int | None, key: str | None) -> CachePlan:
    return CachePlan(static=static, slow=None if more is None else static + more, key=key)


def written(rendered: Rendered) -> bytes:
    """All of a rendering, as bytes."""
    return msgspec.json.encode([rendered.payload, rendered.downgrades, rendered.names, rendered.prefix])


def is_sound(wire: Wire, history: Sequence[Item], model: str | None, plan: CachePlan | None) -> None:
    """The same bytes each time, and nothing that the service would refuse."""
    once = wire.render(history, model=model, tools=TOOLS, plan=plan)
    again = wire.render(history, model=model, tools=TOOLS, plan=plan)
    assert written(once) == written(again)
    assert wire.check(once.payload, model) == []


def is_incremental(wire: Wire, ops: list[Op], model: str | None) -> None:
    """A view that grows is written as from scratch, and what was handed out before does not change."""
    transcript, author = Transcript(), Author()
    handed: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for op in ops:
        item = author.item(transcript, op)
        if item is None:
            continue
        try:
            transcript.append(item)
        except ValueError:
            continue
        grown = wire.render(transcript.view, model=model, tools=TOOLS)
        with forgotten(transcript.view):
            assert written(grown) == written(wire.render(transcript.view, model=model, tools=TOOLS))
        handed.append((grown.payload, deepcopy(grown.payload)))
    assert all(payload == before for payload, before in handed)


def plain_is_general(
    wire: Wire, writer: type, history: Sequence[Item], model: str | None, plan: CachePlan | None
) -> None:
    """The fast path writes what the general one writes."""
    fast = wire.render(history, model=model, tools=TOOLS, plan=plan)
    with patch.object(writer, "plain", lambda self, items, start, stop: start):  # pyright: ignore
        slow = wire.render(history, model=model, tools=TOOLS, plan=plan)
    assert fast.payload == slow.payload
    assert fast.downgrades == slow.downgrades


def _filled() -> st.SearchStrategy[str]:
    # What begins like an error is read as one: these wires have no other way to say so.
    return texts().map(lambda text: f"{text}.").filter(lambda text: not text.startswith("Error: "))


@st.composite
def conversations(draw: st.DrawFn, pictured_results: bool, role: str) -> list[Item]:
    """Histories that the wire can carry whole."""
    made: list[Item] = []
    media: st.SearchStrategy[Part] = st.sampled_from(
        [
            Image(data=PNG, media_type="image/png", detail="low"),
            Image(url="https://example.com/a.png"),
            File(data=b"%PDF-1.7", media_type="application/pdf", name="a.pdf"),
        ]
    )
    mixed: st.SearchStrategy[tuple[Part, ...]] = st.tuples(_filled(), media) | st.tuples(
        media, _filled(), media
    )
    contents: st.SearchStrategy[Content] = _filled() | mixed
    results = contents if pictured_results else _filled()
    for turn in draw(st.lists(st.integers(0, 4), min_size=1, max_size=8)):
        if turn == 0:
            made.append(Message("user", draw(contents)))
        elif turn == 1:
            made.append(Message(role, draw(_filled())))  # type: ignore[arg-type]  # pyright: ignore
        elif turn == 2:
            made.append(Message("assistant", draw(_filled())))
        else:
            calls = [ToolCall(f"call_{len(made)}_{index}", f"tool{index}") for index in range(turn - 1)]
            made += calls
            made += [
                ToolResult(call.call_id, call.name, draw(results), draw(st.booleans())) for call in calls
            ]
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
        case _:
            return item


def comes_back(wire: Wire, history: list[Item]) -> None:
    """What was written is read again as it was, and written again as it was."""
    sent = wire.render(history, strict=True)
    read = wire.read_history(sent.payload)
    assert told(read) == told(history)
    assert wire.render(read).payload == sent.payload


def grows_at_the_end(wire: Wire, history: list[Item], field: str) -> None:
    """What was sent with a user's message last is the beginning of all that is sent later."""
    whole = wire.render(history).payload[field]
    for index, item in enumerate(history):
        if isinstance(item, Message) and item.role == "user":
            sent = wire.render(history[: index + 1]).payload[field]
            assert whole[: len(sent)] == sent
