"""Tools of MCP servers as tools of an agent.

A server is somebody else's program. So each call waits for approval unless the caller says otherwise, the
server's own claims about its tools (such as "read-only") are ignored, and if the server is lost during a
call, the model reads an error.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from quire.agent import Tool
from quire.agent.tools import Approve, Json, Signature
from quire.errors import InvalidValue, MissingExtra, ServerLost, UnknownKey, cut
from quire.items import Origin, Part
from quire.providers import read_part
from quire.session import lasting
from quire.tokens import number

try:
    import httpx2
    from mcp import Client, MCPError, StdioServerParameters
    from mcp.client.streamable_http import streamable_http_client
    from mcp.types import CONNECTION_CLOSED, INVALID_REQUEST, CallToolResult, Tool as ServerTool
except ModuleNotFoundError as missing:
    raise MissingExtra("mcp", "mcp") from missing

__all__ = ["ToolServer"]

T = TypeVar("T")

logger = logging.getLogger("quire.integrations")

_TIMEOUT, _START_TIMEOUT = 60.0, 30.0
_MAX_PAGES = 100  # of a list of tools


class ToolServer:
    """A server of the Model Context Protocol: a command that is started, or the address of a running server.

    The connection is opened when it is first needed, opened again after it was lost, and shared by all event
    loops of the process. A call takes at most `timeout` seconds, and opening a connection `start_timeout`.
    """

    def __init__(
        self,
        server: str | Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = _TIMEOUT,
        start_timeout: float = _START_TIMEOUT,
    ) -> None:
        is_address = isinstance(server, str)
        if not server or (is_address and "://" not in server):
            raise InvalidValue(
                'a server must be an address, or a command as a list, such as ["uvx", "mcp-server-time"]'
            )
        if (headers and not is_address) or ((env or cwd) and is_address):
            raise InvalidValue("a command has env and cwd, and an address has headers")
        self.name = server if isinstance(server, str) else Path(server[0]).name
        self.timeout = timeout
        self._server, self._env, self._cwd, self._headers = server, env, cwd, headers
        self._start_timeout = number(start_timeout, "start_timeout", 0)
        self._opening = asyncio.Lock()
        self._connection: _Connection | None = None

    def __repr__(self) -> str:
        return f"<ToolServer {self.name}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def tools(
        self,
        *names: str,
        prefix: str = "",
        approve: Approve = True,
        idempotent: bool = False,
        trust: Origin = "external",
    ) -> list[Tool]:
        """Return all tools of the server, or those with these names, as the server describes them now.

        A person or the agent's approver approves each call, unless `approve` says otherwise. `prefix` is put
        before the names that the model sees. Tools that are `idempotent` are called again after a lost
        connection. Results have the origin `trust`.
        """
        offered = {tool.name: tool for tool in await self._request(_list_tools, can_repeat=True)}
        unknown = [name for name in names if name not in offered]
        if unknown:
            raise UnknownKey(f"{self!r} has no tool {cut(unknown[0])!r}; it has {', '.join(offered)}")
        chosen = [offered[name] for name in names] if names else list(offered.values())
        return [self._tool(tool, f"{prefix}{tool.name}", approve, idempotent, trust) for tool in chosen]

    async def close(self) -> None:
        """Close the connection. A later call opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await asyncio.wrap_future(lasting(connection.close()))

    def _tool(self, tool: ServerTool, name: str, approve: Approve, idempotent: bool, trust: Origin) -> Tool:
        async def call(arguments: dict[str, Any]) -> AsyncIterator[Part]:
            request = partial(Client.call_tool, name=tool.name, arguments=arguments)
            for part in _output(await self._request(request, can_repeat=idempotent)):
                yield part

        return Tool(
            call,
            name=name,
            description=tool.description or tool.title or "",
            timeout=self.timeout,
            approve=approve,
            idempotent=idempotent,
            trust=trust,
            signature=_ServerSignature(call, tool.input_schema),
        )

    async def _request(self, request: Callable[[Client], Awaitable[T]], can_repeat: bool) -> T:
        """Send a request on the loop that owns the connection, and return its result."""
        return await asyncio.wrap_future(lasting(self._request_twice(request, can_repeat)))

    async def _request_twice(self, request: Callable[[Client], Awaitable[T]], can_repeat: bool) -> T:
        """Send a request. If the server is lost, send it once more, provided that it can be repeated.

        A request in an expired session did nothing, so it can always be repeated.
        """
        for is_last in (False, True):
            connection = await self._connected()
            try:
                return await request(connection.client)
            except MCPError as fault:
                code, message = fault.error.code, fault.error.message
                has_expired = code == INVALID_REQUEST and message == "Session terminated"
                if code != CONNECTION_CLOSED and not has_expired:
                    raise RuntimeError(message) from None
                await connection.close()
                if is_last or not (can_repeat or has_expired):
                    raise ServerLost(
                        f"{self.name} was lost before it answered: the request may have been done. "
                        "The next call connects again"
                    ) from None
        raise AssertionError

    async def _connected(self) -> "_Connection":
        async with self._opening:
            connection = self._connection
            if connection is None or connection.is_closed:
                connection = _Connection(self._client)
                try:
                    async with asyncio.timeout(self._start_timeout):
                        await connection.open()
                except BaseException as fault:
                    await connection.close()
                    if not isinstance(fault, Exception):
                        raise
                    reason = "in time" if isinstance(fault, TimeoutError) else f"({type(fault).__name__})"
                    raise ServerLost(f"{self.name} cannot be reached {reason}") from None
                self._connection = connection
            return connection

    async def _client(self, stack: AsyncExitStack) -> Client:
        if not isinstance(self._server, str):
            command, *args = self._server
            env = None if self._env is None else dict(self._env)
            parameters = StdioServerParameters(command=command, args=args, env=env, cwd=self._cwd)
            return Client(parameters)
        timeout = httpx2.Timeout(self._start_timeout, read=self.timeout)
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=self._headers, timeout=timeout))
        return Client(streamable_http_client(self._server, http_client=http))


