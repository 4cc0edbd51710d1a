"""A key tells apart all counters that can count differently: counts are kept by it."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from quire.errors import InvalidLimit, WrongType
from quire.items import Message
from quire.state import Transcript
from quire.tokens import FAMILIES, FRAMINGS, MEDIA, Estimate, Exact, Framing, Measured, Media, counter_for
from quire.tokens.images import Budgeted, Crops, Formula, Grid, Levels, Patches, Tiles

FEW = st.integers(0, 2)
NAMES = st.sampled_from(["openai", "plain", "claude", "mine", "a/b", "a~b", "plain/claude"])
SIDES = st.integers(1, 3)
BUDGETS = st.builds(Budgeted, SIDES, SIDES)
FORMULAS: st.SearchStrategy[Formula] = st.one_of(
    st.builds(Tiles, FEW, FEW),
    st.builds(Patches, FEW, BUDGETS, BUDGETS),
    st.builds(Grid, BUDGETS),
    st.builds(Crops, FEW),
    st.builds(Levels, FEW, FEW, FEW),
)
FRAMED = st.one_of(
    st.sampled_from([*FRAMINGS.values()]),
    st.builds(
        Framing,
        name=NAMES,
        message=FEW,
        call=FEW,
        result=FEW,
        request=FEW,
        tools=FEW,
        tool=FEW,
        typed=st.booleans(),
    ),
    st.builds(msgspec.structs.replace, st.sampled_from([*FRAMINGS.values()]), message=st.integers(3, 5)),
)
SECONDS = st.sampled_from([None, 0, 0.0, 10, 10.0, 10.000001, 32])
CHARGED = st.one_of(
    st.sampled_from([*MEDIA.values()]),
    st.builds(Media, name=NAMES, image=FORMULAS, second=SECONDS, page=FEW),
    st.builds(msgspec.structs.replace, st.sampled_from([*MEDIA.values()]), second=SECONDS),
)
SCALES = st.one_of(
    st.floats(0, 99, exclude_min=True), st.integers(1, 99), st.sampled_from([1.15, 1.1500001, 2, 2.0])
)
PARTS = st.tuples(SCALES, FRAMED, CHARGED)
Parts = tuple[float, Framing, Media]


def key(parts: Parts) -> str:
    scale, framing, media = parts
    return Estimate(scale, framing=framing, media=media).key


@pytest.mark.laws
@given(PARTS, PARTS)
def test_keys_are_equal_where_all_that_counts_is(one: Parts, other: Parts) -> None:
    assert (key(one) == key(other)) == (one == other)


@pytest.mark.laws
@given(SCALES, FRAMED, CHARGED, FRAMED, CHARGED)
def test_one_difference_is_enough(
    scale: float, framing: Framing, media: Media, another: Framing, dearer: Media
) -> None:
    found = key((scale, framing, media))
    assert (found == key((scale, another, media))) == (framing == another)
    assert (found == key((scale, framing, dearer))) == (media == dearer)


@pytest.mark.laws
@given(st.sampled_from(["k", "k/plain", "k/a/b"]), st.sampled_from(["k", "k/plain"]), PARTS, PARTS)
def test_a_key_cannot_be_put_together_in_two_ways(first: str, second: str, one: Parts, other: Parts) -> None:
    keys = [
        Measured(name, len, framing, media).key
        for name, (_, framing, media) in ((first, one), (second, other))
    ]
    assert (keys[0] == keys[1]) == ((first, *one[1:]) == (second, *other[1:]))


@pytest.mark.parametrize(
    ("scale", "same"), [(1, 1.0), (2, 2.0), (1.15, 1.15), (99, 99.0)], ids=["one", "two", "part", "most"]
)
def test_a_scale_is_the_same_however_it_is_written(scale: float, same: float) -> None:
    assert Estimate(scale).key == Estimate(same).key


@pytest.mark.parametrize(("scale", "near"), [(1.15, 1.1500001), (1, 1.0000001), (1.05, 1.0500000000000003)])
def test_scales_that_are_nearly_the_same_are_two(scale: float, near: float) -> None:
    assert Estimate(scale).key != Estimate(near).key


def test_counters_of_the_tables_have_plain_keys() -> None:
    for family in FAMILIES:
        counter = counter_for(family.prefix)
        assert counter.key.endswith(f"/{family.framing}/{family.media}")
    assert Exact(framing=FRAMINGS["plain"]).key == Exact(framing="plain").key
    assert Estimate().key == "estimate-3x1/plain/claude"


def test_a_framing_that_was_changed_keeps_its_name_and_not_its_key() -> None:
    heavier = msgspec.structs.replace(FRAMINGS["openai"], message=400)
    usual, changed = Exact(), Exact(framing=heavier)
    transcript = Transcript([Message("user", "hello world")])
    assert transcript.view.counted(usual) == 6
    assert transcript.view.counted(changed) == 402
    assert changed.key.startswith("o200k_base/openai~")
    assert changed.key == Exact(framing=msgspec.structs.replace(heavier)).key


def test_a_row_that_was_put_in_the_table_later_has_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = Exact().key
    monkeypatch.setitem(FRAMINGS, "openai", msgspec.structs.replace(FRAMINGS["openai"], message=400))
    assert Exact().key != usual


def test_a_formula_of_another_kind_with_the_same_figures_is_another() -> None:
    class Squares(Tiles, frozen=True):
        def tokens(self, width: float, height: float, detail: str) -> int:
            return 1

    usual = MEDIA["gpt-4o"]
    squares = msgspec.structs.replace(usual, image=Squares(85, 170))
    assert Exact(media=squares).key != Exact(media=usual).key


@pytest.mark.parametrize("odd", [[1], {}, object(), float("nan"), float("inf"), 10**400, "\ud800"])
def test_a_formula_holds_figures_and_nothing_else(odd: Any) -> None:
    with pytest.raises((WrongType, InvalidLimit)):
        Tiles(odd, 1)
