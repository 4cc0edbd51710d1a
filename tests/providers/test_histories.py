"""Histories in the forms of wires and libraries, as items."""

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given

from quire.errors import Damaged, WrongType
from quire.items import Image, Item, Message, Reasoning, ToolCall, ToolResult
from quire.providers import provider_for
from quire.state import groups
from quire.testing.providers import plain
from tests.providers.replies import MODELS, ROWS, WIRES, Json, Reply, drawn_replies, whole

PNG = b"\x89PNG\r\n\x1a\n"
PNG64 = b64encode(PNG).decode()
IMAGE = Image(data=PNG, media_type="image/png")
VALUES = ("openai", "openai-responses", "anthropic")
"""Wires whose results hold blocks."""


def read(wire: str, payload: Any, model: str | None = None) -> list[Item]:
    return provider_for(wire).read_history(payload, model=model)


def results(items: list[Item]) -> list[ToolResult]:
    return [item for item in items if isinstance(item, ToolResult)]


def said(wire: str, block: Any) -> Any:
    """A history in which the user says a block."""
    return [{"role": "user", "parts" if wire == "gemini" else "content": [block]}]


def given_back(wire: str, content: Any) -> ToolResult:
    """The result of a call that gave a value."""
    answer: Json = {"role": "tool", "tool_call_id": "a", "content": content}
    if wire == "openai-responses":
        answer = {"type": "function_call_output", "call_id": "a", "output": content}
    elif wire == "anthropic":
        block = {"type": "tool_result", "tool_use_id": "a", "content": content}
        answer = {"role": "user", "content": [block]}
    [found] = results(read(wire, [*ROWS["paired"][wire][:1], answer]))
    return found


def outline(items: list[Item]) -> list[Json]:
    """Items without ids, times and state."""
    return [{name: value for name, value in item.items() if name != "state"} for item in plain(items)]


@pytest.mark.parametrize("wire", WIRES)
@given(reply=drawn_replies)
def test_a_rendered_payload_is_read_and_rendered_the_same(wire: str, reply: Reply) -> None:
    provider, model = provider_for(wire), MODELS[wire]
    question = [Message("system", "Be brief."), Message("user", ("See:", IMAGE))]
    answer = provider.parse(whole(wire, reply), sent=provider.render(question, model=model)).items
    calls = [item for item in answer if isinstance(item, ToolCall)]
    done = [ToolResult(call.call_id, call.name, "x", is_error=not place) for place, call in enumerate(calls)]
    items = [*question, *answer, *done, Message("user", "And?")]
    payload = provider.render(items, model=model).payload
    found = read(wire, payload, model)
    answered = [item.text for item in found if isinstance(item, Message) and item.role == "assistant"]
    assert answered == [reply.text] or not reply.text.strip()
    assert sum(isinstance(item, ToolCall) for item in found) == len(reply.calls)
    again = provider.render(found, model=model)
    assert provider.check(payload, model) == provider.check(again.payload, model) == []
    assert outline(read(wire, again.payload, model)) == outline(found)


# --- pairing of calls and results


@pytest.mark.parametrize("wire", WIRES)
def test_results_belong_to_their_calls(wire: str) -> None:
    turn = ROWS["paired"][wire]
    found = [(item.call_id, item.name, item.text) for item in results(read(wire, turn))]
    assert found == [("b", "g", "2"), ("a", "f", "1")]
    items = read(wire, [*turn, *turn])  # a later turn repeats the ids
    assert [item.call_id for item in items if isinstance(item, ToolCall)] == ["a", "b", "a_2", "b_2"]
    assert [item.call_id for item in results(items)] == ["b", "a", "b_2", "a_2"]


def test_calls_without_ids_are_counted_and_paired_by_name_and_order() -> None:
    chat: list[Json] = [
        {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}, {"function": {"name": "g"}}]},
        {"role": "tool", "name": "g", "content": "2"},
        {"role": "tool", "content": "1"},
    ]
    answers = [{"name": "g", "response": {"output": "2"}}, {"response": {"output": "1"}}]
    gemini: list[Json] = [
        {"role": "model", "parts": [{"functionCall": {"name": name}} for name in "fg"]},
        {"role": "user", "parts": [{"functionResponse": answer} for answer in answers]},
    ]
    for wire, payload in (("openai", chat), ("gemini", gemini)):
        found = [(item.call_id, item.name, item.text) for item in results(read(wire, payload))]
        assert found == [("call_1", "g", "2"), ("call_0", "f", "1")]
        assert outline(read(wire, payload)) == outline(read(wire, payload))


