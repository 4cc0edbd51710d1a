"""What rendering promises on one wire: the rules of each API, and of services that only speak its wire."""

import json
from typing import Any

import pytest

from quire.items import Audio, File, Image, Item, Message, Opaque, Reasoning, ToolCall, ToolResult
from quire.providers import PROVIDERS, CachePlan, Rendered, pack, without_breakpoints
from quire.state import Transcript
from tests.providers.conversations import PNG, wide_png

Json = dict[str, Any]

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


def gemini(*items: Item, model: str = "gemini-3-pro", **options: Any) -> list[Json]:
    messages: list[Json] = sent("gemini", model, *items, **options).payload["contents"]
    return messages


def responses(*items: Item, model: str = "gpt-5.6", **options: Any) -> list[Json]:
    messages: list[Json] = sent("openai-responses", model, *items, **options).payload["input"]
    return messages


def changes(rendered: Rendered) -> list[str]:
    return [downgrade.change for downgrade in rendered.downgrades]


def roles(messages: list[Json]) -> list[str]:
    return [message["role"] for message in messages]


# --- Chat Completions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "role"), [("gpt-5.6", "developer"), ("gpt-4o", "system"), ("o1-mini", "user"), (None, "system")]
)
def test_instructions_have_the_role_that_the_model_takes(model: str | None, role: str) -> None:
    assert roles(chat(model, Message("system", "Be brief."), ask))[0] == role


def test_instructions_stay_in_place_on_openai_and_are_at_the_start_elsewhere() -> None:
    items = (Message("system", "One."), Message("system", "Two."), ask, Message("system", "Three."), ask)
    assert roles(chat("gpt-4o", *items)) == ["system", "system", "user", "system", "user"]
    elsewhere = chat("llama-3.3-70b", *items)
    assert elsewhere[0]["content"] == "One.\n\nTwo." and elsewhere[2]["content"].startswith("<instructions>")


def test_more_than_128_calls_are_several_messages() -> None:
    calls = [ToolCall(f"c{n}", "look", "{}") for n in range(130)]
    results = [ToolResult(f"c{n}", "look", "x") for n in range(130)]
    messages = chat("gpt-5.6", ask, *calls, *results)
    assert [len(message["tool_calls"]) for message in messages if "tool_calls" in message] == [128, 2]


def test_the_text_before_a_call_is_in_its_message() -> None:
    messages = chat("gpt-5.6", ask, Message("assistant", "I look."), look, found)
    assert messages[1]["content"] == "I look." and messages[1]["tool_calls"]


def test_mistral_gets_ids_of_nine_letters_and_speaks_after_results() -> None:
    messages = chat("mistral-large-latest", ask, look, found, ask, Message("assistant", "Yes."))
    assert len(messages[1]["tool_calls"][0]["id"]) == 9
    assert roles(messages) == ["user", "assistant", "tool", "assistant", "user", "assistant", "user"]


def test_kimi_keeps_its_own_ids() -> None:
    own = ToolCall("functions.look:0", "look", "{}"), ToolResult("functions.look:0", "look", "x")
    assert chat("kimi-k2", ask, *own)[1]["tool_calls"][0]["id"] == "functions.look:0"


@pytest.mark.parametrize(
    ("model", "images"), [("gpt-5.6", 1), ("in-house", 1), ("deepseek-v4-pro", 0), ("o3-mini", 0), (None, 1)]
)
def test_pictures_go_to_models_that_see(model: str | None, images: int) -> None:
    text = json.dumps(chat(model, Message("user", ("Look:", Image(url="https://example.com/a.png")))))
    assert text.count("image_url") == 2 * images


@pytest.mark.parametrize(
    ("model", "is_sent"), [("gpt-5.6", True), ("in-house", False), ("claude-opus-5", True)]
)
def test_files_go_to_models_that_read_them(model: str, is_sent: bool) -> None:
    messages = chat(model, Message("user", (File(data=b"%PDF-1.7", name="a.pdf"),)))
    assert ("file_data" in json.dumps(messages)) == is_sent


