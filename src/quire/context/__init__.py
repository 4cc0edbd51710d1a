"""Contexts: what the model sees, from templates of sections, fitted into a budget, with a receipt."""

from quire.context.context import Context, Observer as Observer, Receipt, shared_prefix as shared_prefix
from quire.context.entries import (
    VISIBLE as VISIBLE,
    Entry,
    Explained as Explained,
    Explanation as Explanation,
    NotShown as NotShown,
    Part as Part,
    fallen_out as fallen_out,
    not_shown as not_shown,
)
from quire.context.fit import Fitted, Piece, Selected as Selected, fit
from quire.context.html import budget_bar as budget_bar, receipt_html as receipt_html
from quire.context.replay import (
    KEEP_ALL as KEEP_ALL,
    POLICIES,
    USUAL_PRICES as USUAL_PRICES,
    Replay,
    compact as compact,
    known_prices as known_prices,
    replay,
    summed as summed,
)
from quire.context.shrink import LEDGER as LEDGER
from quire.context.table import (
    Line,
    receipt_rows as receipt_rows,
    receipt_table as receipt_table,
    sizes_of as sizes_of,
)
from quire.context.template import (
    DEFAULT_MODEL as DEFAULT_MODEL,
    Read as Read,
    Template,
    enabled_sections as enabled_sections,
    gather,
    gather_section as gather_section,
)
from quire.context.untrusted import untrusted_in as untrusted_in

__all__ = [
    "POLICIES",
    "Context",
    "Entry",
    "Fitted",
    "Line",
    "Piece",
    "Receipt",
    "Replay",
    "Template",
    "fit",
    "gather",
    "replay",
]
