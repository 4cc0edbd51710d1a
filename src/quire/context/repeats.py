"""Each item once: what several sections brought is shown where it came first."""

from collections.abc import Sequence

from quire.context.cutting import Count
from quire.context.fit import Fitted
from quire.state.scroll import Scroll

_REPEATED = "shown elsewhere"


def without_repeats(fitted: Sequence[Fitted], count: Count) -> tuple[Fitted, ...]:
    """The parts without items of a list that a view shows, or that a part before it does.

    It is done after fitting: what one section had to leave out, another may bring back.
    """
    shown: set[str] = set()
    kept: list[Fitted] = []
    histories = [part.shown for part in fitted if part.shown.view is not None]
    for part in fitted:
        if part.shown.view is None:
            once = [i for i in part.shown if i.id not in shown and not any(_has(h, i.id) for h in histories)]
            shown.update(item.id for item in once)
            if len(once) < len(part.shown):
                part = part._replace(shown=Scroll(tuple(once)), counted=sum(map(count, once)), rule=_REPEATED)
        kept.append(part)
    return tuple(kept)


def _has(scroll: Scroll, item_id: str) -> bool:
    """Whether a history shows an item: before its cut, or from where its view goes on."""
    view = scroll.view
    if view is None or any(item.id == item_id for item in scroll.before):
        return view is not None
    position = view.log.find(item_id, view.end)
    if position is None or view.run_at(position) is None or scroll.start >= len(view):
        return False
    return (view.log.time(position), position) >= view.place_at(scroll.start)
