"""What the three converters give: the engine's payload, taken apart as VideoSDK's callers expect it.

One set of instructions is sent, the last that was put in force, for every provider alike.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from quire.bridges.videosdk.choosing import BETWEEN_TEXTS
from quire.bridges.videosdk.items import FunctionCall
from quire.bridges.videosdk.keeping import Kept
from quire.items import Item, Message, Reasoning, ToolCall
from quire.providers import HARMLESS, CachePlan, base64_of, pack, provider_for
from quire.state import Scroll, View, config_at

logger = logging.getLogger("quire.bridges.videosdk")

Json = dict[str, Any]
Signature = str | bytes


def openai_messages(kept: Kept, reasoning_model: bool, model: str | None) -> list[Json]:
    """Chat messages; a reasoning model is told by the developer what others are told by the system."""
    said = _after(_instructions(kept), kept.said("whole", _unchanged))
    messages: list[Json] = _payload("openai", said, model)["messages"]
    if reasoning_model and messages[0]["role"] in ("system", "developer"):
        messages[0]["role"] = "developer"
    return messages


def anthropic_messages(kept: Kept, caching: bool, model: str | None) -> tuple[list[Json], Any]:
    """Messages and instructions; with `caching` both bear marks, and the instructions are blocks."""
    told = _instructions(kept)
    plan = CachePlan(static=1 if told else 0) if caching else None
    payload = _payload("anthropic", _after(told, _trusted(kept)), model, plan)
    return payload["messages"], payload.get("system") if caching else told


def google_contents(
    kept: Kept, signatures: Mapping[str, Signature] | None, model: str
) -> tuple[list[Json], str | None]:
    """Contents and instructions; a call's own signature goes before the one kept for its tool.

    A signature does not say what it was made after, so none is sent once something was left out.
    """
    said = _signed_calls(kept, signatures or {}, model) if kept.is_whole() else _trusted(kept)
    return _payload("gemini", said, model)["contents"], _instructions(kept)


def _signed_calls(kept: Kept, signatures: Mapping[str, Signature], model: str) -> Sequence[Item]:
    """What is said, its calls with their signatures."""
    said = kept.said(("signed", model), lambda item: _signed(item, None, model))
    if not signatures:
        return said
    # The last call of a tool is another one after each call, so that there is nothing to go on from.
    owners = _owners(said, signatures)
    return [_signed(item, owners.get(item.id), model) for item in said]


def _instructions(kept: Kept) -> str | None:
    """The instructions in force, if they say anything."""
    config = config_at(kept.transcript.view, separator=BETWEEN_TEXTS)
    told = config.instructions or ""
    return told if told.strip() else None


def _after(told: str | None, said: View) -> Scroll:
    """What is said after instructions; the same ones are the same message, so that they change nothing."""
    first = (Message("system", told, id="instructions", created_at=0.0),) if told else ()
    return Scroll(first, said)


def _trusted(kept: Kept) -> View:
    """What is said; where that is not the whole of what was said, without loose state."""
    return kept.said("whole", _unchanged) if kept.is_whole() else kept.said("bound", _bound)


def _unchanged(item: Item) -> Item:
    return item


def _bound(item: Item) -> Item:
    """An item without state of which nobody knows what it was made after."""
    if not isinstance(item, Message | Reasoning | ToolCall) or item.state is None or item.state.prefix:
        return item
    logger.info("%s: its state is left out, since something before it may have changed", item.id)
    return msgspec.structs.replace(item, state=None)


def _owners(items: Sequence[Item], kept: Mapping[str, Signature]) -> dict[str, Signature]:
    """The signatures that were kept by the names of tools, by the calls that they came with.

    Gemini signs the first call of a step and no other, and what is kept for a tool is the newest: so it came
    with the last call of that tool that was the first of its step.
    """
    last: dict[str, str] = {}
    is_first = True
    for item in items if kept else ():
        if isinstance(item, ToolCall):
            if is_first:
                last[item.name] = item.id
            is_first = False
        elif not _is_said(item):
            is_first = True
    return {last[name]: signature for name, signature in kept.items() if name in last}


def _is_said(item: Item) -> bool:
    """Whether an item is of what a model says between its calls."""
    return isinstance(item, Reasoning) or (isinstance(item, Message) and item.role == "assistant")


def _signed(item: Item, kept: Signature | None, model: str) -> Item:
    """A call with its own signature, or with the one that is kept for it; any other item as it is."""
    if not isinstance(item, ToolCall) or item.state is not None:
        return item
    own: Any = (FunctionCall.over(item).metadata or {}).get("thought_signature")
    signature = own or kept
    if not signature:
        return item
    text = base64_of(signature) if isinstance(signature, bytes) else str(signature)
    return msgspec.structs.replace(item, state=pack("gemini", model, [{"thoughtSignature": text}]))


def _payload(wire: str, items: Sequence[Item], model: str | None, plan: CachePlan | None = None) -> Json:
    rendered = provider_for(wire).render(items, model=model, plan=plan)
    for downgrade in rendered.downgrades:
        if downgrade.change not in HARMLESS:
            logger.info("%s: %s", wire, downgrade)
    return rendered.payload
