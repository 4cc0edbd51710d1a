"""OpenAI Responses: what a model put out, item by item, as items of ours."""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from quire.errors import Damaged
from quire.items import Image, Item, Message, Opaque, Reasoning, ToolCall
from quire.providers.block_thoughts import in_order
from quire.providers.json_values import json_text
from quire.providers.native import formed
from quire.providers.openai_chat.blocks import decoded, read_content, text_at
from quire.providers.openai_chat.customs import custom
from quire.providers.openai_chat.outputs import arguments_in
from quire.providers.openai_responses.calling import beside_call
from quire.providers.openai_responses.states import NAME, SEALS, is_texts, packed
from quire.providers.sheet import Json

_OWN = ("type", "id", "call_id", "name", "status")
_OF_CALLS = ("namespace", "caller", "async")


class Maker(NamedTuple):
    """Of which model an output is, after what, and what its tools are really called."""

    model: str
    prefix: str | None
    tool: Callable[[str], str]
    call_id: Callable[[], str] | None = None
    """What calls get that have no id; None where one has to have it: in a history, its result names it."""


def outputs_of(item: Json, path: str, maker: Maker) -> list[Item]:
    """One item of output; what needs no answer and has no words is kept as state."""
    match item.get("type"):
        case "message" | None:
            return _said(item, path, maker)
        case "reasoning":
            return [_thought(item, path, maker)]
        case "function_call":
            return [_call(item, path, maker, arguments_in(item, path))]
        case "image_generation_call" if isinstance(item.get("result"), str):
            return [Message("assistant", (Image(data=decoded(item["result"], f"{path}.result")),))]
        case str() as kind if kind.endswith("_call") and isinstance(item.get("call_id"), str):
            # A tool of the service's that the caller runs: whoever answers knows its fields.
            own = _OWN if kind != "custom_tool_call" else (*_OWN, *_OF_CALLS)
            inner = {name: value for name, value in item.items() if name not in own}
            called = _call({"name": kind, **item}, path, maker, json_text(inner, path))
            if kind == "custom_tool_call":
                return [replace(called, extras={**custom(), **called.extras})]
            return [replace(called, extras=formed(kind))]
        case _:
            return [Reasoning(state=packed(maker.model, item, maker.prefix, path))]


def _said(item: Json, path: str, maker: Maker) -> list[Item]:
    phase = item.get("phase")
    # A phase is true whatever came before; the digest says that the words are of the same answer.
    named = isinstance(phase, str)
    state: Opaque | None = packed(maker.model, {"phase": phase}, maker.prefix, path) if named else None
    said: list[Item] = []
    for thought, told in in_order(item.get("content"), maker.model, f"{path}.content"):
        content, strange = read_content(told, f"{path}.content", NAME)
        said += [] if thought is None else [thought]
        said += [*([Message("assistant", content, state=state)] if content else ()), *strange]
    return said


def _thought(item: Json, path: str, maker: Maker) -> Reasoning:
    data: Json = {"id": item.get("id"), "summary": item.get("summary") or []}
    data |= {name: item[name] for name in SEALS if isinstance(item.get(name), str)}
    if is_texts(item.get("content")):
        data["content"] = item["content"]
    text = _texts(item.get("summary")) or _texts(item.get("content"))
    return Reasoning(text, packed(maker.model, data, maker.prefix, path))


def _texts(blocks: Any) -> str:
    if not isinstance(blocks, list | tuple):
        return ""
    found = [cast(Json, block).get("text") for block in cast("list[Any]", blocks) if isinstance(block, dict)]
    return "\n\n".join(text for text in found if isinstance(text, str))


def _call(item: Json, path: str, maker: Maker, arguments: str) -> ToolCall:
    made = maker.call_id() if maker.call_id is not None and not item.get("call_id") else None
    call_id, name = made or text_at(item, "call_id", path), text_at(item, "name", path)
    if not call_id or not name:
        raise Damaged("a call has an id and a name", path)
    return ToolCall(call_id, maker.tool(name), arguments, extras=beside_call(item))
