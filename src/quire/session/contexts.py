"""Contexts of a session: what the model sees this turn, and which rendering a response answers."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypedDict, Unpack
from weakref import WeakKeyDictionary

from quire.compactors import Room
from quire.context import DEFAULT_MODEL, Context, Piece, Template, enabled_sections, gather_section
from quire.errors import OverBudget, UnknownId, WrongType
from quire.items import Item, Message, now
from quire.memory import Memory
from quire.memory.quotes import Quote, SelectedQuotes
from quire.providers import Provider, Rendered
from quire.sections import Ask, Section, settings_of
from quire.session.aio import IO, Writer
from quire.session.compaction import Compaction
from quire.session.erasure import finish_erasing, link_sources, names_of
from quire.session.hooks import Building, Built
from quire.session.log import Entries, Guard
from quire.session.receipts import Digests, Sending, Source
from quire.session.spending import Caps, PricesByName, check_caps, scope_spending
from quire.session.state import State
from quire.state import View
from quire.stores.streams import MAIN
from quire.tokens import Calibrated, Counter, Definition, counter_for

_MOST_ROUNDS = 10
"""How often sections are asked again because something was forgotten meanwhile."""


class Asked(TypedDict, total=False):
    """The options of `Session.build`.

    `input` is the message to be answered, or its id. `tools` are definitions of tools. `model` is the one to
    count for, by default that of the template. `output` is the schema of the answer; it is counted with the
    rest. `parameters` are shared by the sections.
    """

    input: Item | str | None
    tools: Sequence[Definition]
    model: str | None
    counter: Counter | None
    inbox: Sequence[Message]
    parameters: Mapping[str, Any] | None
    output: Mapping[str, Any] | None


@dataclass(eq=False)
class Sent:
    """One rendering of a context, which a response may answer."""

    wire: str
    model: str | None
    rendered: Rendered
    counted: int
    counter: Counter
    is_learned: bool = False


class _Turn(NamedTuple):
    """What the sections were asked, what they gave, and whether something was forgotten since."""

    ask: Ask
    pieces: tuple[Piece, ...]
    guard: Guard

    @property
    def history(self) -> Piece | None:
        """The first piece that shows the main transcript, all or in part."""
        log = self.ask.views[MAIN].log
        return next((one for one in self.pieces if one.origin is not None and one.origin.log is log), None)


class Contexts:
    """Builds contexts, and remembers what was rendered of them."""

    def __init__(
        self, writer: Writer, compaction: Compaction, caps: Caps | None, prices: PricesByName
    ) -> None:
        self._writer, self._log = writer, writer.log
        self._compaction = compaction
        self._caps, self._prices = caps, prices
        self._counters: dict[str, Calibrated] = {}
        self._previous: tuple[Template, Context] | None = None
        self._digests = Digests()
        self._last: dict[str, Sent] = {}  # by wire
        self._sent: WeakKeyDictionary[Context, dict[str, Sent]] = WeakKeyDictionary()

    def sent(self, sent: Any, wire: str) -> Sent | Rendered | None:
        """The rendering that a response answers: the last one of its wire, unless `sent` says which.

        The wire of a response that was parsed before is not known, and is "": any wire.
        """
        if sent is None or isinstance(sent, Context):
            known = self._last if sent is None else self._sent.get(sent, {})
            return known.get(wire) if wire else next(reversed(known.values()), None)
        if isinstance(sent, Rendered):
            found = (one for one in self._last.values() if one.rendered.is_of(sent))
            return next(found, sent)
        raise WrongType(f"what was sent is a context or a rendering of it, not {type(sent).__name__}")

    def learn(self, sent: Sent, model: str | None, reported: int) -> None:
        """Calibrate the counter by the tokens that the model asked reported, once for each rendering."""
        is_asked = sent.model is None or model is None or _is_same_model(sent.model, model)
        can_learn = is_asked and not sent.is_learned and sent.counted and reported
        if can_learn and isinstance(sent.counter, Calibrated):
            sent.is_learned = True
            sent.counter.learn(sent.counted, reported)

    async def build(self, io: IO, template: Template, **asked: Unpack[Asked]) -> Context:
        """The body of `Session.build`."""
        if not isinstance(template, Template):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a context is built from a Template, not from {type(template).__name__}")
        await io.fire(self._writer.hooks, [Building(self._log.place, template)])
        model = asked.get("model") or template.model
        counter = asked.get("counter") or self._counter(model)
        await self._catch_up(io)
        await self._check_caps(io, model)
        fit = partial(self._fit, template, counter=counter, model=model, output=asked.get("output"))
        turn, context = await self._fitted(io, template, asked, counter, fit)
        while not await self._linked(io, context):
            turn, context = await self._fitted(io, template, asked, counter, fit)
        self._previous = (template, context)
        history = turn.history
        if history is not None and self._compaction.compactor is not None:
            name = history.section.name
            await self._compaction.consider(
                turn.ask.views[MAIN],
                context.room(name),
                was_cut=_counted(history, counter) > context.tokens[name],
                guard=turn.guard,
                waits=not io.is_offloaded or self._log.root is not self._log,
            )
        await io.fire(self._writer.hooks, [Built(self._log.place, context)])
        return context

    async def _catch_up(self, io: IO) -> None:
        """Take in what others wrote and forgot before anything is read."""
        root = self._log.root
        await io.do(root, root.catch_up)
        if root.state.forgetting or root.state.unwiped:
            await io.do(root, lambda: finish_erasing(root))
        self._log.check_known()

    async def _check_caps(self, io: IO, model: str | None) -> None:
        if self._caps is None:
            return
        own, root = self._log.spent_apart, self._log.root
        scope = None
        if self._caps.is_for_scope:
            scope = own + await io.do(root, lambda: scope_spending(root.store, root.place.scope))
        check_caps(self._caps, root.state.spending + own, scope, self._prices, model)

    async def _fitted(
        self, io: IO, template: Template, asked: Asked, counter: Counter, fit: Any
    ) -> tuple[_Turn, Context]:
        """What the sections show, fitted; the main transcript is compacted if it does not fit otherwise."""
        turn = await self._gathered(io, template, asked)
        try:
            return turn, fit(turn)
        except OverBudget as over:
            room = _room_short_of(turn, over, counter)
            if room is None or self._compaction.compactor is None:
                raise
            view, by = turn.ask.views[MAIN], self._compaction.compactor
            outcome = await self._compaction.make_room(view, turn.guard, room, by)
            if not outcome and turn.guard.is_intact:
                if outcome is not None:
                    over.add_note(f"it could not be compacted: {outcome.reason}")
                raise
        turn = await self._gathered(io, template, asked)
        return turn, fit(turn)

    async def _gathered(self, io: IO, template: Template, asked: Asked) -> _Turn:
        """What the sections show; they are asked again if something was forgotten meanwhile."""
        guard, ask = Guard(self._log), self._ask(asked)
        pieces = await _gather(template.sections, ask)
        for _ in range(_MOST_ROUNDS):
            if guard.is_intact:
                break
            await self._catch_up(io)
            guard, ask = Guard(self._log), self._ask(asked)
            pieces = await _gather(template.sections, ask)
        if self._writer.redaction is not None:
            pieces = self._writer.redaction.pieces(pieces, ask.views.values())
        return _Turn(ask, pieces, guard)

    def _ask(self, asked: Asked) -> Ask:
        with self._log.applying:
            state = self._log.state
            views = {name: self._redacted(one.view) for name, one in state.transcripts.items()}
            pool = state.pool.fork()
        given = asked.get("input")
        place, root = self._log.place, self._log.root
        return Ask(
            views=views,
            pool=pool,
            tools=tuple(asked.get("tools", ())),
            scope=place.scope,
            conversation=place.conversation,
            input=_item_of(given, views[MAIN]) if isinstance(given, str) else given,
            inbox=tuple(asked.get("inbox", ())),
            now=now(),
            parameters=dict(asked.get("parameters") or {}),
            memory=lambda: Memory.of(root.store, place.scope),
        )

    def _redacted(self, view: View) -> View:
        return view if self._writer.redaction is None else self._writer.redaction.view(view)

    def _fit(
        self,
        template: Template,
        turn: _Turn,
        *,
        counter: Counter,
        model: str | None,
        output: Mapping[str, Any] | None,
    ) -> Context:
        redaction = self._writer.redaction
        sources = {
            id(view.log): Source(name, {} if redaction is None else redaction.changed(view))
            for name, view in turn.ask.views.items()
        }
        previous = self._previous
        return template.fit(
            turn.pieces,
            turn.ask,
            model=model,
            counter=counter,
            previous=previous[1] if previous is not None and previous[0] is template else None,
            on_render=partial(self._rendered, sources, turn.guard, counter),
            output=output,
        )

    async def _linked(self, io: IO, context: Context) -> bool:
        """Whether the conversations that a context quotes know of it; if not, they do from now on."""
        quotes = [quote for _, quote in _quotes_in(context)]
        return not quotes or await io.do(self._log, lambda: link_sources(self._log, quotes))

    def _rendered(
        self,
        sources: Mapping[int, Source],
        guard: Guard,
        counter: Counter,
        context: Context,
        wire: Provider,
        model: str | None,
        rendered: Rendered,
    ) -> None:
        """Keep a receipt of what is about to be sent."""
        digest = self._digests.of(rendered.payload, wire.name)
        quoted: dict[str, list[str]] = {}
        for item_id, quote in _quotes_in(context):
            quoted.setdefault(item_id, []).extend(names_of([quote], self._log.place.conversation))
        sending = Sending(context, wire.name, model, digest, sources, quoted)

        def entries(state: State) -> Entries:
            guard.check("the context was built")
            return sending.entries(state)

        if self._log.root is not self._log:
            self._log.root.catch_up()  # what a draft shows is forgotten there
        self._log.commit(entries)
        sent = Sent(wire.name, model, rendered.bare(), context.receipt.counted, counter)
        self._last.pop(wire.name, None)  # the last one is at the end
        self._last[wire.name] = sent
        self._sent.setdefault(context, {})[wire.name] = sent

    def _counter(self, model: str | None) -> Calibrated:
        name = model or DEFAULT_MODEL
        if name not in self._counters:
            self._counters[name] = Calibrated(counter_for(name))
        return self._counters[name]


def _is_same_model(asked: str, answered: str) -> bool:
    """Whether a model may have answered by this name: with a date, without the name of a vendor."""
    one, other = (name.rpartition("/")[2].rpartition(":")[2].lower() for name in (asked, answered))
    return one.startswith(other) or other.startswith(one)


def _item_of(item_id: str, view: View) -> Item:
    try:
        return view.get(item_id)
    except UnknownId:
        raise UnknownId("the input is an item, or the id of one in the main transcript") from None


def _quotes_in(context: Context) -> Iterator[tuple[str, Quote]]:
    """The quotes that a context shows, each with the id of the item that shows it."""
    for selection in context.receipt.selections:
        if isinstance(selection, SelectedQuotes) and selection.items:
            yield from ((selection.items[0].id, quote) for quote in selection.quotes)


async def _gather(sections: Sequence[Section], ask: Ask) -> tuple[Piece, ...]:
    """What the sections show: those that are independent side by side, the rest in order."""
    shown = enabled_sections(sections)
    beside = {
        index: asyncio.ensure_future(gather_section(section, ask))
        for index, section in enumerate(shown)
        if settings_of(section).independent
    }
    try:
        in_order = {
            index: await gather_section(section, ask)
            for index, section in enumerate(shown)
            if index not in beside
        }
        return tuple([in_order[i] if i in in_order else await beside[i] for i in range(len(shown))])
    finally:
        for task in beside.values():
            task.cancel()
        await asyncio.gather(*beside.values(), return_exceptions=True)


def _room_short_of(turn: _Turn, over: OverBudget, counter: Counter) -> Room | None:
    """The room that the history has in a turn that is over its budget; `None` if there is none."""
    history = turn.history
    if history is None:
        return None
    tokens = counter.total(sum(map(counter.count, history.protected()))) - over.over
    return Room(tokens, counter) if tokens > counter.total(0) else None


def _counted(piece: Piece, counter: Counter) -> int:
    content = piece.content
    return content.counted(counter) if isinstance(content, View) else sum(map(counter.count, content))
