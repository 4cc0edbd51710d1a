"""How text becomes terms: the words that a lexical index holds, and what a question asks with."""

from quire.memory.words.courtesies import asks_for_nothing
from quire.memory.words.indexing import terms
from quire.memory.words.snowball import dialect

__all__ = ["asks_for_nothing", "dialect", "terms"]
