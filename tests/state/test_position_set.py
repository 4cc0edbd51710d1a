"""A set of positions behaves as a set, keeps its order, and leaves what it was made from as it was."""

import pytest
from hypothesis import given, strategies as st

from quire.state.position_set import NO_POSITIONS, PositionSet

pytestmark = pytest.mark.laws

SPREAD = st.integers(0, 200) | st.integers(0, 2**31)


@given(st.lists(st.tuples(SPREAD, st.booleans()), max_size=60))
def test_it_is_a_set_in_rising_order(steps: list[tuple[int, bool]]) -> None:
    plain: set[int] = set()
    kept = NO_POSITIONS
    past: list[tuple[PositionSet, list[int]]] = []
    for position, comes in steps:
        past.append((kept, sorted(plain)))
        plain = plain | {position} if comes else plain - {position}
        kept = kept.changed(come=[position]) if comes else kept.changed(gone=[position])
        assert (position in kept) is comes
    for earlier, expected in [*past, (kept, sorted(plain))]:
        assert list(earlier) == expected
        assert bool(earlier) is bool(expected)


@given(st.sets(SPREAD, max_size=40), st.sets(SPREAD, max_size=40), SPREAD)
def test_it_turns_into_any_other(before: set[int], after: set[int], asked: int) -> None:
    turned = PositionSet(before).turned_into(after)
    assert list(turned) == sorted(after)
    assert (asked in turned) is (asked in after)


@given(st.sets(SPREAD, max_size=40), SPREAD, SPREAD)
def test_it_tells_what_is_between(positions: set[int], one: int, other: int) -> None:
    start, stop = sorted((one, other))
    assert list(PositionSet(positions).between(start, stop)) == sorted(
        p for p in positions if start <= p < stop
    )
