"""Memory: what a scope remembers, its conversations and documents, and how they are found again."""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, tzinfo
from functools import partial
from threading import Lock
from typing import TypeVar
from weakref import WeakValueDictionary

from msgspec.structs import replace

from quire.errors import WrongType
from quire.items import Origin, checked_origin, now
from quire.memory.embedding import Embed, Embedding
from quire.memory.following import Follower
from quire.memory.found import Around, Found
from quire.memory.index import Index, LeafFilter
from quire.memory.knowledge import Knowledge, on_removed
from quire.memory.leaf import KNOWLEDGE, Leaf
from quire.memory.ranking import Question
from quire.memory.snapshots import (
    SnapshotChanged,
    delete_saved,
    forget_saved,
    give_back_memory,
    open_index,
    save_index,
)
from quire.memory.tiers import Episode, Tier, checked_tiers, episodes_of, leaves_in
from quire.memory.times import zone_of
from quire.memory.wishes import Wish, in_force, wishes_of
from quire.stores import Place, Store, named_scope
from quire.tokens import MAX_COUNT, number, whole

RECENT, WORKING, EPISODES, WISHES = 10, 100, 500, 100
"""How many a tier of a conversation returns by default."""

MOST_LEAVES = 20_000
"""Leaves of all scopes of a store that stay indexed in memory, some 3 KiB each. Beyond it the indexes that
were not used for longest are released, and read again when somebody asks."""

MOST_HELD = 1_024
"""Leaves that an index may hold in memory when it was just saved: of one that holds more, the snapshot is
opened in its place, and holds what is asked for."""

_OWN_WEIGHT = 10
_MOST_WISHES = 500
_TRIES = 3
_DOCUMENTS = LeafFilter(sources=frozenset((KNOWLEDGE,)))
_Result = TypeVar("_Result")
_lock = Lock()


