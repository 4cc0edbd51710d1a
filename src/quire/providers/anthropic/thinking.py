"""Anthropic Messages: reasoning as the blocks it came in, and back.

The state of a `Reasoning` is a small JSON object: `signature` of thinking whose words are the item's text, an
empty one where its service signs none and wants it back all the same; `redacted` for thinking without words;
or `block` for all else that no item stands for, such as what the provider's own tools left in the answer, or
what it made of a history that it compacted. Beside a question to such a tool stands its `container`, if any.
"""

from collections.abc import Collection
from typing import Any, NamedTuple, cast

import msgspec

from quire.items import Item, Opaque, Reasoning
from quire.providers.block_thoughts import ASKED, CONTAINER, is_served
from quire.providers.json_values import fields_in
from quire.providers.library_fields import without_library_fields
from quire.providers.openai_chat.wishes import BLANK
from quire.providers.sheet import Json
from quire.providers.thinkers import is_unsealed
from quire.providers.wording import mended

THOUGHTS = frozenset(("thinking", "redacted_thinking"))
# What an answer may hold beside words, calls, thinking, and what tools of the API leave.
_KEPT = frozenset(("compaction", "container_upload", "fallback", "mcp_tool_listing"))


def block_of(item: Reasoning) -> Json | None:
    """The block that a reasoning came in; none if its state holds no such thing."""
    match _unpacked(item.state):
        case {"signature": str(signature)} if signature:
            return {"type": "thinking", "thinking": mended(item.text), "signature": signature}
        case {"signature": ""} if item.state and is_unsealed(item.state.model):
            return unsigned(mended(item.text))
        case {"redacted": str(redacted)} if redacted:
            return {"type": "redacted_thinking", "data": redacted}
        case {"block": {"type": str(kind)} as block} if kind in _KEPT or is_served(kind):
            return without_library_fields(cast(Json, block))
        case _:
            return None


def container_of(item: Item) -> str | None:
    """The container in which the tool that was asked runs, by its id; none where it was not told."""
    if not isinstance(item, Reasoning):
        return None
    return named_container(fields_in(_unpacked(item.state)).get(CONTAINER))


def named_container(told: Any) -> str | None:
    """The id of a container, which is told alone or among what else is said of it."""
    name = told if isinstance(told, str) else fields_in(told).get("id")
    return name if isinstance(name, str) and name and mended(name) == name else None


def _unpacked(state: Opaque | None) -> Any:
    try:
        return msgspec.json.decode(state.data) if state and state.data else None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def unsigned(words: str = "") -> Json:
    """Thinking as services have it that sign none; a blank stands for words that are gone."""
    return {"type": "thinking", "thinking": words or BLANK, "signature": ""}


class Halves(NamedTuple):
    """What tools of the provider left in a turn: what is to be left out, and what goes beyond the turn."""

    lone: list[Json]
    waiting: dict[str, Json]
    """Questions that a later turn may answer, by their ids."""
    answered: set[str]
    """The ids of questions of earlier turns that this one answers."""


def halves(blocks: list[Json], asked_before: Collection[str]) -> Halves:
    """The questions and answers among the blocks of a turn that are not both in it.

    Where the model called tools in the same turn, an answer may come in the next one.
    """
    served = [block for block in blocks if is_served(block["type"])]
    waiting: dict[str, Json] = {}
    answered: set[str] = set()
    whole: set[int] = set()
    asked = {*asked_before}  # each question is asked once
    for block in served:
        question, answer = asked_in(block), answered_in(block)
        if question is not None and question not in asked:
            asked.add(question)
            waiting[question] = block
        elif answer in waiting:
            whole |= {id(waiting.pop(answer)), id(block)}
        elif answer is not None and answer in asked_before and answer not in answered:
            answered.add(answer)
            whole.add(id(block))
    if not any(block["type"] == "tool_use" for block in blocks):
        waiting = {}
    whole |= {id(block) for block in waiting.values()}
    return Halves([block for block in served if id(block) not in whole], waiting, answered)


def asked_in(block: Json) -> str | None:
    """The id of the question that a block is; none if it is something else."""
    call_id = block.get("id") if block["type"] in ASKED else None
    return call_id if isinstance(call_id, str) else None


def answered_in(block: Json) -> str | None:
    """The id of the question that a block answers, for a tool of the provider."""
    kind = block["type"]
    call_id = block.get("tool_use_id") if is_served(kind) and kind not in ASKED else None
    return call_id if isinstance(call_id, str) else None
