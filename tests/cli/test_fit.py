"""`quire fit`, `explain` and `simulate`: what a model sees within a budget, why, and what it costs."""

import json
from pathlib import Path
from typing import Any

import pytest

from quire.context import POLICIES
from quire.providers import PROVIDERS, check
from tests.cli.command_line import TOOL, conversation, lines, ran, ran_json, refused

FIT = ("fit", "-", "--budget", "1000")
EXPLAIN = ("explain", "-")
SIMULATE = ("simulate", "-", "--budget", "2000")


def receipt(*options: str, given: Any) -> Any:
    return json.loads(ran(*FIT, "--json", *options, given=given).stderr)


def test_the_payload_and_the_receipt_are_apart(tmp_path: Path) -> None:
    done = ran(*FIT, given=conversation())
    messages = json.loads(done.stdout)
    assert messages[0]["role"] == "system" and messages[-1]["content"] == "And the last question?"
    assert 3 < len(messages) < len(conversation())
    assert "oldest left out" in done.stderr and "of 1,000" in done.stderr
    target = tmp_path / "fitted.json"
    done = ran(*FIT, "-o", str(target), given={"temperature": 0.5, "messages": conversation()})
    assert "oldest left out" in done.stdout and done.stderr == ""
    assert json.loads(target.read_text())["temperature"] == 0.5


@pytest.mark.parametrize("wire", PROVIDERS)
def test_every_provider_accepts_what_is_written(wire: str) -> None:
    assert check(json.loads(ran(*FIT, "--to", wire, given=conversation()).stdout), wire) == []


def test_items_can_be_written_and_read_again() -> None:
    items = json.loads(ran(*FIT, "--to", "items", given=conversation()).stdout)
    assert {item["kind"] for item in items} == {"message", "tool_call", "tool_result"}
    again = ran(*FIT, "--to", "openai", given=items)
    assert json.loads(again.stdout)["messages"] == json.loads(ran(*FIT, given=conversation()).stdout)
    words = [{"kind": "message", "id": name, "role": "user", "content": name} for name in ("a", "b", "c")]
    summary = {"kind": "summary", "id": "s", "text": "short", "spans": [{"first": "a", "last": "b"}]}
    fitted = ran("fit", "-", "--budget", "100", given=[*words, summary]).stdout
    again = ran("fit", "-", "--budget", "100", "--to", "openai", given=fitted)
    said = [message["content"] for message in json.loads(again.stdout)["messages"]]
    assert said == ["<summary>\nshort\n</summary>", "c"]


def test_the_receipt_as_json_has_every_item_once_and_quotes_nothing() -> None:
    found = receipt(given=conversation())
    assert [entry["number"] for entry in found["entries"]] == list(range(1, 83))
    assert {"section", "fate", "rule", "tokens", "reason", "kind"} <= set(found["entries"][0])
    assert 400 < found["tokens"] <= 1000
    assert (found["line"], found["notes"], found["downgrades"]) == (None, [], [])
    assert "secret" not in str(found) and "Question" not in str(found)
    tools = receipt("--reserve", "300", given={"messages": conversation(), "tools": [TOOL]})
    assert tools["tool_definitions"] > 0 and tools["available"] == 700 >= tools["tokens"]


def test_histories_on_lines_are_each_fitted_or_none_is_written(tmp_path: Path) -> None:
    target, both = tmp_path / "out.jsonl", lines([conversation(), conversation(2)])
    found = json.loads(ran(*FIT, "--json", "-o", str(target), given=both).stdout)
    assert [one["line"] for one in found] == [1, 2]
    assert json.loads(target.read_text().splitlines()[1]) == conversation(2)
    large = [{"role": "user", "content": "word " * 3000}]
    reported = refused(1, *FIT, given=lines([conversation(), large, large]))
    assert "line 2: " in reported and "line 3: " in reported and "line 1: " not in reported


LARGE_TOOL = {"type": "function", "function": {**TOOL["function"], "description": "word " * 3000}}
PINNED = [
    {"kind": "message", "id": "kept", "role": "user", "content": "word " * 1_200},
    {"kind": "pin", "id": "pin", "target": "kept"},
    *({"kind": "message", "role": "user", "content": f"Question {n}?"} for n in range(60)),
]


@pytest.mark.parametrize(
    ("history", "says"),
    [
        ([{"role": "system", "content": "rule " * 3000}, {"role": "user", "content": "hi"}], "item '1'"),
        ([{"role": "user", "content": "hi"}, {"role": "user", "content": "word " * 3000}], "item '2'"),
        (PINNED, "item 'kept'"),
        ({"messages": conversation(), "tools": [LARGE_TOOL]}, "tool definitions"),
    ],
)
def test_what_is_too_large_is_named(history: Any, says: str) -> None:
    assert says in refused(1, *FIT, given=history)


