"""Laws 10, 11 and 12: within budget or an error with names, every candidate once, beginnings that stay."""

from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from quire.context import Context, Template
from quire.context.answers import made_up
from quire.errors import OverBudget, QuireError
from quire.items import Item, Message, Note, ToolCall
from quire.providers import PROVIDERS
from quire.sections import (
    Additional,
    Ask,
    Catalogue,
    Custom,
    History,
    Input,
    Instructions,
    Pooled,
    items_of,
    settings_of,
)
from quire.state import Pool, Transcript, View
from quire.tokens import Budget, Share
from tests.context.building import built, done
from tests.counting import FourCharacters
from tests.histories import OPS, Author, Op
from tests.oracle import PlainTranscript, is_edit
from tests.state.chains import play

pytestmark = pytest.mark.laws

COUNTER = FourCharacters()
TOOLS: list[dict[str, Any]] = [
    {"name": "tool1", "description": "Looks.", "parameters": {"type": "object", "properties": {}}}
]
MODELS = {"openai": "gpt-5.6", "openai-responses": "gpt-5.6", "anthropic": "claude-sonnet-4-5"} | {
    "gemini": "gemini-2.5-pro"
}


OTHER = Transcript([Message("user", "elsewhere", id="o1"), Message("assistant", "yes" * 9, id="o2")])
REFUSING = History(where=lambda item: not isinstance(item, ToolCall))
CHOSEN = History(where=lambda item: item.created_at % 5 > 1)
HISTORIES = st.sampled_from([*[History()] * 3, History(turns=2), History(messages=4), REFUSING, CHOSEN])
BOUNDED = st.sampled_from([History(share=Share(maximum=30)), History(share=Share(minimum=60))])


def recalled(ask: Ask) -> list[Item]:
    """Something from long ago, as a search would bring it back."""
    view = ask.view()
    return view.log.items(0, min(view.end, 1)) if view.end and not is_edit(view.log.item(0)) else []


@st.composite
def templates(draw: st.DrawFn) -> Template:
    """Templates with a history somewhere, things before and after it, and shares now and then."""
    share = draw(st.sampled_from([None, Share(maximum=20), Share(minimum=10), Share(weight=9)]))
    words = "x" * draw(st.integers(1, 200))
    sections: list[Any] = [Instructions("Be " + words)] if draw(st.booleans()) else []
    if draw(st.booleans()):
        sections.append(Additional([{"role": "user", "content": words}] * 3, name="more", required=False))
    if draw(st.booleans()):
        sections.append(Custom("recall", recalled, required=draw(st.booleans())))
    if draw(st.booleans()):
        sections.append(Pooled(share=share, stability="static"))
    sections.append(draw(st.one_of(HISTORIES, HISTORIES, BOUNDED)))
    if draw(st.integers(0, 3)) == 3:
        sections.append(History("other", name="other"))
    if draw(st.integers(0, 2)) == 2:
        fork = History("fork", name="fork", where=draw(st.sampled_from([None, None, is_odd])))
        sections.insert(draw(st.integers(0, len(sections))), fork)
    if draw(st.booleans()):
        sections.append(Catalogue(share=share))
    if draw(st.booleans()):
        sections.append(Custom("clock", lambda ask: [{"role": "system", "content": f"It is {ask.now}"}]))
    if draw(st.booleans()):
        sections.append(Input())
    return Template(*sections, budget=Budget(window=draw(st.integers(2, 600)), reserve=1))


def is_odd(item: Item) -> bool:
    return len(item.id) % 2 == 1 or item.created_at % 2 == 1


NOTES = [Note(f"note {number}", key=f"k{number}", description="a note") for number in range(3)]


def asked(view: View, now: float = 0.0, fork: View | None = None) -> Ask:
    """An ask about a view, with a fork beside it, and the last message of the user as the input."""
    views = {"main": view, "other": OTHER.view, "fork": OTHER.view if fork is None else fork}
    users = [item for item in view if isinstance(item, Message) and item.role == "user"]
    given = users[-1] if users else None
    return Ask(views=views, pool=Pool(NOTES), now=now, tools=TOOLS if now % 2 else (), input=given)


