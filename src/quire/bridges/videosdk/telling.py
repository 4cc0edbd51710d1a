"""Asking anything that can chat, and whatever shape its answer comes in."""

import inspect
import logging
from collections.abc import Mapping
from typing import Any, Protocol, cast

from quire.errors import WrongType

logger = logging.getLogger("quire.bridges.videosdk")


class LLM(Protocol):
    """Anything that can chat: it is given a context and answers at once, later, or piece by piece."""

    def chat(self, messages: Any, /) -> Any:
        """An answer: a text, something with a `content`, or a stream of either."""
        ...


async def said(llm: LLM, context: object) -> str:
    """The words of a model's answer; none where it failed, which is logged and not raised."""
    if not callable(getattr(llm, "chat", None)):
        raise WrongType(f"a summary is written by something that can chat, not by {type(llm).__name__}")
    try:
        text = (await _words(llm.chat(context))).strip()
    except Exception as fault:
        logger.warning("the summary could not be written: %s", type(fault).__name__)
        return ""
    if not text:
        logger.warning("the summary is empty, and not used")
    return text


async def _words(answer: Any) -> str:
    if inspect.isawaitable(answer):
        answer = await answer
    if hasattr(answer, "__aiter__"):
        return "".join([_text(piece) async for piece in answer])
    if hasattr(answer, "__iter__") and not isinstance(answer, str | Mapping):
        return "".join(map(_text, answer))
    return _text(answer)


def _text(piece: Any) -> str:
    """The words in a piece of an answer: itself, or its content, by attribute or by key."""
    if piece is None or isinstance(piece, str):
        return piece or ""
    by_key = isinstance(piece, dict)
    content: Any = cast(Any, piece).get("content") if by_key else getattr(piece, "content", None)
    if isinstance(content, list | tuple):
        return "".join(part for part in content if isinstance(part, str))  # pyright: ignore
    return content if isinstance(content, str) else ""
