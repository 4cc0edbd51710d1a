"""The command `proxy`: passes requests of any program on unchanged, and records and explains them."""

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
from quire.cli.sockets import listen
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
"""The variables from which the providers' clients read a base URL, and its path here."""

_IDLE_SECONDS = 300
"""When idle connections are closed: programs should close theirs first."""

_CLOSING_SECONDS = 5
"""How long streams may go on after a signal."""


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
        int | None, typer.Option(min=1_000, help="cut requests of more than this many tokens")
    ] = None,
    recall: Annotated[
        bool, typer.Option("--recall", help="with --fit: quote earlier items that answer the question")
    ] = False,
    content: Annotated[bool, typer.Option(help="store content; else only sizes and times")] = True,
    redact: Annotated[
        list[str] | None, typer.Option(help="a regular expression; its matches are not stored")
    ] = None,
    keys: Annotated[
        str | None, typer.Option(help="file of API keys of `quire serve`, for the header quire-key")
    ] = None,
    key_file: KeyFile = None,
) -> None:
    """Pass requests on to providers unchanged, record them, and warn of waste.

    Without a program it runs until Ctrl+C; with one, until that ends, with its exit status.
    """
    warnings = list[str]()

    def warn(text: str) -> None:
        if program:  # it has the terminal until it ends
            warnings.append(text)
        else:
            note(f"{moment(now())} {text}")

    with errors_reported():
        from quire.proxy import AllowedChanges, Recorder, Relay, Settings

        pairs = (option.partition("=") for option in upstream or ())
        upstreams = {upstream_name: address for upstream_name, _, address in pairs}
        allowed = AllowedChanges(repair, fit, recall)
        name = store or DEFAULT
        settings = Settings(name, key_in(key_file), content, _patterns(redact), allowed)
        if recall and fit is None:
            raise InvalidValue("--recall needs --fit: only requests that are cut have quotes")
        recorder = Recorder(settings, warn)
        relay = Relay(upstreams, recorder, admit=_admit(keys, host))
        listening, url = listen(host, port)
    if not program:
        for variable, path in _VARIABLES.items():
            say(f"export {variable}={url}/{path}")
        for upstream_name in upstreams:
            say(f"# {upstream_name}: {url}/{upstream_name}")
        note(f"recording to {name} until Ctrl+C; to look inside: quire inspect {name}")
    status = asyncio.run(_run(relay, listening, program or [], url))
    for text in warnings:
        note(text)
    recorded = plural(recorder.recorded, "request")
    lost = "".join(f", {count:,} not ({reason})" for reason, count in recorder.lost.items())
    note(f"{recorded} recorded{lost}; for a summary: quire report {name}")
    raise typer.Exit(status)


def _patterns(redact: list[str] | None) -> tuple[str, ...]:
    for pattern in redact or ():
        try:
            re.compile(pattern)
        except re.error as fault:
            raise InvalidValue(f"--redact must be a regular expression: {fault}") from None
    return tuple(redact or ())


def _admit(keys: str | None, host: str) -> "Callable[[str], str | None] | None":
    """The function that checks keys; None if only programs on this machine are served."""
    from quire.proxy.relay import LOOPBACK
    from quire.proxy.tee import Refused

    if keys is None:
        if host not in LOOPBACK:
            raise InvalidValue("other machines need keys: give --keys")
        return None
    from quire.service import Keys
    from quire.service.problems import Problem

    accepted = Keys.read(read_bytes(keys))

    def admit(key: str) -> str | None:
        try:
            with accepted.admit(f"Bearer {key}", None) as caller:
                return caller.scope
        except Problem as problem:
            if problem.status == 401:
                return None
            raise Refused(problem.status, problem.detail) from None

    return admit


async def _run(relay: "Relay", listening: socket.socket, program: list[str], url: str) -> int:
    """Serve until a signal, or until the program ends; return its exit status."""
    import uvicorn

    class Server(uvicorn.Server):
        """Leaves signals to the command: the program may have the terminal."""

        def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
            return nullcontext()

    config = uvicorn.Config(
        relay,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        ws_max_size=2**40,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_CLOSING_SECONDS,
    )
    # When an upstream breaks off, so does the answer to the program, which uvicorn would log as an error.
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
    loop.add_signal_handler(signal.SIGINT, lambda: None)  # the terminal sends it to the program too
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
