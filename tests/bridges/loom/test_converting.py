"""The conversion rules: who says what of a task to a model."""

import pytest

from quire.bridges.loom import MessageConverter, Task
from quire.errors import InvalidValue
from tests.bridges.loom.tasks import letter, said, thought

turn = MessageConverter().convert_task_to_message


def test_what_is_to_be_done_is_said_by_the_user() -> None:
    assert turn(said("Count the lamps")) == {"role": "user", "content": "Count the lamps"}


def test_a_thought_is_said_by_the_assistant() -> None:
    assert turn(thought("There are two rooms")) == {"role": "assistant", "content": "There are two rooms"}


def test_a_call_is_told_in_brackets_with_its_arguments() -> None:
    call = Task(
        action="node.tool_call", parameters={"tool_name": "count", "tool_args": {"room": "a", "n": 2}}
    )
    assert turn(call) == {"role": "assistant", "content": '[Calling count(room="a", n=2)]'}


def test_a_call_without_known_arguments_has_dots() -> None:
    call = Task(action="node.tool_call", parameters={"tool_name": "count"})
    assert turn(call) == {"role": "assistant", "content": "[Calling count(...)]"}
    bare = Task(action="node.tool_call", parameters={"tool_name": "count", "tool_args": {}})
    assert turn(bare) == {"role": "assistant", "content": "[Calling count()]"}


def test_arguments_that_no_json_can_write_are_told_all_the_same() -> None:
    call = Task(
        action="node.tool_call", parameters={"tool_name": "count", "tool_args": {"by": complex(1, 2)}}
    )
    assert turn(call) == {"role": "assistant", "content": "[Calling count(by=(1+2j))]"}


def test_results_are_left_out() -> None:
    assert turn(Task(action="node.tool_result", parameters={"result": "9" * 1000})) is None


def test_what_has_no_words_and_what_is_unknown_is_left_out() -> None:
    assert turn(said("  ")) is None
    assert turn(Task(action="execute")) is None
    assert turn(Task(action="node.start", parameters={"content": "x"})) is None


def test_a_direct_message_is_marked_with_its_sender_and_not_said_by_the_assistant() -> None:
    assert turn(letter("Look left")) == {
        "role": "user",
        "content": "[Direct message from agent-a] Look left",
    }


def test_a_direct_message_that_lacks_something_is_an_error() -> None:
    with pytest.raises(InvalidValue, match="source_agent"):
        turn(Task(action="node.message", target_agent="b", parameters={"content": "x"}))


def test_several_keep_their_order() -> None:
    several = [said("one"), Task(action="node.tool_result"), thought("two")]
    found = MessageConverter().convert_tasks_to_messages(several)
    assert [message["content"] for message in found] == ["one", "two"]
