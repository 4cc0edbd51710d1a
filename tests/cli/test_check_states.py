"""`quire check --fix` keeps what only a model can read, and media, where no model is named."""

import json
from typing import Any

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from tests.cli.test_fixing import QUESTION, USER, fixed

SIGNED: dict[str, tuple[str, Any, str]] = {
    "gemini": (
        "gemini",
        [
            QUESTION,
            {
                "role": "model",
                "parts": [
                    {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2lnbmF0dXJl"},
                    {"functionCall": {"name": "f", "args": {"a": "x"}}},
                ],
            },
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "x"}}}]},
        ],
        '"thoughtSignature": "c2lnbmF0dXJl"',
    ),
    "anthropic": (
        "anthropic",
        [
            USER,
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "c2lnbmF0dXJl"},
                    {"type": "tool_use", "id": "t1", "name": "f", "input": {}},
                ],
            },
        ],
        '"signature": "c2lnbmF0dXJl"',
    ),
    "responses": (
        "openai-responses",
        [
            USER,
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        ],
        '"encrypted_content": "c2VhbGVk"',
    ),
    "chat": (
        "openai",
        [
            USER,
            {
                "role": "assistant",
                "content": None,
                "reasoning_content": "hm",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ],
            },
        ],
        '"reasoning_content": "hm"',
    ),
    "audio": (
        "openai",
        [
            {
                "role": "user",
                "content": [
                    {"type": "input_audio", "input_audio": {"data": "UklGRgAAAABXQVZF", "format": "wav"}}
                ],
            },
            {"role": "tool", "tool_call_id": "gone", "content": "late"},
        ],
        '"format": "wav"',
    ),
}


@pytest.mark.parametrize("kind", SIGNED)
def test_what_has_no_fault_stays_where_no_model_is_named(kind: str) -> None:
    provider, payload, held = SIGNED[kind]
    again, said = fixed(payload, provider)
    assert held in json.dumps(again)
    assert "state_" not in said and "reasoning_left_out" not in said and "media_as_text" not in said
