"""The index: leaves by their words, found again by a question; one protocol, several places to keep it."""

from quire.memory.index.found import Found, Hit
from quire.memory.index.in_process import InProcess
from quire.memory.index.index import Gone, Index, Only
from quire.memory.index.opening import opened_index
from quire.memory.ranking import Question

__all__ = ["Found", "Gone", "Hit", "InProcess", "Index", "Only", "Question", "opened_index"]
