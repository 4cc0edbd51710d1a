"""VideoSDK's items. Each is frozen, and holds the item of the engine that it stands for.

What the engine has no field for is in the `extras` of its item under one key.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar, Literal, NoReturn, Self, cast

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
    text_of,
)
from quire.providers import base64_of, media_type
from quire.tokens import described

CONVERSATION, SUB_AGENT = "[Conversation Summary]\n", "[Sub-agent Summary]\n"
_OURS = "videosdk"

# Contents


@dataclass(frozen=True)
class ImageContent:
    """An image: an address, a `data:` address, or the bytes of a file, which become one."""

    image: str | bytes
    inference_detail: Literal["auto", "low", "high"] = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "image", _address(self.image))

    @property
    def part(self) -> Image:
        """The image as a part of the engine."""
        return Image(url=self.to_data_url(), detail=self.inference_detail)

    def to_data_url(self) -> str:
        """The address of the image."""
        return cast("str", self.image)

    def model_dump(self) -> dict[str, Any]:
        """The image as plain values."""
        return {"type": "image", "image": self.image, "inference_detail": self.inference_detail}


ChatContent = str | ImageContent


def _address(image: object, part: Image | None = None) -> str:
    if isinstance(image, str):
        return image
    if not isinstance(image, bytes):
        given = type(image).__name__
        raise WrongType(f"an image is an address or the bytes of a file, not {given}: encode it first")
    kind = media_type(part or Image(data=image))
    if kind is None:
        raise InvalidValue("the kind of image cannot be told from the bytes")
    return f"data:{kind};base64,{base64_of(image)}"


def _to_part(content: object) -> Part:
    if isinstance(content, Mapping):
        told = cast("Mapping[str, Any]", content)
        if told.get("type") != "image" or "image" not in told:
            raise InvalidValue("a part of a content is a text, or an image with 'type' and 'image'")
        return ImageContent(told["image"], told.get("inference_detail", "auto")).part
    if isinstance(content, ImageContent):
        return content.part
    if not isinstance(content, str):
        raise WrongType(f"content consists of texts and images, not {type(content).__name__}")
    return content


def _from_part(part: Part) -> ChatContent:
    if isinstance(part, Image):
        return ImageContent(part.url or _address(part.data, part), part.detail)
    return described(part) if isinstance(part, Audio | File) else part


def _to_engine(content: object) -> tuple[Content, str | None]:
    """A content as the engine keeps it, and a mark of its form unless it is a list of parts."""
    if isinstance(content, str):
        return content, "text"
    if not isinstance(content, list | tuple):
        raise WrongType(f"content is a text or a list of texts and images, not {type(content).__name__}")
    parts = tuple(map(_to_part, cast("Sequence[object]", content)))
    if len(parts) == 1 and isinstance(parts[0], str):
        return parts[0], None
    return (parts, None) if parts else ("", "empty")


def _from_engine(content: Content, form: object) -> str | list[ChatContent]:
    if isinstance(content, str):
        return content if form == "text" else [] if form == "empty" else [content]
    return [_from_part(part) for part in content]


# Items


def _refuse(self: object, *_args: object, **_kwargs: object) -> NoReturn:
    raise WrongType("an item cannot change; make another one with item.model_copy(update={...})")


class _ReadOnly(dict[str, Any]):
    """A dictionary of an item. Its values are frozen; its error names the way that this framework has."""

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return _ReadOnly, (dict(self),)


class ChatRole(StrEnum):
    """Who speaks. Tools do not: calls and outputs are items of their own."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, kw_only=True, eq=False)
