"""Gemini: the common case, without calling a function for each item.

Text, and calls with good ids and arguments and their results in order, are most of any history. This writes
just what the writer would, and stops before a turn that has anything else.
"""

from collections.abc import Sequence

from quire.items import Item, Message, Reasoning, ToolCall, ToolResult
from quire.providers.gemini.arguments import read_arguments
from quire.providers.gemini.replies import Replies
from quire.providers.sheet import Json, Sheet
from quire.providers.wording import mended

_CLOSING = (Message, Reasoning, ToolCall, ToolResult)  # after a record of another kind a call may still join


def write_plain(items: Sequence[Item], start: int, stop: int, sheet: Sheet, replies: Replies) -> int:
    """Write turns from `start` on, and give the place of the first item that was not written."""
    messages = sheet.messages
    append = messages.append
    index = start
    while index < stop:
        item = items[index]
        if type(item) is not Message:
            after = _write_calls(items, index, stop, sheet, replies, None)
        elif item.role == "user" and type(item.content) is str and item.content:
            text = item.content
            append({"role": "user", "parts": [{"text": text if text.isascii() else mended(text)}]})
            after = index + 1
        elif item.role == "assistant":
            after = _write_reply(items, index, stop, sheet, replies)
        else:
            after = index
        if after == index:
            break
        index = after
    return index


def _write_reply(items: Sequence[Item], index: int, stop: int, sheet: Sheet, replies: Replies) -> int:
    """A message of the model, with the calls that it makes."""
    item = items[index]
    messages = sheet.messages
    if (
        type(item) is not Message
        or item.state is not None
        or type(item.content) is not str
        or not item.content
    ):
        return index
    if not messages or messages[-1]["role"] != "user":
        return index
    said = {"text": mended(item.content)}
    following = items[index + 1] if index + 1 < stop else None
    if type(following) is ToolCall and following.agent_id == item.agent_id:
        after = _write_calls(items, index + 1, stop, sheet, replies, said)
        return index if after == index + 1 else after
    if following is not None and type(following) not in _CLOSING:
        return index
    messages.append({"role": "model", "parts": [said]})
    return index + 1


def _write_calls(
    items: Sequence[Item], start: int, stop: int, sheet: Sheet, replies: Replies, said: Json | None
) -> int:
    """Calls in a row and their results in the same order, or nothing."""
    first, messages = items[start], sheet.messages
    if type(first) is not ToolCall or not messages or messages[-1]["role"] != "user":
        return start
    calls = _calls(items, start, stop, sheet, replies)
    results = _results(items, start + len(calls), stop, calls)
    if not calls or len(results) != len(calls):
        return start
    for part in calls:
        call_id = part["functionCall"]["id"]
        sheet.ids.taken[call_id] = call_id
    if replies.signs:
        replies.excused(first, calls[0])
    messages.append({"role": "model", "parts": calls if said is None else [said, *calls]})
    messages.append({"role": "user", "parts": results})
    return start + 2 * len(calls)


def _calls(items: Sequence[Item], start: int, stop: int, sheet: Sheet, replies: Replies) -> list[Json]:
    """Calls of one agent in a row; none if one of them needs more than to be written down."""
    given, takes = sheet.ids.taken, sheet.ids.takes
    calls: list[Json] = []
    agent = items[start].agent_id
    for index in range(start, stop):
        item = items[index]
        if type(item) is not ToolCall or item.agent_id != agent:
            break
        call_id, name = item.call_id, replies.name(item.name)
        arguments = read_arguments(item.arguments) if item.state is None else None
        if arguments is None or name != item.name or call_id in given or not takes(call_id):
            return []
        calls.append({"functionCall": {"id": call_id, "name": name, "args": arguments}})
    if len(calls) > 1 and len({part["functionCall"]["id"] for part in calls}) < len(calls):
        return []
    return calls


def _results(items: Sequence[Item], start: int, stop: int, calls: list[Json]) -> list[Json]:
    """The results of calls, as far as they come in the same order and are text."""
    results: list[Json] = []
    for index, part in zip(range(start, stop), calls, strict=False):
        item, call = items[index], part["functionCall"]
        if type(item) is not ToolResult or item.call_id != call["id"] or type(item.content) is not str:
            break
        response = {"error" if item.is_error else "output": mended(item.content)}
        results.append({"functionResponse": {"id": call["id"], "name": call["name"], "response": response}})
    return results
