"""Where the oldest is cut off, also where the floor is out of reach."""

from collections.abc import Iterable, Sequence

from quire.compactors.limits import Extent
from quire.errors import Irreducible
from quire.items import Hide, Item
from quire.state import View, structural, truncate
from quire.tokens import Counter


def cut(view: View, extent: Extent) -> Hide:
    """The edit that brings a view down to the floor.

    The message to be answered and calls that wait may be larger than the floor allows. Then the cut leaves
    half of what is between them and the ceiling, so that it does not come again with the next message.
    Where pins alone are above the floor, or instructions and summaries with them above one that is firm, or
    what must stay is above the ceiling, it is `Irreducible`.
    """
    counter = extent.counter
    most = view.tokens(counter) - 1
    try:
        edit = truncate(view, tokens=max(min(extent.floor, most), 0), counter=counter)
    except Irreducible as fault:
        aim = _aim_above_the_floor(view, extent._replace(ceiling=min(extent.ceiling, most)), fault.parts)
        edit = truncate(view, tokens=aim, counter=counter)
    assert edit is not None  # the view is above the ceiling
    return edit


def _aim_above_the_floor(view: View, extent: Extent, parts: Iterable[str]) -> int:
    kept = frozenset(parts)
    stays = [item for item in view if item.id in kept or structural(item)]
    lasting = [item for item in stays if structural(item) or view.fate(item.id).state == "pinned"]
    needed = _tokens(lasting, extent.counter)
    pins = [item for item in lasting if view.fate(item.id).state == "pinned"]
    if pins and _tokens(pins, extent.counter) > extent.floor:
        lasting, needed = pins, _tokens(pins, extent.counter)
    firm = extent.floor if extent.is_firm or lasting is pins else extent.ceiling
    if lasting and needed > firm:
        raise Irreducible(
            f"instructions, summaries and pins take {needed:,}, and there is room for {firm:,}",
            _ids(lasting),
        )
    lowest = _tokens(stays, extent.counter)
    if lowest > extent.ceiling:
        raise Irreducible(f"{lowest:,} must stay, and {extent.ceiling:,} may", _ids(stays))
    return (lowest + extent.ceiling) // 2


def _tokens(items: Sequence[Item], counter: Counter) -> int:
    return counter.total(sum(map(counter.count, items)))


def _ids(items: Sequence[Item]) -> tuple[str, ...]:
    return tuple(item.id for item in items)
