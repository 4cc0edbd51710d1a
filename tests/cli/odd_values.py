"""Histories, answers and events of every wire, and what else may stand anywhere in them."""

from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

Json = dict[str, Any]

PDF = "data:application/pdf;base64,JVBERg=="
CALL: Json = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CUSTOM: Json = {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "x"}}
SEALED: Json = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "t"}]}
SAID: Json = {"type": "message", "id": "msg_1", "role": "assistant", "phase": "commentary"}
SAID["content"] = [{"type": "output_text", "text": "a", "annotations": []}]

OUTPUTS: dict[str, list[Json]] = {
    "openai-responses": [
        {**SEALED, "encrypted_content": "zz"},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "x"}},
        {"type": "custom_tool_call", "call_id": "c9", "name": "g", "input": "x"},
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "e"},
        {"type": "mcp_call", "id": "m", "name": "n", "arguments": "{}", "server_label": "s"},
        SAID,
    ],
    "anthropic": [
        {"type": "thinking", "thinking": "t", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "a", "citations": [{"type": "char_location"}]},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"url": "u"}]},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
    ],
    "gemini": [
        {"text": "t", "thought": True, "thoughtSignature": "QUJD"},
        {"text": "a", "thoughtSignature": "QUJD"},
        {"executableCode": {"code": "1", "language": "PYTHON"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"functionCall": {"name": "f", "args": {"a": 1}, "id": "x"}, "thoughtSignature": "QUJD"},
        {"functionCall": {"name": "g"}},
    ],
}
_PNG = {"type": "base64", "media_type": "image/png", "data": "AAAA"}

HISTORIES: dict[str, list[Json]] = {
    "openai": [
        {"role": "system", "content": "s"},
        {
            "role": "user",
            "name": "ana",
            "content": [
                {"type": "text", "text": "q"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
                {"type": "file", "file": {"file_id": "file-1"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
            ],
        },
        {"role": "assistant", "content": None, "refusal": None, "tool_calls": [CALL, CUSTOM]},
        {"role": "tool", "tool_call_id": "c1", "content": "r"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "z"}]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "n"}], "audio": {"id": "a1"}},
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}, "content": None},
        {"role": "function", "name": "f", "content": "x"},
        {"role": "user", "content": [{"type": "image", "image": "AAAA", "mediaType": "image/png"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "text": "t"},
                {"type": "tool-call", "toolCallId": "c4", "toolName": "f", "input": {}},
            ],
            "images": [{"type": "image_url", "image_url": {"url": "https://e/a.png"}}, "AAAA"],
            "tool_calls": [{"id": "c5", "name": "f", "args": {}, "type": "tool_call"}],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c4",
                    "toolName": "f",
                    "output": {"type": "content", "value": [{"type": "text", "text": "v"}]},
                },
                {"type": "tool-result", "toolCallId": "c5", "result": {"a": 1}, "isError": True},
            ],
        },
        {"role": "assistant", "content": "", "thinking": "t"},
    ],
    "openai-responses": [
        {"role": "developer", "content": "s"},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "q"},
                {"type": "input_image", "image_url": "https://e/a.png", "detail": "low"},
                {"type": "input_image", "file_id": "i"},
                {"type": "input_file", "file_id": "f"},
            ],
        },
        *OUTPUTS["openai-responses"],
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "r"}]},
        {"type": "custom_tool_call_output", "call_id": "c9", "output": "x"},
        {"type": "item_reference", "id": "x"},
    ],
    "anthropic": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": OUTPUTS["anthropic"]},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [
                        {"type": "text", "text": "r"},
                        {"type": "image", "source": _PNG},
                        {"type": "search_result", "source": "s", "title": "t", "content": []},
                    ],
                    "is_error": False,
                },
                {"type": "document", "source": {"type": "file", "file_id": "x"}, "title": "d"},
                {"type": "image", "source": {"type": "url", "url": "https://e/a.png"}},
                {"type": "search_result", "source": "s", "title": "t", "content": []},
            ],
        },
        {"role": "system", "content": "mid"},
        {"role": "assistant", "content": "b"},
    ],
    "gemini": [
        {
            "role": "user",
            "parts": [
                {"text": "q"},
                {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
                {
                    "fileData": {"fileUri": "gs://x", "mimeType": "video/mp4"},
                    "videoMetadata": {"startOffset": "1s"},
                },
            ],
        },
        {"role": "model", "parts": OUTPUTS["gemini"]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "f", "id": "x", "response": {"output": "r"}}},
                {"functionResponse": {"name": "g", "response": {"a": 1}}},
            ],
        },
    ],
}

_CHAT = {"role": "assistant", "content": "a", "refusal": None, "tool_calls": [CALL, CUSTOM]}
ANSWERS: dict[str, Json] = {
    "openai": {"model": "m", "choices": [{"index": 0, "message": _CHAT, "finish_reason": "stop"}]},
    "openai-responses": {"status": "completed", "model": "m", "output": OUTPUTS["openai-responses"]},
    "anthropic": {"model": "m", "stop_reason": "tool_use", "content": OUTPUTS["anthropic"]},
    "gemini": {"candidates": [{"content": {"parts": OUTPUTS["gemini"]}, "finishReason": "STOP"}]},
}
BESIDE: dict[str, list[Json]] = {wire: [] for wire in ANSWERS}
"""Answers that have what not every one has: a recording, and where a program runs."""
_HEARD = {"id": "a1", "data": "AAAA", "transcript": "t", "expires_at": 1}
_SIGNED = {**CALL, "extra_content": {"google": {"thought_signature": "s"}}}
_SPOKEN = {**_CHAT, "audio": _HEARD, "reasoning_content": "t", "tool_calls": [_SIGNED]}
BESIDE["openai"] = [{"choices": [{"index": 0, "message": _SPOKEN, "finish_reason": "tool_calls"}]}]
BESIDE["anthropic"] = [{**ANSWERS["anthropic"], "container": {"id": "container_1"}}]

