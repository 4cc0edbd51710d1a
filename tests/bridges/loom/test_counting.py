"""The token counter: it can be made without a word, and counts what the budget counts."""

import pytest

from quire.bridges.loom import TaskContextManager, TokenCounter
from quire.errors import InvalidValue
from quire.tokens import counter_for
from tests.bridges.loom.tasks import said
from tests.bridges.pygents.writing import in_a_loop


def test_it_is_exact_for_the_usual_models_and_takes_a_model_by_name() -> None:
    assert TokenCounter().count("hello there") == 2
    assert TokenCounter("claude-sonnet-5").count("hello there") > 0


@pytest.mark.parametrize(
    "text", ["今天天气很好我们去公园散步吧", "오늘은 날씨가 좋네요", "今日はいい天気です"]
)
def test_scripts_without_spaces_are_not_counted_as_if_they_were_english(text: str) -> None:
    tokens = TokenCounter().count(text)
    assert tokens > len(text) / 4
    assert tokens == counter_for("gpt-4o").text(text)
    assert TokenCounter("claude-sonnet-5").count(text) > len(text) / 4


def test_messages_cost_more_than_their_words() -> None:
    counter = TokenCounter()
    one = counter.count_messages([{"role": "user", "content": "hello there"}])
    assert 2 < one < 20 and counter.count_messages([]) < one


@in_a_loop
async def test_it_counts_what_the_budget_counts() -> None:
    context = TaskContextManager(TokenCounter(), system_prompt="Be brief.")
    task = said("Count the lamps")
    messages = await context.build_context(task)
    assert TokenCounter().count_messages(messages) == (await context.build(task)).receipt.tokens


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(InvalidValue):
        TokenCounter().count_messages([{"role": "nobody", "content": "x"}])
