"""Asking a model for a summary: what it is told, and whatever shape its answer comes in."""

import inspect
import logging
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, cast

from quire.errors import WrongType
from quire.items import Item, Message, Summary, ToolCall, ToolResult
from quire.providers.wording import described
from quire.state import instructions

logger = logging.getLogger("quire.bridges.videosdk")

LONGEST_OUTPUT = 1_000  # characters of a tool's output that are worth a summarizer's time

PROMPT = """\
You write the memory of a conversation that is about to be shortened. Whoever goes on with it reads your text
in place of what follows. Keep what is still needed: who is who, facts and figures exactly as given, what was
decided and why, what tools found or failed to find, what was promised, what is wanted, what is still open.
Carry over from an earlier summary what still matters. Leave out greetings and small talk.
Write plain sentences, and nothing but the summary."""


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


def in_words(items: Iterable[Item]) -> str:
    """Items as text for a summarizer; instructions are none of its business."""
    return "\n".join(filter(None, (_line(item) for item in items if not instructions(item))))


def _line(item: Item) -> str:
    match item:
        case Message():
            words = [part if isinstance(part, str) else described(part) for part in item.parts]
            text = " ".join(filter(None, (word.strip() for word in words)))
            return f"{item.role}: {text}" if text else ""
        case Summary():
            return f"[earlier summary] {item.text}"
        case ToolCall():
            return f"[call of {item.name}] {item.arguments}"
        case ToolResult():
            return f"[{item.name} {'failed' if item.is_error else 'gave'}] {_shortened(item.text)}"
        case _:
            return ""


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_OUTPUT else f"{text[:LONGEST_OUTPUT]} [...]"
