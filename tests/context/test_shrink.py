"""Histories that are too long: results are shortened first, and a ledger tells of what is left out."""

import re
from itertools import pairwise

import msgspec
import pytest

from quire import Budget, Message, Pool, Session, Template, ToolCall, ToolResult, counter_for
from quire.compactors import READ_BACK, read_back
from quire.context import Context
from quire.errors import OverBudget
from quire.items import Mask
from quire.sections import History, Instructions
from quire.stores import MemoryStore

FILLER = "This plant stands in the hall and has done well since the spring. " * 4


def turn(session: Session, number: int, size: int = 4) -> None:
    """A question about a plant, the call that looks it up, its result, and an answer."""
    session.user(f"How is plant number {number}?")
    plant = {"plant_id": f"fern_{number:04}", "gardener": f"ana_{number:04}", "about": [FILLER] * size}
    session.append(
        ToolCall(f"c{number}", "get_plant", f'{{"plant_id": "fern_{number:04}"}}', id=f"call{number}")
    )
    session.append(
        ToolResult(f"c{number}", "get_plant", msgspec.json.encode(plant).decode(), id=f"result{number}")
    )
    session.assistant(f"It is well, {number}.")


def template(window: int, **options: bool) -> Template:
    history = History(ledger=options.get("ledger", True), shortens=options.get("shortens", True))
    return Template(Instructions("Be brief."), history, budget=Budget(window=window), model="gpt-5.6")


def conversation(turns: int, size: int = 4) -> Session:
    session = Session.open("ana/plants", store=MemoryStore())
    for number in range(turns):
        turn(session, number, size)
    session.user("What now?")
    return session


def block(context: Context) -> str:
    return next(
        (item.text for item in context.items if "/ledger/" in item.id and isinstance(item, Message)), ""
    )


def test_results_are_shortened_before_anything_is_left_out_and_no_more_than_has_to_be() -> None:
    session = conversation(10)
    whole = session.build(template(100_000)).receipt.tokens
    context = session.build(template(whole - 300))
    fates = [context.explain(f"result{number}").fate for number in range(10)]
    assert fates == sorted(fates, key=("shortened", "shown").index) and 0 < fates.count("shortened") < 10
    assert all(entry.fate in ("shown", "shortened") for entry in context.receipt.entries)
    assert not block(context) and context.receipt.tokens <= whole - 300
    short = next(item for item in context.items if item.id == "result0")
    assert isinstance(short, ToolResult) and short.text.endswith("…shortened]") and "fern_0000" in short.text
    assert "of those shown, " in str(context.receipt) and " shortened" in str(context.receipt)


def test_a_ledger_tells_of_what_is_left_out_behind_the_instructions() -> None:
    session = conversation(30)
    context = session.build(template(1_500))
    assert context.explain("call0").fate == "left out" and "/ledger/" in context.items[1].id
    text = block(context)
    assert "\nget_plant(plant_id: fern_0024) -> gardener: ana_0024\n" in text
    entry = next(entry for entry in context.receipt.entries if entry.section == "history ledger")
    assert entry.fate == "shown" and entry.tokens == context.tokens["history ledger"] <= 1_500 // 4
    assert sum(line.tokens for line in context.receipt.lines()) + 3 >= context.receipt.tokens - 3
    assert not block(session.build(template(1_500, ledger=False)))
    plain = session.build(template(1_500, ledger=False, shortens=False))
    assert all(entry.fate != "shortened" for entry in plain.receipt.entries)


def test_it_stays_the_same_until_the_cut_moves() -> None:
    session, contexts = conversation(1), list[Context]()
    for number in range(1, 60):
        turn(session, number, 1)
        session.user("And now?")
        contexts.append(session.build(template(1_500)) if not contexts else session.build(TEMPLATE))
    moves = sum(one.cuts != other.cuts for one, other in pairwise(contexts))
    steady = [(one, other) for one, other in pairwise(contexts) if one.cuts == other.cuts]
    assert 2 < moves < 20 and all(block(one) == block(other) for one, other in steady)
    assert all(other.shared == len(one.items) for one, other in steady[1:])


