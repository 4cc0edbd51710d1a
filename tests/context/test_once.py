"""Each item once, in figures that add up: inputs that moved on, forks beside their parents, shares."""

from typing import Any

import pytest

from quire.compactors import TruncateOldest, record
from quire.context import Template
from quire.errors import InvalidValue, OverBudget, UnknownKey
from quire.items import Item, Message, Note, ToolCall, ToolResult
from quire.sections import Ask, Custom, History, Input, Instructions, Pooled
from quire.state import Pool, Transcript
from quire.tokens import Budget, Share, counter_for
from tests.context.building import built
from tests.counting import FourCharacters

COUNTER = counter_for("gpt-5.6")


def words(role: Any, count: int, word: str = "word ", **more: Any) -> Message:
    return Message(role, word * count, **more)


def test_an_input_that_moved_into_the_history_is_counted_once() -> None:
    given = words("user", 600)
    transcript = Transcript([given])
    template = Template(Instructions("Be exact."), History(), Input(), budget=Budget(window=1_000))
    first = built(template, Ask(views={"main": transcript.view}, input=given), COUNTER)
    transcript.extend([ToolCall("c1", "f", "{}"), ToolResult("c1", "f", "ok")])
    later = built(template, Ask(views={"main": transcript.view}, input=given), COUNTER, first)
    assert [item.id for item in later.items].count(given.id) == 1
    assert first.receipt.tokens < later.receipt.tokens < 640
    assert later.shared == 2, "the instructions and the input are where they were"
    tight = Template(*template.sections, budget=Budget(window=625))
    with pytest.raises(OverBudget) as caught:
        built(tight, Ask(views={"main": transcript.view}, input=given), COUNTER)
    assert caught.value.over == later.receipt.tokens - 625


@pytest.mark.parametrize("early", [True, False])
def test_an_optional_minimum_takes_nothing_from_what_must_stay(early: bool) -> None:
    transcript = Transcript([words("user", 100, "old "), words("assistant", 100, "yes "), words("user", 300)])
    pool = Pool([Note("word " * 100, key=f"k{number}", description="d") for number in range(3)])
    pooled = Pooled(share=Share(minimum=150), stability="static")
    sections: list[Any] = [pooled, History()] if early else [History(), pooled]
    template = Template(*sections, budget=Budget(window=400))
    context = built(template, Ask(views={"main": transcript.view}, pool=pool), COUNTER)
    assert transcript.view[-1] in list(context.items)
    assert sum(context.tokens.values()) == sum(map(COUNTER.count, context.items))


def test_a_fork_beside_its_parent_shows_what_is_its_own() -> None:
    parent = Transcript([Message("user", "a", id="a"), Message("assistant", "b", id="b")])
    child = parent.fork()
    child.append(Message("user", "child", id="child"))
    ask = Ask(views={"main": parent.view, "sub": child.view})
    for sections in ([History(), History("sub", name="sub")], [History("sub", name="sub"), History()]):
        context = built(Template(*sections, budget=Budget(window=1_000)), ask, FourCharacters())
        assert [item.id for item in context.items] == ["a", "b", "child"]
        assert sum(context.tokens.values()) == sum(map(FourCharacters().count, context.items))
        assert len(context.receipt.entries) == 3


def test_what_answers_a_call_of_the_parent_is_shown_with_it_whatever_the_room() -> None:
    parent = Transcript([Message("user", "go", id="go"), ToolCall("c1", "look", "{}", id="call")])
    child = parent.fork()  # which is given an answer of its own to the call that waits
    child.append(Message("assistant", "done " * 10, id="done"))
    child.append(Message("user", "and?", id="and"))
    ask = Ask(views={"main": parent.view, "sub": child.view})
    (answer,) = (item for item in child.view if isinstance(item, ToolResult))
    sizes = set[int]()
    for window in range(30, 120):
        template = Template(History(), History("sub", name="sub"), budget=Budget(window=window))
        try:
            context = built(template, ask, COUNTER)
        except OverBudget:
            continue
        sizes.add(len(context.items))
        assert {"go", "call", answer.id, "and"} <= {item.id for item in context.items}
    assert sizes == {4, 5}


