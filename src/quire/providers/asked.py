"""Whom a payload is for, and so whose state goes into it."""

from collections.abc import Iterable
from typing import NamedTuple, cast

from quire.items import Item, Opaque
from quire.providers.binding import Asked, same_model
from quire.state import Scroll, keep_memo, memos


class _Spoken(NamedTuple):
    """The models that made state of a wire, the last one last, as far as a scroll is settled."""

    scroll: Scroll
    makers: tuple[str, ...]


def asked_for(wire: str, model: str | None, items: Scroll) -> Asked:
    """The model that is named; where none is, the one whose state on this wire is the last."""
    if model is not None:
        return Asked(model)
    makers = _with(_settled_makers(wire, items), wire, items.after)
    if not makers:
        return Asked()
    mixed = not all(same_model(one, makers[-1]) for one in makers)
    return Asked(None, makers[-1], mixed and not items.was_edited)


def _settled_makers(wire: str, items: Scroll) -> tuple[str, ...]:
    """Of what was looked through before, only what was added since is looked through."""
    if items.view is None:
        return _with((), wire, items.before)
    before = cast("_Spoken | None", memos(items.view).get((wire, "makers")))
    added = None if before is None else items.added_since(before.scroll)
    if before is None or added is None:
        makers = _with((), wire, items[: items.settled])
    else:
        makers = _with(before.makers, wire, added)
    keep_memo(items.view, (wire, "makers"), _Spoken(items, makers))
    return makers


def _with(makers: tuple[str, ...], wire: str, items: Iterable[Item]) -> tuple[str, ...]:
    """Makers, and those of the state in some items, each once, in the order of their last state."""
    found = dict.fromkeys(makers)
    for item in items:
        state: Opaque | None = getattr(item, "state", None)
        if state is not None and state.model and state.provider == wire:
            found.pop(state.model, None)
            found[state.model] = None
    return tuple(found)
