"""Anthropic Messages, both ways."""

from quire.providers.anthropic.abilities import NAME
from quire.providers.anthropic.history import read_history
from quire.providers.anthropic.reading import parse
from quire.providers.anthropic.streaming import MessageStream
from quire.providers.anthropic.writing import begin
from quire.providers.wire import Wire

__all__ = ["NAME", "Anthropic"]


class Anthropic(Wire):
    """Items to the arguments of `client.messages.create`, and back; `max_tokens` is for the caller to add."""

    def __init__(self) -> None:
        super().__init__(NAME, begin, parse, MessageStream, read_history)
