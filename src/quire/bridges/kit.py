"""What several bridges need: reading saved values, and tool calls and models in the frameworks' shapes."""

import inspect
from collections.abc import AsyncIterable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar, cast

from quire.errors import CodecError, Damaged, WrongType
from quire.items import ToolCall

T = TypeVar("T")


class Saved(Protocol):
    """What can be written as plain values."""

    def to_dict(self) -> dict[str, Any]: ...


def mapping_at(data: object, path: str) -> Mapping[str, Any]:
    """The data, or `Damaged` with the path if it is not a dictionary."""
    if not isinstance(data, Mapping):
        raise Damaged(f"expected a dictionary, got {type(data).__name__}", path)
    return cast("Mapping[str, Any]", data)


def list_at(data: object, path: str) -> list[Any]:
    """The data, or `Damaged` with the path if it is not a list."""
    if not isinstance(data, Sequence) or isinstance(data, str | bytes):
        raise Damaged(f"expected a list, got {type(data).__name__}", path)
    return list(cast("Iterable[Any]", data))


def text_at(fields: Mapping[str, Any], name: str, path: str = "$") -> str:
    """The text of a field, or `Damaged` with its path."""
    text = fields.get(name)
    if not isinstance(text, str):
        raise Damaged(f"expected a text, got {type(text).__name__}", f"{path}.{name}")
    return text


@contextmanager
def under(path: str) -> Generator[None]:
    """Prefix the path of a `CodecError` from within, so that it names the place in the whole."""
    try:
        yield
    except CodecError as fault:
        raise type(fault)(str(fault.args[0]), path + fault.path.removeprefix("$")) from None


def written_at(path: str, value: Saved) -> dict[str, Any]:
    """The plain values of a part that stands at a path."""
    with under(path):
        return value.to_dict()


def read_at(path: str, read: Callable[[Any], T], data: object) -> T:
    """The part that was written at a path."""
    with under(path):
        return read(data)


def call_dict(call: ToolCall) -> dict[str, Any]:
    """A tool call in OpenAI's shape."""
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.call_id, "type": "function", "function": function}


async def reply_text(answer: Any) -> str:
    """The text of what a model of another framework returned.

    That is a text, an object or dictionary with `content` or `choices`, a stream of these, or something to be
    awaited that gives one of these. Anything without a text is a `WrongType`.
    """
    if inspect.isawaitable(answer):
        answer = await answer
    if isinstance(answer, AsyncIterable):
        return "".join([_text_in(piece, "") async for piece in answer])  # pyright: ignore[reportUnknownVariableType]
    if isinstance(answer, Iterable) and not isinstance(answer, str | bytes | Mapping):
        return "".join([_text_in(piece, "") for piece in answer])  # pyright: ignore[reportUnknownVariableType]
    return _text_in(answer)


def _text_in(reply: Any, default: str | None = None) -> str:
    """The text of one reply; the default, if there is one, for a piece of a stream without a text."""
    if isinstance(reply, str):
        return reply
    choices = _field(reply, "choices")
    if choices:
        reply = _field(choices[0], "message") or _field(choices[0], "delta") or choices[0]
    content = _field(reply, "content")
    parts: list[Any] = [*content] if isinstance(content, list | tuple) else [content]
    texts = [part if isinstance(part, str) else _field(part, "text") for part in parts]
    found = [text for text in texts if isinstance(text, str)]
    if not found and default is None:
        kind = type(reply).__name__
        raise WrongType(f"a reply of a model has a text in `content` or `choices`; {kind} has none")
    return "".join(found) or default or ""


def _field(value: object, name: str) -> Any:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(name)
    return getattr(value, name, None)