def test_a_recording_of_the_user_is_heard() -> None:
    said = Audio(data=b"RIFF\0\0\0\0WAVE")
    assert "input_audio" in json.dumps(chat("gpt-audio", Message("user", (said,))))


def test_the_name_of_a_speaker_goes_to_openai_and_not_to_others() -> None:
    ana = Message("user", "Hi.", state=pack("openai", "*", [{"name": "ana maria"}]))
    assert chat("gpt-5.6", ana)[0]["name"].startswith("ana_maria_")
    assert "name" not in chat("mistral-large-latest", ana)[0]
    assert changes(sent("anthropic", "claude-opus-5", ana)) == ["fields_left_out"]


def test_a_call_of_a_custom_tool_goes_back_as_one_to_openai_alone() -> None:
    call = ToolCall("c1", "sql", '{"input": "select 1"}', pack("openai", "*", [{"type": "custom"}]))
    result = ToolResult("c1", "sql", "1")
    assert chat("gpt-5.6", ask, call, result)[1]["tool_calls"][0]["custom"]["input"] == "select 1"
    assert chat("llama-3.3-70b", ask, call, result)[1]["tool_calls"][0]["type"] == "function"


def thinking(model: str, *fields: Json, text: str = "hm") -> Reasoning:
    return Reasoning(text, pack("openai", model, fields or [{"reasoning_content": text}]))


@pytest.mark.parametrize(
    ("model", "beside_calls", "beside_text"),
    [
        ("deepseek-v4-pro", True, True),
        ("kimi-k2.5", True, True),
        ("in-house", True, True),
        ("deepseek-reasoner", True, False),
        ("gpt-5.6", False, False),
    ],
)
def test_thoughts_go_back_to_services_that_take_them(
    model: str, beside_calls: bool, beside_text: bool
) -> None:
    called = sent("openai", model, ask, thinking(model), look, found)
    said = sent("openai", model, ask, thinking(model), Message("assistant", "Yes."), ask)
    for rendered, goes_back in ((called, beside_calls), (said, beside_text)):
        assert ("hm" in json.dumps(rendered.payload)) == goes_back
        assert ("thoughts_left_out" in changes(rendered)) != goes_back


def test_a_blank_stands_for_thoughts_that_a_service_wants() -> None:
    assert chat("kimi-k2.5", ask, look, found)[1]["reasoning_content"] == " "
    plain = chat("deepseek-v4-pro", ask, Message("assistant", "Yes."), ask)
    assert plain[1]["reasoning_content"] == " "
    assert "reasoning_content" not in chat("kimi-k2.5", ask, Message("assistant", "Yes."), ask)[1]


def test_thoughts_under_another_name_are_there_under_the_one_that_is_read() -> None:
    message = chat("kimi-k2.5", ask, thinking("kimi-k2.5", {"reasoning": "hm"}), look, found)[1]
    assert (message["reasoning_content"], message["reasoning"]) == ("hm", "hm")


def test_mistral_gets_its_thoughts_before_its_text() -> None:
    chunk = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    model = "magistral-medium-latest"
    message = chat(model, ask, thinking(model, {"content": [chunk]}), Message("assistant", "Yes."), ask)[1]
    assert message["content"] == [chunk, {"type": "text", "text": "Yes."}]


def test_gemini_on_this_wire_gets_signatures_or_the_placeholder() -> None:
    signed = {"extra_content": {"google": {"thought_signature": "QUJD"}}}
    call = ToolCall("c1", "look", "{}", pack("openai", "gemini-3-pro", [signed]))
    assert (
        chat("gemini-3-pro", ask, call, found)[1]["tool_calls"][0]["extra_content"] == signed["extra_content"]
    )
    assert "skip_thought" in json.dumps(chat("gemini-3-pro", ask, look, found))


