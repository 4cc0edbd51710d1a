"""VideoSDK's items, and their conversion to and from items of the engine.

Fields that the engine's items do not have are in their `extras`, under one key.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Literal, Self, cast

from quire.errors import InvalidValue, WrongType
from quire.items import (
    Audio,
    ConfigChange,
    Content,
    File,
    Handoff,
    Image,
    Item,
    Message,
    Part,
    Summary,
    ToolCall,
    ToolResult,
    Wording,
    freeze,
    new_id,
    now,
)
from quire.providers import base64_of, media_type
from quire.tokens import described

CONVERSATION_HEADING, SUB_AGENT_HEADING = "[Conversation Summary]\n", "[Sub-agent Summary]\n"
_EXTRAS_KEY = "videosdk"

# Contents


@dataclass(frozen=True)
class ImageContent:
    """An image: an address, a `data:` address, or the bytes of a file, which become a `data:` address."""

    image: str | bytes
    inference_detail: Literal["auto", "low", "high"] = "auto"

    def __post_init__(self) -> None:
        if isinstance(self.image, bytes):
            object.__setattr__(self, "image", _data_url(Image(data=self.image)))

    def model_dump(self) -> dict[str, Any]:
        """The image as plain values."""
        return {"type": "image", "image": self.image, "inference_detail": self.inference_detail}


ChatContent = str | ImageContent
"""A part of a message: a text or an image."""


def _data_url(image: Image) -> str:
    kind = media_type(image)
    if kind is None:
        raise InvalidValue("the bytes are not an image of a known kind")
    return f"data:{kind};base64,{base64_of(image.data or b'')}"


def _read_content(part: object) -> ChatContent:
    """A part of some content, in which a saved image is a dictionary."""
    if isinstance(part, Mapping):
        saved = cast("Mapping[str, Any]", part)
        if saved.get("type") != "image" or "image" not in saved:
            raise InvalidValue("a part of a content must be a text, or an image with 'type' and 'image'")
        return ImageContent(saved["image"], saved.get("inference_detail", "auto"))
    if not isinstance(part, str | ImageContent):
        raise WrongType(f"content must consist of texts and images, not {type(part).__name__}")
    return part


# Items


class ChatRole(StrEnum):
    """The speaker of a message. Calls of tools and their outputs are items of their own."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, kw_only=True)
class _Common:
    """The fields that all items have. An item cannot change; `model_copy` makes a changed copy."""

    type: ClassVar[str]
    id: str = field(default_factory=new_id)
    created_at: float = field(default_factory=now)
    agent_id: str | None = None

    def model_dump(self) -> dict[str, Any]:
        """The item as plain values."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"type": self.type, **values}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some fields changed. Every copy is deep."""
        return dataclasses.replace(self, **(update or {}))

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, kw_only=True)
class ChatMessage(_Common):
    """A message. With `extra["summary"]` it is a summary, which the engine records as a `Summary`."""

    type = "message"
    role: ChatRole
    content: str | list[ChatContent]
    interrupted: bool = False
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    confidence: float | None = None
    metrics: Any = None
    audio_instructions: str | None = None
    text_instructions: str | None = None

    def __post_init__(self) -> None:
        self._set(role=ChatRole(self.role), extra=freeze(dict(self.extra)))
        if not isinstance(self.content, str):
            self._set(content=freeze([_read_content(part) for part in self.content]))

    def model_dump(self) -> dict[str, Any]:
        """The message as plain values."""
        parts = [part if isinstance(part, str) else part.model_dump() for part in self.content]
        return super().model_dump() | {"content": self.content if isinstance(self.content, str) else parts}


@dataclass(frozen=True, kw_only=True)
class FunctionCall(_Common):
    """A call of a tool by a model. `metadata` is sent back to the provider with the call."""

    type = "function_call"
    name: str
    arguments: str
    call_id: str
    metadata: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.metadata is not None:
            pairs = self.metadata.items()
            plain = {name: base64_of(value) if isinstance(value, bytes) else value for name, value in pairs}
            self._set(metadata=freeze(plain))


@dataclass(frozen=True, kw_only=True)
class FunctionCallOutput(_Common):
    """The output of a tool."""

    type = "function_call_output"
    name: str
    output: str
    call_id: str
    is_error: bool = False


@dataclass(frozen=True, kw_only=True)
class AgentHandoff(_Common):
    """One agent hands the conversation to another."""

    type = "agent_handoff"
    to_agent: str
    from_agent: str | None = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class AgentConfigUpdate(_Common):
    """New instructions or tools from here on. `None` changes nothing."""

    type = "agent_config_update"
    instructions: str | None = None
    tools: list[str] | None = None

    def __post_init__(self) -> None:
        self._set(tools=None if self.tools is None else freeze(tool_names(self.tools)))


ChatItem = ChatMessage | FunctionCall | FunctionCallOutput | AgentHandoff | AgentConfigUpdate
"""Any item of a chat context."""


