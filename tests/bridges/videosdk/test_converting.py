"""What OpenAI, Anthropic and Google are sent."""

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest

from quire.bridges.videosdk import ChatContext, ChatMessage, ChatRole, ImageContent
from quire.providers import provider_for
from tests.bridges.videosdk.talks import Streaming, talk

PLACEHOLDER = "skip_thought_signature_validator"  # Gemini takes it for a call that it did not sign
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def google(context: ChatContext, **options: Any) -> tuple[list[dict[str, Any]], str | None]:
    return asyncio.run(context.to_google_contents(**options))


def faults(context: ChatContext) -> list[str]:
    """All that the three providers would refuse."""
    messages, system = context.to_anthropic_messages()
    marked, blocks = context.to_anthropic_messages(caching=True)
    found = [
        *provider_for("openai").check({"messages": context.to_openai_messages()}),
        *provider_for("openai").check({"messages": context.to_openai_messages(reasoning_model=True)}),
        *provider_for("anthropic").check({"messages": messages, **({"system": system} if system else {})}),
        *provider_for("anthropic").check({"messages": marked, **({"system": blocks} if blocks else {})}),
        *provider_for("gemini").check({"contents": google(context)[0]}, model="gemini-3-pro"),
    ]
    return list(map(str, found))


def signatures(contents: list[dict[str, Any]]) -> list[str | None]:
    return [
        part.get("thoughtSignature")
        for content in contents
        for part in content["parts"]
        if "functionCall" in part
    ]


def test_a_conversation_has_no_fault_for_anyone() -> None:
    assert faults(talk()) == []


def test_openai_gets_the_instructions_first_and_tool_calls_with_their_outputs() -> None:
    messages = talk().to_openai_messages()
    assert messages[0] == {"role": "system", "content": "Be brief."}
    assert messages[2]["tool_calls"][0]["id"] == "c0" and messages[2]["tool_calls"][0]["type"] == "function"
    assert messages[3] == {"role": "tool", "tool_call_id": "c0", "content": "found 0"}
    assert messages[4] == {"role": "assistant", "content": "answer 0"}


def test_a_reasoning_model_is_told_by_the_developer() -> None:
    context = talk()
    assert context.to_openai_messages(reasoning_model=True)[0] == {
        "role": "developer",
        "content": "Be brief.",
    }
    context = ChatContext([ChatMessage(role=ChatRole.DEVELOPER, content="Be exact.")])
    context.add_message(ChatRole.USER, "hi")
    assert context.to_openai_messages()[0] == {"role": "system", "content": "Be exact."}


def test_parallel_calls_are_one_message() -> None:
    context = talk(0)
    context.add_message(ChatRole.USER, "both")
    for name in ("one", "two"):
        context.add_function_call(name, "{}", call_id=name)
    for name in ("two", "one"):
        context.add_function_output(name, f"{name}!", call_id=name)
    messages = context.to_openai_messages()
    assert [call["id"] for call in messages[2]["tool_calls"]] == ["one", "two"]
    assert [message["content"] for message in messages[3:5]] == ["one!", "two!"] and faults(context) == []


def test_the_last_instructions_in_force_are_sent_once_to_everyone() -> None:
    context = talk(1)
    context.add_message(ChatRole.DEVELOPER, "Be exact.")
    context.add_config_update(instructions="Be long.", tools=["x"])
    context.add_message(ChatRole.USER, "hi")
    messages = context.to_openai_messages()
    assert [m["content"] for m in messages if m["role"] in ("system", "developer")] == ["Be long."]
    assert context.to_anthropic_messages()[1] == "Be long." and google(context)[1] == "Be long."
    context.add_message(ChatRole.SYSTEM, "Be kind.", replace=True)
    assert context.to_openai_messages()[0]["content"] == "Be kind."
    assert context.to_anthropic_messages()[1] == "Be kind." == google(context)[1]
    assert "Be brief." not in json.dumps([context.to_anthropic_messages(), google(context)])


def test_without_instructions_none_are_sent() -> None:
    context = talk(1).copy(exclude_instructions=True)
    assert context.to_openai_messages()[0]["role"] == "user"
    assert context.to_anthropic_messages()[1] is None and google(context)[1] is None
    assert context.to_anthropic_messages(caching=True)[1] is None and faults(context) == []


def test_blank_instructions_are_none() -> None:
    context = talk(1)
    context.add_config_update(instructions="  ")
    assert context.to_anthropic_messages()[1] is None and google(context)[1] is None
    assert context.to_anthropic_messages(caching=True)[1] is None and faults(context) == []


def test_handoffs_and_updates_are_not_spoken() -> None:
    context = talk(1)
    context.add_handoff("agent-seven", reason="because")
    context.add_config_update(tools=["secret-tool"])
    sent = json.dumps([context.to_openai_messages(), context.to_anthropic_messages(), google(context)])
    assert "agent-seven" not in sent and "secret-tool" not in sent and faults(context) == []


def test_anthropic_roles_alternate_and_the_user_begins() -> None:
    for context in (talk(), ChatContext([ChatMessage(role=ChatRole.ASSISTANT, content="Welcome!")])):
        messages, _ = context.to_anthropic_messages()
        assert messages[0]["role"] == "user"
        assert all(one["role"] != two["role"] for one, two in pairwise(messages))


def test_after_a_summary_the_user_still_begins() -> None:
    context = talk()
    asyncio.run(context.summarize(Streaming(), keep_recent_turns=2))
    messages, _ = context.to_anthropic_messages()
    assert messages[0]["role"] == "user" and "THE GIST" in json.dumps(messages[0])
    assert google(context)[0][0]["role"] == "user" and faults(context) == []


