"""Hermes Agent: a context engine that shortens requests, and records every message.

    # ~/.hermes/plugins/quire/__init__.py
    from quire.integrations.hermes import register

With `context.engine: quire` in its configuration, Hermes asks the engine for a shorter list of messages when
the window fills up. The engine records the whole list before it returns a shorter one.
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

_FIELDS = ("role", "content", "tool_calls", "tool_call_id")
_USAGE = {
    "input": "prompt_tokens",
    "output": "completion_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
    "reasoning": "reasoning_tokens",
}
_CHAT = provider_for("openai")


def register(ctx: Any) -> None:
    """Register the engine with Hermes; it keeps conversations in `quire.db` in the home of Hermes."""
    from hermes_constants import get_hermes_home  # type: ignore[import-not-found]

    ctx.register_context_engine(QuireEngine(get_hermes_home() / "quire.db"))


class QuireEngine(ContextEngine):  # type: ignore[misc]
    """Records each session of Hermes in the conversation named by its id, and fits its messages.

    Without a template, the messages stay below Hermes's threshold, together with its prompt and its tools.
    A `scope` may be a function of the fields with which Hermes starts a session, such as `platform` and
    `conversation_id`.
    """

    def __init__(
        self,
        store: str | Path | Store = "quire.db",
        template: Template | None = None,
        **options: Unpack[MirrorOptions],
    ) -> None:
        self._arguments = store, template, options
        self._codec = _Codec()
        self._mirrors = Mirrors(self._codec, template, store, **options)
        self._session_id, self._session_fields = "", dict[str, Any]()
        self._all_messages: list[Chat] = []  # at the last compression
        self._compressed: list[Chat] = []  # what it returned: Hermes's list begins with these
        self._has_selected = False

    def __deepcopy__(self, memo: Any) -> "QuireEngine":
        """Return an engine for another agent: it shares the store, and nothing else."""
        store, template, options = self._arguments
        engine = QuireEngine(store, template, **options)
        engine.context_length, engine.threshold_tokens = self.context_length, self.threshold_tokens
        return engine

    @property
    def name(self) -> str:
        """The value of `context.engine` for this engine."""
        return "quire"

    @property
    def session(self) -> Session:
        """The conversation of the session of Hermes, with its view, its receipts and its spending."""
        return self._mirror().session

    def on_session_start(self, session_id: str, **kwargs: Any) -> None:
        """Open the conversation of a session."""
        if self._session_id == session_id:
            return  # the session continues with a compressed list
        self._session_id, self._session_fields = session_id, kwargs
        self._clear()

    def on_session_end(self, session_id: str, messages: list[Chat]) -> None:
        """Record the last messages of a session."""
        if messages and session_id == self._session_id:
            self.on_turn_complete(messages)

    def on_session_reset(self) -> None:
        """Forget the compressed list of the session."""
        super().on_session_reset()
        self._clear()

    def on_turn_complete(self, messages: list[Chat], usage: Any = None, **kwargs: Any) -> None:
        """Record the messages of a turn."""
        self._mirror_for(self.threshold_tokens).follow(self._uncompressed(_conversation(messages)))

    def update_from_response(self, usage: dict[str, Any]) -> None:
        """Note the token usage of a request. If `select_context` chose its messages, record it too."""
        self.last_prompt_tokens = usage.get("prompt_tokens", 0)
        self.last_completion_tokens = usage.get("completion_tokens", 0)
        self.last_total_tokens = usage.get("total_tokens", 0)
        if self._has_selected and usage:
            counts = {name: int(usage.get(field) or 0) for name, field in _USAGE.items()}
            self._mirror().record([], Usage(**counts))
        self._has_selected = False

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Whether a request has reached the threshold."""
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
        """Record the messages, and return those that fit below the threshold. No model is called."""
        prompt_and_tools = max((current_tokens or 0) - estimate_messages_tokens_rough(messages), 0)
        room = max(self.threshold_tokens - prompt_and_tools, self.threshold_tokens // 4)
        everything = self._uncompressed(_conversation(messages))
        shown = self._mirror_for(room).fit(everything)
        if shown.messages != _conversation(messages):
            self.compression_count += 1
            self._all_messages, self._compressed = everything, shown.messages
        return copy.deepcopy([*_system(messages), *shown.messages])

    def select_context(
        self,
        request_messages: list[Chat],
        *,
        conversation_messages: list[Chat] | None = None,
        incoming_message: Any = None,
        budget_tokens: int = 0,
    ) -> list[Chat] | None:
        """Return the messages of one request. Hermes calls this from the release after 0.19 on."""
        everything = self._uncompressed(_conversation(request_messages))
        shown = self._mirror_for(budget_tokens or self.threshold_tokens).fit(everything)
        self._has_selected = True
        return copy.deepcopy([*_system(request_messages), *shown.messages])

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """The tool with which a model reads a result that was sent as a stub."""
        return [dict(READ_BACK)]

    def handle_tool_call(self, name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """Run the tool `read_back`."""
        if name != READ_BACK["name"]:
            return cast(str, super().handle_tool_call(name, args, **kwargs))
        try:
            mirror = self._mirror() if self._mirrors.template else self._mirror_for(self.threshold_tokens)
            answer = {"output": mirror.read_back(str(args.get("handle", "")), int(args.get("start") or 0))}
        except QuireError as error:
            answer = {"error": str(error)}
        return msgspec.json.encode(answer).decode()

    def _clear(self) -> None:
        self._all_messages, self._compressed, self._has_selected = [], [], False

    def _uncompressed(self, messages: list[Chat]) -> list[Chat]:
        """All messages of the conversation: those of the last compression, and the newer ones of Hermes."""
        compressed, identity = self._compressed, self._codec.identity
        if compressed and [*map(identity, messages[: len(compressed)])] == [*map(identity, compressed)]:
            return [*self._all_messages, *messages[len(compressed) :]]
        return messages

    def _mirror_for(self, room: int) -> Mirror[Chat]:
        """The mirror of the session, for requests of at most `room` tokens unless there is a template."""
        _, own_template, _ = self._arguments
        template = own_template or Template(History(), budget=Budget(window=max(room, 1)))
        if self._mirrors.template is None or self._mirrors.template.budget != template.budget:
            self._mirrors.refit(template)
        return self._mirror()

    def _mirror(self) -> Mirror[Chat]:
        if not self._session_id:
            raise InvalidValue("no session of Hermes has begun")
        return self._mirrors.of(self._session_id, run=self._session_fields)


def _system(messages: Sequence[Chat]) -> list[Chat]:
    """The instructions at the head of a list."""
    return list(takewhile(lambda message: message["role"] == "system", messages))


def _conversation(messages: Sequence[Chat]) -> list[Chat]:
    return list(messages[len(_system(messages)) :])


class _Codec:
    """Messages of the Chat Completions API, which Quire reads itself."""

    def identity(self, message: Chat) -> Any:
        """What a message says, without the fields that Hermes adds."""
        return [message.get(name) or None for name in _FIELDS]

    def read(self, message: Chat) -> Sequence[Item]:
        """Return the items of a message."""
        plain = {name: message[name] for name in _FIELDS if message.get(name) is not None}
        return _CHAT.read_history([plain])

    def write(self, items: Sequence[Item], origin: Chat | None) -> Chat:
        """Return a message, or a copy of the origin with other content."""
        first = items[0]
        if isinstance(first, ToolResult):
            result = {"role": "tool", "tool_call_id": first.call_id, "content": first.text}
            return {**(origin or {}), **result}
        texts = [item for item in items if isinstance(item, Message | Note | Summary)]
        text = "\n".join(text_of(content_for_model(item)) for item in texts)
        calls: list[Chat] = []
        for item in items:
            if isinstance(item, ToolCall):
                function = {"name": item.name, "arguments": item.arguments}
                calls.append({"id": item.call_id, "type": "function", "function": function})
        role = "assistant" if isinstance(first, ToolCall | Reasoning) else getattr(first, "role", "user")
        message = {**(origin or {}), "role": role, "content": text}
        message.pop("tool_calls", None)
        return {**message, "tool_calls": calls} if calls else message
