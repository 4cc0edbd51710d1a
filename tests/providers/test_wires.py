"""What rendering promises on one wire: the rules of each API, and of services that only speak its wire.

The rows of `wires.json` are small conversations, each with the payload and the downgrades that it becomes.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from quire.items import JSON, File, Image, Item, Message, Reasoning, ToolCall, ToolResult
from quire.providers import PROVIDERS, CachePlan, Rendered, pack
from quire.state import Transcript
from quire.testing.conversations import wide_png

Json = dict[str, Any]

ROWS: list[Json] = json.loads((Path(__file__).parent / "wires.json").read_text("utf-8"))

ask = Message("user", "Go.")
look = ToolCall("c1", "look", "{}")
found = ToolResult("c1", "look", "rain")
LOOK = [{"name": "look", "parameters": {"type": "object"}}]


def sent(wire: str, model: str | None, *items: Item, **options: Any) -> Rendered:
    rendered = PROVIDERS[wire].render(items, model=model, **options)
    assert PROVIDERS[wire].check(rendered.payload, model) == []
    return rendered


def chat(model: str | None, *items: Item, **options: Any) -> list[Json]:
    messages: list[Json] = sent("openai", model, *items, **options).payload["messages"]
    return messages


def claude(*items: Item, model: str = "claude-opus-4-8", **options: Any) -> list[Json]:
    messages: list[Json] = sent("anthropic", model, *items, **options).payload["messages"]
    return messages


def changes(rendered: Rendered) -> list[str]:
    return [downgrade.change for downgrade in rendered.downgrades]


@pytest.mark.parametrize("wire", PROVIDERS)
def test_conversations_become_the_payloads_of_their_rows(wire: str) -> None:
    for row in (row for row in ROWS if row["wire"] == wire):
        items = JSON.decode(json.dumps(row["items"]).encode())
        rendered = sent(wire, row["model"], *items, tools=row.get("tools", ()))
        assert rendered.payload == row["payload"], row["about"]
        assert changes(rendered) == row["changes"], row["about"]


def kinds(message: Json) -> list[str]:
    return [block["type"] for block in message["content"]]


def thought(*blocks: Json, model: str = "claude-opus-4-8", prefix: str | None = None) -> Reasoning:
    given = blocks or ({"type": "thinking", "thinking": "hm", "signature": "s"},)
    text = "".join(block.get("thinking", "") for block in given)
    return Reasoning(text, pack("anthropic", model, given, prefix))


def marks(payload: Json) -> list[str]:
    """Where cache marks are: the field, and the place of the message."""
    found = [name for name in ("tools", "system") if "cache_control" in json.dumps(payload.get(name, ""))]
    messages = enumerate(payload["messages"])
    return found + [str(place) for place, one in messages if "cache_control" in json.dumps(one)]


def test_more_than_128_calls_are_several_messages() -> None:
    calls = [ToolCall(f"c{n}", "look", "{}") for n in range(130)]
    results = [ToolResult(f"c{n}", "look", "x") for n in range(130)]
    messages = chat("gpt-5.6", ask, *calls, *results)
    assert [len(message["tool_calls"]) for message in messages if "tool_calls" in message] == [128, 2]


def test_breakpoints_and_the_key_of_a_cache_go_to_models_that_take_them() -> None:
    plan = CachePlan(static=1, key="scope/ana")
    items = (Message("system", "Be brief."), ask)
    marked = PROVIDERS["openai"].render(items, model="gpt-5.6", plan=plan).payload
    assert "prompt_cache_breakpoint" in marked["messages"][0]["content"][-1]
    assert len(marked["prompt_cache_key"]) == 32 and "ana" not in marked["prompt_cache_key"]
    without = replace(plan, keep="none")
    for wire, model in (
        ("openai", "gpt-5.6"),
        ("openai-responses", "gpt-5.6"),
        ("anthropic", "claude-sonnet-5"),
    ):
        plain, cached = (PROVIDERS[wire].render(items, model=model, plan=one) for one in (without, plan))
        assert plain.payload == PROVIDERS[wire].render(items, model=model).payload != cached.payload
    older = PROVIDERS["openai"].render(items, model="gpt-4o", plan=plan).payload
    assert older.keys() == {"messages", "prompt_cache_key"} and "breakpoint" not in json.dumps(older)
    assert PROVIDERS["openai"].render(items, model="llama-3.3-70b", plan=plan).payload.keys() == {"messages"}


def test_the_oldest_of_too_many_images_become_text_in_steps() -> None:
    images = [Message("user", (Image(url=f"https://example.com/{n}.png"),)) for n in range(105)]
    rendered = sent("anthropic", "claude-sonnet-4-5", *images)
    blocks = rendered.payload["messages"][0]["content"]
    assert [block["type"] for block in blocks] == ["text"] * 16 + ["image"] * 89
    assert {note.item_id for note in rendered.downgrades} == {message.id for message in images[:16]}


def test_among_many_images_a_large_one_goes() -> None:
    large, small = Image(data=wide_png(2500)), Image(data=wide_png(100))
    blocks = claude(Message("user", (large, *[small] * 20)))[0]["content"]
    assert [block["type"] for block in blocks].count("image") <= 20 and blocks[0]["type"] == "text"
    assert kinds(claude(Message("user", (Image(data=wide_png(8500)),)))[0]) == ["text"]


def test_media_beyond_the_bytes_of_a_request_become_text() -> None:
    files = [File(data=b"%PDF-1.7" + b" " * 6_000_000, name=f"{n}.pdf") for n in range(5)]
    rendered = PROVIDERS["anthropic"].render(
        [Message("user", (file,)) for file in files], model="claude-opus-5"
    )
    blocks = rendered.payload["messages"][0]["content"]
    assert blocks[0] == {"type": "text", "text": '<file name="0.pdf"/>'} and blocks[-1]["type"] == "document"
    assert len(json.dumps(rendered.payload)) < 32_000_000


def test_thinking_that_is_bound_to_a_prefix_goes_when_an_image_before_it_does() -> None:
    model = "claude-fable-5-1"
    images = Message("user", tuple(Image(url=f"https://example.com/{n}.png") for n in range(601)))
    rendered = sent("anthropic", model, images, thought(model=model), look, found, tools=LOOK)
    assert kinds(rendered.payload["messages"][1]) == ["tool_use"] and "state_stale" in changes(rendered)


def test_bound_thinking_does_not_go_back_after_something_volatile() -> None:
    for model, goes_back in (("claude-fable-5-1", False), ("claude-opus-4-8", True)):
        provider, transcript = PROVIDERS["anthropic"], Transcript([ask])
        view = [*transcript.view, Message("user", "The time is now.")]
        asked = provider.render(view, model=model, tools=LOOK, plan=CachePlan(slow=1))
        content = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "Yes."}]
        answer = {"role": "assistant", "content": content, "stop_reason": "end_turn"}
        transcript.extend(provider.parse(answer, sent=asked, model=model).items)
        after = provider.render([*transcript.view, Message("user", "So?")], model=model, tools=LOOK)
        assert ("thinking" in kinds(after.payload["messages"][1])) == goes_back


def test_a_plan_marks_tools_system_and_the_end_of_the_slow_part() -> None:
    items = [
        Message("system", "x" * 9000),
        ask,
        Message("assistant", "Yes."),
        ask,
        Message("user", "Volatile."),
    ]
    plan = CachePlan(static=1, slow=4, keep="long")
    payload = sent("anthropic", "claude-opus-4-8", *items, tools=LOOK, plan=plan).payload
    assert marks(payload) == ["tools", "system", "0", "2"]
    block = payload["messages"][2]["content"][0]
    assert block["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert "cache_control" not in payload["messages"][2]["content"][1]


def test_the_end_of_the_request_before_is_marked_too() -> None:
    calls = [ToolCall(f"c{n}", "look", "{}") for n in range(40)]
    results = [ToolResult(f"c{n}", "look", "x") for n in range(40)]
    payload = sent(
        "anthropic", "claude-opus-4-8", ask, *calls, *results, tools=LOOK, plan=CachePlan()
    ).payload
    assert marks(payload) == ["tools", "0", "2"]