class Memory:
    """Search over everything in one scope of a store. It never writes to a conversation.

    Every method may be called from any thread, and first takes in what was written since.
    """

    def __init__(
        self,
        store: Store,
        scope: str,
        *,
        index: Index | None = None,
        embed: Embed | None = None,
        zone: str | tzinfo = UTC,
    ) -> None:
        """With `embed`, vectors re-rank what words have found.

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
        self._is_saved = index is None
        self._opening = Lock()
        self._follower = None if index is None else self._follow(index)

    @staticmethod
    def of(
        store: Store, scope: str, *, embed: Embed | None = None, zone: str | tzinfo | None = None
    ) -> "Memory":
        """Return the memory of a scope that is shared in this process.

        An `embed` or a `zone` applies to everybody who uses it from then on.
        """
        own = None if zone is None else zone_of(zone)
        with _lock:
            shared: _Shared = store.attached.setdefault("memory", _Shared())
            if embed is not None:
                shared.embeddings[scope] = Embedding(embed)
            if own is not None:
                shared.zones[scope] = own
            return shared.use(store, scope)

    @staticmethod
    def let_go(store: Store, scope: str) -> None:
        """Remove what was forgotten from the index of a scope, if there is one."""
        with _lock:
            shared: _Shared | None = store.attached.get("memory")
            known = None if shared is None else shared.alive.get(scope)
        if not store.conversations(scope):  # all was erased
            delete_saved(store, scope)
            if known is not None:
                known._follower = None
            return
        memory = Memory(store, scope) if known is None else known
        if known is not None:
            known.catch_up()
        memory._retried(lambda: forget_saved(store, scope, memory._caught_up_to_save))

    @property
    def weight(self) -> int:
        """How much it holds in memory, in leaves."""
        return _OWN_WEIGHT + (0 if self._follower is None else len(self._follower.index))

    def recent(self, conversation: str | None = None, limit: int = RECENT) -> list[Leaf]:
        """Return the newest leaves of a conversation, or of all, oldest first."""
        most, only = whole(limit, "a limit", least=1), leaves_in(conversation, "recent")
        return self._with_index(lambda index: index.newest(most, only))

    def working(self, conversation: str | None = None, limit: int = WORKING) -> list[Leaf]:
        """Return the most important leaves, the most important first."""
        most, only = whole(limit, "a limit", least=1), leaves_in(conversation, "working")
        return self._with_index(lambda index: index.weightiest(most, only))

    def episodes(self, conversation: str | None = None, limit: int = EPISODES) -> list[Episode]:
        """Return summaries of the past, oldest first: written by a compactor, or else made by rule."""
        most = whole(limit, "a limit", least=1)
        return self._with_index(lambda index: episodes_of(index, conversation, most))

    def wishes(self, conversation: str | None = None, limit: int = WISHES) -> list[Wish]:
        """Return what users want in general, newest first: standing instructions and preferences.

        What was said for one conversation only holds there. Of two about the same, the newer holds. Those in
        sentences of their own come before those in passing.
        """
        most = whole(limit, "a limit", least=1)
        leaves = self._with_index(lambda index: index.wishes(_MOST_WISHES))
        said = (wish for leaf in leaves for wish in reversed(wishes_of(leaf)))
        here = (one for one in said if not one.is_of_conversation or conversation in (None, one.leaf.source))
        return in_force(here)[:most]

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
    ) -> Found:
        """Return what may answer a question asked `at` a time, best first, from one tier or several.

        With `documents`, only documents are searched; with `trust`, only what has at least that origin. The
        messages in `asked_in`, each by its conversation and id, are the question and not found.
        """
        whole(limit, "a limit", least=1)
        when = now() if at is None else number(at, "a time", least=-MAX_COUNT)
        asked = Question.of(checked_question(question), when, zone=self.zone, own=asked_in)
        only = _DOCUMENTS if documents else leaves_in(conversation, *checked_tiers(tiers))
        if trust is not None:
            only = replace(only or LeafFilter(), trust=checked_origin(trust))
        embedding = self._embedding if asked.terms else None
        if embedding is not None:
            found = self._with_index(lambda index: embedding.search(index, asked, limit, only))
        else:
            found = self._with_index(lambda index: index.search(asked, limit=limit, only=only))
        found.around = partial(self._around, self._store, self.scope, found.around)
        return found

    def catch_up(self) -> None:
        """Take in what was written, and remove what was forgotten, since the last time."""
        self._with_index(lambda index: None)

    def _with_index(self, work: Callable[[Index], _Result]) -> _Result:
        """Use an index that is up to date."""

        def use() -> _Result:
            follower = self._opened()
            follower.catch_up()
            if self._is_saved:
                save_index(self._store, self.scope, follower.index, follower.catch_up_to_save)
                if follower.index.may_be_dropped and follower.index.held > MOST_HELD:
                    self._follower = None  # the next to ask opens the snapshot
                    give_back_memory()
            return work(follower.index)

        return self._retried(use)

    def _retried(self, work: Callable[[], _Result]) -> _Result:
        """Do some work, and again with a new index where the snapshot of the old one is no longer there."""
        for _ in range(_TRIES):
            try:
                return work()
            except SnapshotChanged:
                self._follower = None
        self._follower = self._follow(Index())
        return work()

    @staticmethod
    def _around(
        store: Store, scope: str, around: Around, leaf: Leaf, before: int, after: int
    ) -> Sequence[Leaf]:
        """Return the neighbours of a leaf that was found, also if its snapshot has changed since.

        It refers to no memory, so that what was found does not keep one alive.
        """
        try:
            return around(leaf, before, after)
        except SnapshotChanged:
            return Memory(store, scope)._with_index(lambda index: index.around(leaf, before, after))

    def _follow(self, index: Index) -> Follower:
        return Follower(self._store, self.scope, index, self.knowledge)

    def _opened(self) -> Follower:
        """What keeps the index up to date. It is opened by who needs it first: that may take long."""
        with self._opening:
            if self._follower is None:
                self._follower = self._follow(open_index(self._store, self.scope))
            return self._follower

    def _caught_up_to_save(self) -> Index:
        follower = self._opened()
        follower.catch_up_to_save()
        return follower.index


def checked_question(question: object) -> str:
    """Return a question if it is a text."""
    if not isinstance(question, str):
        raise WrongType(f"a question must be a text, not {type(question).__name__}")
    return question


class _Shared:
    """The memories of one store. One that is in use is never made twice; others are kept up to a weight."""

    def __init__(self) -> None:
        self.alive: WeakValueDictionary[str, Memory] = WeakValueDictionary()
        self.embeddings: dict[str, Embedding] = {}
        self.zones: dict[str, tzinfo] = {}
        self._used: dict[str, Memory] = {}  # the last used is last

    def use(self, store: Store, scope: str) -> Memory:
        """Return the memory of a scope, made if it is not there."""
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
            if total <= MOST_LEAVES:
                break
            total -= weight
            del self._used[scope]


@on_removed
def _remove_documents(store: Store, place: Place, _: Collection[str]) -> None:
    """Remove documents from the index as well."""
    Memory.let_go(store, place.scope)
