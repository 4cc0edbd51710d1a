"""Claude by way of a cloud: bytes only, no addresses and no ids of files, and less of them."""

from typing import Any

import pytest

from quire.errors import Downgraded
from quire.items import File, Image, Item, Message, Part, ToolCall, ToolResult
from quire.providers import PROVIDERS, check
from quire.providers.native import file_address, native_note
from tests.providers.anthropic.histories import PNG

WIRE = PROVIDERS["anthropic"]
CLOUDS = [
    "anthropic.claude-opus-4-8",
    "us.anthropic.claude-opus-4-8-v1:0",
    "bedrock/anthropic.claude-opus-4-8",
    "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc",
    "vertex_ai/claude-opus-4-8",
    "claude-opus-4-5@20251101",
    "publishers/anthropic/models/claude-opus-4-8",
    "projects/p/locations/global/publishers/anthropic/models/claude-opus-4-8",
]
OWN = ["claude-opus-4-8", "anthropic/claude-opus-4-8", "openrouter/anthropic/claude-opus-4.8", None]
ELSEWHERE: list[Part] = [
    Image(url="https://example.com/a.png"),
    Image(url=file_address("anthropic", "file_1")),
    File(url="https://example.com/a.pdf", media_type="application/pdf"),
    File(url=file_address("anthropic", "file_2"), name="a.pdf"),
]
HERE: list[Part] = [Image(data=PNG), File(data=b"%PDF-1"), File(data=b"words", media_type="text/plain")]
LINKED = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
UPLOADED = {"type": "container_upload", "file_id": "file_3"}


def shown(*parts: Part) -> list[Item]:
    """The same parts from the user and from a tool."""
    return [
        Message("user", ("Look.", *parts)),
        ToolCall("c", "shot", "{}"),
        ToolResult("c", "shot", ("done", *parts)),
    ]


def sources(messages: list[dict[str, Any]]) -> list[str]:
    blocks = [block for message in messages for block in message["content"]]
    blocks += [
        part for block in blocks if isinstance(block.get("content"), list) for part in block["content"]
    ]
    return [block["source"]["type"] for block in blocks if "source" in block]


each_cloud = pytest.mark.parametrize("model", CLOUDS)


@each_cloud
@pytest.mark.parametrize("part", ELSEWHERE)
def test_what_is_elsewhere_is_put_in_words_and_noted(model: str, part: Part) -> None:
    items = shown(part)
    rendered = WIRE.render(items, model=model, tools=[{"name": "shot"}])
    assert sources(rendered.payload["messages"]) == []
    lost = {note.item_id for note in rendered.downgrades if note.change == "media_as_text"}
    assert lost == {items[0].id, items[2].id}
    assert check(rendered.payload, "anthropic", model=model) == []
    with pytest.raises(Downgraded, match="media_as_text"):
        WIRE.render(items, model=model, tools=[{"name": "shot"}], strict=True)


@each_cloud
def test_bytes_are_carried(model: str) -> None:
    rendered = WIRE.render(shown(*HERE), model=model, tools=[{"name": "shot"}], strict=True)
    assert len(sources(rendered.payload["messages"])) == 2 * len(HERE)
    assert check(rendered.payload, "anthropic", model=model) == []


@each_cloud
def test_blocks_of_the_wire_that_point_elsewhere_are_not_sent(model: str) -> None:
    document = {"type": "document", "source": {"type": "content", "content": [LINKED]}}
    items: list[Item] = [
        native_note(document, "anthropic"),
        native_note(UPLOADED, "anthropic"),
        Message("user", "So?"),
    ]
    rendered = WIRE.render(items, model=model)
    assert not {"container_upload", "document"} & set(_kinds(rendered.payload))
    assert check(rendered.payload, "anthropic", model=model) == []
    assert {"container_upload", "document"} <= set(_kinds(WIRE.render(items, model=OWN[0]).payload))


def _kinds(payload: dict[str, Any]) -> list[str]:
    return [block["type"] for message in payload["messages"] for block in message["content"]]


