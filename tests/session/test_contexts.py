"""Contexts of a session: sections asked side by side, what was sent shown again, payloads of one's own."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from quire import Budget, Session, Template
from quire.errors import InvalidValue, StoreDamaged, UnknownId
from quire.items import Message
from quire.sections import Ask, Custom, History, Input, Instructions
from quire.stores import MemoryStore
from tests.session.opened import TEMPLATE, run, send, session, texts, twin

TOOLS: list[dict[str, Any]] = [
    {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}}
]


def template(*more: Any, window: int = 8_000) -> Template:
    return Template(
        Instructions("Be brief."), History(), *more, budget=Budget(window=window), model="gpt-5.6"
    )


async def _in_a_loop(one: Session, shown: Template) -> Any:
    return one.build(shown)


BUILD: dict[str, Callable[[Session, Template], Any]] = {
    "plain": lambda one, shown: one.build(shown),
    "awaited": lambda one, shown: run(one.aio.build(shown)),
    "plain in a loop": lambda one, shown: run(_in_a_loop(one, shown)),
}


@pytest.mark.parametrize("build", BUILD.values(), ids=BUILD)
def test_independent_sections_are_asked_side_by_side(build: Any) -> None:
    together = asyncio.Barrier(4)

    def slow(name: str) -> Any:
        async def items(ask: Ask) -> list[Message]:
            async with asyncio.timeout(60):
                await together.wait()
            return [Message("system", name, id=name, created_at=0.0)]

        return items

    sections = [Custom(name, slow(name), independent=True) for name in ("a", "b", "c")]
    one = session()
    one.user("hello")
    context = build(one, template(Custom("alone", slow("alone")), *sections))
    assert texts(context.items)[-4:] == ["alone", "a", "b", "c"]


def test_a_section_that_fails_ends_the_others() -> None:
    begun, ended = asyncio.Event(), list[str]()

    async def slow(ask: Ask) -> list[Message]:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("slow")
        return []

    async def fails(ask: Ask) -> list[Message]:
        await begun.wait()
        raise InvalidValue("no")

    one = session()
    one.user("hello")
    with pytest.raises(InvalidValue):
        one.build(template(Custom("slow", slow, independent=True), Custom("fails", fails)))
    assert ended == ["slow"]


def test_an_input_is_an_item_or_the_id_of_one() -> None:
    one = session()
    first = one.user("hello")
    with pytest.raises(UnknownId) as fault:
        one.build(TEMPLATE, input="How did Q3 go?")
    assert "Q3" not in str(fault.value)
    shown = Template(History(), Input(), budget=Budget(window=8_000))
    assert texts(one.build(shown, input=first.id).items) == ["hello"]


def test_what_is_in_the_log_or_was_sent_before_is_kept_once() -> None:
    store = MemoryStore()
    one = session(store)
    usual = Template(Instructions("Be careful. " * 200), History(), budget=Budget(window=8_000))
    sizes: list[int] = []
    for word in ("a", "b", "c"):
        one.user(word * 500)
        before = store.version(one.place)
        send(one.build(usual, tools=TOOLS))
        sizes.append(sum(len(entry.body) for entry in store.read(one.place, after=before)))
    assert sizes[0] > 2_000 and max(sizes[1:]) < 700
    assert [len(kept.payload()["messages"]) for kept in one.receipts] == [2, 3, 4]
    assert all(kept.payload()["tools"] for kept in one.receipts)


def test_a_payload_that_cannot_be_made_again_is_damaged() -> None:
    store = MemoryStore()
    one = session(store)
    one.user("hello")
    send(one.build(TEMPLATE))
    digest = one.receipts[0].digest.encode()
    (entry,) = [entry for entry in store.read(one.place) if digest in entry.body]
    store.replace(one.place, {entry.version: entry.body.replace(digest, digest[::-1])})
    with pytest.raises(StoreDamaged):
        session(twin(store)).receipts[0].payload()


def test_counters_learn_from_what_is_reported() -> None:
    one, fresh = session(), session()
    for _ in range(6):
        one.user("hello " * 50)
        context = one.build(TEMPLATE, model="claude-sonnet-5")
        context.render("anthropic")
        usage = {"input_tokens": context.receipt.tokens * 2, "output_tokens": 3}
        block = {"type": "text", "text": "yes"}
        one.record({"type": "message", "role": "assistant", "content": [block], "usage": usage})
    fresh.append(*one.view())
    learned, plain = (held.build(TEMPLATE, model="claude-sonnet-5").receipt.tokens for held in (one, fresh))
    assert learned > 1.5 * plain
