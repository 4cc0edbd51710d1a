"""A turn: the context that the model is sent, and the response that answers it."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import count
from threading import RLock, current_thread
from typing import Any, NamedTuple, TypedDict, Unpack
from weakref import ReferenceType, WeakKeyDictionary, ref

from msgspec.structs import replace

from quire.compactors import Room
from quire.context import (
    DEFAULT_MODEL,
    Context,
    Observer,
    Piece,
    Read,
    Selected,
    Template,
    enabled_sections,
    gather_section,
)
from quire.errors import Conflict, InvalidValue, ModelFailed, OverBudget, UnknownId, WrongType, cut
from quire.items import Item, Message, ToolCall, now
from quire.memory import Memory, Recall
from quire.providers import CachePlan, Parsed, Provider, Rendered, provider_for
from quire.sections import Ask, Candidates, Content, Section, settings_of
from quire.session.aio import IO, SHORT, Writer, check_names, checked_type
from quire.session.compaction import Compactions
from quire.session.entries import OwnedCalls, note_of
from quire.session.erasure import finish_erasing
from quire.session.hooks import Added, Adding, Building, Built, Recalled, Recalling
from quire.session.log import Compute, Entries, Guard
from quire.session.provenance import link_sources
from quire.session.receipts import Digests, Receipts, SentRequest, parameters_of, quotes_in
from quire.session.redaction import redacted_pieces
from quire.session.responses import decoded, feed, is_stream, log_refusal
from quire.session.spending import Caps, PricesByName, check_caps, usage_note
from quire.session.state import State, Written
from quire.state import View, in_one_reply
from quire.stores.store import checked_name
from quire.stores.streams import CALLS, MAIN, RECEIPTS, USAGE
from quire.tokens import Calibrated, Counter, Definition, checked_counter, counter_for

logger = logging.getLogger("quire.session")


class BuildOptions(TypedDict, total=False):
    """The options of `Session.build`."""

    input: Item | str | None
    """The message to be answered, or its id."""
    tools: Sequence[Definition]
    """Definitions of tools."""
    model: str | None
    """The model to count for; by default, that of the template."""
    counter: Counter | None
    """Counts tokens in place of the model's counter."""
    inbox: Sequence[Message]
    """Direct messages for the section `Inbox`."""
    parameters: Mapping[str, Any] | None
    """Values that the sections share."""
    output: Mapping[str, Any] | None
    """The schema of the answer; its tokens are counted with the rest."""


_KINDS: dict[str, tuple[Any, str]] = {
    "input": (str | Item, "an item, or the id of one"),
    "tools": (Sequence, "a list of definitions"),
    "model": (str, "the name of a model"),
    "inbox": (Sequence, "a list of messages"),
    "parameters": (Mapping, "a mapping"),
    "output": (Mapping, "a schema"),
}


@dataclass(eq=False)
class Request:
    """One rendering, which may be sent and answered.

    `sent` is what a receipt says of it; None if it is not of a context of this session. `receipt_id` and
    `parameters` are those of the last receipt that was kept of it.
    """

    rendered: Rendered
    sent: SentRequest | None = None
    guard: Guard | None = None
    receipt_id: str | None = None
    parameters: Mapping[str, Any] | None = None
    is_learned: bool = False
    is_answered: bool = False
    owner: "ReferenceType[Any] | None" = None
    """The task or thread that `record` finds it for without being told."""

    def learn(self, model: str | None, reported: int) -> None:
        """Calibrate the counter by the tokens that the model asked reported, once for each request."""
        asked = self.rendered.model
        is_asked = asked is None or model is None or _is_same_model(asked, model)
        if self.sent is None or self.is_learned or not is_asked:
            return
        receipt = self.sent.context.receipt
        if receipt.counted and reported and isinstance(receipt.counter, Calibrated):
            self.is_learned = True
            receipt.counter.learn(receipt.counted, reported)

    def receipt(self, parameters: Mapping[str, Any] | None, state: State) -> Entries:
        """The entries of the receipt; if something was forgotten since, it does not say what was sent."""
        if self.sent is None or self.guard is None:
            return []
        return self.sent.entries(state, parameters) if self.guard.is_intact else self.sent.bare_entries()

    def mark_receipt(self, kept: Entries, parameters: Mapping[str, Any] | None) -> None:
        """Remember that a receipt was kept, by the entries that were written."""
        self.receipt_id, self.parameters = _receipt_in(kept) or "", parameters


