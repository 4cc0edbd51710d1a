"""Redaction: what a session keeps, and what sections bring, is redacted before it is stored or sent."""

from typing import Any

import pytest
from msgspec.structs import replace

from quire import Budget, Template
from quire.compactors import Summarize
from quire.errors import WrongType
from quire.items import Item, Message, Note, Summary, ToolResult
from quire.models import Scripted
from quire.sections import Ask, Custom, History, Instructions
from quire.session import turn_of
from quire.state import Transcript, View
from quire.stores import MemoryStore
from tests.session.opened import TEMPLATE, answer, called, kept_bytes, run, said, send, session

CARD = "card swordfish"


def redact(item: Item) -> Item:
    if isinstance(item, Message | ToolResult | Summary):
        field = "text" if isinstance(item, Summary) else "content"
        return replace(item, **{field: item.text.replace("swordfish", "#")})
    return item


class Known:
    """A section with a transcript of its own."""

    name = "known"

    async def items(self, ask: Ask) -> View:
        return Transcript([Message("user", CARD), Message("assistant", "thanks")]).view


async def _first(ask: Ask) -> list[Item]:
    return [ask.view()[0]]


def template(*sections: Any) -> Template:
    return Template(*sections, budget=Budget(window=8_000), model="gpt-5.6")


def test_redaction_comes_before_everything() -> None:
    store = MemoryStore()
    one = session(store, redact=redact)
    assert one.user(CARD).text == "card #"
    call = called(one, "look")
    run(one.aio.calls.begin(call))
    run(turn_of(one).answer([call], ToolResult(call.call_id, "look", CARD)))
    one.record(answer(CARD), provider="openai")
    with one.draft() as draft:
        draft.user(CARD)
    assert b"swordfish" not in kept_bytes(store)

    def other(_: Item) -> Item:
        return Note("x")

    with pytest.raises(WrongType):
        session(redact=other).user("hello")


@pytest.mark.parametrize(
    "sections",
    [
        (Known(), History()),
        (Known(),),
        (History(), Known()),
        (Instructions(CARD), History()),
        (History(), Custom("first", _first)),
    ],
    ids=range(5),
)
def test_what_sections_bring_is_redacted(sections: tuple[Any, ...]) -> None:
    store = MemoryStore()
    one = session(store, redact=redact)
    one.append(*said(CARD, "fine", CARD, "fine"))
    one.user(f"again {CARD}")
    shown = template(*sections)
    payload = send(one.build(shown)).payload
    assert "card #" in str(payload) and "swordfish" not in str(payload)
    assert session(store).receipts[0].payload().payload == payload
    with one.draft() as draft:
        assert "swordfish" not in str(send(draft.build(shown)).payload)
    assert all("swordfish" not in str(kept.payload().payload) for kept in one.receipts)


def test_summaries_are_redacted() -> None:
    store = MemoryStore()
    writer = Scripted([f"They talked of {CARD}."], repeat=True)
    one = session(store, redact=redact, compactor=Summarize(floor=4, ceiling=8), model=writer)
    one.append(*said(*map(str, range(12))), Message("user", "last"))
    one.build(TEMPLATE)
    child = one.fork("x")
    child.assistant("done")
    one.merge(child, keep="summary")
    assert kept_bytes(store).count(b"card #") == 2 and b"swordfish" not in kept_bytes(store)
