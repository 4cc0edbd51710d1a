"""How big: counters."""

from quire.tokens.counter import Counter

__all__ = ["Counter"]
