"""The script of `examples/service`: PostgreSQL, two workers and a service; a worker dies while it answers."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import httpx
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.service.serving import free_port
from tests.stores.server import database

SCRIPT = Path(__file__).parents[2] / "examples" / "service" / "run.py"
pytestmark = pytest.mark.skipif(
    not SCRIPT.exists(), reason="the script is in the repository, not in a package"
)


@pytest.fixture
def shop() -> Generator[tuple[str, str, list[int]], None, None]:
    """The script, up and running: its database, the address of its service, and its workers' processes."""
    port = free_port()
    with database() as store:
        environment = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
        environment["QUIRE_STORE"] = store
        command = [sys.executable, str(SCRIPT), str(port), "--beat", "0.5"]
        running = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        assert running.stdout is not None
        workers: list[int] = []
        for line in running.stdout:
            workers += [int(number) for number in re.findall(r"worker \d is process (\d+)", line)]
            if line.startswith("Ctrl+C"):
                break
        try:
            yield store, f"http://127.0.0.1:{port}", workers
        finally:
            running.send_signal(signal.SIGINT)
            running.stdout.close()
            assert running.wait(60) == 0


def test_a_lamp_is_ordered_though_a_worker_dies(shop: tuple[str, str, list[int]]) -> None:
    store, url, workers = shop
    messages = f"{url}/agents/seller/conversations/lamps/messages"
    headers = {"Authorization": "Bearer lamp-shop-example-key", "Idempotency-Key": "tizio"}
    asked = {"content": "Please order a Tizio"}
    assert httpx.post(messages, json=asked).status_code == 401
    assert httpx.post(messages, json=asked, headers=headers).status_code == 202
    os.kill(workers[0], signal.SIGKILL)
    with psycopg.connect(make_conninfo(store)) as connection:  # its lease is over, if it still has one
        connection.execute("UPDATE quire.workers SET seen = to_timestamp(0) WHERE state = 'alive'")
    answer = httpx.post(messages, json=asked, headers={**headers, "Prefer": "wait=60"}, timeout=70).json()
    assert answer["text"].startswith("Ordered Tizio")
    items = httpx.get(f"{url}/agents/seller/conversations/lamps/items", headers=headers).json()
    assert str(items).count("Ordered Tizio") == 2  # the result of the call, and the answer
