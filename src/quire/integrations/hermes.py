"""Hermes Agent: a context engine that shortens what is sent, and keeps all that was said.

    # ~/.hermes/plugins/quire/__init__.py
    from quire.integrations.hermes import register

With `context.engine: quire` in its configuration, Hermes asks the engine for a shorter list of messages when
the window fills up. Before it returns one, the engine records the whole list.
"""

# pyright: basic, reportMissingImports=false

import copy
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, Unpack, cast

import msgspec

from quire.compactors import READ_BACK
from quire.context import Template
from quire.errors import InvalidValue, MissingExtra, QuireError
from quire.integrations.mirror import Mirror, MirrorOptions, Mirrors
from quire.items import Item, Message, Note, Reasoning, Summary, ToolCall, ToolResult, text_of
from quire.providers import content_for_model, provider_for
from quire.sections import History
from quire.session import Session
from quire.stores import Store
from quire.tokens import Budget, Usage

try:
    from agent.context_engine import ContextEngine
    from agent.model_metadata import estimate_messages_tokens_rough
except ImportError:
    raise MissingExtra("Hermes Agent", "hermes") from None

__all__ = ["QuireEngine", "register"]

Chat = dict[str, Any]
"""A message of the Chat Completions API, with fields of Hermes."""

_SAID = ("role", "content", "tool_calls", "tool_call_id")
_USAGE = {"input": "prompt_tokens", "output": "completion_tokens"} | {
    name: f"{name}_tokens" for name in ("cache_read", "cache_write", "reasoning")
}
_CHAT = provider_for("openai")


def register(ctx: Any) -> None:
    """Register the engine with Hermes; it keeps conversations in `quire.db` in the home of Hermes."""
    from hermes_constants import get_hermes_home  # type: ignore[import-not-found]

    ctx.register_context_engine(QuireEngine(get_hermes_home() / "quire.db"))


