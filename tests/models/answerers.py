"""The models that the laws of answering hold for, and what tests ask of them."""

import importlib.util
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from quire.items import Message
from quire.models import AnyModel, Local, Model, Scripted
from quire.providers import PROVIDERS, Parsed
from tests.clients.said import CLIENTS, NAMES
from tests.clients.scenes import Scene, Stage, stage
from tests.clients.servers import missing
from tests.clients.speaking import says

QUESTION = [Message("system", "Be brief."), Message("user", "Say hello.")]
REPLY = "Hello there, and good day to all of you."
LENGTH = 12
"""Tokens of an answer: the real model is slow."""

_PATIENCE = 60.0


def scripted(wire: str) -> Callable[[], Scripted]:
    return lambda: Scripted([REPLY], wire=wire, name=f"script-{wire}", repeat=True)


def served(wire: str) -> Callable[[], Model]:
    """A model of a provider's SDK, and a server of ours in the provider's place."""

    def make() -> Model:
        if not _stages:
            _stages.append(_open.enter_context(stage()))
        return model_at(_stages[0].scene(says(wire, *REPLY.partition(", "))), wire)

    return make


def model_at(scene: Scene, wire: str, **options: Any) -> Model:
    """A model that asks a scene."""
    base_url = f"{scene.base_url}/v1" if wire.startswith("openai") else scene.base_url
    return Model(f"{CLIENTS[wire]}:{NAMES[wire]}", base_url=base_url, **options)


NEEDS_SDK = {
    wire: pytest.mark.skipif(
        importlib.util.find_spec(package) is None, reason=f"the client {package} is not installed"
    )
    for wire, package in {
        "openai": "openai",
        "openai-responses": "openai",
        "anthropic": "anthropic",
        "gemini": "google.genai",
    }.items()
}
NEEDS_LOCAL = (
    pytest.mark.xdist_group("servers"),
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
)
MODELS: list[Any] = [
    *(pytest.param(scripted(wire), id=f"scripted-{wire}") for wire in PROVIDERS),
    *(pytest.param(served(wire), id=f"served-{wire}", marks=NEEDS_SDK[wire]) for wire in PROVIDERS),
    pytest.param(lambda: shared_local(), id="local", marks=NEEDS_LOCAL),
]
"""Add a model, and it is held to the laws."""

_locals: list[Local] = []
_stages: list[Stage] = []
_open = ExitStack()


def shared_local() -> Local:
    """One local model for all tests of a process: loading takes a second."""
    if not _locals:
        _locals.append(Local(context=512, threads=2))
    return _locals[0]


def close_all() -> None:
    while _locals:
        _locals.pop().close()
    _stages.clear()
    _open.close()


def threads_of(model: AnyModel) -> list[str]:
    """The threads that compute answers of a model."""
    return [thread.name for thread in threading.enumerate() if thread.name == f"quire-{model.name}"]


def wait_until_idle(model: AnyModel) -> None:
    end = time.monotonic() + _PATIENCE
    while threads_of(model):
        assert time.monotonic() < end, f"{model.name} still computes"
        time.sleep(0.01)


def text_of(parsed: Parsed) -> str:
    return "".join(item.text for item in parsed.items if isinstance(item, Message))
