"""The terms of a request, as each wire has them, read from what a server of ours was sent."""

import asyncio
from typing import Any

import pytest

from quire.errors import InvalidValue
from tests.clients.asking import each_wire
from tests.clients.scenes import Scene, Stage
from tests.clients.speaking import says
from tests.models.answerers import NEEDS_SDK, QUESTION, model_at

TOOLS: list[dict[str, Any]] = [
    {"name": "look up", "description": "Finds it.", "parameters": {"type": "object", "properties": {}}},
    {"name": "wait", "description": "Waits.", "parameters": {"type": "object", "properties": {}}},
]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"town": {"type": "string", "maxLength": 40}},
    "required": ["town"],
    "additionalProperties": False,
}


def sent(scene: Scene, wire: str, **asking: Any) -> Any:
    """The body of the request that asks so."""

    async def run() -> None:
        async with model_at(scene, wire) as model:
            await model.ask(QUESTION, **asking)

    asyncio.run(run())
    return scene.requests[-1].body


@NEEDS_SDK["openai"]
def test_terms_in_the_words_of_chat_completions(server: Stage) -> None:
    scene = server.scene(says("openai", "{}"))
    body = sent(scene, "openai", tools=TOOLS, max_tokens=9, tool_choice="required", output=SCHEMA)
    assert (body["max_completion_tokens"], body["tool_choice"]) == (9, "required")
    assert body["response_format"]["json_schema"] == {"name": "answer", "schema": SCHEMA, "strict": True}
    body = sent(scene, "openai", tools=TOOLS, tool_choice="look up", output={"type": "object"})
    assert body["tool_choice"]["function"]["name"] == body["tools"][0]["function"]["name"]
    assert body["response_format"]["json_schema"]["strict"] is False


@NEEDS_SDK["openai"]
def test_terms_in_the_words_of_responses(server: Stage) -> None:
    scene = server.scene(says("openai-responses", "{}"))
    body = sent(scene, "openai-responses", tools=TOOLS, max_tokens=9, tool_choice="wait", output=SCHEMA)
    assert (body["max_output_tokens"], body["tool_choice"]) == (9, {"type": "function", "name": "wait"})
    shape = {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True}
    assert body["text"]["format"] == shape
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])


@NEEDS_SDK["anthropic"]
def test_terms_in_the_words_of_messages(server: Stage) -> None:
    scene = server.scene(says("anthropic", "{}"))
    body = sent(scene, "anthropic", tools=TOOLS, tool_choice="required", output=SCHEMA)
    assert (body["max_tokens"], body["tool_choice"]) == (16_384, {"type": "any"})
    schema = body["output_config"]["format"]["schema"]
    assert schema["additionalProperties"] is False and "maxLength" not in schema["properties"]["town"]
    assert sent(scene, "anthropic", max_tokens=128_000)["max_tokens"] == 128_000, "the SDK may refuse it"
    body = sent(scene, "anthropic", tools=TOOLS, max_tokens=9, tool_choice="wait")
    assert (body["max_tokens"], body["tool_choice"]) == (9, {"type": "tool", "name": "wait"})


@NEEDS_SDK["gemini"]
def test_terms_in_the_words_of_gemini(server: Stage) -> None:
    scene = server.scene(says("gemini", "{}"))
    config = sent(scene, "gemini", max_tokens=9, output=SCHEMA)["generationConfig"]
    assert (config["maxOutputTokens"], config["responseMimeType"]) == (9, "application/json")
    assert config["responseJsonSchema"] == SCHEMA
    body = sent(scene, "gemini", tools=TOOLS, tool_choice="wait")
    calling = body["toolConfig"]["functionCallingConfig"]
    assert calling == {"mode": "ANY", "allowedFunctionNames": ["wait"]}
    body = sent(scene, "gemini", tools=TOOLS, tool_choice="none", options={"temperature": 0.5})
    assert body["toolConfig"]["functionCallingConfig"] == {"mode": "NONE"}
    assert body["generationConfig"]["temperature"] == 0.5


@pytest.mark.parametrize(
    "wire",
    [pytest.param(wire, marks=NEEDS_SDK[wire]) for wire in ("openai", "openai-responses", "anthropic")],
)
def test_options_go_as_they_are_and_unknown_ones_too(server: Stage, wire: str) -> None:
    scene = server.scene(says(wire, "Yes."))
    options = {"temperature": 0.5, "of_another_service": [1], "extra_headers": {"x-who": "ana"}}
    body = sent(scene, wire, options=options)
    assert (body["temperature"], body["of_another_service"]) == (0.5, [1])
    assert scene.requests[0].headers["x-who"] == "ana"


@each_wire
def test_a_tool_that_was_not_sent_cannot_be_chosen(server: Stage, wire: str) -> None:
    model = model_at(server.scene(), wire)
    for choice in ("required", "look up"):
        with pytest.raises(InvalidValue, match="no such tool was sent"):
            model.stream(QUESTION, tool_choice=choice)
    model.stream(QUESTION, tool_choice="auto")