def test_breakpoints_and_the_key_of_a_cache_go_to_models_that_take_them() -> None:
    plan = CachePlan(static=1, key="scope/ana")
    items = (Message("system", "Be brief."), ask)
    marked = PROVIDERS["openai"].render(items, model="gpt-5.6", plan=plan).payload
    assert "prompt_cache_breakpoint" in marked["messages"][0]["content"][-1]
    assert len(marked["prompt_cache_key"]) == 32 and "ana" not in marked["prompt_cache_key"]
    plain = PROVIDERS["openai"].render(items, model="gpt-5.6").payload
    assert without_breakpoints(marked)["messages"] == plain["messages"]
    older = PROVIDERS["openai"].render(items, model="gpt-4o", plan=plan).payload
    assert older.keys() == {"messages", "prompt_cache_key"} and "breakpoint" not in json.dumps(older)
    assert PROVIDERS["openai"].render(items, model="llama-3.3-70b", plan=plan).payload.keys() == {"messages"}


# --- Responses -------------------------------------------------------------------------------------------

RS: Json = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
SEARCH: Json = {"type": "web_search_call", "id": "ws_1", "status": "completed"}


def sealed(*blocks: Json) -> Reasoning:
    return Reasoning("", pack("openai-responses", "gpt-5.6", blocks))


def test_reasoning_goes_back_before_what_it_led_to() -> None:
    assert responses(ask, sealed(RS), look, found)[1] == RS
    lone = sent("openai-responses", "gpt-5.6", ask, sealed(RS), Message("user", "So?"))
    assert changes(lone) == ["reasoning_left_out"] and RS not in lone.payload["input"]


def test_reasoning_without_its_encrypted_content_is_left_out() -> None:
    bare = {name: value for name, value in RS.items() if name != "encrypted_content"}
    rendered = sent("openai-responses", "gpt-5.6", ask, sealed(bare), look, found)
    assert "reasoning_left_out" in changes(rendered)


def test_items_of_the_service_go_back_with_all_reasoning_of_the_reply_or_not_at_all() -> None:
    said = Message("assistant", "Found.")
    assert responses(ask, sealed(RS, SEARCH), said, ask)[1:3] == [RS, SEARCH]
    foreign = Reasoning("", pack("openai-responses", "gpt-4o", [RS]))
    rendered = sent("openai-responses", "gpt-5.6", ask, foreign, sealed(SEARCH), said, ask)
    assert SEARCH not in rendered.payload["input"] and "reasoning_left_out" in changes(rendered)


def test_the_same_reasoning_goes_back_once() -> None:
    text = Message("assistant", "Yes.")
    rendered = sent("openai-responses", "gpt-5.6", ask, sealed(RS), text, ask, sealed(RS), text, ask)
    assert rendered.payload["input"].count(RS) == 1


def test_the_phase_of_a_message_goes_back() -> None:
    state = Opaque("openai-responses", "gpt-5.6", '[{"phase": "commentary"}]', "any digest")
    assert responses(ask, Message("assistant", "Wait.", state=state), ask)[1]["phase"] == "commentary"


def test_custom_and_namespaced_calls_go_back_as_they_came() -> None:
    custom = pack("openai-responses", "*", [{"type": "custom_tool_call"}])
    named = pack("openai-responses", "*", [{"type": "function_call", "namespace": "crm"}])
    call = ToolCall("c1", "sql", '{"input": "select 1"}', custom), ToolResult("c1", "sql", "1")
    written = responses(ask, *call, ToolCall("c2", "list", "{}", named), ToolResult("c2", "list", "[]"))
    assert [item["type"] for item in written[1:3]] == ["custom_tool_call", "custom_tool_call_output"]
    assert written[3]["namespace"] == "crm"


def test_files_of_many_types_go_to_this_wire() -> None:
    sheet = File(url="https://example.com/a.xlsx")
    page = File(data=b"{\\rtf1}", media_type="application/rtf")
    blocks = responses(Message("user", (sheet, page)))[0]["content"]
    assert blocks[0] == {"type": "input_file", "file_url": "https://example.com/a.xlsx"}
    assert blocks[1]["filename"] == "document.rtf"


def test_a_failed_result_with_a_picture_is_marked() -> None:
    failed = ToolResult("c1", "look", ("broken", Image(data=PNG)), is_error=True)
    assert responses(ask, look, failed)[2]["output"][0]["text"] == "Error: broken"


