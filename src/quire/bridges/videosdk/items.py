"""VideoSDK's items other than messages: calls, outputs, handoffs and changes of configuration."""

from collections.abc import Iterable, Mapping
from typing import Any

from quire.bridges.videosdk.entry import Entry, stamp
from quire.bridges.videosdk.messages import ChatMessage
from quire.bridges.videosdk.tools import names_of
from quire.errors import WrongType
from quire.items import ConfigChange, Handoff, Item, Message, Summary, ToolCall, ToolResult
from quire.providers import base64_of


class FunctionCall(Entry[ToolCall]):
    """A model's wish to have a tool run."""

    __slots__ = ()
    type = "function_call"

    def __init__(
        self,
        *,
        name: str,
        arguments: str,
        call_id: str,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
        created_at: float | None = None,
        agent_id: str | None = None,
    ) -> None:
        common = stamp(id, created_at, agent_id, metadata=_in_text(metadata))
        self._item = ToolCall(call_id, name, arguments, **common)

    @property
    def name(self) -> str:
        """The tool."""
        return self._item.name

    @property
    def arguments(self) -> str:
        """The arguments, as the JSON that the model wrote."""
        return self._item.arguments

    @property
    def call_id(self) -> str:
        """What the output names to say which call it answers."""
        return self._item.call_id

    @property
    def metadata(self) -> dict[str, Any] | None:
        """What a provider wants back with this very call, such as Gemini's thought signature."""
        kept: dict[str, Any] | None = self._own("metadata")
        return kept

    def _fields(self) -> dict[str, Any]:
        fields = {"name": self.name, "arguments": self.arguments, "call_id": self.call_id}
        return fields | {"metadata": self.metadata}


class FunctionCallOutput(Entry[ToolResult]):
    """What a tool gave back."""

    __slots__ = ()
    type = "function_call_output"

    def __init__(
        self,
        *,
        name: str,
        output: str,
        call_id: str,
        is_error: bool = False,
        id: str | None = None,
        created_at: float | None = None,
        agent_id: str | None = None,
    ) -> None:
        self._item = ToolResult(call_id, name, output, is_error, **stamp(id, created_at, agent_id))

    @property
    def name(self) -> str:
        """The tool."""
        return self._item.name

    @property
    def output(self) -> str:
        """What it gave, in words."""
        return self._item.text

    @property
    def call_id(self) -> str:
        """The call that it answers."""
        return self._item.call_id

    @property
    def is_error(self) -> bool:
        """Whether the tool failed."""
        return self._item.is_error

    def _fields(self) -> dict[str, Any]:
        fields = {"name": self.name, "output": self.output, "call_id": self.call_id}
        return fields | {"is_error": self.is_error}


class AgentHandoff(Entry[Handoff]):
    """One agent gives the conversation to another."""

    __slots__ = ()
    type = "agent_handoff"

    def __init__(
        self,
        *,
        to_agent: str,
        from_agent: str | None = None,
        reason: str | None = None,
        id: str | None = None,
        created_at: float | None = None,
        agent_id: str | None = None,
    ) -> None:
        self._item = Handoff(to_agent, from_agent, reason, **stamp(id, created_at, agent_id))

    @property
    def to_agent(self) -> str:
        """Who takes over."""
        return self._item.to_agent

    @property
    def from_agent(self) -> str | None:
        """Who gave it away."""
        return self._item.from_agent

    @property
    def reason(self) -> str | None:
        """Why."""
        return self._item.reason

    def _fields(self) -> dict[str, Any]:
        return {"from_agent": self.from_agent, "to_agent": self.to_agent, "reason": self.reason}


class AgentConfigUpdate(Entry[ConfigChange]):
    """From here on other instructions or other tools are in force; what is left out stays as it was."""

    __slots__ = ()
    type = "agent_config_update"

    def __init__(
        self,
        *,
        instructions: str | None = None,
        tools: Iterable[object] | None = None,
        id: str | None = None,
        created_at: float | None = None,
        agent_id: str | None = None,
    ) -> None:
        names = None if tools is None else names_of(tools)
        self._item = ConfigChange(instructions, names, **stamp(id, created_at, agent_id))

    @property
    def instructions(self) -> str | None:
        """The instructions from here on."""
        return self._item.instructions

    @property
    def tools(self) -> list[str] | None:
        """The names of the tools from here on."""
        return None if self._item.tools is None else list(self._item.tools)

    def _fields(self) -> dict[str, Any]:
        return {"instructions": self.instructions, "tools": self.tools}


def _in_text(metadata: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What comes with a call, fit for JSON: a signature that a client gave as bytes is kept in base64."""
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"metadata is a dictionary, not {type(metadata).__name__}")
    return {key: base64_of(value) if isinstance(value, bytes) else value for key, value in metadata.items()}


ChatItem = ChatMessage | FunctionCall | FunctionCallOutput | AgentHandoff | AgentConfigUpdate
KINDS: tuple[type[ChatItem], ...] = (
    *(ChatMessage, FunctionCall, FunctionCallOutput),
    *(AgentHandoff, AgentConfigUpdate),
)


def shown_as(item: Item) -> ChatItem | None:
    """An item of the engine under its name here; none for kinds that VideoSDK has no name for."""
    match item:
        case Message() | Summary():
            return ChatMessage.over(item)
        case ToolCall():
            return FunctionCall.over(item)
        case ToolResult():
            return FunctionCallOutput.over(item)
        case Handoff():
            return AgentHandoff.over(item)
        case ConfigChange():
            return AgentConfigUpdate.over(item)
        case _:
            return None
