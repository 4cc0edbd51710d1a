"""Limits of time, and asking again: before the first piece of an answer has come, and never after."""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Protocol

import msgspec

from quire.errors import InvalidLimit, QuireError, WrongType
from quire.models.answers import AnswerReader, Delta
from quire.models.failures import Failure
from quire.tokens import number, whole

logger = logging.getLogger("quire.models")

_Json = dict[str, Any]


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """Limits in seconds: to `connect`, `idle` between two pieces of a stream, and `total`.

    `total` is for a whole call, retries included. None is no limit.
    """

    connect: float | None = 10.0
    idle: float | None = 300.0
    total: float | None = 1200.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            seconds = getattr(self, name)
            if seconds is not None and not number(seconds, f"Patience.{name}", 0):
                raise InvalidLimit(f"Patience.{name} is zero")

    @classmethod
    def of(cls, timeout: "float | Patience") -> "Patience":
        """The limits for an argument `timeout`: a number of seconds is all three."""
        if isinstance(timeout, Patience):
            return timeout
        if not isinstance(timeout, int | float) or isinstance(timeout, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"timeout is a number of seconds or a Patience, not {type(timeout).__name__}")
        return cls(connect=min(timeout, 10.0), idle=timeout, total=timeout)

    def limits(self, *, stream: bool) -> dict[str, float | None]:
        """The limits of httpx. Nothing is heard of an answer in one piece until it is there."""
        read = self.idle if stream else self.total
        return {"connect": self.connect, "read": read, "write": self.idle, "pool": self.total}


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """How often a failed request is sent again, and after how many seconds.

    The wait starts at `first` and doubles up to `longest`, with random jitter. A service that says when to
    ask again is obeyed; if that is later than `longest`, the error is raised at once.
    """

    times: int = 3
    first: float = 0.5
    longest: float = 60.0

    def __post_init__(self) -> None:
        whole(self.times, "Retries.times", least=0)
        number(self.first, "Retries.first", 0)
        number(self.longest, "Retries.longest", 0)

    @classmethod
    def of(cls, retries: "int | Retries") -> "Retries":
        """The retries for an argument `retries`, which may be a number of times."""
        return retries if isinstance(retries, Retries) else cls(times=whole(retries, "retries", least=0))

    def wait(self, tried: int, after: float | None) -> float | None:
        """Seconds until the next try, after so many; None if there is to be none."""
        if tried > self.times or (after is not None and after > self.longest):
            return None
        if after is not None:
            return after
        return min(self.first * 2.0 ** (tried - 1), self.longest) * random.uniform(0.5, 1.0)


class Sender(Protocol):
    """Sends a request, and knows what an exception on the way means."""

    def events(self, request: _Json, *, stream: bool) -> AsyncGenerator[Any, None]: ...

    def explain(self, fault: Exception) -> Failure: ...


async def answer_deltas(
    connect: Callable[[], Awaitable[Sender]],
    request: _Json,
    plain: Callable[[], _Json | None],
    reader: AnswerReader,
    retries: Retries,
    total: float | None,
) -> AsyncGenerator[Delta, None]:
    """Send a request and read its answer; send it again if it fails before the first piece of an answer.

    A service that refuses the schema of the answer is sent the `plain` request without one, if there is one.
    All ends after `total` seconds.
    """
    client = await connect()
    until = None if total is None else asyncio.get_running_loop().time() + total
    tried, is_last = 1, False
    while True:
        fault: Exception | None = None
        try:
            async with aclosing(client.events(request, stream=reader.is_stream)) as events:
                while (event := await _next(events, until)) is not None:
                    for delta in reader.feed(event):
                        yield delta
            failure = reader.failure()
        except QuireError:
            raise  # a mistake of the caller, or a missing extra
        except Exception as raised:
            fault, failure = raised, client.explain(raised)
        if failure is None:
            return
        if failure.of_schema and not reader.has_begun() and (other := plain()) is not None:
            request = other
            reader.start_again()
            continue
        may_pass = failure.retry and not is_last and not reader.has_begun()
        wait = retries.wait(tried, failure.after) if may_pass else None
        if wait is None or (until is not None and asyncio.get_running_loop().time() + wait >= until):
            raise failure.error from fault
        logger.info("%s: %s, retry in %.1f s", reader.model, type(failure.error).__name__, wait)
        tried, is_last = tried + 1, failure.once
        reader.start_again()
        await asyncio.sleep(wait)


async def _next(events: AsyncGenerator[Any, None], until: float | None) -> Any:
    await asyncio.sleep(0)  # many events may be there at once, and others want to run
    # A limit around each step: the reader may be another task each time.
    async with asyncio.timeout_at(until):
        return await anext(events, None)
