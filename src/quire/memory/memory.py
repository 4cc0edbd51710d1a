"""Memory: search over the conversations and documents of a scope, through an index that follows the store."""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, tzinfo
from functools import partial
from threading import Lock
from typing import TypeVar
from weakref import WeakValueDictionary

from msgspec.structs import replace

from quire.errors import WrongType
from quire.guesses import hint_attributes, hint_options
from quire.items import Origin, checked_origin, now
from quire.memory.embedding import Embed, Embedding
from quire.memory.follower import Follower
from quire.memory.hits import Neighbours, SearchResult
from quire.memory.index import Index, LeafFilter
from quire.memory.knowledge import Knowledge, on_removed
from quire.memory.leaf import KNOWLEDGE, Leaf
from quire.memory.ranking import Question
from quire.memory.snapshots import (
    SnapshotChanged,
    delete_snapshot,
    open_index,
    purge_snapshot,
    release_memory,
    save_index,
)
from quire.memory.tiers import Episode, Tier, checked_tiers, episodes_of, leaves_in
from quire.memory.times import zone_of
from quire.memory.wish import Wish, in_force, wishes_of
from quire.stores import Place, Store, named_scope
from quire.tokens import MAX_COUNT, number, whole

RECENT, WORKING, EPISODES = 10, 100, 500
"""The default limits of the tiers."""

_MAX_LEAVES = 20_000
"""The most leaves in memory, of all scopes of a store, some 3 KiB each. Above it the least recently used
indexes are released, and loaded again on demand."""

_MAX_HELD = 1_024
"""The most leaves that an index keeps in memory after it was saved. A larger one is replaced by its snapshot,
which loads leaves on demand."""

_OWN_WEIGHT = 10
_MAX_READ, _MAX_WISHES = 500, 100
_TRIES = 3
_DOCUMENTS = LeafFilter(sources=frozenset((KNOWLEDGE,)))
_Result = TypeVar("_Result")
_lock = Lock()