class _Entry:
    """What all items have. An item cannot change; `model_copy` makes another."""

    type: ClassVar[str]
    id: str = field(default_factory=new_id)
    created_at: float = field(default_factory=now)
    agent_id: str | None = None
    item: Any = field(init=False, repr=False)
    """The item as the engine keeps it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "item", self._to_item())

    @classmethod
    def over(cls, item: Item) -> Self:
        """The item of the engine, under this framework's name."""
        entry = object.__new__(cls)
        common = {"id": item.id, "created_at": item.created_at, "agent_id": item.agent_id, "item": item}
        for name, value in (common | cls._values(item, item.extras.get(_OURS, {}))).items():
            is_dict = isinstance(value, dict)
            object.__setattr__(entry, name, _ReadOnly(cast("dict[str, Any]", value)) if is_dict else value)
        return entry

    def model_dump(self) -> dict[str, Any]:
        """The item as plain values."""
        return {"type": self.type, **self._fields()}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Another item with some fields changed; all copies are deep."""
        return type(self)(**(self._fields() | dict(update))) if update else self

    def _fields(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self) if one.init}

    def _common(self, **ours: Any) -> dict[str, Any]:
        plain = {name: dict(value) if isinstance(value, _ReadOnly) else value for name, value in ours.items()}
        kept = {name: value for name, value in plain.items() if value is not None}
        extras = {"extras": {_OURS: kept}} if kept else {}
        return {"id": self.id, "created_at": self.created_at, "agent_id": self.agent_id} | extras

    def _to_item(self) -> Item:
        raise NotImplementedError

    @classmethod
    def _values(cls, item: Any, ours: Mapping[str, Any]) -> dict[str, Any]:
        """The fields, from what the bridge keeps or else from fields of the engine's item."""
        names = [one.name for one in fields(cls) if one.init]
        return {name: ours[name] if name in ours else getattr(item, name, None) for name in names}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.model_dump() == other.model_dump()

    def __hash__(self) -> int:
        return hash(self.id)


