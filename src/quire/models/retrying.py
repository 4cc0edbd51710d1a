"""Asking again where that may help: before anything has come, and never after."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from itertools import count
from typing import Any

from quire.errors import QuireError
from quire.models.failing import Failure
from quire.models.patience import Retries

logger = logging.getLogger("quire.models")

_Json = dict[str, Any]
_Begin = Callable[[], AsyncGenerator[Any, None]]
_Send = Callable[[_Json], AsyncGenerator[Any, None]]
_Explain = Callable[[Exception], Failure]


async def persisting(
    begin: _Begin, explain: _Explain, retries: Retries, until: float | None, name: str
) -> AsyncGenerator[Any, None]:
    """The events of a request, which is begun again if it fails before the first of them.

    `until` is the time of the loop at which all ends, what is tried again included.
    """
    for tried in count(1):
        events, came = begin(), False
        try:
            async with aclosing(events):
                while (event := await _next(events, until)) is not None:
                    came = True
                    yield event
            return
        except QuireError:
            raise  # a mistake of the caller's, or something that is missing here
        except Exception as fault:
            failure = explain(fault)
            wait = None if came or not failure.again else retries.wait(tried, failure.after)
            if wait is None or (until is not None and asyncio.get_running_loop().time() + wait >= until):
                raise failure.error from fault
            logger.info("%s: %s, asked again in %.1f s", name, type(failure.error).__name__, wait)
        await asyncio.sleep(wait)


async def yielding(
    send: _Send, request: _Json, spare: Callable[[], _Json | None], explain: _Explain
) -> AsyncGenerator[Any, None]:
    """The events of a request; where it is turned down for its shape, those of the `spare` one without."""
    came = False
    try:
        async with aclosing(send(request)) as events:
            async for event in events:
                came = True
                yield event
        return
    except QuireError:
        raise
    except Exception as fault:
        plain = spare() if not came and explain(fault).of_shape else None
        if plain is None:
            raise
    async with aclosing(send(plain)) as events:
        async for event in events:
            yield event


async def _next(events: AsyncGenerator[Any, None], until: float | None) -> Any:
    # A limit around each step, not around all of them: the reader may be another task each time.
    async with asyncio.timeout_at(until):
        return await anext(events, None)
