"""Thoughts in blocks: Anthropic's, which others keep in histories of other wires too, and those of others.

The state of Anthropic's is as `anthropic.thinking` has it, whichever wire they were read on.
"""

from collections.abc import Callable, Sequence
from typing import Any

from quire.items import Item, Opaque, Reasoning
from quire.providers.block_parts import OWNER
from quire.providers.json_values import entries_in, fields_in, json_text, object_in
from quire.providers.library_fields import OF_A_STREAM, PIECES
from quire.providers.provider import Answer, words_in
from quire.providers.sheet import Json
from quire.providers.thinkers import is_sealed, is_unsealed

CONTAINER = "container"
ASKED = frozenset(("server_tool_use", "mcp_tool_use"))
_REASONING = "reasoning"
_OF_BEDROCK = "reasoning_content"
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
            held: Json = {"block": whole(block)}
            if container and words_in(block.get("type")) in ASKED:
                held[CONTAINER] = container
            return Reasoning("", _state(held, answer, model, path))


def whole(block: Json) -> Json:
    """A block without what LangChain leaves of a stream in it, where its input may stand in pieces alone."""
    kept = {name: value for name, value in block.items() if name not in OF_A_STREAM}
    given = object_in(block.get("input") or block.get(PIECES))
    return kept if given is None else {**kept, "input": given}


def in_order(
    content: Any, model: str, path: str, item_of: Callable[[Json], Item | None] = lambda _: None
) -> list[tuple[Item | None, Any]]:
    """A content with thoughts in it, in its order: blocks that are an item each, and rows of others.

    Signed thinking is refused at any other place than its own, so that other blocks for which there is an
    item keep theirs too. A content without thoughts is one piece.
    """
    blocks = entries_in(content)
    if not any(map(is_thought, blocks)):
        return [(None, content)]
    pieces: list[tuple[Item | None, Any]] = []
    for index, block in enumerate(blocks):
        held = fields_in(block)
        item = _thought(held, model, f"{path}[{index}]") if is_thought(block) else item_of(held)
        if item is None and pieces and pieces[-1][0] is None:
            pieces[-1][1].append(block)
        else:
            pieces.append((item, [block] if item is None else None))
    return pieces


def is_thought(block: Any) -> bool:
    """Whether a block is one of a model's thoughts, or of a tool's that its service ran."""
    held = fields_in(block)
    kind = words_in(held.get("type"))
    if kind == "thinking":
        return not isinstance(held.get("thinking"), list)  # chunks are Mistral's
    return kind in ("redacted_thinking", _REASONING, _OF_BEDROCK) or is_served(kind)


def bare_thoughts(blocks: Sequence[Any]) -> tuple[str, list[Any]]:
    """The words of thoughts that a library keeps as texts alone, and the other blocks.

    Among thoughts of another kind they stay where they are, but for those of nothing.
    """
    words = [_bare(_reasoning(fields_in(block))) for block in blocks]
    rest = [block for block, told in zip(blocks, words, strict=True) if told is None]
    if any(map(is_thought, rest)):
        return "", [block for block, told in zip(blocks, words, strict=True) if told != ""]
    return "\n\n".join(filter(None, words)), rest


def _bare(block: Json) -> str | None:
    """The words of a thought that is not sealed; none of other blocks."""
    if block.get("type") != _REASONING or any(map(_sealed(block).get, _SEALS)):
        return None
    words = _words(block)
    is_empty = not any(value for name, value in block.items() if name not in ("type", "id", "index"))
    return words if words or is_empty else None


def _reasoning(block: Json) -> Json:
    """A block of LangChain's for Bedrock as one of those that others keep; any other as it is."""
    if block.get("type") != _OF_BEDROCK:
        return block
    held = block.get(_OF_BEDROCK)
    return {"text": held, **fields_in(held), "type": _REASONING}


def _thought(given: Json, model: str, path: str) -> Reasoning:
    block = _reasoning(given)
    if block.get("type") != _REASONING:
        return reasoning_of(block, Answer(model), model, path)
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
