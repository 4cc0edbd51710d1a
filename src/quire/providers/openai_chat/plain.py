"""OpenAI Chat Completions: the common case, without calling a function for each item.

Text, calls with good ids and their results in order are most of any history. This writes just what the
writer would, and stops before a turn that has anything else.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from quire.items import Item, Message, ToolCall, ToolResult
from quire.providers.native import BESIDE, is_common
from quire.providers.openai_chat.limits import LONGEST_ID, MOST_CALLS
from quire.providers.sheet import Json, Sheet
from quire.providers.wording import failed, mended

Table = Mapping[str, str]

_SPEECH = (Message, ToolCall)


class Common(NamedTuple):
    """What the common case goes by."""

    names: Table
    """Of tools that were called before: their names here."""
    roles: Table
    """What a role is called here; one that is not there is never plain."""
    sound: Callable[[str], bool] | None
    """Whether arguments may go as they are; none where all may that there are."""


def write_plain(items: Sequence[Item], start: int, stop: int, sheet: Sheet, common: Common) -> int:
    """Write turns from `start` on, and give the place of the first item that was not written.

    At `stop` there is a message of another than the model, so that each turn before it is known to be whole.
    """
    messages, (names, roles, sound) = sheet.messages, common
    append = messages.append
    while start < stop:
        item = items[start]
        after = start + 1
        if type(item) is Message:
            text, role = item.content, item.role
            if type(text) is not str or not text or (item.extras and BESIDE in item.extras):
                break
            text = text if text.isascii() else mended(text)
            if role != "assistant":
                if role not in roles:
                    break
                append({"role": roles[role], "content": text})
                start = after
                continue
            following = items[after]
            if not isinstance(following, _SPEECH):
                break  # it may have no words, and a call after it joins these
            append({"role": role, "content": text})
            if type(following) is not ToolCall or following.agent_id != item.agent_id:
                start = after
                continue
        elif type(item) is ToolCall:
            append({"role": "assistant", "content": None})
            after = start
        else:
            break
        end = _exchange(items, after, sheet, names, sound)
        if end == after:
            messages.pop()
            break
        start = end
    return start


def write_words(items: Sequence[Item], start: int, stop: int, sheet: Sheet, common: Common) -> int:
    """Write turns of words, and stop before a call: where no tool has a name, none is plain."""
    return write_plain(items, start, stop, sheet, common._replace(names={}))


def _exchange(
    items: Sequence[Item], start: int, sheet: Sheet, names: Table, sound: Callable[[str], bool] | None
) -> int:
    """Write calls into the last message, and their results after it, if all are there and in order."""
    messages, given, takes = sheet.messages, sheet.ids.taken, sheet.ids.takes
    calls: list[Json] = []
    append, agent, place, mark = messages.append, items[start].agent_id, start, len(messages)
    while type(call := items[place]) is ToolCall:
        call_id, name, arguments = call.call_id, names.get(call.name), call.arguments
        if name is None or call_id in given or not arguments.isascii() or call.agent_id != agent:
            return _taken_back(sheet, calls, mark, start)
        if not arguments or (sound is not None and not sound(arguments)):
            return _taken_back(sheet, calls, mark, start)
        if call.state is not None or (call.extras and not is_common(call)):
            return _taken_back(sheet, calls, mark, start)
        # Nearly all ids are identifiers, and asking that is cheaper than asking a pattern.
        if not (call_id.isidentifier() and call_id.isascii() and len(call_id) <= LONGEST_ID) and not takes(
            call_id
        ):
            return _taken_back(sheet, calls, mark, start)
        given[call_id] = call_id
        calls.append({"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}})
        place += 1
    if place - start > MOST_CALLS:
        return _taken_back(sheet, calls, mark, start)
    for written in calls:
        result, call_id = items[place], written["id"]
        if type(result) is not ToolResult or result.call_id != call_id:
            return _taken_back(sheet, calls, mark, start)
        text = result.content
        if type(text) is not str or not text:
            return _taken_back(sheet, calls, mark, start)
        text = text if text.isascii() else mended(text)
        append(
            {"role": "tool", "tool_call_id": call_id, "content": failed(text) if result.is_error else text}
        )
        place += 1
    messages[mark - 1]["tool_calls"] = calls
    return place


def _taken_back(sheet: Sheet, calls: list[Json], mark: int, start: int) -> int:
    for call in calls:
        del sheet.ids.taken[call["id"]]
    del sheet.messages[mark:]
    return start
