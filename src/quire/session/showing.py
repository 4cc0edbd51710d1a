"""What the model sees in a conversation: contexts, what was sent of them, and what it cost."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from quire.compactors import Room
from quire.context import DEFAULT_MODEL, Context, Template
from quire.errors import Forgotten, OverBudget, WrongType
from quire.items import Item, Message, now
from quire.providers import Provider, Rendered
from quire.sections import Ask
from quire.session.background import Background
from quire.session.building import Sent, gathered, item_named
from quire.session.digests import Digests
from quire.session.drafting import Drafting
from quire.session.events import Building, Built
from quire.session.hooks import Hooks
from quire.session.ledger import Ledger
from quire.session.payloads import made_own
from quire.session.recalled import quotes_in, rows_of
from quire.session.receipts import Kept, Sending, Source, receipts_in
from quire.session.redacting import Redaction
from quire.session.remembering import memory_of
from quire.session.scope import scope_spending
from quire.session.since import Since
from quire.session.spending import Spending, check_caps
from quire.session.turn import Turn, counted
from quire.session.workspace import Workspace, Written
from quire.state import View
from quire.stores.streams import MAIN, RECEIPTS
from quire.stores.threads import STORE
from quire.tokens import Calibrated, Counter, Definition, counter_for

if TYPE_CHECKING:
    from quire.memory import Memory

T = TypeVar("T")

_MOST_ROUNDS = 10
"""How often sections are asked again, where something is forgotten each time that they are."""


class Showing(Drafting):
    """The verbs for what is shown to a model, and for what was."""

    compaction: Background | None = None
    """What keeps the main transcript small, where something does."""

    def __init__(self, ledger: Ledger, *, hooks: Hooks, redact: Redaction | None = None) -> None:
        super().__init__(ledger, hooks=hooks, redact=redact)
        self._redaction = redact
        self._counters: dict[str, Calibrated] = {}
        self._previous: tuple[Template, Context] | None = None
        self._digests = Digests()
        self._room: Room | None = None  # what the main transcript was left by the turn before

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
        output: Mapping[str, Any] | None = None,
    ) -> Context:
        """What the model sees this turn. Each rendering of it is kept as a receipt.

        `output` is the schema of the answer, where one is sent with it: it is counted with the rest.
        """
        if not isinstance(template, Template):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a context is built from a Template, not from {type(template).__name__}")
        await self.hooks.fire_and_wait(Building(self.place, template))
        model = model or template.model
        await self._forgotten_first()
        await self._check_caps(model)
        counter = counter or self._counter(model)
        given = partial(self._ask, input, tools, inbox, parameters)
        fitted = partial(self._fitted, template, model=model, counter=counter, output=output)
        turn, context = await self._made(template, given, fitted, counter)
        while new := self._new_sources(rows_of(quotes_in(context), self.place.conversation)):
            await self._aside(partial(self._link, new))
            turn, context = await self._made(template, given, fitted, counter)
        self._previous = (template, context)
        await self._compact(turn, context, counter)
        await self.hooks.fire_and_wait(Built(self.place, context))
        return context

    @property
    def memory(self) -> "Memory":
        """What the scope of this conversation remembers, of all its conversations and documents."""
        return memory_of(self._outermost()[0].store, self.place.scope)

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

    async def _made(
        self,
        template: Template,
        given: Callable[[], Ask],
        fitted: Callable[[Turn], Context],
        counter: Counter,
    ) -> tuple[Turn, Context]:
        turn = await self._gathered(template, given)
        try:
            return turn, fitted(turn)
        except OverBudget as over:
            await self._make_room(turn, counter, over)
        turn = await self._gathered(template, given)
        return turn, fitted(turn)

    async def _check_caps(self, model: str | None) -> None:
        """An error where a cap is reached, or no price is known; what others spent is taken in by then."""
        if self._caps is None:
            return
        ledger, before = self._outermost()
        own = Spending() if before is None else self.spending.since(before)
        scope = None
        if self._caps.is_for_scope:
            scope = own + await STORE.do(scope_spending, ledger.store, self.place.scope)
        check_caps(self._caps, ledger.workspace.spending + own, scope, self._prices, model)

    async def _forgotten_first(self) -> None:
        """Let what somebody forgot, or began to, in whatever process, be gone before anything is read."""
        await self._looked_up(self._outermost()[0].catch_up)
        if self._has_to_forget():
            await self._aside(self._finish_forgetting)

    async def _looked_up(self, look: Callable[[], T]) -> T:
        """What is found in the log, of a draft in that it left too; a slow store is read in a thread."""
        return look() if self._outermost()[0].store.is_quick else await STORE.do(look)

    async def _gathered(self, template: Template, given: Callable[[], Ask]) -> Turn:
        """What sections show, once more where something was forgotten while they were asked."""
        turn = await self._gathered_once(template, given)
        for _ in range(_MOST_ROUNDS):
            if await self._looked_up(turn.since.is_still_all):
                break
            await self._forgotten_first()
            turn = await self._gathered_once(template, given)
        return turn

    async def _gathered_once(self, template: Template, given: Callable[[], Ask]) -> Turn:
        since = Since(self._ledger)
        ask = given()
        pieces = await gathered(template.sections, ask)
        if self._redaction is not None:
            pieces = self._redaction.pieces(pieces, ask.views.values())
        return Turn(ask, pieces, since)

    def _fitted(
        self,
        template: Template,
        turn: Turn,
        *,
        model: str | None,
        counter: Counter,
        output: Mapping[str, Any] | None = None,
    ) -> Context:
        return template.fit(
            turn.pieces,
            turn.ask,
            model=model,
            counter=counter,
            previous=self._previous[1] if self._previous and self._previous[0] is template else None,
            on_render=partial(self._rendered, self._sources(turn.ask.views), turn.since, counter),
            output=output,
        )

    async def _compact(self, turn: Turn, context: Context, counter: Counter) -> None:
        """See to it that the main transcript stays small enough for what a turn leaves it."""
        history = turn.history
        if history is None or self.compaction is None:
            return
        name = history.section.name
        self._room = context.room(name)
        await self.compaction.consider_or_wait(
            turn.shown,
            self._room,
            was_cut=counted(history, counter) > context.tokens[name],
            waits=self._is_draft(),  # what is beside a draft is lost with it
        )

    async def _make_room(self, turn: Turn, counter: Counter, over: OverBudget) -> None:
        """Make the main transcript smaller for a turn that does not fit, or raise that it does not."""
        room = turn.room_short_of(over, counter)
        if room is None:
            raise over
        self._room = room
        if self.compaction is None:
            raise over
        outcome = await self.compaction.make_room(turn.shown, room)
        # Where something was forgotten meanwhile, there may be less to show by now.
        if not outcome and await self._looked_up(turn.since.is_still_all):
            if outcome is not None:
                over.add_note(f"it could not be made smaller: {outcome.reason}")
            raise over

    async def _room_in(self, template: Template) -> Room | None:
        """What a template leaves to the main transcript, if it shows it."""
        counter = self._counter(template.model)
        turn = await self._gathered(template, partial(self._ask, None, (), (), None))
        try:
            context = self._fitted(template, turn, model=template.model, counter=counter)
        except OverBudget as over:
            return turn.room_short_of(over, counter)
        return None if turn.history is None else context.room(turn.history.section.name)

    def _counter(self, model: str | None) -> Calibrated:
        name = model or DEFAULT_MODEL
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
        with self._ledger.lock:
            views = {name: self._may_show(view) for name, view in self._ledger.workspace.views().items()}
        given = item_named(input, views[MAIN]) if isinstance(input, str) else input
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
            memory=lambda: self.memory,
        )

    def _may_show(self, view: View) -> View:
        return view if self._redaction is None else self._redaction.view(view)

    def _sources(self, views: Mapping[str, View]) -> dict[int, Source]:
        return {id(view.log): Source(name, self._changed(view)) for name, view in views.items()}

    def _changed(self, view: View) -> Mapping[str, Item]:
        return {} if self._redaction is None else self._redaction.changed(view.log)

    def _rendered(
        self,
        sources: Mapping[int, Source],
        since: Since,
        counter: Counter,
        context: Context,
        wire: Provider,
        model: str | None,
        rendered: Rendered,
    ) -> None:
        """Keep what was rendered: it is about to be sent."""
        digest = self._digests.of(rendered.payload, wire.name)
        sending = Sending(context, wire.name, model, digest, sources)
        rows = rows_of(quotes_in(context), self.place.conversation)

        def change(workspace: Workspace) -> list[Written]:
            if not since.is_all:
                raise Forgotten("something was forgotten since the context was built: build it again")
            if self._left is not None:
                self._check_left()
            noted = self._noted(rows, workspace)
            return [*noted, *sending.written(workspace, after=len(noted))]

        self._ledger.commit(change)
        learns = counter if isinstance(counter, Calibrated) else None
        self._requests.take(Sent(wire.name, model, rendered, context, learns))
        made_own(rendered)
