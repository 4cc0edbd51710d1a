"""Responses: an existing input as items."""

import json
from typing import Any

import pytest

from quire.errors import Damaged, WrongType
from quire.items import Audio, File, Image, Message, Note, Reasoning, ToolCall, ToolResult
from quire.providers import OpenAIResponses

WIRE = OpenAIResponses()
THOUGHT: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}


def test_a_text_is_a_message_of_the_user() -> None:
    one, two = WIRE.read_history({"instructions": "be kind", "input": "hi"})
    assert isinstance(one, Message) and (one.role, one.content) == ("system", "be kind")
    assert isinstance(two, Message) and (two.role, two.content) == ("user", "hi")


def test_a_whole_payload() -> None:
    payload: dict[str, Any] = {
        "model": "gpt-5.6",
        "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "be kind"}]},
            {"role": "user", "content": "hi"},
            THOUGHT,
            {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "one"},
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "phase": "final_answer",
                "content": [{"type": "output_text", "text": "done", "annotations": []}],
            },
        ],
    }
    items = WIRE.read_history(payload)
    assert [type(item) for item in items] == [Message, Message, Reasoning, ToolCall, ToolResult, Message]
    result = items[4]
    assert isinstance(result, ToolResult) and (result.name, result.content) == ("look", "one")
    # Server ids go, all else comes back.
    again = WIRE.render(items, model="gpt-5.6", strict=True).payload["input"]
    assert again == [
        {"role": "developer", "content": "be kind"},
        {"role": "user", "content": "hi"},
        THOUGHT,
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "one"},
        {"type": "message", "role": "assistant", "content": "done", "phase": "final_answer"},
    ]


def test_sealed_payloads_come_back_with_their_model() -> None:
    output: list[Any] = [
        {**THOUGHT, "id": "rs_9"},
        {"type": "web_search_call", "id": "ws_1"},
        {"type": "message", "role": "assistant", "content": "x"},
    ]
    payload: dict[str, Any] = {"input": [{"role": "user", "content": "hi"}, *output]}
    items = WIRE.read_history({**payload, "model": "gpt-5.6"})
    assert WIRE.render(items, model="gpt-5.6", strict=True).payload == payload
    # Without a model nobody knows whose it is.
    assert WIRE.render(WIRE.read_history(payload), model="gpt-5.6").payload["input"] == [
        {"role": "user", "content": "hi"},
        {"type": "message", "role": "assistant", "content": "x"},
    ]


def test_media() -> None:
    blocks = [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "original"},
        {"type": "input_image", "image_url": "https://example.com/a.png"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "JVBERi0xLjc="},
        {"type": "input_file", "file_url": "https://example.com/a.pdf"},
        {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}},
        {"type": "input_image", "file_id": "file-1"},
        {"type": "input_file", "file_id": "file-2"},
        {"type": "hologram", "of": "a cat"},
    ]
    message, *notes = WIRE.read_history([{"role": "user", "content": blocks}])
    assert isinstance(message, Message) and message.content == (
        "see",
        Image(data=b"hi", media_type="image/png", detail="high"),
        Image(url="https://example.com/a.png"),
        File(data=b"%PDF-1.7", media_type="application/pdf", name="a.pdf"),
        File(url="https://example.com/a.pdf"),
        Audio(data=b"hi", media_type="audio/mpeg"),
        Image(url="file-id:openai/file-1"),
        File(url="file-id:openai/file-2"),
    )
    assert [note.content for note in notes if isinstance(note, Note)] == blocks[-1:]


SCREENSHOT = {"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBORw0KGgo="}


def test_results_of_any_form_find_their_calls() -> None:
    items = WIRE.read_history(
        [
            {"type": "custom_tool_call", "call_id": "a", "name": "sql", "input": "select 1"},
            {
                "type": "custom_tool_call_output",
                "call_id": "a",
                "output": [{"type": "input_text", "text": "1"}],
            },
            {"type": "computer_call", "call_id": "b", "action": {"type": "click"}},
            {"type": "computer_call_output", "call_id": "b", "output": {"type": "computer_screenshot"}},
            {"type": "computer_call", "call_id": "c", "action": {"type": "click"}},
            {"type": "computer_call_output", "call_id": "c", "output": SCREENSHOT},
            {"type": "shell_call", "call_id": "d", "action": {"commands": ["ls"]}},
            {"type": "shell_call_output", "call_id": "d", "output": [{"stdout": "a.txt"}]},
            {"type": "function_call_output", "call_id": "z", "output": "?"},
            {"type": "item_reference", "id": "msg_1"},
        ]
    )
    results = [(item.call_id, item.name, item.content) for item in items if isinstance(item, ToolResult)]
    seen = Image(data=b"\x89PNG\r\n\x1a\n", media_type="image/png")
    assert results == [
        *(("a", "sql", "1"), ("b", "computer_call", '{"type":"computer_screenshot"}')),
        *(
            ("c", "computer_call", (seen,)),
            ("d", "shell_call", '[{"stdout":"a.txt"}]'),
            ("z", "unknown", "?"),
        ),
    ]
    notes = [item.content for item in items if isinstance(item, Note)]
    assert notes == [{"type": "item_reference", "id": "msg_1"}]
    rendered = WIRE.render(items)
    assert WIRE.check(rendered.payload) == []
    shown = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"}
    assert {"type": "function_call_output", "call_id": "c", "output": [shown]} in rendered.payload["input"]


