"""A model that computes in this process, by xllamacpp. Loaded when first needed; it answers one at a time."""

import json
import logging
import os
import secrets
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

from quire.errors import ModelFailed
from quire.models.forcing import Unforced, forced
from quire.models.handing import Take

logger = logging.getLogger("quire.models")

_BATCH = 64
"""Tokens that are read in one go. Stopping is possible in between, so a small number makes it prompt."""

_CACHE_MIB = 256
"""Memory for prompts that were read before; left to itself the engine takes up to 8 GiB."""

_WAITING = "OMP_WAIT_POLICY"

_PATIENCE = 10.0  # seconds for a question to the engine in this very process


class Engine:
    """Weights and what computes with them, shared by all answers of a model."""

    def __init__(self, file: Path, context: int, threads: int | None) -> None:
        self._file = file
        self._name = file.stem
        self._context = context
        self._threads = threads
        self._turn = threading.Lock()
        self._closed = threading.Event()
        self._server: Any = None
        self._takes_tools = True

    def run(self, payload: dict[str, Any], take: Take) -> None:
        """Compute an answer and hand its chunks on; blocks until it ended or was stopped."""

        def take_or_stop(chunk: Any) -> bool:
            return take(chunk) or self._closed.is_set()

        with self._turn:
            # The server is in no variable: frames live on in the tracebacks of errors, and it with them.
            self._load()
            taking: Take = take_or_stop
            if "tools" in payload and not self._takes_tools:
                payload, taking = forced(payload), Unforced(take_or_stop)
            try:
                self._server.handle_chat_completions(payload, taking)
            except RuntimeError as fault:
                raise ModelFailed(f"{self._name} could not take the request") from fault
            if self._closed.is_set():
                self._server = None
                raise ModelFailed(f"{self._name} was closed while it answered")

    def load(self) -> None:
        """Load the weights now."""
        with self._turn:
            self._load()

    def close(self) -> None:
        """Stop what is being computed, wait for its end, and let go of the weights."""
        self.stop()
        with self._turn:
            self._server = None

    def stop(self) -> None:
        """Close without waiting: what is being computed lets go of the weights when it is done.

        A garbage collector may call this, even in the very thread that computes.
        """
        self._closed.set()
        if self._turn.acquire(blocking=False):
            self._server = None
            self._turn.release()

    def _load(self) -> None:
        if self._closed.is_set():
            raise ModelFailed(f"{self._name} is closed")
        if self._server is None:
            self._server, self._takes_tools = _start(self._file, self._context, self._threads)
            logger.info("%s is loaded, with a context of %d tokens", self._name, self._context)


def _start(file: Path, context: int, threads: int | None) -> tuple[Any, bool]:
    """A server, and whether the model's template has a place for tools."""
    xllamacpp = _imported()
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.model_alias = {file.stem}
    params.n_ctx, params.n_batch, params.n_ubatch = context, _BATCH, _BATCH
    params.n_parallel, params.cache_ram_mib = 1, _CACHE_MIB
    params.warmup, params.verbosity = False, -1
    if threads is not None:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    # It always listens, on the loopback address and a free port. Nobody but us has the key.
    key = secrets.token_urlsafe()
    params.api_keys, params.n_threads_http, params.ui, params.endpoint_slots = [key], 1, False, False
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as fault:
        raise ModelFailed(
            f"{file.name} could not be loaded: damaged, or of a kind that is not known"
        ) from fault
    return server, _takes_tools(server.listening_address, key)


def _imported() -> Any:
    """The package of the engine, whose threads sleep while they wait for each other."""
    # OpenMP reads this when it is loaded, and never again. Threads that spin instead take turns with all else
    # that runs on the machine: an answer took ten times as long beside others, and no less with none.
    is_said = _WAITING in os.environ
    os.environ.setdefault(_WAITING, "passive")
    try:
        return import_module("xllamacpp")
    finally:
        if not is_said:
            os.environ.pop(_WAITING, None)


def _takes_tools(address: str, key: str) -> bool:
    # Slow to import, and nobody else here needs it.
    from http.client import HTTPConnection, HTTPException

    connection = HTTPConnection(address.removeprefix("http://"), timeout=_PATIENCE)
    try:
        connection.request("GET", "/props", headers={"Authorization": f"Bearer {key}"})
        told: Any = json.loads(connection.getresponse().read())
        return bool(told["chat_template_caps"]["supports_tools"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return True  # it does not say, so nothing is claimed
    finally:
        connection.close()
