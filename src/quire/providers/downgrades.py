"""What was changed or left out on the way to a wire, and why."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from quire.errors import Downgraded

Change = Literal[
    "answer_added",
    "arguments_mended",
    "empty_left_out",
    "fields_left_out",
    "id_renamed",
    "instructions_as_text",
    "instructions_moved",
    "media_as_text",
    "media_moved",
    "name_renamed",
    "reasoning_left_out",
    "result_left_out",
    "schema_mended",
    "state_foreign",
    "state_stale",
    "thoughts_left_out",
    "tools_added",
    "tools_left_out",
    "turn_added",
    "unspoken",
    "words_moved",
]
CHANGES: frozenset[str] = frozenset(get_args(Change))

HARMLESS: frozenset[Change] = frozenset(
    (
        *("empty_left_out", "fields_left_out", "id_renamed", "instructions_moved", "media_moved"),
        *("name_renamed", "schema_mended", "thoughts_left_out", "tools_added", "turn_added", "unspoken"),
        "words_moved",
    )
)
"""Changes that cost no words of the conversation: these are no error when strict.

Thoughts that a model's own service gives to be read, and takes back from nobody, are none of it.
"""


class Downgrade(NamedTuple):
    """One change: the item that it befell (none where a turn was made up), what it was, and why."""

    item_id: str | None
    change: Change
    reason: str

    def __str__(self) -> str:
        return f"{self.item_id or 'payload'}: {self.reason} ({self.change})"


def refuse_losses(downgrades: Sequence[Downgrade]) -> None:
    """Raise if anything was lost that a reader would miss."""
    lost = [downgrade for downgrade in downgrades if downgrade.change not in HARMLESS]
    if lost:
        more = f", and {len(lost) - 1} more" if len(lost) > 1 else ""
        raise Downgraded(f"the wire cannot carry all of this: {lost[0]}{more}")
