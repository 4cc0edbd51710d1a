"""A call to which its service gives no id gets one, on every wire: whoever answers it needs one."""

from typing import Any

import pytest

from quire.errors import Damaged
from quire.items import Message, ToolCall, ToolResult
from quire.providers import PROVIDERS, Parsed
from tests.providers.feeding import fed

Json = dict[str, Any]
NOTHING: list[Json] = [{}, {"id": None}, {"id": ""}]


def checked(answer: Parsed, *names: str) -> None:
    said, *calls = answer.items
    assert isinstance(said, Message) and said.text == "I look."
    assert [call.name for call in calls if isinstance(call, ToolCall)] == list(names)
    assert len({call.call_id for call in calls if isinstance(call, ToolCall) and call.call_id}) == len(names)
    assert (answer.finish, answer.error) == ("calls", None)


@pytest.mark.parametrize("nothing", NOTHING)
def test_of_messages(nothing: Json) -> None:
    blocks: list[Json] = [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "name": "look", "input": {}, **nothing},
        {"type": "tool_use", "name": "find", "input": {}, **nothing},
    ]
    checked(PROVIDERS["anthropic"].parse({"stop_reason": "tool_use", "content": blocks}), "look", "find")
    events = [
        {"type": f"content_block_{what}", "index": at, "content_block": block}
        for at, block in enumerate(blocks)
        for what in ("start", "stop")
    ]
    ends: list[Json] = [
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    checked(fed(PROVIDERS["anthropic"], [*events, *ends]), "look", "find")
    with pytest.raises(Damaged):
        PROVIDERS["anthropic"].read_history([{"role": "assistant", "content": blocks}])


@pytest.mark.parametrize("nothing", NOTHING)
@pytest.mark.parametrize("own", [{}, {"id": "fc_1"}])
def test_of_responses(nothing: Json, own: Json) -> None:
    called = {"call_id": nothing["id"]} if nothing else {}
    text: Json = {"type": "output_text", "text": "I look.", "annotations": []}
    call: Json = {"type": "function_call", "name": "look", "arguments": "{}", **own, **called}
    output: list[Json] = [{"type": "message", "role": "assistant", "content": [text]}, call]
    wire = PROVIDERS["openai-responses"]
    checked(wire.parse({"status": "completed", "output": output}), "look")
    done = [
        {"type": "response.output_item.done", "output_index": at, "item": item}
        for at, item in enumerate(output)
    ]
    ended = {"type": "response.completed", "response": {"status": "completed", "output": output}}
    checked(fed(wire, [*done, ended]), "look")
    with pytest.raises(Damaged):
        wire.read_history(output)


CHAT = PROVIDERS["openai"]
ASKED: Json = {"role": "user", "content": "Look."}


def called(*names: str, **ids: Any) -> Json:
    calls = [{"type": "function", "function": {"name": name, "arguments": "{}"}, **ids} for name in names]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def gave(text: str, **fields: Any) -> Json:
    return {"role": "tool", "content": text, **fields}


def paired(*history: Json) -> list[tuple[str, str]]:
    """What was called and what it gave, in a history that can be sent again."""
    items = CHAT.read_history([ASKED, *history])
    calls, again = (
        [item for item in some if isinstance(item, ToolCall)]
        for some in (items, CHAT.read_history([ASKED, *history]))
    )
    assert [call.call_id for call in calls] == [call.call_id for call in again]
    assert CHAT.check(CHAT.render(items).payload) == []
    names = {call.call_id: call.name for call in calls}
    assert len(names) == len(calls)
    results = [item for item in items if isinstance(item, ToolResult)]
    return [(names.get(result.call_id, ""), str(result.content)) for result in results]


@pytest.mark.parametrize("nothing", NOTHING)
def test_in_a_history_of_chat_they_are_paired_by_order(nothing: Json) -> None:
    unnamed = {"tool_call_id": nothing["id"]} if nothing else {}
    first, second = gave("1", **unnamed), gave("2", **unnamed)
    assert paired(called("look", "find", **nothing), first, second) == [("look", "1"), ("find", "2")]
    assert paired(called("look", **nothing), called("find", **nothing), first, second) == [
        ("look", "1"),
        ("find", "2"),
    ]
    rounds = [called("look", **nothing), first, called("look", **nothing), second]
    assert paired(*rounds) == [("look", "1"), ("look", "2")]


def test_in_a_history_of_chat_a_name_says_which_call_is_meant() -> None:
    results = [gave("2", name="find"), gave("1", name="look")]
    assert paired(called("look", "find"), *results) == [("find", "2"), ("look", "1")]
    assert paired(called("look"), gave("1", name="another")) == [("look", "1")]
    natives = [gave("2", tool_name="find"), gave("1", tool_name="look")]
    assert paired(called("look", "find"), *natives) == [("find", "2"), ("look", "1")]


def test_in_a_history_of_chat_what_names_another_tool_is_given_to_none_of_several() -> None:
    assert paired(called("look", "find"), gave("1", name="another")) == [("", "1")]


def test_ids_that_are_made_stay_the_same_while_a_history_grows() -> None:
    later = [called("find", id="call_9"), gave("2", tool_call_id="call_9")]
    for history in ([called("look")], [called("look"), gave("1"), *later], [called("look"), *later, *later]):
        call = next(item for item in CHAT.read_history(history) if isinstance(item, ToolCall))
        assert call.call_id == "call_0"


def test_in_a_history_of_chat_a_result_is_not_of_an_earlier_round() -> None:
    assert paired(called("look"), ASKED, called("find", id="call_1"), gave("2")) == [("find", "2")]
    assert paired(called("look", id="call_1"), gave("1", tool_call_id="call_1"), gave("2")) == [
        ("look", "1"),
        ("", "2"),
    ]
