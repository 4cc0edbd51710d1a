"""Autonomy's model, and users' own models for summaries."""

from collections.abc import Sequence
from typing import Any, Unpack

from quire.bridges.autonomy.messages import messages_of
from quire.bridges.kit import reply_text
from quire.errors import InvalidValue
from quire.items import Item, Message
from quire.models import Answering, AnyModel, Asks, ChatReply, Model as EngineModel, Terms, model_of
from quire.providers import CachePlan, Parsed, Rendered
from quire.tokens import Definition, whole

DEFAULT = "claude-sonnet-4-v1"
"""The model of an agent that is started without one."""

_ENGINE_OPTIONS = ("base_url", "api_key", "timeout", "retries", "client", "answer_schema")


class Model(EngineModel):
    """A model by name. `max_tokens` limits each answer.

    `base_url`, `api_key`, `timeout`, `retries` and `client` are options of the engine's `Model`. All other
    options are sent with every request.
    """

    def __init__(self, name: str, *, max_tokens: int | None = None, **options: Any) -> None:
        engine_options = {name: options.pop(name) for name in _ENGINE_OPTIONS if name in options}
        super().__init__(name, options=options, **engine_options)
        self.max_tokens = None if max_tokens is None else whole(max_tokens, "max_tokens", least=1)

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Unpack[Terms]) -> Answering:
        """Send a payload, and return the answer."""
        if terms.get("max_tokens") is None and self.max_tokens is not None:
            terms["max_tokens"] = self.max_tokens
        return super().send(rendered, stream=stream, **terms)


class _Writer(Asks):
    """An object with `complete_chat`, as a model that only writes summaries."""

    wire = "openai"

    def __init__(self, chat: Any) -> None:
        self._chat = chat
        self.name = str(getattr(chat, "name", None) or type(chat).__name__)

    async def ask(
        self,
        items: Sequence[Item],
        *,
        tools: Sequence[Definition] = (),
        plan: CachePlan | None = None,
        **terms: Unpack[Terms],
    ) -> Parsed:
        """The answer of `complete_chat`; `WrongType` if it has no text."""
        size = terms.get("max_tokens")
        options: dict[str, Any] = {} if size is None else {"max_tokens": size}
        reply = await self._chat.complete_chat([dict(message) for message in messages_of(items)], **options)
        if isinstance(reply, ChatReply):
            return reply.parsed
        return Parsed((Message("assistant", await reply_text(reply)),), model=self.name)

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Unpack[Terms]) -> Answering:
        """Raise `InvalidValue`: `complete_chat` takes messages, and an agent sends payloads."""
        raise InvalidValue(f"{self.name} writes summaries: an agent needs a Model")


def writer_of(model: Any) -> AnyModel:
    """A model that writes summaries, from a model, its name, or an object with `complete_chat`."""
    is_chat = not isinstance(model, type) and callable(getattr(model, "complete_chat", None))
    if is_chat and not callable(getattr(model, "send", None)):
        return _Writer(model)
    return agent_model(model, "the model of a summarized history")


def agent_model(model: Any, subject: str = "the model of an agent") -> AnyModel:
    """The model of an agent, from a model, its name, or `None` for the default."""
    return model_of(DEFAULT if model is None else model, subject)
