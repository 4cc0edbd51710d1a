"""Regret: items under a summary that turn out to be needed are shown again, by a pin that says why.

An item is needed if a tool read it again, or if a call failed with a value of the item. An item whose words
are shown elsewhere is not pinned. A pin is undone when newer ones need its room.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from quire.compactors.fields import fields_of, is_word_in
from quire.compactors.ledger import texts_of
from quire.items import Edit, Item, Pin, ToolCall, ToolResult, Undo
from quire.state import SOURCES, View, view_after
from quire.tokens import Counter

REGRET = "quire.regret"
"""The key of `extras` that marks the pin of an item that a summary should have kept."""

_MAX_SEARCHED = 400
"""The summarised items that are searched for a value of a failed call, at most."""

_PINS_SHARE = 4
"""Pins of regrets take at most one token in this many of the room."""

_WORD = re.compile(r"\w+")


class Regret(NamedTuple):
    """An item that is shown again, its summary, the result that needed it (all by id), and the reason."""

    item: str
    summary: str
    result: str
    why: str


def regret_of(edit: Item) -> Regret | None:
    """Return the regret that a pin records; None for other items."""
    if not isinstance(edit, Pin) or REGRET not in edit.extras:
        return None
    why: Mapping[str, Any] = edit.extras[REGRET]
    return Regret(edit.target, why["of"], why["by"], why["why"])


def regrets_in(view: View, since: int = 0) -> list[Regret]:
    """Return the regrets since a revision, oldest first, undone ones included."""
    edits = (view.log.item(position) for position in view.log.positions("edits", since, view.end))
    return [regret for edit in edits if (regret := regret_of(edit)) is not None]


def shown_again(view: View, since: int, counter: Counter, tokens: int) -> list[Edit]:
    """Return the edits that show again what turned out to be needed since a revision.

    The pins of regrets take at most a quarter of `tokens`; the oldest are undone for newer ones.
    """
    known = {(regret.item, regret.result) for regret in regrets_in(view, since)}
    room, edits = tokens // _PINS_SHARE, list[Edit]()
    for result in view.log.items(since, view.end):
        for item_id, why in _needed(view, result) if isinstance(result, ToolResult) else ():
            fate = view.fate(item_id)
            is_new = fate.state == "summarised" and (item_id, result.id) not in known
            if is_new and _size(view, item_id, counter) <= room:
                regret = {"of": fate.by, "by": result.id, "why": why}
                pin = Pin(item_id, origin="model", extras={REGRET: regret})
                view = view_after(view, (pin,))
                edits.append(pin)
    pins = [
        pin for pin in view.edits_in_force.edits.values() if isinstance(pin, Pin) and REGRET in pin.extras
    ]
    sizes = {pin.id: _size(view, pin.target, counter) for pin in pins} if edits else {}
    for pin in pins:
        if sum(sizes.values()) > room:
            del sizes[pin.id]
            edits.append(Undo(pin.id, origin="model"))
    return edits


def _size(view: View, item_id: str, counter: Counter) -> int:
    """Return the tokens of the group of an item."""
    group = view.log.group(view.log.head(view.position(item_id)), view.end)
    return counter.total(sum(counter.count(view.log.item(position)) for position in group))


def _needed(view: View, result: ToolResult) -> Iterator[tuple[str, str]]:
    """Yield the items that a result shows to be needed, with the reason."""
    names = [name for name in result.extras.get(SOURCES, ()) if view.log.find(name, view.end) is not None]
    if len(names) == 1 and _is_missing(view.get(names[0]), _words(view)):  # a search finds several
        yield names[0], f"a call of {result.name} came back to it"
    if result.is_error:
        positions = view.log.group(view.log.head(view.position(result.id)), view.end)
        calls = (view.log.item(position) for position in positions)
        call = next((item for item in calls if getattr(item, "call_id", None) == result.call_id), None)
        source = _source_of(view, call) if isinstance(call, ToolCall) else None
        if source is not None:
            yield source, f"{result.name} failed for a value that stood there"


def _source_of(view: View, call: ToolCall) -> str | None:
    """Return the newest item under a summary that has an identifier of a call; results before others."""
    identifiers, fallback = {field.value for field in fields_of(call) if field.is_identifier}, None
    shown = _words(view) if identifiers else ""
    for item in _summarised(view) if identifiers else ():
        text = "\n".join(texts_of([item]))
        if any(is_word_in(value, text) for value in identifiers) and _is_missing(item, shown):
            if isinstance(item, ToolResult) and not item.is_error:
                return item.id
            fallback = fallback or item.id
    return fallback


def _is_missing(item: Item, shown: str) -> bool:
    """Whether the words of an item are not among those shown, in the same order."""
    return _words([item]) not in shown


def _words(items: Iterable[Item]) -> str:
    return f" {' '.join(_WORD.findall(' '.join(texts_of(items))))} "


def _summarised(view: View) -> Iterator[Item]:
    """Yield the items under the summaries that are shown, newest first."""
    log, summaries = view.log, view.summaries()
    areas = [area for summary in summaries if summary.spans for area in log.area(summary, view.end)]
    positions = sorted((p for start, stop in areas for p in range(start, stop)), reverse=True)
    for position in positions[:_MAX_SEARCHED]:
        if view.fate_at(position).state == "summarised":
            yield log.item(position)