def forked(ops: list[Op], later: list[Op], at: int) -> tuple[View, View]:
    """A random history, and a fork of it at some place that went on by itself."""
    plain, author = PlainTranscript(), Author()
    transcript = play(ops[:at], Transcript(), plain, author)
    child = transcript.fork()
    strange = Author("f")
    for op in later:
        item = strange.item(child, op)
        with suppress(QuireError):
            if item is not None:
                child.append(item)
    return play(ops[at:], transcript, plain, author).view, child.view


def given_by(section: Any, ask: Ask) -> set[str]:
    """The ids of what a section gives that is no history."""
    return {item.id for item in items_of(done(section.items(ask)), section.name)}


def candidates(template: Template, ask: Ask) -> set[str]:
    """The ids of all that could have been shown, asked of the sections once more."""
    found: set[str] = set()
    for section in template:
        if isinstance(section, History):
            view = ask.view(section.transcript)
            found |= {item.id for item in view.log.items(0, view.end) if not is_edit(item)}
            found |= {item.id for item in view if is_edit(item)}
        else:
            found |= given_by(section, ask)
    return found


def stays_of(section: History, view: View) -> set[str]:
    """The ids of what a history has to show, whatever the room."""
    users = [item for item in view if isinstance(item, Message) and item.role == "user"]
    stays = {item.id for item in users[-1:]}
    if not {REFUSING, CHOSEN}.intersection([section]) and is_odd not in vars(section).values():
        # A question may say no to calls, pinned or waiting though they be.
        stays |= {item.id for item in view if view.fate(item.id).state == "pinned"}
        stays |= {call.id for call in view.pending()}
    return stays


def answered_by_rendering(context: Context) -> list[ToolCall]:
    """The calls for which a wire was given an answer that nobody gave."""
    rendered = context.render("openai", model="gpt-5.6")
    ids = {change.item_id for change in rendered.downgrades if change.change == "result_added"}
    return [item for item in context.items if isinstance(item, ToolCall) and item.id in ids]


@given(OPS, templates(), st.integers(0, 1), OPS, st.integers(0, 40))
def test_a_context_is_within_budget_or_says_who_is_to_blame(
    ops: list[Op], template: Template, now: int, later: list[Op], at: int
) -> None:
    view, fork = forked(ops, later, at)
    ask = asked(view, now, fork)
    try:
        context = built(template, ask, COUNTER)
    except OverBudget as fault:
        assert fault.over > 0 and (fault.parts or template.budget.available < 40)
        assert set(fault.parts) <= {section.name for section in template} | {"tool definitions"}
        larger = Template(
            *template.sections, budget=Budget(window=template.budget.window + fault.over, reserve=1)
        )
        if fault.parts:
            context = built(larger, ask, COUNTER)
            assert larger.budget.available >= context.receipt.tokens > template.budget.available - 1
        return
    sizes = sum(context.tokens.values())
    added = sizes - sum(COUNTER.count(item) for item in context.items)
    assert added >= sum(COUNTER.count(made_up(call)) for call in answered_by_rendering(context))
    histories = sum(isinstance(section, History) for section in template)
    if histories == 1 and "recall" not in template:
        assert added == sum(COUNTER.count(made_up(call)) for call in answered_by_rendering(context))
    assert (
        context.receipt.tokens == COUNTER.total(sizes) + context.receipt.schemas <= template.budget.available
    )
    stays: set[str] = set()
    for section in template:
        if isinstance(section, History):
            stays |= stays_of(section, ask.view(section.transcript))
        elif settings_of(section).required:
            stays |= given_by(section, ask)
    assert stays <= {item.id for item in context.items}
    for name, share in ((section.name, settings_of(section).share) for section in template):
        if share is not None and share.maximum is not None and name != "history":
            assert context.tokens[name] <= share.maximum


