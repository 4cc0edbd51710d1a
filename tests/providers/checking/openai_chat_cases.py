"""Chat Completions: requests that break in practice, each with the rules it breaks, and such as do not."""

from typing import Any

from tests.providers.checking.openai_schema_cases import OF_CHAT

USER = {"role": "user", "content": "What is the weather in Oslo and Rome?"}
PNG = "data:image/png;base64,iVBORw0KGgo="
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


def call(name: str, tool: str = "weather", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": tool, "arguments": arguments}}


def calls(*names: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [call(name) for name in names]}


def result(name: str, content: Any = "sunny") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": name, "content": content}


def image(url: Any = PNG) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def said(*parts: Any, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": list(parts)}


def audio(data: str, form: str) -> dict[str, Any]:
    return {"type": "input_audio", "input_audio": {"data": data, "format": form}}


def tools(*names: str) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": name}} for name in names]


def choice(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def with_parameters(parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "parameters": parameters}}


HOLDING = {"type": "object", "properties": {"a": {"type": "array"}}}
OPEN: dict[str, Any] = {"name": "f", "parameters": {"type": "object", "properties": {}}}
GOOD: dict[str, Any] = {
    "one message": [USER],
    "an answer that ends the list": [USER, {"role": "assistant", "content": "Sunny."}],
    "nothing but instructions": [{"role": "developer", "content": "Be brief."}],
    "parallel calls, answered in another order": [USER, calls("a", "b"), result("b"), result("a"), USER],
    "instructions in the middle": [
        {"role": "system", "content": "Be brief."},
        USER,
        {"role": "assistant", "content": ""},
        {"role": "developer", "content": [{"type": "text", "text": "Now be long."}]},
        USER,
    ],
    "rounds that number their calls from 0 each": [USER, calls("0"), result("0"), calls("0"), result("0")],
    "images, audio and files": [
        said(image(), image("https://example.org/a.bmp"), {"type": "text", "text": ""}),
        said(audio("UklGRg==", "wav"), {"type": "file", "file": {"file_id": "file-1"}}),
        said(
            {
                "type": "file",
                "file": {"file_data": "data:application/pdf;base64,JVBERi0=", "filename": "a.pdf"},
            }
        ),
    ],
    "arguments that are no JSON": [
        USER,
        {"role": "assistant", "tool_calls": [call("a", arguments='{"city": "Os')]},
        result("a", [{"type": "text", "text": "could not be read"}]),
    ],
    "what stands in for content": [
        USER,
        {"role": "assistant", "content": None, "refusal": "I cannot."},
        {"role": "assistant", "audio": {"id": "audio_1"}},
        {
            "role": "assistant",
            "content": [{"type": "refusal", "refusal": "No."}, {"type": "text", "text": "x"}],
        },
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": ""}},
        {"role": "function", "name": "f", "content": "done"},
    ],
    "a custom tool": {
        "model": "gpt-5.6",
        "messages": [
            USER,
            {
                "role": "assistant",
                "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "run code", "input": "1"}}],
            },
            result("a", ""),
        ],
        "tools": [{"type": "custom", "custom": {"name": "run code"}}, TOOL],
        "tool_choice": {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "auto", "tools": [{"type": "custom", "custom": {"name": "run code"}}]},
        },
    },
    "limits reached": {
        "messages": [USER, calls("x" * 64), result("x" * 64)],
        "tools": tools(*(f"{index:064}" for index in range(128))),
        "tool_choice": "required",
        "prompt_cache_key": "k" * 64,
    },
    "settings that need no tools": {"messages": [USER], "tool_choice": "none", "parallel_tool_calls": False},
    "names of authors": [{"role": "user", "name": "Åse-1", "content": ""}, {**USER, "name": None}],
    "a tuple of messages": (USER, calls("a"), result("a")),
}

Places = list[tuple[str, str]]
BAD: dict[str, tuple[Any, Places]] = {
    "trimmed between a call and its result": (
        [{"role": "system", "content": "s"}, result("a"), {"role": "assistant", "content": "Sunny."}, USER],
        [("messages[1].tool_call_id", "orphan_tool_message")],
    ),
    "one of two parallel calls lost its result": (
        [USER, calls("a", "b"), result("a"), {"role": "assistant", "content": "Sunny."}],
        [("messages[1].tool_calls[1].id", "unanswered_tool_call")],
    ),
    "a crash in the middle of a tool": (
        [USER, calls("a")],
        [("messages[1].tool_calls[0].id", "unanswered_tool_call")],
    ),
    "the user spoke between a call and its result": (
        [USER, calls("a"), USER, result("a")],
        [("messages[3].tool_call_id", "late_tool_message")],
    ),
    "an aborted result and then the real one": (
        [USER, calls("a"), result("a", "aborted"), result("a"), USER],
        [("messages[3].tool_call_id", "duplicate_tool_message")],
    ),
    "a model that gave one id twice": (
        [USER, calls("a", "a"), result("a"), result("a")],
        [("messages[1].tool_calls[1].id", "duplicate_call_id")],
    ),
    "an id from another provider that is too long": (
        [USER, calls("x" * 83), result("x" * 83)],
        [("messages[1].tool_calls[0].id", "call_id_length")],
    ),
    "a screenshot in a tool message": (
        [USER, calls("a"), result("a", [{"type": "text", "text": "here"}, image()])],
        [("messages[2].content[1]", "part_for_role")],
    ),
    "a generated image in an assistant message": (
        [USER, said(image("https://example.org/cat.png"), role="assistant"), USER],
        [("messages[1].content[0]", "part_for_role")],
    ),
    "a tool that returned nothing": (
        [USER, calls("a"), result("a", None)],
        [("messages[2].content", "content_missing")],
    ),
    "an interrupted answer": (
        [USER, {"role": "assistant", "content": None, "refusal": None, "tool_calls": None}, USER],
        [("messages[1].content", "content_missing")],
    ),
    "a parsed answer with an empty list of calls": (
        [USER, {"role": "assistant", "content": "Hi.", "tool_calls": []}],
        [("messages[1].tool_calls", "empty_tool_calls")],
    ),
    "arguments of another provider, as an object": (
        [USER, {"role": "assistant", "tool_calls": [call("a", arguments={"city": "Oslo"})]}, result("a")],
        [("messages[1].tool_calls[0].function.arguments", "arguments_not_string")],
    ),
    "a tool of a server, with its dots": (
        [USER, {"role": "assistant", "tool_calls": [call("a", tool="maps.weather")]}, result("a")],
        [("messages[1].tool_calls[0].function.name", "tool_name")],
    ),
    "everything trimmed": ([], [("messages", "empty_messages")]),
    "thinking of another provider": (
        [said({"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "x"}, role="assistant")],
        [("messages[0].content[0].type", "unknown_part")],
    ),
    "results as another provider has them": (
        [USER, {"role": "model", "content": "x"}],
        [("messages[1].role", "unknown_role")],
    ),
    "a missing id is told once": (
        [USER, calls("a"), {"role": "tool", "content": "sunny"}, USER],
        [("messages[2].tool_call_id", "shape")],
    ),
    "calls that are no list are told once": (
        [USER, {"role": "assistant", "tool_calls": {"id": "a"}}, result("a"), USER],
        [("messages[1].tool_calls", "shape")],
    ),
    "a message that is none is told once": ([USER, calls("a"), "sunny", USER], [("messages[2]", "shape")]),
    "a late result and a lost one": (
        [USER, calls("a"), USER, calls("a"), result("a"), result("a")],
        [
            ("messages[1].tool_calls[0].id", "unanswered_tool_call"),
            ("messages[5].tool_call_id", "duplicate_tool_message"),
        ],
    ),
}

MESSAGES = [USER]
SETTINGS: dict[str, tuple[Any, Places]] = {
    "a path": ([said(image("/tmp/cat.png"))], [("messages[0].content[0].image_url.url", "image_source")]),
    "nothing in it": (
        [said(image("data:image/png;base64,"))],
        [("messages[0].content[0].image_url.url", "image_source")],
    ),
    "a bitmap": (
        [said(image("data:image/bmp;base64,Qk0="))],
        [("messages[0].content[0].image_url.url", "image_type")],
    ),
    "a page in place of an image": (
        [said(image("data:image/jpg;base64,PGh0bWw+NDA0PC9odG1sPg=="))],
        [("messages[0].content[0].image_url.url", "image_type")],
    ),
    "a page in place of a PDF": (
        [said({"type": "file", "file": {"file_data": "data:application/pdf;base64,PGh0bWw+"}})],
        [("messages[0].content[0].file.file_data", "file_type")],
    ),
    "ogg": (
        [said(audio("T2dnUw==", "ogg"))],
        [("messages[0].content[0].input_audio.format", "audio_format")],
    ),
    "audio as a data URL": (
        [said(audio("data:audio/wav;base64,UklGRg==", "wav"))],
        [("messages[0].content[0].input_audio.data", "audio_data")],
    ),
    "an empty file": ([said({"type": "file", "file": {}})], [("messages[0].content[0].file", "file_source")]),
    "a file by its URL": (
        [said({"type": "file", "file": {"file_data": "https://example.org/a.pdf"}})],
        [("messages[0].content[0].file.file_data", "file_source")],
    ),
    "an author with a space": ([{**USER, "name": "Ada L"}], [("messages[0].name", "message_name")]),
    "a chat model told to reason": (
        {"model": "o1-mini", "messages": [{"role": "developer", "content": "x"}, USER]},
        [("messages[0].role", "role_for_model")],
    ),
    "too many tools": (
        {"messages": MESSAGES, "tools": tools(*map(str, range(129)))},
        [("tools", "too_many_tools")],
    ),
    "too many calls": (
        [USER, calls(*map(str, range(129))), *map(result, map(str, range(129)))],
        [("messages[1].tool_calls", "too_many_tool_calls")],
    ),
    "two tools of one name": (
        {"messages": MESSAGES, "tools": tools("a", "b", "a")},
        [("tools[2].function.name", "duplicate_tool")],
    ),
    "a tool as the Responses have it": (
        {"messages": MESSAGES, "tools": [{"type": "function", "name": "a"}]},
        [("tools[0].function", "shape")],
    ),
    "a choice that is not there": (
        {"messages": MESSAGES, "tools": tools("a"), "tool_choice": choice("b")},
        [("tool_choice.function.name", "tool_choice")],
    ),
    "an allowed tool that is not there": (
        {
            "messages": MESSAGES,
            "tools": tools("a"),
            "tool_choice": {"type": "allowed_tools", "allowed_tools": {"tools": [choice("a"), choice("b")]}},
        },
        [("tool_choice.allowed_tools.tools[1].function.name", "tool_choice")],
    ),
    "a name for a choice": (
        {"messages": MESSAGES, "tools": tools("a"), "tool_choice": "a"},
        [("tool_choice", "tool_choice")],
    ),
    "a free choice without tools": (
        {"messages": MESSAGES, "tool_choice": "auto"},
        [("tool_choice", "tool_choice")],
    ),
    "properties that are a list": (
        {"messages": MESSAGES, "tools": [with_parameters({"type": "object", "properties": []})]},
        [("tools[0].function.parameters.properties", "tool_schema")],
    ),
    "an array of nobody knows what": (
        {"messages": MESSAGES, "tools": [with_parameters(HOLDING)]},
        [("tools[0].function.parameters.properties.a", "tool_array")],
    ),
    "a strict tool that is open": (
        {"messages": MESSAGES, "tools": [{"type": "function", "function": {**OPEN, "strict": True}}]},
        [("tools[0].function.parameters", "tool_strict")],
    ),
    "parameters that are a text": (
        {"messages": MESSAGES, "tools": [with_parameters("{}")]},
        [("tools[0].function.parameters", "tool_schema")],
    ),
    "half of an emoji": ([{"role": "user", "content": "\ud83d"}], [("messages[0].content", "not_unicode")]),
    "required without tools": (
        {"messages": MESSAGES, "tool_choice": "required"},
        [("tool_choice", "tool_choice")],
    ),
    "a long key": (
        {"messages": MESSAGES, "prompt_cache_key": "k" * 65},
        [("prompt_cache_key", "prompt_cache_key")],
    ),
    "no messages at all": ({"model": "gpt-5.6"}, [("messages", "shape")]),
    "a breakpoint for an older model": (
        {
            "model": "gpt-4o",
            "messages": [
                said({"type": "text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}})
            ],
        },
        [("messages[0].content[0].prompt_cache_breakpoint", "cache_breakpoint")],
    ),
}
ALL_BAD = {**BAD, **SETTINGS, **OF_CHAT}
