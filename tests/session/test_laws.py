"""The laws of keeping as sessions have them: what is written is what is read, whoever wrote meanwhile."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings, strategies as st

from quire import Budget, Template
from quire.errors import InvalidValue, QuireError, UnknownId
from quire.items import Item, Message, Note
from quire.providers import PROVIDERS
from quire.sections import Catalogue, History, Instructions
from quire.session import Session
from quire.session.ledger import Ledger
from quire.session.workspace import Workspace
from quire.state import Transcript
from quire.stores import Place, Store
from tests.histories import OPS, Author, Op
from tests.session.opened import ids
from tests.stores.keeping import NAMES, ODD_NAMES, kept

pytestmark = pytest.mark.laws
EVERY = pytest.mark.parametrize("name", NAMES)
FEW = settings(max_examples=max(5, settings().max_examples // 20))
SOME = settings(max_examples=max(5, settings().max_examples // 4))
ODD = st.sampled_from(ODD_NAMES)
HERE = Place("ana", "q3")
TEMPLATE = Template(Instructions("Be brief."), History(), Catalogue(), budget=Budget(window=2_000))


def apart(store: Store, place: Place = HERE) -> Session:
    return Session(Ledger(store, place, Workspace))


def recorded(one: Session) -> list[Item]:
    return one._ledger.workspace.transcripts["main"].recorded()  # pyright: ignore[reportPrivateUsage]


def write(one: Session, author: Author, op: Op) -> bool:
    """One random step; whether the session took it."""
    transcript = Transcript(recorded(one))
    item = author.item(transcript, op)
    if item is None:
        return False
    try:
        transcript.append(item)
    except QuireError as fault:
        with pytest.raises(type(fault)):
            one.append(item)
        return False
    one.append(item)
    return True


@EVERY
@FEW
@given(ops=OPS)
def test_what_is_written_is_what_is_read(name: str, ops: list[Op]) -> None:
    with kept(name) as held:
        one, author = apart(held.store), Author()
        taken = sum([write(one, author, op) for op in ops])
        assert one.version == taken
        held.reopen()
        again = apart(held.store)
        assert list(again.view()) == list(one.view())
        assert again.version == taken
        for version in range(0, taken + 1, 5):
            assert list(again.at(version)["main"]) == list(one.at(version)["main"])


@EVERY
@FEW
@given(ops=OPS, turns=st.lists(st.booleans(), min_size=40, max_size=40))
def test_two_writers_lose_nothing(name: str, ops: list[Op], turns: list[bool]) -> None:
    with kept(name) as held:
        one, other = apart(held.store), apart(held.open())
        authors = {True: Author("x"), False: Author("y")}
        sessions = {True: one, False: other}
        written: list[str] = []
        for op, turn in zip(ops, turns, strict=False):
            writer = sessions[turn]
            item = authors[turn].item(Transcript(recorded(writer)), op)
            if item is None:
                continue
            try:
                writer.append(item)
            except QuireError:
                continue
            written.append(item.id)
        one.refresh()
        other.refresh()
        third = apart(held.store)
        assert list(one.view()) == list(other.view()) == list(third.view())
        assert ids(recorded(third)) == written


@EVERY
def test_many_writers_at_once(name: str) -> None:
    with kept(name) as held:

        def write_some(number: int) -> list[str]:
            one = apart(held.open() if number % 2 else held.store)
            return [one.user(f"{number} {n}").id for n in range(15)]

        with ThreadPoolExecutor(4) as pool:
            written = [item for row in pool.map(write_some, range(4)) for item in row]
        readers = [apart(held.store), apart(held.open())]
        assert sorted(ids(readers[0].view())) == sorted(written)
        assert ids(readers[0].view()) == ids(readers[1].view())


@EVERY
@FEW
@given(
    name_a=st.sampled_from(ODD_NAMES),
    name_b=st.sampled_from(ODD_NAMES),
    conversation=st.sampled_from(ODD_NAMES),
)
def test_nothing_of_one_scope_is_readable_from_another(
    name: str, name_a: str, name_b: str, conversation: str
) -> None:
    if name_a == name_b:
        return
    with kept(name) as held:
        mine = Session.open(scope=name_a, conversation=conversation, store=held.store)
        secret = mine.user("the secret of a")
        mine.keep(Note("secret", key="k", description="secret"))
        asyncio.run(mine.build(TEMPLATE)).render("openai")
        theirs = Session.open(scope=name_b, conversation=conversation, store=held.store)
        assert theirs.version == 0 and list(theirs.view()) == [] and len(theirs.pool) == 0
        assert theirs.receipts() == [] and theirs.timeline() == []
        assert theirs.spending.tokens == 0 and theirs.refresh() == []
        assert held.store.conversations(name_b) == {}
        for verb in (theirs.forget, theirs.pin, theirs.undo, theirs.view().get):
            with pytest.raises(UnknownId):
                verb(secret.id)
        for keep in ("all", "result"):
            with pytest.raises(InvalidValue):
                asyncio.run(theirs.merge(mine, keep=keep))
        theirs.user("of b")
        if len(conversation) < 400:
            assert secret.id not in ids(theirs.fork("x").view())
            assert ids(theirs.beside("y").view()) == []
        theirs.forget()
        assert ids(mine.view()) == [secret.id] and mine.refresh() == []


@SOME
@given(ops=OPS, wire=st.sampled_from(list(PROVIDERS)), more=OPS)
def test_what_was_sent_is_shown_again(ops: list[Op], wire: str, more: list[Op]) -> None:
    with kept("memory") as held:
        one, author = apart(held.store), Author()
        for op in ops:
            write(one, author, op)
        one.append(Message("user", "now answer", created_at=10_000.0))
        try:
            context = asyncio.run(one.build(TEMPLATE))
        except QuireError:
            return
        sent = context.render(wire).payload
        for op in more:
            write(one, author, op)
        for session in (one, apart(held.store)):
            assert session.receipts()[0].payload().payload == sent


@SOME
@given(ops=OPS, turns=st.integers(1, 3), more=OPS)
def test_a_fork_is_the_same_again(ops: list[Op], turns: int, more: list[Op]) -> None:
    with kept("memory") as held:
        one, author = Session.open("ana/q3", store=held.store), Author()
        for op in ops:
            write(one, author, op)
        child = one.fork("x", turns=turns)
        for op in more:
            write(one, author, op)
        child.user("after")
        again = Session.open(scope="ana", conversation="q3/x", store=held.store)
        assert list(again.view()) == list(child.view())
