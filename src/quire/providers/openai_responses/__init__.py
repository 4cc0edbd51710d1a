"""OpenAI Responses, both ways."""

from quire.providers.openai_responses.history import read_history
from quire.providers.openai_responses.reading import parse
from quire.providers.openai_responses.states import NAME
from quire.providers.openai_responses.streaming import ResponsesStream
from quire.providers.openai_responses.writing import begin
from quire.providers.wire import Wire

__all__ = ["NAME", "OpenAIResponses"]


class OpenAIResponses(Wire):
    """Items to the arguments of `client.responses.create`, and back."""

    def __init__(self) -> None:
        super().__init__(NAME, begin, parse, ResponsesStream, read_history)
