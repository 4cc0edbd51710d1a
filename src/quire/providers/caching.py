"""What stays the same from one request to the next, so that a provider's prompt cache can be used."""

from typing import Literal

import msgspec

from quire.errors import InvalidValue, WrongType
from quire.tokens import whole


class CachePlan(msgspec.Struct, frozen=True, kw_only=True):
    """Where the rendered items stop being static, and where they stop growing slowly.

    `static` items from the start never change (instructions); up to `slow` they change only by growing at the
    end (the history); what follows is volatile. `slow` left out means all. `key` sends requests that share a
    prefix to the same machine where a provider has such a key; `keep` is how long an entry should live.
    """

    static: int = 0
    slow: int | None = None
    key: str | None = None
    keep: Literal["short", "long"] = "short"

    def __post_init__(self) -> None:
        whole(self.static, "static", least=0)
        if self.slow is not None and whole(self.slow, "slow", least=0) < self.static:
            raise InvalidValue("CachePlan.slow lies before static")
        if not isinstance(self.key, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"CachePlan.key is a text, not {type(self.key).__name__}")
        if self.key == "":
            raise InvalidValue("CachePlan.key is empty")
        if self.keep not in ("short", "long"):
            raise InvalidValue("CachePlan.keep is 'short' or 'long'")

    def boundary(self, length: int) -> int:
        """How many of `length` items come before what is volatile."""
        return length if self.slow is None else min(self.slow, length)
