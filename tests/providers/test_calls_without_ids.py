"""A call to which its service gives no id gets one, on every wire: whoever answers it needs one."""

from typing import Any

import pytest

from quire.errors import Damaged
from quire.items import Message, ToolCall
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
