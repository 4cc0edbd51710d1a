"""OpenAI Chat Completions, the wire that most other services speak too."""

from quire.providers.openai_chat.history import read_history
from quire.providers.openai_chat.reading import parse
from quire.providers.openai_chat.states import NAME
from quire.providers.openai_chat.streaming import ChatStream
from quire.providers.openai_chat.writing import begin
from quire.providers.wire import Wire

__all__ = ["NAME", "OpenAIChat"]


class OpenAIChat(Wire):
    """Items to the arguments of `client.chat.completions.create`, and back."""

    def __init__(self) -> None:
        super().__init__(NAME, begin, parse, ChatStream, read_history)
