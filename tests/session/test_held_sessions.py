"""A session that is held shares with all that are opened at its address, however many others are."""

import asyncio
import gc
from weakref import ref

import pytest

from quire import Budget, Session, Template
from quire.items import Message
from quire.sections import History
from quire.stores import MemoryStore
from tests.session.opened import SECRET, session, texts

TEMPLATE = Template(History(), budget=Budget(window=8_000))
MANY = 70
"""More conversations than stay in memory when nobody holds them."""


def crowd(store: MemoryStore) -> None:
    for number in range(MANY):
        Session.open(f"u{number}/c", store=store).user("hi")


def shown(one: Session) -> list[str]:
    items = asyncio.run(one.build(TEMPLATE)).items
    return [item.text for item in items if isinstance(item, Message)]


def test_what_is_written_after_many_others_were_opened() -> None:
    store = MemoryStore()
    held = session(store)
    call = held.call("pay", {"usd": 5})
    crowd(store)
    again = session(store)
    again.tool("paid", call_id=call.call_id)
    again.system("never sell")
    assert held.view().pending() == [] and held.standing() == []
    assert list(held.view()) == list(again.view()) and shown(held) == shown(again)
    assert "never sell" in shown(held)


def test_what_is_forgotten_after_many_others_were_opened() -> None:
    store = MemoryStore()
    held = session(store)
    secret = held.user(SECRET)
    crowd(store)
    session(store).forget(secret.id)
    assert texts(held.view()) == texts(held.timeline()) == shown(held) == ["[forgotten]"]


@pytest.mark.parametrize("way", ["fork", "beside"])
def test_what_is_written_after_many_were_opened_from_it(way: str) -> None:
    store = MemoryStore()
    held = session(store)
    held.user("go")
    side = getattr(held, way)("side")
    side.user("do")
    for number in range(MANY):
        held.fork(f"helper_{number}").assistant("done")
    Session.open(scope="ana", conversation="q3/side", store=store).user("stop")
    session(store).user("stop")
    assert texts(held.view()) == ["go", "stop"] and texts(side.view())[-2:] == ["do", "stop"]


def test_what_nobody_holds_is_given_back() -> None:
    store = MemoryStore()
    gone = ref(session(store)._ledger)  # pyright: ignore[reportPrivateUsage]
    assert gone() is not None
    crowd(store)
    gc.collect()
    assert gone() is None