@pytest.mark.parametrize(("asked", "number"), [("1", "1"), ("82", "82"), ("-1", "82"), ("-82", "1")])
def test_an_item_by_its_number(asked: str, number: str) -> None:
    told = ran(*EXPLAIN, asked, "--budget", "1000", given=conversation()).stdout
    assert f"item     {number}\n" in told and "fate     shown" in told and "section  history" in told


def test_what_became_of_an_item_and_its_content_on_request() -> None:
    asked = (*EXPLAIN, "4", "--budget", "1000")
    told = ran(*asked, given=conversation()).stdout
    for line in ("kind     tool result", "fate     left out", "rule     oldest left out"):
        assert line in told
    assert "secret-0" not in told and "secret-0" in ran(*asked, "--show", given=conversation()).stdout
    data = ran_json(*asked, "--show", given=conversation())
    assert (data["number"], data["called"], data["fate"]) == (4, "tool result", "left out")
    assert data["content"].startswith("secret-0")


def simulated(*options: str, given: Any = None) -> dict[str, Any]:
    found: dict[str, Any] = ran_json(*SIMULATE, *options, given=given or conversation(40))
    return found


def test_all_policies_are_compared_with_keeping_everything() -> None:
    found = simulated()
    assert list(found["policies"]) == list(POLICIES)
    assert (found["budget"], found["histories"], found["calls"]) == (2000, 1, 80)
    kept = found["policies"]["keep-all"]
    assert (kept["bill"], kept["compactions"], kept["refused"]) == (1.0, 0, 0)
    for name, row in found["policies"].items():
        assert (row["invalid"], row["over_budget"]) == (0, 0)
        assert name == "keep-all" or row["peak"] <= 2000 < kept["peak"]
    bills = {name: row["bill"] for name, row in found["policies"].items()}
    assert bills["default"] < bills["sliding-window"]
    assert found["policies"]["default"]["cached_share"] > found["policies"]["sliding-window"]["cached_share"]


@pytest.mark.parametrize(("model", "least"), [("gpt-5.6", 1024), ("some-model", 1)])
def test_no_cache_serves_less_than_the_minimum_of_the_model(model: str, least: int) -> None:
    rows = simulated("--policy", "default", "--budget", "1000", "--model", model)["policies"]
    assert (rows["default"]["cached_share"] > 0) == (least < 1000) and rows["keep-all"]["cached_share"] > 0


def test_money_tools_and_a_volatile_block() -> None:
    few = ("--policy", "default")
    known, unknown = simulated(*few), simulated(*few, "--model", "some-model")
    assert known["prices"] == "of the model" and known["policies"]["default"]["usd"] > 0
    assert unknown["prices"] == "usual" and unknown["policies"]["default"]["usd"] is None
    volatile = simulated(*few, "--volatile", "200")["policies"]["default"]
    assert volatile["cached_share"] < known["policies"]["default"]["cached_share"]
    trace = {"name": "trace", "description": "Trace a parcel. " * 40, "parameters": {"type": "object"}}
    tools = {"messages": conversation(40), "tools": [{"type": "function", "function": trace}]}
    armed = simulated(*few, given=tools)["policies"]
    assert armed["keep-all"]["peak"] > known["policies"]["keep-all"]["peak"] + 100
    assert armed["default"]["peak"] <= 2000 and armed["default"]["over_budget"] == 0
    assert armed["keep-all"]["cached_share"] > known["policies"]["keep-all"]["cached_share"]


def test_the_model_of_the_histories_counts() -> None:
    def payload(model: str) -> Any:
        return {"model": model, "messages": conversation(2)}

    assert simulated(given=payload("gpt-4o-mini"))["model"] == "gpt-4o-mini"
    apart = lines([payload("gpt-4o-mini"), payload("gpt-5.6")])
    assert "--model" in refused(2, *SIMULATE, given=apart)
    assert simulated("--model", "gpt-5.6", given=apart)["histories"] == 2
    assert "there are default, cut-to-25" in refused(2, *SIMULATE, "--policy", "none", given=apart)
    assert "no reply of a model" in refused(2, *SIMULATE, given=[{"role": "user", "content": "hi"}])


def test_edits_on_record_do_not_stop_a_policy() -> None:
    said = [
        {"kind": "message", "id": f"m{n}", "role": role, "content": f"word {n} " * 20}
        for n, role in enumerate(["user", "assistant"] * 30)
    ]
    summary = {"kind": "summary", "id": "s", "text": "short", "spans": [{"first": "m10", "last": "m13"}]}
    rows = simulated("--budget", "1500", given=[*said[:40], summary, *said[40:]])["policies"]
    assert {row["calls"] for row in rows.values()} == {30} and rows["summarize"]["compactions"] > 0
