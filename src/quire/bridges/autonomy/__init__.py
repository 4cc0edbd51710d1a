"""Autonomy's names: agents on nodes, their memory, and templates of sections with background summaries."""

from quire.bridges.autonomy.agent import (
    Agent,
    AgentReference,
    FrameworkInstructionsSection,
    create_default_template,
)
from quire.bridges.autonomy.messages import Memory, system_message
from quire.bridges.autonomy.models import Model
from quire.bridges.autonomy.sections import (
    AdditionalContextSection,
    ContextSection,
    ContextTemplate,
    ConversationHistorySection,
    SummarizedHistorySection,
    SystemInstructionsSection,
)
from quire.node import Node

__all__ = [
    "AdditionalContextSection",
    "Agent",
    "AgentReference",
    "ContextSection",
    "ContextTemplate",
    "ConversationHistorySection",
    "FrameworkInstructionsSection",
    "Memory",
    "Model",
    "Node",
    "SummarizedHistorySection",
    "SystemInstructionsSection",
    "create_default_template",
    "system_message",
]
