"""What changed between two contexts: for each candidate what became of it then and now."""

from typing import NamedTuple

from quire.context.context import Context
from quire.context.fates import Entry
from quire.errors import WrongType


class Change(NamedTuple):
    """One candidate that fared differently; none where it was no candidate."""

    item_id: str
    before: Entry | None
    after: Entry | None

    def __str__(self) -> str:
        then = self.before.fate if self.before else "not there"
        now = self.after.fate if self.after else "not there"
        why = self.after.reason if self.after else "it is no candidate any more"
        return f"{self.item_id}: {then} -> {now} ({why})"


def diff(before: Context, after: Context) -> list[Change]:
    """All candidates whose fate, section or size is another, in the order of the later context."""
    for context in (before, after):
        if not isinstance(context, Context):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"contexts are compared, not {type(context).__name__}")
    then = {entry.item_id: entry for entry in before.receipt.entries}
    now = {entry.item_id: entry for entry in after.receipt.entries}
    changes = [Change(item_id, then.get(item_id), entry) for item_id, entry in now.items()]
    changes += [Change(item_id, entry, None) for item_id, entry in then.items() if item_id not in now]
    return [change for change in changes if change.before != change.after]
