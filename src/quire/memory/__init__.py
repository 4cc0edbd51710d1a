"""Memory of a scope: search over conversations and documents, and the section that quotes what it finds."""

from quire.memory.excerpts import Excerpt as Excerpt, term_worths as term_worths
from quire.memory.follower import IMPORTANCE as IMPORTANCE, RECALL as RECALL
from quire.memory.hits import Hit
from quire.memory.index import Index as Index
from quire.memory.knowledge import (
    Knowledge,
    Remark,
    Report,
    Source,
    files_at as files_at,
    is_reserved as is_reserved,
    on_removed as on_removed,
)
from quire.memory.leaf import KNOWLEDGE as KNOWLEDGE, Leaf
from quire.memory.memory import Memory
from quire.memory.quotes import (
    Quote as Quote,
    Quotes as Quotes,
    SelectedQuotes as SelectedQuotes,
    Shorten as Shorten,
    quote_rows as quote_rows,
)
from quire.memory.ranking import Question as Question
from quire.memory.recall import Recall, recalled
from quire.memory.tiers import Episode, Tier, checked_tiers as checked_tiers
from quire.memory.wish import Wish
from quire.memory.wishes import Wishes

__all__ = [
    "Episode",
    "Hit",
    "Knowledge",
    "Leaf",
    "Memory",
    "Recall",
    "Remark",
    "Report",
    "Source",
    "Tier",
    "Wish",
    "Wishes",
    "recalled",
]
