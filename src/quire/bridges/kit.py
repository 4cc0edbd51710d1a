"""Functions that several bridges share: reading saved values, and the text of a model's reply."""

import inspect
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import msgspec

from quire.errors import Damaged, WrongType
from quire.items import freeze, thaw, without_content

T = TypeVar("T")


def read_saved(data: object, kind: type[T]) -> T:
    """Convert saved values to a type; `Damaged` has the path of a value that does not fit.

    A value that is of the type already is returned as it is.
    """
    if isinstance(data, kind):
        return data
    try:
        return msgspec.convert(thaw(freeze(data)), kind, builtin_types=(bytes,))
    except msgspec.ValidationError as fault:
        raise damaged(fault) from None


def damaged(fault: Exception, prefix: str = "") -> Damaged:
    """An error of msgspec as `Damaged`, with the path of the value."""
    text, place = without_content(fault)
    return Damaged(prefix + text, f"${place}")


async def reply_text(answer: Any) -> str:
    """The text of a reply of another framework's model.

    The reply is a text, an object or dictionary with `content` or `choices`, an async stream of these, or an
    awaitable of one of these. A reply without a text raises `WrongType`.
    """
    if inspect.isawaitable(answer):
        answer = await answer
    if hasattr(answer, "__aiter__"):
        pieces = [_text_in(piece) async for piece in answer]
        return "".join(piece or "" for piece in pieces)
    text = _text_in(answer)
    if text is None:
        kind = type(answer).__name__
        raise WrongType(f"a reply of a model must have a text in `content` or `choices`; {kind} has none")
    return text


def _text_in(reply: Any) -> str | None:
    """The text of a reply or of a piece of a stream; `None` if it has no text."""
    if isinstance(reply, str):
        return reply
    choices = _field(reply, "choices")
    if choices:
        reply = _field(choices[0], "message") or _field(choices[0], "delta") or choices[0]
    content = _field(reply, "content")
    parts: list[Any] = [*content] if isinstance(content, list | tuple) else [content]
    values = [part if isinstance(part, str) else _field(part, "text") for part in parts]
    texts = [value for value in values if isinstance(value, str)]
    return "".join(texts) if texts else None


def _field(value: object, name: str) -> Any:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(name)
    return getattr(value, name, None)
