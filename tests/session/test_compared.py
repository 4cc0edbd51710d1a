"""Two requests side by side: what a cache can serve of the later one, and why it cannot serve more."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.json import encode

from quire import Budget, Session, Template
from quire.items import Mask, Span, Summary, use_clock
from quire.sections import Ask, Custom, History, Instructions
from quire.session import StoredReceipt, before_of, compare_requests, first_change
from tests.session.opened import answer, called, session, talk

LONG = "word " * 40
TOOL: dict[str, Any] = {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}


def clock(ask: Ask) -> list[dict[str, str]]:
    return [{"role": "system", "content": f"It is {ask.now}."}]


def template(*sections: Any, window: int = 20_000) -> Template:
    return Template(*(sections or (Instructions("Be brief."), History())), budget=Budget(window=window))


def ask(
    one: Session, how: Template | None = None, served: float | None = None, **options: Any
) -> StoredReceipt:
    """Ask, let a provider report which share of the request its cache served, and return the receipt."""
    one.user("What now?")
    wire, model = options.pop("wire", "openai"), options.pop("model", "gpt-5.6")
    context = one.build(how or template(), model=model, **options)
    context.render(wire)
    context.sent()
    if served is not None:
        sent = context.receipt.tokens
        one.record(answer("Well.", input=sent, cached=round(served * sent)), sent=context)
    return one.receipts[-1]


def after(change: Callable[[Session], Any], **options: Any) -> tuple[StoredReceipt, StoredReceipt]:
    """The requests before and after a change."""
    one = session()
    talk(one, 20, LONG)
    call = called(one, "look")
    one.tool(LONG, call_id=call.call_id)
    return ask(one), (change(one), ask(one, **options))[1]


def nothing(one: Session) -> None:
    pass


def summarise(one: Session) -> Summary:
    items = one.view()
    summary = Summary("They talked.", (Span(items[2].id, items[9].id),))
    one.append(summary)
    return summary


VOLATILE = template(Instructions("Be brief."), Custom("clock", clock), History())
CAUSES: dict[str, tuple[Callable[[Session], Any], dict[str, Any], str]] = {
    "edit": (lambda one: one.hide(one.view()[4].id), {}, "hidden"),
    "edit by a summary": (summarise, {}, "summarised"),
    "edit by a mask": (lambda one: one.append(Mask(one.view()[4].id, "gone")), {}, "masked"),
    "model": (nothing, {"model": "gpt-5.5"}, "gpt-5.6 at openai → gpt-5.5 at openai"),
    "tools": (nothing, {"tools": [TOOL]}, "new: look"),
    "cut": (nothing, {"how": template(Instructions("Be brief."), History(), window=1_000)}, "the cut moved"),
}


@pytest.mark.parametrize("name", CAUSES)
def test_the_cause_of_a_break_is_named_and_priced(name: str) -> None:
    change, options, reason = CAUSES[name]
    made = compare_requests(*after(change, **options))
    assert made is not None and made.cause is not None
    assert made.cause.name == name.split(" by ")[0] and reason in made.cause.reason
    assert made.share < 0.3 and made.again > 0 and made.cost is not None and made.cost > 0


def test_a_request_that_only_grew_is_served_but_for_what_is_new() -> None:
    before, kept = after(nothing)
    made = compare_requests(before, kept)
    assert made is not None and made.cause is None and made.again == 0
    assert made.items == len(before.items) and made.tokens == pytest.approx(before.tokens, abs=5)
    first = first_change(before, kept)
    assert first is not None and first.is_growth and first.was == ""


def test_an_edit_that_is_undone_breaks_the_cache_again() -> None:
    one = session()
    talk(one, 20, LONG)
    summary = summarise(one)
    before = ask(one)
    one.undo(summary.id)
    made = compare_requests(before, ask(one))
    assert made is not None and made.cause is not None
    assert (made.cause.name, made.cause.edit) == ("undo", summary.id)


def test_a_section_that_changes_from_call_to_call_before_the_history() -> None:
    one, ticks = session(), iter(range(1_000_000, 2_000_000))
    with use_clock(lambda: float(next(ticks))):
        talk(one, 20, LONG)
        made = compare_requests(ask(one, VOLATILE), ask(one, VOLATILE))
    assert made is not None and made.cause is not None
    assert made.cause.name == "volatile" and "'clock'" in made.cause.reason


@pytest.mark.parametrize(
    ("words", "gap", "served", "name"),
    [
        (LONG * 2, 10, 0.99, None),
        (LONG * 2, 10, None, None),
        (LONG * 2, 10, 0.1, "not served"),
        (LONG * 2, 900, 0.1, "time-out"),
        ("word", 900, 0.0, "short"),
    ],
)
def test_what_a_provider_did_not_serve(words: str, gap: int, served: float, name: str | None) -> None:
    one, at = session(), 1_000_000.0
    with use_clock(lambda: at):
        talk(one, 20, words)
        before = ask(one)
        at += gap
        made = compare_requests(before, ask(one, served=served))
    assert made is not None and (None if made.cause is None else made.cause.name) == name
    assert made.again == pytest.approx(0.9 * made.tokens, rel=0.1) if served == 0.1 else made.again == 0


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic", "gemini"])
def test_the_first_changed_byte_is_where_the_bytes_differ(wire: str) -> None:
    one = session()
    talk(one, 6, "söme words ")
    before = ask(one, wire=wire)
    one.append(Mask(one.view()[2].id, "söme other words"))
    kept = ask(one, wire=wire)
    first = first_change(before, kept)
    sent = encode(kept.request())
    assert first is not None and not first.is_growth
    assert sent[first.byte :].decode().startswith(first.now) and first.now.startswith("other words")
    assert first.was.startswith("words  question 1")


def test_of_two_agents_that_take_turns_each_is_compared_with_its_own_last_request() -> None:
    one, other = session(), template(Instructions("Check it.", "checks"), History())
    talk(one, 5, LONG)
    receipts = [ask(one, how) for how in (None, other, None, other)]
    assert [before_of(kept, receipts[:n]) for n, kept in enumerate(receipts)] == [
        None,
        receipts[0],
        *receipts[:2],
    ]


@pytest.mark.parametrize(("hidden", "name"), [(-3, "time-out"), (2, "edit")])
def test_of_two_causes_the_one_of_more_tokens_is_named_and_both_are_counted(hidden: int, name: str) -> None:
    one, at = session(), 1_000_000.0
    with use_clock(lambda: at):
        talk(one, 40, LONG * 2)
        before = ask(one)
        at += 900
        one.hide(one.view()[hidden].id)
        kept = ask(one, served=0.0)
    made = compare_requests(before, kept)
    assert made is not None and made.cause is not None and made.cause.name == name
    assert made.again == pytest.approx(kept.tokens, rel=0.05)
