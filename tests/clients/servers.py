"""Servers on this machine: a mock of all providers, and a real model, tiny, that answers three of them."""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 180.0
"""Seconds to wait for a server: machines are shared."""

_MODEL_SERVER = """
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx, params.n_parallel, params.warmup = 2048, 1, False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@contextmanager
def mock_server() -> Generator[str]:
    """A mock that speaks all four wires; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("llmock")), "serve", "--host", "127.0.0.1"]
    silent = subprocess.DEVNULL
    with subprocess.Popen([*command, "--port", str(port)], stdout=silent, stderr=silent) as process:
        try:
            _wait_for(f"http://127.0.0.1:{port}/health", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


@contextmanager
def model_server(path: Path) -> Generator[str]:
    """A real model; gives its address. The process ends with its standard input, whatever happens to us."""
    command = [sys.executable, "-c", _MODEL_SERVER, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), f"the model server did not start: {address!r}"
            yield address
        finally:
            process.kill()


def _wait_for(address: str, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, "the server ended before it answered"
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise TimeoutError(f"no answer from {address} in {PATIENCE:.0f} s")
