"""Messages: marks for the prompt cache."""

from copy import deepcopy
from typing import Any

import pytest

from quire.items import Item, Message, Opaque, Reasoning, ToolCall, ToolResult
from quire.providers import CachePlan
from tests.providers.anthropic.histories import OLDER, STEERED
from tests.providers.anthropic.test_writing import TOOL, WIRE

LONG = "word " * 2000
ORDER, ASKED, SAID = Message("system", LONG), Message("user", "Hi."), Message("assistant", "Yes.")
SHORT = {"type": "ephemeral"}


def payload(items: list[Item], plan: CachePlan, model: str | None = OLDER, tools: bool = True) -> Any:
    made = WIRE.render(items, model=model, tools=[TOOL] if tools else [], plan=plan)
    assert WIRE.check(made.payload, model) == []
    bare = WIRE.render(items, model=model, tools=[TOOL] if tools else [])
    assert unmarked(made.payload) == bare.payload
    return made.payload


def unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: unmarked(inner) for key, inner in value.items() if key != "cache_control"}  # pyright: ignore
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value  # pyright: ignore


def places(made: Any) -> list[str]:
    found = [f"tools {n}" for n, tool in enumerate(made.get("tools", [])) if "cache_control" in tool]
    found += [f"system {n}" for n, block in enumerate(made.get("system", [])) if "cache_control" in block]
    for index, message in enumerate(made["messages"]):
        found += [f"{index}.{n}" for n, block in enumerate(message["content"]) if "cache_control" in block]
    return found


def test_instructions_and_the_end_are_marked() -> None:
    made = payload([ORDER, ASKED, SAID, Message("user", ("a", "b"))], CachePlan(static=1))
    assert places(made) == ["system 0", "2.1"]
    assert made["system"][0]["cache_control"] == SHORT


def test_tools_are_marked_if_they_are_long_enough() -> None:
    tool = {**TOOL, "description": LONG}
    made = WIRE.render([ASKED], model=OLDER, tools=[TOOL | {"name": "a"}, tool], plan=CachePlan(keep="long"))
    assert places(made.payload) == ["tools 1", "0.0"]
    assert made.payload["tools"][1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_what_is_surely_too_short_is_not_marked() -> None:
    assert places(payload([Message("system", "Be kind."), ASKED], CachePlan())) == []
    assert places(payload([Message("system", "Be kind."), Message("user", LONG)], CachePlan())) == ["0.0"]
    assert places(payload([Message("system", "Be kind."), ASKED], CachePlan(), None)) == [
        "tools 0",
        "system 0",
        "0.0",
    ]


def test_what_is_volatile_comes_after_the_mark_even_in_the_same_message() -> None:
    items: list[Item] = [ORDER, ASKED, SAID, Message("user", "And?"), Message("user", "It is noon.")]
    assert places(payload(items, CachePlan(slow=4))) == ["system 0", "2.0"]
    assert places(payload(items, CachePlan(slow=3))) == ["system 0", "1.0"]
    assert places(payload(items, CachePlan(slow=1))) == ["system 0"]
    assert places(payload(items, CachePlan(slow=0))) == []
    assert places(payload([ORDER, ORDER, ASKED], CachePlan(slow=1))) == ["system 0"]


def test_instructions_that_moved_behind_what_is_volatile_are_not_marked() -> None:
    items: list[Item] = [ORDER, ASKED, Message("system", "Be brief."), Message("user", "It is noon.")]
    assert places(payload(items, CachePlan(slow=3), STEERED)) == ["system 0", "0.0"]
    assert places(payload(items[:3], CachePlan(slow=3), STEERED)) == ["system 0", "1.0"]
    after: list[Item] = [ORDER, ASKED, SAID, Message("system", "Be brief."), Message("user", "It is noon.")]
    assert places(payload(after, CachePlan(slow=4), STEERED)) == ["system 0", "1.0"]


@pytest.mark.parametrize(("calls", "marks"), [(9, ["system 0", "18.0"]), (10, ["system 0", "5.0", "20.0"])])
def test_a_long_stretch_is_marked_in_the_middle(calls: int, marks: list[str]) -> None:
    items: list[Item] = [ORDER, ASKED]
    for index in range(calls):
        items += [ToolCall(f"c{index}", "look"), ToolResult(f"c{index}", "look", "A")]
    assert places(payload(items, CachePlan())) == marks


def test_thinking_is_never_marked() -> None:
    items: list[Item] = [ORDER, ASKED]
    for index in range(11):
        thought = Reasoning("hm", Opaque("anthropic", OLDER, '{"signature":"s"}'))
        items += [thought, ToolCall(f"c{index}", "look"), ToolResult(f"c{index}", "look", "A")]
    made = payload(items, CachePlan())
    assert places(made) == ["system 0", "2.0", "12.0", "22.0"]
    assert [made["messages"][12]["content"][0]["type"], made["messages"][11]["content"][0]["type"]] == [
        "tool_result",
        "thinking",
    ]


@pytest.mark.parametrize("calls", [12, 30, 80])
@pytest.mark.parametrize("kept", [["system 0"], ["tools 0", "system 0"]])
def test_however_many_calls_a_turn_has_what_was_sent_before_it_is_found(calls: int, kept: list[str]) -> None:
    asked: list[Item] = [ORDER, *[ASKED, SAID] * 15, Message("user", "Look around.")]
    tool = {**TOOL, "description": LONG} if "tools 0" in kept else TOOL
    first = WIRE.render(asked, model=OLDER, tools=[tool], plan=CachePlan()).payload
    more: list[Item] = [ToolCall(f"c{n}", "look") for n in range(calls)]
    more += [ToolResult(f"c{n}", "look", "A") for n in range(calls)]
    then = WIRE.render([*asked, *more], model=OLDER, tools=[tool], plan=CachePlan()).payload
    assert WIRE.check(then, OLDER) == []
    assert places(then)[: len(kept)] == kept and len(places(then)) == 4
    assert places(first)[-1] in places(then), "the entry that was written at the end is out of reach"


def test_marks_are_on_copies() -> None:
    items: list[Item] = [ORDER, ASKED]
    first = WIRE.render(items, model=OLDER, tools=[TOOL])
    before = deepcopy(first.payload)
    marked = WIRE.render(items, model=OLDER, tools=[TOOL], plan=CachePlan())
    assert first.payload == before
    assert marked.prefix == first.prefix
