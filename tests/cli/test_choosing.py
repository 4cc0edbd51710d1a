"""`quire fit` and `quire explain`: what the model would see of a history, and why."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from quire.providers import PROVIDERS, check
from tests.cli.conversing import TOOL, conversation, lines, ran, read, refused

FIT = ("fit", "-", "--budget", "1000")
EXPLAIN = ("explain", "-")


def test_the_payload_goes_to_standard_output_and_the_receipt_to_standard_error() -> None:
    done = ran(*FIT, given=conversation())
    messages = json.loads(done.stdout)
    assert messages[0]["role"] == "system" and messages[-1]["content"] == "And the last question?"
    assert 3 < len(messages) < len(conversation())
    assert "oldest left out" in done.stderr and "of 1,000" in done.stderr


def test_with_a_file_to_write_the_receipt_is_on_standard_output(tmp_path: Path) -> None:
    target = tmp_path / "fitted.json"
    done = ran(*FIT, "-o", str(target), given={"temperature": 0.5, "messages": conversation()})
    assert "oldest left out" in done.stdout and done.stderr == ""
    fitted = read(target)
    assert fitted["temperature"] == 0.5 and len(fitted["messages"]) < len(conversation())


def test_what_fits_is_left_as_it_is() -> None:
    done = ran("fit", "-", "--budget", "100000", given=conversation(3))
    assert json.loads(done.stdout) == conversation(3)


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("policy", [None, "default", "clear-in-batches", "cut-to-25", "keep-all"])
def test_every_provider_takes_what_is_written(wire: str, policy: str | None) -> None:
    options = ("--policy", policy) if policy else ()
    payload = json.loads(ran(*FIT, "--to", wire, *options, given=conversation()).stdout)
    assert check(payload, wire) == []


def test_the_format_may_be_ours() -> None:
    items = json.loads(ran(*FIT, "--to", "quire", given=conversation()).stdout)
    assert {item["kind"] for item in items} == {"message", "tool_call", "tool_result"}
    again = ran("fit", "-", "--budget", "1000", "--to", "openai", given=items)
    assert json.loads(again.stdout)["messages"] == json.loads(ran(*FIT, given=conversation()).stdout)


def test_a_summary_in_our_format_can_be_read_again() -> None:
    words = [{"kind": "message", "id": name, "role": "user", "content": name} for name in ("a", "b", "c")]
    summary = {"kind": "summary", "id": "s", "text": "short", "spans": [{"first": "a", "last": "b"}]}
    fitted = ran("fit", "-", "--budget", "100", given=[*words, summary]).stdout
    again = ran("fit", "-", "--budget", "100", "--to", "openai", given=fitted).stdout
    said = [message["content"] for message in json.loads(again)["messages"]]
    assert said == ["<summary>\nshort\n</summary>", "c"]


def test_tools_and_the_reserve_are_counted() -> None:
    given = {"messages": conversation(), "tools": [TOOL]}
    receipt = json.loads(ran(*FIT, "--reserve", "300", "--json", given=given).stderr)
    assert receipt["tool_definitions"] > 0 and receipt["available"] == 700 >= receipt["tokens"]


def test_the_receipt_as_json_has_every_item_once() -> None:
    receipt = json.loads(ran(*FIT, "--json", "--policy", "clear-in-batches", given=conversation()).stderr)
    assert [entry["number"] for entry in receipt["entries"]] == list(range(1, 83))
    assert {"section", "fate", "rule", "tokens", "reason", "kind"} <= set(receipt["entries"][0])
    assert [section["section"] for section in receipt["sections"]] == ["history"]
    assert receipt["compaction"]["after"] == receipt["tokens"] <= 1000
    assert (receipt["line"], receipt["notes"], receipt["downgrades"]) == (None, [], [])


def test_a_receipt_never_quotes_content() -> None:
    receipt = ran(*FIT, "--json", given=conversation()).stderr
    assert "secret" not in receipt and "Question" not in receipt


def test_a_policy_compacts_first_and_is_told_of() -> None:
    done = ran(*FIT, "--policy", "default", given=conversation())
    assert "compacted from" in done.stderr and "truncate-oldest" in done.stderr
    assert len(json.loads(done.stdout)) < len(json.loads(ran(*FIT, given=conversation()).stdout))


def test_histories_on_lines_are_each_fitted(tmp_path: Path) -> None:
    given = lines([conversation(), conversation(2)])
    done = ran(*FIT, "--json", "-o", str(tmp_path / "out.jsonl"), given=given)
    assert [receipt["line"] for receipt in json.loads(done.stdout)] == [1, 2]
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len(written) == 2 and written[1] == conversation(2)
    assert "line 2" in ran(*FIT, given=given).stderr


def test_where_one_does_not_fit_it_is_named_and_nothing_is_written() -> None:
    large = [{"role": "user", "content": "word " * 3000}]
    said = refused(1, *FIT, given=lines([conversation(), large, large]))
    assert "line 2: " in said and "line 3: " in said and "line 1: " not in said


@pytest.mark.parametrize(
    ("history", "says"),
    [
        ([{"role": "system", "content": "rule " * 3000}, {"role": "user", "content": "hi"}], "item '1'"),
        ([{"role": "user", "content": "hi"}, {"role": "user", "content": "word " * 3000}], "item '2'"),
    ],
)
@pytest.mark.parametrize("policy", [(), ("--policy", "default")])
def test_what_is_too_large_is_named_by_its_number(history: Any, says: str, policy: tuple[str, ...]) -> None:
    said = refused(1, *FIT, *policy, given=history)
    assert says in said


def test_pins_larger_than_the_budget_are_named_by_their_ids() -> None:
    items = [
        {"kind": "message", "id": "kept", "role": "user", "content": "word " * 1_200},
        {"kind": "pin", "id": "pin", "target": "kept"},
        *({"kind": "message", "role": "user", "content": f"Question {n}?"} for n in range(60)),
    ]
    said = refused(1, *FIT, "--policy", "default", given=items)
    assert "item 'kept' (user message)" in said


def test_tool_definitions_larger_than_the_budget_are_to_blame() -> None:
    given = {"messages": conversation(), "tools": [TOOL]}
    for policy in ((), ("--policy", "default")):
        assert "tool definitions" in refused(1, "fit", "-", "--budget", "20", *policy, given=given)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--budget", "0"), "--budget"),
        (("--budget", "-5"), "--budget"),
        (("--budget", "100", "--reserve", "100"), "leaves nothing"),
        (("--budget", "100", "--policy", "none"), "there are default, cut-to-25"),
        (("--budget", "100", "--policy", "summarize"), "needs a model"),
        (("--budget", "100", "--to", "claude"), "there are openai"),
        (("--budget", "100", "--from", "claude"), "there are openai"),
        ((), "--budget"),
    ],
)
def test_what_cannot_be_meant_is_a_clear_error(options: tuple[str, ...], says: str) -> None:
    assert says in refused(2, "fit", "-", *options, given=conversation())


@pytest.mark.parametrize(("asked", "number"), [("1", "1"), ("82", "82"), ("-1", "82"), ("-82", "1")])
def test_an_item_is_asked_for_by_its_number(asked: str, number: str) -> None:
    told = ran(*EXPLAIN, asked, "--budget", "1000", given=conversation()).stdout
    assert f"item     {number}\n" in told and "fate     shown" in told and "section  history" in told


def test_what_was_left_out_and_why() -> None:
    told = ran(*EXPLAIN, "4", "--budget", "1000", given=conversation()).stdout
    assert (
        "kind     tool result" in told and "fate     left out" in told and "rule     oldest left out" in told
    )
    assert "secret-0" not in told


def test_what_a_policy_did_to_an_item() -> None:
    told = ran(*EXPLAIN, "4", "--budget", "1000", "--policy", "default", given=conversation()).stdout
    assert "rule     edit default-1" in told and "policy   compacted from" in told


@pytest.mark.parametrize(
    ("number", "says"), [("1", "Be brief and exact."), ("3", "look_up {}"), ("4", "secret-0")]
)
def test_content_is_shown_on_request(number: str, says: str) -> None:
    asked = (*EXPLAIN, number, "--budget", "1000", "--show")
    assert says in ran(*asked, given=conversation()).stdout
    assert says in json.loads(ran(*asked, "--json", given=conversation()).stdout)["content"]


def test_an_explanation_as_json() -> None:
    told = json.loads(ran(*EXPLAIN, "2", "--budget", "1000", "--json", given=conversation()).stdout)
    assert (told["number"], told["kind"], told["called"]) == (2, "message", "user message")
    assert told["fate"] == "left out" and "content" not in told


def test_items_of_our_own_have_ids() -> None:
    items = [{"kind": "message", "id": "first", "role": "user", "content": "hi"}]
    assert "item     1, id 'first'" in ran(*EXPLAIN, "first", "--budget", "99", given=items).stdout
    assert "item     1, id 'first'" in ran(*EXPLAIN, "-1", "--budget", "99", given=items).stdout


@pytest.mark.parametrize("asked", ["0", "83", "-83", "abc"])
def test_an_unknown_item_is_a_clear_error(asked: str) -> None:
    assert "it has items 1 to 82" in refused(1, *EXPLAIN, asked, "--budget", "1000", given=conversation())


def test_of_histories_on_lines_one_is_asked_for() -> None:
    given = lines([conversation(1), conversation(2)])
    assert "--line" in refused(2, *EXPLAIN, "1", "--budget", "99", given=given)
    assert "no history begins on line 3" in refused(
        2, *EXPLAIN, "1", "--budget", "9", "--line", "3", given=given
    )
    found = ran(*EXPLAIN, "-1", "--budget", "1000", "--line", "2", "--json", given=given)
    assert (json.loads(found.stdout)["line"], json.loads(found.stdout)["number"]) == (2, 10)


def test_a_mistyped_option_is_an_error() -> None:
    assert refused(2, *EXPLAIN, "1", "--budget", "99", "--shwo", given=conversation())
