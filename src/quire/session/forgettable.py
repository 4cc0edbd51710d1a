"""Which entries of a conversation can be forgotten: all that may hold what somebody said or made.

The others are what a session goes by: where it began, what it sent and spent, what is under way or was
forgotten. Without their content the conversation, and all that look there, could not go on.
"""

from collections.abc import Collection

from quire.errors import InvalidValue, UnknownId, cut
from quire.items import Item
from quire.session.ledger import Ledger
from quire.session.receipts import is_receipt
from quire.session.steps import is_mark
from quire.stores.streams import FORGOTTEN, MERGED, ORIGIN, PLANS, RECALLED, RECEIPTS, STEPS, USAGE, WIPED

_BOOKS = frozenset((ORIGIN, USAGE, PLANS, MERGED, RECALLED, FORGOTTEN, WIPED))
"""Streams of ids and numbers alone, and of names of conversations, which stay as long as these do."""


def may_go(stream: str, item: Item) -> bool:
    """Whether an entry can be forgotten."""
    if stream == STEPS:
        return not is_mark(item)
    return stream not in _BOOKS and not (stream == RECEIPTS and is_receipt(item))


def check_forgettable(ledger: Ledger, ids: Collection[str]) -> None:
    """An error where one of the ids is of nothing that can be forgotten here; nothing is written yet."""
    unknown, own = set(ids), dict[str, str]()
    for stream, item in ledger.recorded():
        if may_go(stream, item):
            unknown.discard(item.id)
        else:
            own[item.id] = stream
    for item_id in unknown:
        if item_id in own:
            raise InvalidValue(
                f"entry {cut(item_id)!r} of {own[item_id]} holds nothing that was said: "
                f"{ledger.place} goes by it, and it stays"
            )
        _check_inherited(ledger, item_id)


def _check_inherited(ledger: Ledger, item_id: str) -> None:
    """`UnknownId` for an item that is not here, and for one that a draft only sees."""
    if not ledger.workspace.inherits(item_id):
        raise UnknownId(f"no item {cut(item_id)!r} in {ledger.place}")
    if ledger.workspace.origin is None:
        raise UnknownId(f"item {cut(item_id)!r} is not of the draft: forget it in {ledger.place} itself")
