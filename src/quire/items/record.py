"""What every item has."""

from collections.abc import Mapping
from typing import Any

import msgspec

from quire.errors import InvalidValue
from quire.items.clock import new_id, now
from quire.items.frozen import NOTHING
from quire.items.settle import settle

FAR_FUTURE = 1e11  # seconds; a time beyond it is surely in milliseconds
FAR_PAST = -FAR_FUTURE


class Record(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", gc=False):
    """The fields common to all kinds of item.

    The cyclic garbage collector does not visit items (they would slow every collection down), so an object
    put in `extras` must not refer back to its item.
    """

    id: str = msgspec.field(default_factory=new_id)
    created_at: float = msgspec.field(default_factory=now)
    agent_id: str | None = None
    extras: Mapping[str, Any] = NOTHING

    def __post_init__(self) -> None:
        settle(self)
        if not self.id:
            raise InvalidValue(f"{type(self).__name__}.id is empty")
        if not FAR_PAST < self.created_at < FAR_FUTURE:
            raise InvalidValue(f"{type(self).__name__}.created_at must be seconds since 1970, in UTC")
        self._check()

    def _check(self) -> None:
        """What a kind asks of its own fields beyond their types."""
