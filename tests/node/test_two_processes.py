"""Two processes, one conversation: a call that one of them runs is not taken for one that was left."""

import asyncio
import sys
from pathlib import Path

import pytest

from quire import Session, ToolCall, ToolResult, tool
from quire.agent import Agent
from quire.errors import TurnBusy
from quire.models import Scripted
from quire.node import Node
from quire.stores import SQLiteStore

OTHER = """
import asyncio, sys
from pathlib import Path
from tests.node.test_two_processes import serve

asyncio.run(serve(Path(sys.argv[1])))
"""


def node_at(folder: Path, *replies: str | ToolCall) -> Node:
    @tool
    async def pay() -> str:
        """Pay, once somebody says so."""
        print("begun", flush=True)
        while not (folder / "go").exists():
            await asyncio.sleep(0.01)
        return "paid"

    node = Node(store=SQLiteStore(folder / "a.db"))
    node.add("shop", lambda session: Agent(session, model=Scripted(replies), tools=[pay]))
    return node


async def serve(folder: Path) -> None:
    """What the other process does."""
    async with node_at(folder, ToolCall("c1", "pay"), "Paid.") as node:
        print(await node.send("shop", "pay"), flush=True)


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_message_at_the_other_process_while_a_call_is_run(tmp_path: Path, is_killed: bool) -> None:
    async def talk() -> None:
        other = await asyncio.create_subprocess_exec(
            sys.executable, "-c", OTHER, str(tmp_path), stdout=asyncio.subprocess.PIPE
        )
        assert other.stdout is not None and await other.stdout.readline() == b"begun\n"
        async with node_at(tmp_path, "Here.") as node:
            with pytest.raises(TurnBusy, match="c1"):
                await node.send("shop", "and?")
            if is_killed:
                other.kill()
            else:
                (tmp_path / "go").touch()
                assert await other.stdout.readline() == b"Paid.\n"
            await other.wait()
            assert (await node.send("shop", "and now?")).text == "Here."
            [told] = _results(node.session("shop"))
            assert told.extras.get("uncertain", False) is is_killed
            assert (told.text == "paid") is not is_killed

    asyncio.run(talk())


def _results(session: Session) -> list[ToolResult]:
    return [item for item in session.view() if isinstance(item, ToolResult)]