class _Requests(Observer):
    """The requests that are rendered from one context, by provider, the last one at the end."""

    def __init__(
        self, turns: "Turns", sources: Mapping[int, str], guard: Guard, *, is_own: bool, continues: bool
    ) -> None:
        """With `is_own`, the caller says what its requests are answered by: `record` finds none of them.

        `continues` says whether only some items are new since the last request.
        """
        self.turns, self._sources, self._guard, self._is_own = turns, sources, guard, is_own
        self.continues, self.length = continues, turns.length
        self.all: dict[str, Request] = {}

    def rendered(self, context: Context, rendered: Rendered, plan: CachePlan) -> None:
        """Remember a rendering. `Forgotten` if something was forgotten since the context was built."""
        digest = self.turns.digest_of(rendered, self._guard, catches_up=not self._is_own)
        sent = SentRequest(
            context, rendered.wire, rendered.model, digest, plan, self._sources, self.turns.conversation
        )
        self.all.pop(rendered.wire, None)
        self.all[rendered.wire] = self.turns.rendered.add(rendered, sent, self._guard, is_own=self._is_own)

    def sent(self, provider: str | None, parameters: Mapping[str, Any] | None) -> None:
        """Keep a receipt of a request that is sent."""
        checked_type(parameters, Mapping | None, "the parameters of a request are a mapping")
        request = self.find(provider)
        if request is None:
            to = f" for {cut(provider)!r}" if provider else ""
            raise InvalidValue(f"nothing of this context was rendered{to}: render it before it is sent")
        self.turns.keep_receipt(request, parameters)

    def find(self, provider: str | None) -> Request | None:
        """The last request, or the last one for a provider."""
        return _newest(self.all, provider)


