"""VideoSDK Agents' names: `ChatContext`, its items, and what converts it for OpenAI, Anthropic and Google."""

from quire.bridges.videosdk.contents import ChatContent, ImageContent
from quire.bridges.videosdk.context import ChatContext
from quire.bridges.videosdk.items import (
    AgentConfigUpdate,
    AgentHandoff,
    ChatItem,
    FunctionCall,
    FunctionCallOutput,
)
from quire.bridges.videosdk.messages import ChatMessage, ChatRole
from quire.bridges.videosdk.readonly import ReadOnlyChatContext

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
