"""What a scope remembers: its conversations and documents, and how they are found again."""

from collections.abc import Callable, Iterable
from datetime import UTC, tzinfo
from threading import Lock
from typing import NamedTuple, TypeVar

from quire.errors import StoreDamaged, StoreError, WrongType
from quire.items import now
from quire.memory.dates import zone_of
from quire.memory.embedding import Embed, Embedding
from quire.memory.episodes import Episode, episodes_of
from quire.memory.following import Following
from quire.memory.index import Found, Index, InProcess, Only, Question, opened_index
from quire.memory.index.lasting import Lasting
from quire.memory.index.opening import SMALL, index_after, kept_index
from quire.memory.knowledge import Knowledge
from quire.memory.lately import Lately
from quire.memory.leaf import Leaf
from quire.memory.tiers import DOCUMENTS, Tier, checked_tiers, only_in
from quire.stores import Store
from quire.stores.place import place_at
from quire.tokens import whole

RECENT, WORKING, EPISODES = 10, 100, 500
"""How many each tier of a conversation holds unless others are asked for; the rest has given way."""

MOST_AT_HAND = 20_000
"""Leaves that stay indexed in memory, of all scopes of a store together: some 3 KiB each. Beyond it the
indexes are let go that were not used for longest, and read again when somebody asks for them."""

_ITSELF = 10
"""So many leaves an index weighs that has none."""

_TRIES = 3
"""An index may fail, be made anew, and then turn out not to be written: then one in this process answers."""

_lock = Lock()
_Result = TypeVar("_Result")


