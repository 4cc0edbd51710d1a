"""Counters go to other processes."""

import pickle

import pytest

from quire.tokens import Calibrated, counter_for


@pytest.mark.parametrize("model", ["gpt-5.6", "gpt-4", "claude-sonnet-5", "gemini-3-pro", "local-model"])
def test_a_counter_is_the_same_after_a_pickle(model: str) -> None:
    counter = counter_for(model)
    twin = pickle.loads(pickle.dumps(counter))
    assert twin.key == counter.key
    assert twin.text("how did it go?") == counter.text("how did it go?")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def test_what_was_learned_goes_along() -> None:
    calibrated = Calibrated(counter_for("claude-sonnet-5"))
    for counted in (1_000, 1_400, 2_100, 2_600, 3_300, 4_000):
        calibrated.learn(counted, reported=900 + counted)
    assert pickle.loads(pickle.dumps(calibrated)).total(5_000) == calibrated.total(5_000)
