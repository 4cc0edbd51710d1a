"""What comes back: tiers of what was said, an index that finds the evidence, documents, and recall."""

from quire.memory.answers import recalled
from quire.memory.episodes import Episode
from quire.memory.index import Hit
from quire.memory.knowledge import Knowledge
from quire.memory.leaf import Leaf
from quire.memory.memory import Memory
from quire.memory.recall import Recall
from quire.memory.tiers import Tier

__all__ = ["Episode", "Hit", "Knowledge", "Leaf", "Memory", "Recall", "Tier", "recalled"]