# --- Anthropic -------------------------------------------------------------------------------------------


def test_instructions_at_the_start_are_apart_and_turns_alternate() -> None:
    items = (Message("system", "Be brief."), ask, Message("user", "Now."), Message("assistant", "Yes."), ask)
    payload = sent("anthropic", "claude-opus-4-8", *items).payload
    assert payload["system"] == [{"type": "text", "text": "Be brief."}]
    assert roles(payload["messages"]) == ["user", "assistant", "user"]
    assert len(payload["messages"][0]["content"]) == 2


def test_instructions_in_the_middle_follow_a_turn_of_the_user() -> None:
    rule = Message("system", "Be brief.")
    assert roles(claude(ask, rule, Message("assistant", "Yes."), ask)) == [
        "user",
        "system",
        "assistant",
        "user",
    ]
    moved = sent("anthropic", "claude-opus-4-8", ask, rule, Message("user", "Now."))
    assert roles(moved.payload["messages"]) == ["user", "user", "system"]
    assert "instructions_moved" in changes(moved)
    alone = sent("anthropic", "claude-opus-4-8", ask, Message("assistant", "Yes."), rule)
    assert "<instructions>" in json.dumps(alone.payload) and "instructions_as_text" in changes(alone)
    older = sent("anthropic", "claude-sonnet-4-5", ask, rule, ask)
    assert "<instructions>" in json.dumps(older.payload)


def test_results_come_first_in_the_turn_after_their_calls() -> None:
    messages = claude(ask, look, found, Message("user", "So?"))
    assert [block["type"] for block in messages[2]["content"]] == ["tool_result", "text"]


def test_text_after_a_call_stands_before_it() -> None:
    rendered = sent("anthropic", "claude-opus-4-8", ask, look, Message("assistant", "I look."), found)
    assert [block["type"] for block in rendered.payload["messages"][1]["content"]] == ["text", "tool_use"]
    assert "text_moved" in changes(rendered)


def test_calls_without_tools_get_stand_ins_that_are_not_to_be_called() -> None:
    payload = sent("anthropic", "claude-opus-4-8", ask, look, found).payload
    assert payload["tools"][0]["name"] == "look" and payload["tool_choice"] == {"type": "none"}


def thought(*blocks: Json, model: str = "claude-opus-4-8", prefix: str | None = None) -> Reasoning:
    given = blocks or ({"type": "thinking", "thinking": "hm", "signature": "s"},)
    text = "".join(block.get("thinking", "") for block in given)
    return Reasoning(text, pack("anthropic", model, given, prefix))


def kinds(message: Json) -> list[str]:
    return [block["type"] for block in message["content"]]


def test_thinking_goes_back_before_its_call_and_not_alone() -> None:
    assert kinds(claude(ask, thought(), look, found)[1]) == ["thinking", "tool_use"]
    lone = sent("anthropic", "claude-opus-4-8", ask, thought(), Message("user", "So?"))
    assert changes(lone) == ["reasoning_left_out"]


def test_thinking_that_was_changed_is_left_out() -> None:
    changed = Reasoning("something else", thought().state)
    rendered = sent("anthropic", "claude-opus-4-8", ask, changed, look, found)
    assert "state_stale" in changes(rendered) and kinds(rendered.payload["messages"][1]) == ["tool_use"]


SERVED: tuple[Json, ...] = (
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
)


def test_server_tool_pairs_go_back_verbatim_or_not_at_all() -> None:
    said = Message("assistant", "Found.")
    assert kinds(claude(ask, thought(*SERVED), said, ask)[1]) == [
        "server_tool_use",
        "web_search_tool_result",
        "text",
    ]
    for half in SERVED:
        rendered = sent("anthropic", "claude-opus-4-8", ask, thought(half), thought(), said, ask)
        assert kinds(rendered.payload["messages"][1]) == ["text"]
        assert changes(rendered) == ["reasoning_left_out", "state_stale"]


