"""The items of a context as requests for OpenAI, Anthropic and Google.

One set of instructions is sent, the last that was put in force, for every provider alike.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from quire.bridges.videosdk.items import FunctionCall
from quire.items import ConfigChange, Handoff, Item, Message, Reasoning, ToolCall
from quire.providers import HARMLESS, CachePlan, base64_of, pack, provider_for
from quire.state import Scroll, View, instructions

logger = logging.getLogger("quire.bridges.videosdk")

Json = dict[str, Any]
Signature = str | bytes


def is_frame(item: Item) -> bool:
    """Whether an item is no part of what is said: instructions, updates and handoffs."""
    return instructions(item) or isinstance(item, ConfigChange | Handoff)


def openai_messages(said: View, told: str | None, reasoning_model: bool, model: str | None) -> list[Json]:
    """Chat messages; the instructions of a reasoning model are from the developer."""
    messages: list[Json] = _payload("openai", _after(told, said), model)["messages"]
    if reasoning_model and messages[0]["role"] in ("system", "developer"):
        messages[0]["role"] = "developer"
    return messages


def anthropic_messages(
    said: View, told: str | None, caching: bool, model: str | None
) -> tuple[list[Json], Any]:
    """Messages and instructions; with `caching` both have cache marks, and the instructions are blocks."""
    plan = CachePlan(static=0 if told is None else 1) if caching else None
    payload = _payload("anthropic", _after(told, said), model, plan)
    return payload["messages"], payload.get("system") if caching else told


def google_contents(
    said: View, is_whole: bool, signatures: Mapping[str, Signature], model: str
) -> list[Json]:
    """Contents. A thought signature does not say what came before it, so none is sent after an edit."""
    if not is_whole:
        return _contents(said, model)
    owners = _owners(said, signatures)
    return _contents([_signed(item, owners.get(item.id), model) for item in said], model)


def _contents(items: Sequence[Item], model: str) -> list[Json]:
    contents: list[Json] = _payload("gemini", items, model)["contents"]
    return contents


def _after(told: str | None, said: View) -> Scroll:
    """What is said after the instructions."""
    first = () if told is None else (Message("system", told, id="instructions", created_at=0.0),)
    return Scroll(first, said)


def without_loose_state(item: Item) -> Item:
    """An item without state that does not say what came before it."""
    if not isinstance(item, Message | Reasoning | ToolCall) or item.state is None or item.state.prefix:
        return item
    logger.info("%s: its state is left out, because something before it may have changed", item.id)
    return replace(item, state=None)


def _owners(items: Sequence[Item], signatures: Mapping[str, Signature]) -> dict[str, Signature]:
    """Signatures by the ids of the calls they came with; they are given by the names of tools.

    Gemini signs the first call of a step, and the signature kept for a tool is the newest: so it came with
    the last call of that tool that was the first of its step.
    """
    last: dict[str, str] = {}
    is_first = True
    for item in items:
        if isinstance(item, ToolCall):
            if is_first:
                last[item.name] = item.id
            is_first = False
        elif not isinstance(item, Reasoning) and getattr(item, "role", "") != "assistant":
            is_first = True
    return {last[name]: signature for name, signature in signatures.items() if name in last}


def _signed(item: Item, given: Signature | None, model: str) -> Item:
    """A call with its own signature, or else with the one given."""
    if not isinstance(item, ToolCall) or item.state is not None:
        return item
    signature = (FunctionCall.over(item).metadata or {}).get("thought_signature") or given
    if not signature:
        return item
    text = base64_of(signature) if isinstance(signature, bytes) else str(signature)
    return replace(item, state=pack("gemini", model, [{"thoughtSignature": text}]))


def _payload(wire: str, items: Sequence[Item], model: str | None, plan: CachePlan | None = None) -> Json:
    rendered = provider_for(wire).render(items, model=model, plan=plan)
    for downgrade in rendered.downgrades:
        if downgrade.change not in HARMLESS:
            logger.info("%s: %s", wire, downgrade)
    return rendered.payload
