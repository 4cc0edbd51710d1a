"""The configuration in force at any item.

The last instructions and the last tools that were set up to there, whatever is shown of them by now: what
was in force is a fact, and an edit changes none.
"""

from typing import NamedTuple

from quire.errors import OutOfRange, UnknownId, cut
from quire.items import ConfigChange, Item, Message
from quire.state.log import EDIT
from quire.state.positions import positions
from quire.state.view import View, checked_view
from quire.tokens import digits, whole


class Config(NamedTuple):
    """What a model is told and may use; `None` where nothing was said."""

    instructions: str | None = None
    tools: tuple[str, ...] | None = None


def config_at(view: View, target: str | int | None = None) -> Config:
    """The configuration after an item, given by its id or its index in the view.

    At the end where none is given.
    """
    limit = _place_of(checked_view(view), target)
    log = view.log
    marks = sorted((log.time(p), p) for p in positions(log, "marks", 0, view.end))
    config = Config()
    for place in marks:
        if place <= limit:
            config = _after(config, log.item(place[1]))
    return config


def _after(config: Config, item: Item) -> Config:
    if isinstance(item, ConfigChange):
        told = config.instructions if item.instructions is None else item.instructions
        return Config(told, config.tools if item.tools is None else item.tools)
    if isinstance(item, Message):
        return config._replace(instructions=item.text)
    return config


def _place_of(view: View, target: str | int | None) -> tuple[float, int]:
    if target is None:
        return (float("inf"), view.end)
    if isinstance(target, str):
        position = view.position(target)
        if view.log.head(position) == EDIT:
            raise UnknownId(f"{cut(target)!r} is an edit; it has no place among the items")
        return (view.log.time(position), position)
    if not 0 <= whole(target, "an index") < len(view):
        raise OutOfRange(f"the view has {len(view)} items; there is none at {digits(target)}")
    return view.place_at(target)
