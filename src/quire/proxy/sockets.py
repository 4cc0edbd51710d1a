"""WebSockets of the Responses API: passes messages on, and records each response as an exchange."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from starlette.types import Receive, Scope, Send
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.typing import Subprotocol

from quire.proxy.tee import NOT_SENT, Refused, Target, Tee, TeeMaker

_ENDS = ('"response.completed"', '"response.failed"', '"response.incomplete"', '"type":"error"')
_HEADERS = (("content-type", "text/event-stream"),)


async def pass_messages(
    target: Target, tee_for: TeeMaker, scope: Scope, receive: Receive, send: Send
) -> None:
    """Pass messages on in both directions until one side closes."""
    headers = [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in scope["headers"]
        if name not in NOT_SENT and not name.startswith(b"sec-websocket-")
    ]
    subprotocols: Sequence[str] = scope.get("subprotocols", ())
    try:
        socket = await connect(
            f"ws{target.url.removeprefix('http')}",
            additional_headers=headers,
            subprotocols=[Subprotocol(name) for name in subprotocols] or None,
            user_agent_header=None,
            max_size=None,
        )
    except (OSError, WebSocketException) as fault:
        raise Refused(502, f"the upstream cannot be reached: {type(fault).__name__}") from None
    await receive()
    await send({"type": "websocket.accept", "subprotocol": socket.subprotocol})
    tee: Tee | None = None

    async def to_program() -> None:
        async for data in socket:
            if tee is not None and isinstance(data, str):
                tee.add(f"data: {data}\n\n".encode())
                if any(end in data for end in _ENDS):
                    tee.is_whole = True
                    tee.close()
            await send({"type": "websocket.send", "text" if isinstance(data, str) else "bytes": data})

    async def to_upstream() -> None:
        nonlocal tee
        while (message := await receive())["type"] != "websocket.disconnect":
            text, data = message.get("text"), message.get("bytes")
            if text is not None and '"response.create"' in text:
                tee = tee_for(target, text.encode(), ())
                if tee is not None:
                    tee.begin(200, _HEADERS)
            await socket.send((data or b"") if text is None else text)

    tasks = [asyncio.ensure_future(to_program()), asyncio.ensure_future(to_upstream())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if tee is not None:
            tee.close()
        await socket.close()
        with suppress(RuntimeError, ConnectionClosed):  # the program may have closed it first
            await send({"type": "websocket.close", "code": socket.close_code or 1000})
