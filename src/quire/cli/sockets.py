"""The socket of a server, for the commands that listen."""

import socket

from quire.errors import InvalidValue


def listen(host: str, port: int) -> tuple[socket.socket, str]:
    """A socket that listens, and the URL of its server."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2_048)
    except OSError as fault:
        raise InvalidValue(f"{host}:{port} cannot be used: {fault.strerror}") from None
    # asyncio sets this only on sockets that it makes itself.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    shown = f"[{host}]" if ":" in host else host
    return listening, f"http://{shown}:{listening.getsockname()[1]}"
