"""OpenAI Chat Completions: the common case, without calling a function for each item.

Text, calls with good ids and their results in order are most of any history. This writes just what the
writer would, and stops before a turn that has anything else.
"""

from collections.abc import Mapping, Sequence

from quire.items import Item, Message, ToolCall, ToolResult
from quire.providers.sheet import Json, Sheet
from quire.providers.wording import NO_OUTPUT, mended


def write_plain(
    items: Sequence[Item],
    start: int,
    stop: int,
    sheet: Sheet,
    names: Mapping[str, str],
    roles: Mapping[str, str],
) -> int:
    """Write turns from `start` on, and give the place of the first item that was not written.

    At `stop` there is a message of another than the model, so that each turn before it is known to be whole.
    """
    messages = sheet.messages
    append = messages.append
    while start < stop:
        item = items[start]
        after = start + 1
        if isinstance(item, Message):
            text, role = item.content, item.role
            if not isinstance(text, str) or not text:
                break
            following = items[after] if role == "assistant" else item
            if not isinstance(following, Message | ToolCall):
                break  # it may have no words, and a call after it joins these
            append({"role": roles[role], "content": text if text.isascii() else mended(text)})
            if not isinstance(following, ToolCall) or following.agent_id != item.agent_id:
                start = after
                continue
        elif isinstance(item, ToolCall):
            append({"role": "assistant", "content": None})
            after = start
        else:
            break
        end = _exchange(items, after, sheet, names)
        if end == after:
            messages.pop()
            break
        start = end
    return start


def _exchange(items: Sequence[Item], start: int, sheet: Sheet, names: Mapping[str, str]) -> int:
    """Write calls into the last message, and their results after it, if all are there and in order."""
    calls: list[Json] = []
    results: list[Json] = []
    given, takes, agent, place = sheet.ids.taken, sheet.ids.takes, items[start].agent_id, start
    while isinstance(call := items[place], ToolCall):
        call_id, name, arguments = call.call_id, names.get(call.name), call.arguments
        plain = name is not None and call_id not in given and arguments.isascii() and takes(call_id)
        if not plain or call.agent_id != agent:
            return _taken_back(calls, given, start)
        given[call_id] = call_id
        calls.append({"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}})
        place += 1
    for written in calls:
        result, call_id = items[place], written["id"]
        if not isinstance(result, ToolResult) or result.call_id != call_id:
            return _taken_back(calls, given, start)
        text = result.content
        if not isinstance(text, str):
            return _taken_back(calls, given, start)
        text = text if text.isascii() else mended(text)
        results.append({"role": "tool", "tool_call_id": call_id, "content": text or NO_OUTPUT})
        place += 1
    sheet.messages[-1]["tool_calls"] = calls
    sheet.messages += results
    return place


def _taken_back(calls: list[Json], given: dict[str, str], start: int) -> int:
    for call in calls:
        del given[call["id"]]
    return start
