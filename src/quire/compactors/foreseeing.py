"""What edits would do, without recording them and without counting again what was counted."""

from quire.items import Item
from quire.state import Run, View, foreseen
from quire.tokens import Counter

__all__ = ["foreseen", "shown_tokens"]


def shown_tokens(view: View, item: Item, counter: Counter) -> int:
    """What an item that is shown counts: known by now, unless a stub stands for it."""
    if view.get(item.id) is not item:
        return counter.count(item)
    position = view.position(item.id)
    return view.run_tokens(Run(position, position + 1), counter)
