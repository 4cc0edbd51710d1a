"""Templates: their verbs, sections that fail, what is told about costs, and what is shown of a receipt."""

from typing import Any, cast

import pytest

from quire.context import Context, Template, diff
from quire.errors import InvalidValue, OverBudget, UnknownId, UnknownKey, WrongType
from quire.items import Hide, Item, Mask, Message, Pin, Role, Span, Summary, ToolCall, ToolResult
from quire.sections import Additional, Ask, Custom, History, Input, Instructions
from quire.state import Transcript
from quire.tokens import Budget, Share
from tests.context.building import built
from tests.counting import FourCharacters, Items

BUDGET = Budget(window=1_000, reserve=100)


def said(*texts: str) -> Transcript:
    """A conversation in which the user and the model take turns, with the texts as ids."""
    turns = ((n, "assistant" if n % 2 else "user", text) for n, text in enumerate(texts))
    return Transcript([Message(cast(Role, role), text, id=text, created_at=n) for n, role, text in turns])


def shown(template: Template, transcript: Transcript, **more: Any) -> Context:
    return built(template, Ask(views={"main": transcript.view}, **more), Items())


def ids(context: Context) -> list[str]:
    return [item.id for item in context.items]


def clock(ask: Ask) -> list[dict[str, str]]:
    return [{"role": "system", "content": f"It is {ask.now}."}]


def test_sections_are_found_added_replaced_and_removed_by_name() -> None:
    template = Template(Instructions("Be kind."), History(), budget=BUDGET)
    longer = template.add(Custom("clock", clock)).add(Additional([], name="extra"), before="history")
    assert [section.name for section in longer] == ["instructions", "extra", "history", "clock"]
    assert [section.name for section in longer.remove("extra").add(Input(), after="instructions")] == [
        *("instructions", "input", "history", "clock")
    ]
    replaced = longer.replace("clock", Custom("clock", lambda ask: []))
    assert replaced.find("clock") is not longer.find("clock")
    assert "clock" in longer and "clock" not in template
    assert [section.name for section in template] == ["instructions", "history"]


def test_what_a_template_refuses() -> None:
    template = Template(History(), budget=BUDGET)
    with pytest.raises(InvalidValue, match="two sections are called 'history'"):
        template.add(History())
    with pytest.raises(UnknownKey, match="no section 'clock'"):
        template.remove("clock")
    with pytest.raises(InvalidValue, match="not both"):
        template.add(Input(), before="history", after="history")
    with pytest.raises(WrongType, match="Budget"):
        Template(History(), budget=1_000)  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(WrongType, match="a section has a name"):
        Template(object(), budget=BUDGET)  # type: ignore[arg-type]  # pyright: ignore


def test_an_earlier_section_sets_parameters_for_a_later_one() -> None:
    def first(ask: Ask) -> list[Item]:
        ask.parameters["tone"] = "kindly"
        return []

    def second(ask: Ask) -> list[dict[str, str]]:
        return [{"role": "system", "content": f"Speak {ask.parameters['tone']}."}]

    template = Template(Custom("first", first), Custom("second", second), History(), budget=BUDGET)
    (spoken, _) = shown(template, said("q")).items
    assert isinstance(spoken, Message) and spoken.text == "Speak kindly."


def test_a_failing_section_is_an_error_unless_it_is_optional() -> None:
    def fails(ask: Ask) -> list[Item]:
        raise RuntimeError("no network")

    with pytest.raises(RuntimeError):
        shown(Template(Custom("news", fails), History(), budget=BUDGET), said("q"))
    context = shown(Template(Custom("news", fails, required=False), History(), budget=BUDGET), said("q"))
    assert ids(context) == ["q"]
    assert "it failed: RuntimeError" in str(context.receipt)


def test_sections_that_are_off_are_not_asked() -> None:
    def fails(ask: Ask) -> list[Item]:
        raise AssertionError

    template = Template(Custom("news", fails, enabled=False), History(), budget=BUDGET)
    assert ids(shown(template, said("q"))) == ["q"]


