"""Whatever the check of Gemini's wire is handed, it answers with faults of its table and does not fail."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.providers import RULES, check
from tests.items.strategies import json_values
from tests.providers.checking.gemini_bad import DRAWS, NEWEST, OLD, THREE
from tests.providers.checking.gemini_good import GOOD
from tests.providers.checking.test_anthropic_laws import damaged, sound, worded

pytestmark = pytest.mark.laws

WORDS = [
    *(
        "role",
        "parts",
        "text",
        "functionCall",
        "function_call",
        "functionResponse",
        "function_response",
        "name",
    ),
    *(
        "args",
        "response",
        "thoughtSignature",
        "thought_signature",
        "inlineData",
        "mimeType",
        "mime_type",
        "data",
    ),
    *(
        "fileData",
        "file_uri",
        "contents",
        "config",
        "tools",
        "systemInstruction",
        "system_instruction",
        "user",
    ),
    *("model", "functionDeclarations", "function_declarations", "parameters", "type", "object", "function"),
]
PAYLOADS = [payload for payload, _ in GOOD.values() if not isinstance(payload, str)]
MODELS = st.sampled_from([None, OLD, THREE, NEWEST, DRAWS, "", "gemini-", "claude-9"])


@given(json_values(), MODELS)
def test_any_json_is_answered(value: Any, model: str | None) -> None:
    assert sound(check(value, model), RULES)
    assert sound(check([value], model), RULES)
    assert sound(check({"contents": value, "systemInstruction": value, "tools": value}, model), RULES)


@given(worded(WORDS), MODELS)
def test_any_json_in_the_words_of_the_wire_is_answered(value: Any, model: str | None) -> None:
    assert sound(check(value, model), RULES)
    assert sound(check({"contents": value, "config": {"tools": value, "system_instruction": value}}), RULES)
    assert sound(check([{"role": "model", "parts": value}, {"role": "user", "parts": value}], model), RULES)


@given(st.data(), MODELS)
def test_damaged_payloads_are_answered(data: st.DataObject, model: str | None) -> None:
    assert sound(check(damaged(data.draw, PAYLOADS, WORDS), model), RULES)
