"""Redaction: whoever wrote it, what is kept and sent was redacted, and is shown again as it was sent."""

from typing import Any

import pytest
from msgspec.structs import replace

from quire import Budget, Template
from quire.compactors import Summarize
from quire.errors import WrongType
from quire.items import Item, Message, Note, ToolResult
from quire.models import Scripted
from quire.sections import Ask, Custom, History, Instructions
from quire.session import Session
from quire.state import Transcript, View
from quire.stores import MemoryStore
from tests.session.opened import TEMPLATE, answer, kept_bytes, run, said, session, two

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

    async def items(self, ask: Ask) -> View:
        return Transcript([Message("user", CARD), Message("assistant", "thanks")]).view


async def _first(ask: Ask) -> list[Item]:
    return [ask.view()[0]]


def template(*sections: Any) -> Template:
    return Template(*sections, budget=Budget(window=8_000), model="gpt-5.6")


def sent(one: Session, shown: Template) -> str:
    return str(one.build(shown).render("openai").payload)


def test_redaction_comes_before_everything() -> None:
    store = MemoryStore()
    one = session(store, redact=Looked())
    assert one.user(CARD).text == "card #"
    call = one.call("look")
    run(one.steps.begin(call))
    run(one.steps.hold(ToolResult(call.call_id, "look", CARD)))
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
        (History(turns=1),),
        (Instructions(CARD), History()),
        (History(), Custom("first", _first)),
    ],
    ids=range(6),
)
def test_what_is_sent_is_redacted_whoever_wrote_it(sections: tuple[Any, ...]) -> None:
    store = MemoryStore()
    session(store).append(*said(CARD, "fine", CARD, "fine"))
    one = session(store, redact=Looked())
    one.user(f"again {CARD}")
    shown = template(*sections)
    payload = one.build(shown).render("openai").payload
    assert "card #" in str(payload) and "swordfish" not in str(payload)
    assert session(store).receipts[0].payload().payload == payload
    with one.draft() as draft:
        assert "swordfish" not in sent(draft, shown)
    assert all("swordfish" not in str(kept.payload().payload) for kept in one.receipts)


def test_each_item_is_looked_at_once() -> None:
    shown = template(History())
    with two(redact=(looked := Looked())) as (one, other):
        other.append(*said(*map(str, range(600))), Message("user", CARD))
        sent(one, shown)
        before = looked.seen
        for _ in range(3):
            sent(one, shown)
        assert looked.seen == before, "a turn that adds nothing looks at nothing"
        other.user("of another")
        sent(one, shown)
        assert looked.seen == before + 1
        with one.draft() as draft:
            draft.user("in the draft")
            sent(draft, shown)
        assert looked.seen < before + 12


def test_models_that_write_summaries_see_it_redacted() -> None:
    store, asked = MemoryStore(), list[str]()

    def write(request: Any) -> str:
        asked.append(str(request.payload))
        return f"They talked of {CARD}."

    session(store).append(*said(*(f"{CARD} {n}" for n in range(12))), Message("user", "last"))
    one = session(store, redact=Looked(), compactor=Summarize(floor=4, ceiling=8), model=Scripted([write]))
    one.build(TEMPLATE)
    one.close()
    child = one.fork("x")
    Session.open(scope="ana", conversation="q3/x", store=store).assistant(CARD)
    one.merge(child, keep="summary", model=Scripted([write]))
    assert len(asked) == 2 and "swordfish" not in str(asked) and all("card #" in words for words in asked)
