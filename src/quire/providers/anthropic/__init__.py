"""Anthropic Messages."""

from quire.providers.anthropic.read import Stream, parse, read_history
from quire.providers.anthropic.write import begin
from quire.providers.state import ANTHROPIC
from quire.providers.wire import Wire

__all__ = ["Anthropic"]


class Anthropic(Wire):
    """Items to the arguments of `client.messages.create`, and back."""

    def __init__(self) -> None:
        super().__init__(ANTHROPIC, begin, parse, Stream, read_history)