def test_citations_go_back_while_the_text_is_the_same() -> None:
    cited = [{"type": "text", "text": "Rain", "citations": [{"type": "char_location"}]}]
    state = pack("anthropic", "claude-opus-4-8", [*cited, {"type": "text", "text": "."}])
    payload = (
        PROVIDERS["anthropic"]
        .render([ask, Message("assistant", "Rain.", state=state), ask], model="claude-opus-4-8")
        .payload
    )
    assert payload["messages"][1]["content"][0]["citations"]
    other = claude(ask, Message("assistant", "Sun.", state=state), ask)
    assert other[1]["content"] == [{"type": "text", "text": "Sun."}]


def test_unsigned_thinking_goes_to_services_that_want_it_alone() -> None:
    unsigned = {"type": "thinking", "thinking": "hm", "signature": ""}
    assert (
        claude(ask, thought(unsigned, model="kimi-k2.5"), look, found, model="kimi-k2.5")[1]["content"][0]
        == unsigned
    )
    assert claude(ask, look, found, model="kimi-k2.5")[1]["content"][0]["thinking"] == " "
    assert kinds(claude(ask, thought(unsigned), look, found)[1]) == ["tool_use"]


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
    assert blocks[0] == {"type": "text", "text": "[file 0.pdf]"} and blocks[-1]["type"] == "document"
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


def test_clouds_get_no_addresses() -> None:
    shown = Message("user", (Image(url="https://example.com/a.png"), Image(data=PNG)))
    assert [block["type"] for block in claude(shown)[0]["content"]] == ["image", "image"]
    for model in ("us.anthropic.claude-opus-4-8-v1:0", "vertex_ai/claude-opus-4-8"):
        assert kinds(claude(shown, model=model)[0]) == ["text", "image"]


def test_a_failed_result_holds_text_alone() -> None:
    failed = ToolResult("c1", "look", ("broken", Image(data=PNG)), is_error=True)
    message = claude(ask, look, failed)[2]
    assert message["content"][0]["content"] == "broken" and kinds(message)[1:] == ["text", "image"]


def marks(payload: Json) -> list[str]:
    """Where cache marks are: the field, and the place of the message."""
    found = [name for name in ("tools", "system") if "cache_control" in json.dumps(payload.get(name, ""))]
    messages = enumerate(payload["messages"])
    return found + [str(place) for place, one in messages if "cache_control" in json.dumps(one)]


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


# --- Gemini ----------------------------------------------------------------------------------------------


def test_instructions_are_a_field_of_the_config_and_tagged_later() -> None:
    items = (Message("system", "One."), Message("system", "Two."), ask, Message("system", "Three."))
    payload = sent("gemini", "gemini-3-pro", *items).payload
    assert payload["config"]["system_instruction"]["parts"] == [{"text": "One."}, {"text": "Two."}]
    assert "<instructions>\nThree." in payload["contents"][-1]["parts"][0]["text"]


def test_what_the_model_says_in_a_row_is_one_content_after_the_user() -> None:
    contents = gemini(Message("assistant", "Hello."), Message("assistant", "There."), ask)
    assert roles(contents) == ["user", "model", "user"] and len(contents[1]["parts"]) == 2


def test_answers_to_calls_are_alone_in_their_content() -> None:
    contents = gemini(ask, look, found, Message("user", "So?"))
    assert [len(content["parts"]) for content in contents] == [1, 1, 1, 1]
    assert contents[2]["parts"][0]["functionResponse"]["response"] == {"output": "rain"}


def test_the_first_call_of_a_step_gets_the_placeholder_if_it_is_not_signed() -> None:
    calls: list[Item] = [look, ToolCall("c2", "look", "{}"), found, ToolResult("c2", "look", "x")]
    parts = gemini(ask, *calls)[1]["parts"]
    assert ["thoughtSignature" in part for part in parts] == [True, False]
    assert "thoughtSignature" not in gemini(ask, look, found, model="gemini-2.5-pro")[1]["parts"][0]


