"""Gemini."""

from quire.providers.gemini.read import Stream, parse, read_history
from quire.providers.gemini.write import begin
from quire.providers.state import GEMINI
from quire.providers.wire import Wire

__all__ = ["Gemini"]


class Gemini(Wire):
    """Items to the arguments of `client.models.generate_content`, and back."""

    def __init__(self) -> None:
        super().__init__(GEMINI, begin, parse, Stream, read_history)
