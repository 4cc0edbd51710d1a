"""The session: one conversation's workspace, and the only one that writes to it."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypedDict, Unpack

from msgspec.structs import replace

from quire.compactors import Compactor
from quire.context import Context, Piece, Template
from quire.context.template import COMMON
from quire.errors import Forgotten, InvalidValue
from quire.items import Item, Message, now
from quire.models import AnyModel
from quire.providers import Provider, Rendered
from quire.sections import Ask
from quire.session.background import Background
from quire.session.building import Sent, gathered, item_named, redacted_pieces
from quire.session.current import enter, leave
from quire.session.digests import Digests
from quire.session.drafting import Drafting
from quire.session.events import Building, Built
from quire.session.following import followed
from quire.session.forgetting import finish_forgetting, forget, forget_all
from quire.session.hooks import Hook, Hooks
from quire.session.ledger import Ledger
from quire.session.opening import shared_ledger, shared_store
from quire.session.receipts import Kept, Sending, receipts_in
from quire.session.scope import scope_spending
from quire.session.spending import Caps, Spending, check_caps
from quire.session.streams import RECEIPTS
from quire.session.workspace import Workspace, Written
from quire.session.writing import Redact
from quire.state import View
from quire.stores import Durability, Store, place_at
from quire.tokens import Calibrated, Counter, counter_for
from quire.tokens.counter import Definition


class Options(TypedDict, total=False):
    """What a session lets one choose.

    `hooks` hear of what happens, `redact` sees each item before it is kept or sent, `caps` stop a turn before
    it is sent, and of more notes than `pool_limit` the oldest give way. With a `compactor`, and a `model`
    that writes for it, the main transcript is kept small beside the conversation.
    """

    hooks: Iterable[Hook | str]
    redact: Redact | None
    caps: Caps | None
    pool_limit: int | None
    compactor: Compactor | None
    model: AnyModel | None


class Session(Drafting):
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
        pool_limit: int | None = None,
        compactor: Compactor | None = None,
        model: AnyModel | None = None,
    ) -> None:
        super().__init__(ledger, hooks=Hooks(hooks), redact=redact)
        self._pool_limit = pool_limit
        self._caps = caps
        self.compaction = (
            None if compactor is None else Background(ledger, self.hooks, compactor, model, redact)
        )
        self._counters: dict[str, Calibrated] = {}
        self._previous: tuple[Template, Context] | None = None
        self._digests = Digests()
        self._history: tuple[Context, str] | None = None  # where the main transcript was shown last

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

    async def build(
        self,
        template: Template,
        *,
        input: Item | str | None = None,
        tools: Sequence[Definition] = (),
        model: str | None = None,
        counter: Counter | None = None,
        inbox: Sequence[Message] = (),
        parameters: Mapping[str, Any] | None = None,
    ) -> Context:
        """What the model sees this turn. Each rendering of it is kept as a receipt."""
        await self.hooks.fire_and_wait(Building(self.place, template))
        await self._check_caps()
        model = model or template.model
        counter = counter or self._counter(model)
        forgotten = self._ledger.workspace.forgotten
        ask = self._ask(input, tools, inbox, parameters)
        pieces = redacted_pieces(self._redact, await gathered(template.sections, ask))
        names = {id(view.log): name for name, view in ask.views.items()}
        context = template.fit(
            pieces,
            ask,
            model=model,
            counter=counter,
            previous=self._previous[1] if self._previous and self._previous[0] is template else None,
            heard=partial(self._rendered, names, forgotten, counter),
        )
        self._previous = (template, context)
        self._compact(pieces, context, counter)
        await self.hooks.fire_and_wait(Built(self.place, context))
        return context

    @property
    def spending(self) -> Spending:
        """What the conversation has used and cost."""
        return self._ledger.workspace.spending

    def receipts(self) -> list[Kept]:
        """What was sent in this conversation, oldest first; each can be shown again as it was."""
        with self._ledger.lock:  # others may write, and forget, meanwhile
            workspace = self._ledger.workspace
            versions = workspace.versions(RECEIPTS)
            stored = dict(zip(versions, self._ledger.read_at(versions), strict=True))
        return receipts_in(stored, workspace)

    def forget(self, *ids: str) -> None:
        """Forget items: their content is gone from memory, pool, receipts and store; a tombstone stays.

        Without ids all that was said and kept is forgotten. Who runs the store can take out the tombstones.
        """
        if ids:
            forget(self._ledger, ids)
        else:
            forget_all(self._ledger)

    def follow(self, after: int | None = None) -> AsyncIterator[Written]:
        """What is appended from now on, or from a version on, whoever does it, as it comes."""
        return followed(self._ledger, self.version if after is None else after)

    def refresh(self) -> list[Written]:
        """Take in what other processes have written, and give it."""
        return self._ledger.catch_up()

    def _options(self) -> dict[str, Any]:
        return {
            "hooks": self.hooks.given(),
            "redact": self._redact,
            "caps": self._caps,
            "pool_limit": self._pool_limit,
        }

    async def _check_caps(self) -> None:
        """An error where a cap is reached; what other processes spent counts too."""
        if self._caps is None:
            return
        ledger, before = self._outermost()
        await asyncio.to_thread(ledger.catch_up)
        own = Spending() if before is None else self.spending.since(before)
        scope = None
        if self._caps.is_for_scope:
            scope = own + await asyncio.to_thread(scope_spending, ledger.store, self.place.scope)
        check_caps(self._caps, ledger.workspace.spending + own, scope)

    def _compact(self, pieces: Sequence[Piece], context: Context, counter: Counter) -> None:
        """See to it that the main transcript stays small enough for what a turn leaves it."""
        view = self.view()
        for piece in pieces:
            if isinstance(piece.content, View) and piece.content.log is view.log:
                name = piece.section.name
                self._history = context, name
                if self.compaction is not None:
                    was_cut = piece.content.counted(counter) > context.tokens[name]
                    self.compaction.consider(view, context.room(name), was_cut=was_cut)
                return

    def use(self, compactor: Compactor, model: AnyModel | None = None) -> None:
        """Keep the main transcript small by a compactor from now on, and by a model that writes for it."""
        self.compaction = Background(self._ledger, self.hooks, compactor, model, self._redact)

    async def compact(self) -> bool:
        """Make the main transcript smaller now, and wait for it; whether there was anything to be done.

        The room is that of the context that was built last, and it need not be full.
        """
        if self.compaction is None or self._history is None:
            raise InvalidValue("a session compacts with a compactor, for a history that was built before")
        context, section = self._history
        return await self.compaction.work(self.view(), replace(context.room(section), early=True))

    async def close(self, how: Literal["wait", "hand over"] = "wait", timeout: float | None = None) -> None:
        """Wait for a compaction that is under way, or hand it over to whoever opens the conversation next.

        What takes longer than the `timeout`, in seconds, is handed over.
        """
        if self.compaction is not None:
            await self.compaction.close(how, timeout)

    def _counter(self, model: str | None) -> Calibrated:
        name = model or COMMON
        if name not in self._counters:
            self._counters[name] = Calibrated(counter_for(name))
        return self._counters[name]

    def _ask(
        self,
        input: Item | str | None,
        tools: Sequence[Definition],
        inbox: Sequence[Message],
        parameters: Mapping[str, Any] | None,
    ) -> Ask:
        given = item_named(input, self.view()) if isinstance(input, str) else input
        with self._ledger.lock:
            views: dict[str, View] = self._ledger.workspace.views()
        return Ask(
            views=views,
            pool=self.pool,
            tools=tuple(tools),
            scope=self.place.scope,
            conversation=self.place.conversation,
            input=given,
            inbox=tuple(inbox),
            now=now(),
            parameters=dict(parameters or {}),
        )

    def _rendered(
        self,
        names: Mapping[int, str],
        forgotten: int,
        counter: Counter,
        context: Context,
        wire: Provider,
        model: str | None,
        rendered: Rendered,
    ) -> None:
        """Keep what was rendered: it is about to be sent."""
        self._sent = Sent(
            wire.name, model, rendered, context, counter if isinstance(counter, Calibrated) else None
        )
        sending = Sending(context, wire.name, model, self._digests.of(rendered.payload, wire.name), names)

        def change(workspace: Workspace) -> list[Written]:
            if workspace.forgotten != forgotten:
                raise Forgotten("something was forgotten since the context was built: build it again")
            if self._left is not None:
                self._check_left()
            return sending.written(workspace)

        self._ledger.commit(change)

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
        await self.close()
