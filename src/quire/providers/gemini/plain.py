"""Gemini: the common case, without calling a function for each item.

Text, and calls with good ids and arguments and their results in order, are most of any history. This writes
just what the writer would, and stops before a turn that has anything else.
"""

from collections.abc import Mapping, Sequence

from quire.items import Item, Message, Reasoning, ToolCall, ToolResult
from quire.providers.gemini.arguments import read_arguments
from quire.providers.gemini.replies import Replies
from quire.providers.gemini.responses import GIVEN_AS
from quire.providers.native import BESIDE, is_common
from quire.providers.sheet import Json, Sheet
from quire.providers.wording import mended

Table = Mapping[str, str]

LONGEST_ID = 64
"""Characters that the id of a call may have."""

_CLOSING = (Message, Reasoning, ToolCall, ToolResult)  # after a record of another kind a call may still join


def write_plain(items: Sequence[Item], start: int, stop: int, sheet: Sheet, replies: Replies) -> int:
    """Write turns from `start` on, and give the place of the first item that was not written.

    At `stop` there is a message of another than the model, so that each turn before it is known to be whole.
    """
    messages, signs, signs_words = sheet.messages, replies.signs, replies.signs_words
    append = messages.append
    while start < stop:
        item = items[start]
        after, said = start, None
        if type(item) is Message:
            text, role = item.content, item.role
            if type(text) is not str or not text or (item.extras and BESIDE in item.extras):
                break
            said = {"text": text if text.isascii() else mended(text)}
            after += 1
            if role == "user":
                append({"role": "user", "parts": [said]})
                start = after
                continue
            following = items[after]
            if role != "assistant" or item.state is not None or type(following) not in _CLOSING:
                break
            if signs_words or not messages or messages[-1]["role"] != "user":
                break
            if type(following) is not ToolCall or following.agent_id != item.agent_id:
                append({"role": "model", "parts": [said]})
                start = after
                continue
        end = _write_calls(items, after, sheet, replies.known, said)
        if end == after:
            break
        if signs:
            replies.excused(items[after], messages[-2]["parts"][0 if said is None else 1])
        start = end
    return start


def _write_calls(items: Sequence[Item], start: int, sheet: Sheet, names: Table, said: Json | None) -> int:
    """Calls in a row, after what was said, and their results in the same order; or nothing."""
    messages = sheet.messages
    if type(items[start]) is not ToolCall or not messages or messages[-1]["role"] != "user":
        return start
    calls = _calls(items, start, sheet, names)
    results = _results(items, start + len(calls), calls)
    if not results:
        for call in calls:
            del sheet.ids.taken[call["id"]]
        return start
    parts: list[Json] = [{"functionCall": call} for call in calls]
    if said is not None:
        parts.insert(0, said)
    messages.append({"role": "model", "parts": parts})
    messages.append({"role": "user", "parts": results})
    return start + 2 * len(calls)


def _calls(items: Sequence[Item], place: int, sheet: Sheet, names: Table) -> list[Json]:
    """Calls of one agent in a row, as far as they need no more than to be written down."""
    given, takes, agent = sheet.ids.taken, sheet.ids.takes, items[place].agent_id
    calls: list[Json] = []
    while type(item := items[place]) is ToolCall:
        call_id, name = item.call_id, item.name
        if names.get(name) != name or call_id in given or item.state is not None or item.agent_id != agent:
            break
        # Nearly all ids are identifiers, and asking that is cheaper than asking a pattern.
        if not (call_id.isidentifier() and call_id.isascii() and len(call_id) <= LONGEST_ID) and not takes(
            call_id
        ):
            break
        arguments = read_arguments(item.arguments)
        if arguments is None or (item.extras and not is_common(item)):
            break
        given[call_id] = call_id
        calls.append({"id": call_id, "name": name, "args": arguments})
        place += 1
    return calls


def _results(items: Sequence[Item], place: int, calls: list[Json]) -> list[Json]:
    """The results of calls, if they come in the same order and are text; none if not."""
    results: list[Json] = []
    for call in calls:
        item, call_id = items[place], call["id"]
        if type(item) is not ToolResult or item.call_id != call_id or type(item.content) is not str:
            return []
        if item.extras and GIVEN_AS in item.extras:
            return []
        text = item.content if item.content.isascii() else mended(item.content)
        response = {"error" if item.is_error else "output": text}
        results.append({"functionResponse": {"id": call_id, "name": call["name"], "response": response}})
        place += 1
    return results
