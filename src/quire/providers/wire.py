"""The four wires: each is a writer, a reader of replies and a reader of histories."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from quire.items import Item
from quire.providers.anthropic import read as anthropic, write as to_anthropic
from quire.providers.check import check
from quire.providers.gemini import read as gemini, write as to_gemini
from quire.providers.openai_chat import read as chat, write as to_chat
from quire.providers.openai_responses import read as responses, write as to_responses
from quire.providers.render import Begin, render
from quire.providers.state import ANTHROPIC, GEMINI, OPENAI, RESPONSES
from quire.providers.stream import ReplyReader
from quire.providers.types import Answer, CachePlan, Fault, Parsed, Rendered, StreamReader, answer_to
from quire.tokens import Definition


class ReadsHistory(Protocol):
    """Reads a history in the format of a wire."""

    def __call__(self, payload: Any, *, model: str | None = None) -> list[Item]:
        """The items of a payload."""
        ...


class Wire:
    """A `Provider` made of three functions. It holds no state, so one instance is as good as another."""

    def __init__(
        self,
        name: str,
        begin: Begin,
        reader: Callable[[Answer], ReplyReader],
        read: ReadsHistory,
    ) -> None:
        self.name = name
        self.read_history = read
        self._begin = begin
        self._reader = reader

    def render(
        self,
        items: Sequence[Item],
        *,
        model: str | None = None,
        tools: Sequence[Definition] = (),
        plan: CachePlan | None = None,
        strict: bool = False,
    ) -> Rendered:
        """Return the request fields for the provider's client: for Anthropic `system`, `messages`, `tools`.

        The caller passes `model` and `max_tokens` to the client. `model` selects model-specific rules here;
        None applies the rules of the wire alone, and sends back no state of a model. `plan` places cache
        breakpoints. `strict=True` raises `Downgraded` instead of losing content. A `View` is rendered
        incrementally, a list from scratch.
        """
        return render(self._begin, self.name, items, model=model, tools=tools, plan=plan, strict=strict)

    def parse(self, response: Any, *, sent: Rendered | None = None, model: str | None = None) -> Parsed:
        """Return the items and the usage of a whole response, given as JSON or as an object of the client.

        `sent` is the `Rendered` that this response answers. Without it renamed tools keep their wire names,
        and opaque state has no prefix: it is sent back until the transcript is edited, then never.
        """
        return self._reader(answer_to(sent, model)).read(response)

    def stream(self, *, sent: Rendered | None = None, model: str | None = None) -> StreamReader:
        """Return a reader for a streamed response. `sent` is as in `parse`."""
        return self._reader(answer_to(sent, model))

    def check(self, payload: Any, model: str | None = None) -> list[Fault]:
        """All that this provider would refuse in a payload."""
        return check(payload, self.name, model=model)


class OpenAIChat(Wire):
    """Items to the arguments of `client.chat.completions.create`, and back."""

    def __init__(self) -> None:
        super().__init__(OPENAI, to_chat.begin, chat.ChatReader, chat.read_history)


class OpenAIResponses(Wire):
    """Items to the arguments of `client.responses.create`, and back."""

    def __init__(self) -> None:
        super().__init__(RESPONSES, to_responses.begin, responses.ResponsesReader, responses.read_history)


class Anthropic(Wire):
    """Items to the arguments of `client.messages.create`, and back."""

    def __init__(self) -> None:
        super().__init__(ANTHROPIC, to_anthropic.begin, anthropic.MessagesReader, anthropic.read_history)


class Gemini(Wire):
    """Items to the arguments of `client.models.generate_content`, and back."""

    def __init__(self) -> None:
        super().__init__(GEMINI, to_gemini.begin, gemini.GeminiReader, gemini.read_history)
