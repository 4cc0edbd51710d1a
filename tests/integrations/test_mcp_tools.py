"""Tools of MCP servers, with two reference servers: as commands, by HTTP, silent and killed."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp_server_git", reason="needs the reference servers: quire[test]")
pytest.importorskip("mcp_server_time", reason="needs the reference servers: quire[test]")

from quire import Agent, ToolCall
from quire.agent import Toolbox, run
from quire.errors import InvalidValue, ServerLost, UnknownKey
from quire.integrations.mcp import ToolServer
from quire.items import ToolResult
from quire.models import Scripted
from tests.service.serving import free_port

TIME = [sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC"]
OSLO = '{"timezone": "Europe/Oslo"}'

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals stop and kill the servers")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", "-b", "main", tmp_path], check=True)
    (tmp_path / "quince.txt").write_text("warm wall\n")
    return tmp_path


@pytest.fixture
def pids(tmp_path: Path) -> Path:
    """The file to which each start of the server of `counted` adds the id of its process."""
    return tmp_path / "pids"


def counted(pids: Path) -> list[str]:
    """The command of the time server, which keeps the ids of its processes."""
    code = (
        f"import os; open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n'); os.execv({TIME[0]!r}, {TIME!r})"
    )
    return [sys.executable, "-c", code]


def started(pids: Path) -> list[int]:
    return [int(line) for line in pids.read_text().split()]


async def test_an_agent_uses_the_tools_of_two_servers(repository: Path) -> None:
    git = ToolServer([sys.executable, "-m", "mcp_server_git", "--repository", str(repository)])
    async with git, ToolServer(TIME) as clock:
        tools = [*await git.tools(approve=False), *await clock.tools("get_current_time", prefix="clock_")]
        replies: list[Any] = [
            ToolCall("c1", "git_status", f'{{"repo_path": "{repository}"}}'),
            [ToolCall("c2", "clock_get_current_time", OSLO), ToolCall("c3", "git_log", "{}")],
            "Nothing is committed.",
        ]
        agent = Agent(model=Scripted(replies), tools=[Toolbox(tools, tokens=1_500)])
        reply = await agent.ask("What is new?")
        assert reply.stop == "waiting" and [call.call_id for call in reply.waiting] == ["c2"]
        await agent.decide({"c2": True})
    status, log, oslo = (item for item in agent.session.view() if isinstance(item, ToolResult))
    assert "quince.txt" in status.text and status.origin == "external"
    assert log.is_error and "repo_path" in log.text  # the server has checked the arguments
    assert "Europe/Oslo" in oslo.text and not oslo.is_error


async def test_a_server_that_is_silent_or_killed_in_a_call_is_a_clear_result_and_started_again(
    pids: Path,
) -> None:
    async with ToolServer(counted(pids)) as server:
        (tool,) = await server.tools("get_current_time", approve=False)
        (pid,) = started(pids)
        os.kill(pid, signal.SIGSTOP)
        tool.timeout = 0.2
        assert (await run(tool, OSLO)).stop_reason == "timeout"
        tool.timeout = None
        call = asyncio.create_task(run(tool, OSLO))
        await asyncio.wait([call], timeout=0.2)
        os.kill(pid, signal.SIGKILL)
        lost = await call
        assert lost.is_error and isinstance(lost.error, ServerLost)
        assert "was lost before it answered: the request may have been done" in str(lost.content)
        assert "Europe/Oslo" in str((await run(tool, OSLO)).content)
        os.kill(started(pids)[-1], signal.SIGKILL)  # it is lost while nobody asks
        (repeated,) = await server.tools("get_current_time", approve=False, idempotent=True)
        os.kill(started(pids)[-1], signal.SIGKILL)
        assert not (await run(repeated, OSLO)).is_error
    assert len(started(pids)) == 4


@pytest.fixture
def served() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address of the time server by HTTP, and its process."""
    port = free_port()
    code = (
        "from mcp_server_time.server import create_server; "
        f"create_server('UTC').run('streamable-http', port={port})"
    )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "Uvicorn running" in line:
                break
        yield f"http://127.0.0.1:{port}/mcp", process
        process.kill()


def test_one_connection_by_http_serves_all_event_loops(
    served: tuple[str, "subprocess.Popen[str]"],
) -> None:
    address, process = served
    server = ToolServer(address, headers={"X-Of": "test"})
    (tool,) = asyncio.run(server.tools("get_current_time", approve=False))
    agent = Agent(model=Scripted([ToolCall("c1", "get_current_time", OSLO), "Late."]), tools=[tool])
    assert str(agent.ask_sync("What time is it?")) == "Late."
    assert "Europe/Oslo" in str(asyncio.run(run(tool, OSLO)).content)
    with pytest.raises(UnknownKey, match="has no tool 'sing'; it has get_current_time, convert_time"):
        asyncio.run(server.tools("sing"))
    process.kill()
    process.wait()
    lost = asyncio.run(run(tool, OSLO))
    assert isinstance(lost.error, ServerLost), lost.content
    asyncio.run(server.close())


async def test_what_cannot_be_reached_or_is_not_there_is_named() -> None:
    with pytest.raises(ServerLost, match="no-such-server cannot be reached \\(FileNotFoundError\\)"):
        await ToolServer(["no-such-server"]).tools()
    with pytest.raises(ServerLost, match="cannot be reached"):
        await ToolServer(f"http://127.0.0.1:{free_port()}/mcp").tools()
    with pytest.raises(InvalidValue, match="an address, or a command"):
        ToolServer("uvx mcp-server-time")
    with pytest.raises(InvalidValue, match="headers"):
        ToolServer(["x"], headers={"a": "b"})
