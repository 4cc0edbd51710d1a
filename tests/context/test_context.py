"""What the documentation promises of templates, budgets and receipts."""

from itertools import pairwise
from typing import Any, cast

import pytest

from quire.compactors import TruncateOldest, record
from quire.context import Context, Template
from quire.errors import OverBudget, UnknownId, UnknownKey
from quire.items import (
    Address,
    Hide,
    Item,
    Mask,
    Message,
    Pin,
    Role,
    Span,
    Summary,
    ToolCall,
    ToolResult,
)
from quire.providers import PROVIDERS
from quire.sections import Ask, Custom, History, Inbox, Input, Instructions
from quire.state import Transcript
from quire.testing.plain import FourCharacters
from quire.testing.templates import build_context
from quire.tokens import Budget, Calibrated, counter_for, schema_tokens
from tests.counting import Items, calls_of, held_by

BUDGET = Budget(window=1_000, reserve=100)
COUNTER, FOUR = counter_for("gpt-5.6"), FourCharacters()


def said(*texts: str) -> Transcript:
    """A dialogue of the user and the model, with the texts as ids."""
    turns = ((n, "assistant" if n % 2 else "user", text) for n, text in enumerate(texts))
    return Transcript([Message(cast(Role, role), text, id=text, created_at=n) for n, role, text in turns])


def words(role: Any, count: int, **more: Any) -> Message:
    return Message(role, "word " * count, **more)


def shown(template: Template, transcript: Transcript, **more: Any) -> Context:
    return build_context(template, Ask(views={"main": transcript.view}, **more), Items())


def ids(context: Context) -> list[str]:
    return [item.id for item in context.items]


def clock(ask: Ask) -> list[dict[str, str]]:
    return [{"role": "system", "content": f"It is {ask.now}."}]


def failing(ask: Ask) -> list[Item]:
    raise RuntimeError("no network")


def test_sections_are_added_by_name() -> None:
    template = Template(Instructions("Be kind."), History(), budget=BUDGET)
    longer = template.add(Custom("clock", clock)).add(Instructions([], name="extra"), before="history")
    assert [section.name for section in longer.sections] == ["instructions", "extra", "history", "clock"]
    second = template.add(Input(), after="instructions")
    assert [section.name for section in second.sections] == ["instructions", "input", "history"]


def test_a_failing_section_is_an_error_unless_it_is_optional_or_disabled() -> None:
    with pytest.raises(RuntimeError) as caught:
        shown(Template(Custom("news", failing), History(), budget=BUDGET), said("q"))
    assert caught.value.__notes__ == ["in section 'news'"]
    context = shown(Template(Custom("news", failing, required=False), History(), budget=BUDGET), said("q"))
    assert ids(context) == ["q"] and "it failed: RuntimeError" in str(context.receipt)
    assert ids(
        shown(Template(Custom("news", failing, enabled=False), History(), budget=BUDGET), said("q"))
    ) == ["q"]
    lost = Template(History(), History("gone", name="gone", required=False), budget=BUDGET)
    assert "UnknownKey" in str(shown(lost, said("q")).receipt)


def test_an_input_is_shown_before_its_results_and_a_missing_one_is_reported() -> None:
    template = Template(History(), Custom("clock", clock), Input(), budget=BUDGET)
    transcript = said("q1", "a1", "q2")
    transcript.extend([ToolCall("c", "look", id="c"), ToolResult("c", "look", "seen", id="r")])
    again = shown(template, transcript, input=transcript.get("q2"))
    assert ids(again)[:5] == ["q1", "a1", "q2", "c", "r"] and len(again.items) == 6
    absent = shown(Template(Instructions("a"), budget=BUDGET), transcript, input=transcript.get("q2"))
    assert any("'q2' is not shown" in line for line in absent.receipt.advice)