class Memory:
    """All that is kept in one scope of a store. It reads, and never writes to a conversation.

    Every verb may be called from any thread, and first takes in what was written since.
    """

    def __init__(
        self,
        store: Store,
        scope: str = "",
        *,
        index: Index | None = None,
        embed: Embed | None = None,
        zone: str | tzinfo = UTC,
    ) -> None:
        """With `embed`, vectors move what words have found, as far as they agree or stand out.

        Days are those of a `zone`, by its name ("Europe/Paris") or as a `datetime.tzinfo`.
        """
        if not isinstance(store, Store):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a memory is of a store, not of {type(store).__name__}")
        self._store, self._is_read = store, False
        self._embedding = None if embed is None else Embedding(embed)
        self.zone = zone_of(zone)
        """Whose days are meant by those that are asked for, and told."""
        self.scope = place_at(scope=scope).scope
        self.knowledge = Knowledge(store, scope)
        """The documents of the scope."""
        self._mending = Lock()
        self._follow(opened_index(store, self.scope) if index is None else index)

    @staticmethod
    def of(
        store: Store, scope: str = "", *, embed: Embed | None = None, zone: str | tzinfo | None = None
    ) -> "Memory":
        """The memory of a scope: one in a process, so that nothing is read twice while it is in use.

        An `embed` or a `zone` is its own from then on, whoever asks for it.
        """
        own = None if zone is None else zone_of(zone)
        with _lock:
            memories = _memories_of(store)
            if embed is not None:
                memories.embedding[scope] = Embedding(embed)
            if own is not None:
                memories.zone[scope] = own
            known = memories.lately.use(scope, lambda: Memory(store, scope))
            known._embedding = memories.embedding.get(scope)
            known.zone = memories.zone.get(scope, UTC)
        return known

    @staticmethod
    def let_go(store: Store, scope: str) -> None:
        """Take out of a scope's index what was forgotten, where there is one."""
        with _lock:
            known = _memories_of(store).lately.get(scope)
        if known is not None:
            known.catch_up()
        if known is None or isinstance(known._index, InProcess):
            _let_go_on_disk(store, scope)

    @property
    def weight(self) -> int:
        """How much it holds in memory, in leaves."""
        index = self._index
        if isinstance(index, Lasting):
            sight = index.sight
            return _ITSELF + (sight.weight if sight else 0)
        return _ITSELF + (len(index) if isinstance(index, InProcess) else 0)

    @property
    def is_quick(self) -> bool:
        """Whether to search takes a few milliseconds and waits for nobody, so that no thread is worth it."""
        index = self._index
        is_near = self._is_read and isinstance(index, InProcess) and len(index) <= SMALL
        return is_near and self._embedding is None and self._store.is_quick

    def recent(self, conversation: str | None = None, limit: int = RECENT) -> list[Leaf]:
        """The newest of a conversation, or of all, the oldest of them first."""
        most, only = whole(limit, "a limit", least=1), only_in("recent", conversation)
        return self._asked(lambda index: index.newest(most, only))

    def working(self, conversation: str | None = None, limit: int = WORKING) -> list[Leaf]:
        """What matters most, first; the least important have given way."""
        most, only = whole(limit, "a limit", least=1), only_in("working", conversation)
        return self._asked(lambda index: index.weightiest(most, only))

    def episodes(self, conversation: str | None = None, limit: int = EPISODES) -> list[Episode]:
        """Summaries of what is past, the oldest of them first: made by a compactor, or else by rule."""
        most = whole(limit, "a limit", least=1)
        return self._asked(lambda index: episodes_of(index, conversation, most))

    def search(
        self,
        question: str,
        *,
        tiers: Tier | Iterable[Tier] = "knowledge",
        conversation: str | None = None,
        limit: int = 200,
        at: float | None = None,
        documents: bool = False,
        embedding: Embedding | None = None,
        asked_in: Iterable[tuple[str, str]] = (),
        zone: str | tzinfo | None = None,
    ) -> Found:
        """What may answer a question, the best first, from one tier or several; `at` is when it is asked.

        With `documents`, only what documents say is looked for. An `embedding` is for this question alone,
        and so is a `zone`.
        The turns it is `asked_in`, each by its conversation and its id, do not answer it.
        """
        own = tuple(asked_in)
        when = now() if at is None else at
        meant = Question.readings(question, when, zone=self.zone if zone is None else zone_of(zone))
        readings = [one.asked_in(own) for one in meant]
        wanted = checked_tiers(tiers)
        onlys = [None if tier == "knowledge" else only_in(tier, conversation) for tier in wanted]
        if documents:
            onlys = [DOCUMENTS]
        elif None in onlys:  # it has all that the others have
            onlys = [None]
        found = self._asked(
            lambda index: [
                self._found(index, asked, limit, only, embedding) for asked in readings for only in onlys
            ]
        )
        return found[0] if len(found) == 1 else Found.merged(found, limit)

    def _found(
        self, index: Index, asked: Question, limit: int, only: Only | None, embedding: Embedding | None
    ) -> Found:
        by_vectors = embedding or self._embedding
        if by_vectors is None or not asked.terms:
            return index.search(asked, limit=limit, only=only)
        return by_vectors.search(index, asked, limit, only)

    def around(self, leaf: Leaf, before: int = 1, after: int = 1) -> list[Leaf]:
        """What was said right before and after, without it."""
        return self._asked(lambda index: index.around(leaf, before, after))

    def catch_up(self) -> None:
        """Take in what was written, and let go of what was forgotten, since the last time."""
        self._asked(lambda index: None)

    @property
    def _index(self) -> Index:
        return self._following.index

    def _asked(self, work: Callable[[Index], _Result]) -> _Result:
        """Do some work with an index that has all; another takes the place of one that fails."""
        for _ in range(_TRIES):
            following = self._following
            try:
                following.catch_up()
                self._is_read = True
                return work(following.index)
            except StoreError as fault:
                self._mend(following, fault)
        raise StoreDamaged("an index was damaged, made anew, and is damaged again")

    def _mend(self, failed: Following, fault: StoreError) -> None:
        """Go on with another index, unless another thread has seen to it.

        The one that failed is not closed: who is asking it still comes here next, by its own failure or not
        at all.
        """
        with self._mending:
            if self._following is failed:
                self._follow(index_after(self._store, self.scope, fault))

    def _follow(self, index: Index) -> None:
        self._following = Following(self._store, self.scope, index, self.knowledge)


class _Memories(NamedTuple):
    """The memories of one store, what embeds in which scope (it is not made again), and whose days it has."""

    lately: Lately[str, Memory]
    embedding: dict[str, Embedding]
    zone: dict[str, tzinfo]


def _memories_of(store: Store) -> _Memories:
    if store.memories is None:
        store.memories = _Memories(Lately[str, Memory](MOST_AT_HAND, lambda memory: memory.weight), {}, {})
    known: _Memories = store.memories
    return known


def _let_go_on_disk(store: Store, scope: str) -> None:
    """Others may have an index of the scope, which lasts and is not open here."""
    kept = kept_index(store, scope)
    if kept is not None:
        try:
            Memory(store, scope, index=kept).catch_up()
        finally:
            kept.close()
