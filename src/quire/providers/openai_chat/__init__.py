"""OpenAI Chat Completions, the wire that most other services speak too."""

from quire.providers.openai_chat.read import Stream, parse, read_history
from quire.providers.openai_chat.write import begin
from quire.providers.state import OPENAI
from quire.providers.wire import Wire

__all__ = ["OpenAIChat"]


class OpenAIChat(Wire):
    """Items to the arguments of `client.chat.completions.create`, and back."""

    def __init__(self) -> None:
        super().__init__(OPENAI, begin, parse, Stream, read_history)
