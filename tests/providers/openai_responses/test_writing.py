"""Responses: the exact input for each rule of the wire."""

from typing import Any

import pytest

from quire.errors import Downgraded
from quire.items import (
    Audio,
    ConfigChange,
    File,
    Handoff,
    Image,
    Item,
    Message,
    Note,
    Summary,
    ToolCall,
    ToolResult,
)
from quire.providers import CachePlan, OpenAIResponses

WIRE = OpenAIResponses()
PNG, PDF = b"\x89PNG\r\n\x1a\n", b"%PDF-1.7"
USER = Message("user", "hi")


def sent(*items: Item, model: str | None = None) -> Any:
    """The input for items; it is what the service takes."""
    payload = WIRE.render(items, model=model).payload
    assert WIRE.check(payload, model) == []
    return payload["input"]


def changes(*items: Item, model: str | None = None) -> list[str]:
    return [downgrade.change for downgrade in WIRE.render(items, model=model).downgrades]


def call(call_id: str, name: str = "look", arguments: str = "{}") -> dict[str, str]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def output(call_id: str, text: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def test_words_are_messages_in_place() -> None:
    items = (Message("system", "be kind"), USER, Message("assistant", "hello"), ConfigChange("be brief"))
    assert sent(*items) == [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "hi"},
        {"type": "message", "role": "assistant", "content": "hello"},
        {"role": "system", "content": "be brief"},
    ]
    assert [item["role"] for item in sent(*items, model="gpt-5.6")] == [
        *("developer", "user", "assistant", "developer")
    ]


def test_parallel_calls_are_followed_by_their_outputs_in_order() -> None:
    items = (
        USER,
        Message("assistant", "looking"),
        ToolCall("a", "look", '{"x": 1}'),
        ToolCall("b", "look"),
        ToolResult("b", "look", "two"),
        ToolResult("a", "look", "one"),
    )
    assert sent(*items) == [
        {"role": "user", "content": "hi"},
        {"type": "message", "role": "assistant", "content": "looking"},
        call("a", arguments='{"x": 1}'),
        call("b"),
        output("a", "one"),
        output("b", "two"),
    ]


def test_a_call_without_a_result_gets_one() -> None:
    items = (USER, ToolCall("a", "look"), Message("user", "stop"))
    answer = output("a", "No result: the call was interrupted.")
    assert sent(*items)[1:] == [call("a"), answer, {"role": "user", "content": "stop"}]
    assert changes(*items) == ["answer_added"]
    with pytest.raises(Downgraded):
        WIRE.render(items, strict=True)


def test_a_result_without_a_call_is_left_out() -> None:
    items = (USER, ToolResult("z", "look", "?"))
    assert sent(*items) == [{"role": "user", "content": "hi"}]
    assert changes(*items) == ["result_left_out"]


def test_a_late_result_goes_to_its_call() -> None:
    items = (ToolCall("a", "look"), Message("user", "well?"), ToolResult("a", "look", "one"))
    assert sent(*items) == [call("a"), output("a", "one"), {"role": "user", "content": "well?"}]
    assert changes(*items) == []


def test_media_of_the_user() -> None:
    parts = (
        "see",
        Image(data=PNG, detail="low"),
        Image(url="https://example.com/a.jpg"),
        File(data=PDF),
        File(url="https://example.com/a.docx"),
        File(data=b"a,b", media_type="text/csv"),
    )
    assert sent(Message("user", parts))[0]["content"] == [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"},
        {"type": "input_image", "image_url": "https://example.com/a.jpg", "detail": "auto"},
        {
            "type": "input_file",
            "filename": "document.pdf",
            "file_data": "data:application/pdf;base64,JVBERi0xLjc=",
        },
        {"type": "input_file", "file_url": "https://example.com/a.docx"},
        {"type": "input_text", "text": "a,b"},
    ]


def test_what_cannot_be_carried_is_put_in_words() -> None:
    parts = (
        Audio(data=b"ID3", transcript="hello"),
        Image(data=b"?"),
        File(data=b"PK", media_type="application/zip"),
    )
    item = Message("user", parts)
    texts = [part["text"] for part in sent(item)[0]["content"]]
    assert texts == ["hello", "[image]", "[file]"]
    assert changes(item) == ["media_as_text"] * 3


