"""Compactors: how a conversation shrinks. They plan, and `record` applies a plan.

A compactor is pure. It acts above a ceiling and goes down to a floor at once, because each change of the
beginning makes a provider read a conversation again. A summary is requested, for a model to write.
"""

from quire.compactors.fields import call_key as call_key
from quire.compactors.ledger import (
    LEDGER as LEDGER,
    Evidence as Evidence,
    Pointer as Pointer,
    is_short_form as is_short_form,
    ledger_of as ledger_of,
    no_pointer as no_pointer,
    only_reads as only_reads,
    short_form as short_form,
)
from quire.compactors.plan import (
    FORCED as FORCED,
    FORCED_REASON as FORCED_REASON,
    TOO_LONG as TOO_LONG,
    Cascade,
    Compactor,
    Outcome,
    Plan,
    Request,
    Room,
    checked_compactor as checked_compactor,
    plan_around_undone,
    record,
)
from quire.compactors.regret import Regret as Regret, regrets_in as regrets_in, shown_again as shown_again
from quire.compactors.results import (
    CLEARED,
    HANDLE as HANDLE,
    HANDLE_DIGITS as HANDLE_DIGITS,
    READ_BACK,
    ClearToolResults,
    Offload,
    handle_for as handle_for,
    kept_under as kept_under,
    number_handle as number_handle,
    read_back,
)
from quire.compactors.summarize import (
    CONVERSATION as CONVERSATION,
    Summarize,
    item_text as item_text,
    part_text as part_text,
    summary_prompt,
    transcript_text,
)
from quire.compactors.truncate import MESSAGES as MESSAGES, TruncateOldest, leaving_out

__all__ = [
    "CLEARED",
    "READ_BACK",
    "Cascade",
    "ClearToolResults",
    "Compactor",
    "Offload",
    "Outcome",
    "Plan",
    "Request",
    "Room",
    "Summarize",
    "TruncateOldest",
    "leaving_out",
    "plan_around_undone",
    "read_back",
    "record",
    "summary_prompt",
    "transcript_text",
]
