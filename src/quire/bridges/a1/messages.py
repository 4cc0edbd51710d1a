"""A1's message: something said or done, with its time and an id of its own."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, cast
from uuid import UUID

import msgspec

from quire.bridges.a1.naming import new_message_id, time_now
from quire.errors import InvalidValue, WrongType
from quire.items import new_id, thaw

ROLES = ("system", "developer", "user", "assistant", "tool")


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message in OpenAI's form. It cannot change; two with the same fields are equal.

    A timestamp is local time without a zone. One that is given as text, or with a zone, is brought to that.
    """

    role: str
    content: str
    name: str | None = None
    tool_call_id: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    timestamp: datetime = msgspec.field(default_factory=time_now)
    message_id: str = msgspec.field(default_factory=new_message_id)

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise InvalidValue(f"Message.role is one of {', '.join(ROLES)}")
        for field in ("content", "name", "tool_call_id"):
            _check_text(getattr(self, field), field, may_be_none=field != "content")
        msgspec.structs.force_setattr(self, "timestamp", _time(self.timestamp))
        msgspec.structs.force_setattr(self, "message_id", _id(self.message_id))
        if self.tool_calls is not None:
            msgspec.structs.force_setattr(self, "tool_calls", _calls(self.tool_calls))

    def __hash__(self) -> int:
        return hash(self.message_id)

    def model_dump(self, *, mode: str = "json", exclude_none: bool = False) -> dict[str, Any]:
        """The message as values fit for JSON, whatever the mode; `Message(**dump)` gives it back."""
        dump: dict[str, Any] = msgspec.structs.asdict(self)
        dump["timestamp"] = self.timestamp.astimezone().isoformat()
        dump["tool_calls"] = thaw(self.tool_calls)
        return {key: value for key, value in dump.items() if not (exclude_none and value is None)}

    def model_dump_json(self) -> str:
        """The message as JSON."""
        return msgspec.json.encode(self.model_dump()).decode()

    def to_dict(self) -> dict[str, Any]:
        """The message as a model is sent it: without time and id, and without what it does not have."""
        dump = self.model_dump(exclude_none=True)
        return {key: value for key, value in dump.items() if key not in ("timestamp", "message_id")}


def checked_messages(messages: object) -> list[Message]:
    """The messages, if they are some."""
    row = _row(messages, "a context takes several messages")
    for message in row:
        if not isinstance(message, Message):
            raise WrongType(f"a context takes messages, not {type(message).__name__}")
    return cast(list[Message], row)


def _row(values: object, rule: str) -> list[object]:
    kind = type(values).__name__
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise WrongType(f"{rule}, not {kind}")
    return list(cast(Iterable[object], values))


def _check_text(value: object, field: str, *, may_be_none: bool) -> None:
    if not isinstance(value, str) and not (may_be_none and value is None):
        raise WrongType(f"Message.{field} is a text, not {type(value).__name__}")


def _time(value: object) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InvalidValue("Message.timestamp is no time in ISO form") from None
    if not isinstance(value, datetime):
        raise WrongType(f"Message.timestamp is a datetime, not {type(value).__name__}")
    return value if value.tzinfo is None else value.astimezone().replace(tzinfo=None)


def _id(value: object) -> str:
    if not isinstance(value, str | UUID):
        raise WrongType(f"Message.message_id is a UUID, not {type(value).__name__}")
    if not str(value):
        raise InvalidValue("Message.message_id is empty")
    return str(value)


def _calls(calls: object) -> list[dict[str, Any]]:
    return [_call(call) for call in _row(calls, "Message.tool_calls is a list")]


def _call(call: object) -> dict[str, Any]:
    """A call with an id: its result could not say what it is for if it had none."""
    if not isinstance(call, Mapping):
        raise WrongType(f"a tool call is a mapping, not {type(call).__name__}")
    fields: dict[str, Any] = thaw(dict(cast(Mapping[str, Any], call)))
    function = fields.get("function")
    if not isinstance(function, Mapping) or not cast(Mapping[str, Any], function).get("name"):
        raise InvalidValue("a tool call has a function with a name")
    given = {"id": fields.get("id") or f"call_{new_id()}", "type": fields.get("type") or "function"}
    return {**fields, **given, "function": dict(cast(Mapping[str, Any], function))}
