"""The laws hold for a transcript in one piece and for one that is the last of a long line of forks."""

from tests.state.conftest import lineage

__all__ = ["lineage"]
