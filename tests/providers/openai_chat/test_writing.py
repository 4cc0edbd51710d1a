"""Chat Completions: the exact messages for each rule of the wire."""

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
    Opaque,
    Reasoning,
    Summary,
    ToolCall,
    ToolResult,
)
from quire.providers import CachePlan, OpenAIChat

WIRE = OpenAIChat()
PNG, PDF, WAV = b"\x89PNG\r\n\x1a\n", b"%PDF-1.7", b"RIFF\0\0\0\0WAVE"
USER = Message("user", "hi")
SAID = {"role": "user", "content": "hi"}


def sent(*items: Item, model: str | None = None) -> Any:
    """The messages for items; they are what the service takes."""
    payload = WIRE.render(items, model=model).payload
    assert WIRE.check(payload, model) == []
    return payload["messages"]


def changes(*items: Item, model: str | None = None) -> list[str]:
    return [downgrade.change for downgrade in WIRE.render(items, model=model).downgrades]


def called(*ids: str, text: str | None = None, arguments: str = "{}") -> dict[str, Any]:
    function = {"name": "look", "arguments": arguments}
    calls = [{"id": call_id, "type": "function", "function": function} for call_id in ids]
    return {"role": "assistant", "content": text, "tool_calls": calls}


def output(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def test_words_are_messages_in_place() -> None:
    items = (Message("developer", "be kind"), USER, Message("assistant", "hello"), ConfigChange("be brief"))
    assert sent(*items) == [
        {"role": "system", "content": "be kind"},
        SAID,
        {"role": "assistant", "content": "hello"},
        {"role": "system", "content": "be brief"},
    ]
    assert [message["role"] for message in sent(*items, model="gpt-5.6")] == [
        *("developer", "user", "assistant", "developer")
    ]
    # A model that takes no instructions is told them.
    assert sent(*items, model="o1-mini")[0] == {
        "role": "user",
        "content": "<instructions>\nbe kind\n</instructions>",
    }
    assert changes(*items, model="o1-mini") == ["instructions_as_text"] * 2


def test_parallel_calls_are_one_message_and_their_outputs_follow_in_order() -> None:
    items = (
        USER,
        Message("assistant", "looking"),
        ToolCall("a", "look"),
        ToolCall("b", "look"),
        ToolResult("b", "look", "two"),
        ToolResult("a", "look", "one"),
    )
    assert sent(*items) == [SAID, called("a", "b", text="looking"), output("a", "one"), output("b", "two")]


def test_a_call_without_a_result_gets_one() -> None:
    items = (USER, ToolCall("a", "look"), Message("user", "stop"))
    answer = output("a", "No result: the call was interrupted.")
    assert sent(*items)[1:] == [called("a"), answer, {"role": "user", "content": "stop"}]
    assert changes(*items) == ["answer_added"]
    with pytest.raises(Downgraded):
        WIRE.render(items, strict=True)


def test_a_result_without_a_call_is_left_out_and_a_late_one_goes_to_its_call() -> None:
    assert sent(USER, ToolResult("z", "look", "?")) == [SAID]
    assert changes(USER, ToolResult("z", "look", "?")) == ["result_left_out"]
    late = (ToolCall("a", "look"), USER, ToolResult("a", "look", "one"))
    assert sent(*late) == [called("a"), output("a", "one"), SAID]
    assert changes(*late) == []


def test_media_of_the_user() -> None:
    parts = ("see", Image(data=PNG, detail="low"), Image(url="https://example.com/a.jpg"), File(data=PDF))
    assert sent(Message("user", parts))[0]["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.jpg"}},
        {
            "type": "file",
            "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjc="},
        },
    ]


def test_audio_goes_to_models_that_hear() -> None:
    heard = Message("user", (Audio(data=WAV, transcript="hello"),))
    part = {"type": "input_audio", "input_audio": {"data": "UklGRgAAAABXQVZF", "format": "wav"}}
    assert sent(heard, model="gpt-4o-audio-preview")[0]["content"] == [part]
    assert sent(heard, model="gpt-5.6") == [{"role": "user", "content": "hello"}]
    assert changes(heard, model="gpt-5.6") == ["media_as_text"]