def test_the_mark_of_failure_becomes_an_error_again() -> None:
    failed = ToolResult("a", "f", "no luck", is_error=True)
    for wire in ("openai", "openai-responses"):
        provider = provider_for(wire)
        rendered = provider.render([Message("user", "Go."), ToolCall("a", "f"), failed], model=MODELS[wire])
        [result] = results(provider.read_history(rendered.payload))
        assert (result.is_error, result.text) == (True, "no luck")


# --- parts and results


def test_parts_of_wires_and_libraries() -> None:
    for wire, block, part in ROWS["parts"]:
        [message] = plain(read(wire, said(wire, block)))
        assert message["content"] in (part, [part]), block
        if wire != "gemini":
            [result] = plain([given_back(wire, [{"type": "text", "text": "See:"}, block])])
            assert result["content"] == ["See:", part], block


@pytest.mark.parametrize("wire", VALUES)
def test_a_result_that_is_a_value_is_its_json(wire: str) -> None:
    for value in ({"temperature": 5}, [1, 2], 5, ["a", "b"], [{"type": "dir", "path": "b"}]):
        content = given_back(wire, value).content
        assert isinstance(content, str)
        assert content[0] in "[{5", value
    image = {"type": "image", "data": PNG64, "mimeType": "image/png"}
    assert given_back(wire, ["See:", image, 5]).parts == ("See:", IMAGE, "5")


@pytest.mark.parametrize("wire", WIRES)
def test_a_block_of_no_known_kind_is_its_json(wire: str) -> None:
    block = {"hologram": {"x": 1}} if wire == "gemini" else {"type": "hologram", "x": 1}
    [message] = read(wire, said(wire, block))
    assert isinstance(message, Message)
    assert "hologram" in message.text
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(Damaged, match="nested deeper"):
        read(wire, said(wire, {"type": "new", "deep": deep}))


# --- state


@pytest.mark.parametrize("wire", WIRES)
def test_state_is_of_the_model_that_the_caller_or_the_payload_names(wire: str) -> None:
    signed = ROWS["signed"][wire]
    for payload, named in ((signed, "a-model"), ({**signed, "model": "a-model"}, None)):
        thought = read(wire, payload, named)[0]
        assert isinstance(thought, Reasoning)
        assert thought.state is not None
        assert thought.state.model == "a-model"


def test_names_of_speakers_go_back() -> None:
    messages = [{"role": "user", "content": "Go.", "name": "Ann"}]
    provider = provider_for("openai")
    assert provider.render(provider.read_history(messages), model="gpt-5.6").payload["messages"] == messages


def test_the_placeholder_of_a_signature_is_no_signature() -> None:
    part = {"functionCall": {"name": "f", "id": "a"}, "thoughtSignature": "skip_thought_signature_validator"}
    [call] = read("gemini", [{"role": "model", "parts": [part]}])
    assert isinstance(call, ToolCall)
    assert call.state is None


# --- forms of libraries


def test_messages_of_langchain_are_read() -> None:
    use: Json = {
        "type": "tool_use",
        "id": "a",
        "name": "f",
        "input": {},
        "partial_json": '{"q": 1}',
        "index": 2,
    }
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    messages: list[Json] = [
        {"type": "system", "content": "Be brief."},
        {"type": "human", "content": "Rain?"},
        {
            "type": "ai",
            "content": [thinking, {"type": "text", "text": "I look.", "index": 1}, use],
            "tool_calls": [{"type": "tool_call", "id": "a", "name": "f", "args": {"q": 1}}],
        },
        {"type": "tool", "tool_call_id": "a", "content": "no luck", "status": "error"},
    ]
    items = read("openai", messages, "claude-opus-4-8")
    assert [type(item) for item in items] == [Message, Message, Reasoning, Message, ToolCall, ToolResult]
    call, result = items[-2:]
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert (call.call_id, call.arguments, result.name, result.is_error) == ("a", '{"q":1}', "f", True)


