"""Processes that run nodes: signals stop them without loss, and two of them share one conversation."""

import asyncio
import signal
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from quire import Session, ToolCall, ToolResult
from quire.agent import Agent, tool
from quire.errors import TurnBusy
from quire.models import Scripted
from quire.node import Node
from tests.service.serving import Forked, until


def serve(folder: Path, grace: float, *replies: str) -> None:
    """A node that answers one message, and says what happens."""

    @tool
    async def work() -> str:
        print("working", flush=True)
        while not (folder / "go").exists():
            await asyncio.sleep(0.01)
        return "worked"

    async def main(node: Node) -> None:
        model = Scripted([ToolCall("c1", "work") if reply == "work" else reply for reply in replies])
        node.add("worker", lambda session: Agent(session, model=model, tools=[work]))
        try:
            print((await node.send("worker", "go", conversation="one")).text, flush=True)
        except TurnBusy:
            print("busy", flush=True)

    Node.start(main, store=folder / "node.db", grace=grace)
    print("stopped", flush=True)


Served = Callable[..., Forked]


@pytest.fixture
def served(tmp_path: Path) -> Generator[Served]:
    """Runs `serve` in processes, each until it has printed a line."""
    running: list[Forked] = []

    def begin(line: str, grace: float, *replies: str) -> Forked:
        process = Forked(tmp_path / f"log {len(running)}", serve, tmp_path, grace, *replies)
        running.append(process)
        until(lambda: line in process.printed().splitlines())
        return process

    yield begin
    for process in running:
        if process.is_running:
            process.send(signal.SIGKILL)


def items_in(folder: Path) -> list[Any]:
    return list(Session.open(scope="worker/", conversation="one", store=folder / "node.db").view())


@pytest.mark.parametrize("how", ["it ends", "the grace ends", "a second signal"])
def test_a_signal_stops_the_process_and_nothing_is_lost(tmp_path: Path, served: Served, how: str) -> None:
    process = served("working", 0.05 if how == "the grace ends" else 3600, "work", "done")
    process.send(signal.SIGTERM)
    if how == "it ends":
        (tmp_path / "go").touch()
    elif how == "a second signal":
        process.send(signal.SIGINT)
    assert process.wait() == 0 and process.printed().endswith("stopped\n")
    items = items_in(tmp_path)
    assert items[0].text == "go"
    assert items[-1].text == "done" if how == "it ends" else "uncertain" in items[-1].text


def test_a_call_is_left_to_its_process_until_that_is_killed(tmp_path: Path, served: Served) -> None:
    process = served("working", 1, "work", "done")
    served("busy", 1, "Here.")
    process.send(signal.SIGKILL)
    served("Here.", 1, "Here.")
    [result] = [item for item in items_in(tmp_path) if isinstance(item, ToolResult)]
    assert result.extras["uncertain"] is True


def test_an_error_of_main_ends_the_node() -> None:
    async def fails(node: Node) -> None:
        raise LookupError("no such row")

    with pytest.raises(LookupError):
        Node.start(fails)
