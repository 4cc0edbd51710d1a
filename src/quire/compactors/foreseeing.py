"""What edits would do, without recording them and without counting again what was counted."""

from quire.items import Item
from quire.state import Run, View, view_after
from quire.tokens import Counter

__all__ = ["shown_tokens", "view_after"]


def shown_tokens(view: View, item: Item, counter: Counter) -> int:
    """What an item that is shown counts: known by now, unless a stub stands for it."""
    if view.get(item.id) is not item:
        return counter.count(item)
    position = view.position(item.id)
    return view.run_tokens(Run(position, position + 1), counter)
