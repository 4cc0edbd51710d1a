"""What a scope remembers: its conversations and documents, and how they are found again."""

from collections.abc import Iterable
from threading import Lock

from quire.errors import WrongType
from quire.items import now
from quire.memory.episodes import Episode, episodes_of
from quire.memory.following import Following
from quire.memory.index import Found, Index, InProcess, Question, opened_index
from quire.memory.index.opening import kept_index
from quire.memory.knowledge import Knowledge
from quire.memory.leaf import Leaf
from quire.memory.tiers import DOCUMENTS, Tier, checked_tiers, only_in
from quire.stores import Store
from quire.stores.place import place_at
from quire.tokens.numbers import whole

RECENT, WORKING, EPISODES = 10, 100, 500
"""How many each tier of a conversation holds unless others are asked for; the rest has given way."""

_lock = Lock()


class Memory:
    """All that is kept in one scope of a store. It reads, and never writes to a conversation.

    Every verb may be called from any thread, and first takes in what was written since.
    """

    def __init__(self, store: Store, scope: str = "", *, index: Index | None = None) -> None:
        if not isinstance(store, Store):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a memory is of a store, not of {type(store).__name__}")
        self.scope = place_at(scope=scope).scope
        self.knowledge = Knowledge(store, scope)
        """The documents of the scope."""
        self._index = opened_index(store, self.scope) if index is None else index
        self._following = Following(store, self.scope, self._index, self.knowledge)

    @staticmethod
    def of(store: Store, scope: str = "") -> "Memory":
        """The memory of a scope: one in a process, so that nothing is read twice."""
        with _lock:
            if scope not in store.memories:
                store.memories[scope] = Memory(store, scope)
            known: Memory = store.memories[scope]
            return known

    @staticmethod
    def let_go(store: Store, scope: str) -> None:
        """Take out of a scope's index what was forgotten, where there is one."""
        with _lock:
            known: Memory | None = store.memories.get(scope)
        if known is not None:
            known.catch_up()
        if known is None or isinstance(known._index, InProcess):
            _let_go_on_disk(store, scope)

    def recent(self, conversation: str | None = None, limit: int = RECENT) -> list[Leaf]:
        """The newest of a conversation, or of all, the oldest of them first."""
        self.catch_up()
        return self._index.newest(whole(limit, "a limit", least=1), only_in("recent", conversation))

    def working(self, conversation: str | None = None, limit: int = WORKING) -> list[Leaf]:
        """What matters most, first; the least important have given way."""
        self.catch_up()
        return self._index.weightiest(whole(limit, "a limit", least=1), only_in("working", conversation))

    def episodes(self, conversation: str | None = None, limit: int = EPISODES) -> list[Episode]:
        """Summaries of what is past, the oldest of them first: made by a compactor, or else by rule."""
        self.catch_up()
        return episodes_of(self._index, conversation, whole(limit, "a limit", least=1))

    def search(
        self,
        question: str,
        *,
        tiers: Tier | Iterable[Tier] = "knowledge",
        conversation: str | None = None,
        limit: int = 200,
        at: float | None = None,
        documents: bool = False,
    ) -> Found:
        """What may answer a question, the best first, from one tier or several; `at` is when it is asked.

        With `documents`, only what documents say is looked for.
        """
        self.catch_up()
        asked = Question.of(question, now() if at is None else at)
        wanted = checked_tiers(tiers)
        if documents:
            return self._index.search(asked, limit=limit, only=DOCUMENTS)
        if "knowledge" in wanted:  # it has all that the others have
            return self._index.search(asked, limit=limit)
        found = [self._index.search(asked, limit=limit, only=only_in(tier, conversation)) for tier in wanted]
        return Found.merged(found, limit)

    def around(self, leaf: Leaf, before: int = 1, after: int = 1) -> list[Leaf]:
        """What was said right before and after, without it."""
        return self._index.around(leaf, before, after)

    def catch_up(self) -> None:
        """Take in what was written, and let go of what was forgotten, since the last time."""
        self._following.catch_up()


def _let_go_on_disk(store: Store, scope: str) -> None:
    """Others may have an index of the scope, which lasts and is not open here."""
    kept = kept_index(store, scope)
    if kept is not None:
        try:
            Memory(store, scope, index=kept).catch_up()
        finally:
            kept.close()
