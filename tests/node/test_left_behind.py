"""A process that is told to stop ends, also where a tool takes no notice of it."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quire.session import Session

SERVER = """
import asyncio, sys, threading
from quire import ToolCall
from quire.agent import Agent, tool
from quire.models import Scripted
from quire.node import Node

@tool
async def stubborn() -> str:
    "Go on."
    print("working", flush=True)
    while True:
        try:
            await asyncio.sleep(1)
        except BaseException:
            pass

@tool
async def blocked() -> str:
    "Wait in a thread of the loop."
    print("working", flush=True)
    await asyncio.to_thread(threading.Event().wait)

tools = [stubborn, blocked]

async def main(node):
    node.add("worker", lambda s: Agent(s, model=Scripted([ToolCall("c1", sys.argv[3])]), tools=tools))
    try:
        reply = await node.send("worker", "go", conversation="one")
        print(reply.stop, flush=True)
        await asyncio.sleep(600)
    finally:
        print("tidied up", flush=True)

Node.start(main, store=sys.argv[1], grace=float(sys.argv[2]))
print("stopped", flush=True)
"""
PATIENCE = 120.0


@pytest.mark.parametrize("tool", ["stubborn", "blocked"])
def test_the_second_signal_ends_the_process_and_what_was_said_is_kept(tmp_path: Path, tool: str) -> None:
    store = tmp_path / "node.db"
    command = [sys.executable, "-c", SERVER, str(store), "3600", tool]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "working\n"
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGINT)  # one signal twice may be heard once
            said, faults = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert said.split("\n") == ["interrupted", "tidied up", "stopped", ""]
    assert process.returncode == 0 and "Traceback" not in faults
    items: list[Any] = list(Session.open(scope="worker/", conversation="one", store=store).view())
    assert items[0].text == "go" and "uncertain" in items[-1].text


@pytest.mark.parametrize("tool", ["stubborn", "blocked"])
def test_so_does_the_first_once_the_grace_is_over(tmp_path: Path, tool: str) -> None:
    command = [sys.executable, "-c", SERVER, str(tmp_path / "node.db"), "0.1", tool]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "working\n"
            process.send_signal(signal.SIGTERM)
            assert process.communicate(timeout=PATIENCE)[0].endswith("stopped\n")
        finally:
            process.kill()
