"""How leaves are ranked: pure arithmetic on words, places and times, the same for every index."""

from quire.memory.ranking.question import Question
from quire.memory.ranking.weights import Weights

__all__ = ["Question", "Weights"]