@pytest.mark.parametrize("model", OWN)
def test_by_the_own_route_they_stay_where_they_are(model: str | None) -> None:
    rendered = WIRE.render(shown(*ELSEWHERE), model=model, tools=[{"name": "shot"}], strict=True)
    assert sorted(set(sources(rendered.payload["messages"]))) == ["file", "url"]


@each_cloud
@pytest.mark.parametrize(
    "block",
    [
        LINKED,
        {"type": "image", "source": {"type": "file", "file_id": "f"}},
        {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}},
        {"type": "document", "source": {"type": "content", "content": [LINKED]}},
        UPLOADED,
    ],
)
def test_check_finds_what_is_elsewhere(model: str, block: dict[str, Any]) -> None:
    call: dict[str, Any] = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    alone = [{"role": "user", "content": [block]}]
    within: list[dict[str, Any]] = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [block]}]},
    ]
    histories = [alone] if block is UPLOADED else [alone, within]
    for messages in histories:
        assert [fault.rule for fault in check(messages, "anthropic", model=model)] == ["cloud_source"]
        assert check(messages, "anthropic", model="claude-opus-4-8") == []


@each_cloud
def test_check_finds_a_mark_for_the_whole_request(model: str) -> None:
    payload = {"cache_control": {"type": "ephemeral"}, "messages": [{"role": "user", "content": "Hi."}]}
    assert [fault.rule for fault in check(payload, "anthropic", model=model)] == ["cloud_caching"]
    assert check(payload, "anthropic", model="claude-opus-4-8") == []


def pictured(size: int, count: int = 1) -> list[dict[str, Any]]:
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoA".ljust(size, "A")}
    return [{"role": "user", "content": [{"type": "image", "source": source}] * count}]


@each_cloud
def test_check_finds_images_that_only_the_own_route_takes(model: str) -> None:
    assert [fault.rule for fault in check(pictured(6_000_000), "anthropic", model=model)] == ["media_size"]
    assert check(pictured(6_000_000), "anthropic", model="claude-opus-4-8") == []
    assert check(pictured(5_000_000), "anthropic", model=model) == []


@pytest.mark.parametrize(
    ("model", "most"), [("us.anthropic.claude-opus-4-8", 20), ("vertex_ai/claude-opus-4-8", 30)]
)
def test_a_request_by_a_cloud_is_smaller(model: str, most: int) -> None:
    beyond = pictured(4_000_000, most // 4 + 1)
    assert [fault.rule for fault in check(beyond, "anthropic", model=model)] == ["request_size"]
    assert check(pictured(4_000_000, 8), "anthropic", model="claude-opus-4-8") == []
    items = [Message("user", ("Look.", Image(data=PNG + bytes(2_900_000)))) for _ in range(most // 3)]
    rendered = WIRE.render(items, model=model)
    assert check(rendered.payload, "anthropic", model=model) == []
    assert 0 < len(sources(rendered.payload["messages"])) < len(items)
    assert "media_as_text" in {note.change for note in rendered.downgrades}


CLOSED = {
    "type": "object",
    "properties": {"q": {"type": "string"}},
    "required": ["q"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("model", ["us.anthropic.claude-opus-4-8-v1:0", "claude-sonnet-4-5@20250929"])
@pytest.mark.parametrize("strict", [True, False])
def test_nothing_is_said_of_strictness_on_a_cloud(model: str, strict: bool) -> None:
    tool = {"name": "find", "input_schema": CLOSED, "strict": strict, "eager_input_streaming": True}
    sent = WIRE.render([Message("user", "Hi")], model=model, tools=[tool])
    assert (
        "strict" not in sent.payload["tools"][0] and "eager_input_streaming" not in sent.payload["tools"][0]
    )
    assert [one.change for one in sent.downgrades] == ["fields_left_out"] * (1 + strict)
    assert check(sent.payload, "anthropic", model=model) == []


def test_strict_tools_stay_so_at_home() -> None:
    tool = {"name": "find", "input_schema": CLOSED, "strict": True}
    sent = WIRE.render([Message("user", "Hi")], model="claude-opus-4-8", tools=[tool])
    assert sent.payload["tools"][0]["strict"] is True and not sent.downgrades
