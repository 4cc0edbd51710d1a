"""`quire simulate` of whole payloads: their own model, and their tools."""

import json
from typing import Any

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from tests.cli.conversing import conversation, lines, ran, refused

SIMULATE = ("simulate", "-", "--budget", "1000", "--policy", "default", "--json")
TRACE = {"name": "trace", "description": "Trace a parcel. " * 40, "parameters": {"type": "object"}}
TOOLS = [{"type": "function", "function": TRACE}]


def payload(model: str | None, **fields: Any) -> dict[str, Any]:
    named = {} if model is None else {"model": model}
    return {**named, "messages": conversation(), **fields}


def report(given: Any, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran(*SIMULATE, *options, given=given).stdout)
    return found


def test_a_payload_is_counted_and_charged_as_the_model_it_is_for() -> None:
    own = report(payload("gpt-4o-mini"))
    assert own["model"] == "gpt-4o-mini"
    assert own["policies"] == report(payload(None), "--model", "gpt-4o-mini")["policies"]
    assert report(payload("gpt-4o-mini"), "--model", "gpt-5.6")["model"] == "gpt-5.6"
    assert report(payload(None))["model"] == "gpt-5.6"


def test_histories_of_one_model_are_replayed_together_and_those_of_two_are_not() -> None:
    alike = lines([payload("gpt-4o-mini"), payload(None)])
    assert report(alike)["model"] == "gpt-4o-mini"
    apart = lines([payload("gpt-4o-mini"), payload("gpt-5.6")])
    assert "--model" in refused(2, *SIMULATE, given=apart)
    assert report(apart, "--model", "gpt-5.6")["histories"] == 2


def test_the_tools_of_a_payload_take_of_the_budget() -> None:
    bare, armed = report(payload(None)), report(payload(None, tools=TOOLS))
    kept = "keep-all"
    assert armed["policies"][kept]["peak"] > bare["policies"][kept]["peak"] + 100
    assert armed["policies"]["default"]["peak"] <= 1000
    assert armed["policies"]["default"]["over_budget"] == 0