@dataclass(frozen=True, kw_only=True, eq=False)
class ChatMessage(_Entry):
    """A message. With `extra["summary"]` it is a summary, and the engine keeps it as one."""

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
        if self.role not in list(ChatRole):
            raise InvalidValue("ChatMessage.role is system, developer, user or assistant")
        object.__setattr__(self, "role", ChatRole(self.role))
        object.__setattr__(self, "extra", _ReadOnly(freeze(dict(self.extra))))
        super().__post_init__()
        if not isinstance(self.content, str):  # images may be given as dictionaries
            parts = [one if isinstance(one, str) else _from_part(_to_part(one)) for one in self.content]
            object.__setattr__(self, "content", parts)

    def model_dump(self) -> dict[str, Any]:
        """The message as plain values."""
        parts = self.content if isinstance(self.content, str) else list(self.content)
        plain = [one if isinstance(one, str) else one.model_dump() for one in parts]
        content = parts if isinstance(parts, str) else plain
        return super().model_dump() | {"role": self.role.value, "content": content}

    def instructions_for_modality(self, modality: Literal["audio", "text"]) -> str | list[ChatContent]:
        """The instructions for a channel; the content if there are none."""
        own = self.audio_instructions if modality == "audio" else self.text_instructions
        return self.content if own is None else own

    def _to_item(self) -> Message | Summary:
        content, form = _to_engine(self.content)
        common = self._common(
            form=form, extra=self.extra or None, confidence=self.confidence, metrics=self.metrics
        )
        is_text = isinstance(content, str) and bool(content.strip())
        if self.extra.get("summary") and is_text and self.role is ChatRole.ASSISTANT and not self.interrupted:
            return Summary(text_of(content), **common)
        words = self.audio_instructions, self.text_instructions
        wording = None if words == (None, None) else Wording(voice=words[0], reading=words[1])
        return Message(self.role.value, content, self.interrupted, wording, **common)

    @classmethod
    def _values(cls, item: Message | Summary, ours: Mapping[str, Any]) -> dict[str, Any]:
        values = {name: ours.get(name) for name in ("confidence", "metrics")}
        if isinstance(item, Summary):
            # A summary that was given has its heading; one that the engine recorded gets one.
            text = item.text if "extra" in ours else CONVERSATION + item.text
            message = Message("assistant", text)
        else:
            message = item
        wording = message.wording or Wording()
        return values | {
            "role": ChatRole(message.role),
            "content": _from_engine(message.content, ours.get("form")),
            "interrupted": message.interrupted,
            "extra": ours.get("extra", freeze({"summary": True} if message is not item else {})),
            "audio_instructions": wording.voice,
            "text_instructions": wording.reading,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionCall(_Entry):
    """A call of a tool by a model. `metadata` goes back to the provider with this very call."""

    type = "function_call"
    name: str
    arguments: str
    call_id: str
    metadata: dict[str, Any] | None = None

    def _to_item(self) -> ToolCall:
        if not isinstance(self.metadata, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"metadata is a dictionary, not {type(self.metadata).__name__}")
        given = self.metadata and {
            name: base64_of(value) if isinstance(value, bytes) else value
            for name, value in self.metadata.items()
        }
        object.__setattr__(self, "metadata", None if given is None else _ReadOnly(freeze(given)))
        return ToolCall(self.call_id, self.name, self.arguments, **self._common(metadata=given))


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionCallOutput(_Entry):
    """The output of a tool."""

    type = "function_call_output"
    name: str
    output: str
    call_id: str
    is_error: bool = False

    def _to_item(self) -> ToolResult:
        return ToolResult(self.call_id, self.name, self.output, self.is_error, **self._common())

    @classmethod
    def _values(cls, item: ToolResult, ours: Mapping[str, Any]) -> dict[str, Any]:
        return super()._values(item, ours) | {"output": item.text}


@dataclass(frozen=True, kw_only=True, eq=False)
class AgentHandoff(_Entry):
    """One agent hands the conversation to another."""

    type = "agent_handoff"
    to_agent: str
    from_agent: str | None = None
    reason: str | None = None

    def _to_item(self) -> Handoff:
        return Handoff(self.to_agent, self.from_agent, self.reason, **self._common())


@dataclass(frozen=True, kw_only=True, eq=False)
class AgentConfigUpdate(_Entry):
    """Other instructions or tools from here on; what is left out stays as it was."""

    type = "agent_config_update"
    instructions: str | None = None
    tools: list[str] | None = None

    def _to_item(self) -> ConfigChange:
        names = None if self.tools is None else tool_names(self.tools)
        object.__setattr__(self, "tools", None if names is None else list(names))
        return ConfigChange(self.instructions, names, **self._common())

    @classmethod
    def _values(cls, item: ConfigChange, ours: Mapping[str, Any]) -> dict[str, Any]:
        return super()._values(item, ours) | {"tools": None if item.tools is None else list(item.tools)}


ChatItem = ChatMessage | FunctionCall | FunctionCallOutput | AgentHandoff | AgentConfigUpdate
KINDS: dict[type[Item], type[ChatItem]] = {
    Message: ChatMessage,
    Summary: ChatMessage,
    ToolCall: FunctionCall,
    ToolResult: FunctionCallOutput,
    Handoff: AgentHandoff,
    ConfigChange: AgentConfigUpdate,
}


def engine_item(item: object) -> Item:
    """The item as the engine keeps it."""
    if not isinstance(item, _Entry):
        raise WrongType(f"a chat context takes chat items, not {type(item).__name__}")
    return cast("Item", item.item)


def tool_names(tools: Iterable[object]) -> tuple[str, ...]:
    """The names of tools, given by name, as functions, as definitions, or as objects with a name."""
    if isinstance(tools, str) or not isinstance(tools, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"tools are a list of names or of tools, not {type(tools).__name__}")
    return tuple(map(_tool_name, tools))


def _tool_name(tool: Any) -> str:
    if isinstance(tool, str):
        return tool
    if isinstance(tool, Mapping):
        told = cast("Mapping[str, Any]", tool)
        name = cast("Mapping[str, Any]", told.get("function", told)).get("name")
    else:
        info = getattr(tool, "_tool_info", None) or tool  # of a function that the framework decorated
        name = getattr(info, "name", None) or getattr(tool, "__name__", None)
    if not isinstance(name, str) or not name:
        kind = type(cast("object", tool)).__name__
        raise WrongType(f"a tool is a name or has one; this {kind} has none")
    return name
