"""Responses: requests that break in practice, each with the rules it breaks, and such as do not."""

from typing import Any

from tests.providers.checking.openai_schema_cases import OF_RESPONSES

USER = {"role": "user", "content": "What is the weather in Oslo and Rome?"}
SAID: dict[str, Any] = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Sunny.", "annotations": []}],
}
PNG = "data:image/png;base64,iVBORw0KGgo="


def call(call_id: str, arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "weather", "arguments": arguments, **more}


def output(name: str, content: Any = "sunny", **more: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": name, "output": content, **more}


def custom(name: str) -> dict[str, Any]:
    return {"type": "custom_tool_call", "call_id": name, "name": "patch", "input": "*** Begin"}


def thought(name: str | None = "rs_1", **more: Any) -> dict[str, Any]:
    named = {} if name is None else {"id": name}
    return {"type": "reasoning", "summary": [], "encrypted_content": "gAAA", **named, **more}


def said(*parts: Any, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": list(parts)}


def image(url: Any = PNG) -> dict[str, Any]:
    return {"type": "input_image", "image_url": url}


def audio(data: str, form: str) -> dict[str, Any]:
    return {"type": "input_audio", "input_audio": {"data": data, "format": form}}


def tools(*names: str) -> list[dict[str, Any]]:
    return [{"type": "function", "name": name, "parameters": None} for name in names]


HOLDING = {"type": "object", "properties": {"a": {"type": "array"}}}
OPEN: dict[str, Any] = {"name": "f", "parameters": {"type": "object", "properties": {}}}
GOOD: dict[str, Any] = {
    "a string": {"input": "hello"},
    "an answer that ends the list": [USER, SAID],
    "parallel calls, answered in another order": [USER, call("a"), call("b"), output("b"), output("a")],
    "text between a call and its output": [USER, call("a"), SAID, USER, output("a")],
    "reasoning and what it led to": [
        USER,
        thought("rs_1"),
        call("a", id="fc_1"),
        output("a"),
        thought("rs_2"),
        thought("rs_3"),
        SAID,
        USER,
    ],
    "sealed reasoning that is not stored": {"input": [USER, thought(), SAID], "store": False},
    "stored reasoning by its id": {"input": [USER, thought(encrypted_content=None), SAID]},
    "reasoning without an id, cut off": [USER, thought(None), USER],
    "media, also from tools": [
        said({"type": "input_text", "text": ""}, image(), {"type": "input_image", "file_id": "file-1"}),
        said({"type": "input_file", "file_url": "https://example.org/a.pdf"}, audio("UklGRg==", "mp3")),
        said(
            {"type": "input_file", "file_data": "data:application/pdf;base64,JVBERi0=", "filename": "a.pdf"}
        ),
        call("a"),
        output("a", [{"type": "input_text", "text": "a picture"}, image()]),
    ],
    "instructions in the middle": [USER, SAID, {"role": "developer", "content": "Be brief."}, USER],
    "the output of a call that the server has": {"input": [output("a")], "previous_response_id": "resp_1"},
    "the output of a call of a conversation": {"input": [output("a")], "conversation": {"id": "conv_1"}},
    "references": [USER, {"type": "item_reference", "id": "fc_1"}, output("a")],
    "compacted": [
        {"type": "compaction", "encrypted_content": "gAAA"},
        USER,
        thought(),
        call("a"),
        output("a"),
    ],
    "custom and hosted tools": {
        "input": [
            USER,
            thought("rs_1"),
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
            custom("c"),
            {"type": "custom_tool_call_output", "call_id": "c", "output": "done"},
            {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}},
            {"type": "some_newer_call", "id": "sn_1"},
            {"type": "mcp_approval_request", "id": "mcpr_1"},
            {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
        ],
        "tools": [*tools("weather"), {"type": "custom", "name": "patch"}, {"type": "web_search"}],
        "tool_choice": {"type": "custom", "name": "patch"},
    },
    "a refusal": [USER, said({"type": "refusal", "refusal": "No."}, role="assistant"), USER],
    "limits reached": {
        "input": [USER, call("c" * 64, name="n" * 128, id="fc_" + "x" * 61), output("c" * 64)],
        "prompt_cache_key": "k" * 64,
        "tool_choice": "auto",
    },
    "tools that come later": {
        "input": [USER, {"type": "additional_tools", "role": "developer", "tools": tools("late")}, USER],
        "tool_choice": {"type": "function", "name": "late"},
    },
    "a stored prompt": {"prompt": {"id": "pmpt_1"}, "tool_choice": "required"},
}

Places = list[tuple[str, str]]
BAD: dict[str, tuple[Any, Places]] = {
    "trimmed between a call and its output": (
        [output("a"), SAID, USER],
        [("input[0].call_id", "orphan_output")],
    ),
    "a limit that cut a custom call": (
        [USER, {"type": "custom_tool_call_output", "call_id": "c", "output": "done"}],
        [("input[1].call_id", "orphan_output")],
    ),
    "an output before its call": ([USER, output("a"), call("a")], [("input[1].call_id", "orphan_output")]),
    "one of two parallel calls lost its output": (
        [USER, call("a"), call("b"), output("a"), SAID],
        [("input[2].call_id", "unanswered_call")],
    ),
    "an output of another kind": (
        [USER, custom("c"), output("c")],
        [("input[2].call_id", "output_kind")],
    ),
    "an interrupted custom call": ([USER, custom("c"), USER], [("input[1].call_id", "unanswered_call")]),
    "an approval that sent the output twice": (
        [USER, call("a"), output("a"), output("a")],
        [("input[3].call_id", "duplicate_output")],
    ),
    "ids that a provider numbers from 0 in each turn": (
        [USER, call("terminal:0"), output("terminal:0"), call("terminal:0"), output("terminal:0")],
        [("input[3].call_id", "duplicate_call_id")],
    ),
    "a bridge's long id": (
        [USER, call("x" * 65), output("x" * 65)],
        [("input[1].call_id", "call_id_length"), ("input[2].call_id", "call_id_length")],
    ),
    "a call_id in the place of the id": (
        [USER, call("call_1", id="call_1"), output("call_1")],
        [("input[1].id", "item_id_prefix")],
    ),
    "ids of two wires in one": (
        [USER, call("a", id="call_1|fc_1"), output("a")],
        [("input[1].id", "item_id")],
    ),
    "an id that was emptied": ([USER, thought(""), SAID], [("input[1].id", "item_id")]),
    "a uuid of a framework": ([USER, {**SAID, "id": "019f629b-43ee"}], [("input[1].id", "item_id_prefix")]),
    "reasoning that is sent twice": (
        [USER, thought(), call("a"), output("a"), thought(), SAID],
        [("input[4].id", "duplicate_item_id")],
    ),
    "reasoning whose call was dropped": (
        [USER, thought(), output("a"), USER],
        [("input[1]", "reasoning_alone"), ("input[2].call_id", "orphan_output")],
    ),
    "reasoning whose answer was dropped": ([USER, thought(), USER], [("input[1]", "reasoning_alone")]),
    "reasoning at the end": ([USER, thought()], [("input[1]", "reasoning_alone")]),
    "a bare id that nobody stored": (
        {"input": [USER, thought(encrypted_content=None), SAID], "store": False},
        [("input[1].encrypted_content", "reasoning_unstored")],
    ),
    "an empty summary that was stripped": (
        [USER, thought(summary=None), SAID],
        [("input[1].summary", "reasoning_summary")],
    ),
    "messages of the Chat Completions": (
        [USER, {"role": "assistant", "content": None, "tool_calls": []}, {"role": "tool", "content": "x"}],
        [("input[1].tool_calls", "chat_field"), ("input[2].role", "unknown_role")],
    ),
    "an assistant that says input": (
        [USER, said({"type": "input_text", "text": "Hi."}, role="assistant"), USER],
        [("input[1].content[0].type", "part_for_role")],
    ),
    "a user that says output": (
        [said({"type": "output_text", "text": "Hi."})],
        [("input[0].content[0].type", "part_for_role")],
    ),
    "a tool that says output": (
        [call("a"), output("a", [{"type": "output_text", "text": "Hi."}])],
        [("input[1].output[0].type", "part_for_role")],
    ),
    "parts of the Chat Completions": (
        [said({"type": "text", "text": "Hi."}, {"type": "image_url", "image_url": {"url": PNG}})],
        [("input[0].content[0].type", "unknown_part"), ("input[0].content[1].type", "unknown_part")],
    ),
    "a block of another provider": (
        [USER, {"type": "tool_result", "tool_use_id": "a", "content": "x"}],
        [("input[1].type", "unknown_item")],
    ),
    "an interrupted answer": (
        [USER, {"role": "assistant", "content": None}],
        [("input[1].content", "content_missing")],
    ),
    "arguments as an object": (
        [USER, call("a", arguments={"city": "Oslo"}), output("a")],
        [("input[1].arguments", "arguments_not_string")],
    ),
    "a call without its id is told once": (
        [USER, {"type": "function_call", "name": "f", "arguments": "{}"}, output("a")],
        [("input[1].call_id", "shape")],
    ),
    "an item that is none is told once": ([USER, call("a"), None], [("input[2]", "shape")]),
}

SETTINGS: dict[str, tuple[Any, Places]] = {
    "nothing": ({"input": []}, [("input", "empty_input")]),
    "messages": ({"messages": [USER]}, [("messages", "chat_field")]),
    "two histories": (
        {"input": [USER], "previous_response_id": "resp_1", "conversation": "conv_1"},
        [("conversation", "two_histories")],
    ),
    "an image as the Chat Completions have it": (
        [said(image({"url": PNG}))],
        [("input[0].content[0].image_url", "shape")],
    ),
    "no image": ([said({"type": "input_image"})], [("input[0].content[0]", "image_source")]),
    "a path": ([said(image("cat.png"))], [("input[0].content[0].image_url", "image_source")]),
    "a bitmap": (
        [said(image("data:image/bmp;base64,Qk0="))],
        [("input[0].content[0].image_url", "image_type")],
    ),
    "a page in place of an image": (
        [said(image("data:image/png;base64,PGh0bWw+NDA0PC9odG1sPg=="))],
        [("input[0].content[0].image_url", "image_type")],
    ),
    "a page in place of a PDF": (
        [said({"type": "input_file", "file_data": "data:application/pdf;base64,PGh0bWw+"})],
        [("input[0].content[0].file_data", "file_type")],
    ),
    "ogg": ([said(audio("T2dnUw==", "ogg"))], [("input[0].content[0].input_audio.format", "audio_format")]),
    "not base64": ([said(audio("no, no", "wav"))], [("input[0].content[0].input_audio.data", "audio_data")]),
    "no file": ([said({"type": "input_file"})], [("input[0].content[0]", "file_source")]),
    "a file by its URL": (
        [said({"type": "input_file", "file_data": "https://example.org/a.pdf"})],
        [("input[0].content[0].file_data", "file_source")],
    ),
    "a name with a dot": ({"input": "x", "tools": tools("maps.weather")}, [("tools[0].name", "tool_name")]),
    "a tool of the Chat Completions": (
        {"input": "x", "tools": [{"type": "function", "function": {"name": "f"}}]},
        [("tools[0].name", "shape")],
    ),
    "two tools of one name": (
        {"input": "x", "tools": [*tools("a"), {"type": "custom", "name": "a"}]},
        [("tools[1].name", "duplicate_tool")],
    ),
    "a choice that is not there": (
        {"input": "x", "tools": tools("a"), "tool_choice": {"type": "function", "name": "b"}},
        [("tool_choice.name", "tool_choice")],
    ),
    "an allowed tool that is not there": (
        {
            "input": "x",
            "tools": tools("a"),
            "tool_choice": {"type": "allowed_tools", "tools": [{"type": "function", "name": "b"}]},
        },
        [("tool_choice.tools[0].name", "tool_choice")],
    ),
    "properties that are a list": (
        {
            "input": "x",
            "tools": [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": []}}],
        },
        [("tools[0].parameters.properties", "tool_schema")],
    ),
    "an array of nobody knows what": (
        {"input": "x", "tools": [{"type": "function", "name": "f", "parameters": HOLDING}]},
        [("tools[0].parameters.properties.a", "tool_array")],
    ),
    "a strict tool that is open": (
        {"input": "x", "tools": [{"type": "function", "strict": True, **OPEN}]},
        [("tools[0].parameters", "tool_strict")],
    ),
    "half of an emoji": ({"input": "\ud83d"}, [("input", "not_unicode")]),
    "required without tools": ({"input": "x", "tool_choice": "required"}, [("tool_choice", "tool_choice")]),
    "a name for a choice": ({"input": "x", "tool_choice": "any"}, [("tool_choice", "tool_choice")]),
    "a long key": (
        {"input": "x", "prompt_cache_key": "k" * 65},
        [("prompt_cache_key", "prompt_cache_key")],
    ),
    "a breakpoint for an older model": (
        {
            "model": "gpt-4o",
            "input": [
                said({"type": "input_text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}})
            ],
        },
        [("input[0].content[0].prompt_cache_breakpoint", "cache_breakpoint")],
    ),
}
ALL_BAD = {**BAD, **SETTINGS, **OF_RESPONSES}
