"""What sessions share: open stores, what is known of them, and views of others in a context."""

import asyncio
import gc
import threading
from pathlib import Path
from typing import Any
from weakref import ref

import pytest

from quire import Budget, Session, Template
from quire.errors import InvalidValue, UnknownId, WrongType
from quire.items import Message
from quire.sections import Custom, History, Instructions
from quire.session import Adding, Caps, hook
from quire.state import Transcript
from quire.stores import MemoryStore, SQLiteStore, Store
from tests.session.opened import session, texts

TEMPLATE = Template(Instructions("Be brief."), History(), budget=Budget(window=8_000))


def test_a_store_that_nobody_uses_is_given_back() -> None:
    store = MemoryStore()
    session(store).user("hello")
    gone = ref(store)
    del store
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("durable", ["process", "power"])
def test_an_open_store_is_as_durable_as_it_was_opened(tmp_path: Path, durable: Any) -> None:
    with SQLiteStore(tmp_path / "kept.db") as store, pytest.raises(InvalidValue, match="is open"):
        Session.open("ana/q3", store=store, durable=durable)


@pytest.mark.parametrize("store", [MemoryStore(), "memory:", "kept.db"])
def test_what_durable_cannot_be(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidValue, match="durable is"):
        Session.open("ana/q3", store=store, durable="always")  # type: ignore[arg-type]


@pytest.mark.parametrize("order", ["first", "last", "alone"])
def test_a_view_of_another_conversation_is_kept_item_by_item(order: str) -> None:
    examples = Transcript([Message("user", "What is Quire?"), Message("assistant", "A library.")])

    async def shown(_: Any) -> Any:
        return examples.view

    one, other = session(), Custom("examples", shown)
    one.user("hello")
    sections: tuple[Any, ...] = {"first": (other, History()), "last": (History(), other), "alone": (other,)}[
        order
    ]
    sent = asyncio.run(one.build(Template(*sections, budget=Budget(window=8_000)))).render("openai")
    (kept,) = one.receipts()
    assert kept.payload().payload == sent.payload


def test_receipts_are_read_while_another_thread_sends(tmp_path: Path) -> None:
    one = Session.open("ana/q3", store=tmp_path / "kept.db")
    one.user("hello")

    def send() -> None:
        for _ in range(40):
            asyncio.run(one.build(TEMPLATE)).render("openai")

    sending = threading.Thread(target=send)
    sending.start()
    while sending.is_alive():
        one.receipts()
    assert len(one.receipts()) == 40


def test_a_sealed_conversation_is_not_read_without_its_key(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    with Store.open(tmp_path / "kept.db", key=bytes(32)) as store:
        session(store).user("hello")
    with Store.open(tmp_path / "kept.db") as store, pytest.raises(InvalidValue, match="is sealed"):
        session(store)


def test_an_input_is_no_text() -> None:
    one = session()
    one.user("hello")
    with pytest.raises(UnknownId, match="no item has this id") as told:
        asyncio.run(one.build(TEMPLATE, input="How did Q3 go?"))
    assert "Q3" not in str(told.value)


def test_caps_are_numbers() -> None:
    with pytest.raises(WrongType, match="a cap of tokens is a number"):
        Caps(tokens="many")  # type: ignore[arg-type]


def test_a_merge_that_is_written_waits_for_no_reader_of_the_fork() -> None:
    store = MemoryStore()
    one = session(store)
    one.user("go")
    child = one.fork("x")
    child.assistant("done")
    reading, over = threading.Event(), threading.Event()

    def read() -> None:  # who reads a fork again holds it, and then waits for where it began
        with child._ledger.lock:  # pyright: ignore[reportPrivateUsage]
            reading.set()
            over.wait(20)

    @hook(Adding, name="reads_the_fork_meanwhile")
    async def meanwhile(event: Any) -> None:
        threading.Thread(target=read, daemon=True).start()
        reading.wait()

    heard = session(store, hooks=[meanwhile])
    merging = threading.Thread(target=lambda: asyncio.run(heard.merge(child)), daemon=True)
    merging.start()
    merging.join(10)
    is_stuck = merging.is_alive()
    over.set()
    assert not is_stuck and texts(one.view()) == ["go", "done"]
