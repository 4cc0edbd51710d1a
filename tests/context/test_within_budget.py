"""Law 10 on what is sent: answers made up for calls, tools that change, counters that correct sums."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from quire.compactors import TruncateOldest, record
from quire.context import Template
from quire.errors import InvalidValue, OverBudget
from quire.items import Item, Message, ToolCall, ToolResult
from quire.providers import PROVIDERS
from quire.sections import Ask, Custom, History, Input, Instructions
from quire.state import Transcript
from quire.tokens import Budget, Calibrated, counter_for, schema_tokens
from tests.context.building import built
from tests.counting import FourCharacters

COUNTER = counter_for("gpt-5.6")
ROOMY = 100_000


def waiting(calls: int) -> list[Item]:
    asked = [ToolCall(f"c{n}", "look", "{}") for n in range(calls)]
    return [*asked, Message("user", "what now?")]


def template(*sections: Any, window: int) -> Template:
    return Template(*sections, budget=Budget(window=window), model="gpt-5.6")


def sent(context: Any) -> int:
    """What a payload counts, read back from the payload alone."""
    payload = context.render("openai").payload
    return COUNTER.total(sum(map(COUNTER.count, PROVIDERS["openai"].read_history(payload["messages"]))))


SECTIONS: dict[str, Callable[[list[Item]], list[Any]]] = {
    "a history": lambda items: [History()],
    "some of a history": lambda items: [History(where=lambda item: True)],
    "the last of a history": lambda items: [History(turns=9)],
    "a list": lambda items: [Custom("listed", lambda ask: items)],
}


@pytest.mark.parametrize("way", SECTIONS)
@pytest.mark.parametrize("calls", [1, 3, 40])
def test_answers_for_calls_that_wait_are_counted(way: str, calls: int) -> None:
    items = waiting(calls)
    ask = Ask(views={"main": Transcript(items).view})
    sections = SECTIONS[way](items)
    context = built(template(*sections, window=ROOMY), ask, COUNTER)
    assert sent(context) == context.receipt.tokens
    assert "answer calls that wait" in str(context.receipt)
    exact = template(*sections, window=context.receipt.tokens)
    assert sent(built(exact, ask, COUNTER)) == exact.budget.available
    with pytest.raises(OverBudget) as caught:
        built(template(*sections, window=context.receipt.tokens - 1), ask, COUNTER)
    assert caught.value.over == 1


def test_a_compactor_is_told_of_the_room_without_them() -> None:
    past = [Message("user" if n % 2 else "assistant", "words " * 30) for n in range(40)]
    transcript = Transcript([*past, *waiting(20)])
    of = template(Instructions("Be brief."), History(), window=1_000)
    room = built(of, Ask(views={"main": transcript.view}), COUNTER).room()
    plan = TruncateOldest(floor=1.0).plan(transcript.view, room)
    assert plan is not None and record(transcript, plan).fate == "kept"
    context = built(of, Ask(views={"main": transcript.view}), COUNTER)
    assert len(context.items) == len(transcript.view) + 1, "nothing more had to go"
    assert sent(context) <= 1_000


def test_a_tool_that_is_changed_in_place_is_counted_anew() -> None:
    tool: dict[str, Any] = {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}
    ask = Ask(views={"main": Transcript([Message("user", "hi")]).view}, tools=[tool])
    of = template(History(), window=400)
    before = built(of, ask, COUNTER).receipt.schemas
    assert built(of, ask, COUNTER).receipt.schemas == before == schema_tokens([tool], COUNTER)
    tool["parameters"]["properties"] = {"what": {"type": "string", "description": "word " * 50}}
    assert built(of, ask, COUNTER).receipt.schemas == schema_tokens([tool], COUNTER) > before + 50
    tool["description"] = "long word " * 400
    with pytest.raises(OverBudget) as caught:
        built(of, ask, COUNTER)
    assert caught.value.parts[0] == "tool definitions"


def test_what_is_learned_corrects_tools_too() -> None:
    tool = {"name": "look", "description": "word " * 40, "parameters": {"type": "object"}}
    counter = Calibrated(COUNTER)
    ask = Ask(views={"main": Transcript([Message("user", "hi " * 50)]).view}, tools=[tool])
    of = template(History(), window=4_000)
    first = built(of, ask, counter).receipt.schemas
    counter.learn(100, 200)
    assert built(of, ask, counter).receipt.schemas == counter.count_tools([tool]) > 1.5 * first


class Corrected(FourCharacters):
    """A counter that corrects its sums, by a factor that wavers as a learned one does."""

    def __init__(self, factor: float, overhead: int = 0) -> None:
        self.key = "corrected"
        self._factor, self._overhead, self.turn = factor, overhead, 0

    def total(self, counted: int) -> int:
        wavering = 1 + 0.002 * (self.turn % 5 - 2) if self._factor != 1 else 1
        return round(counted * self._factor * wavering) + self._overhead


@pytest.mark.parametrize(
    ("factor", "overhead"), [(0.4, 0), (0.75, 0), (0.97, 20), (1, 0), (1, 500), (1.3, 0), (2, 9)]
)
def test_the_budget_is_used_whatever_a_counter_makes_of_sums(factor: float, overhead: int) -> None:
    counter, transcript = Corrected(factor, overhead), Transcript()
    of = template(History(), window=4_000)
    used, starts = list[int](), list[str]()
    for turn in range(300):
        counter.turn = turn
        transcript.extend([Message("user", "q" * 200), Message("assistant", "a" * 200)])
        context = built(of, Ask(views={"main": transcript.view}), counter)
        used.append(context.receipt.tokens)
        starts.append(context.items[0].id)
    late = used[150:]
    assert max(used) <= 4_000
    assert max(late) > 0.9 * 4_000 and sum(late) / len(late) > 0.65 * 4_000
    moves = sum(one != other for one, other in pairwise(starts[150:]))
    added = 150 * 2 * (54 * factor)
    assert moves <= added / (0.4 * (4_000 - overhead)) + 1, "it moves once in half a budget"


def test_the_input_is_never_silently_absent() -> None:
    transcript = Transcript([Message("user", f"q{n} word word word") for n in range(10)])
    asked = transcript.view[-1]
    ask = Ask(views={"main": transcript.view}, input=asked)
    for shown in ([History()], [Input()], [History(turns=2), Input()], [History(turns=1, required=False)]):
        context = built(template(*shown, window=ROOMY), ask, COUNTER)
        assert asked in list(context.items) and context.receipt.advice == ()
    context = built(template(Instructions("a"), window=ROOMY), ask, COUNTER)
    assert any(asked.id in line and "not shown" in line for line in context.receipt.advice)
    other = Message("user", "never recorded")
    context = built(template(History(), window=ROOMY), Ask(views=ask.views, input=other), COUNTER)
    assert any(other.id in line for line in context.receipt.advice)
    with pytest.raises(InvalidValue, match="never left out"):
        Input(required=False)
    with pytest.raises(InvalidValue, match="keeps its newest"):
        History(keeps="first", turns=4, required=False)


def test_a_result_that_is_the_input_is_shown_by_the_history() -> None:
    result = ToolResult("c", "look", "found")
    view = Transcript([Message("user", "go"), ToolCall("c", "look"), result]).view
    context = built(
        template(History(), Input(), window=ROOMY), Ask(views={"main": view}, input=result), COUNTER
    )
    assert result in list(context.items) and context.receipt.advice == ()
