"""The command `work`: does the jobs that services accept, until a signal."""

import asyncio
import logging
import os
import signal
from math import ceil
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.nodes import node_in
from quire.cli.terminal import errors_reported, note
from quire.errors import Stopped

if TYPE_CHECKING:
    from quire.service.worker import Worker


def work(
    node: Annotated[str, typer.Argument(help="a Python file with a Node named node, or file.py:name")],
    concurrency: Annotated[int, typer.Option(min=1, help="jobs at a time; the same for all workers")] = 32,
    poll: Annotated[float, typer.Option(min=0.01, help="seconds between two polls of the queue")] = 0.1,
    beat: Annotated[float, typer.Option(min=0.1, help="seconds between two renewals of the lease")] = 5.0,
    stale: Annotated[
        float, typer.Option(min=0.2, help="seconds without a renewal until others take over its jobs")
    ] = 20.0,
    grace: Annotated[float, typer.Option(min=0, help="seconds for running turns after a signal")] = 30.0,
    keep: Annotated[float, typer.Option(min=0, help="seconds that DBOS keeps a job after its end")] = 3600.0,
) -> None:
    """Do the jobs that `quire serve --durable` accepts, until Ctrl+C or SIGTERM."""
    with errors_reported():
        from quire.service.worker import Worker
        from quire.stores.link import CONNECTIONS

        logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s", level=logging.WARNING)
        os.environ.setdefault(CONNECTIONS, str(ceil(concurrency / 4)))
        served, module = node_in(node)
        worker = Worker(
            served,
            concurrency=concurrency,
            poll=poll,
            beat=beat,
            stale=stale,
            grace=grace,
            keep=keep,
            schedules=getattr(module, "schedules", ()),
        )
        os._exit(asyncio.run(_run(worker)))  # a thread of a hanging tool must not keep the process alive


async def _run(worker: "Worker") -> int:
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, worker.stop)
    note(f"worker {worker.id}")
    try:
        await worker.run()
    except Stopped as fault:
        note(str(fault))
        return 1
    return 0
