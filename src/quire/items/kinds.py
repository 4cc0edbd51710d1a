"""The kinds of item that record what happened. Edits, which change what is shown of it, are in `edits`."""

from typing import Any, Literal

import msgspec

from quire.errors import InvalidValue
from quire.items.frozen import NOTHING
from quire.items.parts import Content, Part, parts_of, text_of
from quire.items.record import FAR_FUTURE, FAR_PAST, Record
from quire.items.settle import MAX_TEXT, settle

Role = Literal["system", "developer", "user", "assistant"]
ROLES = frozenset(("system", "developer", "user", "assistant"))


class Opaque(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """State that only the model that made it can read: signatures, encrypted reasoning.

    Without data it only says whose something is. It goes back to that provider and model alone, and only
    while what came before it is unchanged; `prefix` is the digest of what that was.
    """

    provider: str
    model: str
    data: str = ""
    prefix: str | None = None

    def __post_init__(self) -> None:
        settle(self)


class Wording(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    gc=False,
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """Other words for the same message where a channel wants them: to be heard, or to be read."""

    voice: str | None = None
    reading: str | None = None

    def __post_init__(self) -> None:
        settle(self)


class Address(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """Whom a direct message is for, how much it matters (0 to 1), and the time after which it is void."""

    to: str
    priority: float | None = None
    expires_at: float | None = None

    def __post_init__(self) -> None:
        settle(self)
        if not self.to:
            raise InvalidValue("Address.to is empty")
        if self.priority is not None and not 0 <= self.priority <= 1:
            raise InvalidValue("Address.priority must be from 0 to 1")
        if self.expires_at is not None and not abs(self.expires_at) < FAR_FUTURE:
            raise InvalidValue("Address.expires_at must be seconds since 1970, in UTC")


class Message(Record, frozen=True, tag="message", gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """Something said."""

    role: Role
    content: Content
    interrupted: bool = False
    wording: Wording | None = None
    address: Address | None = None
    state: Opaque | None = None

    def __post_init__(self) -> None:
        # What nearly all messages are, in one condition without a call: it runs for every message ever made
        # or read.
        if not (
            type(content := self.content) is type(own_id := self.id) is str
            and len(content) + len(own_id) <= MAX_TEXT
            and type(role := self.role) is str
            and role in ROLES
            and self.interrupted is False
            and self.wording is None
            and self.address is None
            and self.state is None
            and self.extras is NOTHING
            and (self.agent_id is None or (type(self.agent_id) is str and len(self.agent_id) <= MAX_TEXT))
            and type(made := self.created_at) is float
            and FAR_PAST < made < FAR_FUTURE
            and own_id
        ):
            Record.__post_init__(self)

    def _check(self) -> None:
        if self.content == ():
            raise InvalidValue("Message.content has no parts")

    @property
    def text(self) -> str:
        """The words, without media."""
        return text_of(self.content)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content as a tuple of parts."""
        return parts_of(self.content)


class ToolCall(
    Record, frozen=True, tag="tool_call", gc=False, omit_defaults=True, forbid_unknown_fields=True
):
    """A model's wish to have a tool run; `arguments` is the JSON text as the model wrote it, right or not."""

    call_id: str
    name: str
    arguments: str = "{}"
    state: Opaque | None = None

    def __post_init__(self) -> None:
        if not (
            type(arguments := self.arguments) is type(call_id := self.call_id) is str
            and type(name := self.name) is type(own_id := self.id) is str
            and len(arguments) + len(call_id) + len(name) + len(own_id) <= MAX_TEXT
            and call_id
            and name
            and self.state is None
            and self.extras is NOTHING
            and (self.agent_id is None or (type(self.agent_id) is str and len(self.agent_id) <= MAX_TEXT))
            and type(made := self.created_at) is float
            and FAR_PAST < made < FAR_FUTURE
            and own_id
        ):
            Record.__post_init__(self)

    def _check(self) -> None:
        _require(self, self.call_id, self.name)


class ToolResult(
    Record, frozen=True, tag="tool_result", gc=False, omit_defaults=True, forbid_unknown_fields=True
):
    """What a tool gave back for one call."""

    call_id: str
    name: str
    content: Content
    is_error: bool = False

    def __post_init__(self) -> None:
        if not (
            type(content := self.content) is type(call_id := self.call_id) is str
            and type(name := self.name) is type(own_id := self.id) is str
            and len(content) + len(call_id) + len(name) + len(own_id) <= MAX_TEXT
            and call_id
            and name
            and type(self.is_error) is bool
            and self.extras is NOTHING
            and (self.agent_id is None or (type(self.agent_id) is str and len(self.agent_id) <= MAX_TEXT))
            and type(made := self.created_at) is float
            and FAR_PAST < made < FAR_FUTURE
            and own_id
        ):
            Record.__post_init__(self)

    def _check(self) -> None:
        _require(self, self.call_id, self.name)

    @property
    def text(self) -> str:
        """The words, without media."""
        return text_of(self.content)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content as a tuple of parts."""
        return parts_of(self.content)


class Reasoning(
    Record, frozen=True, tag="reasoning", gc=False, omit_defaults=True, forbid_unknown_fields=True
):
    """What a model thought; `state` says whose it is and holds what only that model can read."""

    text: str = ""
    state: Opaque | None = None

    @property
    def provider(self) -> str | None:
        """The provider that this belongs to."""
        return self.state.provider if self.state else None

    @property
    def model(self) -> str | None:
        """The model that this belongs to."""
        return self.state.model if self.state else None


class Handoff(Record, frozen=True, tag="handoff", gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """One agent gives the conversation to another."""

    to_agent: str
    from_agent: str | None = None
    reason: str | None = None

    def _check(self) -> None:
        if not self.to_agent:
            raise InvalidValue("Handoff.to_agent is empty")


class ConfigChange(
    Record, frozen=True, tag="config_change", gc=False, omit_defaults=True, forbid_unknown_fields=True
):
    """From here on other instructions or other tools are in force; what is left out stays as it was."""

    instructions: str | None = None
    tools: tuple[str, ...] | None = None


class Note(Record, frozen=True, tag="note", omit_defaults=True, forbid_unknown_fields=True):
    """A piece of knowledge kept at hand; with a key it belongs in the pool, without one in the transcript.

    `content` is any value. JSON values and bytes can be stored; anything else lives in memory only.
    """

    content: Any
    key: str | None = None
    description: str | None = None

    def _check(self) -> None:
        if self.key == "":
            raise InvalidValue("Note.key is empty")


def _require(item: ToolCall | ToolResult, call_id: str, name: str) -> None:
    if not call_id:
        raise InvalidValue(f"{type(item).__name__}.call_id is empty")
    if not name:
        raise InvalidValue(f"{type(item).__name__}.name is empty")