def tool_names(tools: Iterable[object]) -> list[str]:
    """The names of tools, which may be names, functions, or objects with a name."""
    if isinstance(tools, str):
        raise WrongType("tools must be a list of names or of tools, not a text")
    return [_tool_name(tool) for tool in tools]


def _tool_name(tool: Any) -> str:
    if isinstance(tool, str):
        return tool
    info = getattr(tool, "_tool_info", tool)  # set by the framework's decorator
    name = getattr(info, "name", None) or getattr(info, "__name__", None)
    if not isinstance(name, str):
        raise WrongType(f"a tool must be a name or have one; this {type(tool).__name__} has none")
    return name


# To the engine


def to_engine(item: object) -> Item:
    """The item as an item of the engine."""
    match item:
        case ChatMessage():
            return _message_to_engine(item)
        case FunctionCall():
            common = _engine_fields(item, metadata=item.metadata)
            return ToolCall(item.call_id, item.name, item.arguments, **common)
        case FunctionCallOutput():
            return ToolResult(item.call_id, item.name, item.output, item.is_error, **_engine_fields(item))
        case AgentHandoff():
            return Handoff(item.to_agent, item.from_agent, item.reason, **_engine_fields(item))
        case AgentConfigUpdate():
            tools = None if item.tools is None else tuple(item.tools)
            return ConfigChange(item.instructions, tools, **_engine_fields(item))
        case _:
            raise WrongType(f"a chat context takes chat items, not {type(item).__name__}")


def _engine_fields(item: _Common, **ours: Any) -> dict[str, Any]:
    present = {name: value for name, value in ours.items() if value is not None}
    extras = {"extras": {_EXTRAS_KEY: present}} if present else {}
    return {"id": item.id, "created_at": item.created_at, "agent_id": item.agent_id} | extras


def _message_to_engine(message: ChatMessage) -> Message | Summary:
    is_text = isinstance(message.content, str) or None
    common = _engine_fields(
        message,
        is_text=is_text,
        extra=message.extra or None,
        confidence=message.confidence,
        metrics=message.metrics,
    )
    content = _content_to_engine(message.content)
    is_summary = message.extra.get("summary") and message.role is ChatRole.ASSISTANT
    if is_summary and isinstance(content, str) and content.strip() and not message.interrupted:
        return Summary(content, **common)
    spoken, written = message.audio_instructions, message.text_instructions
    wording = None if spoken is None and written is None else Wording(voice=spoken, reading=written)
    return Message(message.role.value, content, message.interrupted, wording, **common)


def _content_to_engine(content: str | list[ChatContent]) -> Content:
    if isinstance(content, str):
        return content
    parts = [
        part if isinstance(part, str) else Image(url=cast("str", part.image), detail=part.inference_detail)
        for part in content
    ]
    if not parts:
        return ""
    return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else tuple(parts)


# From the engine


def from_engine(item: Item) -> ChatItem | None:
    """The item as an item of this framework; `None` for kinds that the framework does not have."""
    common: dict[str, Any] = {"id": item.id, "created_at": item.created_at, "agent_id": item.agent_id}
    ours: Mapping[str, Any] = item.extras.get(_EXTRAS_KEY, {})
    match item:
        case Message():
            return _message_from_engine(item, common, ours)
        case Summary():
            # A summary that a caller added has a heading already; one that the engine wrote gets one here.
            text = item.text if "extra" in ours else CONVERSATION_HEADING + item.text
            return _message_from_engine(
                Message("assistant", text), common, {"extra": {"summary": True}, **ours}
            )
        case ToolCall(call_id, name, arguments):
            metadata = ours.get("metadata")
            return FunctionCall(name=name, arguments=arguments, call_id=call_id, metadata=metadata, **common)
        case ToolResult(call_id, name):
            return FunctionCallOutput(
                name=name, output=item.text, call_id=call_id, is_error=item.is_error, **common
            )
        case Handoff(to_agent, from_agent, reason):
            return AgentHandoff(to_agent=to_agent, from_agent=from_agent, reason=reason, **common)
        case ConfigChange(instructions, tools):
            names = None if tools is None else list(tools)
            return AgentConfigUpdate(instructions=instructions, tools=names, **common)
        case _:
            return None


def _message_from_engine(message: Message, common: dict[str, Any], ours: Mapping[str, Any]) -> ChatMessage:
    content, wording = message.content, message.wording or Wording()
    is_text = isinstance(content, str) and "is_text" in ours
    return ChatMessage(
        role=ChatRole(message.role),
        content=message.text if is_text else [_part_from_engine(part) for part in message.parts],
        interrupted=message.interrupted,
        extra=ours.get("extra", {}),
        confidence=ours.get("confidence"),
        metrics=ours.get("metrics"),
        audio_instructions=wording.voice,
        text_instructions=wording.reading,
        **common,
    )


def _part_from_engine(part: Part) -> ChatContent:
    if isinstance(part, Image):
        return ImageContent(part.url or _data_url(part), part.detail)
    return described(part) if isinstance(part, Audio | File) else part
