"""How models are reached: one client for each wire, over the official SDK, which is imported when needed."""

from collections.abc import Callable

from quire.models.clients.anthropic import AnthropicClient
from quire.models.clients.client import Client, Place
from quire.models.clients.google import GoogleClient
from quire.models.clients.openai import ChatClient, ResponsesClient

__all__ = ["CLIENTS", "Client", "Place"]

CLIENTS: dict[str, Callable[[Place], Client]] = {
    "openai": ChatClient,
    "openai-responses": ResponsesClient,
    "anthropic": AnthropicClient,
    "google": GoogleClient,
}
"""By what stands before the colon of a model's name. Making one imports its SDK."""
