"""What a merge leaves behind: what a child was told, rather than did.

That is its task, results that only closed a call for it and, where it has no past in common with the parent,
its instructions and tools: the parent has its own.
"""

from collections.abc import Callable
from typing import Final

from quire.items import ConfigChange, Item, Unknown
from quire.state.closing import is_closing
from quire.state.groups import is_edit
from quire.state.own_edits import own_ids
from quire.state.selection import Where, instructions, of_kind
from quire.state.transcript import Transcript

TASK: Final = "quire.task"
"""The key of `extras` that marks what a child was told to do, which no user of its parent said."""

_ALWAYS = Where(lambda item: is_closing(item) or TASK in item.extras)
_CONFIGURATION = instructions | of_kind(ConfigChange)


def stays_behind(parent: Transcript, child: Transcript, since: int) -> Callable[[Item], bool]:
    """A question about the child's items: whether a merge leaves it. Up to `since` the two are the same."""
    shared = since > 0 or _share_a_past(parent, child)
    return _ALWAYS if shared else _ALWAYS | _CONFIGURATION


def _share_a_past(parent: Transcript, child: Transcript) -> bool:
    """Whether the child inherited something, or the parent has nothing but what it had from the child."""
    if not len(parent) or parent.view.log.item(0).id in child:
        return True
    # What a newer version made has no mark that would tell whose it is, so it is no witness.
    recorded = [item for item in child.recorded() if not is_edit(item) and not isinstance(item, Unknown)]
    own = own_ids(parent, recorded)
    return any(item.id in parent and item.id not in own for item in recorded)
