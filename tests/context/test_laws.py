"""Templates over random histories: each context extends the one before, and cuts seldom move."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from msgspec.structs import replace

from quire.context import Context, Template
from quire.errors import OverBudget
from quire.items import Hide, Item, Message, Pin, Span, ToolCall, ToolResult
from quire.providers import PROVIDERS
from quire.sections import Ask, Custom, History, Input, Instructions
from quire.state import Transcript, View
from quire.testing.histories import OPS, Author, Op, apply_ops
from quire.testing.templates import COUNTER, ask_for, build_context, names_of, templates
from quire.tokens import Budget, Share, counter_for

EXACT = counter_for("gpt-5.6")
MODELS = {"openai": "gpt-5.6", "openai-responses": "gpt-5.6", "anthropic": "claude-sonnet-4-5"} | {
    "gemini": "gemini-2.5-pro"
}


@pytest.mark.laws
@given(OPS, templates(), st.sampled_from(sorted(MODELS)))
def test_each_context_extends_the_one_before(ops: list[Op], template: Template, wire: str) -> None:
    absent = ("other", "fork", "recall") if "input" in names_of(template) else ("other", "fork")
    sections = [
        History() if section.name == "history" else section
        for section in template.sections
        if section.name not in absent
    ]
    template = Template(*sections, budget=Budget(window=100_000))
    transcript, author, previous = Transcript(), Author(), None
    for number, op in enumerate(ops):
        before = transcript.view
        apply_ops([op], transcript, author)
        context = build_context(template, ask_for(transcript.view, number * 2.0), previous=previous)
        is_moved = "recall" in names_of(template) and transcript.view.shape is not before.shape
        if previous is not None and not is_moved and list(transcript.view[: len(before)]) == list(before):
            assert context.shared >= previous.items.stable_length
            assert context.items[: context.shared] == previous.items[: context.shared]
        slow = context.items.stable_length if context.plan.slow is None else context.plan.slow
        plan = replace(context.plan, slow=slow)
        whole = PROVIDERS[wire].render(list(context.items), model=MODELS[wire], plan=plan)
        assert context.render(wire, model=MODELS[wire]).payload == whole.payload
        previous = context


TURNS = st.lists(
    st.tuples(st.integers(1, 80), st.lists(st.integers(1, 200), max_size=4), st.integers(1, 80)),
    min_size=2,
    max_size=15,
)


def as_it_is(ask: Ask) -> list[Item]:
    return list(ask.view())


CUT: dict[str, Any] = {
    "all": History(),
    "where": History(where=lambda item: True),
    "transform": History(transform=lambda item: item),
    "turns": History(turns=12),
    "messages": History(messages=60),
    "no questions": History(where=lambda item: not isinstance(item, Message) or item.role != "user"),
    "a list": Custom("history", as_it_is, keeps="newest"),
}


def talk(turns: list[tuple[int, list[int], int]], question: int) -> Transcript:
    transcript = Transcript()
    for turn, (question_length, found, answered) in enumerate(turns):
        transcript.append(Message("user", "q" * question_length, id=f"u{turn}"))
        for number, length in enumerate(found):
            transcript.append(ToolCall(f"c{turn}.{number}", "look", id=f"c{turn}.{number}"))
            transcript.append(ToolResult(f"c{turn}.{number}", "look", "f" * length, id=f"r{turn}.{number}"))
        transcript.append(Message("assistant", "a" * answered, id=f"a{turn}"))
    transcript.append(Message("user", "?" * question, id=f"u{len(turns)}"))
    return transcript


def turn_of(item: Item) -> int:
    return int(item.id[1:].split(".")[0])


def fitted(view: View, section: Any, window: int, *more: Any) -> Context | None:
    template = Template(Instructions("Be brief."), section, *more, budget=Budget(window=window))
    try:
        return build_context(template, Ask(views={"main": view}, input=view[-1] if more else None))
    except OverBudget:
        return None


@pytest.mark.laws
@given(TURNS, st.integers(1, 60), st.integers(20, 900), st.sampled_from([None, 300]), st.booleans())
def test_the_reason_names_closely_only_if_closely_would_show_the_item(
    turns: list[tuple[int, list[int], int]], question: int, window: int, most: int | None, is_apart: bool
) -> None:
    view, more = talk(turns, question).view, [Input()] if is_apart else []
    share = None if most is None else Share(maximum=most)
    steps = fitted(view, History(share=share), window, *more)
    closely = fitted(view, History(share=share, closely=True), window, *more)
    if steps is None or closely is None:
        return
    for entry in steps.receipt.entries:
        if "closely=True" in entry.reason:
            assert closely.explain(entry.item_id).fate == "shown"


@pytest.mark.laws
@given(TURNS, st.integers(1, 60), st.integers(20, 500), st.sampled_from(sorted(CUT)), st.booleans())
@example(
    [(1, [1, 36, 140], 8), (28, [128], 64), (12, [], 28), (12, [], 44), (1, [32, 84, 88, 152], 28)],
    *(1, 259, "a list", False),
)
def test_a_turn_is_shown_whole_or_by_its_question_and_newest_groups_or_not_at_all(
    turns: list[tuple[int, list[int], int]], question: int, window: int, kind: str, is_apart: bool
) -> None:
    view = talk(turns, question).view
    more = [Input()] if is_apart and kind != "a list" else []
    context, all_of_it = (fitted(view, CUT[kind], room, *more) for room in (window, 1_000_000))
    if context is None or kind == "messages":
        return
    assert all_of_it is not None
    shown, everything = (list(one.items)[1:] for one in (context, all_of_it))
    first = min(map(turn_of, shown))
    turn = [item for item in everything if turn_of(item) == first]
    assert [i for i in shown if turn_of(i) > first] == [i for i in everything if turn_of(i) > first]
    part = [item for item in shown if turn_of(item) == first]
    has_question = isinstance(turn[0], Message) and turn[0].role == "user"
    rest = part[1:] if has_question else part
    assert part == turn or (part[0] == turn[0] if has_question else True)
    assert rest == turn[len(turn) - len(rest) :]
    assert not rest or not isinstance(rest[0], ToolResult), "a result without its call"
    if part != turn and has_question and len(turns) > 1:
        room = window - COUNTER.count(context.items[0]) - 10
        later = sum(map(COUNTER.count, shown)) - sum(map(COUNTER.count, part))
        size = sum(map(COUNTER.count, turn))
        assert size > 0.4 * room or later + size > room, "a turn that fits is cut inside"


@pytest.mark.laws
@given(TURNS, st.integers(1, 60), st.integers(20, 500), st.sampled_from(sorted(CUT)), st.integers(0, 2))
@example(
    [(24, [1, 1, 4, 92], 12), (60, [1, 32, 52, 132], 1), (1, [96, 88], 1), (56, [1, 32], 72), (48, [], 40)],
    *(1, 290, "messages", 2),
)
def test_the_floor_of_the_room_is_used_give_or_take_the_group_at_the_cut(
    turns: list[tuple[int, list[int], int]], question: int, window: int, kind: str, pins: int
) -> None:
    transcript, context = talk([], 9), None
    template = Template(Instructions("Be brief."), CUT[kind], budget=Budget(window=window))
    for turn, one in enumerate(turns, 1):
        for item in list(talk([one], question).view)[:-1]:
            transcript.append(replace(item, id=f"{item.id[0]}{turn}.{item.id}"))
        if turn <= pins:
            transcript.append(Pin(f"u{turn}.u0"))
        ask = Ask(views={"main": transcript.view})
        try:
            everything = build_context(Template(CUT[kind], budget=Budget(window=1_000_000)), ask)
            context = build_context(template, ask, previous=context)
        except OverBudget:
            return
        shown = {item.id for item in context.items}
        left = [item for item in everything.items if item.id not in shown]
        if left:
            group = max(_group_size(everything, item) for item in left[-1:])
            frame = sum(
                COUNTER.count(item)
                for item in context.items
                if item is context.items[0] or transcript.view.fate(item.id).state == "pinned"
            )
            used = sum(map(COUNTER.count, context.items))
            # 42 % of the room, or 88 % of that where there are results for a ledger to tell of
            assert used + group >= frame + 0.36 * (window - frame) - 2


def _group_size(context: Context, item: Item) -> int:
    call = item.call_id if isinstance(item, ToolCall | ToolResult) else None
    alike = [one for one in context.items if call and getattr(one, "call_id", None) == call]
    return sum(map(COUNTER.count, alike or [item]))


INPUTS: dict[str, History] = {
    "all": History(),
    "turns": History(turns=2),
    "messages": History(messages=5),
    "where": History(where=lambda item: not isinstance(item, ToolCall | ToolResult)),
    "transform": History(transform=lambda item: None if item.id.endswith("3") else item),
}


@pytest.mark.laws
@given(OPS, st.integers(10, 400), st.sampled_from(sorted(INPUTS)), st.integers(1, 200), st.booleans())
def test_an_input_with_its_own_section_changes_nothing_else(
    ops: list[Op], window: int, kind: str, length: int, is_edited: bool
) -> None:
    transcript = apply_ops(ops, Transcript(), Author())
    transcript.append(Message("user", "noted", id="noted", created_at=1e4))
    transcript.append(Message("user", "q" * length, id="the input", created_at=1e4 + 1))
    if is_edited:
        transcript.append(Hide((Span("noted", "noted"),)))
    ask = Ask(views={"main": transcript.view}, input=transcript.view[-1])
    found: list[Context | int] = []
    for more in ((), (Input(),)):
        template = Template(Instructions("Be brief."), INPUTS[kind], *more, budget=Budget(window=window))
        try:
            found.append(build_context(template, ask))
        except OverBudget as fault:
            found.append(fault.over)
    alone, apart = found
    if isinstance(alone, int) or isinstance(apart, int):
        assert alone == apart
    else:
        assert list(apart.items) == list(alone.items) and apart.receipt.tokens == alone.receipt.tokens
        assert apart.explain("the input").section == "input"


def now_and_then(ask: Ask) -> list[dict[str, str]]:
    return [{"role": "system", "content": "You have mail."}] if ask.now % 2 else []


def of_any_size(ask: Ask) -> list[dict[str, str]]:
    return [{"role": "system", "content": "word " * (int(ask.now) * 37 % 300)}]


MAIL = Custom("mail", now_and_then, required=False)
STEADY: dict[str, list[Any]] = {
    "a history alone": [History()],
    "a section that comes and goes": [History(), MAIL],
    "a section of any size": [History(), Custom("recall", of_any_size, required=False)],
    "a maximum": [History(share=Share(maximum=900)), MAIL],
    "a slow section": [Instructions("rule " * 900, "rules", stability="slow"), History()],
    "a filter": [History(where=lambda item: isinstance(item, Message)), MAIL],
    "an input": [History(), Input()],
}


@pytest.mark.parametrize("name", STEADY)
def test_a_cut_seldom_moves_and_never_back(name: str) -> None:
    template = Template(
        Instructions("Be brief."), *STEADY[name], budget=Budget(window=2_000), model="gpt-5.6"
    )
    transcript, starts, contexts = Transcript(), list[int](), list[Context]()

    def call(turn: int, question: Message) -> None:
        given = question if "input" in names_of(template) else None
        ask = Ask(views={"main": transcript.view}, now=float(turn), input=given)
        contexts.append(build_context(template, ask, EXACT, contexts[-1] if contexts else None))
        shown = {item.id for item in contexts[-1].items}
        starts.append(next(i for i, item in enumerate(transcript.view) if item.id in shown))

    for turn in range(120):
        question = Message("user", f"question {turn} about something", created_at=float(turn))
        transcript.append(question)
        call(turn, question)
        transcript.append(ToolCall(f"c{turn}", "look", '{"q": 1}', created_at=turn + 0.1))
        transcript.append(ToolResult(f"c{turn}", "look", "found " * 10, created_at=turn + 0.2))
        call(turn, question)
        transcript.append(Message("assistant", f"answer {turn} to it", created_at=turn + 0.3))
    moves = [(one, other) for one, other in pairwise(starts) if one != other]
    assert 0 < len(moves) <= 20 and all(one < other for one, other in moves)
