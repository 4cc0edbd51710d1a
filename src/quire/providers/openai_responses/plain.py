"""OpenAI Responses: the common case, without calling a function for each item.

Text, calls with good ids and their results in order are most of any history. This writes just what the
writer would, and stops before a turn that has anything else.
"""

from collections.abc import Sequence

from quire.items import Item, Message, ToolCall, ToolResult
from quire.providers.native import BESIDE, is_common
from quire.providers.openai_chat.plain import Common
from quire.providers.sheet import Json, Sheet
from quire.providers.wording import failed, mended


def write_plain(items: Sequence[Item], start: int, stop: int, sheet: Sheet, common: Common) -> int:
    """Write turns from `start` on, and give the place of the first item that was not written.

    At `stop` there is a message of another than the model, so that each turn before it is known to be whole.
    """
    append, roles = sheet.messages.append, common.roles
    while start < stop:
        item = items[start]
        after = start
        joins = True
        if type(item) is Message:
            text, follower = item.content, items[start + 1]
            # What may be one turn with the words of the model is written with them, or not at all.
            alone = item.role != "assistant" or type(follower) is Message
            joins = not alone and follower.agent_id == item.agent_id
            beside = item.state is not None or (item.extras and BESIDE in item.extras)
            if type(text) is not str or not text or beside or item.role not in roles:
                return start
            if not alone and type(follower) is not ToolCall:
                return start
            message: Json = {"type": "message"} if item.role == "assistant" else {}
            message["role"], message["content"] = roles[item.role], text if text.isascii() else mended(text)
            append(message)
            after = start + 1
        elif type(item) is not ToolCall:
            return start
        if joins:
            place = _exchange(items, after, sheet, common)
            if place == after:
                del sheet.messages[len(sheet.messages) - (after - start) :]
                return start
            after = place
        start = after
    return start


def _exchange(items: Sequence[Item], start: int, sheet: Sheet, common: Common) -> int:
    """Calls of one agent and their results, if there is one for each and all are in order; where they end."""
    messages, given, takes, agent = sheet.messages, sheet.ids.taken, sheet.ids.takes, items[start].agent_id
    mark, place, calls = len(messages), start, list[str]()
    names, _, sound = common
    while type(call := items[place]) is ToolCall:
        call_id, name, arguments = call.call_id, names.get(call.name), call.arguments
        known = name is not None and call.agent_id == agent and (not call.extras or is_common(call))
        if not known or call_id in given or not takes(call_id) or not arguments.isascii():
            return _taken_back(sheet, calls, mark, start)
        if not arguments or (sound is not None and not sound(arguments)):
            return _taken_back(sheet, calls, mark, start)
        given[call_id] = call_id
        calls.append(call_id)
        messages.append({"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments})
        place += 1
    for call_id in calls:
        result = items[place]
        if type(result) is not ToolResult or result.call_id != call_id or type(result.content) is not str:
            return _taken_back(sheet, calls, mark, start)
        if not result.content:
            return _taken_back(sheet, calls, mark, start)
        text = result.content if result.content.isascii() else mended(result.content)
        given_back = failed(text) if result.is_error else text
        messages.append({"type": "function_call_output", "call_id": call_id, "output": given_back})
        place += 1
    return place


def _taken_back(sheet: Sheet, calls: list[str], mark: int, start: int) -> int:
    """Leave the turn at hand to the writer."""
    for call_id in calls:
        del sheet.ids.taken[call_id]
    del sheet.messages[mark:]
    return start
