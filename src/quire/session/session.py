"""The session: one conversation's workspace, and the only one that writes to it."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypedDict, Unpack

from msgspec.structs import replace

from quire.compactors import Compactor, Outcome, Room, checked_compactor
from quire.context import Template
from quire.errors import InvalidValue
from quire.models import AnyModel
from quire.session.background import Background
from quire.session.current import enter, leave
from quire.session.following import followed
from quire.session.forgetting import finish_forgetting, forget, forget_all
from quire.session.hooks import Hook, Hooks
from quire.session.ledger import Ledger
from quire.session.opening import shared_ledger, shared_store
from quire.session.redacting import Redaction
from quire.session.showing import Showing
from quire.session.since import Shown, Since
from quire.session.spending import Caps, own_prices
from quire.session.workspace import Written
from quire.session.writing import Redact
from quire.stores import Durability, Store, place_at
from quire.stores.threads import STORE
from quire.tokens import Prices


class Options(TypedDict, total=False):
    """What a session lets one choose.

    `hooks` hear of what happens, `redact` sees each item before it is kept or sent, `caps` stop a turn before
    it is sent, `prices` say by name what models cost where the list does not or is wrong, and of more notes
    than `pool_limit` the oldest give way. With a `compactor`, and a `model` that writes for it, the main
    transcript is kept small beside the conversation. The `model` writes summaries of forks as well.
    """

    hooks: Iterable[Hook | str]
    redact: Redact | None
    caps: Caps | None
    prices: Mapping[str, Prices]
    pool_limit: int | None
    compactor: Compactor | None
    model: AnyModel | None


class Session(Showing):
    """One conversation at an address: transcripts by name, a pool, and all that was seen and spent.

    Writes are kept when they return. Any thread may use it; other sessions and processes may write to the
    same conversation, and nobody loses anything.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        hooks: Iterable[Hook | str] = (),
        redact: Redact | None = None,
        caps: Caps | None = None,
        prices: Mapping[str, Prices] | None = None,
        pool_limit: int | None = None,
        compactor: Compactor | None = None,
        model: AnyModel | None = None,
    ) -> None:
        redaction = Redaction(redact) if redact and not isinstance(redact, Redaction) else redact
        super().__init__(ledger, hooks=Hooks(hooks), redact=redaction)
        self._pool_limit = pool_limit
        self._caps = caps
        self._prices = own_prices(prices or {})
        self._writer = model
        self._replaced: list[Background] = []  # what is under way of compactors that were used before
        if compactor is not None:
            self.use(compactor, model)

    @staticmethod
    def open(
        address: str | None = None,
        *,
        scope: str = "",
        conversation: str = "",
        store: str | Path | Store = "quire.db",
        durable: Durability | None = None,
        key: bytes | None = None,
        **options: Unpack[Options],
    ) -> "Session":
        """The session at `"scope/conversation"`, in the store of an address, made where there is none yet.

        For the rest see `Options`.
        """
        place = place_at(address, scope=scope, conversation=conversation)
        ledger = shared_ledger(shared_store(store, durable, key), place)
        finish_forgetting(ledger)
        return Session(ledger, **options)

    def __repr__(self) -> str:
        return f"<Session {self.place} at version {self.version}>"

    def forget(self, *ids: str) -> None:
        """Forget items: their content is gone from memory, pool, receipts and store; a tombstone stays.

        Without ids all that was said and kept is forgotten. Who runs the store can take out the tombstones.
        """
        if ids:
            forget(self._ledger, ids)
        else:
            forget_all(self._ledger)

    async def erase(self, *ids: str) -> None:
        """`forget` without blocking the loop: it reads and rewrites all that may tell of it."""
        await STORE.do(self.forget, *ids)

    def follow(self, after: int | None = None) -> AsyncIterator[Written]:
        """What is appended from now on, or from a version on, whoever does it, as it comes."""
        return followed(self._ledger, self.version if after is None else after)

    def refresh(self) -> list[Written]:
        """Take in what other processes have written, and give it; what was left half forgotten is gone."""
        written = self._ledger.catch_up()
        self._finish_forgetting()
        return written

    def _options(self) -> dict[str, Any]:
        return {
            "hooks": self.hooks.given(),
            "redact": self._redact,
            "caps": self._caps,
            "prices": self._prices,
            "pool_limit": self._pool_limit,
            "model": self._writer,
        }

    def _options_of_a_fork(self) -> dict[str, Any]:
        compaction = self.compaction
        if compaction is None:
            return self._options()
        return {**self._options(), "compactor": compaction.compactor, "model": compaction.model}

    def use(self, compactor: Compactor, model: AnyModel | None = None) -> None:
        """Keep the main transcript small by a compactor from now on, and by a model that writes for it."""
        compactor = checked_compactor(compactor)
        if model is not None:
            self._check_writer(model)  # now, not when what it wrote has stopped the conversation
        self._writer = model or self._writer
        used = [*self._replaced, *([self.compaction] if self.compaction else [])]
        self._replaced = [one for one in used if not one.is_over]
        self.compaction = self._compacting(compactor, self._writer)

    async def compact(
        self, template: Template | None = None, *, by: Compactor | None = None, room: Room | None = None
    ) -> Outcome | None:
        """Make the main transcript smaller now, and wait for it; what came of it, if anything was to be done.

        An outcome that was not kept says why, and counts as false. The room is what one of the `template`
        would leave; without, what the last context left, or before there was any, what is shown now. It need
        not be full. A compactor that needs no words may be given for this once, and a room for it.
        """
        compaction = self.compaction if by is None else self._compacting(checked_compactor(by))
        if compaction is None:
            raise InvalidValue("a session compacts with a compactor: it is given one by use")
        await self._forgotten_first()
        counter = self._counter(None)
        room = room or (self._room if template is None else await self._room_in(template))
        shown = Shown(since=Since(self._ledger), view=self._may_show(self.view()))
        room = room or Room(shown.view.tokens(counter), counter)
        return await compaction.work(shown, replace(room, early=True))

    def _compacting(self, compactor: Compactor, model: AnyModel | None = None) -> Background:
        return Background(self._ledger, self.hooks, compactor, model, self._redaction, self._prices)

    async def close(self, how: Literal["wait", "hand over"] = "wait", timeout: float | None = None) -> None:
        """Wait for a compaction that is under way, or hand it over to whoever opens the conversation next.

        What takes longer than the `timeout`, in seconds, is handed over.
        """
        if self.compaction is not None:
            all_used = (*self._replaced, self.compaction)
            await asyncio.gather(*(one.close(how, timeout) for one in all_used))

    def __enter__(self) -> "Session":
        enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        leave(self)

    async def __aenter__(self) -> "Session":
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, fault, trace)
        # Who is cancelled or has failed does not wait for a model: whoever comes next takes it up.
        await self.close("wait" if kind is None else "hand over")
