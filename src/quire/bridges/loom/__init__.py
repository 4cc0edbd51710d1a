"""Loom's names: tasks on a bus, four tiers of memory, knowledge, and contexts built from them."""

from quire.bridges.loom.context import (
    ContextToolExecutor,
    EstimateCounter,
    EventBusContextSource,
    MemoryContextSource,
    TaskContextManager,
    TiktokenCounter,
    TokenCounter,
    create_all_context_tools,
)
from quire.bridges.loom.memory import (
    InMemoryVectorStore,
    KnowledgeItem,
    LoomMemory,
    TaskSummary,
    VectorKnowledgeBase,
    VectorMatch,
)
from quire.bridges.loom.tasks import EventBus, MessageConverter, Task, TaskStatus

__all__ = [
    "ContextToolExecutor",
    "EstimateCounter",
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
    "TiktokenCounter",
    "TokenCounter",
    "VectorKnowledgeBase",
    "VectorMatch",
    "create_all_context_tools",
]
