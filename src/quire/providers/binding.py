"""Opaque state goes back only to the model that made it, and only while what came before it is unchanged."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from quire.items import Opaque
from quire.providers.downgrades import Change
from quire.tokens import bare_name

_encoder = msgspec.json.Encoder(order="sorted")
_HOME = frozenset(
    f"{owner}{mark}" for owner in ("openai", "anthropic", "google", "gemini", "models") for mark in "/:"
)
"""What some put before a name that goes to the maker of the model itself, where others put nothing."""

_DATED = re.compile(r"(-latest|-\d{8}|-\d{4}-\d{2}-\d{2}|@\d{8})$")


class Prefix:
    """A digest of the first so many messages; messages that were counted once are not read again."""

    __slots__ = ("_count", "_digest", "_empty", "asked")

    def __init__(self, before: Any = None) -> None:
        self._empty = blake2b(b"" if before is None else _encoder.encode(before), digest_size=16)
        self._digest = self._empty.copy()
        self._count = 0
        self.asked = False  # whether a digest of what a branch became was wanted

    def branch(self) -> "Prefix":
        """The same digest, to go on in another way."""
        twin = Prefix()
        twin._empty, twin._digest, twin._count = self._empty, self._digest.copy(), self._count
        return twin

    def anew(self) -> "Prefix":
        """A digest that begins with the same, for messages of which some that were counted have changed."""
        twin = Prefix()
        twin._empty, twin._digest, twin.asked = self._empty, self._empty.copy(), self.asked
        return twin

    def of(self, messages: Sequence[Any]) -> str:
        """The digest of all these messages. The last one may still grow, so it is not counted for good."""
        settled = len(messages) - 1
        if settled < self._count:
            return _updated(self._empty.copy() if self._count else self._digest.copy(), messages).hexdigest()
        _updated(self._digest, messages[self._count : settled])
        self._count = settled
        return _updated(self._digest.copy(), messages[settled:]).hexdigest()


def _updated(digest: blake2b, messages: Sequence[Any]) -> blake2b:
    for message in messages:
        digest.update(_encoder.encode(message))
        digest.update(b"\n")
    return digest


class Asked(NamedTuple):
    """Whom a payload is for: the model that is named; where none is, the one that answered last here."""

    model: str | None = None
    last: str = ""
    mixed: bool = False
    """Whether several answered and none is named, with nothing edited: what one was sent is not known then,
    since the state in it was that of the one before."""

    @property
    def name(self) -> str | None:
        """The model that is taken to read it; none where nobody can tell."""
        return self.model or self.last or None

    def made(self, state: Opaque) -> bool:
        """Whether the model made a state.

        Who names no model did not say that another is asked, so the state of the last one goes back, and so
        does that of a history which was read without a name.
        """
        if self.model is None and not state.model:
            return True
        return same_model(state.model, self.name or "")


def unusable(
    state: Opaque, provider: str, asked: Asked, digest: Callable[[], str], doubt: str | None = None
) -> tuple[Change, str] | None:
    """Why a state may not be sent here now, or none if it may; `doubt` is a reason that was found before."""
    if state.provider != provider:
        return "state_foreign", f"made by {state.provider}"
    if not asked.made(state):
        made_by = state.model or "a model that was not named"
        return "state_foreign", f"made by {made_by}, and this is for {asked.name}"
    if doubt is not None:
        return "state_stale", doubt
    if state.prefix is not None and not asked.mixed and state.prefix != digest():
        return "state_stale", "what came before it has changed since"
    return None


def same_model(one: str, other: str) -> bool:
    """Whether two names are of one model on one route, a snapshot of it named or not.

    Two snapshots are two models. What stands before and after the name is the route, the account included:
    the state that a service made for one is nothing that it, or another, can read for the other.
    """
    if one == other:
        return True
    if not one or not other:
        return False
    (before, one, after), (other_before, other, other_after) = _split(one), _split(other)
    if (before, after) != (other_before, other_after):
        return False
    return one == other or _DATED.sub("", one) == other or one == _DATED.sub("", other)


@lru_cache(256)  # it is asked for each state, of the same few models
def _split(model: str) -> tuple[str, str, str]:
    """What stands before the name of a model, the name, and what stands after it."""
    name, bare = model.strip().lower(), bare_name(model)
    start = name.replace(".", "-").rfind(bare.replace(".", "-"))
    before = name[: max(start, 0)]
    return "" if before in _HOME else before, bare, name[start + len(bare) :] if start >= 0 else ""
