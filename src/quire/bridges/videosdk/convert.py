"""The items of a context as requests for OpenAI, Anthropic and Google.

Every provider gets one set of instructions: the last ones in force.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from quire.bridges.videosdk.items import FunctionCall, from_engine
from quire.items import Item, Message, Reasoning, Summary, ToolCall
from quire.providers import HARMLESS, CachePlan, base64_of, pack, provider_for
from quire.state import Scroll, View, is_structural

logger = logging.getLogger("quire.bridges.videosdk")

Json = dict[str, Any]
Signature = str | bytes
_GEMINI = "gemini"  # signatures are valid for any of its models


def is_dialogue(item: Item) -> bool:
    """Whether an item is part of the dialogue: no instruction, update or handoff."""
    return isinstance(item, Summary) or not is_structural(item)


def openai_messages(dialogue: View, system: str | None, reasoning_model: bool) -> list[Json]:
    """Chat messages. For a reasoning model the instructions have the role `developer`."""
    messages: list[Json] = _payload("openai", _with_system(system, dialogue))["messages"]
    if reasoning_model and messages[0]["role"] in ("system", "developer"):
        messages[0]["role"] = "developer"
    return messages


def anthropic_messages(dialogue: View, system: str | None, caching: bool) -> tuple[list[Json], Any]:
    """Messages and instructions. With `caching` both have cache marks, and the instructions are blocks."""
    plan = CachePlan(static=0 if system is None else 1) if caching else None
    payload = _payload("anthropic", _with_system(system, dialogue), plan)
    return payload["messages"], payload.get("system") if caching else system


def google_contents(dialogue: View, is_complete: bool, signatures: Mapping[str, Signature]) -> list[Json]:
    """Contents. Thought signatures are sent only if `is_complete`: after an edit they may not be valid."""
    items: Sequence[Item] = dialogue
    if is_complete:
        owners = _owners(dialogue, signatures)
        items = [_signed(item, owners.get(item.id)) for item in dialogue]
    contents: list[Json] = _payload("gemini", items)["contents"]
    return contents


def _with_system(system: str | None, dialogue: View) -> Scroll:
    first = () if system is None else (Message("system", system, id="instructions", created_at=0.0),)
    return Scroll(first, dialogue)


def without_unbound_state(item: Item) -> Item:
    """The item without its state, if the state does not name the items before it, which may have changed."""
    if not isinstance(item, Message | Reasoning | ToolCall) or item.state is None or item.state.prefix:
        return item
    logger.info("%s: its state is left out, because something before it may have changed", item.id)
    return replace(item, state=None)


def _owners(items: Sequence[Item], signatures: Mapping[str, Signature]) -> dict[str, Signature]:
    """Signatures by the ids of their calls, from signatures by the names of tools.

    Gemini signs the first call of each step, and the newest signature of a tool is the one that is passed. So
    it belongs to the last call of that tool that is the first call of a step.
    """
    call_by_tool: dict[str, str] = {}
    is_first = True
    for item in items:
        if isinstance(item, ToolCall):
            if is_first:
                call_by_tool[item.name] = item.id
            is_first = False
        elif not isinstance(item, Reasoning) and getattr(item, "role", "") != "assistant":
            is_first = True
    return {call_by_tool[name]: signature for name, signature in signatures.items() if name in call_by_tool}


def _signed(item: Item, signature: Signature | None) -> Item:
    """A call with the signature in its metadata or, if there is none, with this one."""
    if not isinstance(item, ToolCall) or item.state is not None:
        return item
    call = from_engine(item)
    own = call.metadata if isinstance(call, FunctionCall) else None
    signature = (own or {}).get("thought_signature") or signature
    if not signature:
        return item
    text = base64_of(signature) if isinstance(signature, bytes) else str(signature)
    return replace(item, state=pack("gemini", _GEMINI, [{"thoughtSignature": text}]))


def _payload(wire: str, items: Sequence[Item], plan: CachePlan | None = None) -> Json:
    rendered = provider_for(wire).render(items, model=_GEMINI if wire == "gemini" else None, plan=plan)
    for downgrade in rendered.downgrades:
        if downgrade.change not in HARMLESS:
            logger.info("%s: %s", wire, downgrade)
    return rendered.payload
