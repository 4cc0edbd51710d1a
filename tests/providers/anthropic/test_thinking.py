"""Messages: thinking goes back as it came, where it came from, and nowhere else."""

from typing import Any

import pytest

from quire.items import Item, Message, Opaque, Reasoning, ToolCall, ToolResult
from quire.providers import CachePlan
from tests.providers.anthropic.histories import BOUND, OLDER, STEERED
from tests.providers.anthropic.test_writing import HI, TOOL, WIRE, YES, assistant, result, text, use, user

THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "eA=="}


def mine(model: str = STEERED, prefix: str | None = None, data: str = '{"signature":"c2ln"}') -> Reasoning:
    return Reasoning("hm", Opaque("anthropic", model, data, prefix))


def rendered(*items: Item, model: str | None = STEERED) -> tuple[Any, list[str]]:
    made = WIRE.render(items, model=model, tools=[TOOL])
    assert WIRE.check(made.payload, model) == []
    return made.payload["messages"], [each.change for each in made.downgrades]


def test_thinking_and_calls_go_back_in_the_order_they_came() -> None:
    redacted = Reasoning(state=Opaque("anthropic", STEERED, '{"redacted":"eA=="}'))
    outputs: list[Item] = [mine(), redacted, YES, ToolCall("a", "look"), mine(), ToolCall("b", "look")]
    results = [ToolResult("a", "look", "A"), ToolResult("b", "look", "B")]
    said, changed = rendered(HI, *outputs, *results)
    assert said[1] == assistant(THOUGHT, REDACTED, "Yes.", use("a"), THOUGHT, use("b"))
    assert said[2]["content"] == [result("a", "A"), result("b", "B")]
    assert changed == []


def test_words_after_a_call_stand_before_it_and_thinking_that_they_overtook_is_left_out() -> None:
    outputs: list[Item] = [mine(), ToolCall("a", "look"), YES, mine(), ToolCall("b", "look")]
    results = [ToolResult("a", "look", "A"), ToolResult("b", "look", "B")]
    said, changed = rendered(HI, *outputs, *results)
    assert said[1] == assistant(THOUGHT, "Yes.", use("a"), use("b"))
    assert changed == ["words_moved", "state_stale"]


def test_thinking_after_the_last_call_is_left_out() -> None:
    said, changed = rendered(HI, mine(), ToolCall("a", "look"), mine(), ToolResult("a", "look", "A"))
    assert said[1] == assistant(THOUGHT, use("a"))
    assert changed == ["reasoning_left_out"]


@pytest.mark.parametrize("server_id", ["s1", ["s1"], None, 5])
def test_the_answer_of_a_server_tool_before_its_question_is_not_sent(server_id: Any) -> None:
    found: dict[str, Any] = {"type": "web_search_tool_result", "tool_use_id": server_id, "content": []}
    asked: dict[str, Any] = {"type": "server_tool_use", "id": server_id, "name": "web_search", "input": {}}
    answer: dict[str, Any] = {
        "content": [found, asked, {"type": "text", "text": "Yes."}],
        "stop_reason": "end_turn",
    }
    said, changed = rendered(HI, *WIRE.parse(answer, model=STEERED).items, HI)
    assert said[1] == assistant("Yes.")
    assert changed == ["reasoning_left_out"] * 2


@pytest.mark.parametrize(
    ("thought", "change"),
    [
        (Reasoning("hm"), "reasoning_left_out"),
        (Reasoning("hm", Opaque("anthropic", STEERED)), "reasoning_left_out"),
        (mine(data="no json"), "reasoning_left_out"),
        (mine(data='{"block":{"type":"text"}}'), "reasoning_left_out"),
        (Reasoning("hm", Opaque("openai-responses", STEERED, '{"signature":"c2ln"}')), "state_foreign"),
        (mine("claude-opus-5"), "state_foreign"),
        (mine(prefix="of something else"), "state_stale"),
    ],
)
def test_thinking_that_may_not_be_sent_is_left_out_and_never_said(thought: Reasoning, change: str) -> None:
    said, changed = rendered(HI, thought, YES, HI)
    assert said == [user("Hi."), assistant("Yes."), user("Hi.")]
    assert changed == [change]


def test_in_a_run_of_calls_the_reason_tells_of_the_setting() -> None:
    made = WIRE.render([HI, mine("claude-opus-5"), ToolCall("a", "look")], model=STEERED, tools=[TOOL])
    assert "thinking to be off" in made.downgrades[0].reason
    made = WIRE.render([HI, mine("claude-opus-5"), YES], model=STEERED, tools=[TOOL])
    assert "thinking to be off" not in made.downgrades[0].reason


def test_thinking_alone_or_at_the_end_is_left_out() -> None:
    assert rendered(HI, mine()) == ([user("Hi.")], ["reasoning_left_out"])
    said, changed = rendered(HI, mine(), YES, mine(), HI)
    assert (said[1], changed) == (assistant(THOUGHT, "Yes."), ["reasoning_left_out"])