def test_signatures_go_back_on_the_parts_that_they_came_with() -> None:
    raw = [
        {"text": "Ra", "thoughtSignature": "QUJD"},
        {"text": "in."},
        {"text": "", "thoughtSignature": "REVG"},
    ]
    said = Message("assistant", "Rain.", state=pack("gemini", "gemini-3-pro", raw))
    call = ToolCall("c1", "look", "{}", pack("gemini", "gemini-3-pro", [{"thoughtSignature": "R0hJ"}]))
    assert gemini(ask, said, ask)[1]["parts"] == raw
    assert gemini(ask, call, found)[1]["parts"][0]["thoughtSignature"] == "R0hJ"
    other = Message("assistant", "Sun.", state=said.state)
    assert gemini(ask, other, ask)[1]["parts"] == [{"text": "Sun."}]


def test_a_signature_that_is_not_base64_is_left_out() -> None:
    call = ToolCall("c1", "look", "{}", pack("gemini", "gemini-3-pro", [{"thoughtSignature": "not base64!"}]))
    assert gemini(ask, call, found)[1]["parts"][0]["thoughtSignature"] == "skip_thought_signature_validator"


def test_models_that_draw_get_the_placeholder_on_text_and_pictures() -> None:
    drawn = Message("assistant", ("Here:", Image(data=PNG)))
    parts = gemini(ask, drawn, ask, model="gemini-3-pro-image")[1]["parts"]
    assert all(part["thoughtSignature"] for part in parts)
    parts = gemini(ask, drawn, ask, model="vertex_ai/gemini-3-pro-image")[1]["parts"]
    assert not any("thoughtSignature" in part for part in parts)


def test_code_that_the_service_ran_goes_back_as_it_came() -> None:
    ran = [{"executableCode": {"language": "PYTHON", "code": "1"}}, {"codeExecutionResult": {"output": "1"}}]
    state = pack("gemini", "gemini-3-pro", ran)
    assert gemini(ask, Reasoning("", state), Message("assistant", "One."), ask)[1]["parts"][:2] == ran


def test_pictures_of_results_are_inside_the_answer_from_gemini_3_on() -> None:
    shot = ToolResult("c1", "look", ("Shot:", Image(data=PNG)))
    assert "parts" in gemini(ask, look, shot)[2]["parts"][0]["functionResponse"]
    assert roles(gemini(ask, look, shot, model="gemini-2.5-pro")) == ["user", "model", "user", "user"]


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (Image(url="gs://bucket/a.webp"), "image/webp"),
        (File(url="https://example.com/a.mp4"), "video/mp4"),
        (Audio(data=b"ID3\0"), "audio/mp3"),
        (File(data=b"%PDF-1.7"), "application/pdf"),
    ],
)
def test_media_go_out_under_the_types_of_this_wire(part: Any, kind: str) -> None:
    written = gemini(Message("user", (part,)))[0]["parts"][0]
    assert next(iter(written.values()))["mimeType"] == kind


def test_arguments_that_nest_too_deeply_are_kept_as_text() -> None:
    deep = '{"a":' * 70 + "1" + "}" * 70
    rendered = sent("gemini", "gemini-3-pro", ask, ToolCall("c1", "look", deep), found)
    assert "arguments_repaired" in changes(rendered)


# --- the model of state ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made_by", "asked", "goes_back"),
    [
        ("claude-opus-4-8", "claude-opus-4-8", True),
        ("claude-opus-4-8", "anthropic/claude-opus-4-8", True),
        ("claude-opus-4-8-20260101", "claude-opus-4-8", True),
        ("claude-opus-4-8-20260101", "claude-opus-4-8-20260202", False),
        ("claude-opus-4-8", "claude-opus-5", False),
        ("us.anthropic.claude-opus-4-8-v1:0", "claude-opus-4-8", False),
        ("claude-opus-4-8", None, False),
        ("", None, True),
        ("", "claude-opus-4-8", False),
    ],
)
def test_state_goes_back_to_the_same_model_on_the_same_route(
    made_by: str, asked: str | None, goes_back: bool
) -> None:
    rendered = sent("anthropic", asked, ask, thought(model=made_by), look, found)
    assert ("thinking" in kinds(rendered.payload["messages"][1])) == goes_back
    assert ("state_foreign" in changes(rendered)) != goes_back
