"""Summaries that hold others and summaries that meet, as a plain comparison of each with all finds them."""

import pytest
from hypothesis import given, strategies as st

from quire.items import Message, Span, Summary, Undo
from quire.state import Transcript, folding, held_by_later
from quire.state.folding import some_meet
from quire.state.shape import Interval, united

AREAS = st.lists(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 6)), min_size=1, max_size=3).map(
        lambda drawn: united((start, start + width) for start, width in drawn)
    ),
    max_size=8,
)


def places(area: list[Interval]) -> set[int]:
    return {place for start, stop in area for place in range(start, stop)}


@given(AREAS, st.sets(st.integers(0, 7)))
def test_a_sweep_finds_what_comparing_each_with_all_finds(
    drawn: list[list[Interval]], some: set[int]
) -> None:
    areas = dict(enumerate(drawn))
    covered = {position: places(area) for position, area in areas.items()}
    held = {p for p in areas if any(later > p and covered[p] <= covered[later] for later in areas)}
    assert held_by_later(areas) == held
    pairs = ((p, other) for p in areas for other in areas if p != other and p in some)
    assert some_meet(areas, some) == any(covered[p] & covered[other] for p, other in pairs)


@pytest.mark.parametrize("nested", [False, True])
def test_an_undo_compares_few_summaries(monkeypatch: pytest.MonkeyPatch, nested: bool) -> None:
    transcript = Transcript([Message("user", "x", id=f"u{number:03d}") for number in range(201)])
    for number in range(200):
        first = "u000" if nested else f"u{number:03d}"
        transcript.append(Summary("gist", (Span(first, f"u{number:03d}"),), id=f"w{number:03d}"))
    compared: list[object] = []
    plain = folding.holds

    def counted(area: list[Interval], other: list[Interval]) -> bool:
        compared.append(area)
        return plain(area, other)

    monkeypatch.setattr(folding, "holds", counted)
    transcript.append(Undo("w199"))
    assert len(compared) <= 200
