"""Receipts: what was sent, with which parameters, and why, as long as the conversation is kept."""

import re
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st
from msgspec.structs import replace

from quire import Budget, Session, Template
from quire.context import Entry
from quire.errors import Forgotten, OverBudget, QuireError, UnknownId
from quire.items import Item, Message, Note, ToolCall, ToolResult
from quire.memory import Recall
from quire.providers import PROVIDERS, Rendered
from quire.sections import Ask, Catalogue, Custom, History, Input, Instructions
from quire.state import Transcript
from quire.stores import MemoryStore
from quire.testing.histories import OPS, Author, Op
from quire.tokens import Prices
from tests.session.opened import (
    SECRET,
    TEMPLATE,
    answer,
    kept_bytes,
    said,
    send,
    session,
    talk,
    texts,
    twin,
    watch,
    write_op,
)
from tests.stores.keeping import kept

MANY = settings(max_examples=max(30, settings().max_examples // 2))


def asked(**options: Any) -> Session:
    one = session(**options)
    one.user("How did Q3 go?")
    return one


def test_rendering_keeps_nothing() -> None:
    one = asked()
    context = one.build(TEMPLATE)
    for wire in ("openai", "openai-responses", "anthropic", "gemini"):
        context.render(wire)
    assert not one.receipts and one.version == 1


def test_a_receipt_has_the_parameters_that_were_given() -> None:
    store = MemoryStore()
    one = asked(store=store)
    for how in ("sent", "record", "neither", "both"):
        context = one.build(TEMPLATE)
        payload = context.render("openai").payload
        if how in ("sent", "both"):
            context.sent(
                parameters={"temperature": 0.2, "stop": ["."], "extra_headers": {"authorization": "key"}}
            )
        given = {"temperature": 0.2, "extra_body": {"stop": ["."]}, "timeout": 3}
        one.record(answer("Well."), sent=context, parameters=None if how in ("sent", "neither") else given)
        known = None if how == "neither" else {"temperature": 0.2, "stop": ["."]}
        for sent in (one.receipts[-1], session(twin(store)).receipts[-1]):
            assert sent.payload().payload == payload and sent.parameters == known
            assert sent.request() == {**payload, **(known or {})}
    assert len(one.receipts) == 4 and b"authorization" not in kept_bytes(store)


def test_a_field_of_the_payload_that_was_sent_otherwise_is_in_the_parameters() -> None:
    one = asked()
    context = one.build(TEMPLATE, tools=[{"name": "look"}])
    config = {**context.render("gemini")["config"], "temperature": 0.5}
    request: dict[str, Any] = {**context.render("gemini"), "config": config}
    context.sent(parameters=request)
    kept = one.receipts[0]
    assert kept.request()["config"] == config and kept.parameters == {"config": {"temperature": 0.5}}
    context.sent(parameters={"config": {"system_instruction": "other"}})
    assert one.receipts[1].request()["config"] == {
        **context.render("gemini")["config"],
        "system_instruction": "other",
    }


def test_the_receipt_of_one_of_several_renderings() -> None:
    one = asked()
    context = one.build(TEMPLATE, model="claude-sonnet-5")
    context.render("anthropic")
    context.render("openai", model="gpt-5.6", cache=False)
    context.sent("anthropic", parameters={"max_tokens": 100})
    context.sent()
    first, second = one.receipts
    assert (first.provider, first.model, first.parameters) == (
        "anthropic",
        "claude-sonnet-5",
        {"max_tokens": 100},
    )
    assert (second.provider, second.model, second.parameters) == ("openai", "gpt-5.6", None)
    assert "cache" in str(first.payload().payload) and "cache" not in str(second.payload().payload)


@pytest.mark.parametrize("first", [None, {"temperature": 1}])
def test_an_answer_is_recorded_whatever_parameters_come_with_it(
    first: dict[str, Any] | None, caplog: pytest.LogCaptureFixture
) -> None:
    one = asked()
    context = one.build(TEMPLATE)
    context.render("openai")
    context.sent(parameters=first)
    one.record(answer("Well."), parameters={"temperature": 0})
    assert texts(one.view())[-1] == "Well." and [kept.parameters for kept in one.receipts] == [first]
    assert "other parameters" in caplog.text


def test_the_receipt_of_a_response_that_is_refused_and_of_a_stream_that_breaks() -> None:
    one = asked()
    one.build(TEMPLATE).render("openai")
    with pytest.raises(QuireError):
        one.record({"error": {"message": "overloaded"}}, parameters={"temperature": 1})
    context = one.build(TEMPLATE)
    context.render("openai")
    delta = {"choices": [{"index": 0, "delta": {"content": "Well"}}], "object": "chat.completion.chunk"}
    with one.listen(iter([delta, delta]), sent=context, parameters={"stream": True}) as events:
        next(events)
    assert texts(one.view()) == ["How did Q3 go?", "Well"]
    assert [kept.parameters for kept in one.receipts] == [{"temperature": 1}, {"stream": True}]


def test_parameters_and_explanations_are_forgotten_with_what_they_may_hold() -> None:
    store = MemoryStore()
    monday = Session.open("ana/monday", store=store)
    secret = monday.user(SECRET)
    one = asked(store=store)
    shown = Template(History(), Recall("knowledge"), budget=Budget(window=4_000))
    one.user(f"What is {SECRET.split()[-1]}?")
    context = one.build(shown, input=one.view()[-1])
    context.render("openai")
    context.sent(parameters={"prediction": {"content": SECRET}})
    kept = one.receipts[0]
    assert kept.explain(secret).reason and kept.parameters == {"prediction": {"content": SECRET}}
    monday.forget(secret.id)
    with pytest.raises(Forgotten):
        one.receipts[0].explain(secret)
    one.forget(one.view()[-1].id)
    with pytest.raises(Forgotten):
        one.receipts[0].request()
    assert one.receipts[0].tokens == kept.tokens and b"swordfish" not in kept_bytes(store)


def test_what_was_forgotten_between_sending_and_answer_is_not_kept() -> None:
    store = MemoryStore()
    one = asked(store=store)
    secret = one.user(SECRET)
    context = one.build(TEMPLATE)
    context.render("openai")
    one.forget(secret.id)
    one.record(answer("Well."), sent=context)
    (kept,) = one.receipts
    assert kept.provider == "openai" and kept.tokens > 0 and texts(one.view())[-1] == "Well."
    for read in (kept.payload, kept.request, lambda: kept.explain(secret), lambda: kept.parameters):
        with pytest.raises(Forgotten):
            read()
    assert b"swordfish" not in kept_bytes(store)


# --- why -------------------------------------------------------------------------------------------------


def _short(item: Item) -> Item | None:
    return replace(item, content="short") if isinstance(item, Message) and item.role == "assistant" else item


async def _examples(_: Ask) -> Any:
    transcript = Transcript(said("What is Quire?", "A library.", "And who made it?"))
    transcript.append(Message("assistant", "Many."))
    return transcript.view


async def _rules(ask: Ask) -> list[Message]:
    return [
        Message("system", f"rule {n} " * 8, id=f"rule{n}", created_at=0.0) for n in range(len(ask.views) + 3)
    ]


HISTORIES = {
    "all": History(),
    "closely": History(closely=True),
    "turns": History(turns=2),
    "messages": History(messages=5),
    "where": History(where=lambda item: not isinstance(item, ToolCall)),
    "transform": History(transform=_short),
}
BESIDE: dict[str, tuple[Any, ...]] = {
    "nothing": (),
    "recall": (Recall("working", tokens=200),),
    "input": (Input(),),
    "again": (History(turns=1, name="again"),),
    "rules": (Custom("rules", _rules, required=False),),
    "newest rules": (Custom("rules", _rules, keeps="newest"),),
    "examples": (Custom("examples", _examples),),
    "pool": (Catalogue(),),
}


@MANY
@example([[(1, 0, 0, 0)]], 68, "all", "recall", True, False, "openai")
@given(
    turns=st.lists(OPS, min_size=1, max_size=4),
    window=st.integers(60, 1500),
    history=st.sampled_from(sorted(HISTORIES)),
    beside=st.sampled_from(sorted(BESIDE)),
    is_behind=st.booleans(),
    redacts=st.booleans(),
    wire=st.sampled_from(sorted(PROVIDERS)),
)
def test_a_request_is_shown_and_explained_later_as_it_was_then(
    turns: list[list[Op]], window: int, history: str, beside: str, is_behind: bool, redacts: bool, wire: str
) -> None:
    store, author = MemoryStore(), Author()
    one = session(store, redact=_redacted if redacts else None)
    one.pool.keep(Note("a figure", key="report", description="figures"))
    ordered = (HISTORIES[history], *BESIDE[beside])
    sections = ordered if is_behind else ordered[::-1]
    template = Template(Instructions("Be brief."), *sections, budget=Budget(window=window), model="gpt-5.6")
    explained: list[tuple[Rendered, str, dict[str, Entry]]] = []
    for ops in turns:
        question = one.user("And then?")
        for op in ops:
            write_op(one, author, op)
        try:
            context = one.build(template, input=question)
        except OverBudget:
            continue
        entries = {entry.item_id: context.explain(entry.item_id) for entry in context.receipt.entries}
        explained.append((send(context, wire, seed=10), str(context.receipt), entries))
    for again in (one, session(twin(store))):
        for receipt, (sent, table, entries) in zip(again.receipts, explained, strict=True):
            assert str(receipt) == table and all(map(receipt.shows, receipt.items))
            assert {one.item_id: receipt.explain(one.item_id) for one in receipt.entries} == entries
            assert receipt.request() == {**sent.payload, "seed": 10}
            with pytest.raises(UnknownId):
                receipt.explain("nothing")


def _redacted(item: Item) -> Item:
    return (
        replace(item, content="redacted")
        if isinstance(item, Message) and item.id.startswith("rule")
        else item
    )


def test_reported_usage_changes_no_explanation() -> None:
    one, template = session(), Template(History(), budget=Budget(window=700, reserve=200), model="gpt-5.6")
    left_out = 0
    for day in range(20):
        one.user(f"It is day {day}. Which museum, café and walk do you suggest?")
        context = one.build(template)
        entries = [context.explain(item) for item in one.view()]
        context.render("openai")
        reported = int(context.receipt.tokens * 1.15)
        one.record(answer("Go to the museum. " * 3, input=reported), sent=context)
        assert [one.receipts[-1].explain(entry.item_id) for entry in entries] == entries
        left_out += sum("before the cut take" in entry.reason for entry in entries)
    assert left_out


def test_a_budget_with_the_tokens_that_the_reason_names_shows_the_item() -> None:
    one, window = session(), 600
    for day in range(40):
        one.append(Message("user", f"Day {day}: we walk to the next village and its inn."))
        one.append(Message("assistant", "Noted."))
    first = one.view()[0]
    left_out = one.build(Template(History(), budget=Budget(window=window), model="gpt-5.6")).explain(first)
    taken, free = (
        int(number) for number in re.findall(r"(\d+) (?:tokens|are free)", left_out.reason.replace(",", ""))
    )
    for more, fate in ((taken - free - 1, "left out"), (taken - free, "shown")):
        template = Template(History(), budget=Budget(window=window + more), model="gpt-5.6")
        assert one.build(template).explain(first).fate == fate


def test_the_receipt_of_two_conversations_with_the_same_ids() -> None:
    store = MemoryStore()
    monday, one = (Session.open(f"ana/{name}", store=store) for name in ("monday", "tuesday"))
    theirs = Message("user", "Where is the key to the locker?", id="same", created_at=1.0)
    ours = Message("user", "Which locker?", id="same", created_at=2.0)
    monday.append(theirs)
    one.append(ours)
    context = one.build(Template(History(), Recall("knowledge"), budget=Budget(window=900)), input=ours)
    send(context)
    for item in (theirs, ours, "same"):
        assert one.receipts[0].explain(item) == context.explain(item)
    assert one.receipts[0].explain(theirs).source == "monday"


# --- cuts ------------------------------------------------------------------------------------------------


def test_a_reopened_session_cuts_where_the_last_request_was_cut_with_the_same_ledger() -> None:
    template = Template(Instructions("Be brief."), History(), budget=Budget(window=600), model="gpt-5.6")
    cuts: dict[bool, list[str]] = {False: [], True: []}
    for reopens, found in cuts.items():
        with kept("memory") as held:
            one = session(held.store)
            for n in range(60):
                one = session(held.reopen()) if reopens else one
                one.append(Message("user", f"question {n} " * 8, id=f"question {n}"))
                one.append(ToolCall(f"c{n}", "look", f'{{"plant": "fern_{n:04}"}}', id=f"call {n}"))
                one.append(ToolResult(f"c{n}", "look", f'{{"gardener": "ana_{n:04}"}}', id=f"result {n}"))
                context = one.build(template)
                context.render("openai")
                one.append(Message("assistant", f"answer {n} " * 8, id=f"answer {n}"))
                context.sent()
                found += [cut.first for cut in context.cuts.values()]
                found += [str(item) for item in context.items if "/ledger/" in item.id]
    assert cuts[True] == cuts[False] and len(cuts[True]) > 80 > 2 * len({*cuts[True]})


def test_the_last_receipts_are_read_without_those_before_them() -> None:
    with kept("sqlite") as held:
        one = session(held.store)
        for number in range(80):
            one.user(f"question {number}")
            send(one.build(TEMPLATE), temperature=number)
        versions = [receipt.version for receipt in one.receipts]
        again, read = session(held.reopen()), list[str]()
        watch(held.store, lambda step, _: read.append(step), ("read", "read_at"))
        assert again.receipts[-1].parameters == {"temperature": 79} and "before read" not in read
        sent = [receipt.parameters for receipt in again.receipts[-2:]]
        assert sent == [{"temperature": 78}, {"temperature": 79}]
        assert len(again.receipts) == 80 and again.receipts[0].parameters == {"temperature": 0}
        assert [receipt.version for receipt in again.receipts] == versions
        assert [receipt.version for receipt in again.receipts[-3:-1]] == versions[-3:-1]


# --- what came back --------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_said", [False, True])
def test_a_receipt_knows_what_its_answers_used(is_said: bool) -> None:
    with kept("sqlite") as held:
        one = asked(store=held.store, prices={"gpt-5.6": Prices(input=1, output=2)})
        for reported in (30, 40):
            context = one.build(TEMPLATE)
            context.render("openai")
            if is_said:
                context.sent()
            one.record(answer("Well.", input=reported), sent=context)
        unanswered = one.build(TEMPLATE)
        send(unanswered)
        with one.draft() as draft:
            send(draft.build(TEMPLATE))
            draft.record(answer("Quite.", input=50), provider="openai")
        for reader in (one, session(held.open())):
            spent = [receipt.spending for receipt in reader.receipts]
            assert [each.usage.input for each in spent] == [30, 40, 0, 50]
            assert [each.requests for each in spent] == [1, 1, 0, 1]
            assert sum(each.cost for each in spent) == pytest.approx(reader.spending.cost)


def test_a_receipt_is_shown_in_a_notebook_as_its_context_was() -> None:
    one, hostile = session(), Custom("<script>alert('1')</script>", lambda ask: [])
    talk(one, 60)
    context = one.build(Template(History(), hostile, budget=Budget(window=600)))
    send(context)
    shown: list[Any] = [context, context.receipt, one.receipts[0]]
    pages = [each._repr_html_() for each in shown]
    assert "oldest left out" in pages[0] and "<script" not in pages[0] and len({*pages}) == 1