_USED = {"input_tokens": 1, "output_tokens": 2, "prompt_tokens": 3, "promptTokenCount": 1}
for _answer in ANSWERS.values():
    _answer["usageMetadata" if "candidates" in _answer else "usage"] = _USED

_PIECE = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}
EVENTS: dict[str, list[Json]] = {
    "openai": [
        {"model": "m", "choices": [{"index": 0, "delta": {"content": "a", "audio": {"id": "x"}}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [_PIECE]}, "finish_reason": "tool_calls"}]},
        {"choices": [], "usage": _USED},
    ],
    "openai-responses": [
        {"type": "response.output_item.added", "output_index": 0, "item": SAID},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "a"},
        {"type": "response.output_item.done", "output_index": 1, "item": OUTPUTS["openai-responses"][0]},
        {"type": "response.completed", "response": ANSWERS["openai-responses"]},
    ],
    "anthropic": [
        {"type": "message_start", "message": {"model": "m", "usage": _USED, "container": {"id": "c"}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {}}},
        {"type": "content_block_start", "index": 1, "content_block": OUTPUTS["anthropic"][5]},
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": "{}"},
        },
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": _USED},
    ],
    "gemini": [
        {"candidates": [{"content": {"parts": OUTPUTS["gemini"][:3]}}], "usageMetadata": _USED},
        {
            "candidates": [
                {
                    "content": {
                        "parts": [
                            {
                                "functionCall": {
                                    "name": "f",
                                    "willContinue": True,
                                    "partialArgs": [{"jsonPath": "$.a[0].b", "stringValue": "x"}],
                                }
                            },
                            {"functionCall": {"partialArgs": [{"jsonPath": "$.c", "numberValue": 1}]}},
                        ]
                    },
                    "finishReason": "STOP",
                }
            ]
        },
    ],
}

_SCHEMA: Json = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "format": "date"},
        "b": {"type": ["array"], "items": {"type": "null"}},
    },
    "required": ["a", "b"],
    "additionalProperties": False,
}
_ASKED = {"role": "user", "content": "q"}
_FUNCTION = {"name": "f", "description": "d", "parameters": _SCHEMA, "strict": True}
REQUESTS: dict[str, Json] = {
    "openai": {
        "messages": [_ASKED],
        "tools": [{"type": "function", "function": _FUNCTION}],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
    },
    "openai-responses": {
        "input": [_ASKED],
        "tools": [{"type": "function", **_FUNCTION}, {"type": "web_search"}],
        "tool_choice": {"type": "function", "name": "f"},
    },
    "anthropic": {
        "messages": [_ASKED],
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "f", "input_schema": _SCHEMA, "strict": True}],
        "tool_choice": {"type": "auto", "name": "f"},
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "container": {"id": "container_1"},
    },
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "q"}]}],
        "config": {"tools": [{"function_declarations": [{"name": "f", "parameters": _SCHEMA}]}]},
    },
}
"""Requests with tools and with what chooses among them."""


def deep(levels: int) -> Any:
    """An object in an object, and so on."""
    value: Any = {"type": "text"}
    for _ in range(levels):
        value = {"a": value}
    return value


ODD: tuple[Any, ...] = (
    *(None, 5, -1, 1.5, True, "", "x", " ", [], {}, [None], [{}], 2**70, float("nan")),
    *("half \ud800", {"\udc00": "\ud800"}, deep(150), deep(3_000), "data:image/png;base64,", "c1", "t1"),
    *({"type": "text"}, {"a": {"b": [1]}}, {"type": "text", "text": ""}, {"text": ""}, "tool_use"),
    *("functionCall", "user", "assistant", "model", "tool", "system", "reasoning", "web_search_call"),
)
_NAMES = ("extra", "type", "text", "id", "content", "role", "thought", "citations", "name")


def changed(value: Any, seed: int) -> Any:
    """A copy in which up to three places hold something odd, nothing, or the same twice."""
    draw = Random(seed)
    value = deepcopy(value)
    for _ in range(draw.choice((0, 1, 1, 2, 3))):
        places = list(_places(value))
        if not places:
            break
        holder, key = draw.choice(places)
        _change(holder, key, draw)
    return value


def each_replaced(value: Any, by: Any) -> Iterator[Any]:
    """Copies in which one place after the other holds something else."""
    for at in range(len(list(_places(value)))):
        copy = deepcopy(value)
        holder, key = list(_places(copy))[at]
        holder[key] = by
        yield copy


def _change(holder: Any, key: Any, draw: Random) -> None:
    how = draw.random()
    if how < 0.5:
        holder[key] = draw.choice(ODD)
    elif how < 0.7:
        del holder[key]
    elif not isinstance(holder, list):
        holder[draw.choice(_NAMES)] = draw.choice(ODD)
    elif how < 0.85:
        holder.insert(draw.randrange(len(holder) + 1), holder[key])  # pyright: ignore
    else:
        draw.shuffle(holder)  # pyright: ignore


def _places(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list):
        inner = list(enumerate(value))  # pyright: ignore[reportUnknownArgumentType]
    for key, held in inner:
        yield value, key
        if depth < 12:
            yield from _places(held, depth + 1)