def test_the_input_is_shown_once_where_the_template_wants_it() -> None:
    template = Template(History(), Custom("clock", clock), Input(), budget=BUDGET)
    transcript = said("q1", "a1", "q2")
    context = shown(template, transcript, input=transcript.view[-1])
    assert [*ids(context)[:2], ids(context)[-1]] == ["q1", "a1", "q2"] and len(context.items) == 4
    transcript.extend([ToolCall("c", "look", id="c"), ToolResult("c", "look", "seen", id="r")])
    again = shown(template, transcript, input=transcript.get("q2"))
    assert ids(again)[:5] == ["q1", "a1", "q2", "c", "r"] and len(again.items) == 6


def test_a_volatile_section_before_the_history_is_told_what_it_costs() -> None:
    transcript = said("q1", "a1", "q2")
    early = Template(Custom("clock", clock), History(), budget=BUDGET, model="claude-sonnet-4-5")
    (advice,) = shown(early, transcript).receipt.advice
    assert "'clock'" in advice and "3 tokens" in advice and "$0.0000" in advice
    assert shown(early, transcript).plan.slow == 0
    late = Template(History(), Custom("clock", clock), budget=BUDGET)
    assert shown(late, transcript).receipt.advice == ()


def test_a_context_knows_what_it_shares_with_the_one_before() -> None:
    template = Template(Instructions("Be kind."), History(), Custom("clock", clock), budget=BUDGET)
    transcript = said("q1", "a1", "q2")
    ask = Ask(views={"main": transcript.view}, now=1.0)
    first = built(template, ask, Items())
    assert first.shared == 0
    assert built(template, ask, Items(), first).shared == 5
    transcript.append(Message("assistant", "a2", id="a2"))
    later = Ask(views={"main": transcript.view}, now=2.0)
    assert built(template, later, Items(), first).shared == 4
    transcript.append(Hide((Span("q1", "a1"),)))
    cut = Ask(views={"main": transcript.view}, now=2.0)
    assert built(template, cut, Items(), first).shared == 1


def test_what_became_of_each_item_is_told() -> None:
    transcript = said("q1", "a1", "q2", "a2", "q3", "a3", "q4")
    template = Template(Instructions("Be kind."), History(), budget=Budget(window=5))
    before = shown(template, transcript)
    assert before.explain("q1").fate == "left out" and "no room for all" in before.explain("q1").reason
    transcript.append(Pin("a1", id="pin"))
    transcript.append(Summary("It began.", (Span("q1", "q1"),), id="sum"))
    transcript.append(Hide((Span("q2", "a2"),), id="hide"))
    transcript.append(Mask("a3", "[cut]", id="mask"))
    larger = Template(History(), budget=BUDGET)
    after = built(larger, Ask(views={"main": transcript.view}), FourCharacters())
    fates = {entry.item_id: (entry.fate, entry.rule) for entry in after.receipt.entries}
    assert fates["q1"] == ("summarised", "edit sum") and fates["a1"][0] == "pinned"
    assert fates["q2"] == ("hidden", "edit hide") and fates["a3"] == ("masked", "edit mask")
    assert fates["sum"][0] == "shown"
    with pytest.raises(UnknownId, match="no item 'nobody'"):
        after.explain("nobody")
    with pytest.raises(WrongType):
        after.explain(7)  # type: ignore[arg-type]  # pyright: ignore
    changes = {change.item_id: str(change) for change in diff(before, after)}
    assert changes["q1"].startswith("q1: left out -> summarised")
    assert "not there" in changes["sum"]


@pytest.mark.parametrize("what", ["instructions", "message", "pins"])
def test_what_cannot_be_shrunk_is_an_error_that_names_the_parts(what: str) -> None:
    transcript = said("q1", "a1", "q2")
    instructions = "short"
    if what == "instructions":
        instructions = "long " * 500
    elif what == "message":
        transcript.append(Message("user", "long " * 500, id="huge"))
    else:
        transcript.extend([Message("user", "long " * 500, id="huge"), Pin("huge"), Message("user", "q3")])
    template = Template(Instructions(instructions), History(), budget=Budget(window=300, reserve=50))
    with pytest.raises(OverBudget) as caught:
        built(template, Ask(views={"main": transcript.view}), FourCharacters())
    assert caught.value.parts[0] == ("instructions" if what == "instructions" else "history")
    assert caught.value.over > 300
    assert what == "instructions" or "'huge'" in str(caught.value)