def test_a_receipt_explains_every_item_and_what_changed() -> None:
    transcript = said("q1", "a1", "q2", "a2", "q3", "a3", "q4")
    before = shown(Template(Instructions("Be kind."), History(), budget=Budget(window=5)), transcript)
    assert before.explain("q1").fate == "left out" and before.explain("q1").rule == "oldest left out"
    transcript.append(Pin("a1", id="pin"))
    transcript.append(Summary("It began.", (Span("q1", "q1"),), id="sum"))
    transcript.append(Hide((Span("q2", "a2"),), id="hide"))
    transcript.append(Mask("a3", "[cut]", id="mask"))
    after = build_context(Template(History(), budget=BUDGET), Ask(views={"main": transcript.view}), FOUR)
    fates = {entry.item_id: (entry.fate, entry.rule) for entry in after.receipt.entries}
    assert fates["q1"] == ("summarised", "edit sum") and fates["a1"][0] == "pinned"
    assert fates["q2"] == ("hidden", "edit hide") and fates["a3"] == ("masked", "edit mask")
    with pytest.raises(UnknownId, match="no item 'nobody'"):
        after.explain("nobody")
    chosen = build_context(
        Template(History(turns=1), budget=BUDGET), Ask(views={"main": transcript.view}), FOUR
    )
    assert chosen.explain("q3").rule == "not chosen"


def test_over_budget_names_the_part_and_the_item_to_blame() -> None:
    long = "long " * 500
    huge, budget = Message("user", long, id="huge"), Budget(window=300)
    tools = [{"name": "look", "description": long}]
    rows: list[tuple[str, list[Item], str, Any]] = [
        ("instructions", [], long, ()),
        ("tool definitions", [], "short", tools),
        ("history", [huge], "short", ()),
        ("history", [huge, Pin("huge"), Message("user", "q3")], "short", ()),
        ("history", [ToolCall("c", "look"), ToolResult("c", "look", long, id="huge")], "short", ()),
    ]
    for part, items, instructions, definitions in rows:
        transcript = said("q1", "a1", "q2")
        transcript.extend(items)
        template = Template(Instructions(instructions), History(), budget=budget)
        with pytest.raises(OverBudget) as caught:
            build_context(template, Ask(views={"main": transcript.view}, tools=definitions), FOUR)
        assert caught.value.parts[0] == part and caught.value.over > 300
        assert ("'huge'" in str(caught.value)) == (part == "history")


def test_two_histories_share_one_budget() -> None:
    main = Transcript([Message("user", "old " * 200, id="m1"), Message("user", "big " * 500, id="m2")])
    other = Transcript([Message("user", "old " * 200, id="o1"), Message("user", "small " * 100, id="o2")])
    ask = Ask(views={"main": main.view, "other": other.view})
    both = [History(), History("other", name="other")]
    with pytest.raises(OverBudget) as caught:
        build_context(Template(*both, budget=Budget(window=620)), ask, FOUR)
    assert set(caught.value.parts) == {"history", "other"}
    assert ids(build_context(Template(*both, budget=Budget(window=700)), ask, FOUR)) == ["m2", "o2"]


def sent(context: Context) -> int:
    """The tokens of a payload, read back from the payload."""
    payload = context.render("openai").payload
    return COUNTER.total(sum(map(COUNTER.count, PROVIDERS["openai"].read_history(payload["messages"]))))


def test_results_that_rendering_adds_for_pending_calls_are_counted() -> None:
    items: list[Item] = [*(ToolCall(f"c{n}", "look", "{}") for n in range(3)), Message("user", "what now?")]
    filtered, listed = History(where=lambda item: True), Custom("listed", lambda ask: items)
    ask = Ask(views={"main": Transcript(items).view})
    for section in (History(), filtered, History(turns=9), listed):
        context = build_context(Template(section, budget=BUDGET, model="gpt-5.6"), ask, COUNTER)
        assert sent(context) == context.receipt.tokens and "answer calls that wait" in str(context.receipt)
        with pytest.raises(OverBudget) as caught:
            build_context(Template(section, budget=Budget(window=context.receipt.tokens - 1)), ask, COUNTER)
        assert caught.value.over == 1


def interrupted(count: int) -> Transcript:
    """A conversation in which each result came after the model had gone on without it."""
    transcript = Transcript()
    for n in range(count):
        call, result = ToolCall(f"c{n}", "look"), ToolResult(f"c{n}", "look", "found")
        transcript.extend([Message("user", "go"), call, Message("user", "wait"), Message("assistant", "ok")])
        transcript.append(result)
    transcript.extend([Message("user", "What now?"), Pin(transcript.view[0].id)])
    return transcript


