"""Where a history is cut stays put from turn to turn, whatever stands beside it comes and goes.

Between two moves a provider's cache serves the beginning. A cut that moved back would be no less costly than
one that moves on: both change what comes first.
"""

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from quire.context import Template
from quire.items import Message, ToolCall, ToolResult
from quire.sections import Additional, Ask, Custom, History, Input, Instructions
from quire.state import Transcript
from quire.tokens import Budget, Share

WINDOW = 2_000
TURNS = 120


def now_and_then(ask: Ask) -> list[dict[str, str]]:
    return [{"role": "system", "content": "You have mail."}] if ask.now % 2 else []


def of_any_size(ask: Ask) -> list[dict[str, str]]:
    return [{"role": "system", "content": "word " * (int(ask.now) * 37 % 300)}]


def template(*sections: Any) -> Template:
    return Template(Instructions("Be brief."), *sections, budget=Budget(window=WINDOW), model="gpt-5.6")


def volatile(name: str, function: Callable[[Ask], Any]) -> Custom:
    return Custom(name, function, required=False)


TEMPLATES: dict[str, Template] = {
    "history alone": template(History()),
    "now and then something volatile": template(History(), volatile("mail", now_and_then)),
    "something volatile of any size": template(History(), volatile("recall", of_any_size)),
    "a maximum": template(History(share=Share(maximum=900))),
    "a maximum, and something volatile": template(
        History(share=Share(maximum=900)), volatile("mail", now_and_then)
    ),
    "a slow block": template(Additional("rule " * 900, stability="slow"), History()),
    "some items chosen": template(
        History(where=lambda item: isinstance(item, Message)), volatile("mail", now_and_then)
    ),
}


def starts(of: Template, turns: int, other: Transcript | None = None, with_input: bool = False) -> list[int]:
    """For each call the place in the transcript of the first item of it that is shown."""
    transcript, found = Transcript(), list[int]()
    views = {} if other is None else {"other": other.view}

    def call(turn: int, asked: Message | None) -> None:
        ask = Ask(views={"main": transcript.view, **views}, now=float(turn), input=asked)
        shown = {item.id for item in asyncio.run(of.build(ask)).items}
        found.append(next(i for i, item in enumerate(transcript.view) if item.id in shown))

    for turn in range(turns):
        asked = Message("user", f"question {turn} about something", created_at=float(turn))
        transcript.append(asked)
        call(turn, asked if with_input else None)
        transcript.append(ToolCall(f"c{turn}", "look", '{"q": 1}', created_at=turn + 0.1))
        transcript.append(ToolResult(f"c{turn}", "look", "found " * 10, created_at=turn + 0.2))
        call(turn, asked if with_input else None)
        transcript.append(Message("assistant", f"answer {turn} to it", created_at=turn + 0.3))
    return found


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_cut_moves_seldom_and_never_back(name: str) -> None:
    found = starts(TEMPLATES[name], TURNS)
    moves = [(one, other) for one, other in pairwise(found) if one != other]
    assert moves, "nothing was ever cut"
    assert not [move for move in moves if move[1] < move[0]]
    assert len(moves) <= 20


def test_an_input_of_its_own_does_not_move_the_cut() -> None:
    found = starts(template(History(), Input()), TURNS, with_input=True)
    moves = [(one, other) for one, other in pairwise(found) if one != other]
    assert moves and len(moves) <= 20
    assert not [move for move in moves if move[1] < move[0]]


def test_a_second_history_does_not_move_the_first() -> None:
    other = Transcript([Message("user" if n % 2 else "assistant", "words " * 20) for n in range(40)])
    found = starts(template(History(), History("other", name="other")), TURNS, other)
    moves = [(one, later) for one, later in pairwise(found) if one != later]
    assert moves and len(moves) <= 30
    assert not [move for move in moves if move[1] < move[0]]


@settings(max_examples=max(5, settings().max_examples // 20))
@given(st.lists(st.integers(0, 150), min_size=TURNS, max_size=TURNS))
def test_random_sizes_within_a_quarter_do_not_move_it_back(sizes: list[int]) -> None:
    def random_size(ask: Ask) -> list[dict[str, str]]:
        return [{"role": "system", "content": "word " * sizes[int(ask.now)]}] if sizes[int(ask.now)] else []

    found = starts(template(History(), volatile("block", random_size)), 60)
    back = [(one, other) for one, other in pairwise(found) if other < one]
    assert len(back) <= 2, "only while the history is just about to be cut for the first time"
