"""OpenAI Chat Completions: a message of the model as items."""

from typing import Any

from quire.errors import Damaged
from quire.items import Audio, Item, Message, ToolCall, parts_of
from quire.providers.block_thoughts import in_order
from quire.providers.json_values import entries_in, fields_in, json_text
from quire.providers.native import beside, file_address, native_note
from quire.providers.openai_chat.blocks import OWNER, decoded, entries, fields, read_content, text_at
from quire.providers.openai_chat.chunks import said_in
from quire.providers.openai_chat.customs import custom
from quire.providers.openai_chat.other_forms import called_in
from quire.providers.openai_chat.pictures import with_images
from quire.providers.openai_chat.states import NAME, Maker, state_of, thought_of
from quire.providers.provider import words_in
from quire.providers.sheet import Json

LEGACY = "function_call"
"""The id of a call from before calls had ids."""


def outputs_of(message: Json, path: str, maker: Maker) -> list[Item]:
    """What a model thought, said and called in one message, in this order.

    Where thoughts are in its content, all is as the blocks have it, and what has no block comes after them.
    """
    thought, calls = thought_of(message, maker, path), _calls(message, path, maker)
    ids = [words_in(fields_in(call).get("id")) for call in entries_in(message.get("tool_calls"))]
    placed = {call_id: call for call_id, call in reversed([*zip(ids, calls, strict=False)]) if call_id}
    pieces = in_order(
        message.get("content"),
        maker.model,
        f"{path}.content",
        lambda block: placed.pop(called_in(block), None),
    )
    spoken: list[Item] = [] if thought is None else [thought]
    for item, content in pieces[:-1]:
        spoken += _said({"name": message.get("name"), "content": content}, path) if item is None else [item]
    item, content = pieces[-1]
    spoken += [*([] if item is None else [item]), *_said({**message, "content": content}, path)]
    known = set(map(id, spoken))
    return [*spoken, *(call for call in calls if id(call) not in known)]


def _said(message: Json, path: str) -> list[Item]:
    content, strange = read_content(said_in(message.get("content")), f"{path}.content", NAME)
    refusal, audio = message.get("refusal"), message.get("audio")
    reference = None if audio is None else _reference(fields(audio, f"{path}.audio"))
    if reference is not None:
        content, audio = (*parts_of(content), reference), None
    content, odd = with_images(content, message, path, keeps=True)
    named = beside(NAME, {"name": words_in(message.get("name"))})
    said: list[Item] = [Message("assistant", content, extras=named)] if content else []
    if isinstance(refusal, str) and refusal:
        said.append(Message("assistant", refusal))
    if audio is not None:
        said.append(_heard(fields(audio, f"{path}.audio"), f"{path}.audio"))
    return [*said, *strange, *odd]


def _reference(audio: Json) -> Audio | None:
    """What the model said in sound, where only the id of it is left."""
    address = file_address(OWNER, audio.get("id"))
    return None if address is None or audio.get("data") or audio.get("transcript") else Audio(url=address)


def _heard(audio: Json, path: str) -> Item:
    data, transcript = audio.get("data"), audio.get("transcript")
    words = transcript if isinstance(transcript, str) else None
    if isinstance(data, str) and data:
        return Message("assistant", (Audio(data=decoded(data, f"{path}.data"), transcript=words),))
    return Message("assistant", words) if words else native_note({"audio": audio}, NAME)


def _calls(message: Json, path: str, maker: Maker) -> list[Item]:
    calls: list[Item] = []
    for index, value in enumerate(entries(message.get("tool_calls") or (), f"{path}.tool_calls")):
        place = f"{path}.tool_calls[{index}]"
        calls.append(_call(fields(value, place), place, maker))
    if message.get("function_call") is not None:
        place = f"{path}.function_call"
        call = fields(message["function_call"], place)
        calls.append(ToolCall(LEGACY, maker.tool(_named(call, place)), arguments_in(call, place)))
    return calls


def _call(call: Json, path: str, maker: Maker) -> Item:
    extras = custom() if call.get("type") == "custom" else {}
    if extras:
        inner = fields(call.get("custom"), f"{path}.custom")
        arguments = json_text({"input": inner.get("input")}, f"{path}.custom")
    elif call.get("function") is not None:
        inner = fields(call["function"], f"{path}.function")
        arguments = arguments_in(inner, f"{path}.function")
    elif isinstance(call.get("name"), str):
        # All in one object, as LangChain keeps a call.
        inner, arguments = call, arguments_in({"arguments": call.get("args"), **call}, path)
    else:
        return native_note(call, NAME)
    name, state = maker.tool(_named(inner, path)), state_of(call, maker, path)
    return ToolCall(_call_id(call, path, maker), name, arguments, state, extras=extras)


def _call_id(call: Json, path: str, maker: Maker) -> str:
    return maker.call_id() if call.get("id") in (None, "") else text_at(call, "id", path)


def arguments_in(function: Json, path: str) -> str:
    """The arguments of a call as text, also where they came as a value."""
    arguments: Any = function.get("arguments")
    if isinstance(arguments, str):
        return arguments
    # An object, as some services give it.
    return "{}" if arguments is None else json_text(arguments, f"{path}.arguments")


def _named(function: Json, path: str) -> str:
    name = text_at(function, "name", path)
    if not name:
        raise Damaged("a call has a name", f"{path}.name")
    return name
