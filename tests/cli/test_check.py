"""`quire check`, `convert` and `tokens`: files in any format, faults, repairs and counts."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.providers import PROVIDERS
from tests.cli.command_line import TOOL, UNSAFE, lines, ran, ran_json, refused, run, written

USER: dict[str, Any] = {"role": "user", "content": "How is the weather?"}
CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"q":"x"}'}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "sunny"}
GOOD = [USER, CALLED, RESULT]
BAD = [USER, RESULT]
CHECK = ("check", "-", "--provider", "openai")


def fixed(payload: Any, provider: str, *options: str) -> tuple[Any, str]:
    done = ran("check", "-", "--provider", provider, "--fix", *options, given=payload)
    return json.loads(done.stdout), done.stderr


def test_faults_are_listed_with_their_places_and_exit_status_1(tmp_path: Path) -> None:
    for history in (GOOD, USER, {"messages": GOOD}):  # a list, a single message, a payload
        assert ran(*CHECK, given=history).stdout == "no fault\n"
    done = run("check", written(tmp_path / "h.json", {"messages": BAD}), "--provider", "openai")
    assert done.exit_code == 1 and done.stdout.endswith("1 fault\n")
    assert "messages[1]" in done.stdout and "orphan_result" in done.stdout
    (fault,) = json.loads(run(*CHECK, "--json", given=BAD).stdout)
    assert fault["rule"] == "orphan_result" and fault["line"] is None


def test_lines_are_messages_of_one_history_or_a_history_each() -> None:
    assert ran(*CHECK, given=lines(GOOD)).stdout == "no fault\n"
    done = run(*CHECK, given=lines([GOOD, BAD, {"messages": BAD}]))
    assert "line 2" in done.stdout and "line 3" in done.stdout and "line 1" not in done.stdout
    assert done.stdout.endswith("2 faults in 3 histories\n")


NASTY_CALL = {**CALL, "id": "\x1b]0;x\x07\u202e", "function": {"name": "\x1b[2Jf\x9b", "arguments": "{}"}}
NASTY_HISTORIES: list[tuple[str, Any]] = [
    ("openai", [{"role": "\x1b[31mrole\u202e", "content": "x"}]),
    ("openai", [USER, {**CALLED, "tool_calls": [NASTY_CALL]}]),
    ("gemini", [{"role": "\x1b[5m", "parts": [{"functionResponse": {"name": "\x1b[1m", "response": {}}}]}]),
]


@pytest.mark.parametrize(("provider", "history"), NASTY_HISTORIES)
@pytest.mark.parametrize("options", [(), ("--json",), ("--fix",), ("--fix", "--json")])
def test_no_file_drives_the_terminal(provider: str, history: Any, options: tuple[str, ...]) -> None:
    for command in (("check", "-", "--provider", provider, *options), ("convert", "-", "--to", "anthropic")):
        printed = run(*command, given=history).output
        assert not any(sign in printed for sign in UNSAFE)


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_history_of_another_provider_has_one_fault_with_the_command_to_convert_it(
    wire: str, provider: str, tmp_path: Path
) -> None:
    payload = json.loads(ran("convert", "-", "--to", wire, given=[USER, CALLED, RESULT]).stdout)
    file = written(tmp_path / "h.json", payload)
    done = run("check", file, "--provider", provider)
    if wire == provider:
        assert done.exit_code == 0
        return
    assert done.exit_code == 1 and done.stdout.endswith("other_format\n1 fault\n")
    assert f"looks like a history of {wire}, not of {provider}; " in done.stdout
    assert f"quire convert {file} --to {provider} " in done.stdout
    converted = ran("convert", file, "--to", provider).stdout
    assert ran("check", "-", "--provider", provider, given=converted).stdout == "no fault\n"
    fixing = run("check", file, "--provider", provider, "--fix")
    assert fixing.exit_code == 2 and "nothing is repaired" in fixing.stderr and fixing.stdout == ""


def test_a_repair_is_reported_with_its_message_and_leaves_no_fault() -> None:
    repaired, reported = fixed([USER, CALLED, USER], "openai")
    assert "messages[1], assistant, call 'c1' of look_up: the call has no result" in reported
    assert [message["role"] for message in repaired] == ["user", "assistant", "tool", "user"]
    assert "unanswered_call" in reported and "result_added" in reported
    assert ran(*CHECK, given=repaired).stdout == "no fault\n"
    _, reported = fixed(BAD, "openai")
    assert "messages[1], tool, result of call 'c1' of an unknown tool: " in reported
    both = run(*CHECK, "--fix", "--json", given=BAD)  # the faults go to standard error
    assert json.JSONDecoder().raw_decode(both.stderr)[0][0]["rule"] == "orphan_result"


TEXTS = [{"text": "hi", "type": "text"}]
FAULTLESS: dict[str, Any] = {
    "openai": [{"content": TEXTS, "role": "user", "name": "ana"}],
    "openai-responses": [{"content": "hi", "role": "user"}],
    "anthropic": [{"content": TEXTS, "role": "user"}],
    "gemini": {"contents": [{"parts": [{"text": "q"}], "role": "user"}], "safetySettings": [], "config": {}},
}


@pytest.mark.parametrize("provider", FAULTLESS)
def test_a_history_without_a_fault_is_written_as_it_was(provider: str) -> None:
    again, reported = fixed(FAULTLESS[provider], provider)
    assert json.dumps(again) == json.dumps(FAULTLESS[provider]) and "no fault" in reported


def test_a_payload_keeps_its_settings_and_has_instructions_once() -> None:
    payload = {"model": "gpt-5.6", "temperature": 0.5, "messages": BAD}
    again, _ = fixed(payload, "openai")
    assert again["temperature"] == 0.5 and len(again["messages"]) == 1
    responses = {"model": "gpt-5.6", "instructions": "Be brief", "temperature": 1, "input": [USER]}
    again, _ = fixed(responses, "openai-responses")
    assert json.dumps(again).count("Be brief") == 1 and again["temperature"] == 1


def test_a_list_stays_a_list_unless_it_cannot_hold_everything() -> None:
    unanswered: list[Any] = [
        USER,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
    ]
    again, reported = fixed(unanswered, "anthropic")
    assert isinstance(again, list) and "result_added" in reported and "tools_added" not in reported
    again, reported = fixed({"model": "claude-opus-5", "max_tokens": 9, "messages": unanswered}, "anthropic")
    assert [tool["name"] for tool in again["tools"]] == ["f"] and "tools_added" in reported
    again, reported = fixed([{"role": "system", "content": "S"}, USER], "anthropic")
    assert again["system"][0]["text"] == "S" and "a whole payload is written: system, messages" in reported


QUESTION = {"role": "user", "parts": [{"text": "q"}]}


def test_a_fault_that_stays_is_reported_with_exit_status_1() -> None:
    payload = {"messages": [*GOOD, {"role": "tool", "tool_call_id": "x", "content": ""}], "model": 5}
    for history, place in ((payload, ""), (lines([{"messages": [USER]}, payload]), "line 2: ")):
        done = run(*CHECK, "--fix", given=history)
        assert done.exit_code == 1
        assert f"{place}not repaired: model: must be a string, is a number" in done.stderr


def test_what_is_not_written_is_reported() -> None:
    whole = {"model": "gpt-5.6", "temperature": 0.2, "top_p": None, "messages": [USER], "tools": [TOOL]}
    done = ran("convert", "-", "--to", "anthropic", given=whole)
    assert set(json.loads(done.stdout)) == {"messages", "tools"}
    assert done.stderr == "not written: model, temperature\n"
    done = ran("convert", "-", "--to", "items", given=lines([[USER], whole]))
    assert done.stderr == "line 2: not written: model, temperature, tools\n"
    config = {"contents": [QUESTION], "config": {"system_instruction": "S", "seed": 1}}
    assert ran("convert", "-", "--to", "openai", given=config).stderr == "not written: config.seed\n"
    audio = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    done = ran("convert", "-", "--to", "anthropic", given=[{"role": "user", "content": [audio]}])
    assert "media_as_text" in done.stderr


def test_tokens_by_kind_and_in_all() -> None:
    shown = ran("tokens", "-", "--model", "gpt-4o", given=GOOD).stdout
    assert "user message" in shown and "all, as a request" in shown
    counted = ran_json("tokens", "-", "--model", "gpt-4o", given=GOOD)
    assert counted["tokens"] == sum(tokens for _, tokens in counted["kinds"].values()) + 3
    assert counted["kinds"]["tool call"][0] == 1
    payload = {"model": "claude-opus-4-8", "messages": [USER], "tools": [TOOL]}
    assert ran_json("tokens", "-", given=payload)["model"] == "claude-opus-4-8"
    assert ran_json("tokens", "-", "--model", "gpt-5.6", given=payload)["kinds"]["tool definition"][0] == 1


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "nothing in it"),
        (b"{", "not JSON"),
        (b'{"role": "user"}\n{', "line 2"),
        (b"5", "list of messages"),
        (b'[]\n{"role": "user"}', "every line must be a message"),
        (b"\xff", "not UTF-8"),
        (b'[{"role": "user", "content": "\\ud800"', "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_is_no_history_is_an_error(data: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(data)
    assert says in refused(2, "check", str(tmp_path / "bad.json"), "--provider", "openai")


@pytest.mark.parametrize(
    ("command", "history", "says"),
    [
        (("check", "none.json", "--provider", "openai"), None, "cannot be read"),
        (("check", "/dev/zero", "--provider", "openai"), None, "cannot be read"),
        (
            ("check", "-", "--provider", "claude"),
            GOOD,
            "there are openai, openai-responses, anthropic, gemini",
        ),
        (("convert", "-", "--to", "claude"), GOOD, "there are openai"),
        (("convert", "-", "--from", "openai", "--to", "gemini"), [{"role": "user", "content": 5}], "[0]"),
        (("convert", "-", "--to", "openai", "-o", "none/x.json"), GOOD, "cannot be written: No such file"),
        (("tokens", "-"), [], "no messages were found; is the format right?"),
        (("tokens", "-"), lines([GOOD, []]), "line 2: no messages were found"),
        (("tokens", "-", "--from", "codex"), GOOD, "it has no conversation in the format codex"),
        (("tokens", "-", "--from", "claude"), GOOD, "items, claude-code, codex"),
    ],
)
def test_mistakes_are_errors_in_a_sentence(command: tuple[str, ...], history: Any, says: str) -> None:
    assert says in refused(2, *command, given=history)


def test_line_separators_and_lone_surrogates_in_texts() -> None:
    given = '{"role": "user", "content": "a\u2028b\u0085c"}\r\n{"role": "assistant", "content": "d"}\n'
    out = ran(*CHECK, "--fix", given=given).stdout.removesuffix("\n").split("\n")
    assert [json.loads(line)["content"] for line in out] == ["a\u2028b\u0085c", "d"]
    half = json.dumps([{"role": "user", "content": "a\ud800b\U0001f600"}])
    assert json.loads(ran(*CHECK, "--fix", given=half).stdout)[0]["content"] == "a\ufffdb\U0001f600"


KEYS = "messages input contents parts role content type text id name tools tool_calls function source config"
WORDS = "user assistant model tool system tool_use tool_result image function_call reasoning message c1"
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(WORDS.split()),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(KEYS.split()), inner),
)


@pytest.mark.laws
@given(st.sampled_from(list(PROVIDERS)), st.lists(VALUES) | VALUES)
def test_no_file_is_a_traceback(wire: str, value: Any) -> None:
    for command in (
        ("check", "-", "--provider", wire, "--fix"),
        ("tokens", "-"),
        ("convert", "-", "--from", wire, "--to", "items"),
    ):
        done = run(*command, given=json.dumps(value))
        assert done.exit_code in (0, 1, 2) and isinstance(done.exception, SystemExit | None), done.exception


def test_a_history_without_a_provider_is_checked_as_the_one_that_it_looks_like(tmp_path: Path) -> None:
    file = written(tmp_path / "history.json", BAD)
    result, named = run("check", file), run("check", file, "--provider", "openai")
    assert (result.exit_code, result.stdout) == (1, named.stdout)
    assert "looks like a history of openai, and is checked as one" in result.stderr
    own = written(tmp_path / "own.json", json.loads(ran("convert", file, "--to", "items").stdout))
    assert "give the --provider" in refused(2, "check", own)
