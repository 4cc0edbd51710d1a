"""Gemini, both ways."""

from quire.providers.gemini.history import read_history
from quire.providers.gemini.reading import AnswerReader, parse
from quire.providers.gemini.signing import NAME
from quire.providers.gemini.writing import begin
from quire.providers.wire import Wire

__all__ = ["NAME", "Gemini"]


class Gemini(Wire):
    """Items to the arguments of `client.models.generate_content`, and back."""

    def __init__(self) -> None:
        super().__init__(NAME, begin, parse, AnswerReader, read_history)
