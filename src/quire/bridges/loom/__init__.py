"""Loom's names: tasks on a bus, four tiers of memory, knowledge, and contexts built from them."""

from quire.bridges.loom.bus import EventBus
from quire.bridges.loom.context import TaskContextManager
from quire.bridges.loom.converting import MessageConverter
from quire.bridges.loom.counting import TokenCounter
from quire.bridges.loom.knowledge import KnowledgeItem, VectorKnowledgeBase
from quire.bridges.loom.memory import LoomMemory, TaskSummary
from quire.bridges.loom.querying import ContextToolExecutor
from quire.bridges.loom.schemas import create_all_context_tools
from quire.bridges.loom.sources import EventBusContextSource, MemoryContextSource
from quire.bridges.loom.task import Task, TaskStatus
from quire.bridges.loom.vectors import InMemoryVectorStore, VectorMatch

__all__ = [
    "ContextToolExecutor",
    "EventBus",
    "EventBusContextSource",
    "InMemoryVectorStore",
    "KnowledgeItem",
    "LoomMemory",
    "MemoryContextSource",
    "MessageConverter",
    "Task",
    "TaskContextManager",
    "TaskStatus",
    "TaskSummary",
    "TokenCounter",
    "VectorKnowledgeBase",
    "VectorMatch",
    "create_all_context_tools",
]