def test_messages_of_the_ai_sdk_are_read() -> None:
    call = {"type": "tool-call", "toolCallId": "a", "toolName": "f", "input": {"q": 1}}
    said_before = [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "I look."}]
    for output, text, is_error in ROWS["ai_sdk_outputs"]:
        result = {"type": "tool-result", "toolCallId": "a", "toolName": "f", **output}
        messages = [
            {"role": "assistant", "content": [*said_before, call]},
            {"role": "tool", "content": [result]},
        ]
        items = read("openai", messages)
        assert [type(item) for item in items] == [Reasoning, Message, ToolCall, ToolResult]
        [found] = results(items)
        assert (found.call_id, found.text, found.is_error) == ("a", text, is_error), output


def test_objects_of_clients_may_stand_anywhere_in_a_history() -> None:
    class Block:
        def model_dump(self, **options: Any) -> Json:
            return {"type": "text", "text": "Well"}

    [message] = read("anthropic", [{"role": "assistant", "content": [Block()]}])
    assert isinstance(message, Message)
    assert message.text == "Well"


# --- forms of requests, and refusals


def test_all_forms_that_clients_take_are_read() -> None:
    rows = [("gemini", *row) for row in ROWS["gemini_forms"]]
    rows.append(("openai-responses", {"instructions": "Be brief.", "input": "Rain?"}, ["Be brief.", "Rain?"]))
    for wire in ("openai", "openai-responses"):  # an empty reply that a client wrote without content
        rows.append((wire, [{"role": "user", "content": "Go."}, {"role": "assistant"}], ["Go."]))
    for wire, payload, texts in rows:
        found = [item.text for item in read(wire, payload) if isinstance(item, Message)]
        assert found == texts, payload
    part = {"inline_data": {"mime_type": "image/png", "data": PNG}}  # of google-genai
    [message] = read("gemini", said("gemini", part))
    assert isinstance(message, Message)
    assert message.parts == (IMAGE,)


def test_a_malformed_history_is_refused_with_a_path() -> None:
    for wire, payload, path in ROWS["damaged_histories"]:
        with pytest.raises(Damaged) as caught:
            read(wire, payload)
        assert f"(at {path})" in str(caught.value), payload
    for wire in WIRES:
        with pytest.raises(WrongType):
            read(wire, 5)


def test_neighbouring_messages_of_the_model_are_one_reply() -> None:
    thoughts = [{"type": "thinking", "thinking": f"{number}.", "signature": "sig"} for number in range(2)]
    calls: list[dict[str, Any]] = [
        {"type": "tool_use", "id": f"c{number}", "name": "look", "input": {}} for number in range(2)
    ]
    blocks: list[dict[str, Any]] = [thoughts[0], {"type": "text", "text": "I look."}, thoughts[1], *calls]
    answers: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": call["id"], "content": "x"} for call in calls
    ]
    parts = [{"functionCall": {"name": name}, "thoughtSignature": "c2ln"} for name in ("look", "read")]
    responses = [{"functionResponse": part["functionCall"]} for part in parts]
    rows = (
        ("anthropic", "content", "assistant", blocks, answers),
        ("gemini", "parts", "model", parts, responses),
    )
    for wire, field, role, said, results in rows:
        provider, model = provider_for(wire), MODELS[wire]
        asked, rest = Message("user", "Go."), [Message("user", "And?")]
        messages = [{"role": role, field: [one]} for one in said] + [{"role": "user", field: results}]
        split = read(wire, messages, model)
        assert [len(group.items) for group in groups(split)] == [len(split)], wire
        joined = read(wire, [{"role": role, field: said}, *messages[-1:]], model)
        sent = [provider.render([asked, *items, *rest], model=model) for items in (split, joined)]
        assert sent[0].payload == sent[1].payload
        assert {one.change for one in sent[0].downgrades} <= {"tools_added"}