TEMPLATE = template(1_500)


def test_what_is_forgotten_is_in_no_ledger() -> None:
    session = conversation(30)
    text = block(session.build(TEMPLATE))
    number = next(number for number in range(30) if f"ana_{number:04}" in text)
    session.forget(f"result{number}")
    assert f"ana_{number:04}" not in block(session.build(TEMPLATE))


def test_what_is_not_shown_whole_has_a_handle_where_the_tool_for_that_is_offered() -> None:
    session = conversation(30)
    context = session.build(template(2_000), tools=[READ_BACK])
    view, counter = session.view(), counter_for("gpt-5.6")

    def whole_of(handle: str) -> str:
        return read_back(session.pool.copy(), handle, counter, 2_000, view=view)

    shown = {item.id for item in context.items}
    results = {item.text: item.id for item in view if isinstance(item, ToolResult)}
    told = dict(re.findall(r"(#\d+) get_plant(\(plant_id: (?:fern_\d+)\))?", block(context)))
    assert len(told) > 5 and all(results[whole_of(handle)] not in shown for handle in told)
    for item in context.items:
        if isinstance(item, ToolResult) and (handle := re.search(r"…shortened: (#\d+)\]$", item.text)):
            assert results[whole_of(handle[1])] == item.id
    assert {context.explain(name).fate for name in results.values()} == {"shown", "shortened", "left out"}
    session.hide("result3")
    assert "Nothing is kept" in read_back(Pool(), "#14", counter, 2_000, view=session.view())
    assert "#" not in block(session.build(template(2_000)))


def test_the_numbers_of_a_receipt_add_up() -> None:
    """In a receipt, in its reasons and in errors: what is needed, and what is free of the room."""
    session = conversation(40, 1)
    for number in range(30, 36):
        session.append(Mask(f"result{number}", "[stub]"))
    context = session.build(template(3_000, shortens=False))
    receipt, counter = context.receipt, counter_for("gpt-5.6")
    lines = {line.section: line for line in receipt.lines()}
    free = receipt.available - receipt.tokens
    assert f"{free:,} tokens are free for the next turns" in lines["history"].note
    entries = [one for one in receipt.entries if one.section == "history"]
    shown = [one for one in entries if one.fate in ("shown", "masked")]
    masked = [one for one in shown if one.fate == "masked"]
    assert len(masked) == 6 and "of those shown, 6 masked" in lines["history"].note
    assert (lines["history"].shown, lines["history"].left_out) == (len(shown), len(entries) - len(shown))
    assert lines["history"].tokens == sum(one.tokens for one in shown)
    assert sum(line.tokens for line in lines.values()) == counter.total(receipt.counted) - 3  # framing
    left = [one for one in entries if one.fate == "left out"]
    assert all(f"{free:,} " in one.reason for one in left)
    taken = {match[1] for one in left if (match := re.search(r"take ([\d,]+) tokens", one.reason))}
    assert taken == {f"{sum(one.tokens for one in left):,}"}
    too_far = [one for one in left if "take " in one.reason]
    nearer = sum(one.tokens for one in left) - sum(one.tokens for one in too_far)
    assert nearer <= free < nearer + sum(one.tokens for one in too_far)


def test_what_does_not_fit_is_named_with_a_way_out() -> None:
    session = conversation(1)
    session.append(ToolCall("big", "read_log", "{}"))
    session.append(ToolResult("big", "read_log", "GET /plants took 12 ms.\n" * 3_000, id="big"))
    with pytest.raises(OverBudget) as caught:
        session.build(template(1_500, shortens=False))
    text = str(caught.value)
    needed, over, room, *parts = (int(one.replace(",", "")) for one in re.findall(r"\d[\d,]*\d", text)[:5])
    assert needed - over == room == 1_500 and caught.value.over == over and abs(sum(parts) - needed) < 20
    assert "'big'" in text and "Offload()" in text and "Budget(window=…)" in text
    session.pin("big")
    with pytest.raises(OverBudget, match="Undo its pin"):
        session.build(TEMPLATE)
