"""What the calls of a program hand over, both ways: looked at in the thread of its seat, and bounded."""

from collections.abc import Mapping
from typing import Any

from quire.programs.bounds import Bounds
from quire.programs.sandbox.plain import Copying, TooLarge
from quire.programs.values import size_of, writable


class Handed:
    """All that was handed over in one run so far. What was refused counts too: to look at it took as long."""

    def __init__(self, bounds: Bounds) -> None:
        self._most_of_one = bounds.answer
        self._most = self._left = bounds.handed

    def given(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """What a program gives to a function, as plain values; `NotPlain` where it cannot be."""
        copying = Copying(self._most_of_one)
        try:
            return copying.of([args, kwargs])
        except TooLarge as wrong:
            raise TooLarge(f"what a function is given is too large: {wrong}") from None
        finally:
            self._count(copying.size)

    def gave(self, value: Any) -> Any:
        """What functions gave to the program, in texts that can be written."""
        self._count(size_of(value))
        return writable(value)

    def _count(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise TooLarge(f"the calls of the program hand over more than {self._most} characters together")