def test_a_call_in_flight_gets_an_answer_on_the_wire_alone() -> None:
    context = talk(1)
    context.add_function_call("slow", "{}", call_id="open")
    context.add_message(ChatRole.USER, "well?")
    messages, _ = context.to_anthropic_messages()
    used = [block for m in messages for block in m["content"] if block["type"] == "tool_use"]
    given = [block for m in messages for block in m["content"] if block["type"] == "tool_result"]
    assert [block["id"] for block in used] == [block["tool_use_id"] for block in given] == ["c0", "open"]
    assert len(context.items) == 7 and faults(context) == []


def test_an_output_without_a_call_is_left_out_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    context = talk(1)
    context.add_function_output("search", "lost", call_id="nowhere")
    with caplog.at_level("INFO", logger="quire.bridges.videosdk"):
        assert faults(context) == []
    assert "nowhere" in caplog.text and "lost" not in caplog.text


def test_caching_marks_the_instructions_and_the_end() -> None:
    messages, system = talk().to_anthropic_messages(caching=True)
    assert system == [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    assert "cache_control" in json.dumps(messages)
    assert 1 <= json.dumps([messages, system]).count("cache_control") <= 4
    assert "cache_control" not in json.dumps(talk().to_anthropic_messages())


def test_the_next_turn_extends_what_was_cached() -> None:
    context = talk()
    context.add_message(ChatRole.USER, "more")
    before, system = context.to_anthropic_messages()
    context.add_message(ChatRole.ASSISTANT, "yes")
    context.add_message(ChatRole.USER, "and more")
    after, same = context.to_anthropic_messages()
    assert after[: len(before)] == before and system == same


def test_an_error_is_told_as_one() -> None:
    context = talk(0)
    context.add_message(ChatRole.USER, "try")
    context.add_function_call("f", "{}", call_id="c")
    context.add_function_output("f", "it broke", call_id="c", is_error=True)
    assert '"is_error": true' in json.dumps(context.to_anthropic_messages())
    assert '"error": "it broke"' in json.dumps(google(context))


@pytest.mark.parametrize("image", ["https://x.io/a.png", PNG])
def test_images_are_sent_by_address_or_by_bytes(image: str | bytes) -> None:
    context = talk(0)
    context.add_message(ChatRole.USER, ["look", ImageContent(image, inference_detail="low")])
    parts = context.to_openai_messages()[1]["content"]
    assert parts[0] == {"type": "text", "text": "look"}
    assert parts[1]["image_url"] == {"url": ImageContent(image).image, "detail": "low"}
    source = context.to_anthropic_messages()[0][0]["content"][1]["source"]
    assert source["type"] == ("url" if isinstance(image, str) else "base64") and faults(context) == []


def test_google_gets_contents_of_user_and_model_and_the_instructions() -> None:
    contents, system = google(talk())
    assert system == "Be brief." and {content["role"] for content in contents} == {"user", "model"}
    assert contents[1]["parts"][0]["functionCall"] == {"id": "c0", "name": "search", "args": {"q": 0}}


def test_a_signature_travels_with_its_call_and_the_last_falls_back_on_its_tool() -> None:
    context = talk(1)
    for name, call_id, metadata in (
        ("search", "own", {"thought_signature": "b3du"}),
        ("search", "none", None),
        ("read", "bytes", {"thought_signature": b"raw"}),
    ):
        context.add_message(ChatRole.USER, "next")
        context.add_function_call(name, "{}", call_id=call_id, metadata=metadata)
        context.add_function_output(name, "x", call_id=call_id)
    contents, _ = google(context, thought_signatures={"search": b"tool"})
    assert signatures(contents) == [PLACEHOLDER, "b3du", "dG9vbA==", "cmF3"]
    assert signatures(google(context.fork())[0])[1] == "b3du"
    assert signatures(google(ChatContext.from_dict(context.to_dict()))[0])[3] == "cmF3"


def test_a_signature_that_is_none_is_not_sent() -> None:
    context = talk(0)
    context.add_message(ChatRole.USER, "next")
    context.add_function_call("f", "{}", call_id="c", metadata={"thought_signature": "no base64!"})
    context.add_function_output("f", "x", call_id="c")
    assert "no base64!" not in json.dumps(google(context)) and faults(context) == []


def test_signatures_go_to_google_alone() -> None:
    context = talk(0)
    context.add_message(ChatRole.USER, "next")
    context.add_function_call("f", "{}", call_id="c", metadata={"thought_signature": "b3du"})
    assert "b3du" not in json.dumps([context.to_openai_messages(), context.to_anthropic_messages()])


def test_arguments_that_are_no_json_do_no_harm() -> None:
    context = talk(0)
    context.add_message(ChatRole.USER, "try")
    context.add_function_call("f", '{"half": ', call_id="c")
    context.add_function_output("f", "what?", call_id="c")
    assert faults(context) == []


def test_converting_changes_nothing_and_is_the_same_again() -> None:
    context = talk()
    before = context.to_dict()
    first = context.to_openai_messages()
    first[1]["content"] = "spoilt"
    assert context.to_openai_messages()[1]["content"] == "question 0"
    assert context.to_anthropic_messages() == context.to_anthropic_messages()
    assert google(context) == google(context) and context.to_dict() == before


def test_even_an_empty_context_can_be_sent() -> None:
    assert faults(ChatContext()) == []


def test_a_model_may_be_named() -> None:
    context = talk(1)
    context.add_message(ChatRole.USER, ["look", ImageContent("https://x.io/a.png")])
    assert context.to_openai_messages(model="o3")[0]["role"] == "developer"
    assert context.to_anthropic_messages(model="claude-sonnet-4-5")[0]
    assert signatures(google(talk(1), model="gemini-2.5-pro")[0]) == [None]
