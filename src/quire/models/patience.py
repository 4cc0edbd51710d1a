"""How long a model is waited for, and how often it is asked again."""

import random

import msgspec

from quire.errors import InvalidLimit, WrongType
from quire.tokens import number, whole


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds: to `connect`, to be `idle` between two signs of life of a stream, and in `total`.

    `total` is of a whole call with all that was tried again. None is without end.
    """

    connect: float | None = 10.0
    idle: float | None = 300.0
    total: float | None = 1200.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            seconds = getattr(self, name)
            if seconds is not None and not number(seconds, f"Patience.{name}", 0):
                raise InvalidLimit(f"Patience.{name} is no time at all")


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """How often a request is sent again, where that may help, and after how many seconds.

    The wait begins at about `first` and doubles each time up to `longest`, by chance a little shorter, so
    that many who failed together do not come back together. A provider that says when to come back is heeded;
    where that is later than `longest`, the error is raised at once.
    """

    times: int = 3
    first: float = 0.5
    longest: float = 60.0

    def __post_init__(self) -> None:
        whole(self.times, "Retries.times", least=0)
        number(self.first, "Retries.first", 0)
        number(self.longest, "Retries.longest", 0)

    def wait(self, tried: int, after: float | None) -> float | None:
        """Seconds until the next try, after so many; None if there is to be none."""
        if tried > self.times or (after is not None and after > self.longest):
            return None
        if after is not None:
            return after
        return min(self.first * 2.0 ** (tried - 1), self.longest) * random.uniform(0.5, 1.0)


def patience_of(timeout: float | Patience) -> Patience:
    """The patience of a number of seconds, which then is the end of everything."""
    if isinstance(timeout, Patience):
        return timeout
    if not isinstance(timeout, int | float) or isinstance(timeout, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"timeout is a number of seconds or a Patience, not {type(timeout).__name__}")
    return Patience(connect=min(timeout, 10.0), idle=timeout, total=timeout)


def retries_of(retries: int | Retries) -> Retries:
    """The retries of a number of times."""
    return retries if isinstance(retries, Retries) else Retries(times=whole(retries, "retries", least=0))