@pytest.mark.parametrize("window", [1_000_000, 900])
def test_calls_that_were_interrupted_are_counted_and_cost_later_builds_nothing(window: int) -> None:
    template, work = Template(History(), budget=Budget(window=window), model="gpt-5.6"), list[int]()
    for count in (40, 400):
        ask = Ask(views={"main": interrupted(count).view})
        context = build_context(template, ask, COUNTER)
        late = sum(isinstance(item, ToolResult) for item in context.items)
        assert sent(context) <= context.receipt.tokens <= sent(context) + 4 * late  # of the heading
        work.append(calls_of(lambda: build_context(template, ask, COUNTER, previous=context)))  # noqa: B023
    assert work[1] < 1.3 * work[0]


def test_a_template_keeps_nothing_of_what_it_was_asked() -> None:
    template = Template(Inbox(required=True), budget=BUDGET, model="gpt-5.6")
    secret = Message("user", "swordfish", id="secret", address=Address("me"))
    assert build_context(template, Ask(views={}, inbox=(secret,)), COUNTER).items[0] == secret
    kept = held_by(template)[1]
    assert secret.id not in kept and not any(one is secret for one in kept)


def test_the_room_of_a_history_is_what_a_compactor_may_leave() -> None:
    calls = [ToolCall(f"c{n}", "look", "{}") for n in range(20)]
    transcript = Transcript([*(words("user" if n % 2 else "assistant", 30) for n in range(40)), *calls])
    template = Template(Instructions("Be brief."), History(), budget=BUDGET, model="gpt-5.6")
    context = build_context(template, Ask(views={"main": transcript.view}), COUNTER)
    plan = TruncateOldest(floor=1.0).plan(transcript.view, context.room())
    assert plan is not None and record(transcript, plan).fate == "kept"
    after = build_context(template, Ask(views={"main": transcript.view}), COUNTER)
    assert len(after.items) == len(transcript.view) + 1 and sent(after) <= 900
    with pytest.raises(UnknownKey, match="'gone'"):
        context.room("gone")


def test_changed_tools_are_counted_again_and_a_learned_factor_applies_to_the_request() -> None:
    tool: dict[str, Any] = {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}
    ask = Ask(views={"main": said("hi").view}, tools=[tool])
    template, counter = Template(History(), budget=BUDGET), Calibrated(COUNTER)
    before = build_context(template, ask, counter).receipt
    assert before.schemas == schema_tokens([tool], COUNTER)
    tool["description"] = "word " * 50
    after = build_context(template, ask, counter).receipt
    assert after.schemas == schema_tokens([tool], COUNTER) > before.schemas
    plain = after.tokens
    counter.learn(1_000, 2_000)
    assert build_context(template, ask, counter).receipt.tokens == counter.total(after.counted) > 1.5 * plain


class Corrected(FourCharacters):
    """A counter that corrects its sums by a factor that varies a little, as a learned one does."""

    key = "corrected"

    def __init__(self, factor: float, overhead: int) -> None:
        self._factor, self._overhead, self.turn = factor, overhead, 0

    def total(self, counted: int) -> int:
        return round(counted * self._factor * (1 + 0.002 * (self.turn % 5 - 2))) + self._overhead


def test_the_budget_is_used_and_the_cut_stays_whatever_a_counter_learns() -> None:
    template = Template(History(), budget=Budget(window=4_000))
    for factor, overhead in ((0.4, 0), (0.97, 20), (1, 500), (2, 9)):
        counter, transcript = Corrected(factor, overhead), Transcript()
        used, starts, context = list[int](), list[str](), None
        for counter.turn in range(200):
            transcript.extend([Message("user", "q" * 200), Message("assistant", "a" * 200)])
            context = build_context(template, Ask(views={"main": transcript.view}), counter, context)
            used.append(context.receipt.tokens)
            starts.append(context.items[0].id)
        late = used[100:]
        assert max(used) <= 4_000 and max(late) > 3_600 and sum(late) / len(late) > 2_700
        moves = sum(one != other for one, other in pairwise(starts[100:]))
        assert moves <= 100 * 2 * 54 * factor / (0.4 * (4_000 - overhead)) + 1


def test_the_rows_of_a_receipt_add_up_to_its_total_also_after_a_correction() -> None:
    transcript = Transcript([Message("user", "q" * 200), Message("assistant", "a" * 200)])
    template = Template(History(), budget=Budget(window=4_000))
    context = build_context(template, Ask(views={"main": transcript.view}), Corrected(0.5, 9))
    rows = [line.removeprefix("in ").split() for line in str(context.receipt).splitlines()[2:]]
    numbers = [int(tokens) for _, tokens, *_ in rows]
    assert sum(numbers[:-1]) == numbers[-1] == context.receipt.tokens
