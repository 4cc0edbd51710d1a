"""Thoughts in blocks: Anthropic's, which others keep in histories of other wires too, and those of others.

The state of Anthropic's is as `anthropic.thinking` has it, whichever wire they were read on.
"""

from typing import Any

from quire.items import Opaque, Reasoning
from quire.providers.block_parts import OWNER
from quire.providers.json_values import entries_in, fields_in, json_text
from quire.providers.provider import Answer, words_in
from quire.providers.sheet import Json
from quire.providers.thinkers import is_sealed, is_unsealed

CONTAINER = "container"
ASKED = frozenset(("server_tool_use", "mcp_tool_use"))
_REASONING = "reasoning"
_SEALS = ("signature", "encrypted_content")


def is_served(kind: str) -> bool:
    """Whether a block is of a tool that the provider ran: it goes back as it came, or not at all."""
    return kind in ASKED or kind.endswith("_tool_result")


def reasoning_of(
    block: Json, answer: Answer, model: str, path: str, container: str | None = None
) -> Reasoning:
    """The reasoning that a block of an answer holds; what is not known is kept as it is, and never said."""
    match block:
        case {"type": "thinking"}:
            signature = block.get("signature")
            data: Json = {"signature": signature} if isinstance(signature, str) and signature else {}
            if is_unsealed(answer.model or model):
                data = data or {"signature": ""}
            return Reasoning(words_in(block.get("thinking")), _state(data, answer, model, path))
        case {"type": "redacted_thinking"}:
            sealed = words_in(block.get("data"))
            return Reasoning("", _state({"redacted": sealed} if sealed else {}, answer, model, path))
        case _:
            held: Json = {"block": block}
            if container and words_in(block.get("type")) in ASKED:
                held[CONTAINER] = container
            return Reasoning("", _state(held, answer, model, path))


def thoughts_in(content: Any, model: str, path: str) -> tuple[list[Reasoning], Any]:
    """What a model thought in a content of another wire's form, and the content without it."""
    blocks = entries_in(content)
    read = [_thought(fields_in(block), model, f"{path}[{index}]") for index, block in enumerate(blocks)]
    found = [thought for thought in read if thought is not None]
    if not found:
        return [], content
    return found, [block for block, thought in zip(blocks, read, strict=True) if thought is None]


def bare_thoughts(block: Json) -> str | None:
    """The words of thoughts that a library keeps as a text alone; none of sealed ones, or of other blocks."""
    if block.get("type") != _REASONING or any(map(_sealed(block).get, _SEALS)):
        return None
    words = _words(block)
    is_empty = not any(value for name, value in block.items() if name not in ("type", "id"))
    return words if words or is_empty else None


def _thought(block: Json, model: str, path: str) -> Reasoning | None:
    kind = words_in(block.get("type"))
    is_thinking = kind == "thinking" and isinstance(block.get("thinking"), str)
    if is_thinking or kind == "redacted_thinking" or is_served(kind):
        return reasoning_of(block, Answer(model), model, path)
    if kind != _REASONING:
        return None
    signature = _sealed(block).get("signature")
    if signature and is_sealed(model):
        signed = {"type": "thinking", "thinking": _words(block), "signature": signature}
        return reasoning_of(signed, Answer(model), model, path)
    return Reasoning(_words(block))  # whose seal it is nobody says: that it is not sent is noted


def _sealed(block: Json) -> Json:
    """A block with what LangChain has beside it of its service's."""
    return {**block, **fields_in(block.get("extras"))}


def _words(block: Json) -> str:
    """The words of thoughts, as the AI SDK, as LangChain and as Responses have them."""
    pieces = (fields_in(piece) for name in ("summary", "content") for piece in entries_in(block.get(name)))
    told = "\n\n".join(filter(None, (words_in(piece.get("text")) for piece in pieces)))
    return words_in(block.get("text")) or words_in(block.get(_REASONING)) or told


def _state(data: Json, answer: Answer, model: str, path: str) -> Opaque:
    text = json_text(data, path, ordered=True) if data else ""  # a client may order fields its own way
    return Opaque(OWNER, answer.model or model, text, answer.prefix)
