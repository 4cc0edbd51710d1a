"""The four wires: each is a writer, a reader of replies and a reader of histories."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from quire.errors import InvalidValue, WrongType, cut
from quire.items import Item
from quire.providers.anthropic import read as anthropic, write as to_anthropic
from quire.providers.check import check
from quire.providers.gemini import read as gemini, write as to_gemini
from quire.providers.openai_chat import read as chat, write as to_chat
from quire.providers.openai_responses import read as responses, write as to_responses
from quire.providers.profiles import Profile, profile_for
from quire.providers.render import render
from quire.providers.state import ANTHROPIC, GEMINI, OPENAI, RESPONSES
from quire.providers.stream import Items, ReplyReader, read_history
from quire.providers.tools import Tool, read_tools
from quire.providers.turns import Writer
from quire.providers.types import CachePlan, Fault, Parsed, Rendered, StreamReader, refuse_losses
from quire.providers.values import Json
from quire.tokens import Definition


@dataclass(frozen=True, eq=False, repr=False)
class Provider:
    """A two-way codec for one wire: its writer, and its readers of replies and of histories."""

    name: str
    _writer: Callable[[Profile, Sequence[Tool]], Writer]
    _reader: Callable[[Rendered | None, str | None], ReplyReader]
    _add_history: Callable[[Json, Items], None]

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
        read = read_tools(tools) if tools else []
        rendered = render(self._writer, items, profile_for(self.name, model), read, plan)
        if strict:
            refuse_losses(rendered.downgrades)
        return rendered

    def parse(self, response: Any, *, sent: Rendered | None = None, model: str | None = None) -> Parsed:
        """Return the items and the usage of a whole response, given as JSON or as an object of the client.

        `sent` is the `Rendered` that this response answers. Without it renamed tools keep their wire names,
        and opaque state has no prefix: it is sent back until the transcript is edited, then never.
        """
        return self._reader(sent, model).read(response)

    def stream(self, *, sent: Rendered | None = None, model: str | None = None) -> StreamReader:
        """Return a reader for a streamed response. `sent` is as in `parse`."""
        return self._reader(sent, model)

    def read_history(self, payload: Any, *, model: str | None = None) -> list[Item]:
        """A list of messages, or a whole payload, as items. `model` is the model that made its state."""
        return read_history(self.name, self._add_history, payload, model)

    def check(self, payload: Any, model: str | None = None) -> list[Fault]:
        """All that this provider would refuse in a payload."""
        return check(payload, self.name, model=model)


_WIRES = (
    Provider(OPENAI, to_chat.ChatWriter, chat.ChatReader, chat.add_history),
    Provider(RESPONSES, to_responses.ResponsesWriter, responses.ResponsesReader, responses.add_history),
    Provider(ANTHROPIC, to_anthropic.MessagesWriter, anthropic.MessagesReader, anthropic.add_history),
    Provider(GEMINI, to_gemini.ContentWriter, gemini.GeminiReader, gemini.add_history),
)
PROVIDERS: dict[str, Provider] = {provider.name: provider for provider in _WIRES}
"""The wires by name. The laws of rendering and reading run on each."""


def provider_for(name: str | Provider) -> Provider:
    """The wire of this name; an object that can render is returned as it is."""
    if not isinstance(name, str):
        if not callable(getattr(name, "render", None)):
            raise WrongType(f"a provider is a name or an object that can `render`, not {type(name).__name__}")
        return name
    if name not in PROVIDERS:
        raise InvalidValue(f"no provider {cut(name)!r}; there are {', '.join(PROVIDERS)}")
    return PROVIDERS[name]
