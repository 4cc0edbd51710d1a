"""File tools where there is little room: as much is told as is shown, with how to go on."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from quire import Agent, Budget, Session, Template, ToolCall
from quire.agent.builtin import file_tools
from quire.models import Scripted
from quire.providers import Rendered
from quire.sections import History, Instructions
from tests.agent.answering import results

FILES = {
    **{f"part-{number:03}.txt": f"needle {number}\n" for number in range(300)},
    "long.txt": "".join(f"line {number} of the report, with a few words more\n" for number in range(400)),
}


def asked(root: Path, script: Any) -> Agent:
    """An agent in a small window, once it has answered."""
    for name, text in FILES.items():
        (root / "all" / name).parent.mkdir(exist_ok=True)
        (root / "all" / name).write_text(text)
    template = Template(Instructions("x"), History(), budget=Budget(window=8_192, reserve=1_024))
    session = Session.open(store="memory:")
    agent = Agent(session, template, model=Scripted(script), tools=file_tools(root, "all"))
    assert asyncio.run(agent.ask("Look.")).text == "Done."
    return agent


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (ToolCall("c", "list_files"), r"\[301 in the folder; [\d,]+ more are not shown: look with"),
        (ToolCall("c", "find_files", '{"pattern": "*"}'), r"found; only the first [\d,]+ are shown: narrow"),
        (ToolCall("c", "search_files", '{"expression": "."}'), r"matching lines; there are more: narrow"),
    ],
)
def test_what_is_not_shown_is_told_and_not_moved_out(tmp_path: Path, call: ToolCall, said: str) -> None:
    agent = asked(tmp_path, [[call, *(ToolCall(f"c{n}", "list_files") for n in range(3))], "Done."])
    first = results(agent)[0].text
    assert re.search(said, first.splitlines()[-1]) and len(first.splitlines()) > 10
    assert len(agent.session.pool) == 0


def test_who_goes_on_as_told_reads_all_of_a_file(tmp_path: Path) -> None:
    seen: dict[int, str] = {}

    def read_on(sent: Rendered) -> Any:
        last = sent.payload["messages"][-1]
        told = last["content"] if last["role"] == "tool" else "go on with first=1]"
        seen.update((int(n), line) for n, line in re.findall(r"^ *(\d+)\t(.*)$", told, re.MULTILINE))
        going_on = re.search(r"go on with first=(\d+)\]\Z", told)
        if going_on is None:
            return "Done."
        arguments = {"path": "long.txt", "first": int(going_on[1])}
        return ToolCall(f"c{len(seen)}", "read_file", json.dumps(arguments))

    agent = asked(tmp_path, read_on)
    assert "".join(f"{seen[number]}\n" for number in sorted(seen)) == FILES["long.txt"]
    assert len(agent.session.pool) == 0


def test_a_line_that_is_too_long_for_the_room_is_kept(tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "wide.txt").write_text("東京都渋谷区" * 300 + "\nand on\n")
    calls = [ToolCall(f"c{n}", "read_file", '{"path": "wide.txt"}') for n in range(10)]
    agent = asked(tmp_path, [calls, "Done."])
    assert results(agent)[0].text.endswith("go on with first=2]") and len(agent.session.pool) == 10
