"""What a merge leaves behind: what a child was told, rather than did.

That is its task, its instructions and tools, and results that only closed a call for it: the parent has its
own instructions and tools, and they stay in force.
"""

from typing import Final

from quire.items import ConfigChange
from quire.state.closing import is_closing
from quire.state.selection import Where, instructions, of_kind

TASK: Final = "quire.task"
"""The key of `extras` that marks what a child was told to do, which no user of its parent said."""

stays_behind = (
    Where(lambda item: is_closing(item) or TASK in item.extras) | instructions | of_kind(ConfigChange)
)
"""Whether a merge leaves an item of the child."""
