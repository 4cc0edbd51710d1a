"""`quire check --fix` gives back what it was given, repaired: nothing lost, nothing twice, the same shape."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from typer.testing import CliRunner

from quire.cli.main import app

USER = {"role": "user", "content": "hi"}
QUESTION = {"role": "user", "parts": [{"text": "q"}]}
CALLED: dict[str, Any] = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def fixed(payload: Any, provider: str, *options: str) -> tuple[Any, str]:
    run = CliRunner().invoke(
        app, ["check", "-", "--provider", provider, "--fix", *options], input=json.dumps(payload)
    )
    assert run.exit_code == 0, run.output
    return json.loads(run.stdout), run.stderr


def test_a_list_with_instructions_becomes_a_payload_and_that_is_said() -> None:
    whole, said = fixed([{"role": "system", "content": "S"}, USER], "anthropic")
    assert whole["system"][0]["text"] == "S"
    assert [message["role"] for message in whole["messages"]] == ["user"]
    assert "a whole payload is written: system, messages" in said


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic", "gemini"])
def test_a_list_alone_stays_a_list(provider: str) -> None:
    messages, said = fixed([QUESTION if provider == "gemini" else USER], provider)
    assert [message["role"] for message in messages] == ["user"]
    assert "whole payload" not in said


def test_instructions_are_sent_once() -> None:
    payload: dict[str, Any] = {
        "model": "gpt-5.6",
        "instructions": "Be brief",
        "temperature": 1,
        "input": [USER],
    }
    again, _ = fixed(payload, "openai-responses")
    assert json.dumps(again).count("Be brief") == 1
    assert (again["model"], again["temperature"]) == ("gpt-5.6", 1)


def test_system_and_tools_are_there_once_and_all_else_is_kept() -> None:
    payload: dict[str, Any] = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 9,
        "system": "S",
        "messages": [USER],
        "tools": [{"name": "f", "input_schema": SCHEMA}],
    }
    again, _ = fixed(payload, "anthropic")
    assert set(again) == set(payload)
    assert (again["max_tokens"], len(again["system"]), again["tools"][0]["name"]) == (9, 1, "f")


@pytest.mark.parametrize("name", ["system_instruction", "systemInstruction"])
def test_the_config_of_geminis_client_is_merged(name: str) -> None:
    declared = {"function_declarations": [{"name": "f", "parameters_json_schema": SCHEMA}]}
    config = {"temperature": 0, name: "S", "max_output_tokens": 5, "tools": [declared]}
    payload: dict[str, Any] = {"model": "gemini-2.5-pro", "config": config, "contents": [QUESTION, CALLED]}
    again, _ = fixed(payload, "gemini")
    assert set(again) == {"model", "config", "contents"}
    assert again["config"] == {
        "temperature": 0,
        "max_output_tokens": 5,
        "system_instruction": {"parts": [{"text": "S"}]},
        "tools": [declared],
    }


def test_a_request_to_geminis_api_stays_one() -> None:
    declared = [{"name": "f", "parametersJsonSchema": SCHEMA}]
    payload: dict[str, Any] = {
        "systemInstruction": {"parts": [{"text": "S"}]},
        "generationConfig": {"temperature": 0},
        "tools": [{"functionDeclarations": declared, "googleSearch": {}}],
        "contents": [QUESTION, CALLED],
    }
    again, _ = fixed(payload, "gemini")
    assert set(again) == {*payload, "toolConfig"}
    assert again["toolConfig"] == {"includeServerSideToolInvocations": True}  # else the two are refused
    assert again["systemInstruction"] == payload["systemInstruction"]
    assert again["generationConfig"] == {"temperature": 0}
    assert again["tools"] == [{"functionDeclarations": declared}, {"googleSearch": {}}]
    assert len(again["contents"]) == 3


@pytest.mark.parametrize(
    "command", [["check", "--provider", "gemini", "--fix"], ["convert", "--to", "gemini"]]
)
def test_the_model_of_the_payload_counts(command: list[str]) -> None:
    payload: dict[str, Any] = {"model": "gemini-3-pro", "contents": [QUESTION, CALLED]}
    run = CliRunner().invoke(app, [*command, "-"], input=json.dumps(payload))
    assert run.exit_code == 0
    assert "thoughtSignature" in json.loads(run.stdout)["contents"][1]["parts"][0]  # this model wants one


def test_the_thoughts_in_a_list_are_those_of_the_model_that_is_named() -> None:
    thought = {"type": "thinking", "thinking": "h", "signature": "S"}
    call: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    history = [USER, {"role": "assistant", "content": [thought, call]}]
    messages, _ = fixed(history, "anthropic", "--model", "claude-sonnet-4-5")
    assert messages[1]["content"] == [thought, call]


def test_a_list_with_calls_stays_a_list() -> None:
    call: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r"}]}
    broken = [USER, {"role": "assistant", "content": [{"type": "text", "text": ""}, call]}, answer]
    messages, said = fixed(broken, "anthropic")
    assert isinstance(messages, list) and messages[1]["content"] == [call]
    assert "whole payload" not in said


TEXTS = [{"text": "hi", "type": "text"}]
FAULTLESS: dict[str, Any] = {
    "openai": [{"content": TEXTS, "role": "user", "name": "ana"}],
    "openai-responses": [{"content": "hi", "role": "user"}],
    "anthropic": [{"content": TEXTS, "role": "user"}],
    "gemini": {
        "contents": [{"parts": [{"text": "q"}], "role": "user"}],
        "safetySettings": [],
        "config": {},
    },
}


@pytest.mark.parametrize("provider", FAULTLESS)
def test_what_has_no_fault_is_written_as_it_was(provider: str) -> None:
    again, said = fixed(FAULTLESS[provider], provider)
    assert json.dumps(again) == json.dumps(FAULTLESS[provider])
    assert "no fault" in said


ASKED: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
URL = "data:image/png;base64,iVBORw0KGgo="
FAULTY: list[tuple[str, Any, str]] = [
    (
        "anthropic",
        [{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": URL}}]}],
        '"data": "iVBORw0KGgo="',
    ),
    (
        "anthropic",
        [
            ASKED,
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": {"n": 1}}]},
        ],
        '"content": "{\\"n\\":1}"',
    ),
    (
        "openai",
        [
            {
                "role": "user",
                "content": [
                    {
                        "type": "input_audio",
                        "input_audio": {"data": "data:audio/wav;base64,UklGRg==", "format": "wav"},
                    }
                ],
            }
        ],
        '"data": "UklGRg=="',
    ),
    (
        "openai-responses",
        [
            {"role": "user", "content": "hi"},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": {"n": 1}},
            {"type": "function_call_output", "call_id": "a", "output": {"n": 2}},
        ],
        '"output": "{\\"n\\":2}"',
    ),
    ("gemini", [{"role": "user", "parts": [{"inlineData": {"data": URL}}]}], '"data": "iVBORw0KGgo="'),
    (
        "gemini",
        [
            QUESTION,
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": '{"n": 1}'}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": "found"}}]},
        ],
        '"args": {"n": 1}',
    ),
]


@pytest.mark.parametrize(("provider", "history", "repaired"), FAULTY)
def test_values_in_the_wrong_form_are_put_right(provider: str, history: Any, repaired: str) -> None:
    again, _ = fixed(history, provider)
    assert repaired in json.dumps(again)


@pytest.mark.parametrize("nothing", [None, ""])
def test_calls_and_results_without_ids_get_the_same_ones(nothing: str | None) -> None:
    call = {"id": nothing, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    answer = {"role": "tool", "tool_call_id": nothing, "content": "r"}
    again, _ = fixed([USER, {"role": "assistant", "tool_calls": [call]}, answer], "openai")
    assert again[1]["tool_calls"][0]["id"] == again[2]["tool_call_id"]
    assert again[2]["content"] == "r"


def test_a_name_that_is_refused_is_changed_and_that_is_said() -> None:
    again, said = fixed([{**USER, "name": "Ann Lee"}], "openai")
    assert again[0]["name"].startswith("Ann_Lee_")
    assert "name_renamed" in said


@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use"])
def test_a_question_to_a_server_tool_without_its_result_is_left_out(kind: str) -> None:
    asked = {"type": kind, "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
    said = {"role": "assistant", "content": [asked, {"type": "text", "text": "I look."}]}
    again, _ = fixed([ASKED, said, USER], "anthropic")
    assert [block["type"] for message in again for block in message["content"]] == ["text"] * 3


def test_histories_on_lines_are_each_repaired(tmp_path: Path) -> None:
    lines = [[{"role": "system", "content": "S"}, USER], [USER], {"max_tokens": 3, "messages": [USER]}]
    target = tmp_path / "fixed.jsonl"
    given = "\n".join(map(json.dumps, lines))
    run = CliRunner().invoke(
        app, ["check", "-", "--provider", "anthropic", "--fix", "-o", str(target)], input=given
    )
    first, second, third = map(json.loads, target.read_text().splitlines())
    assert run.exit_code == 0
    assert "line 1: a list of messages cannot hold all of it" in run.stderr
    assert (set(first), len(second), third["max_tokens"]) == ({"system", "messages"}, 1, 3)


def test_what_is_left_after_the_repair_is_said() -> None:
    call: dict[str, Any] = {"type": "tool_use", "id": "t.1", "name": "f", "input": {}}
    answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t.1", "content": "r"}]}
    payload: dict[str, Any] = {
        "messages": [USER, {"role": "assistant", "content": [call]}, answer],
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "model": 5,
    }
    lines = "\n".join(map(json.dumps, [{"messages": [USER]}, payload]))
    for given, place in ((json.dumps(payload), ""), (lines, "line 2: ")):
        run = CliRunner().invoke(app, ["check", "-", "--provider", "anthropic", "--fix"], input=given)
        assert run.exit_code == 1
        assert f"{place}not repaired: model: must be a string, is a number" in run.stderr
        assert run.stderr.count("not repaired") == 1


def test_messages_on_lines_are_repaired_on_lines() -> None:
    called = {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f"}}]}
    given = "\n".join(map(json.dumps, [USER, called, USER]))
    run = CliRunner().invoke(app, ["check", "-", "--provider", "openai", "--fix"], input=given)
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    assert [line["role"] for line in lines] == ["user", "assistant", "tool", "user"]
