"""An item of a kind that a newer version made: kept whole, shown to nobody."""

from collections.abc import Mapping
from typing import Any

from quire.items.record import Record


class Unknown(Record, frozen=True, tag="unknown", gc=False):
    """What was read, so that it can be written again; `name` is the kind's name, `fields` all of it."""

    name: str
    fields: Mapping[str, Any]
