"""Law 6 in fitting: a cut falls where a turn of the user begins, and inside the last turn alone.

That holds for histories of which some is left out, or changed, as it does for one that is shown as it is.
"""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.context import Context, Template
from quire.errors import OverBudget
from quire.items import Item, Message, ToolCall, ToolResult
from quire.sections import Ask, Custom, History, Input, Instructions
from quire.state import Transcript, View, groups
from quire.tokens import Budget
from tests.context.building import built
from tests.counting import FourCharacters

COUNTER = FourCharacters()
TURNS = st.lists(
    st.tuples(st.integers(1, 80), st.lists(st.integers(1, 200), max_size=4), st.integers(1, 80)),
    min_size=2,
    max_size=15,
)
"""Of each turn the length of its question, of what tools gave, and of its answer."""


def as_it_is(ask: Ask) -> list[Item]:
    return list(ask.view())


SECTIONS: dict[str, Any] = {
    "all": History(),
    "where": History(where=lambda item: True),
    "transform": History(transform=lambda item: item),
    "turns": History(turns=12),
    "messages": History(messages=60),
    "no questions": History(where=lambda item: not isinstance(item, Message) or item.role != "user"),
    "a list": Custom("history", as_it_is, keeps="newest"),
}


def talk(turns: list[tuple[int, list[int], int]], question: int) -> Transcript:
    transcript = Transcript()
    for turn, (asked, found, answered) in enumerate(turns):
        transcript.append(Message("user", "q" * asked, id=f"u{turn}"))
        for number, length in enumerate(found):
            transcript.append(ToolCall(f"c{turn}.{number}", "look", id=f"c{turn}.{number}"))
            transcript.append(ToolResult(f"c{turn}.{number}", "look", "f" * length, id=f"r{turn}.{number}"))
        transcript.append(Message("assistant", "a" * answered, id=f"a{turn}"))
    transcript.append(Message("user", "?" * question, id=f"u{len(turns)}"))
    return transcript


def turn_of(item: Item) -> int:
    return int(item.id[1:].split(".")[0])


def fitted(view: View, section: Any, window: int, *more: Any) -> Context | None:
    template = Template(Instructions("Be brief."), section, *more, budget=Budget(window=window))
    try:
        return built(template, Ask(views={"main": view}, input=view[-1] if more else None), COUNTER)
    except OverBudget:
        return None


@pytest.mark.laws
@given(TURNS, st.integers(1, 60), st.integers(20, 500), st.sampled_from(sorted(SECTIONS)), st.booleans())
def test_turns_before_the_last_are_shown_whole_or_not_at_all(
    turns: list[tuple[int, list[int], int]], question: int, window: int, kind: str, is_apart: bool
) -> None:
    view = talk(turns, question).view
    more = [Input()] if is_apart and kind != "a list" else []
    context, all_of_it = (fitted(view, SECTIONS[kind], room, *more) for room in (window, 1_000_000))
    if context is None or kind == "messages":  # the last so many may begin inside a turn by themselves
        return
    assert all_of_it is not None
    shown = [item.id for item in context.items][1:]
    first = min(turn_of(item) for item in list(context.items)[1:])
    assert shown == [item.id for item in list(all_of_it.items)[1:] if turn_of(item) >= first]


@pytest.mark.laws
@given(TURNS, st.integers(20, 500), st.sampled_from(sorted(SECTIONS)))
def test_a_turn_that_is_too_long_is_cut_between_groups_and_keeps_its_question(
    turns: list[tuple[int, list[int], int]], window: int, kind: str
) -> None:
    transcript = talk([], 9)
    results = [length for _, found, _ in turns for length in found]
    for number, length in enumerate(results):
        transcript.append(ToolCall(f"c{number}", "look", id=f"c0.{number}"))
        transcript.append(ToolResult(f"c{number}", "look", "f" * length, id=f"r0.{number}"))
    context = fitted(transcript.view, SECTIONS[kind], window)
    if context is None:
        return
    shown = [item.id for item in context.items][1:]
    assert shown[0] == "u0"
    calls = [item_id[1:] for item_id in shown[1:] if item_id[0] == "c"]
    assert shown[1:] == [f"{letter}{number}" for number in calls for letter in "cr"]
    assert calls == [f"0.{number}" for number in range(len(results))][len(results) - len(calls) :]


@pytest.mark.laws
@given(TURNS, st.integers(40, 500), st.sampled_from(["where", "transform", "turns", "a list"]))
def test_what_is_chosen_is_cut_where_all_of_it_is_cut(
    turns: list[tuple[int, list[int], int]], window: int, kind: str
) -> None:
    view = talk(turns[:11], 9).view
    whole, chosen = (fitted(view, SECTIONS[each], window) for each in ("all", kind))
    assert (whole is None) == (chosen is None)
    if whole is not None and chosen is not None:
        assert list(chosen.items) == list(whole.items)


@pytest.mark.laws
@given(TURNS, st.integers(20, 500), st.sampled_from(sorted(SECTIONS.keys() - {"a list", "no questions"})))
def test_where_the_turn_before_the_input_has_room_it_is_shown(
    turns: list[tuple[int, list[int], int]], window: int, kind: str
) -> None:
    view = talk(turns, 9).view
    context = fitted(view, SECTIONS[kind], window, Input())
    if context is None:
        return
    last = [item for item in view if turn_of(item) == len(turns) - 1]
    shown = {item.id for item in context.items}
    if COUNTER.total(sum(map(COUNTER.count, [context.items[0], *last, view[-1]]))) <= window:
        assert {item.id for item in last} <= shown


@pytest.mark.laws
@given(TURNS, st.integers(20, 500), st.sampled_from(["all", "where", "a list"]), st.booleans())
def test_what_is_cut_closely_loses_no_more_than_it_has_to(
    turns: list[tuple[int, list[int], int]], window: int, kind: str, is_apart: bool
) -> None:
    view = talk(turns, 9).view
    sections = {
        "all": History(closely=True),
        "where": History(where=lambda item: True, closely=True),
        "a list": Custom("history", as_it_is, keeps="newest", closely=True),
    }
    more = [Input()] if is_apart and kind != "a list" else []
    context = fitted(view, sections[kind], window, *more)
    if context is None:
        return
    shown = list(context.items)[1:]
    assert shown == list(view)[len(view) - len(shown) :]
    left_out = groups(list(view)[: len(view) - len(shown)])
    if left_out:
        counted = sum(map(COUNTER.count, [*context.items, *left_out[-1].items]))
        assert COUNTER.total(counted) > window
