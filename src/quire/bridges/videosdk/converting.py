"""What the three converters give: the engine's payload, taken apart as VideoSDK's callers expect it.

One set of instructions is sent, the last that was put in force, for every provider alike.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from quire.bridges.videosdk.choosing import frame
from quire.bridges.videosdk.items import FunctionCall
from quire.items import Item, Message, Reasoning, ToolCall
from quire.providers.anthropic import Anthropic
from quire.providers.caching import CachePlan
from quire.providers.downgrades import HARMLESS
from quire.providers.gemini import Gemini
from quire.providers.gemini.signing import sealed
from quire.providers.media import base64_of
from quire.providers.openai_chat import OpenAIChat
from quire.providers.provider import Provider
from quire.providers.wording import mended
from quire.state import View, config_at

logger = logging.getLogger("quire.bridges.videosdk")

Json = dict[str, Any]
Signature = str | bytes


class Spoken(NamedTuple):
    """A conversation as it is sent: the instructions in force, and all that is not instructions."""

    instructions: str | None
    items: list[Item]

    @classmethod
    def of(cls, view: View, whole: bool = True) -> "Spoken":
        """What is to be sent of a view; where it is not the `whole` of what was said, without loose state."""
        told = mended(config_at(view).instructions or "")
        items = [item for item in view if not frame(item)]
        return cls(told if told.strip() else None, items if whole else [_bound(item) for item in items])

    def all(self) -> list[Item]:
        """The items with the instructions before them."""
        return [Message("system", self.instructions), *self.items] if self.instructions else self.items


def openai_messages(view: View, reasoning_model: bool, model: str | None) -> list[Json]:
    """Chat messages; a reasoning model is told by the developer what others are told by the system."""
    payload = _payload(OpenAIChat(), Spoken.of(view).all(), model)
    messages: list[Json] = payload["messages"]
    if messages[0]["role"] in ("system", "developer"):
        role = "developer" if reasoning_model else messages[0]["role"]
        messages = [{**messages[0], "role": role}, *messages[1:]]
    return messages


def anthropic_messages(view: View, caching: bool, model: str | None, whole: bool) -> tuple[list[Json], Any]:
    """Messages and instructions; with `caching` both bear marks, and the instructions are blocks."""
    told = Spoken.of(view, whole)
    plan = CachePlan(static=1 if told.instructions else 0) if caching else None
    payload = _payload(Anthropic(), told.all(), model, plan)
    return payload["messages"], payload.get("system") if caching else told.instructions


def google_contents(
    view: View, signatures: Mapping[str, Signature] | None, model: str, whole: bool
) -> tuple[list[Json], str | None]:
    """Contents and instructions; a call's own signature goes before the one kept for its tool.

    A signature does not say what it was made after, so none is sent once something was left out.
    """
    told, items = Spoken.of(view, whole)
    if whole:
        kept = _owners(items, signatures or {})
        items = [_signed(i, kept.get(i.id), model) if isinstance(i, ToolCall) else i for i in items]
    return _payload(Gemini(), items, model)["contents"], told


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


def _signed(call: ToolCall, kept: Signature | None, model: str) -> ToolCall:
    own: Any = (FunctionCall.over(call).metadata or {}).get("thought_signature")
    signature = own or kept
    if not signature or call.state is not None:
        return call
    text = base64_of(signature) if isinstance(signature, bytes) else str(signature)
    return msgspec.structs.replace(call, state=sealed([text], model, None))


def _payload(wire: Provider, items: Sequence[Item], model: str | None, plan: CachePlan | None = None) -> Json:
    rendered = wire.render(items, model=model, plan=plan)
    for downgrade in rendered.downgrades:
        if downgrade.change not in HARMLESS:
            logger.info("%s: %s", wire.name, downgrade)
    return rendered.payload
