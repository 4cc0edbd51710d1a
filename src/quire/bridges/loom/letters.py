"""Direct messages in the order in which they are to be read: what matters most, then what is newest."""

from collections.abc import Iterable

from quire.items import Address, Item, Message

USUAL_PRIORITY = 0.5
"""How much a message matters that does not say so."""


def in_order(letters: Iterable[Item], at: float) -> list[Item]:
    """Those that are still good at a time: by priority, and of equal ones the newest first."""
    good = enumerate(letter for letter in letters if is_good(letter, at))
    return [letter for _, letter in sorted(good, key=_rank, reverse=True)]


def is_good(letter: Item, at: float) -> bool:
    """Whether it has not expired."""
    address = _address(letter)
    return address is None or address.expires_at is None or address.expires_at > at


def _rank(numbered: tuple[int, Item]) -> tuple[float, float, int]:
    place, letter = numbered
    address = _address(letter)
    priority = None if address is None else address.priority
    # Of those from one moment, the one that came last is the newest.
    return (USUAL_PRIORITY if priority is None else priority, letter.created_at, place)


def _address(letter: Item) -> Address | None:
    return letter.address if isinstance(letter, Message) else None
