"""The models that commands talk to: by name, or the small one that runs on this machine."""

import inspect
from typing import Any, Unpack

from quire.errors import InvalidValue, MissingExtra
from quire.models import LOCAL, Answering, AnyModel, Asks, Local, Model, Terms, read_name
from quire.providers import Rendered

_LONGEST_ANSWER = 256
"""Tokens. A small model may not find an end by itself."""

_WAYS = (
    "name another model with --model: openai:gpt-5.6, anthropic:claude-sonnet-4-5 or google:gemini-2.5-pro "
    "with a key in the environment, local:/path/to/weights.gguf, "
    "or openai:NAME@http://127.0.0.1:8000/v1 for a service of your own"
)


class Brief(Asks):
    """A local model whose answers are of some length at most, unless another is asked for."""

    wire = Local.wire

    def __init__(self, model: Local) -> None:
        self._model = model
        self.name = model.name
        self.context = model.context

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Unpack[Terms]) -> Answering:
        """The model's answer."""
        terms.setdefault("max_tokens", _LONGEST_ANSWER)
        return self._model.send(rendered, stream=stream, **terms)

    def close(self) -> None:
        """Let go of the weights."""
        self._model.close()


def model_named(name: str | None) -> AnyModel:
    """The model of a name; without one the small one, if it is installed. An error says what there is."""
    found = read_name(name or LOCAL)
    if found.client == LOCAL:
        return Brief(_local(found.model or None, is_asked_for=name is not None))
    return Model(name or LOCAL)


def is_small(model: AnyModel) -> bool:
    """Whether it is the model that comes along, whose words are not to be relied on."""
    return isinstance(model, Brief) and model.name.startswith("SmolLM2-135M")


async def closed(model: AnyModel) -> None:
    """Let go of a model's connections or weights."""
    close: Any = getattr(model, "close", None)
    done = close() if close is not None else None
    if inspect.isawaitable(done):
        await done


def _local(path: str | None, *, is_asked_for: bool) -> Local:
    try:
        return Local(path)
    except (InvalidValue, MissingExtra) as fault:
        if is_asked_for:
            raise
        raise InvalidValue(f"no model runs on this machine: {fault}; or {_WAYS}") from None
