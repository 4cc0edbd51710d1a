"""The demonstration runs and shows what it says."""

import os
import re
import subprocess
import sys


def played() -> str:
    result = subprocess.run(
        [sys.executable, "-m", "quire"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    assert result.stderr == ""
    return result.stdout


def totals(output: str) -> list[tuple[int, int, int]]:
    found = re.findall(r": (\d+) items, \d+ groups, (\d+) tokens, (\d+) waiting", output)
    return [(int(items), int(tokens), int(waiting)) for items, tokens, waiting in found]


def test_a_truncation_and_its_undo_are_shown() -> None:
    output = played()
    whole, cut, undone, forked = totals(output)
    assert undone == whole
    assert cut[1] <= 400 < whole[1]
    assert (whole[2], cut[2], forked[2]) == (1, 1, 0)
    assert forked[0] == whole[0] + 1
    for word in ("tool_call", "tool_result", "reasoning", "handoff", "config_change", "+image", "hidden"):
        assert word in output