def test_two_transcripts_that_have_nothing_in_common_stay_views() -> None:
    one, two = (Transcript([Message("user", text, id=text)]) for text in ("one", "two"))
    template = Template(History(), History("sub", name="sub"), budget=Budget(window=1_000))
    for number in range(3):
        context = built(template, Ask(views={"main": one.view, "sub": two.view}), FourCharacters())
        assert context.items.view is not None and len(context.items) == 2 + number
        two.append(Message("assistant", "more", id=f"more{number}"))
    one.append(two.get("more0"))
    context = built(template, Ask(views={"main": one.view, "sub": two.view}), FourCharacters())
    assert [item.id for item in context.items] == ["one", "more0", "two", "more1", "more2"]


def test_what_one_section_gives_twice_is_shown_once() -> None:
    twice = Message("system", "twice", id="m")
    template = Template(Custom("c", lambda ask: [twice, twice]), budget=Budget(window=1_000))
    context = built(template, Ask(), FourCharacters())
    assert [item.id for item in context.items] == ["m"]
    assert context.tokens == {"c": FourCharacters().count(twice)}


def test_a_maximum_holds_where_there_is_room_for_more() -> None:
    pool = Pool([Note("word " * 100, key=f"k{number}", description="d") for number in range(10)])
    template = Template(Pooled(share=Share(maximum=240)), budget=Budget(window=5_000))
    context = built(template, Ask(pool=pool), COUNTER)
    assert 0 < context.tokens["pooled"] <= 240 and len(context.items) == 2
    items: list[Item] = [words("user" if n % 2 == 0 else "assistant", 10) for n in range(9)]
    short = Template(History(share=Share(maximum=50)), budget=Budget(window=5_000))
    context = built(short, Ask(views={"main": Transcript(items).view}), COUNTER)
    assert 0 < context.tokens["history"] <= 50
    tiny = Template(History(share=Share(maximum=5)), budget=Budget(window=5_000))
    context = built(tiny, Ask(views={"main": Transcript(items).view}), COUNTER)
    assert [item.id for item in context.items] == [items[-1].id], "what is to be answered stays"


def test_what_is_shown_whole_has_no_maximum() -> None:
    with pytest.raises(InvalidValue, match="'instructions' is required, so it is shown whole"):
        Template(Instructions("Be brief.", share=Share(maximum=5)), budget=Budget(window=100))
    with pytest.raises(InvalidValue, match="'instructions' is required"):
        budget = Budget(window=100, shares={"instructions": Share(maximum=5)})
        Template(Instructions("Be brief."), budget=budget)


def test_a_history_without_its_transcript_is_left_out_if_it_may_be() -> None:
    view = Transcript([Message("user", "q", id="q")]).view
    optional = Template(History(), History("gone", name="gone", required=False), budget=Budget(window=99))
    context = built(optional, Ask(views={"main": view}), FourCharacters())
    assert [item.id for item in context.items] == ["q"] and "UnknownKey" in str(context.receipt)
    with pytest.raises(UnknownKey) as caught:
        built(Template(History("gone"), budget=Budget(window=99)), Ask(views={"main": view}), COUNTER)
    assert caught.value.__notes__ == ["in section 'history'"]


def test_a_context_says_what_room_it_leaves_to_a_history() -> None:
    transcript = Transcript([words("user" if n % 2 == 0 else "assistant", 30) for n in range(21)])
    template = Template(Instructions("Be exact."), History(), budget=Budget(window=500, reserve=100))
    context = built(template, Ask(views={"main": transcript.view}, tools=[{"name": "look"}]), COUNTER)
    plan = TruncateOldest(floor=1.0).plan(transcript.view, context.room())
    assert plan is not None
    record(transcript, plan)
    after = built(template, Ask(views={"main": transcript.view}, tools=[{"name": "look"}]), COUNTER)
    assert after.receipt.lines()[1].left_out == 0, "all that is left fits"
    assert after.receipt.tokens > 400 - 2 * COUNTER.count(transcript.view[0]), "and not much more would"
    with pytest.raises(UnknownKey, match="'gone'"):
        context.room("gone")