def test_what_the_providers_own_tools_left_goes_back_as_it_came() -> None:
    asked = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    found: dict[str, Any] = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    content: list[dict[str, Any]] = [asked, found, {"type": "text", "text": "Found it."}]
    sent = WIRE.render([HI], model=STEERED)
    answer = WIRE.parse({"content": content, "model": STEERED}, sent=sent, model=STEERED)
    again = WIRE.render([HI, *answer.items, HI], model=STEERED)
    assert again.payload["messages"][1]["content"] == content
    other = WIRE.render([HI, *answer.items, HI], model=OLDER)
    assert other.payload["messages"][1]["content"] == content[2:]
    assert [each.change for each in other.downgrades] == ["state_foreign", "state_foreign"]


def test_blocks_of_the_provider_go_back_as_they_came_and_what_is_of_no_known_kind_is_noted() -> None:
    made = {"type": "compaction", "content": "So far.", "encrypted_content": "eA=="}
    content: list[dict[str, Any]] = [made, {"type": "fallback"}, {"type": "text", "text": "Yes."}]
    sent = WIRE.render([HI], model=STEERED)
    items = WIRE.parse({"content": content, "model": STEERED}, sent=sent, model=STEERED).items
    again = WIRE.render([HI, *items, HI], model=STEERED)
    assert again.payload["messages"][1]["content"] == content
    other = WIRE.render([HI, *items, HI], model=OLDER)
    assert other.payload["messages"][1]["content"] == content[2:]
    novel = WIRE.parse(
        {"content": [{"type": "novelty"}, *content], "model": STEERED}, sent=sent, model=STEERED
    )
    again = WIRE.render([HI, *novel.items, HI], model=STEERED)
    assert again.payload["messages"][1]["content"] == content
    assert [each.change for each in again.downgrades] == ["reasoning_left_out"]


@pytest.mark.parametrize("data", ['{"redacted":""}', '{"signature":""}', '{"block":{"type":"image"}}'])
def test_an_empty_seal_is_not_sent(data: str) -> None:
    thought = Reasoning("hm", Opaque("anthropic", STEERED, data))
    assert rendered(HI, thought, YES, HI, model=STEERED)[0][1] == assistant("Yes.")
    assert rendered(HI, thought, YES, HI, model=STEERED)[1] == ["reasoning_left_out"]


def answered(
    items: list[Item], model: str, plan: CachePlan | None = None, volatile: bool = False
) -> list[Item]:
    tail: list[Item] = [Message("user", "It is noon.")] if volatile else []
    sent = WIRE.render([*items, *tail], model=model, tools=[TOOL], plan=plan)
    response = {"content": [THOUGHT, text("So.")], "model": model}
    return [*items, *WIRE.parse(response, sent=sent, model=model).items]


@pytest.mark.parametrize("model", [STEERED, BOUND])
def test_an_answer_goes_back_whole(model: str) -> None:
    history: list[Item] = [Message("system", "Be kind."), HI, Message("system", "Be brief.")]
    for _ in range(3):
        history = answered(history, model)
        said, changed = rendered(*history, model=model)
        assert (said[-2], said[-1], changed[-1:]) == (
            assistant(THOUGHT, "So."),
            user("Continue."),
            ["turn_added"],
        )
        history.append(Message("user", "And?"))


@pytest.mark.parametrize("model", [STEERED, BOUND])
def test_an_answer_to_a_turn_that_was_made_up_comes_after_it(model: str) -> None:
    said, changed = rendered(*answered([HI, YES], model), HI, model=model)
    assert said == [user("Hi."), assistant("Yes."), user("Continue."), assistant(THOUGHT, "So."), user("Hi.")]
    assert changed == ["turn_added"]


def test_words_before_thinking_are_of_the_same_turn() -> None:
    sent = WIRE.render([HI], model=BOUND, tools=[TOOL])
    content = [text("Well."), THOUGHT, use("a")]
    answer = WIRE.parse({"content": content, "model": BOUND}, sent=sent, model=BOUND)
    said, changed = rendered(HI, *answer.items, ToolResult("a", "look", "A"), model=BOUND)
    assert (said[1]["content"], changed) == (content, [])


@pytest.mark.parametrize("model", [STEERED, BOUND])
def test_an_edit_before_thinking_leaves_it_out(model: str) -> None:
    history = answered([Message("system", "Be kind."), HI], model)
    for place in (0, 1):
        changed = Message("system" if place == 0 else "user", "Edited.")
        edited = [*history[:place], changed, *history[place + 1 :]]
        assert rendered(*edited, HI, model=model) == (
            [user("Hi." if place == 0 else "Edited."), assistant("So."), user("Hi.")],
            ["state_stale"],
        )


def test_other_tools_leave_it_out_only_where_it_is_bound_to_them() -> None:
    other = [{"name": "hear", "input_schema": {"type": "object"}}]
    for model, changes in ((STEERED, []), (BOUND, ["state_stale"])):
        made = WIRE.render([*answered([HI], model), HI], model=model, tools=other)
        assert [each.change for each in made.downgrades] == changes


def test_what_is_volatile_leaves_it_out_only_where_it_is_bound_to_all() -> None:
    plan = CachePlan(slow=1)
    for model, changes in ((STEERED, []), (BOUND, ["state_stale"])):
        history = answered([HI], model, plan, volatile=True)
        assert rendered(*history, HI, model=model)[1] == changes
