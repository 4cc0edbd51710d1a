"""OpenAI Responses."""

from quire.providers.openai_responses.read import Stream, parse, read_history
from quire.providers.openai_responses.write import begin
from quire.providers.state import RESPONSES
from quire.providers.wire import Wire

__all__ = ["OpenAIResponses"]


class OpenAIResponses(Wire):
    """Items to the arguments of `client.responses.create`, and back."""

    def __init__(self) -> None:
        super().__init__(RESPONSES, begin, parse, Stream, read_history)
