"""Calibration converges on the factor that reports follow, and never counts again."""

import random
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire import Message, Transcript
from quire.tokens import Calibrated, Measured, schema_tokens

COUNTER = Measured()
SIZES = st.integers(1, 2_000_000)
TOOLS: list[dict[str, Any]] = [{"name": "get_weather", "description": "The weather", "parameters": {}}]


def requests(overhead: int, factor: float, noise: float, seed: int) -> Iterator[tuple[int, int]]:
    """What the requests of a conversation counted, and what was reported."""
    rng = random.Random(seed)
    for counted in accumulate(rng.randint(500, 1_500) for _ in range(40)):
        yield counted, round(overhead + factor * counted * rng.uniform(1 - noise, 1 + noise)) + 1


@given(st.lists(st.tuples(SIZES, SIZES), max_size=30), SIZES, SIZES)
def test_any_reports_give_a_factor_and_totals_that_grow(
    samples: list[tuple[int, int]], one: int, other: int
) -> None:
    calibrated = Calibrated(COUNTER)
    assert calibrated.total(one) == COUNTER.total(one)
    for counted, reported in samples:
        calibrated.learn(counted, reported)
    assert 0.25 <= calibrated.factor <= 4
    assert calibrated.total(min(one, other)) <= calibrated.total(max(one, other))


@given(st.floats(0.5, 2.5), st.floats(0, 0.03), st.integers())
def test_five_requests_are_enough_for_a_few_per_cent(factor: float, noise: float, seed: int) -> None:
    calibrated = Calibrated(COUNTER)
    for counted, reported in list(requests(0, factor, noise, seed))[:5]:
        calibrated.learn(counted, reported)
    assert calibrated.total(50_000) == pytest.approx(factor * 50_000, rel=noise + 0.02)


def test_what_a_provider_adds_to_every_request_matters_less_as_requests_grow() -> None:
    for seed in range(20):
        calibrated = Calibrated(COUNTER)
        for place, (counted, reported) in enumerate(requests(350, 1.2, 0.02, seed)):
            if place >= 10:
                assert calibrated.total(counted) == pytest.approx(reported, rel=0.08)
            calibrated.learn(counted, reported)


def test_one_odd_report_moves_little_and_a_lasting_change_is_followed() -> None:
    calibrated = Calibrated(COUNTER)
    for step in range(12):
        calibrated.learn(10_000 + step, 30_000 if step == 6 else 12_000)
    assert calibrated.total(10_000) == pytest.approx(12_000, rel=0.02)
    for step in range(16):
        calibrated.learn(10_000 + step, 16_000)
    assert calibrated.total(10_000) == pytest.approx(16_000, rel=0.02)


def test_counts_stay_valid_and_tools_are_corrected_as_totals_are() -> None:
    calibrated, message = Calibrated(COUNTER), Message("user", "How did Q3 compare with Q2?")
    calibrated.learn(10_000, 15_000)
    assert calibrated.key == COUNTER.key and calibrated.count(message) == COUNTER.count(message)
    items = Transcript([message]).view.counted(calibrated)
    assert items == COUNTER.count(message)
    together = calibrated.total(items + schema_tokens(TOOLS, COUNTER))
    assert calibrated.total(items) + calibrated.count_tools(TOOLS) == pytest.approx(together, abs=1)


@given(st.lists(st.tuples(SIZES, SIZES), min_size=1, max_size=30))
def test_the_error_is_that_of_the_latest_totals_before_their_reports_were_learned(
    samples: list[tuple[int, int]],
) -> None:
    calibrated, seen = Calibrated(COUNTER), list[float]()
    assert calibrated.error is None
    for counted, reported in samples:
        exact = calibrated.factor * COUNTER.total(counted)
        seen.append(abs(reported - exact) / exact)
        calibrated.learn(counted, reported)
        assert calibrated.error == pytest.approx(max(seen[-16:]))
