"""Contexts built in a session: sections side by side, what is sent kept, caps before a turn is sent."""

import asyncio
from typing import Any

import pytest

from quire import Budget, Template
from quire.compactors import Summarize
from quire.errors import CapReached, InvalidValue
from quire.items import Message, Note, ToolCall, ToolResult
from quire.models import Scripted
from quire.providers import PROVIDERS
from quire.sections import Ask, Catalogue, Custom, History, Input, Instructions
from quire.session import Building, Built, Caps, Session, hook
from quire.stores import MemoryStore
from tests.session.opened import Twin, apart, said, session, texts

TOOLS: list[dict[str, Any]] = [
    {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}}
]


def template(*more: Any, window: int = 8_000) -> Template:
    return Template(
        Instructions("Be brief."), History(), *more, budget=Budget(window=window), model="gpt-5.6"
    )


def build(one: Session, with_template: Template | None = None, **more: Any) -> Any:
    return asyncio.run(one.build(with_template or template(), **more))


def answer(words: str, input: int = 30, output: int = 2) -> dict[str, Any]:
    usage = {"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output}
    message = {"role": "assistant", "content": words}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"object": "chat.completion", "model": "gpt-5.6", "choices": [choice], "usage": usage}


def test_a_turn_goes_round() -> None:
    one = session()
    one.user("How did Q3 go?")
    one.keep(Note({"margin": 4}, key="q3", description="the report"))
    usual = template(Catalogue())
    context = build(one, usual, tools=TOOLS)
    payload = context.render("openai")
    assert "the report" in str(payload.payload) and payload["tools"]
    parsed = one.record(answer("Well."))
    assert texts(one.view()) == ["How did Q3 go?", "Well."]
    assert parsed.items[0] is one.view()[-1]
    assert one.spending.tokens == 32 and one.spending.requests == 1 and one.spending.cost > 0
    one.user("And Q4?")
    assert build(one, usual).shared == 2


def test_independent_sections_are_asked_side_by_side() -> None:
    under_way: list[str] = []
    most = 0

    def slow(name: str) -> Any:
        async def items(ask: Ask) -> list[Message]:
            nonlocal most
            under_way.append(name)
            most = max(most, len(under_way))
            await asyncio.sleep(0.01)
            under_way.remove(name)
            return [Message("system", name, id=name, created_at=0.0)]

        return items

    sections = [Custom(name, slow(name), independent=True) for name in ("a", "b", "c")]
    one = session()
    one.user("hello")
    context = build(one, template(Custom("alone", slow("alone")), *sections))
    assert texts(context.items)[-4:] == ["alone", "a", "b", "c"]
    assert most == 4


def test_a_section_that_fails_ends_the_others() -> None:
    ended: list[str] = []

    async def slow(ask: Ask) -> list[Message]:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("slow")
        return []

    async def fails(ask: Ask) -> list[Message]:
        await asyncio.sleep(0.01)
        raise InvalidValue("no")

    one = session()
    one.user("hello")
    with pytest.raises(InvalidValue):
        build(one, template(Custom("slow", slow, independent=True), Custom("fails", fails)))
    assert ended == ["slow"]


@pytest.mark.parametrize("wire", PROVIDERS)
def test_what_was_sent_is_shown_again_exactly(wire: str) -> None:
    store = MemoryStore()
    one = session(store)
    one.append(*said("a", "b", "c"), ToolCall("c1", "look"))
    one.tool("found " * 300, call_id="c1")
    one.keep(Note("n", key="k", description="a note"))
    sent = build(one, template(Catalogue(), window=600), tools=TOOLS).render(wire).payload
    one.append(*said("later", "and later"))
    one.pin(one.view()[0].id)
    one.clear_pool()
    for again in (one, apart(Twin(store))):
        kept = again.receipts()[0]
        assert kept.payload().payload == sent
        assert (
            kept.provider == wire
            and kept.tokens > 0
            and set(kept.sections) == {*("instructions", "history", "catalogue")}
        )
    assert len(store.read(one.place)[6].body) < 2_000, "what is in the log is not kept twice"


def test_what_stays_the_same_is_kept_once() -> None:
    store = MemoryStore()
    one = session(store)
    usual = Template(Instructions("Be careful. " * 200), History(), budget=Budget(window=8_000))
    sizes: list[int] = []
    for word in ("a", "b", "c"):
        one.user(word)
        before = store.version(one.place)
        build(one, usual, tools=TOOLS).render("openai")
        sizes.append(sum(len(entry.body) for entry in store.read(one.place, after=before)))
    assert sizes[0] > 2_000 and max(sizes[1:]) < 700
    assert [len(kept.payload()["messages"]) for kept in one.receipts()] == [2, 3, 4]
    assert all(kept.payload()["tools"] for kept in one.receipts())


