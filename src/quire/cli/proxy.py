"""The command `proxy`: requests of any program go through it unchanged, and are recorded and explained."""

import asyncio
import logging
import os
import re
import signal
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import KeyFile, StoreUrl
from quire.cli.phrases import moment, plural
from quire.cli.stores import DEFAULT, key_in
from quire.cli.terminal import errors_reported, note, read_bytes, say
from quire.errors import InvalidValue
from quire.items import now

if TYPE_CHECKING:
    from quire.proxy import Relay

_VARIABLES = {
    "OPENAI_BASE_URL": "openai/v1",
    "ANTHROPIC_BASE_URL": "anthropic",
    "GOOGLE_GEMINI_BASE_URL": "gemini",
}
"""The variables by which the clients of the providers take a base URL, and what it is here."""

_IDLE = 300
"""Seconds after which idle connections are closed: later than programs close them, who might just ask."""

_CLOSING = 5
"""Seconds in which streams close after a signal."""


def proxy(
    program: Annotated[
        list[str] | None,
        typer.Argument(help="after --: a program to run with the base URLs set", show_default=False),
    ] = None,
    store: StoreUrl = None,
    host: Annotated[str, typer.Option(help="the address to listen at; others than loopback need keys")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65_535, help="the port; 0 is a free one")] = 8484,
    upstream: Annotated[
        list[str] | None,
        typer.Option(help="name=URL of another service, such as local=http://127.0.0.1:8080"),
    ] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="repair a history that the provider would refuse")
    ] = False,
    fit: Annotated[
        int | None, typer.Option(min=1_000, help="cut requests of more than so many tokens")
    ] = None,
    recall: Annotated[
        bool, typer.Option("--recall", help="with --fit: quote what left the window, where it answers")
    ] = False,
    content: Annotated[bool, typer.Option(help="store what was said; else only sizes and times")] = True,
    redact: Annotated[
        list[str] | None, typer.Option(help="a regular expression; what it finds is not stored")
    ] = None,
    keys: Annotated[
        str | None, typer.Option(help="file of API keys of `quire serve`, for the header quire-key")
    ] = None,
    key_file: KeyFile = None,
) -> None:
    """Pass requests to providers on as they are, record them beside that, and warn of what costs money.

    Without a program it runs until Ctrl+C; with one, until that ends, and with its exit status.
    """
    held = list[str]()

    def warn(text: str) -> None:
        if program:  # it has the terminal
            held.append(text)
        else:
            note(f"{moment(now())} {text}")

    with errors_reported():
        from quire.proxy import Fitting, Recorder, Relay, Settings

        given = {other: address for other, _, address in (one.partition("=") for one in upstream or ())}
        fitting = Fitting(repair, fit, recall)
        name = store or DEFAULT
        settings = Settings(name, key_in(key_file), content, _patterns(redact), fitting)
        if recall and fit is None:
            raise InvalidValue("recall is for requests that are cut: give --fit too")
        recorder = Recorder(settings, warn)
        relay = Relay(given, recorder, admit=_admit(keys, host))
        listening = _listening(host, port)
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{listening.getsockname()[1]}"
    if not program:
        for variable, path in _VARIABLES.items():
            say(f"export {variable}={url}/{path}")
        for other in given:
            say(f"# {other}: {url}/{other}")
        note(f"recording to {name} until Ctrl+C; to look inside: quire inspect {name}")
    status = asyncio.run(_run(relay, listening, program or [], url))
    for text in held:
        note(text)
    recorded = plural(recorder.recorded, "request")
    lost = "".join(f", {count:,} not ({reason})" for reason, count in recorder.lost.items())
    note(f"{recorded} recorded{lost}; to sum up: quire report {name}")
    raise typer.Exit(status)


def _patterns(given: list[str] | None) -> tuple[str, ...]:
    for one in given or ():
        try:
            re.compile(one)
        except re.error as fault:
            raise InvalidValue(f"--redact takes a regular expression: {fault}") from None
    return tuple(given or ())


def _admit(keys: str | None, host: str) -> "Callable[[str], str | None] | None":
    """What checks the keys of programs; None where only those of this machine are answered."""
    from quire.proxy.relay import LOOPBACK

    if keys is None:
        if host not in LOOPBACK:
            raise InvalidValue("other machines are answered with keys only: give --keys")
        return None
    from quire.service import Keys
    from quire.service.problems import Problem

    known = Keys.read(read_bytes(keys))

    def admit(key: str) -> str | None:
        try:
            with known.admitted(f"Bearer {key}", None) as caller:
                return caller.scope
        except Problem:
            return None

    return admit


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2_048)
    except OSError as fault:
        raise InvalidValue(f"{host}:{port} cannot be used: {fault.strerror}") from None
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio does so for its own alone
    return listening


async def _run(relay: "Relay", listening: socket.socket, program: list[str], url: str) -> int:
    """Serve until a signal, or until the program ends; returns its exit status."""
    import uvicorn

    class Server(uvicorn.Server):
        """Leaves the signals to the command: a program may have the terminal."""

        def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
            return nullcontext()

    config = uvicorn.Config(
        relay,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        ws_max_size=2**40,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=_CLOSING,
    )
    # A stream that breaks off breaks off for the program, too: to uvicorn that is an error to log.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    server, loop = Server(config), asyncio.get_running_loop()
    serving = asyncio.create_task(server.serve(sockets=[listening]))

    def stop() -> None:
        server.should_exit = True

    if not program:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
        await serving
        return 0
    loop.add_signal_handler(signal.SIGINT, lambda: None)  # the terminal asks the program itself
    environment = {**os.environ, **{name: f"{url}/{path}" for name, path in _VARIABLES.items()}}
    try:
        running = await asyncio.create_subprocess_exec(*program, env=environment)
        loop.add_signal_handler(signal.SIGTERM, running.terminate)
        status = await running.wait()
    except OSError as fault:
        note(f"{program[0]} cannot be run: {fault.strerror}")
        status = 127
    stop()
    await serving
    return status if status >= 0 else 128 - status