@hint_attributes
class Memory:
    """Search over everything in one scope of a store. It never writes to a conversation.

    Any thread may call any method. Each first indexes what was written since the last call.
    """

    @hint_options
    def __init__(
        self,
        store: Store,
        scope: str,
        *,
        index: Index | None = None,
        embed: Embed | None = None,
        zone: str | tzinfo = UTC,
    ) -> None:
        """With `embed`, vectors re-rank the results of words.

        `zone` is the time zone of days, by name ("Europe/Paris") or as a `datetime.tzinfo`.
        """
        if not isinstance(store, Store):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(
                f"Memory(...) takes a Store, such as Store.open('quire.db'), not {type(store).__name__}"
            )
        self.scope = named_scope(scope)
        self.zone = zone_of(zone)
        """The time zone of the days in questions and headings."""
        self.knowledge = Knowledge(store, scope)
        """The documents of the scope."""
        self._store = store
        self._embedding = None if embed is None else Embedding(embed)
        self._writes_snapshots = index is None
        self._opening = Lock()
        self._follower = None if index is None else self._follow(index)

    @staticmethod
    def of(
        store: Store, scope: str, *, embed: Embed | None = None, zone: str | tzinfo | None = None
    ) -> "Memory":
        """Return the shared memory of a scope in this process.

        An `embed` or a `zone` applies to all its users from then on.
        """
        if not isinstance(store, Store):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"Memory.of(store, scope): the store must be a Store, not {type(store).__name__}")
        own = None if zone is None else zone_of(zone)
        with _lock:
            shared: _Shared = store.attached.setdefault("memory", _Shared())
            if embed is not None:
                shared.embeddings[scope] = Embedding(embed)
            if own is not None:
                shared.zones[scope] = own
            return shared.use(store, scope)

    @staticmethod
    def remove_forgotten(store: Store, scope: str) -> None:
        """Remove forgotten items and documents from the index of a scope, and from its snapshot."""
        with _lock:
            shared: _Shared | None = store.attached.get("memory")
            known = None if shared is None else shared.alive.get(scope)
        if not store.conversations(scope):  # the whole scope was forgotten
            delete_snapshot(store, scope)
            if known is not None:
                known._follower = None
            return
        memory = Memory(store, scope) if known is None else known
        if known is not None:
            known.catch_up()
        memory._retried(lambda: purge_snapshot(store, scope, memory._index_to_save))

    @property
    def weight(self) -> int:
        """Its size in memory, in leaves."""
        return _OWN_WEIGHT + (0 if self._follower is None else len(self._follower.index))

    def recent(self, conversation: str | None = None, limit: int = RECENT) -> list[Leaf]:
        """Return the newest leaves of a conversation, or of all, oldest first."""
        whole(limit, "a limit", least=1)
        only = leaves_in(conversation, "recent")
        return self._with_index(lambda index: index.newest(limit, only))

    def working(self, conversation: str | None = None, limit: int = WORKING) -> list[Leaf]:
        """Return the most important leaves, the most important first."""
        whole(limit, "a limit", least=1)
        only = leaves_in(conversation, "working")
        return self._with_index(lambda index: index.most_important(limit, only))

    def episodes(self, conversation: str | None = None, limit: int = EPISODES) -> list[Episode]:
        """Return summaries of the past, oldest first, from a compactor or else by rule."""
        whole(limit, "a limit", least=1)
        return self._with_index(lambda index: episodes_of(index, conversation, limit))

    def wishes(self, conversation: str | None = None) -> list[Wish]:
        """Return the standing instructions and preferences of users, newest first.

        A wish for a single conversation holds only there. Of two wishes about the same, the newer holds.
        Wishes that are sentences of their own come before those that a sentence has in passing.
        """
        leaves = self._with_index(lambda index: index.wishes(_MAX_READ))
        wishes = [wish for leaf in leaves for wish in reversed(wishes_of(leaf))]
        if conversation is not None:
            wishes = [w for w in wishes if not w.is_of_conversation or w.leaf.source == conversation]
        return in_force(wishes)[:_MAX_WISHES]

    @hint_options
    def search(
        self,
        question: str,
        *,
        tiers: Tier | Iterable[Tier] = "knowledge",
        conversation: str | None = None,
        limit: int = 200,
        at: float | None = None,
        documents: bool = False,
        asked_in: Iterable[tuple[str, str]] = (),
        trust: Origin | None = None,
    ) -> SearchResult:
        """Return leaves that may answer a question asked `at` a time, best first, from one tier or several.

        With `documents`, only documents are searched; with `trust`, nothing below that origin. The messages
        in `asked_in`, by conversation and id, are the question and are not returned.
        """
        whole(limit, "a limit", least=1)
        when = now() if at is None else number(at, "a time", least=-MAX_COUNT)
        parsed = Question.of(checked_question(question), when, zone=self.zone, asked_in=asked_in)
        only = _DOCUMENTS if documents else leaves_in(conversation, *checked_tiers(tiers))
        if trust is not None:
            only = replace(only or LeafFilter(), trust=checked_origin(trust))
        embedding = self._embedding if parsed.terms else None
        if embedding is not None:
            result = self._with_index(lambda index: embedding.search(index, parsed, limit, only))
        else:
            result = self._with_index(lambda index: index.search(parsed, limit=limit, only=only))
        result.neighbours = partial(self._neighbours, self._store, self.scope, result.neighbours)
        return result

    def catch_up(self) -> None:
        """Index what was written, and remove what was forgotten, since the last call."""
        self._with_index(lambda index: None)

    def _with_index(self, work: Callable[[Index], _Result]) -> _Result:
        """Do some work with an index that is up to date."""

        def use() -> _Result:
            follower = self._opened()
            follower.catch_up()
            if self._writes_snapshots:
                save_index(self._store, self.scope, follower.index, follower.catch_up_to_save)
                if follower.index.may_be_dropped and follower.index.held > _MAX_HELD:
                    self._follower = None  # the next caller opens the snapshot
                    release_memory()
            return work(follower.index)

        return self._retried(use)

    def _retried(self, work: Callable[[], _Result]) -> _Result:
        """Do some work; retry with a new index if the snapshot of the old one has changed."""
        for _ in range(_TRIES):
            try:
                return work()
            except SnapshotChanged:
                self._follower = None
        self._follower = self._follow(Index())
        return work()

    @staticmethod
    def _neighbours(
        store: Store, scope: str, neighbours: Neighbours, leaf: Leaf, before: int, after: int
    ) -> Sequence[Leaf]:
        """Return the neighbours of a leaf, even if the snapshot has changed since the search.

        It is static, so that a result does not keep a memory alive.
        """
        try:
            return neighbours(leaf, before, after)
        except SnapshotChanged:
            return Memory(store, scope)._with_index(lambda index: index.neighbours(leaf, before, after))

    def _follow(self, index: Index) -> Follower:
        return Follower(self._store, self.scope, index, self.knowledge)

    def _opened(self) -> Follower:
        """Return the follower, which is opened on first use because that may take long."""
        with self._opening:
            if self._follower is None:
                self._follower = self._follow(open_index(self._store, self.scope))
            return self._follower

    def _index_to_save(self) -> Index:
        follower = self._opened()
        follower.catch_up_to_save()
        return follower.index


def checked_question(question: object) -> str:
    """Return a question if it is a text."""
    if not isinstance(question, str):
        raise WrongType(f"a question must be a text, not {type(question).__name__}")
    return question


class _Shared:
    """The memories of one store. A memory in use is never created twice; others stay up to a total size."""

    def __init__(self) -> None:
        self.alive: WeakValueDictionary[str, Memory] = WeakValueDictionary()
        self.embeddings: dict[str, Embedding] = {}
        self.zones: dict[str, tzinfo] = {}
        self._used: dict[str, Memory] = {}  # least recently used first

    def use(self, store: Store, scope: str) -> Memory:
        """Return the memory of a scope, created on demand."""
        known = self.alive.get(scope)
        if known is None:
            self._release()
            known = self.alive[scope] = Memory(store, scope)
        self._used.pop(scope, None)
        self._used[scope] = known
        known._embedding = self.embeddings.get(scope)  # pyright: ignore[reportPrivateUsage]
        known.zone = self.zones.get(scope, UTC)
        return known

    def _release(self) -> None:
        weights = {scope: memory.weight for scope, memory in self._used.items()}
        total = sum(weights.values())
        for scope, weight in weights.items():
            if total <= _MAX_LEAVES:
                break
            total -= weight
            del self._used[scope]


@on_removed
def _remove_documents(store: Store, place: Place, _: Collection[str]) -> None:
    """Remove documents from the index too."""
    Memory.remove_forgotten(store, place.scope)
