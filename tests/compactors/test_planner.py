"""The planner chooses by money, says what it expects, and is patient."""

from contextlib import suppress
from random import Random
from typing import Any

import pytest

from quire.compactors import Cascade, ClearToolResults, Planner, Room, Summarize, TruncateOldest, record
from quire.errors import InvalidLimit, InvalidValue, Irreducible, WrongType
from quire.items import Item, Message, ToolCall, ToolResult
from quire.state import Transcript
from quire.tokens import Prices
from tests.counting import FourCharacters

TOKENS = FourCharacters()
DEAR_CACHE = Prices(input=1.0, output=5.0, cache_read=0.9, cache_write=1.0)
FREE_CACHE = Prices(input=1.0, output=5.0, cache_read=0.0, cache_write=1.25)


def turns(count: int, bulk: int = 400) -> list[Item]:
    """Turns with a call each, whose result has about `bulk` characters."""
    items: list[Item] = [Message("system", "Be careful.", id="s", created_at=0.0)]
    for n in range(count):
        items += [
            Message("user", "and the next?", id=f"u{n:03}", created_at=n + 0.1),
            ToolCall(f"c{n}", "look", "{}", id=f"u{n:03}c", created_at=n + 0.2),
            ToolResult(f"c{n}", "look", "x" * bulk, id=f"u{n:03}r", created_at=n + 0.3),
            Message("assistant", "That one is fine.", id=f"u{n:03}t", created_at=n + 0.4),
        ]
    return [*items, Message("user", "and over all?", id="z", created_at=1e6)]


def planned(items: list[Item], room: int, planner: Planner) -> list[tuple[int, str, bool]]:
    """For each plan on the way: tokens shown, who made it, and whether it was early."""
    transcript, found = Transcript(), list[tuple[int, str, bool]]()
    for item in items:
        transcript.append(item)
        if isinstance(item, Message) and item.role == "user":
            plan = planner.plan(transcript.view, Room(room, TOKENS))
            if plan is not None:
                found.append((plan.before, plan.by, plan.before <= room))
                text = "gist" if plan.request is not None else None
                assert record(transcript, plan, text=text).fate == "kept"
                assert planner.plan(transcript.view, Room(room, TOKENS)) is None
    return found


def test_nothing_is_done_while_the_room_is_far_from_full() -> None:
    assert planned(turns(10), 100_000, Planner(TruncateOldest())) == []


def test_it_is_early_where_holding_on_is_dear_and_waits_where_it_is_free() -> None:
    dear = planned(turns(60), 3_000, Planner(TruncateOldest(), prices=DEAR_CACHE))
    free = planned(turns(60), 3_000, Planner(TruncateOldest(), prices=FREE_CACHE))
    assert dear and all(early for _, _, early in dear)
    assert free and not any(early for _, _, early in free)
    assert max(held for held, _, _ in dear) < max(held for held, _, _ in free)
    patient = planned(turns(60), 3_000, Planner(TruncateOldest(), prices=DEAR_CACHE, patience=1.0))
    assert not any(early for _, _, early in patient)


def test_words_that_cost_more_than_they_save_are_not_asked_for() -> None:
    compactors = (Summarize(unit="tokens", size=400), TruncateOldest())
    found = planned(turns(60), 3_000, Planner(*compactors))
    assert {by for _, by, _ in found} == {"planner: truncate-oldest"}


