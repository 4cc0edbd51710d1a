"""An item of a kind that a newer version made: kept whole, shown to nobody."""

from collections.abc import Mapping
from typing import Any

import msgspec

from quire.errors import InvalidValue
from quire.items.frozen import freeze
from quire.items.record import Record

UNTIMED = 0.0
"""The time of an item that was read without one: the same whenever it is read, and not written."""


class Unknown(Record, frozen=True, tag="unknown", gc=False):
    """What was read, to be written again; `name` is the kind's name, `fields` all the rest of it.

    One that was read without a time is of the year 1970, and is written without a time again.
    """

    name: str
    fields: Mapping[str, Any]

    def _check(self) -> None:
        if self.extras:
            raise InvalidValue("Unknown.extras must be empty: `fields` holds them")
        if "kind" in self.fields:
            raise InvalidValue("Unknown.fields holds a kind: that is its `name`")
        stale = self._stale()
        if stale:
            fresh = {name: value for name, value in stale.items() if value is not None}
            rest = {name: value for name, value in self.fields.items() if name not in stale}
            msgspec.structs.force_setattr(self, "fields", freeze({**rest, **fresh}))

    def _stale(self) -> dict[str, Any]:
        # What all items have is written from `fields` too, so a change of it has to go there. A time that was
        # not read is not made up.
        made_here = "id" not in self.fields
        wanted = {"id": self.id, "created_at": self.created_at, "agent_id": self.agent_id}
        if not made_here and "created_at" not in self.fields and self.created_at == UNTIMED:
            del wanted["created_at"]
        return {name: value for name, value in wanted.items() if self.fields.get(name) != value}
