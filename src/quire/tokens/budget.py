"""A token window and its shares, in integer arithmetic: equal requests get equal tokens."""

from collections.abc import Mapping
from itertools import pairwise

import msgspec

from quire.errors import InvalidLimit, WrongType, cut
from quire.items import OptionsMeta, freeze
from quire.tokens.counter import whole


class Share(
    msgspec.Struct,
    metaclass=OptionsMeta,
    frozen=True,
    kw_only=True,
    gc=False,
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """What a section gets if it asks for that much: `minimum` tokens, then more by `weight`, to `maximum`."""

    minimum: int = 0
    maximum: int | None = None
    weight: int = 1

    def __post_init__(self) -> None:
        whole(self.minimum, "Share.minimum", least=0)
        whole(self.weight, "Share.weight", least=0)
        if self.maximum is not None and self.minimum > whole(self.maximum, "Share.maximum", least=0):
            raise InvalidLimit(f"Share.minimum {self.minimum:,} must not exceed maximum {self.maximum:,}")


class _Window(msgspec.Struct, frozen=True):  # a class of its own: only `window` may be positional
    window: int


class Budget(
    _Window, metaclass=OptionsMeta, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """The `window` of a model in tokens, the `reserve` of it for the answer, and the shares of sections."""

    reserve: int = 0
    shares: Mapping[str, Share] = freeze({})

    def __post_init__(self) -> None:
        whole(self.window, "Budget.window", least=1)
        whole(self.reserve, "Budget.reserve", least=0)
        if self.reserve >= self.window:
            raise InvalidLimit(
                f"Budget.reserve {self.reserve:,} leaves nothing of a window of {self.window:,}"
            )
        for name, share in self.shares.items():
            if not isinstance(share, Share):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise WrongType(
                    f"Budget.shares[{cut(name)!r}] must be a Share(weight=…), not {type(share).__name__}"
                )
        minimums = sum(share.minimum for share in self.shares.values())
        if minimums > self.available:
            raise InvalidLimit(f"minimums of {minimums:,} tokens exceed the available {self.available:,}")
        msgspec.structs.force_setattr(self, "shares", freeze(dict(self.shares)))

    @property
    def available(self) -> int:
        """Tokens that a request may take."""
        return self.window - self.reserve


_DEFAULT_SHARE = Share()


def share_out(available: int, requests: Mapping[str, int], shares: Mapping[str, Share]) -> dict[str, int]:
    """Divide tokens among the names: minimums in order, then by weight, up to each request and maximum."""
    ceilings: dict[str, int] = {}
    granted: dict[str, int] = {}
    left = available
    for name, wanted in requests.items():
        share = shares.get(name, _DEFAULT_SHARE)
        ceilings[name] = min(wanted, available if share.maximum is None else share.maximum)
        granted[name] = min(ceilings[name], share.minimum, left)
        left -= granted[name]
    weights = {name: shares.get(name, _DEFAULT_SHARE).weight for name in ceilings}
    open_names: list[str] = [
        name for name, ceiling in ceilings.items() if granted[name] < ceiling and weights[name] > 0
    ]
    while left > 0 and open_names:
        parts = _parts(left, [weights[name] for name in open_names])
        for name, part in zip(open_names, parts, strict=True):
            more = min(part, ceilings[name] - granted[name])
            granted[name] += more
            left -= more
        open_names = [name for name in open_names if granted[name] < ceilings[name]]
    return granted


def _parts(left: int, weights: list[int]) -> list[int]:
    """Divide `left` into whole numbers in proportion to the weights; they add up to `left` exactly."""
    edges, passed, total = [0], 0, sum(weights)
    for weight in weights:
        passed += weight
        edges.append(left * passed // total)
    return [after - before for before, after in pairwise(edges)]
