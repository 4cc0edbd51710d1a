"""The protocol of direct messages: required fields, priority, expiry, and whom they are for."""

from functools import partial

import pytest

from quire.bridges.loom import EventBus, LoomMemory, Task
from quire.errors import InvalidValue, WrongType
from quire.items import use_clock
from tests.bridges.loom.tasks import contents, letter
from tests.bridges.pygents.writing import in_a_loop

WHOLE = {"source_agent": "a", "target_agent": "b", "parameters": {"content": "x"}}


@pytest.mark.parametrize(
    ("field", "empty"),
    [("source_agent", ""), ("target_agent", ""), ("parameters", {}), ("parameters", {"content": " "})],
)
@in_a_loop
async def test_a_missing_field_is_named_and_nothing_is_kept(field: str, empty: object) -> None:
    bus, memory = EventBus(), LoomMemory()
    task = Task(action="node.message", **{**WHOLE, field: empty})  # type: ignore[arg-type]  # pyright: ignore
    named = "parameters.content" if field == "parameters" else field
    with pytest.raises(InvalidValue, match=named):
        await bus.publish(task)
    with pytest.raises(InvalidValue, match=named):
        memory.add_task(task)
    assert bus.query_recent() == [] and memory.get_l1_tasks() == []


@in_a_loop
async def test_priority_comes_first_and_is_a_half_where_none_is_given() -> None:
    bus = EventBus()
    for content, parameters in (("low", {"priority": 0.4}), ("usual", {}), ("high", {"priority": 0.6})):
        await bus.publish(letter(content, **parameters))
    assert contents(bus.query_by_target("agent-b")) == ["high", "usual", "low"]


@in_a_loop
async def test_of_equal_ones_the_newest_comes_first() -> None:
    bus = EventBus()
    for second in range(3):
        with use_clock(partial(float, 1000 + second)):
            await bus.publish(letter(f"at {second}"))
    assert contents(bus.query_by_target("agent-b")) == ["at 2", "at 1", "at 0"]


@in_a_loop
async def test_what_has_expired_does_not_come_back_and_the_clock_is_the_engines() -> None:
    bus, memory = EventBus(), LoomMemory()
    with use_clock(lambda: 1000.0):
        short = letter("short", ttl_seconds=60)
        for task in (short, letter("long", ttl_seconds=600), letter("lasting")):
            await bus.publish(task)
            memory.add_task(task)
    with use_clock(lambda: 1059.0):
        assert set(contents(bus.query_by_target("agent-b"))) == {"short", "long", "lasting"}
    with use_clock(lambda: 1060.0):
        assert set(contents(bus.query_by_target("agent-b"))) == {"long", "lasting"}
        assert contents(memory.get_l1_tasks()) == ["long", "lasting"]
    with use_clock(lambda: 9000.0):
        assert contents(bus.query_by_target("agent-b")) == ["lasting"]


@in_a_loop
async def test_the_target_is_an_agent_or_a_node() -> None:
    bus = EventBus()
    await bus.publish(letter("to the agent"))
    await bus.publish(letter("to its node", target_node_id="node-7"))
    another = letter("to another")
    another.target_agent = "agent-c"
    await bus.publish(another)
    assert set(contents(bus.query_by_target("agent-b"))) == {"to the agent", "to its node"}
    assert contents(bus.query_by_target(target_node_id="node-7")) == ["to its node"]
    assert len(bus.query_by_target("agent-b", "node-7")) == 2
    assert bus.query_by_target("nobody") == bus.query_by_target() == []


@in_a_loop
async def test_a_limit_is_counted_after_the_order() -> None:
    bus = EventBus()
    for number in range(5):
        await bus.publish(letter(f"m{number}", priority=number / 10))
    assert contents(bus.query_by_target("agent-b", limit=2)) == ["m4", "m3"]


@pytest.mark.parametrize("wrong", [{"priority": 1.5}, {"priority": -0.1}, {"ttl_seconds": -1}])
@in_a_loop
async def test_numbers_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidValue, match=next(iter(wrong))):
        await EventBus().publish(letter("x", **wrong))


@in_a_loop
async def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(WrongType, match="priority"):
        await EventBus().publish(letter("x", priority="high"))
