"""Leaving out the oldest, in steps: nothing up to a ceiling, and then down to a floor at once.

What is sent again and again is cheap while its beginning stays the same. A window that slides by one message
changes the beginning with every call; a deep cut does so once in a long while.
"""

from quire.compactors.cutting import cut
from quire.compactors.foreseeing import view_after
from quire.compactors.limits import Limits
from quire.compactors.plan import Plan, Room
from quire.state import View, checked_view


class TruncateOldest(Limits, frozen=True, kw_only=True):
    """Leaves out the oldest turns, by tokens, messages or turns.

    By tokens the ceiling is the whole room and the floor 0.4 of it, unless said otherwise; by messages 20
    and 10, by turns 10 and 5.
    """

    name = "truncate-oldest"

    def plan(self, view: View, room: Room) -> Plan | None:
        """One `Hide` that leads to the floor, or none up to the ceiling."""
        extent = self.extent(room)
        held = checked_view(view).tokens(extent.counter)
        if held <= (extent.floor if room.early else extent.ceiling):
            return None
        edit = cut(view, extent)
        after = view_after(view, (edit,)).tokens(room.counter)
        return Plan(self.name, self.excess(held, extent), view.tokens(room.counter), after, (edit,))
