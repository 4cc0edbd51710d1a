"""What holds for every section in `SECTIONS`: add yours, and it is tested with all of this."""

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from copy import deepcopy

import pytest
from hypothesis import given, settings, strategies as st

from quire.errors import QuireError
from quire.items import KINDS, Item, ToolCall, ToolResult
from quire.providers import PROVIDERS
from quire.sections import History, settings_of
from quire.state import Transcript, View, instructions, structural
from tests.histories import OPS, Author, Op
from tests.providers.conversations import MODELS, STEPS, Step, Talk
from tests.sections.asking import HISTORIES, SECTIONS, ask_about, items_from, shorter

pytestmark = pytest.mark.laws

WIRES = st.sampled_from([(wire, model) for wire, models in MODELS.items() for model in models])
NUMBERS = st.integers(0, 41)
FEWER = settings(max_examples=max(20, settings().max_examples // 4))


def view_after(steps: list[Step]) -> View:
    talk = Talk()
    talk.play(steps)
    return talk.transcript.view


@FEWER
@given(STEPS, NUMBERS)
def test_the_same_ask_gets_the_same_items_and_is_not_changed(steps: list[Step], number: int) -> None:
    view = view_after(steps)
    ask = ask_about(view, number)
    before = (list(view), list(ask.pool), deepcopy(ask.tools), list(ask.inbox), dict(ask.parameters))
    for section in SECTIONS:
        items = items_from(section, ask)
        assert {type(item) for item in items} <= KINDS
        assert items == items_from(section, ask_about(view, number))
        assert len({item.id for item in items}) == len(items)
        assert settings_of(section).name == section.name
    assert before == (list(view), list(ask.pool), ask.tools, list(ask.inbox), ask.parameters)


@FEWER
@given(STEPS, NUMBERS, WIRES)
def test_no_provider_finds_a_fault_in_sections_one_by_one_and_together(
    steps: list[Step], number: int, wire: tuple[str, str | None]
) -> None:
    provider, model = PROVIDERS[wire[0]], wire[1]
    ask = ask_about(view_after(steps), number)
    together: dict[str, Item] = {}
    for section in SECTIONS:
        items = items_from(section, ask)
        together.update((item.id, item) for item in items)
        assert not provider.check(provider.render(items, model=model, tools=ask.tools).payload, model)
    whole = [item for item in ask.view() if item.id in together]
    rest = [item for item in together.values() if item.id not in {one.id for one in whole}]
    rendered = provider.render([*rest, *whole], model=model, tools=ask.tools)
    assert not provider.check(rendered.payload, model)


def loose(view: View, items: Iterable[Item]) -> tuple[int, int]:
    """Count the calls without a result and the results without a call, as the log pairs them."""
    calls, results = Counter[tuple[int, str]](), Counter[tuple[int, str]]()
    for item in items:
        if isinstance(item, ToolCall | ToolResult):
            pairs = calls if isinstance(item, ToolCall) else results
            pairs[view.log.head(view.position(item.id)), item.call_id] += 1
    return (calls - results).total(), (results - calls).total()


def check_groups(history: History, view: View, number: int) -> None:
    """A history shows whole groups in order; a transform may drop items, but no half of a pair."""
    ask = ask_about(view, number)
    items = items_from(history, ask)
    ids, order = {item.id for item in items}, {item.id: index for index, item in enumerate(view)}
    assert [order[item.id] for item in items] == sorted(order[item.id] for item in items)
    waiting, stray = loose(view, items)
    assert waiting <= loose(view, view)[0] and stray <= loose(view, view)[1]
    if "shorter" not in repr(vars(history)):
        for group in view.groups():
            assert len({item.id in ids for item in group.items if item != ask.input}) <= 1


@given(STEPS, NUMBERS)
def test_no_history_splits_a_group(steps: list[Step], number: int) -> None:
    view = view_after(steps)
    for history in SECTIONS:
        if isinstance(history, History):
            check_groups(history, view, number)


@given(OPS)
def test_no_history_splits_a_group_of_an_edited_transcript(ops: list[Op]) -> None:
    transcript, author = Transcript(), Author()
    for op in ops:
        item = author.item(transcript, op)
        with suppress(QuireError):
            if item is not None:
                transcript.append(item)
    for history in HISTORIES:
        check_groups(history, transcript.view, 0)


@given(STEPS, st.integers(1, 9), st.booleans())
def test_protected_items_stay(steps: list[Step], count: int, turns: bool) -> None:
    view = view_after(steps)
    history = History(turns=count) if turns else History(messages=count)
    items = items_from(history, ask_about(view))
    ids = {item.id for item in items}
    users = [item for item in view if getattr(item, "role", "") == "user"]
    assert {item.id for item in users[-1:]} <= ids
    assert {item.id for item in view if structural(item) or instructions(item)} <= ids
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