@pytest.mark.parametrize("history", [History(), History(turns=3)], ids=["whole", "chosen"])
def test_what_a_tool_just_gave_is_not_dropped(history: History) -> None:
    items: list[Item] = [Message("user", "go", id="u"), ToolCall("c", "look", id="c")]
    transcript = Transcript([*items, ToolResult("c", "look", "word " * 1_000, id="r")])
    template = Template(history, Input(), budget=Budget(window=300))
    with pytest.raises(OverBudget, match="'r'"):
        built(template, Ask(views={"main": transcript.view}, input=transcript.view[-1]), FourCharacters())


def test_pins_and_masks_of_a_chosen_history_hold() -> None:
    transcript = said(*(f"{'qa'[n % 2]}{n:02}" for n in range(41)))
    transcript.extend([Pin("q00"), Mask("a39", "[cut]")])
    template = Template(History(turns=20), budget=Budget(window=60))
    context = built(template, Ask(views={"main": transcript.view}), FourCharacters())
    assert context.explain("q00").fate == "pinned" and "q00" in ids(context)
    assert context.explain("a39").fate == "masked"
    assert context.explain("a01").rule == "not chosen"


def test_two_histories_share_one_budget_or_are_both_to_blame() -> None:
    main = Transcript([Message("user", "old " * 200, id="m1"), Message("user", "big " * 500, id="m2")])
    other = Transcript([Message("user", "old " * 200, id="o1"), Message("user", "small " * 100, id="o2")])
    ask = Ask(views={"main": main.view, "other": other.view})
    both = [History(), History("other", name="other")]
    with pytest.raises(OverBudget) as caught:
        built(Template(*both, budget=Budget(window=620)), ask, FourCharacters())
    assert set(caught.value.parts) == {"history", "other"}
    assert ids(built(Template(*both, budget=Budget(window=700)), ask, FourCharacters())) == ["m2", "o2"]


def test_what_one_section_must_leave_out_another_may_bring_back() -> None:
    transcript = said(*(f"{'qa'[n % 2]}{n:02}" for n in range(41)))
    old = transcript.view[0]
    transcript.append(Hide((Span("q02", "q02"),)))
    recall = Custom("recall", lambda ask: [old, transcript.get("q02"), transcript.view[-1]])
    template = Template(recall, History(), budget=Budget(window=60))
    context = built(template, Ask(views={"main": transcript.view}), FourCharacters())
    assert ids(context)[:2] == ["q00", "q02"] and ids(context).count("q40") == 1
    assert context.explain("q00").section == context.explain("q02").section == "recall"
    assert context.explain("q40").section == "history"
    assert len({entry.item_id for entry in context.receipt.entries}) == len(context.receipt.entries)


def test_a_required_section_keeps_what_an_optional_one_had_no_room_for() -> None:
    note = Message("system", "IMPORTANT fact " * 10, id="n")
    template = Template(
        Custom("maybe", lambda ask: [note], required=False, share=Share(maximum=5)),
        Custom("must", lambda ask: [note]),
        History(),
        budget=Budget(window=90),
    )
    context = built(template, Ask(views={"main": said("q " * 60).view}), FourCharacters())
    assert "n" in ids(context) and context.explain("n").section == "must"


def test_a_share_for_nobody_is_refused() -> None:
    with pytest.raises(InvalidValue, match="no such section"):
        Template(History(), budget=Budget(window=90, shares={"histroy": Share(maximum=5)}))


def test_a_receipt_is_a_table_and_a_page() -> None:
    template = Template(Instructions("Be kind."), History(), budget=Budget(window=4))
    receipt = shown(template, said("q1", "a1", "q2", "a2", "q3"), tools=[{"name": "look"}]).receipt
    lines = str(receipt).splitlines()
    assert lines[0].split() == ["section", "tokens", "shown", "left", "out"]
    assert lines[-1].split() == ["in", "all", "3", "of", "4"]
    assert any(line.startswith("history") and "oldest left out" in line for line in lines)
    page = receipt._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert page.startswith("<table>") and "<td>history</td>" in page
