"""The broken histories: each has the faults that it names, its repair has none, and Quire sends none on."""

import pytest

from quire.errors import Damaged
from quire.providers import PROVIDERS, RULES, check, provider_for
from quire.testing import BrokenHistory, broken_histories

ALL = {one.name: one for one in broken_histories()}
REFUSED = {"role-of-another-provider", "assistant-in-gemini"}
"""Histories that Quire does not read: they belong to another provider."""


@pytest.mark.parametrize("one", ALL.values(), ids=ALL)
def test_a_broken_history_has_its_faults_and_its_repair_has_none(one: BrokenHistory) -> None:
    found = {fault.rule for fault in check(one.broken, one.provider, model=one.model)}
    assert found == set(one.faults) <= set(RULES[one.provider])
    assert check(one.repaired, one.provider, model=one.model) == []


@pytest.mark.parametrize("one", ALL.values(), ids=ALL)
def test_quire_reads_a_broken_history_and_sends_a_whole_one(one: BrokenHistory) -> None:
    provider = provider_for(one.provider)
    if one.name in REFUSED:
        with pytest.raises(Damaged, match="the role is"):
            provider.read_history(one.broken)
        return
    items = provider.read_history(one.broken, model=one.model)
    assert check(provider.render(items, model=one.model).payload, one.provider, model=one.model) == []


def test_there_are_histories_of_every_provider_with_a_story_and_a_source() -> None:
    assert len(ALL) == len(broken_histories()) >= 30
    for provider in PROVIDERS:
        assert len(broken_histories(provider)) >= 8
    assert all(one.story and one.answer and one.source for one in ALL.values())
