"""Calibration: it converges, states an honest error, shrugs off outliers, and never recounts."""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from quire.errors import InvalidValue, WrongType
from quire.items import Message
from quire.tokens import Calibrated, Calibration, Estimate, Sample
from quire.tokens.calibrated import WINDOW

COUNTER = Estimate()
SIZES = st.integers(1, 2_000_000)


def taught(factor: float, overhead: int, noise: float, seed: int, requests: int = 20) -> Calibrated:
    rng, calibrated = random.Random(seed), Calibrated(COUNTER)
    for _ in range(requests):
        counted = rng.randint(2000, 100_000)
        calibrated.learn(
            counted, max(1, round((factor * counted + overhead) * rng.uniform(1 - noise, 1 + noise)))
        )
    return calibrated


def test_it_begins_as_the_counter_it_wraps() -> None:
    calibrated, message = Calibrated(COUNTER), Message(role="user", content="hello world")
    assert calibrated.key == COUNTER.key
    assert calibrated.count(message) == COUNTER.count(message)
    assert calibrated.total(1000) == COUNTER.total(1000)
    assert calibrated.factor == 1
    assert calibrated.error_bound is None


@given(st.lists(st.tuples(SIZES, SIZES), max_size=30), SIZES, SIZES)
def test_more_counted_is_never_less_in_total(samples: list[tuple[int, int]], one: int, other: int) -> None:
    calibrated = Calibrated(COUNTER)
    for counted, reported in samples:
        calibrated.learn(counted, reported)
    assert calibrated.total(min(one, other)) <= calibrated.total(max(one, other))
    assert calibrated.error_bound is None or calibrated.error_bound >= 0


@given(st.floats(0.5, 2.5), st.integers(0, 60), st.floats(0, 0.03), st.integers())
def test_it_comes_within_a_few_per_cent_after_five_requests(
    factor: float, overhead: int, noise: float, seed: int
) -> None:
    calibrated = taught(factor, overhead, noise, seed, requests=5)
    for counted in (5000, 50_000):
        true = factor * counted + overhead
        assert abs(calibrated.total(counted) / true - 1) <= noise + overhead / (factor * 2000) + 0.002


def test_its_stated_error_holds_for_nearly_all_that_follows() -> None:
    held = total = 0
    for seed in range(60):
        rng, calibrated = random.Random(seed), taught(1.23, 40, 0.03, seed)
        for _ in range(10):
            counted = rng.randint(2000, 100_000)
            reported = round((1.23 * counted + 40) * rng.uniform(0.97, 1.03))
            bound = calibrated.error_bound
            assert bound is not None
            assert bound <= 0.06
            held += abs(calibrated.total(counted) / reported - 1) <= bound
            total += 1
            calibrated.learn(counted, reported)
    assert held / total >= 0.95


@given(st.integers(0, 14), st.floats(3, 100))
def test_a_usage_that_holds_something_unseen_moves_little(place: int, times: float) -> None:
    calibrated = Calibrated(COUNTER)
    for number in range(15):
        counted = 10_000 + 100 * number
        expected = COUNTER.total(counted)
        calibrated.learn(counted, round(1.2 * expected * (times if number == place else 1)))
    assert calibrated.factor == pytest.approx(1.2, rel=0.01)


def test_it_follows_a_change_that_lasts() -> None:
    calibrated = taught(1.0, 0, 0.0, seed=1)
    for number in range(WINDOW):
        counted = 10_000 + 500 * number
        calibrated.learn(counted, round(1.4 * COUNTER.total(counted)))
    assert calibrated.factor == pytest.approx(1.4, rel=0.01)
    assert calibrated.total(50_000) == pytest.approx(70_000, rel=0.01)


def test_requests_of_one_size_are_followed_at_that_size() -> None:
    calibrated = taught(1.0, 0, 0.0, seed=1)
    for number in range(WINDOW):
        calibrated.learn(10_000 + number, 14_000 + number)
    assert calibrated.total(10_100) == pytest.approx(14_100, rel=0.01)


def test_a_sudden_change_widens_the_stated_error() -> None:
    calibrated = taught(1.0, 0, 0.01, seed=2)
    before = calibrated.error_bound
    for _ in range(4):
        calibrated.learn(10_000, 15_000)
    after = calibrated.error_bound
    assert before is not None
    assert after is not None
    assert after > 0.3 > before


def test_the_error_is_stated_after_five_requests() -> None:
    assert taught(1.2, 0, 0.02, seed=3, requests=4).error_bound is None
    assert taught(1.2, 0, 0.02, seed=3, requests=5).error_bound is not None


def test_what_was_learned_survives_a_restart() -> None:
    calibrated = taught(1.3, 20, 0.02, seed=4)
    written = msgspec.json.encode(calibrated.state)
    restored = Calibrated(COUNTER, msgspec.json.decode(written, type=Calibration))
    assert restored.state == calibrated.state
    assert restored.total(12_345) == calibrated.total(12_345)
    assert restored.error_bound == calibrated.error_bound
    assert len(calibrated.state.samples) == WINDOW


REPORTS = st.lists(st.tuples(st.integers(1, 10**7), st.integers(1, 10**8)), min_size=1, max_size=40)


@given(REPORTS, st.integers(0, 40))
def test_one_that_was_kept_and_taken_up_again_goes_on_as_if_never_stopped(
    reports: list[tuple[int, int]], stop: int
) -> None:
    steady, resumed = Calibrated(COUNTER), Calibrated(COUNTER)
    for index, (counted, reported) in enumerate(reports):
        steady.learn(counted, reported)
        resumed.learn(counted, reported)
        if index >= stop:
            resumed = Calibrated(COUNTER, resumed.state)
        assert (resumed.factor, resumed.overhead) == (steady.factor, steady.overhead)
    assert resumed.state == steady.state


def test_what_was_learned_with_another_counter_is_not_used() -> None:
    state = taught(1.3, 20, 0.02, seed=4).state
    assert Calibrated(Estimate(2.0), state).factor == 1


@pytest.mark.parametrize(("counted", "reported"), [(0, 10), (-1, 10), (10, 0), (10, -5)])
def test_numbers_that_cannot_be_are_refused(counted: int, reported: int) -> None:
    calibrated = Calibrated(COUNTER)
    with pytest.raises(InvalidValue, match="at least 1"):
        calibrated.learn(counted, reported)
    assert calibrated.state.samples == ()


@pytest.mark.parametrize("number", [1.5, "10", None, True])
def test_what_is_no_whole_number_is_refused(number: Any) -> None:
    with pytest.raises(WrongType, match="whole number"):
        Calibrated(COUNTER).learn(number, 10)
    with pytest.raises(WrongType, match="whole number"):
        Calibrated(COUNTER).learn(10, number)


def test_a_damaged_sample_is_refused() -> None:
    with pytest.raises(InvalidValue):
        Sample(10, 0, 10)
