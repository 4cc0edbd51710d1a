"""Messages: existing conversations as items."""

from base64 import b64encode
from typing import Any

import pytest

from quire.errors import Damaged, QuireError, WrongType
from quire.items import File, Image, Item, Message, Note, Opaque, Reasoning, ToolCall, ToolResult
from tests.providers.anthropic.histories import PNG, STEERED, told
from tests.providers.anthropic.test_reading import Dumped
from tests.providers.anthropic.test_writing import TOOL, WIRE, assistant, result, text, use, user

Json = dict[str, Any]


def test_a_whole_payload() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": b64encode(PNG).decode()}
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    payload: Json = {
        "model": STEERED,
        "max_tokens": 100,
        "system": "Be kind.",
        "messages": [
            {"role": "user", "content": "Hi."},
            assistant(thought, "Look:", use("a", {"at": "x"}), use("b")),
            {
                "role": "user",
                "content": [
                    result("a", [text("A"), {"type": "image", "source": source}]),
                    {"type": "tool_result", "tool_use_id": "b", "is_error": True},
                    text("Go on."),
                ],
            },
            {"role": "system", "content": "Be brief."},
        ],
        "tools": [TOOL],
    }
    expected: list[Item] = [
        Message("system", "Be kind."),
        Message("user", "Hi."),
        Reasoning("hm", Opaque("anthropic", STEERED, '{"signature":"s"}')),
        Message("assistant", "Look:"),
        ToolCall("a", "look", '{"at":"x"}'),
        ToolCall("b", "look", "{}"),
        ToolResult("a", "look", ("A", Image(data=PNG, media_type="image/png"))),
        ToolResult("b", "look", "", is_error=True),
        Message("user", "Go on."),
        Message("system", "Be brief."),
    ]
    assert told(WIRE.read_history(payload)) == told(expected)


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (
            {"type": "image", "source": {"type": "url", "url": "https://a/b.png"}},
            Image(url="https://a/b.png"),
        ),
        (
            {"type": "document", "source": {"type": "url", "url": "https://a/b.pdf"}, "title": "b"},
            File(url="https://a/b.pdf", media_type="application/pdf", name="b"),
        ),
        (
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "né"}},
            File(data="né".encode(), media_type="text/plain"),
        ),
        (
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
            },
            File(data=b"%PDF", media_type="application/pdf"),
        ),
    ],
)
def test_media_are_read(block: Json, part: Image | File) -> None:
    history = WIRE.read_history([{"role": "user", "content": [text("See:"), block]}])
    assert told(history) == [("user", ("See:", part))]


def test_a_block_that_is_not_known_is_kept() -> None:
    held = {"type": "hologram", "source": {"type": "file", "file_id": "file_1"}}
    history = WIRE.read_history([{"role": "user", "content": [text("a"), held, text("b")]}])
    assert [item.content for item in history if isinstance(item, Message | Note)] == ["a", held, "b"]
    inner = WIRE.read_history(
        [user("a"), assistant(use("t")), {"role": "user", "content": [result("t", [held])]}]
    )
    assert isinstance(inner[-1], ToolResult) and "file_1" in inner[-1].text
    [kept] = WIRE.read_history([{"role": "assistant", "content": [{"type": "novelty"}]}], model=STEERED)
    state = Opaque("anthropic", STEERED, '{"block":{"type":"novelty"}}')
    assert isinstance(kept, Reasoning) and (kept.text, kept.state) == ("", state)


def test_a_result_whose_call_is_not_there_is_read_without_its_name() -> None:
    [item] = WIRE.read_history([{"role": "user", "content": [result("x", "A")]}])
    assert told([item]) == [("x", "unknown", ("A",), False)]


def test_objects_of_the_client_are_read_too() -> None:
    history = WIRE.read_history([user("Hi."), {"role": "assistant", "content": (Dumped(text("Yes.")),)}])
    assert told(history) == [("user", ("Hi.",)), ("assistant", ("Yes.",))]


def test_without_a_model_thinking_goes_to_none() -> None:
    history = WIRE.read_history(
        [user("Hi."), assistant({"type": "redacted_thinking", "data": "x"}, "Yes."), user("a")]
    )
    made = WIRE.render(history, model=STEERED)
    assert [each.change for each in made.downgrades] == ["state_foreign"]


@pytest.mark.parametrize(
    ("payload", "error", "path"),
    [
        ("Hi.", WrongType, ""),
        ({"system": "x"}, Damaged, "$.messages"),
        ([5], Damaged, "$.messages[0]"),
        ([{"role": "tool", "content": "x"}], Damaged, "$.messages[0].role"),
        ([{"role": "user"}], Damaged, "$.messages[0].content"),
        ([{"role": "user", "content": ["x"]}], Damaged, "$.messages[0].content[0]"),
        ([{"role": "user", "content": [{"type": "text"}]}], Damaged, "$.messages[0].content[0].text"),
        ([{"role": "assistant", "content": [{"type": "tool_use"}]}], Damaged, "$.messages[0].content[0]"),
        ([{"role": "user", "content": [{"type": "tool_result"}]}], Damaged, "content[0].tool_use_id"),
        ({"system": [{"type": "image"}], "messages": []}, Damaged, "$.system[0]"),
        (
            [{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "!"}}]}],
            Damaged,
            "$.messages[0].content[0].source.data",
        ),
        (
            [{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": ""}}]}],
            Damaged,
            "$.messages[0].content[0]",
        ),
    ],
)
def test_what_cannot_be_read_is_named_by_its_place(payload: Any, error: type[QuireError], path: str) -> None:
    with pytest.raises(error) as caught:
        WIRE.read_history(payload)
    assert path in str(caught.value)
