"""The laws of every section of ours, and what holds for every history."""

import pytest
from hypothesis import given, strategies as st

from quire.sections import History
from quire.state import Transcript, View, is_instruction, is_structural
from quire.testing import SectionLaws
from quire.testing.conversations import STEPS, Step, view_after
from quire.testing.histories import OPS, Author, Op, apply_ops
from quire.testing.sections import ask_about, unpaired
from quire.testing.templates import items_from
from tests.sections.asking import HISTORIES, SECTIONS, shorter

pytestmark = pytest.mark.laws

NUMBERS = st.integers(0, 41)


class TestSections(SectionLaws):
    sections = SECTIONS


def check_groups(history: History, view: View, number: int = 0) -> None:
    """A history shows whole groups in order; a transform may drop items, but no half of a pair."""
    ask = ask_about(view, number)
    items = items_from(history, ask)
    ids, order = {item.id for item in items}, {item.id: index for index, item in enumerate(view)}
    assert [order[item.id] for item in items] == sorted(order[item.id] for item in items)
    (calls, results), (waiting, stray) = unpaired(view, items), unpaired(view, view)
    assert calls <= waiting and results <= stray
    if "shorter" not in repr(vars(history)):
        for group in view.groups():
            assert len({item.id in ids for item in group.items if item != ask.input}) <= 1


@given(STEPS, OPS, NUMBERS)
def test_no_history_splits_a_group(steps: list[Step], ops: list[Op], number: int) -> None:
    edited = apply_ops(ops, Transcript(), Author()).view
    for history in HISTORIES:
        check_groups(history, view_after(steps), number)
        check_groups(history, edited)


@given(STEPS, st.integers(1, 9), st.booleans())
def test_protected_items_stay(steps: list[Step], count: int, turns: bool) -> None:
    view = view_after(steps)
    history = History(turns=count) if turns else History(messages=count)
    items = items_from(history, ask_about(view))
    ids = {item.id for item in items}
    users = [item for item in view if getattr(item, "role", "") == "user"]
    assert {item.id for item in users[-1:]} <= ids
    assert {item.id for item in view if is_structural(item) or is_instruction(item)} <= ids
    assert {call.id for call in view.pending() if view.fate(call.id).state != "hidden"} <= ids
    assert {item.id for item in view if view.fate(item.id).state == "pinned"} <= ids
    if turns:
        assert {item.id for item in users[-count:]} <= ids
    else:
        assert {item.id for item in view[-count:]} <= ids


@given(STEPS)
def test_the_last_user_message_is_never_left_out(steps: list[Step]) -> None:
    view = view_after(steps)
    users = [item.id for item in view if getattr(item, "role", "") == "user"]
    for history in (History(where=lambda item: False), History(transform=lambda item: None)):
        assert [item.id for item in items_from(history, ask_about(view))] == users[-1:]
    assert {item.id for item in items_from(History(transform=shorter), ask_about(view))} >= set(users[-1:])
