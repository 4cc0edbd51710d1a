"""Tasks: what they are, and that nothing of them is lost on the way through items."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from quire.bridges.loom import Task, TaskStatus
from quire.bridges.loom.items import item_of, task_in
from quire.errors import InvalidValue, WrongType
from quire.items import JSON, Message, Note, use_clock

values = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
actions = st.sampled_from(
    ("execute", "node.thinking", "node.tool_call", "node.tool_result", "node.error", "x")
)
tasks = st.builds(
    Task,
    task_id=st.text("abc:-", min_size=1),
    source_agent=st.text("ab", max_size=2),
    target_agent=st.text("ab", max_size=2),
    action=actions,
    parameters=st.dictionaries(st.sampled_from(("content", "tool_args", "node_id", "x")), values),
    status=st.sampled_from(TaskStatus),
    created_at=st.floats(0, 4e9),
    result=values,
    error=st.none() | st.text(max_size=5),
    metadata=st.dictionaries(st.sampled_from(("importance",)), st.floats(0, 1)),
    parent_task_id=st.none() | st.just("parent"),
    session_id=st.none() | st.just("session"),
)


@pytest.mark.laws
@given(tasks)
def test_a_task_comes_back_whole_from_its_item(task: Task) -> None:
    item = item_of(task)
    assert task_in(item) == task
    assert task_in(JSON.decode_item(JSON.encode_item(item))) == task
    assert Task.from_dict(task.to_dict()) == task


def test_what_is_said_is_a_message_and_the_rest_a_note() -> None:
    assert isinstance(item_of(Task(parameters={"content": "hi"})), Message)
    assert isinstance(item_of(Task(action="node.tool_result", parameters={"result": "x"})), Note)
    assert isinstance(item_of(Task(action="anything.else", parameters={})), Note)


def test_a_task_has_defaults_and_an_id_of_its_own() -> None:
    with use_clock(lambda: 1000.0):
        one, other = Task(), Task()
    assert one.task_id != other.task_id and one.created_at == one.updated_at == 1000.0
    assert (one.action, one.status, one.parameters, one.session_id) == ("execute", "pending", {}, None)


def test_times_are_epoch_seconds_and_datetimes_are_taken() -> None:
    assert Task(created_at=datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC)).created_at == 1e9  # type: ignore[arg-type]  # pyright: ignore


def test_fields_of_the_wrong_type_are_refused() -> None:
    with pytest.raises(WrongType, match=r"Task\.action"):
        Task(action="")
    with pytest.raises(WrongType, match=r"Task\.parameters"):
        Task(parameters="content")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(WrongType, match=r"Task\.created_at"):
        Task(created_at="now")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidValue, match="pending, running"):
        Task(status="bogus")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidValue, match="no field 'surprise'"):
        Task.from_dict({"surprise": 1})
