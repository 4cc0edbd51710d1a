"""What a draft sent can be shown again, unless others said or kept something while it was open."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from quire import Note, Session
from quire.errors import Forgotten
from quire.items import Message
from tests.session.opened import apart, session
from tests.session.recalling import PLAIN
from tests.session.test_drafts_spending import ANSWER

TOOLS: list[dict[str, Any]] = [{"name": "look", "description": "Looks.", "parameters": {"type": "object"}}]
Act = Callable[[Session, Session], object]


async def drafted(one: Session, act: Act) -> Any:
    async with one.draft() as draft:
        draft.user("Will it rain?")
        act(one, draft)
        sent = (await draft.build(PLAIN, tools=TOOLS)).render("openai")
        payload = dict(sent.payload)
        draft.record(ANSWER, sent=sent)
        act(one, draft)
    return payload


def in_a_draft_of_the_draft(_: Session, draft: Session) -> None:
    with draft.draft() as inner:
        inner.user("try", to=inner.new("attempt"))


UNCHANGED: dict[str, Act] = {
    "a name of the draft": lambda _, draft: draft.user("try", to=draft.new("attempt")),
    "a name": lambda one, _: one.new("attempt"),
    "a name of another process": lambda one, _: apart(one._ledger.store).new("attempt"),  # pyright: ignore
    "a name of a draft within": in_a_draft_of_the_draft,
}
CHANGED: dict[str, Act] = {
    "said": lambda one, _: one.user("meanwhile"),
    "said elsewhere": lambda one, _: one.append(Message("user", "meanwhile"), to="aside"),
    "kept": lambda one, _: one.keep(Note("meanwhile", key="k")),
}


@pytest.mark.parametrize("act", UNCHANGED)
def test_names_that_are_taken_meanwhile_change_nothing_that_was_shown(act: str) -> None:
    one = session()
    one.user("Hello.")
    payload = asyncio.run(drafted(one, UNCHANGED[act]))
    (kept,) = one.receipts()
    assert dict(kept.payload().payload) == payload


@pytest.mark.parametrize("act", CHANGED)
def test_what_others_said_or_kept_meanwhile_does(act: str) -> None:
    one = session()
    one.user("Hello.")
    asyncio.run(drafted(one, CHANGED[act]))
    (kept,) = one.receipts()
    with pytest.raises(Forgotten, match="went with its draft"):
        kept.payload()
