"""Building a context in a session: sections asked, caps kept, renderings remembered."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from quire.context import Context, Piece, enabled_sections, gather_section
from quire.errors import UnknownId
from quire.items import Item
from quire.providers import Rendered
from quire.sections import Ask, Section, settings_of
from quire.state import View
from quire.tokens import Calibrated


class Sent(NamedTuple):
    """The request that an answer is expected to."""

    provider: str
    model: str | None
    rendered: Rendered
    context: Context
    counter: Calibrated | None

    def learn(self, reported: int) -> None:
        """Teach the counter what the request really took."""
        counted = self.context.receipt.counted
        if self.counter is not None and counted:
            self.counter.learn(counted, reported)


def item_named(item_id: str, view: View) -> Item:
    """The item of an id that is shown."""
    try:
        return view.get(item_id)
    except UnknownId:
        raise UnknownId("the input is an item, or the id of one that is here: no item has this id") from None


async def gathered(sections: Sequence[Section], ask: Ask) -> tuple[Piece, ...]:
    """What the sections have to show: those that are independent side by side, the rest in order."""
    shown = enabled_sections(sections)
    beside = {
        index: asyncio.ensure_future(gather_section(section, ask))
        for index, section in enumerate(shown)
        if settings_of(section).independent
    }
    try:
        in_order = {
            index: await gather_section(section, ask)
            for index, section in enumerate(shown)
            if index not in beside
        }
        return tuple([in_order[i] if i in in_order else await beside[i] for i in range(len(shown))])
    finally:
        await _ended(list(beside.values()))


async def _ended(tasks: Sequence["asyncio.Future[Piece]"]) -> None:
    """No section goes on after one has failed."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
