"""`quire simulate`: policies compared on histories, with figures, a progress bar and a chart."""

import json
import os
import pty
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from quire.cli.chart import Line, Panel, drawn
from quire.cli.replay import POLICIES
from tests.cli.conversing import conversation, lines, ran, refused

SIMULATE = ("simulate", "-", "--budget", "1000")
SVG = "{http://www.w3.org/2000/svg}"


def report(*options: str, given: Any = None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        ran(*SIMULATE, "--json", *options, given=given or conversation()).stdout
    )
    return found


def test_all_policies_are_compared_with_keeping_all() -> None:
    found = report()
    assert list(found["policies"]) == list(POLICIES)
    assert (found["budget"], found["histories"], found["calls"]) == (1000, 1, 40)
    kept = found["policies"]["keep-all"]
    assert (kept["bill"], kept["compactions"], kept["refused"]) == (1.0, 0, 0)
    for name, row in found["policies"].items():
        assert (row["invalid"], row["over_budget"]) == (0, 0)
        assert name == "keep-all" or row["peak"] <= 1000 < kept["peak"]


def test_cutting_in_steps_costs_less_than_a_sliding_window() -> None:
    policies = report("--policy", "default", "--policy", "sliding-window")["policies"]
    assert list(policies) == ["default", "sliding-window", "keep-all"]
    assert policies["default"]["bill"] < policies["sliding-window"]["bill"]
    assert policies["default"]["cached_share"] > policies["sliding-window"]["cached_share"]


def test_histories_on_lines_are_summed() -> None:
    one, two = report(), report(given=lines([conversation(), conversation()]))
    assert (two["histories"], two["calls"]) == (2, 80)
    for name, row in two["policies"].items():
        assert row["compactions"] == 2 * one["policies"][name]["compactions"]
        assert row["bill"] == one["policies"][name]["bill"]


def test_money_is_told_where_prices_are_known() -> None:
    known = report("--policy", "default")
    assert known["prices"] == "of the model" and known["policies"]["default"]["usd"] > 0
    unknown = report("--policy", "default", "--model", "some-model")
    assert unknown["prices"] == "usual" and unknown["policies"]["default"]["usd"] is None
    told = ran(*SIMULATE, "--model", "some-model", given=conversation()).stdout
    assert "USD" not in told and "what most providers charge" in told


def test_a_block_that_changes_makes_the_cached_share_smaller() -> None:
    share = [
        report("--volatile", volatile)["policies"]["default"]["cached_share"] for volatile in ("0", "200")
    ]
    assert share[1] < share[0]


def test_the_table_is_for_people_and_nothing_else_is_printed() -> None:
    done = ran(*SIMULATE, given=conversation())
    assert done.stderr == ""  # no progress where nobody watches
    assert all(name in done.stdout for name in POLICIES) and "compacted" in done.stdout
    assert "40 calls, budget 1,000 tokens, gpt-5.6" in done.stdout


def test_calls_that_do_not_fit_are_told_of() -> None:
    history = [{"role": "system", "content": "rule " * 1500}, *conversation(2)[1:]]
    done = ran(*SIMULATE, "--policy", "default", given=history)
    assert "! default: 4 calls could not be made to fit" in done.stdout


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--budget", "-1"), "--budget"),
        (("--budget", "10", "--policy", "defualt"), "there are default, cut-to-25"),
        (("--budget", "10", "--volatile", "-1"), "--volatile"),
        (("--budget", "10", "--from", "claude"), "there are openai"),
    ],
)
def test_what_cannot_be_meant_is_a_clear_error(options: tuple[str, ...], says: str) -> None:
    assert says in refused(2, "simulate", "-", *options, given=conversation(2))


def test_a_history_without_replies_has_nothing_to_replay() -> None:
    assert "no model is called" in refused(2, *SIMULATE, given=[{"role": "user", "content": "hi"}])


def test_a_chart_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    place = str(tmp_path / "none" / "chart.svg")
    assert "cannot be written" in refused(2, *SIMULATE, "--svg", place, given=conversation(2))


def test_the_chart_is_well_formed_and_the_same_for_the_same(tmp_path: Path) -> None:
    history = tmp_path / "a <b> & c.jsonl"
    history.write_text(lines([conversation(), conversation(4)]))
    charts: list[str] = []
    for name in ("one.svg", "two.svg"):
        ran("simulate", str(history), "--budget", "1000", "--svg", str(tmp_path / name))
        charts.append((tmp_path / name).read_text())
    assert charts[0] == charts[1]
    root = ElementTree.fromstring(charts[0])
    assert root.findtext(f"{SVG}title") == "a <b> & c.jsonl, replayed"
    assert len(root.findall(f".//{SVG}polyline")) == 3 * len(POLICIES)
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert set(POLICIES) <= set(texts) and "budget 1,000" in texts and "call of the model" in texts
    assert "prefers-color-scheme:dark" in charts[0]


def test_a_chart_may_go_to_standard_output() -> None:
    done = ran(*SIMULATE, "--svg", "-", "--json", given=conversation(2))
    assert ElementTree.fromstring(done.stdout).tag == f"{SVG}svg"
    assert json.loads(done.stderr)["calls"] == 4


@pytest.mark.parametrize("budget", ["60", "100000"])
def test_a_chart_of_a_single_call_and_of_none(budget: str, tmp_path: Path) -> None:
    target = tmp_path / "chart.svg"
    given = [{"role": "user", "content": "word " * 200}, {"role": "assistant", "content": "hi"}]
    ran("simulate", "-", "--budget", budget, "--svg", str(target), given=given)
    assert ElementTree.fromstring(target.read_text()) is not None


def test_a_long_line_is_drawn_with_no_more_points_than_can_be_seen() -> None:
    points = [(step, float(step % 7)) for step in range(1, 100_001)]
    chart = drawn("\x00 title", "subtitle", [Panel("panel", [Line("a", "b", 0, points)], 7.0)], "steps")
    line = ElementTree.fromstring(chart).find(f".//{SVG}polyline")
    assert line is not None and len(line.attrib["points"].split()) < 1_000


def test_progress_is_shown_on_a_terminal(tmp_path: Path) -> None:
    history = tmp_path / "history.json"
    history.write_text(json.dumps(conversation()))
    asked = ["simulate", str(history), "--budget", "1000", "--json"]
    command = [sys.executable, "-c", "from quire.cli.door import main; main()", *asked]
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    with ThreadPoolExecutor(1) as reader:  # a terminal holds little, and who draws much waits for it
        shown = reader.submit(_drawn, ours)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, env=environment, timeout=300)
        os.close(theirs)
    os.close(ours)
    assert json.loads(done.stdout)["calls"] == 40
    assert "%" in shown.result() and "keep-all" in shown.result()


def _drawn(terminal: int) -> str:
    """All that is drawn on a terminal, until the last who may draw has closed it."""
    drawn = b""
    with suppress(OSError):  # so Linux tells that nobody is left
        while piece := os.read(terminal, 65_536):
            drawn += piece
    return drawn.decode(errors="replace")