class _Connection:
    """One connection, in a task of its own: the task that opens it must also close it."""

    def __init__(self, make: Callable[[AsyncExitStack], Awaitable[Client]]) -> None:
        self.client: Client
        self._make = make
        self._closing = asyncio.Event()
        self._opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold())

    @property
    def is_closed(self) -> bool:
        return self._closing.is_set() or self._task.done()

    async def open(self) -> None:
        self.client = await asyncio.shield(self._opened)

    async def close(self) -> None:
        """Close the connection, and wait until it is closed."""
        self._closing.set()
        if not self._opened.done():
            self._task.cancel()
        await asyncio.wait([self._task])

    async def _hold(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(await self._make(stack))
                self._opened.set_result(client)
                await self._closing.wait()
        except BaseException as fault:
            if not self._opened.done():
                self._opened.set_exception(fault if isinstance(fault, Exception) else TimeoutError())
                with suppress(BaseException):
                    self._opened.exception()  # marks it as read: nobody may be waiting for it any more
            else:
                logger.debug("a connection to an MCP server ended by %s", type(fault).__name__)


class _ServerSignature(Signature):
    """Parameters as the server describes them; the server checks the arguments itself."""

    def __init__(self, function: Any, schema: Mapping[str, Any]) -> None:
        super().__init__(function)
        self._schema = dict(schema)

    def schema(self) -> Json:
        return dict(self._schema)

    def read(self, arguments: Mapping[str, Any]) -> Json:
        return {"arguments": dict(arguments)}


async def _list_tools(client: Client) -> list[ServerTool]:
    tools: list[ServerTool] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="refresh")
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


def _output(result: CallToolResult) -> list[Part]:
    """The parts of a result; if the call failed, an error with the server's message."""
    parts: list[Part] = []
    for content in result.content:
        block = content.model_dump(mode="json", by_alias=True, exclude_none=True)
        part = read_part(block)
        parts.append(json.dumps(block) if part is None else part)
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content)]
    if result.is_error:
        raise RuntimeError("\n".join(part for part in parts if isinstance(part, str)) or "it failed")
    return parts