def test_tools_give_media_where_they_are() -> None:
    result = ToolResult("a", "look", ("seen", Image(data=PNG)))
    assert sent(ToolCall("a", "look"), result)[1]["output"] == [
        {"type": "input_text", "text": "seen"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"},
    ]
    assert changes(ToolCall("a", "look"), result) == []


def test_media_of_the_model_move_after_its_turn() -> None:
    drawn = Message("assistant", ("there", Image(data=PNG)))
    items = (USER, drawn, ToolCall("a", "look"), ToolResult("a", "look", "one"))
    written = sent(*items)
    assert written[1:4] == [
        {"type": "message", "role": "assistant", "content": "there"},
        call("a"),
        output("a", "one"),
    ]
    assert written[4]["role"] == "user" and written[4]["content"][1]["type"] == "input_image"
    assert changes(*items) == ["media_moved"]


def test_foreign_ids_and_names_are_mended() -> None:
    items = (ToolCall("x" * 80, "a tool"), ToolResult("x" * 80, "a tool", "one"))
    rendered = WIRE.render(items)
    given = rendered.payload["input"][0]
    assert len(given["call_id"]) <= 64 and given["call_id"] == rendered.payload["input"][1]["call_id"]
    assert rendered.names[given["name"]] == "a tool"
    assert WIRE.check(rendered.payload) == []
    assert sorted(changes(*items)) == ["id_renamed", "name_renamed"]


def test_an_id_is_given_out_once() -> None:
    turn = (ToolCall("a", "look"), ToolResult("a", "look", "one"))
    ids = [item["call_id"] for item in sent(USER, *turn, USER, *turn) if "call_id" in item]
    assert ids[0] == ids[1] == "a" and ids[2] == ids[3] != "a"


def test_what_is_empty_is_left_out() -> None:
    items = (Message("user", ""), Message("assistant", ("", "")), Message("system", ""))
    assert sent(*items) == [{"role": "user", "content": "Continue."}]
    assert changes(*items) == ["empty_left_out"] * 3 + ["turn_added"]
    assert sent(ToolCall("a", "look"), ToolResult("a", "look", ""))[1] == output("a", "(no output)")


def test_notes_and_summaries_are_told_to_the_model_and_records_are_not() -> None:
    items = (Summary("gist", ()), Note({"n": 1}, key="k"), Handoff("b"), ConfigChange(tools=("look",)))
    assert sent(*items) == [
        {"role": "user", "content": "<summary>\ngist\n</summary>"},
        {"role": "user", "content": '<note>\nk\n{"n":1}\n</note>'},
    ]
    assert changes(*items) == ["unspoken", "unspoken"]


def test_tools_are_flat_and_say_whether_they_are_strict() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    tools: list[dict[str, Any]] = [
        {"type": "function", "function": {"name": "b", "parameters": schema, "strict": True}},
        {"name": "a", "description": "an A", "input_schema": schema},
        {"type": "web_search"},
    ]
    payload = WIRE.render((USER,), tools=tools).payload
    assert payload["tools"] == [
        {"type": "function", "name": "a", "description": "an A", "parameters": schema, "strict": False},
        {"type": "function", "name": "b", "parameters": schema, "strict": True},
        {"type": "web_search"},
    ]
    assert WIRE.check(payload) == []


def test_the_plan_is_marked_on_blocks_of_input() -> None:
    items = (Message("system", "be kind"), ToolCall("a", "look"), ToolResult("a", "look", "one"), USER)
    plan = CachePlan(static=1, slow=3, key="k")
    mark = {"mode": "explicit"}
    payload = WIRE.render(items, model="gpt-5.6", plan=plan).payload
    system = {"type": "input_text", "text": "be kind", "prompt_cache_breakpoint": mark}
    result = {"type": "input_text", "text": "one", "prompt_cache_breakpoint": mark}
    assert payload["input"][0] == {"role": "developer", "content": [system]}
    assert payload["input"][2] == output("a", [result])
    assert payload["input"][3] == {"role": "user", "content": "hi"}
    assert "prompt_cache_key" in payload
    assert WIRE.check(payload, "gpt-5.6") == []
    unmarked = WIRE.render(items, model="gpt-4o", plan=plan).payload
    assert unmarked["input"][0] == {"role": "system", "content": "be kind"}


def test_a_mark_falls_back_to_what_can_bear_it() -> None:
    items = (USER, Message("assistant", "hello"))
    payload = WIRE.render(items, model="gpt-5.6", plan=CachePlan(static=9)).payload
    assert "prompt_cache_breakpoint" in payload["input"][0]["content"][0]
    assert payload["input"][1] == {"type": "message", "role": "assistant", "content": "hello"}
