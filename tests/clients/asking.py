"""How tests ask models over the SDKs: for each wire, whole and streamed, with retries that do not wait."""

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from quire.items import Message
from quire.models import Model, Retries
from quire.providers import Parsed
from tests.clients.said import NAMES
from tests.clients.scenes import Scene
from tests.models.answerers import NEEDS_SDK, QUESTION, model_at

AT_ONCE = Retries(times=2, first=0.0)
SECRET = "the words of a person"
each_wire = pytest.mark.parametrize("wire", [pytest.param(wire, marks=NEEDS_SDK[wire]) for wire in NAMES])


def each_row(names: str, *rows: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for each row, as one test; a failure notes its row. `names` are those of the arguments."""
    filled = names.split()

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        kept = [one for name, one in signature.parameters.items() if name not in filled]

        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            for row in rows:
                try:
                    test(**fixtures, **dict(zip(filled, row if len(filled) > 1 else (row,), strict=True)))
                except Exception as fault:
                    fault.add_note(f"in the row {row!r}")
                    raise

        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return run

    return decorate


both_ways = each_row("how", "whole", "streamed")


async def _whole(model: Model) -> Parsed:
    return await model.ask(QUESTION, max_tokens=9)


async def _streamed(model: Model) -> Parsed:
    return await model.stream(QUESTION, max_tokens=9).whole()


WAYS: dict[str, Callable[[Model], Awaitable[Parsed]]] = {"whole": _whole, "streamed": _streamed}


def asked(scene: Scene, wire: str, how: str, **options: Any) -> Parsed:
    """What a model answers that asks a scene once."""

    async def run() -> Parsed:
        async with model_at(scene, wire, **{"retries": AT_ONCE, **options}) as model:
            return await WAYS[how](model)

    return asyncio.run(run())


def hold_interrupted(parsed: Parsed, words: str) -> None:
    (said,) = parsed.items
    assert isinstance(said, Message) and said.interrupted and said.text == words