def test_media_of_tools_and_of_the_model_move_to_the_user() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    items = (ToolCall("a", "look"), ToolResult("a", "look", ("seen", Image(data=PNG))))
    moved = {"role": "user", "content": [{"type": "text", "text": "[from look]"}, picture]}
    assert sent(*items) == [called("a"), output("a", "seen"), moved]
    assert changes(*items) == ["media_moved"]
    drawn = Message("assistant", ("there", Image(data=PNG)))
    moved = {"role": "user", "content": [{"type": "text", "text": "[from the assistant]"}, picture]}
    assert sent(drawn) == [{"role": "assistant", "content": "there"}, moved]
    assert changes(drawn) == ["media_moved"]


def test_foreign_ids_and_names_are_mended_and_ids_given_out_once() -> None:
    rendered = WIRE.render((ToolCall("x" * 80, "a tool"), ToolResult("x" * 80, "a tool", "one")))
    call = rendered.payload["messages"][0]["tool_calls"][0]
    assert len(call["id"]) <= 64 and call["id"] == rendered.payload["messages"][1]["tool_call_id"]
    assert rendered.names[call["function"]["name"]] == "a tool"
    assert WIRE.check(rendered.payload) == []
    turn = (ToolCall("a", "look"), ToolResult("a", "look", "one"))
    first, second = (message["tool_calls"][0]["id"] for message in sent(*turn, USER, *turn)[::3])
    assert first == "a" != second


def test_what_is_empty_is_left_out() -> None:
    items = (Message("user", ""), Message("assistant", ("", "")), Message("system", ""))
    assert sent(*items) == [{"role": "user", "content": "Continue."}]
    assert changes(*items) == ["empty_left_out"] * 3 + ["turn_added"]
    assert sent(ToolCall("a", "look"), ToolResult("a", "look", ""))[1] == output("a", "(no output)")


def test_reasoning_is_not_carried() -> None:
    items = (USER, Reasoning("hm", Opaque("openai", "m")), Message("assistant", "hello"))
    assert sent(*items) == [SAID, {"role": "assistant", "content": "hello"}]
    assert changes(*items) == ["thoughts_left_out"]


def test_notes_and_summaries_are_told_to_the_model_and_records_are_not() -> None:
    items = (Summary("gist", ()), Note({"n": 1}, key="k"), Handoff("b"), ConfigChange(tools=("look",)))
    assert sent(*items) == [
        {"role": "user", "content": "<summary>\ngist\n</summary>"},
        {"role": "user", "content": '<note>\nk\n{"n":1}\n</note>'},
    ]
    assert changes(*items) == ["unspoken", "unspoken"]


def test_tools() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    tools: list[dict[str, Any]] = [
        {"type": "function", "name": "b", "parameters": schema, "strict": True},
        {"name": "a", "description": "an A", "input_schema": schema},
    ]
    payload = WIRE.render((USER,), tools=tools).payload
    assert [tool["function"] for tool in payload["tools"]] == [
        {"name": "a", "description": "an A", "parameters": schema},
        {"name": "b", "parameters": schema, "strict": True},
    ]
    assert WIRE.check(payload) == []


def test_the_plan_is_marked_where_the_model_knows_marks() -> None:
    items = (Message("system", "be kind"), USER, Message("assistant", "hello"), Message("user", "and?"))
    plan = CachePlan(static=1, slow=3, key="k")
    payload = WIRE.render(items, model="gpt-5.6", plan=plan).payload
    mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
    assert payload["messages"] == [
        {"role": "developer", "content": [{"type": "text", "text": "be kind", **mark}]},
        {"role": "user", "content": [{"type": "text", "text": "hi", **mark}]},
        {"role": "assistant", "content": "hello"},
        {"role": "user", "content": "and?"},
    ]
    assert "prompt_cache_key" in payload and WIRE.check(payload, "gpt-5.6") == []
    assert WIRE.render(items, model="gpt-4o", plan=plan).payload["messages"][1] == SAID


@pytest.mark.parametrize(
    "model", ["gpt-5.6", "openai/gpt-5.7", "gpt-5.10-mini", "gpt-6", "gpt-6.1-2027-01-01"]
)
def test_models_from_gpt_5_6_on_get_breakpoints(model: str) -> None:
    payload = WIRE.render([Message("user", "Hi.")], model=model, plan=CachePlan(static=1)).payload
    assert "prompt_cache_breakpoint" in payload["messages"][0]["content"][-1]


@pytest.mark.parametrize("model", [None, "gpt-5.5", "gpt-5", "gpt-4o", "gpt-35-turbo", "gpt-oss-120b", "o3"])
def test_others_get_none(model: str | None) -> None:
    payload = WIRE.render([Message("user", "Hi.")], model=model, plan=CachePlan(static=1)).payload
    assert payload["messages"][0]["content"] == "Hi."
