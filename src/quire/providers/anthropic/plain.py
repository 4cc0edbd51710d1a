"""Anthropic Messages: the common case, without going through a turn's every possibility.

Text, calls with good ids and their results in order are most of any history. This writes just what the
writer would, and stops before a turn that has anything else.
"""

from collections.abc import Mapping, Sequence

from quire.items import Item, Message, ToolCall, ToolResult
from quire.providers.anthropic.tooling import input_of
from quire.providers.native import BESIDE, is_common
from quire.providers.properties import renamed
from quire.providers.sheet import Json, Sheet
from quire.providers.wording import mended


def write_plain(items: Sequence[Item], start: int, stop: int, sheet: Sheet, names: Mapping[str, str]) -> int:
    """Write turns from `start` on, and give the place of the first item that was not written.

    At `stop` there is a message of another than the model, so that each turn before it is known to be whole.
    """
    while start < stop:
        item = items[start]
        after = start
        blocks: list[Json] = []
        if type(item) is Message:
            text, role = item.content, item.role
            if type(text) is not str or not text or text.isspace() or role not in ("user", "assistant"):
                return start
            if item.extras and BESIDE in item.extras:
                return start
            after += 1
            blocks.append({"type": "text", "text": text if text.isascii() else mended(text)})
            next_item = items[after]
            if role == "user" or type(next_item) is not ToolCall or next_item.agent_id != item.agent_id:
                if not _write(sheet, role, blocks):
                    return start
                start = after
                continue
        elif type(item) is not ToolCall:
            return start
        calls = _calls(items, after, sheet, names)
        results = _results(items, after + len(calls), calls)
        if not calls or not results or not _write(sheet, "assistant", blocks + calls):
            for call in calls:
                del sheet.ids.taken[call["id"]]
            return start
        sheet.messages.append({"role": "user", "content": results})
        start = after + 2 * len(calls)
    return start


def _write(sheet: Sheet, role: str, blocks: list[Json]) -> bool:
    """Write blocks, if that is a matter of adding them at the end."""
    messages = sheet.messages
    if not messages:
        if role == "assistant":
            return False
        messages.append({"role": role, "content": blocks})
        return True
    last = messages[-1]
    if "then" in last:
        return False
    if last["role"] != role:
        messages.append({"role": role, "content": blocks})
        return True
    if len(messages) <= sheet.own:
        return False
    last["content"] += blocks
    return True


def _calls(items: Sequence[Item], place: int, sheet: Sheet, names: Mapping[str, str]) -> list[Json]:
    """The calls from a place on, as far as they are of one agent and there is nothing to mend."""
    calls: list[Json] = []
    given, takes, agent = sheet.ids.taken, sheet.ids.takes, items[place].agent_id
    parameters = sheet.parameters
    while type(item := items[place]) is ToolCall:
        call_id, name = item.call_id, names.get(item.name)
        written, is_mended = input_of(item.arguments)
        if name is None or is_mended or call_id in given or not takes(call_id) or item.agent_id != agent:
            break
        if item.extras and not is_common(item):
            break
        if item.name in parameters:
            written = renamed(written, parameters[item.name])
        given[call_id] = call_id
        calls.append({"type": "tool_use", "id": call_id, "name": name, "input": written})
        place += 1
    return calls


def _results(items: Sequence[Item], place: int, calls: list[Json]) -> list[Json] | None:
    """The results of calls, if there is one for each, in their order, and with nothing but words."""
    results: list[Json] = []
    for index, call in enumerate(calls, place):
        item, call_id = items[index], call["id"]
        if type(item) is not ToolResult or item.call_id != call_id or type(item.content) is not str:
            return None
        text = item.content if item.content.isascii() else mended(item.content)
        if not text or text.isspace():
            return None
        block: Json = {"type": "tool_result", "tool_use_id": call_id, "content": text}
        if item.is_error:
            block["is_error"] = True
        results.append(block)
    return results
