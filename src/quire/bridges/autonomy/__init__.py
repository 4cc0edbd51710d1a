"""Autonomy's names: agents on nodes, their memory, and templates of sections with background summaries."""

from quire.bridges.autonomy.agent import Agent
from quire.bridges.autonomy.memory import Memory
from quire.bridges.autonomy.reference import AgentReference
from quire.bridges.autonomy.sections import (
    AdditionalContextSection,
    ConversationHistorySection,
    FrameworkInstructionsSection,
    SystemInstructionsSection,
)
from quire.bridges.autonomy.summarized import SummarizedHistorySection
from quire.bridges.autonomy.template import ContextTemplate
from quire.models import Model
from quire.node import Node

__all__ = [
    "AdditionalContextSection",
    "Agent",
    "AgentReference",
    "ContextTemplate",
    "ConversationHistorySection",
    "FrameworkInstructionsSection",
    "Memory",
    "Model",
    "Node",
    "SummarizedHistorySection",
    "SystemInstructionsSection",
]