class QuireEngine(ContextEngine):  # type: ignore[misc]
    """Keeps each session of Hermes in the conversation of its id, and fits its messages.

    Without a template, the messages get the room that the threshold of Hermes leaves beside its prompt and
    tools. A `scope` may be a function of what Hermes tells at the start of a session, such as its `platform`
    and `conversation_id`.
    """

    def __init__(
        self,
        store: str | Path | Store = "quire.db",
        template: Template | None = None,
        **options: Unpack[MirrorOptions],
    ) -> None:
        self._given_as = store, template, options
        self._codec = _Codec()
        self._mirrors = Mirrors(self._codec, template, store, **options)
        self._session_id, self._told = "", dict[str, Any]()
        self._whole: list[Chat] = []  # all messages, of which Hermes goes on with some:
        self._given: list[Chat] = []
        self._has_selected = False

    def __deepcopy__(self, memo: Any) -> "QuireEngine":
        """Return an engine for another agent: it shares the store, and nothing else."""
        store, template, options = self._given_as
        twin = QuireEngine(store, template, **options)
        twin.context_length, twin.threshold_tokens = self.context_length, self.threshold_tokens
        return twin

    @property
    def name(self) -> str:
        """What `context.engine` is set to."""
        return "quire"

    @property
    def session(self) -> Session:
        """The conversation of the session of Hermes, with its view, its receipts and its spending."""
        return self._mirror().session

    def on_session_start(self, session_id: str, **kwargs: Any) -> None:
        """Open the conversation of a session."""
        if self._session_id == session_id:
            return  # Hermes has taken over a shorter list, and goes on
        self._session_id, self._told = session_id, kwargs
        self._forget()

    def on_session_end(self, session_id: str, messages: list[Chat]) -> None:
        """Record what was said since the last time."""
        if messages and session_id == self._session_id:
            self.on_turn_complete(messages)

    def on_session_reset(self) -> None:
        """Begin anew."""
        super().on_session_reset()
        self._forget()

    def on_turn_complete(self, messages: list[Chat], usage: Any = None, **kwargs: Any) -> None:
        """Record the messages of a turn."""
        self._following(self.threshold_tokens).follow(self._whole_of(_conversation(messages)))

    def update_from_response(self, usage: dict[str, Any]) -> None:
        """Take in what a request used; if its messages were selected here, it is recorded."""
        self.last_prompt_tokens = usage.get("prompt_tokens", 0)
        self.last_completion_tokens = usage.get("completion_tokens", 0)
        self.last_total_tokens = usage.get("total_tokens", 0)
        if self._has_selected and usage:
            counts = {name: int(usage.get(field) or 0) for name, field in _USAGE.items()}
            self._mirror().record([], Usage(**counts))
        self._has_selected = False

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Whether a request has come to the threshold."""
        tokens = self.last_prompt_tokens if prompt_tokens is None else prompt_tokens
        return bool(0 < self.threshold_tokens <= tokens)

    def compress(
        self,
        messages: list[Chat],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        force: bool = False,
        memory_context: str = "",
    ) -> list[Chat]:
        """Record the messages, and return those that fit below the threshold. No model is asked."""
        beside = max((current_tokens or 0) - estimate_messages_tokens_rough(messages), 0)
        before, whole = _system(messages), self._whole_of(_conversation(messages))
        shown = self._following(max(self.threshold_tokens - beside, self.threshold_tokens // 4)).fit(whole)
        if len(shown.messages) < len(messages) - len(before) or shown.messages != _conversation(messages):
            self.compression_count += 1
            self._whole, self._given = whole, shown.messages
        return copy.deepcopy([*before, *shown.messages])

    def select_context(
        self,
        request_messages: list[Chat],
        *,
        conversation_messages: list[Chat] | None = None,
        incoming_message: Any = None,
        budget_tokens: int = 0,
    ) -> list[Chat] | None:
        """Return the messages of one request. Releases of Hermes up to 0.19 do not ask for them."""
        whole = self._whole_of(_conversation(request_messages))
        shown = self._following(budget_tokens or self.threshold_tokens).fit(whole)
        self._has_selected = True
        return copy.deepcopy([*_system(request_messages), *shown.messages])

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """The tool by which a model reads a result that was sent as a stub."""
        return [dict(READ_BACK)]

    def handle_tool_call(self, name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """Read a result that was sent as a stub."""
        if name != READ_BACK["name"]:
            return cast(str, super().handle_tool_call(name, args, **kwargs))
        try:
            mirror = self._mirror() if self._mirrors.template else self._following(self.threshold_tokens)
            found = {"output": mirror.read_back(str(args.get("handle", "")), int(args.get("start") or 0))}
        except QuireError as error:
            found = {"error": str(error)}
        return msgspec.json.encode(found).decode()

    def _forget(self) -> None:
        self._whole, self._given, self._has_selected = [], [], False

    def _whole_of(self, messages: list[Chat]) -> list[Chat]:
        """All messages of the conversation, where Hermes has those that it was given and then new ones."""
        given, same = self._given, self._codec.identity
        if given and [*map(same, messages[: len(given)])] == [*map(same, given)]:
            return [*self._whole, *messages[len(given) :]]
        return messages

    def _following(self, room: int) -> Mirror[Chat]:
        """The mirror of the session, for requests of a size."""
        template = self._given_as[1] or Template(History(), budget=Budget(window=max(room, 1)))
        if self._mirrors.template is None or self._mirrors.template.budget != template.budget:
            self._mirrors.refit(template)
        return self._mirror()

    def _mirror(self) -> Mirror[Chat]:
        if not self._session_id:
            raise InvalidValue("no session of Hermes has begun")
        return self._mirrors.of(self._session_id, known=self._told)


def _system(messages: Sequence[Chat]) -> list[Chat]:
    """The instructions at the head of a list."""
    return list(takewhile(lambda one: one["role"] == "system", messages))


def _conversation(messages: Sequence[Chat]) -> list[Chat]:
    return list(messages[len(_system(messages)) :])


class _Codec:
    """Messages of the Chat Completions API, which Quire reads itself."""

    def identity(self, message: Chat) -> Any:
        """A message is the same if it says the same: Hermes adds fields of its own."""
        return [message.get(name) or None for name in _SAID]

    def read(self, message: Chat) -> Sequence[Item]:
        """Return the items of a message."""
        said = {name: message[name] for name in _SAID if message.get(name) is not None}
        return _CHAT.read_history([said])

    def write(self, items: Sequence[Item], origin: Chat | None) -> Chat:
        """Return a message, or a copy of one with other content."""
        first = items[0]
        if isinstance(first, ToolResult):
            result = {"role": "tool", "tool_call_id": first.call_id, "content": first.text}
            return {**(origin or {}), **result}
        said = [one for one in items if isinstance(one, Message | Note | Summary)]
        text = "\n".join(text_of(content_for_model(one)) for one in said)
        calls = [
            {
                "id": one.call_id,
                "type": "function",
                "function": {"name": one.name, "arguments": one.arguments},
            }
            for one in items
            if isinstance(one, ToolCall)
        ]
        role = "assistant" if isinstance(first, ToolCall | Reasoning) else getattr(first, "role", "user")
        message = {**(origin or {}), "role": role, "content": text}
        message.pop("tool_calls", None)
        return {**message, "tool_calls": calls} if calls else message
