"""The four wires. Each has a writer, a reader of replies and a reader of histories."""

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
from quire.providers.stream import ItemBuilder, ReplyReader, read_history
from quire.providers.tools import Tool, read_tools
from quire.providers.turns import Writer
from quire.providers.types import CachePlan, Fault, Parsed, Provider, Rendered, StreamReader, refuse_losses
from quire.providers.values import Json
from quire.tokens import Definition


@dataclass(frozen=True, eq=False, repr=False)
class Wire:
    """The provider for one wire: a writer, a reader of replies and a reader of histories."""

    name: str
    _writer: Callable[[Profile, Sequence[Tool]], Writer]
    _reader: Callable[[Rendered | None, str | None], ReplyReader]
    _add_history: Callable[[Json, ItemBuilder], None]

    def render(
        self,
        items: Sequence[Item],
        *,
        model: str | None = None,
        tools: Sequence[Definition] = (),
        plan: CachePlan | None = None,
        strict: bool = False,
    ) -> Rendered:
        sorted_tools = read_tools(tools) if tools else []
        rendered = render(self._writer, items, profile_for(self.name, model), sorted_tools, plan)
        if strict:
            refuse_losses(rendered.downgrades)
        return rendered

    def parse(self, response: Any, *, sent: Rendered | None = None, model: str | None = None) -> Parsed:
        return self._reader(sent, model).read(response)

    def stream(self, *, sent: Rendered | None = None, model: str | None = None) -> StreamReader:
        return self._reader(sent, model)

    def read_history(self, payload: Any, *, model: str | None = None) -> list[Item]:
        return read_history(self.name, self._add_history, payload, model)

    def check(self, payload: Any, model: str | None = None) -> list[Fault]:
        return check(payload, self.name, model=model)


_WIRES = (
    Wire(OPENAI, to_chat.ChatWriter, chat.ChatReader, chat.add_history),
    Wire(RESPONSES, to_responses.ResponsesWriter, responses.ResponsesReader, responses.add_history),
    Wire(ANTHROPIC, to_anthropic.MessagesWriter, anthropic.MessagesReader, anthropic.add_history),
    Wire(GEMINI, to_gemini.ContentWriter, gemini.GeminiReader, gemini.add_history),
)
PROVIDERS: dict[str, Provider] = {provider.name: provider for provider in _WIRES}
"""The providers by name."""

_WIRE_BY_WORD = {
    **{"responses": RESPONSES, "claude": ANTHROPIC, "google": GEMINI, "vertex": GEMINI, "gemini": GEMINI},
    **{"openai": OPENAI, "gpt": OPENAI, "chat": OPENAI, "azure": OPENAI},
}
"""The wire to suggest for an unknown name that contains a word; the first match counts."""


def provider_for(name: str | Provider) -> Provider:
    """The provider with this name; an object with a `render` method is returned as it is."""
    if not isinstance(name, str):
        if not callable(getattr(name, "render", None)):
            raise WrongType(f"a provider must be a name or have `render`; {type(name).__name__} has not")
        return name
    if name not in PROVIDERS:
        guess = next((wire for word, wire in _WIRE_BY_WORD.items() if word in name.lower()), None)
        hint = f" (did you mean {guess!r}?)" if guess else ""
        raise InvalidValue(f"no provider {cut(name)!r}{hint}; there are {', '.join(PROVIDERS)}")
    return PROVIDERS[name]