def test_what_one_cannot_do_alone_several_do_together() -> None:
    masks = ClearToolResults(keep=0, at_least=1)
    items = [*turns(12, bulk=100), *(Message("user", "y" * 900, id=f"zz{n}") for n in range(6))]
    view = Transcript(items).view
    room = Room(view.tokens(TOKENS) // 2, TOKENS)
    alone = masks.plan(view, room)
    assert alone is not None and alone.after > room.tokens
    plan = Planner(masks, TruncateOldest()).plan(view, room)
    assert plan is not None and plan.after <= room.tokens
    long = [Message("user", "y" * 900, id=f"a{n}", created_at=0.01) for n in range(6)]
    view = Transcript([*long, *turns(6, bulk=1_200)]).view
    plan = Planner(masks, Summarize(floor=10, ceiling=20, keep_turns=3)).plan(view, Room(600, TOKENS))
    assert plan is not None and plan.by == "planner: cascade"
    assert plan.forecast is not None and plan.forecast.saved == plan.saved


def test_it_does_not_plan_twice_at_once() -> None:
    """Clearing was the cheapest way into the room, and right after it a summary would have been due early."""
    draw = Random(378735)
    room, transcript = Room(draw.randrange(800, 6_000), TOKENS), Transcript()
    words = Summarize(floor=10, ceiling=20, size=draw.choice([100, 500, 2_048]))
    planner = Planner(ClearToolResults(keep=3), words, prices=draw.choice([None, DEAR_CACHE]))
    made = 0
    for turn in range(40):
        transcript.append(Message("user", "q" * draw.randrange(5, 300)))
        for call in (f"c{turn}.{number}" for number in range(draw.randrange(0, 4))):
            result = ToolResult(call, "look", "x" * draw.randrange(10, 1_500))
            transcript.extend([ToolCall(call, "look"), result])
        with suppress(Irreducible):
            plan = planner.plan(transcript.view, room)
            if plan is not None:
                text = "gist " * draw.randrange(1, 60) if plan.request else None
                made += record(transcript, plan, text=text).fate == "kept"
                assert planner.plan(transcript.view, room) is None
        transcript.append(Message("assistant", "a" * draw.randrange(5, 200)))
    assert made


def test_prices_without_one_for_a_cache_are_those_of_a_provider_without_a_cache() -> None:
    view, room = Transcript(turns(40)).view, Room(2_000, TOKENS)

    def forecast(prices: Prices | None) -> object:
        plan = Planner(TruncateOldest(), prices=prices).plan(view, room)
        assert plan is not None
        return plan.forecast

    assert forecast(Prices(3, 15)) == forecast(Prices(3, 15, cache_read=3)) != forecast(None)
    assert forecast(Prices(300, 1_500)) != forecast(Prices(3, 15))
    with pytest.raises(InvalidValue, match="what input costs"):
        Planner(TruncateOldest(), prices=Prices(cache_read=0.1))


def test_a_plan_says_what_is_expected_of_it() -> None:
    view = Transcript(turns(40)).view
    room = Room(2_000, TOKENS)
    plan = Planner(TruncateOldest(), model="claude-sonnet-4-5").plan(view, room)
    assert plan is not None and plan.forecast is not None
    forecast = plan.forecast
    assert forecast.saved == plan.saved > 0
    assert 0 < forecast.rewritten < plan.after, "the instructions are not read anew"
    assert forecast.calls >= 1 and 0 < forecast.per_call < 0.01
    assert f"{forecast.saved:,} are saved with each call" in plan.reason


@pytest.mark.parametrize(("pause", "is_early"), [(10.0, False), (3_600.0, True)])
def test_a_cache_gone_cold_is_the_best_time(pause: float, is_early: bool) -> None:
    items = [*turns(24)[:-1], Message("user", "still there?", id="z", created_at=23.4 + pause)]
    view = Transcript(items).view
    room = Room(view.tokens(TOKENS) * 3 // 2, TOKENS)
    plan = Planner(TruncateOldest(), model="claude-sonnet-4-5").plan(view, room)
    assert (plan is not None) == is_early


def test_words_for_a_plan_that_asks_for_none_are_refused() -> None:
    transcript = Transcript(turns(40))
    plan = TruncateOldest().plan(transcript.view, Room(2_000, TOKENS))
    assert plan is not None
    with pytest.raises(InvalidValue, match="asks for no words"):
        record(transcript, plan, text="gist")


def test_what_nobody_can_shrink_is_an_error() -> None:
    view = Transcript([Message("system", "x" * 4_000), Message("user", "q")]).view
    with pytest.raises(Irreducible):
        Planner(TruncateOldest()).plan(view, Room(100, TOKENS))


@pytest.mark.parametrize(
    ("arguments", "more", "error"),
    [
        ((), {}, InvalidValue),
        ((object(),), {}, WrongType),
        ((TruncateOldest(),), {"prices": 3}, WrongType),
        ((TruncateOldest(),), {"patience": 1.5}, InvalidLimit),
        ((TruncateOldest(),), {"model": 7}, WrongType),
    ],
)
def test_what_a_planner_refuses(
    arguments: tuple[Any, ...], more: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        Planner(*arguments, **more)


def test_it_is_shown_with_what_it_chooses_from() -> None:
    assert repr(Planner(Cascade(TruncateOldest()))).startswith("Planner(Cascade(TruncateOldest(")