def test_a_history_that_was_narrowed_is_shown_again() -> None:
    one = session()
    one.append(*said("a", "b", "c", "d", "e"))
    narrowed = Template(History(turns=1), Input(), budget=Budget(window=8_000))
    sent = build(one, narrowed, input=one.view()[-1]).render("anthropic").payload
    one.append(*said("f"))
    assert one.receipts()[0].payload().payload == sent


heard: list[str] = []


@hook(Building, Built)
async def hear_building(event: Any) -> None:
    heard.append(type(event).__name__)


@hook(Building)
def refuse_building(event: Any) -> None:
    raise PermissionError("not now")


def test_building_is_heard_and_may_be_refused() -> None:
    heard.clear()
    one = session(hooks=[hear_building])
    one.user("hello")
    build(one)
    assert heard == ["Building", "Built"]
    other = session(hooks=[hear_building, refuse_building])
    with pytest.raises(PermissionError):
        build(other)


def test_caps_stop_a_turn_before_it_is_sent() -> None:
    store = MemoryStore()
    one = session(store, caps=Caps(tokens=60))
    one.user("hello")
    build(one)
    one.record(answer("a"))
    build(one)
    one.record(answer("b"))
    with pytest.raises(CapReached, match="64 tokens are spent; 60"):
        build(one)
    assert build(session(store)) is not None
    with pytest.raises(CapReached, match="USD"):
        build(session(store, caps=Caps(cost=0.000001)))


def test_caps_of_a_scope_count_all_its_conversations() -> None:
    store = MemoryStore()
    for name in ("a", "b"):
        one = Session.open(f"ana/{name}", store=store)
        one.user("hello")
        one.record(answer("well", 30, 10))
    Session.open("bob/c", store=store).record(answer("well", 1_000, 10))
    third = Session.open("ana/c", store=store, caps=Caps(scope_tokens=100))
    build(third)
    Session.open("ana/b", store=store).record(answer("well", 30, 10))
    with pytest.raises(CapReached, match="120 tokens of the scope"):
        build(third)


def test_drafts_are_held_to_the_caps_and_their_spending_stays() -> None:
    store = MemoryStore()
    one = session(store, caps=Caps(tokens=60, scope_tokens=60))
    one.user("hello")
    with pytest.raises(ZeroDivisionError), one.draft() as draft:
        build(draft)
        draft.record(answer("a"))
        raise ZeroDivisionError
    assert one.spending.tokens == 32 and texts(one.view()) == ["hello"]
    with pytest.raises(CapReached), one.draft() as draft:
        build(draft)
        draft.record(answer("b"))
        build(draft)
    assert one.spending.tokens == 64


def test_what_other_processes_spent_counts() -> None:
    store = MemoryStore()
    one = apart(store, caps=Caps(tokens=30))
    apart(store).record(answer("a"))
    with pytest.raises(CapReached):
        build(one)


def test_summaries_beside_the_conversation_are_paid_for() -> None:
    model = Scripted(["They talked."])

    async def talk() -> None:
        async with session(compactor=Summarize(floor=4, ceiling=8), model=model) as one:
            one.append(*said(*(f"{n}" for n in range(12))), Message("user", "last"))
            await one.build(template())
        assert one.spending.requests == 1 and one.spending.tokens > 0

    asyncio.run(talk())


def test_redaction_reaches_what_sections_make() -> None:
    def hide(item: Any) -> Any:
        if isinstance(item, Message):
            return Message(
                item.role, item.text.replace("swordfish", "#"), id=item.id, created_at=item.created_at
            )
        return item

    one = session(redact=hide)
    one.user("card swordfish")
    payload = build(one, template(Instructions("code swordfish", name="additional"))).render("openai").payload
    assert "swordfish" not in str(payload) and "code #" in str(payload)


def test_counters_learn_from_what_is_reported() -> None:
    one = session()
    for _ in range(6):
        one.user("hello " * 50)
        context = asyncio.run(one.build(template(), model="claude-sonnet-5"))
        context.render("anthropic")
        counted = context.receipt.tokens
        usage = {"input_tokens": counted * 2, "output_tokens": 3}
        block = {"type": "text", "text": "yes"}
        one.record({"type": "message", "role": "assistant", "content": [block], "usage": usage})
        assert isinstance(one.view()[-1], Message)
    after = asyncio.run(one.build(template(), model="claude-sonnet-5")).receipt.tokens
    assert (
        after > 1.5 * asyncio.run(session_with(one).build(template(), model="claude-sonnet-5")).receipt.tokens
    )


def session_with(other: Session) -> Session:
    """A session with the same history that has learned nothing."""
    fresh = session()
    fresh.append(*(item for item in other.view()))
    return fresh


def test_results_are_paired_in_what_is_kept() -> None:
    one = session()
    one.append(*said("look"), ToolCall("c1", "look"), ToolCall("c2", "look"))
    one.append(ToolResult("c2", "look", "two"), ToolResult("c1", "look", "one"))
    assert one.view().pending() == []
