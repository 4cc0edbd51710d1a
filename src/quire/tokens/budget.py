"""A token window and how it is shared out. Pure integer arithmetic: the same requests get the same tokens."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import cast

import msgspec

from quire.errors import InvalidLimit, WrongType
from quire.items import FrozenDict
from quire.tokens.numbers import named, whole


class Share(
    msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, forbid_unknown_fields=True
):
    """What one section may have: `minimum` if it asks for that much, then by `weight` up to `maximum`."""

    minimum: int = 0
    maximum: int | None = None
    weight: int = 1

    def __post_init__(self) -> None:
        whole(self.minimum, "Share.minimum", least=0)
        whole(self.weight, "Share.weight", least=0)
        if self.maximum is None:
            return
        whole(self.maximum, "Share.maximum", least=0)
        if self.minimum > self.maximum:
            raise InvalidLimit(f"Share.minimum {self.minimum:,} is above Share.maximum {self.maximum:,}")


class Budget(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The window of a model, what of it is kept free for the answer, and the shares of sections by name."""

    window: int
    reserve: int = 0
    shares: Mapping[str, Share] = FrozenDict()

    def __post_init__(self) -> None:
        whole(self.window, "Budget.window", least=1)
        whole(self.reserve, "Budget.reserve", least=0)
        if self.reserve >= self.window:
            raise InvalidLimit(
                f"Budget.reserve {self.reserve:,} leaves nothing of a window of {self.window:,}"
            )
        self._check_shares()

    @property
    def available(self) -> int:
        """Tokens that a request may take."""
        return self.window - self.reserve

    def shared_out(self, requests: Mapping[str, int] | Iterable[str]) -> dict[str, int]:
        """Tokens for each section: minimums first, the rest by weight up to what each asks for and may have.

        `requests` says how many tokens each section could use; sections given by name alone take all they
        can get. What one does not need goes to the others. The sum is never above what is available.
        """
        return share_out(self.available, self._asked(requests), self.shares)

    def _asked(self, requests: Mapping[str, int] | Iterable[str]) -> dict[str, int]:
        asked: dict[str, int]
        if isinstance(requests, Mapping):
            asked = dict(cast("Mapping[str, int]", requests))
        elif isinstance(requests, str | bytes) or not isinstance(requests, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"requests are names, or map names to tokens; not {type(requests).__name__}")
        else:
            asked = {named(name, "the name of a section"): self.available for name in requests}
        for name, wanted in asked.items():
            named(name, "the name of a section")
            whole(wanted, f"the request of {name!r}", least=0)
        return asked

    def _check_shares(self) -> None:
        if not isinstance(self.shares, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"Budget.shares must be a mapping, not {type(self.shares).__name__}")
        for name, share in self.shares.items():
            if not isinstance(name, str) or not isinstance(share, Share):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise WrongType("Budget.shares must map names to Share")
        promised = sum(share.minimum for share in self.shares.values())
        if promised > self.available:
            raise InvalidLimit(
                f"minimums of {promised:,} tokens exceed the {self.available:,} that are available"
            )
        msgspec.structs.force_setattr(self, "shares", FrozenDict(self.shares))


def share_out(available: int, requests: Mapping[str, int], shares: Mapping[str, Share]) -> dict[str, int]:
    """Tokens for each name: minimums first, in order as far as they go, then by weight up to the maximums."""
    caps: dict[str, int] = {}
    granted: dict[str, int] = {}
    left = available
    for name, wanted in requests.items():
        share = shares.get(name, _OPEN)
        caps[name] = min(wanted, available if share.maximum is None else share.maximum)
        granted[name] = min(caps[name], share.minimum, left)
        left -= granted[name]
    return _poured(left, granted, caps, {name: shares.get(name, _OPEN).weight for name in caps})


def _poured(
    left: int, granted: dict[str, int], caps: Mapping[str, int], weights: Mapping[str, int]
) -> dict[str, int]:
    """Give what is left by weight, round after round, until it is gone or nobody has room."""
    thirsty: list[str] = [name for name in caps if granted[name] < caps[name] and weights[name] > 0]
    while left > 0 and thirsty:
        total = sum(weights[name] for name in thirsty)
        for name, part in zip(thirsty, _parts(left, [weights[name] for name in thirsty], total), strict=True):
            given = min(part, caps[name] - granted[name])
            granted[name] += given
            left -= given
        thirsty = [name for name in thirsty if granted[name] < caps[name]]
    return granted


def _parts(left: int, weights: list[int], total: int) -> list[int]:
    """Whole numbers in proportion to the weights that add up to `left` exactly."""
    edges, so_far = [0], 0
    for weight in weights:
        so_far += weight
        edges.append(left * so_far // total)
    return [after - before for before, after in pairwise(edges)]


_OPEN = Share()