@given(OPS, templates(), OPS, st.integers(0, 40))
def test_every_candidate_is_on_the_receipt_once(
    ops: list[Op], template: Template, later: list[Op], at: int
) -> None:
    view, fork = forked(ops, later, at)
    ask = asked(view, 0.0, fork)
    try:
        context = built(template, ask, COUNTER)
    except OverBudget:
        return
    entries = context.receipt.entries
    ids = [entry.item_id for entry in entries]
    assert len(ids) == len(set(ids))
    assert set(ids) == candidates(template, ask)
    shown = {item.id for item in context.items}
    assert len(shown) == len(context.items)
    assert {entry.item_id for entry in entries if entry.fate in ("shown", "pinned", "masked")} == shown
    assert all(entry.reason and entry.rule and entry.section in context.tokens for entry in entries)
    for entry in entries:
        assert context.explain(entry.item_id) == entry
    sizes = {item.id: COUNTER.count(item) for item in context.items}
    assert all(entry.tokens == sizes[entry.item_id] for entry in entries if entry.item_id in sizes)


@given(OPS, templates(), st.sampled_from(sorted(MODELS)), OPS, st.integers(0, 40))
def test_no_wire_finds_a_fault_and_the_same_is_the_same(
    ops: list[Op], template: Template, wire: str, later: list[Op], at: int
) -> None:
    view, fork = forked(ops, later, at)
    ask = asked(view, 0.0, fork)
    try:
        context = built(template, ask, COUNTER)
    except OverBudget:
        return
    rendered = context.render(wire, model=MODELS[wire])
    assert PROVIDERS[wire].check(rendered.payload, MODELS[wire]) == []
    again = built(template, ask, COUNTER)
    assert list(again.items) == list(context.items)
    assert again.render(wire, model=MODELS[wire]).payload == rendered.payload


@given(OPS, templates(), st.sampled_from(sorted(MODELS)))
def test_each_context_extends_the_one_before(ops: list[Op], template: Template, wire: str) -> None:
    # What was recalled before the history moves into it once it is no input any more.
    absent = ("other", "fork", "recall") if "input" in template else ("other", "fork")
    sections = [
        History() if section.name == "history" else section
        for section in template
        if section.name not in absent
    ]
    template = Template(*sections, budget=Budget(window=1_000_000))
    transcript, author, previous = Transcript(), Author(), None
    for number, op in enumerate(ops):
        before = transcript.view
        play([op], transcript, PlainTranscript(), author)
        context = built(template, asked(transcript.view, number * 2.0), COUNTER, previous)
        # So does what an edit had hidden, once that is undone.
        is_moved = "recall" in template and transcript.view.shape is not before.shape
        if previous is not None and not is_moved and list(transcript.view[: len(before)]) == list(before):
            assert context.shared >= previous.items.settled
            assert context.items[: context.shared] == previous.items[: context.shared]
        whole = PROVIDERS[wire].render(list(context.items), model=MODELS[wire], plan=_explicit(context))
        assert context.render(wire, model=MODELS[wire]).payload == whole.payload
        previous = context


def _explicit(context: Context) -> Any:
    """The plan with the place where the volatile part begins, which a list does not know by itself."""
    slow = context.items.settled if context.plan.slow is None else context.plan.slow
    return replace(context.plan, slow=slow)


@given(st.lists(st.integers(1, 400), min_size=30, max_size=80), st.integers(200, 400))
def test_without_a_compactor_the_oldest_go_in_steps(lengths: list[int], window: int) -> None:
    template = Template(Instructions("Be brief."), History(), budget=Budget(window=window))
    transcript, starts = Transcript(), list[str]()
    for length in lengths:
        transcript.extend([Message("user", "q" * length), Message("assistant", "a" * length)])
        context = built(template, asked(transcript.view), COUNTER)
        starts.append(context.items[1].id)
    spoken = sum(COUNTER.count(item) for item in transcript.view)
    moves = sum(one != other for one, other in pairwise(starts))
    assert moves <= spoken // ((window - 12) // 2) + 1