@pytest.mark.parametrize(
    ("item", "path"),
    [
        ({"role": "nobody", "content": "hi"}, "input[0].role"),
        ({"type": 7}, "input[0].type"),
        ({"type": "function_call", "call_id": "a"}, "input[0].name"),
        ({"type": "function_call_output", "call_id": "", "output": ""}, "input[0].call_id"),
        ({"role": "user", "content": [{"type": "input_text"}]}, "input[0].content[0].text"),
        ({"role": "user", "content": [{"type": "input_image"}]}, "input[0].content[0].image_url"),
        (
            {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,?"}]},
            "input[0].content[0]",
        ),
    ],
)
def test_what_cannot_be_read_is_named_by_its_place(item: Any, path: str) -> None:
    with pytest.raises(Damaged) as found:
        WIRE.read_history([item])
    assert found.value.path == path


def test_what_is_no_history_is_refused() -> None:
    with pytest.raises(Damaged):
        WIRE.read_history({"messages": []})
    for payload in (7, [7], [{"role": "user", "content": 7}]):
        with pytest.raises(WrongType):
            WIRE.read_history(payload)


def test_sealed_state_is_of_the_model_that_is_named() -> None:
    payloads: list[tuple[Any, str]] = [
        ([THOUGHT], "gpt-5.6"),
        ({"model": "gpt-6", "input": [THOUGHT]}, "gpt-6"),
    ]
    for payload, model in payloads:
        (item,) = WIRE.read_history(payload, model="gpt-5.6")
        assert isinstance(item, Reasoning) and item.state is not None and item.state.model == model
    (item,) = WIRE.read_history([THOUGHT])
    assert isinstance(item, Reasoning) and item.state is not None and item.state.model == ""


def test_what_a_search_for_tools_found_is_kept() -> None:
    tools: list[Any] = [{"type": "function", "name": "get_customer", "parameters": {}}]
    items = WIRE.read_history(
        [
            {"role": "user", "content": "hi"},
            {"type": "tool_search_call", "call_id": "c1", "arguments": {}, "execution": "client"},
            {"type": "tool_search_output", "call_id": "c1", "execution": "client", "tools": tools},
        ]
    )
    output = WIRE.render(items).payload["input"][2]
    assert (output["call_id"], json.loads(output["output"])) == ("c1", {"tools": tools})


@pytest.mark.parametrize("named", ["lsh_1", "c1"])
def test_an_output_that_names_its_call_by_the_id_of_an_item(named: str) -> None:
    items = WIRE.read_history(
        [
            {"role": "user", "content": "hi"},
            {"type": "local_shell_call", "id": "lsh_1", "call_id": "c1", "action": {"command": ["ls"]}},
            {"type": "local_shell_call_output", "id": named, "output": "a.txt"},
        ]
    )
    rendered = WIRE.render(items)
    assert rendered.payload["input"][2]["output"] == "a.txt"
    assert [downgrade.change for downgrade in rendered.downgrades] == ["fields_left_out"]


@pytest.mark.parametrize("role", ["user", "developer", "assistant"])
def test_a_message_whose_words_are_elsewhere_is_refused(role: str) -> None:
    with pytest.raises(Damaged, match="it has no content; its words may be under 'parts'") as found:
        WIRE.read_history([{"role": role, "id": "1", "parts": [{"type": "text", "text": "hello"}]}])
    assert found.value.path == "input[0].content"


@pytest.mark.parametrize("content", [None, "", []])
def test_a_message_that_says_nothing_is_read(content: Any) -> None:
    told = {"content": content, "moods": ["x"]}
    assert len(WIRE.read_history([{"role": "user", **told}, {"role": "assistant", **told}])) == 1
    assert (
        WIRE.read_history([{"type": "message", "id": "msg_1", "role": "assistant", "status": "done"}]) == []
    )
