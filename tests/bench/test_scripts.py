"""The scripts that measure are not measured here; that they still do it is."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.stores.server import server

BENCH = Path(__file__).parents[2] / "bench"


pytestmark = pytest.mark.skipif(
    not BENCH.is_dir(), reason="the scripts are in the repository, not in a package"
)


def ran(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=BENCH, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_finds_what_it_uses() -> None:
    names = sorted(path.stem for path in BENCH.glob("*.py"))
    ran("-c", f"import {', '.join(names)}")


def conversation() -> dict[str, Any]:
    """Forty turns in two sessions, in the format of LoCoMo; one of them says where the boat lies."""
    said = [f"I watched film number {number} yesterday evening." for number in range(40)]
    said[7] = "My boat lies in the harbour of Bergen."
    turns = [
        {
            "speaker": "Ana" if nth % 2 == 0 else "Bo",
            "dia_id": f"D{nth // 20 + 1}:{nth % 20 + 1}",
            "text": text,
        }
        for nth, text in enumerate(said)
    ]
    sessions = {"session_1": turns[:20], "session_2": turns[20:]}
    dates = {f"session_{nth}_date_time": f"1:56 pm on {nth} May, 2023" for nth in (1, 2)}
    asked = {"question": "In which harbour does the boat lie?", "evidence": ["D1:8"], "category": 4}
    return {"sample_id": "made-up", "conversation": {**sessions, **dates}, "qa": [asked]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    written = tmp_path / "made-up.json"
    written.write_text(json.dumps([conversation()]), encoding="utf-8")
    return written


def test_recall_is_scored(path: Path) -> None:
    lines = json.loads(ran("recall.py", str(path), "--budget", "100", "--json"))["sets"]["made-up"]
    shown = {method: share for group, method, _, share, *_ in lines if group == "all"}
    assert shown["quire"] == "100.0 ± 0.0" and shown["last"] == "0.0 ± 0.0"


@pytest.mark.fuzz
def test_a_conversation_inside_a_framework_is_measured() -> None:
    pytest.importorskip("pydantic_ai", reason="needs the extra pydantic-ai")
    alone, kept = json.loads(
        ran("integrations.py", "--only", "Pydantic AI", "--turns", "4", "--window", "8000", "--json")
    )
    assert alone["too_long"] and alone["lost"]
    assert kept["refused"] == kept["lost"] == 0


@pytest.mark.fuzz
def test_what_turns_write_into_a_durable_engine_is_measured() -> None:
    pytest.importorskip("dbos", reason="needs the extra durable")
    server()  # skips where no PostgreSQL can run
    options = ("--turns", "3", "--tokens", "500", "--before", "5000", "--only", "quire", "workflow", "--json")
    told = json.loads(ran("durable.py", *options))["5000"]
    first, _, last = told["quire"]["turns"]
    assert last <= first < 1_000
    first, _, last = told["workflow"]["turns"]
    assert last > first > 20_000


def test_what_the_next_call_needs_is_looked_for(tmp_path: Path) -> None:
    """Twelve plants are looked up; then the first, of which only its result said the number, is watered."""

    def called(number: int, name: str, arguments: dict[str, str], output: str) -> list[dict[str, Any]]:
        function = {"name": name, "arguments": json.dumps(arguments)}
        calls = [{"id": f"c{number}", "type": "function", "function": function}]
        return [
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": f"c{number}", "content": output},
        ]

    about = "It stands in the hall and has done well since the spring. " * 20
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look at all plants."}]
    for number in range(12):
        plant = json.dumps({"tag": f"fern_77{number:02}", "about": [about]})
        messages += called(number, "look", {"shelf": f"shelf_{number}"}, plant)
    messages += [{"role": "user", "content": "Water the first."}]
    messages += called(12, "water", {"tag": "fern_7700"}, "done")
    path = tmp_path / "plants.jsonl"
    path.write_text(json.dumps({"messages": messages}), encoding="utf-8")
    ways = ("whole", "newest, cut in steps", "History(): both")
    found = json.loads(ran("next_step.py", str(path), "--budgets", "1000", "--ways", *ways, "--json"))["1000"]
    assert [found[way]["values"] for way in ways] == [1.0, 0.0, 1.0]
    assert found["History(): both"]["sent"] <= 1_000
