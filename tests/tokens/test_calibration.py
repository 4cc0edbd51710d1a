"""Calibration converges, tells overhead from factor, gives an honest error bound, and never counts again."""

import random
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from quire import Message, Transcript
from quire.errors import InvalidLimit, WrongType
from quire.tokens import LEAST_SCALE, MOST_SCALE, Calibrated, Calibration, Estimate, schema_tokens

COUNTER = Estimate()
OVERHEADS, FACTORS = st.integers(0, 30_000), st.floats(0.6, 2.5)
SIZES = st.integers(1, 2_000_000)
TOOLS: list[dict[str, Any]] = [
    {"name": "get_weather", "description": "The weather in a city", "parameters": {}}
]


def requests(
    overhead: int, factor: float, noise: float, seed: int, growing: bool
) -> Iterator[tuple[int, int]]:
    """What requests counted and what was reported: of any size, or each larger than the one before."""
    rng = random.Random(seed)
    sizes = [rng.randint(500, 60_000) for _ in range(70)]
    if growing:
        sizes = list(accumulate(rng.randint(100, 1_500) for _ in range(70)))
    for counted in sizes:
        yield counted, round(overhead + factor * counted * rng.uniform(1 - noise, 1 + noise)) + 1


def taught(overhead: int, factor: float, noise: float, seed: int, growing: bool = False) -> Calibrated:
    calibrated = Calibrated(COUNTER)
    for counted, reported in requests(overhead, factor, noise, seed, growing):
        calibrated.learn(counted, reported)
    return calibrated


def test_it_begins_as_the_counter_it_wraps() -> None:
    calibrated, message = Calibrated(COUNTER), Message("user", "hello world")
    assert (calibrated.key, calibrated.factor, calibrated.overhead) == (COUNTER.key, 1, 0)
    assert calibrated.count(message) == COUNTER.count(message)
    assert calibrated.total(1000) == COUNTER.total(1000) and calibrated.error_bound is None


@given(st.lists(st.tuples(SIZES, SIZES), max_size=30), SIZES, SIZES)
def test_no_line_is_senseless(samples: list[tuple[int, int]], one: int, other: int) -> None:
    calibrated = Calibrated(COUNTER)
    for counted, reported in samples:
        calibrated.learn(counted, reported)
    assert calibrated.total(min(one, other)) <= calibrated.total(max(one, other))
    assert LEAST_SCALE <= calibrated.factor <= MOST_SCALE and calibrated.overhead >= 0
    assert calibrated.error_bound is None or calibrated.error_bound >= 0


@given(OVERHEADS, FACTORS, st.integers(), st.booleans())
@settings(max_examples=40)
def test_without_noise_overhead_and_factor_are_found(
    overhead: int, factor: float, seed: int, growing: bool
) -> None:
    calibrated = taught(overhead, factor, 0.0, seed, growing)
    for counted in (1_000, 20_000, 100_000):
        true = overhead + factor * counted
        assert calibrated.total(counted) == pytest.approx(true, rel=0.01, abs=0.02 * (overhead + 3_000))


@given(st.floats(0.5, 2.5), st.floats(0, 0.03), st.integers())
def test_five_requests_are_enough_for_a_few_per_cent(factor: float, noise: float, seed: int) -> None:
    calibrated = Calibrated(COUNTER)
    for counted, reported in list(requests(0, factor, noise, seed, growing=False))[:5]:
        calibrated.learn(counted, reported)
    assert calibrated.total(50_000) == pytest.approx(factor * 50_000, rel=noise + 0.02)
    assert calibrated.error_bound is not None


def test_the_error_bound_holds_more_than_nine_times_in_ten() -> None:
    held = list[bool]()
    for seed in range(60):
        rng, calibrated = random.Random(seed), Calibrated(COUNTER)
        overhead, factor, noise = rng.choice((0, 500, 20_000)), rng.uniform(0.7, 2), rng.uniform(0.01, 0.1)
        for counted, reported in requests(overhead, factor, noise, seed, growing=seed % 2 == 0):
            if calibrated.error_bound is not None:
                held.append(abs(calibrated.total(counted) / reported - 1) <= calibrated.error_bound)
            calibrated.learn(counted, reported)
    assert sum(held) / len(held) >= 0.92


def test_one_odd_report_moves_little_and_a_lasting_change_is_followed() -> None:
    calibrated = Calibrated(COUNTER)
    for step in range(12):
        calibrated.learn(10_000 + step, 90_000 if step == 6 else 12_000)
    assert calibrated.total(10_000) == pytest.approx(12_000, rel=0.02)
    for step in range(16):
        calibrated.learn(10_000 + step, 16_000)
    assert calibrated.total(10_000) == pytest.approx(16_000, rel=0.02)


def test_one_small_request_with_many_tools_does_not_prove_a_factor() -> None:
    calibrated = Calibrated(COUNTER)
    calibrated.learn(500, reported=20_500)
    assert calibrated.factor == MOST_SCALE and calibrated.total(2_500) < 1.3 * 22_500


def test_an_overhead_is_remembered_when_requests_have_become_alike() -> None:
    calibrated = taught(20_000, 1.1, 0.0, seed=5, growing=True)
    sizes = [sample.counted for sample in calibrated.state.samples]
    assert max(sizes) < 2 * min(sizes) and calibrated.overhead == pytest.approx(20_000, rel=0.01)


@given(OVERHEADS, FACTORS, st.floats(0, 0.1), st.integers(), st.booleans())
@settings(max_examples=40)
def test_a_restored_calibration_goes_on_as_if_it_had_never_stopped(
    overhead: int, factor: float, noise: float, seed: int, growing: bool
) -> None:
    calibrated = taught(overhead, factor, noise, seed, growing)
    written = msgspec.json.encode(calibrated.state)
    restored = Calibrated(COUNTER, msgspec.json.decode(written, type=Calibration))
    for one in (calibrated, restored):
        one.learn(5_000, 7_000)
    assert (restored.overhead, restored.factor) == (calibrated.overhead, calibrated.factor)
    assert restored.state == calibrated.state and len(restored.state.samples) == 16


def test_a_state_of_another_counter_is_not_used() -> None:
    other = Calibrated(Estimate(1.1), taught(0, 2.0, 0.0, seed=1).state)
    assert other.factor == 1 and not other.state.samples


def test_the_overhead_is_in_totals_alone() -> None:
    calibrated, message = taught(8_000, 1.5, 0.0, seed=6), Message("user", "How did Q3 compare with Q2?")
    assert calibrated.count(message) == COUNTER.count(message)
    assert calibrated.corrected(10_000) == pytest.approx(15_000, rel=0.01)
    assert calibrated.total(10_000) == pytest.approx(8_000 + 15_000, rel=0.01)
    items = Transcript([message]).view.counted(calibrated)
    together = calibrated.total(items + schema_tokens(TOOLS, calibrated.counter))
    assert calibrated.total(items) + calibrated.count_tools(TOOLS) == pytest.approx(together, abs=1)


@pytest.mark.parametrize(
    ("counted", "reported", "error"), [(0, 5, InvalidLimit), (5, 0, InvalidLimit), (5, 1.5, WrongType)]
)
def test_reports_are_counts(counted: Any, reported: Any, error: type[Exception]) -> None:
    calibrated = Calibrated(COUNTER)
    with pytest.raises(error):
        calibrated.learn(counted, reported)
    assert not calibrated.state.samples
    state: Any = {"key": COUNTER.key}
    with pytest.raises(WrongType):
        Calibrated(COUNTER, state)