class _RenderedRequests:
    """The requests of all renderings that somebody holds, and the newest ones of each task or thread."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._by_rendering: dict[int, tuple[ReferenceType[Rendered], Request]] = {}  # by identity
        self._by_owner: WeakKeyDictionary[Any, dict[str, Request]] = WeakKeyDictionary()  # by provider
        self._last: Request | None = None

    def add(self, rendered: Rendered, sent: SentRequest, guard: Guard, *, is_own: bool) -> Request:
        """The request of a rendering; unless it `is_own`, it is the newest of this task."""
        request = Request(copy(rendered), sent, guard)  # it does not keep the rendering of the caller alive
        key, known = id(rendered), self._by_rendering
        with self._lock:
            known[key] = ref(rendered, lambda _: known.pop(key, None)), request
            if not is_own:
                task = _current_task()
                request.owner, own = ref(task), self._by_owner.setdefault(task, {})
                own.pop(rendered.wire, None)  # the last one is at the end
                own[rendered.wire] = self._last = request
        return request

    def newest(self, provider: str | None) -> Request | None:
        """The newest request of this task, of a provider if one is named.

        `InvalidValue` if none of this task waits for its answer, and one of another task does. A task that
        names a provider, and has rendered nothing for it, answers what no session has rendered.
        """
        task = _current_task()
        with self._lock:
            found = _newest(self._by_owner.get(task, {}), provider)
            if (provider and found is None) or (found is not None and not found.is_answered):
                return found
            newest = [one for own in self._by_owner.values() for one in own.values()]
            held = [request for _, request in [*self._by_rendering.values()]]
            others = [*held, *newest, *([self._last] if self._last else [])]
        for other in others:
            is_open = other.owner is not None and other.owner() is not task and not other.is_answered
            if is_open and provider in (None, other.rendered.wire):
                raise InvalidValue(
                    "a request that another task or thread rendered waits for its answer: "
                    "name with `sent=` the context or rendering that this response answers"
                )
        return found

    def find(self, rendered: Rendered) -> Request | None:
        """The request of a rendering, whoever has made it."""
        found = self._by_rendering.get(id(rendered))
        return None if found is None else found[1]


def _current_task() -> Any:
    """What a request is rendered by: the task, or the thread if no event loop runs in it."""
    with suppress(RuntimeError):
        return asyncio.current_task() or current_thread()
    return current_thread()


def _newest(requests: Mapping[str, Request], provider: str | None) -> Request | None:
    return requests.get(provider) if provider else next(reversed([*requests.values()]), None)


def _receipt_in(entries: Entries) -> str | None:
    """The id of the receipt among some entries."""
    return next((item.id for stream, item in entries if stream == RECEIPTS), None)


def _is_same_model(asked: str, answered: str) -> bool:
    """Whether a model may have answered by this name: with a date, without the name of a vendor."""
    one, other = (name.rpartition("/")[2].rpartition(":")[2].lower() for name in (asked, answered))
    return one.startswith(other) or other.startswith(one)


class _Build(NamedTuple):
    """What a context is built of, and how."""

    io: IO
    template: Template
    asked: BuildOptions
    is_own: bool
    """Whether the caller says what its requests are answered by, and catches up itself."""

    @property
    def model(self) -> str | None:
        """The model to count for; None if nobody named one."""
        return self.asked.get("model") or self.template.model


class _Gathered(NamedTuple):
    """The input and the output of the sections, and whether something was forgotten since."""

    ask: Ask
    pieces: tuple[Piece, ...]
    guard: Guard

    @property
    def history(self) -> Piece | None:
        """The first piece that shows the main transcript, all or in part."""
        log = self.ask.views[MAIN].log
        return next((one for one in self.pieces if one.origin is not None and one.origin.log is log), None)

    def room_for_history(self, over: OverBudget, counter: Counter) -> Room | None:
        """The room that the history has if the turn is over its budget; `None` if there is none."""
        if self.history is None:
            return None
        tokens = counter.total(sum(map(counter.count, self.history.protected()))) - over.over
        return Room(tokens, counter) if tokens > counter.total(0) else None


class Turns:
    """Builds contexts, remembers what was rendered of them, and records the responses."""

    def __init__(
        self, writer: Writer, compaction: Compactions, caps: Caps | None, prices: PricesByName
    ) -> None:
        self._writer, self._log, self.conversation = writer, writer.log, writer.place.conversation
        self._compaction = compaction
        self.caps, self.prices = caps, prices
        self._counters: dict[str, Calibrated] = {}
        self._previous: tuple[Template, Context] | None = None
        self._digests = Digests()
        self.rendered = _RenderedRequests()

    # Contexts

    async def build(
        self, io: IO, template: Template, *, is_own: bool = False, **asked: Unpack[BuildOptions]
    ) -> Context:
        """The body of `Session.build`. With `is_own`, see `_Build`."""
        checked_type(template, Template, "a context is built from a Template(History(), budget=8_000)")
        check_names(asked, BuildOptions, "Session.build")
        for name, (kind, words) in _KINDS.items():
            if asked.get(name) is not None:
                checked_type(asked.get(name), kind, f"Session.build({name}=…) is {words}")
        building = Building(self._log.place, template)
        async with self._writer.hooks.around(building, may_wait=io.awaits_hooks) as done:
            context = await self._built(_Build(io, template, asked, is_own))
            await done(Built(self._log.place, context))
        root = self._log.root
        if root.is_checkpoint_due:  # all items were counted for the first time
            await io.do(root, root.save_checkpoint)
        return context

    async def _built(self, build: _Build) -> Context:
        await self._catch_up(build)
        if self.caps is not None:
            spent = self._log.root.state.spending + self._log.spent_apart
            check_caps(self.caps, spent, self.prices, build.model)
        if self._compaction.compactor is not None:
            await self._compaction.show_again(build.io, self._counter(build), build.template.budget.available)
        gathered, context = await self._fitted(build)
        if self._compaction.compactor is not None:
            context = await self._compacted(build, gathered, context)
        self._previous = (build.template, context)
        return context

    async def _compacted(self, build: _Build, gathered: _Gathered, context: Context) -> Context:
        """Begin a compaction if one is due; returns the context with what its receipt says about it.

        A plain verb and a draft wait for the compaction and show what it left: the event loop of the one does
        not run between verbs, and the other is soon over.
        """
        compaction, view = self._compaction, gathered.ask.views[MAIN]
        waits = not build.io.is_offloaded or self._log.root is not self._log
        advice = compaction.forced_advice()
        if gathered.history is not None:
            room = context.room(gathered.history.section.name)
            await compaction.consider(view, room, guard=gathered.guard, waits=waits)
        if waits and self._log.state.transcripts[MAIN].revision != view.revision:
            _, context = await self._fitted(build)
            advice += compaction.forced_advice()
        if context.cuts and await compaction.is_writing():
            advice.append("a summary of the history is still being written: its oldest items are left out")
        context.receipt.advice += tuple(advice)
        return context

    async def _catch_up(self, build: _Build) -> None:
        """Take in what others wrote and forgot before anything is read."""
        root = self._log.root
        if not build.is_own:
            await build.io.write(root, root.catch_up)
        if root.state.is_erasing:
            await build.io.do(root, lambda: finish_erasing(root))
        self._log.check_not_forgotten()

    async def _fitted(self, build: _Build) -> tuple[_Gathered, Context]:
        """What the sections show, fitted; the conversations that it quotes know of it."""
        gathered, context = await self._fit_or_compact(build)
        while not await self._linked(build.io, context):
            gathered, context = await self._fit_or_compact(build)
        return gathered, context

    async def _fit_or_compact(self, build: _Build) -> tuple[_Gathered, Context]:
        """What the sections show, fitted; the main transcript is compacted if it does not fit otherwise."""
        gathered = await self._gathered(build)
        shorter = partial(self._fit, gathered, build, shortens_new=not build.is_own)  # an agent moves results
        try:
            fit = partial(self._fit, gathered, build) if self._compaction.compactor is not None else shorter
            return gathered, fit() if self._continues(build) else await build.io.do(self._log, fit)
        except OverBudget as over:
            room = gathered.room_for_history(over, self._counter(build))
            if room is None or self._compaction.compactor is None:
                raise
            view, by = gathered.ask.views[MAIN], self._compaction.compactor
            outcome = await self._compaction.make_room(view, gathered.guard, room, by)
            if not outcome and gathered.guard.is_intact:
                if outcome is not None:
                    over.add_note(f"it could not be compacted: {outcome.reason}")
                with suppress(OverBudget):
                    return gathered, await build.io.do(self._log, shorter)
                raise
        gathered = await self._gathered(build)
        fit = partial(self._fit, gathered, build, shortens_new=not build.is_own)
        return gathered, await build.io.do(self._log, fit)

    async def _gathered(self, build: _Build) -> _Gathered:
        guard, ask, redact = Guard(self._log), self._ask(build.asked), self._writer.redact
        pieces = await _gather(build.template.sections, ask, self._read)
        if redact is not None:
            pieces = redacted_pieces(redact, pieces, ask.views.values())
        return _Gathered(ask, pieces, guard)

    async def _read(self, section: Section, ask: Ask) -> Content:
        """What a section gives; hooks hear of what is recalled."""
        hooks, place = self._writer.hooks, self._log.place
        if not (hooks.all and isinstance(section, Recall)):
            return await section.items(ask)
        question = section.question(ask)
        async with hooks.around(Recalling(place, question)) as done:
            found = await section.items(ask)
            await done(Recalled(place, question, found.quotes))
            return found

    def _ask(self, asked: BuildOptions) -> Ask:
        with self._log.applying:
            views, pool = self._log.views(), self._log.pool.fork()
        given, place, root = asked.get("input"), self._log.place, self._log.root
        return Ask(
            views=views,
            pool=pool,
            tools=tuple(asked.get("tools") or ()),
            scope=place.scope,
            conversation=place.conversation,
            input=_item_of(given, views[MAIN]) if isinstance(given, str) else given,
            inbox=tuple(asked.get("inbox") or ()),
            now=now(),
            parameters=dict(asked.get("parameters") or {}),
            memory=lambda: Memory.of(root.store, place.scope),
        )

    def _fit(self, gathered: _Gathered, build: _Build, *, shortens_new: bool = False) -> Context:
        counter, previous, template = self._counter(build), self._previous, build.template
        sources = {id(view.log): name for name, view in gathered.ask.views.items()}
        if previous is not None and previous[0] is not template:
            previous = None
        return template.fit(
            gathered.pieces,
            gathered.ask,
            model=build.model,
            counter=counter,
            previous=None if previous is None else previous[1],
            cuts=self._log.state.cuts,
            selected=self._selected(gathered.pieces) if previous is None else None,
            observer=_Requests(
                self, sources, gathered.guard, is_own=build.is_own, continues=self._continues(build)
            ),
            output=build.asked.get("output"),
            shortens_new=shortens_new,
        )

    def _selected(self, pieces: Sequence[Piece]) -> Selected:
        """What was selected for the request that was sent last, if something is to be selected."""
        if not any(isinstance(piece.content, Candidates) for piece in pieces):
            return {}
        last = Receipts(self._log)[-1:]
        return last[0].selected if last else {}

    @property
    def length(self) -> int:
        """How many items the main transcript has."""
        return len(self._log.state.transcripts[MAIN])

    def _continues(self, build: _Build) -> bool:
        """Whether the last request was like this one, few items are new, and none is read from the store.

        Then no thread is used: only what is new is counted and rendered.
        """
        if self._previous is None:
            return False
        template, last = self._previous
        if template is not build.template or last.model != build.model:
            return False
        requests, view = last.observer, self._log.state.transcripts[MAIN].view
        if not isinstance(requests, _Requests) or not requests.all or self.length - requests.length > SHORT:
            return False
        return not any(segment.is_lazy for segment, _, _ in view.log.pieces(0, view.end))

    async def render(self, io: IO, context: Context, render: Callable[[], Rendered]) -> Rendered:
        """A rendering of a context; in a thread where it takes long."""
        requests = context.observer
        is_quick = isinstance(requests, _Requests) and requests.continues
        return render() if is_quick else await io.do(self._log, render)

    def _counter(self, build: _Build) -> Counter:
        name, given = build.model or DEFAULT_MODEL, build.asked.get("counter")
        if given is None and name not in self._counters:
            self._counters[name] = Calibrated(counter_for(name))
        return self._counters[name] if given is None else checked_counter(given)

    async def _linked(self, io: IO, context: Context) -> bool:
        """Whether the conversations that a context quotes know of it; if not, they do from now on."""
        quotes = [quote for selection in quotes_in(context).values() for quote in selection.all_quotes]
        return not quotes or await io.do(self._log, lambda: link_sources(self._log, quotes))

    # Receipts

    def digest_of(self, rendered: Rendered, guard: Guard, *, catches_up: bool) -> Callable[[], str]:
        """Returns the digest of a payload. `Forgotten` if something was forgotten since it was built."""
        if catches_up:
            self._log.root.catch_up()
        guard.check("the context was built")
        return self._digests.of(rendered.shared, rendered.wire)

    @property
    def has_compactor(self) -> bool:
        """Whether a build may begin a compaction."""
        return self._compaction.compactor is not None

    def keep_receipt(
        self, request: Request, parameters: Mapping[str, Any] | None, *, rebases: bool = True
    ) -> None:
        """Keep a receipt of a request that is sent; without `rebases`, `Conflict` if others wrote first."""
        if parameters is not None:
            parameters = parameters_of(parameters, request.rendered.shared)
        if self._log.root is not self._log:
            self._log.root.catch_up()  # what a draft shows is forgotten there
        kept = self._writer.commit(partial(request.receipt, parameters), rebases=rebases)
        request.mark_receipt(kept, parameters)

    # Responses

    async def record(
        self, io: IO, response: Any, provider: str | None, to: str, sent: Any, parameters: Any = None
    ) -> Parsed:
        """The body of `Session.record`."""
        self._writer.check_open()
        reply, response = _Reply(self, io, provider, to, sent, parameters), decoded(response)
        if isinstance(response, Parsed):
            return await reply.record(response)
        if not is_stream(response):
            return await reply.record(reply.wire.parse(response, sent=reply.rendered))
        if hasattr(response, "__aiter__") and not io.is_offloaded:
            raise WrongType("an async stream is recorded by `await session.aio.record(stream)`")
        async for _ in reply.pass_on(response):
            pass
        return reply.recorded

    def listen(
        self, io: IO, events: Any, provider: str | None, to: str, sent: Any, parameters: Any = None
    ) -> AsyncGenerator[Any, None]:
        """Pass on the events of a stream; at its end, or when this is closed, the response is recorded."""
        self._writer.check_open()
        checked_type(events, Iterable | AsyncIterable, "the events of a stream are iterated")
        return _Reply(self, io, provider, to, sent, parameters).pass_on(events)

    def request_for(self, sent: Any, provider: str | None) -> Request | None:
        """The request that a response answers: `sent`, or the newest that this task has rendered."""
        if isinstance(sent, Rendered):
            return self.rendered.find(sent) or Request(sent)
        if sent is None:
            return self.rendered.newest(provider)
        if not isinstance(sent, Context):
            raise WrongType(f"what was sent is a context or a rendering of it, not {type(sent).__name__}")
        requests = sent.observer
        if not isinstance(requests, _Requests) or requests.turns is not self or not requests.all:
            raise InvalidValue("this session has rendered nothing of the context that is given as sent")
        return requests.find(provider)

    async def record_parsed(
        self,
        io: IO,
        parsed: Parsed,
        to: str,
        request: Request | None,
        parameters: Mapping[str, Any] | None = None,
        *,
        owns_calls: bool = False,
        stage: Callable[[Compute], Entries] | None = None,
    ) -> Parsed:
        """Record the items of a response and what it used; if it is refused, what it used.

        The receipt of the request comes first, if it was not kept yet. With `owns_calls` a note follows that
        the turn of an agent runs the calls. `stage` stages it all.
        """
        model = parsed.model or (None if request is None else request.rendered.model)
        if request is not None:
            request.is_answered = True
        first: list[Item] = []
        unkept = request if request is not None and request.receipt_id is None else None

        def commit(items: Sequence[Item]) -> tuple[Item, ...]:
            def entries(state: State) -> Entries:
                receipt = [] if unkept is None else unkept.receipt(parameters, state)
                kept = _with_unique_calls(items, state.waiting())
                if first and kept != first:  # whoever staged them runs them by the ids that they had
                    raise Conflict("others recorded a call of the same id first")
                first[:] = kept if stage is not None else []
                written = [Written(to, item) for item in kept]
                calls = [item.id for _, item in written if isinstance(item, ToolCall)]
                steps = [Written(CALLS, note_of(OwnedCalls(calls)))] if owns_calls and calls else []
                answered = None if request is None else request.receipt_id or _receipt_in(receipt)
                usage = parsed.usage
                used = [] if usage is None else [usage_note(usage, model, self.prices, answered)]
                return [*receipt, *written, *steps, *(Written(USAGE, note) for note in used)]

            committed = self._writer.commit(entries) if stage is None else stage(entries)
            if unkept is not None:
                unkept.mark_receipt(committed, parameters)
            return tuple(item for stream, item in committed if stream == to)

        try:
            _check_response(parsed)
            items = self._writer.ready(in_one_reply(parsed.items))
            await io.fire(self._writer.hooks, [Adding(self._log.place, to, items)])
        except BaseException:
            await io.do(self._log, lambda: commit(()))
            raise

        async def fire_added(recorded: tuple[Item, ...]) -> None:
            await io.fire(self._writer.hooks, [Added(self._log.place, to, recorded)])

        added = fire_added if self._writer.hooks.hear_records else None
        if stage is None:
            recorded = await io.write(self._log, lambda: commit(items), added)
        else:
            recorded = await io.stage(self._log, lambda: commit(items))
        if request is not None and parsed.usage is not None and recorded:
            request.learn(parsed.model, parsed.usage.input)
        return parsed._replace(items=recorded)


def _item_of(item_id: str, view: View) -> Item:
    try:
        return view.get(item_id)
    except UnknownId:
        raise UnknownId(
            'the input is an item, or the id of one in the main transcript: use `input=session.user("…")`'
        ) from None


async def _gather(sections: Sequence[Section], ask: Ask, read: Read) -> tuple[Piece, ...]:
    """What the sections show: those that are independent side by side, the rest in order."""
    shown = enabled_sections(sections)
    beside = {
        index: asyncio.ensure_future(gather_section(section, ask, read))
        for index, section in enumerate(shown)
        if settings_of(section).independent
    }
    try:
        in_order = {
            index: await gather_section(section, ask, read)
            for index, section in enumerate(shown)
            if index not in beside
        }
        return tuple([in_order[i] if i in in_order else await beside[i] for i in range(len(shown))])
    finally:
        for task in beside.values():
            task.cancel()
        await asyncio.gather(*beside.values(), return_exceptions=True)


def _parameters_with(request: Request | None, given: Any) -> Mapping[str, Any] | None:
    """The parameters that come with a response, for a receipt that was not kept yet."""
    checked_type(given, Mapping | None, "the parameters of a request are a mapping")
    if given is None:
        return None
    if request is None or request.sent is None:
        raise InvalidValue("parameters are given with what was sent: a context that this session built")
    parameters = parameters_of(given, request.rendered.shared)
    if request.receipt_id is not None and parameters != request.parameters:
        logger.warning("the receipt was kept with other parameters: give all of them to `context.sent`")
    return parameters


class _Reply:
    """One response, the request that it answers, and where it is recorded."""

    def __init__(
        self, turns: Turns, io: IO, provider: str | None, to: str, sent: Any, parameters: Any
    ) -> None:
        self._turns, self._io, self._to = turns, io, checked_name(to)
        checked_type(provider, str | None, "a provider is named")
        self._request = turns.request_for(sent, provider)
        self._parameters = _parameters_with(self._request, parameters)
        self._name = provider or (None if self._request is None else self._request.rendered.wire)
        self.recorded = Parsed(())

    @property
    def wire(self) -> Provider:
        """The wire of the response."""
        if not self._name:
            raise InvalidValue(
                "nothing was rendered in this task or thread that the response could answer: use "
                "`session.record(response, sent=context)`, or `provider=` for a request of your own"
            )
        return provider_for(self._name)

    @property
    def rendered(self) -> Rendered | None:
        """What the response answers."""
        return None if self._request is None else self._request.rendered

    async def pass_on(self, events: Any) -> AsyncGenerator[Any, None]:
        """Pass on events, and then record the response; one that breaks off is recorded as interrupted."""
        reader = self.wire.stream(sent=self.rendered)
        try:
            if hasattr(events, "__aiter__"):
                async for event in events:
                    feed(reader, event)
                    yield event
            else:
                for event in events:
                    feed(reader, event)
                    yield event
        except BaseException as fault:
            try:
                await self.record(reader.close())
            except Exception as refusal:
                if isinstance(fault, Exception | GeneratorExit):
                    raise
                log_refusal(refusal)  # a cancellation stays one
            raise
        await self.record(reader.close())

    async def record(self, parsed: Parsed) -> Parsed:
        """Record the response."""
        turns, request, parameters = self._turns, self._request, self._parameters
        self.recorded = await turns.record_parsed(self._io, parsed, self._to, request, parameters)
        return self.recorded


def _check_response(parsed: Parsed) -> None:
    """Raise `ModelFailed` for a response that is only an error."""
    if parsed.error is not None and not parsed.items:
        # The words of a provider may quote what was sent: they are for the caller alone.
        fault = ModelFailed("the provider answered with an error; its words are in the notes of this one")
        fault.add_note(parsed.error)
        raise fault
    if parsed.error is not None:
        logger.warning("a response of %d items ended in an error", len(parsed.items))


def _with_unique_calls(items: Sequence[Item], waiting: Collection[str]) -> list[Item]:
    """Items with other call ids for calls whose id an open call has: `a_2` for `a`.

    Some endpoints count the calls of each reply anew, or repeat an id within one.
    """
    taken, found = set(waiting), list[Item]()
    for item in items:
        if isinstance(item, ToolCall):
            if item.call_id in taken:
                names = (f"{item.call_id}_{number}" for number in count(2))
                item = replace(item, call_id=next(name for name in names if name not in taken))
            taken.add(item.call_id)
        found.append(item)
    return found
