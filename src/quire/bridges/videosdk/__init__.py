"""VideoSDK Agents' names: `ChatContext`, its items, and what converts it for OpenAI, Anthropic and Google."""

from quire.bridges.videosdk.context import ChatContext, ReadOnlyChatContext
from quire.bridges.videosdk.items import (
    AgentConfigUpdate,
    AgentHandoff,
    ChatContent,
    ChatItem,
    ChatMessage,
    ChatRole,
    FunctionCall,
    FunctionCallOutput,
    ImageContent,
)

__all__ = [
    "AgentConfigUpdate",
    "AgentHandoff",
    "ChatContent",
    "ChatContext",
    "ChatItem",
    "ChatMessage",
    "ChatRole",
    "FunctionCall",
    "FunctionCallOutput",
    "ImageContent",
    "ReadOnlyChatContext",
]
