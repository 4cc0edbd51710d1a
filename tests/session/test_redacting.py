"""Whoever wrote it, what is sent was redacted, and it can be shown again as it was sent."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from quire import Budget, Template
from quire.compactors import Summarize
from quire.items import Item, Message, ToolResult
from quire.models import Scripted
from quire.sections import Ask, History, Instructions
from quire.session import Session
from quire.state import Transcript, View
from quire.stores import MemoryStore
from tests.session.opened import apart, said, session

CARD = "card swordfish"


class Looked:
    """Redacts, and counts what it was shown."""

    def __init__(self) -> None:
        self.seen = 0

    def __call__(self, item: Item) -> Item:
        self.seen += 1
        if isinstance(item, Message | ToolResult):
            return replace(item, content=item.text.replace("swordfish", "#"))
        return item


class Known:
    """A section with a transcript of its own."""

    name = "known"

    def __init__(self) -> None:
        self.transcript = Transcript([Message("user", CARD), Message("assistant", "thanks")])

    async def items(self, ask: Ask) -> View:
        return self.transcript.view


def template(*sections: Any) -> Template:
    return Template(*sections, budget=Budget(window=8_000), model="gpt-5.6")


def sent(one: Session, shown: Template) -> str:
    return str(asyncio.run(one.build(shown)).render("openai").payload)


@pytest.mark.parametrize("place", ["first", "alone", "last"])
def test_a_transcript_of_a_section_is_redacted(place: str) -> None:
    store = MemoryStore()
    one = session(store, redact=Looked())
    one.user("hello")
    sections = {"first": (Known(), History()), "alone": (Known(),), "last": (History(), Known())}[place]
    assert "swordfish" not in sent(one, template(*sections))
    assert not any(b"swordfish" in entry.body for entry in store.read(one.place))


def test_what_others_wrote_is_redacted_and_shown_again() -> None:
    store = MemoryStore()
    session(store).append(*said(CARD, "fine", "and then", "nothing"))
    one = session(store, redact=Looked())
    one.user(f"again {CARD}")
    shown = template(Instructions("Be brief."), History())
    payload = asyncio.run(one.build(shown, input=one.view()[0].id)).render("openai").payload
    assert "card #" in str(payload) and "swordfish" not in str(payload)
    assert session(store).receipts()[0].payload().payload == payload
    with one.draft() as draft:
        assert "swordfish" not in sent(draft, shown)
        draft.assistant("yes")
    assert len(one.receipts()) == 2
    assert all("swordfish" not in str(kept.payload().payload) for kept in one.receipts())


def test_a_history_that_is_narrowed_is_redacted() -> None:
    store = MemoryStore()
    session(store).append(*said(CARD, "fine", CARD, "fine"))
    one = session(store, redact=Looked())
    assert "swordfish" not in sent(one, template(History(turns=1)))


def test_each_item_is_looked_at_once() -> None:
    store, looked = MemoryStore(), Looked()
    session(store).append(*said(*map(str, range(600))), Message("user", CARD))
    one = session(store, redact=looked)
    sent(one, template(History()))
    before = looked.seen
    for _ in range(3):
        sent(one, template(History()))
    assert looked.seen == before, "a turn that adds nothing looks at nothing"
    apart(store).user("of another")
    one.refresh()
    sent(one, template(History()))
    assert looked.seen == before + 1


def test_a_draft_does_not_look_at_its_past_again() -> None:
    store, looked = MemoryStore(), Looked()
    session(store).append(*said(*map(str, range(600))))
    one = session(store, redact=looked)
    sent(one, template(History()))
    before = looked.seen
    with one.draft() as draft:
        draft.user("in the draft")
        sent(draft, template(History()))
    assert looked.seen < before + 10


def test_models_that_write_summaries_see_it_redacted() -> None:
    store, asked = MemoryStore(), list[str]()

    def answer(request: Any) -> str:
        asked.append(str(request.payload))
        return "They talked."

    async def talk() -> None:
        session(store).append(*said(*(f"{CARD} {n}" for n in range(12))), Message("user", "last"))
        one = session(
            store, redact=Looked(), compactor=Summarize(floor=4, ceiling=8), model=Scripted([answer])
        )
        await one.build(template(History()))
        await one.close()
        child = one.fork("x")
        apart_child = Session.open(scope="ana", conversation="q3/x", store=store)
        apart_child.assistant(CARD)
        await one.merge(child, keep="summary", model=Scripted([answer]))

    asyncio.run(talk())
    assert len(asked) == 2 and "swordfish" not in str(asked) and "card #" in asked[0] and "card #" in asked[1]
