"""Processes that run nodes: signals stop them without loss, and two of them share one conversation."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quire.node import Node
from quire.session import Session

SERVER = """
import asyncio, sys
from pathlib import Path
from quire import ToolCall
from quire.agent import Agent, tool
from quire.errors import TurnBusy
from quire.models import Scripted
from quire.node import Node

folder, grace, replies = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]

@tool
async def work() -> str:
    "Work until somebody says so."
    print("working", flush=True)
    while not (folder / "go").exists():
        await asyncio.sleep(0.01)
    return "worked"

async def main(node):
    model = Scripted([ToolCall("c1", "work") if reply == "work" else reply for reply in replies])
    node.add("worker", lambda session: Agent(session, model=model, tools=[work]))
    try:
        print((await node.send("worker", "go", conversation="one")).text, flush=True)
    except TurnBusy:
        print("busy", flush=True)

Node.start(main, store=folder / "node.db", grace=grace)
print("stopped", flush=True)
"""


def served(folder: Path, grace: str, *replies: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", SERVER, str(folder), grace, *replies]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def items_in(folder: Path) -> list[Any]:
    return list(Session.open(scope="worker/", conversation="one", store=folder / "node.db").view())


@pytest.mark.parametrize("how", ["it ends", "the grace ends", "a second signal"])
def test_a_signal_stops_the_process_and_nothing_is_lost(tmp_path: Path, how: str) -> None:
    with served(tmp_path, "0.05" if how == "the grace ends" else "3600", "work", "done") as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "working\n"
            process.send_signal(signal.SIGTERM)
            if how == "it ends":
                (tmp_path / "go").touch()
            elif how == "a second signal":
                process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=60)[0].endswith("stopped\n")
        finally:
            process.kill()
    items = items_in(tmp_path)
    assert process.returncode == 0 and items[0].text == "go"
    assert items[-1].text == "done" if how == "it ends" else "uncertain" in items[-1].text


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_call_that_another_process_runs_is_not_taken_for_interrupted(
    tmp_path: Path, is_killed: bool
) -> None:
    with served(tmp_path, "1", "work", "done") as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "working\n"
            with served(tmp_path, "1", "Here.") as other:
                assert other.stdout is not None and other.stdout.readline() == "busy\n"
                other.terminate()
            if is_killed:
                process.kill()
            else:
                (tmp_path / "go").touch()
                assert process.stdout.readline() == "done\n"
                process.terminate()
            process.wait(60)
        finally:
            process.kill()
    with served(tmp_path, "1", "Here.") as other:
        assert other.stdout is not None and other.stdout.readline() == "Here.\n"
        other.terminate()
    [result] = [item for item in items_in(tmp_path) if item.__class__.__name__ == "ToolResult"]
    assert result.extras.get("uncertain", False) is is_killed
    assert (result.text == "worked") is not is_killed


def test_main_decides_when_a_node_ends() -> None:
    seen: list[Node] = []

    async def fails(node: Node) -> None:
        raise LookupError("no such row")

    with pytest.raises(LookupError):
        Node.start(fails)
    Node.start(seen.append, wait=False)
    assert len(seen) == 1
