"""VideoSDK's message, over a message of the engine or over a summary, which that framework shows as one."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal

import msgspec

from quire.bridges.videosdk.contents import ChatContent, from_engine, plain, to_engine
from quire.bridges.videosdk.entry import OURS, Entry, stamp
from quire.errors import InvalidValue
from quire.items import Content, Message, Role, Summary, Wording, parts_of, text_of

CONVERSATION = "[Conversation Summary]\n"
SUB_AGENT = "[Sub-agent Summary]\n"
_SPEAKERS = ("user", "assistant")


class ChatRole(StrEnum):
    """Who speaks. Tools do not: calls and outputs are items of their own."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"


class ChatMessage(Entry[Message | Summary]):
    """Something said. With `extra["summary"]` it is a summary, and the engine keeps it as one."""

    __slots__ = ()
    type = "message"

    def __init__(
        self,
        *,
        role: ChatRole | str,
        content: str | Sequence[ChatContent | Mapping[str, Any]],
        id: str | None = None,
        created_at: float | None = None,
        agent_id: str | None = None,
        interrupted: bool = False,
        extra: Mapping[str, Any] | None = None,
        confidence: float | None = None,
        metrics: Any = None,
        audio_instructions: str | None = None,
        text_instructions: str | None = None,
    ) -> None:
        kept, form = to_engine(content)
        speaker, given = _role(role), dict(extra or {})
        wording = _wording(audio_instructions, text_instructions)
        ours = {"confidence": confidence, "metrics": metrics}
        spoken = speaker in _SPEAKERS and not interrupted and wording is None
        if given.get("summary") and spoken and _tells(kept):
            if given["summary"] is True:
                del given["summary"]  # it is shown again because of what the item is
            text, kept_as = _summary_of(content, kept)
            ours |= {"role": None if speaker == "assistant" else speaker, **kept_as}
            self._item = Summary(text, **stamp(id, created_at, agent_id, extra=given or None, **ours))
        else:
            common = stamp(id, created_at, agent_id, extra=given or None, form=form, **ours)
            self._item = Message(speaker, kept, interrupted, wording, **common)

    @classmethod
    def telling(cls, summary: Summary, label: str) -> "ChatMessage":
        """A summary that the engine made, under a heading."""
        return cls.over(msgspec.structs.replace(summary, extras={OURS: {"label": label}}))

    @property
    def role(self) -> ChatRole:
        """Who said it."""
        item = self._item
        return ChatRole(item.role if isinstance(item, Message) else self._own("role", "assistant"))

    @property
    def content(self) -> str | list[ChatContent]:
        """What was said, in the form in which it was given."""
        item = self._item
        if isinstance(item, Message):
            return from_engine(item.content, self._own("form"))
        given = self._own("content")
        if given is None:
            return [self._own("label", CONVERSATION) + item.text]
        return given if isinstance(given, str) else list(given)

    @property
    def interrupted(self) -> bool:
        """Whether it was cut short."""
        return isinstance(self._item, Message) and self._item.interrupted

    @property
    def extra(self) -> dict[str, Any]:
        """What only the application knows; a summary says here that it is one."""
        kept: dict[str, Any] = self._own("extra", {})
        return kept if isinstance(self._item, Message) else {"summary": True} | kept

    @property
    def confidence(self) -> float | None:
        """How sure the transcription was."""
        kept: float | None = self._own("confidence")
        return kept

    @property
    def metrics(self) -> Any:
        """What was measured."""
        return self._own("metrics")

    @property
    def audio_instructions(self) -> str | None:
        """Other words for when it is heard."""
        return self._words().voice

    @property
    def text_instructions(self) -> str | None:
        """Other words for when it is read."""
        return self._words().reading

    def instructions_for_modality(self, modality: Literal["audio", "text"]) -> str:
        """The words for a channel; the content where it has none of its own."""
        own = self.audio_instructions if modality == "audio" else self.text_instructions
        return self._item.text if own is None else own

    def _words(self) -> Wording:
        wording = self._item.wording if isinstance(self._item, Message) else None
        return wording or Wording()

    def _fields(self) -> dict[str, Any]:
        return {
            "role": self.role.value,
            "content": plain(self.content),
            "interrupted": self.interrupted,
            "extra": self.extra,
            "confidence": self.confidence,
            "metrics": self.metrics,
            "audio_instructions": self.audio_instructions,
            "text_instructions": self.text_instructions,
        }


def _role(role: str) -> Role:
    try:
        return ChatRole(role).value
    except ValueError:
        raise InvalidValue("ChatMessage.role is system, developer, user or assistant") from None


def _wording(voice: str | None, reading: str | None) -> Wording | None:
    return None if voice is None and reading is None else Wording(voice=voice, reading=reading)


def _tells(content: Content) -> bool:
    """Whether a content can be a summary: words and nothing else."""
    return bool(text_of(content).strip()) and all(isinstance(part, str) for part in parts_of(content))


def _summary_of(given: object, content: Content) -> tuple[str, dict[str, Any]]:
    """The words of a summary, and what it takes to show it again as it was given."""
    if isinstance(content, str) and not isinstance(given, str):
        for label in (CONVERSATION, SUB_AGENT):
            text = content.removeprefix(label)
            if text != content and text.strip():
                return text, {} if label == CONVERSATION else {"label": label}
    return text_of(content), {"content": content if isinstance(given, str) else list(parts_of(content))}
