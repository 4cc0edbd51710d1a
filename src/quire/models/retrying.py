"""Asking again where that may help: before the first piece of an answer has come, and never after."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from itertools import count
from typing import Any

from quire.errors import QuireError
from quire.models.failing import Failure
from quire.models.patience import Retries
from quire.models.whole import CarefulReader

logger = logging.getLogger("quire.models")

_Json = dict[str, Any]
_Begin = Callable[[], AsyncGenerator[Any, None]]
_Send = Callable[[_Json], AsyncGenerator[Any, None]]
_Explain = Callable[[Exception], Failure]


async def persisting(
    begin: _Begin, explain: _Explain, retries: Retries, until: float | None, reader: CarefulReader
) -> AsyncGenerator[Any, None]:
    """The events of a request, which is begun again if it fails before the first piece of an answer.

    Whoever is given the events feeds them to `reader`; one that came before a failure is forgotten there.
    `until` is the time of the loop at which all ends, what is tried again included.
    """
    tried_once = False
    for tried in count(1):
        fault: Exception | None = None
        try:
            async with aclosing(begin()) as events:
                while (event := await _next(events, until)) is not None:
                    yield event
            failure = reader.failure()
        except QuireError:
            raise  # a mistake of the caller's, or something that is missing here
        except Exception as raised:
            fault, failure = raised, explain(raised)
        if failure is None:
            return
        is_worth_it = failure.again and not (failure.once and tried_once) and not reader.has_come()
        wait = retries.wait(tried, failure.after) if is_worth_it else None
        if wait is None or (until is not None and asyncio.get_running_loop().time() + wait >= until):
            raise failure.error from fault
        logger.info("%s: %s, asked again in %.1f s", reader.model, type(failure.error).__name__, wait)
        tried_once = tried_once or failure.once
        reader.begin_again()
        await asyncio.sleep(wait)


async def yielding(
    send: _Send,
    request: _Json,
    spare: Callable[[], _Json | None],
    explain: _Explain,
    reader: CarefulReader,
) -> AsyncGenerator[Any, None]:
    """The events of a request; where it is turned down for its shape, those of the `spare` one without."""
    fault: Exception | None = None
    try:
        async with aclosing(send(request)) as events:
            async for event in events:
                yield event
        failure = reader.failure()
    except QuireError:
        raise
    except Exception as raised:
        fault, failure = raised, explain(raised)
    is_of_shape = failure is not None and failure.of_shape and not reader.has_come()
    plain = spare() if is_of_shape else None
    if plain is None:
        if fault is not None:
            raise fault
        return
    reader.begin_again()
    async with aclosing(send(plain)) as events:
        async for event in events:
            yield event


async def _next(events: AsyncGenerator[Any, None], until: float | None) -> Any:
    # A limit around each step, not around all of them: the reader may be another task each time.
    async with asyncio.timeout_at(until):
        return await anext(events, None)
