"""The laws of a conversation store, on Pydantic AI's own store in memory and on ours."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from itertools import count
from typing import Any

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

pytest.importorskip("pydantic_ai", reason="needs the extra pydantic-ai")

from pydantic_ai import UserError
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationRecord,
    ConversationStore,
    InMemoryConversationStore,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)

from quire.errors import StoreFailed
from quire.integrations.pydantic_store import QuireConversationStore
from quire.stores import MemoryStore, Place
from tests.integrations.test_pydantic_ai import MESSAGES
from tests.stores.keeping import kept

pytestmark = pytest.mark.laws

Opening = Callable[[], ConversationStore]
_numbers = count(1)


OTHERS = ("memory", "json lines", "sealed sqlite", "postgres")


@pytest.fixture(params=["theirs", "sqlite", *(pytest.param(name, marks=pytest.mark.fuzz) for name in OTHERS)])
def opened(request: pytest.FixtureRequest) -> Iterator[Opening]:
    """Gives the same store each time, as another process would open it."""
    if request.param == "theirs":
        theirs = InMemoryConversationStore()
        yield lambda: theirs
    else:
        with kept(request.param) as held:
            yield lambda: QuireConversationStore(held.store)


def said(text: str = "") -> list[ModelMessage]:
    """A turn with one message of each side, unlike any other."""
    text = f"{text} {next(_numbers)}"
    return [ModelRequest([UserPromptPart(text)]), ModelResponse([TextPart(f"You said {text}")])]


async def test_messages_of_all_kinds_come_back_equal(opened: Opening) -> None:
    await opened().save(Conversation(conversation_id="a", messages=[*MESSAGES]), scope="ana")
    loaded = await opened().load("a", scope="ana")
    assert loaded is not None and loaded.messages == MESSAGES


async def test_of_writers_at_the_same_time_one_wins_and_the_others_leave_nothing(opened: Opening) -> None:
    await opened().save(Conversation(conversation_id="a", messages=said()))
    stores = [opened() for _ in range(8)]
    copies = [await store.load("a") for store in stores]
    for copy in copies:
        assert copy is not None
        copy.messages += said()
    saved = await asyncio.gather(
        *(store.save(copy) for store, copy in zip(stores, copies, strict=True) if copy is not None),
        return_exceptions=True,
    )
    won = [one for one in saved if not isinstance(one, BaseException)]
    assert len(won) == 1
    assert all(isinstance(one, ConversationConflict) for one in saved if one not in won)
    entries = await opened().load_entries("a")
    assert entries is not None and entries[2:] == won[0]


async def test_deleted_entries_are_gone_and_shared_ones_stay_for_forks(opened: Opening) -> None:
    alone = await opened().save(Conversation(conversation_id="alone", messages=said()))
    await opened().delete("alone")
    with pytest.raises(LookupError):
        await opened().read_entry(alone[0].id)

    first = await opened().save(Conversation(conversation_id="a", messages=said()))
    fork = await opened().fork("a", new_conversation_id="b")
    fork.messages += said()
    second = await opened().save(fork)
    await opened().fork("b", at=3, new_conversation_id="c")
    await opened().delete("a")
    await opened().delete("b")
    assert await opened().load_entries("c") == [*first, second[0]]
    await opened().delete("c")
    for entry in (*first, *second):
        with pytest.raises(LookupError):
            await opened().read_entry(entry.id)


async def test_what_was_deleted_is_erased_from_the_file() -> None:
    with kept("sqlite") as held:
        store = QuireConversationStore(held.store)
        await store.save(Conversation(conversation_id="a", messages=said("secret")))
        await store.delete("a")
        held.store.scrub()
        assert held.files_with(b"secret") == []


class Interrupted(MemoryStore):
    """A store that fails when content is to be erased, as if the process had died there."""

    fails = True

    def replace(self, place: Place, bodies: Mapping[int, bytes]) -> None:
        if self.fails:
            raise StoreFailed("the process died")
        super().replace(place, bodies)


async def test_a_deletion_that_was_cut_off_is_finished() -> None:
    inner = Interrupted()
    store = QuireConversationStore(inner)
    await store.save(Conversation(conversation_id="a", messages=said()))
    await store.fork("a", new_conversation_id="b")
    await store.delete("a")
    with pytest.raises(StoreFailed):
        await store.delete("b")
    inner.fails = False
    assert await store.list_conversations() == []
    bodies = [entry.body for place in inner.places() for entry in inner.read(place)]
    assert bodies and not any(b"You said" in body for body in bodies)


# All verbs in any order: both stores do the same.

IDS = st.sampled_from("abcd")
SCOPES = st.sampled_from([None, "ana", "bob"])
SIZES = st.integers(0, 6)


async def _listed(asked: Mapping[str, Any], store: ConversationStore, _: int) -> list[ConversationRecord]:
    return await store.list_conversations(**asked)


class Comparison(RuleBasedStateMachine):
    """Two stores that are told the same; the verbs of ours are called in two processes by turns."""

    kind = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = ExitStack()
        store = self.stack.enter_context(kept(self.kind)).store
        self.theirs = InMemoryConversationStore()
        self.ours = [QuireConversationStore(store), QuireConversationStore(store)]
        self.loaded: list[tuple[Conversation, Conversation]] = []

    def teardown(self) -> None:
        self.stack.close()
        self.runner.close()

    def both(self, verb: Callable[[ConversationStore, int], Awaitable[Any]]) -> tuple[Any, Any]:
        """What a verb returns from each store; both raise the same kind of error, or none does."""
        self.ours.reverse()
        theirs, ours = (self.outcome(verb(store, i)) for i, store in enumerate([self.theirs, self.ours[0]]))
        assert isinstance(theirs, Exception) == isinstance(ours, Exception), (theirs, ours)
        if isinstance(theirs, Exception):
            assert type(theirs) is type(ours) and str(theirs) == str(ours)
            return None, None
        return theirs, ours

    def outcome(self, verb: Awaitable[Any]) -> Any:
        async def run() -> Any:
            return await verb

        try:
            return self.runner.run(run())
        except UserError as error:
            return error

    def keep(self, pair: tuple[Any, Any]) -> None:
        if pair[0] is not None:
            assert pair[0].messages == pair[1].messages
            self.loaded.append(pair)

    @rule(name=IDS, turns=st.integers(0, 3), scope=SCOPES)
    def begin(self, name: str, turns: int, scope: str | None) -> None:
        messages = [message for _ in range(turns) for message in said()]
        pair = tuple(Conversation(conversation_id=name, messages=[*messages]) for _ in range(2))
        self.both(lambda store, side: store.save(pair[side], scope=scope))
        self.loaded.append((pair[0], pair[1]))

    @rule(name=IDS, limit=st.none() | SIZES, scope=SCOPES)
    def load(self, name: str, limit: int | None, scope: str | None) -> None:
        self.keep(self.both(lambda store, _: store.load(name, limit=limit, scope=scope)))

    @precondition(lambda self: self.loaded)
    @rule(data=st.data(), drop=SIZES, scope=SCOPES)
    def save(self, data: st.DataObject, drop: int, scope: str | None) -> None:
        pair = data.draw(st.sampled_from(self.loaded), label="conversation")
        more = said()
        for conversation in pair:
            conversation.messages = [*conversation.messages[drop:], *more]
        theirs, ours = self.both(lambda store, side: store.save(pair[side], scope=scope))
        if theirs is not None:
            assert [entry.message for entry in theirs] == [entry.message for entry in ours]

    @rule(name=IDS, at=SIZES, is_current=st.booleans())
    def branch(self, name: str, at: int, is_current: bool) -> None:
        now = self.both(lambda store, _: store.read_record(name))
        revisions = [record.revision if record is not None and is_current else "old" for record in now]
        self.keep(self.both(lambda store, side: store.branch(name, at=at, expected_revision=revisions[side])))

    @rule(name=IDS, at=SIZES, new_name=st.none() | IDS)
    def return_to_a_branch(self, name: str, at: int, new_name: str | None) -> None:
        """Or fork it under a new name."""
        now = self.both(lambda store, _: store.read_record(name))
        if now[0] is None or not now[0].branches:
            return
        lines = self.both(
            lambda store, side: store.read_history(now[side].branches[at % len(now[0].branches)])
        )
        entries = [line[at % len(line)].id for line in lines]
        self.keep(
            self.both(
                lambda store, side: (
                    store.branch(name, from_entry=entries[side], expected_revision=now[side].revision)
                    if new_name is None
                    else store.fork(name, from_entry=entries[side], new_conversation_id=new_name)
                )
            )
        )

    @rule(name=IDS, new_name=IDS, at=st.none() | SIZES, scope=SCOPES, source=SCOPES)
    def fork(self, name: str, new_name: str, at: int | None, scope: str | None, source: str | None) -> None:
        self.keep(
            self.both(
                lambda store, _: store.fork(
                    name, at=at, new_conversation_id=new_name, scope=scope, source_scope=source
                )
            )
        )

    @rule(name=IDS, scope=SCOPES)
    def delete(self, name: str, scope: str | None) -> None:
        self.both(lambda store, _: store.delete(name, scope=scope))

    @invariant()
    def both_hold_the_same(self) -> None:
        for asked in ({}, {"scope": "ana", "limit": 2}):
            lists = self.both(partial(_listed, asked))
            theirs, ours = (
                [self.described(store, record) for record in records]
                for store, records in zip([self.theirs, self.ours[0]], lists, strict=True)
            )
            assert theirs == ours

    def described(self, store: ConversationStore, record: ConversationRecord) -> dict[str, Any]:
        """A record with messages in place of the ids of entries, which each store gives out itself."""

        def line(entry_id: str | None) -> list[ModelMessage]:
            return [entry.message for entry in self.runner.run(store.read_history(entry_id))]

        return {
            "name": record.conversation_id,
            "messages": line(record.head_id),
            "branches": [line(tip) for tip in record.branches],
            "scope": record.scope,
            "forked_from": record.forked_from,
            "usage": record.usage,
        }


class ComparisonOnSQLite(Comparison):
    kind = "sqlite"


TestComparison = Comparison.TestCase
TestComparisonOnSQLite = ComparisonOnSQLite.TestCase
TestComparison.settings = TestComparisonOnSQLite.settings = settings(stateful_step_count=30)
