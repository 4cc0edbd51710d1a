"""Knowledge: the documents of a scope, kept in chunks beside its conversations, each source once."""

from quire.memory.knowledge.holdings import Growth
from quire.memory.knowledge.knowledge import Knowledge, Progress
from quire.memory.knowledge.records import KNOWLEDGE, is_reserved
from quire.memory.knowledge.reports import Remark, Report, Source

__all__ = ["KNOWLEDGE", "Growth", "Knowledge", "Progress", "Remark", "Report", "Source", "is_reserved"]
