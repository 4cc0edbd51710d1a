"""Builds the contexts of a session, keeps track of what was rendered of them, and records the responses."""

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
from quire.session.aio import IO, MAX_INLINE_ITEMS, Writer, check_names, checked_type
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
    """The message to answer, or its id."""
    tools: Sequence[Definition]
    """Definitions of tools."""
    model: str | None
    """The model to count for; by default, that of the template."""
    counter: Counter | None
    """Counts tokens instead of the counter of the model."""
    inbox: Sequence[Message]
    """Direct messages for the section `Inbox`."""
    parameters: Mapping[str, Any] | None
    """Values that all sections can read."""
    output: Mapping[str, Any] | None
    """The JSON schema of the answer; its tokens are counted too."""


_OPTION_TYPES: dict[str, tuple[Any, str]] = {
    "input": (str | Item, "an item, or the id of one"),
    "tools": (Sequence, "a list of definitions"),
    "model": (str, "the name of a model"),
    "inbox": (Sequence, "a list of messages"),
    "parameters": (Mapping, "a mapping"),
    "output": (Mapping, "a schema"),
}


@dataclass(eq=False)
class Request:
    """One rendering of a context, which may be sent and answered."""

    rendered: Rendered
    sent: SentRequest | None = None
    """What its receipt will say; `None` if the rendering is not of a context of this session."""
    guard: Guard | None = None
    """Tells whether something was forgotten since the context was built."""
    receipt_id: str | None = None
    """The id of its last receipt in the log; `None` if it has none."""
    parameters: Mapping[str, Any] | None = None
    """The parameters in that receipt."""
    is_learned: bool = False
    """Whether the counter was calibrated by its answer."""
    is_answered: bool = False
    owner: "ReferenceType[Any] | None" = None
    """The task or thread that rendered it: `record` without `sent` finds the requests of its own task."""

    def learn(self, model: str | None, reported: int) -> None:
        """Calibrate the counter by the reported input tokens, once, and not if another model answered."""
        asked = self.rendered.model
        is_same = asked is None or model is None or _is_same_model(asked, model)
        if self.sent is None or self.is_learned or not is_same:
            return
        receipt = self.sent.context.receipt
        if receipt.counted and reported and isinstance(receipt.counter, Calibrated):
            self.is_learned = True
            receipt.counter.learn(receipt.counted, reported)

    def receipt_entries(self, parameters: Mapping[str, Any] | None, state: State) -> Entries:
        """The entries of the receipt; a bare one if something was forgotten since the context was built."""
        if self.sent is None or self.guard is None:
            return []
        self.guard.check_not_removed()
        return self.sent.entries(state, parameters) if self.guard.is_intact else self.sent.bare_entries()

    def mark_receipt(self, written: Entries, parameters: Mapping[str, Any] | None) -> None:
        """Remember the receipt that was written, and its parameters."""
        self.receipt_id, self.parameters = _receipt_in(written) or "", parameters


class _ContextRequests(Observer):
    """The requests rendered from one context, by provider, the latest at the end."""

    def __init__(
        self, turns: "Turns", name_by_log: Mapping[int, str], guard: Guard, *, by_agent: bool, continues: bool
    ) -> None:
        """`continues`: whether only a few items are new since the last build. `by_agent`: see `_Build`."""
        self.turns, self._name_by_log = turns, name_by_log
        self._guard, self._by_agent = guard, by_agent
        self.continues, self.length = continues, turns.length
        self.all: dict[str, Request] = {}

    def rendered(self, context: Context, rendered: Rendered, plan: CachePlan) -> None:
        """Remember a rendering; `Forgotten` if something was forgotten since the context was built."""
        digest = self.turns.digest_of(rendered, self._guard, catches_up=not self._by_agent)
        sent = SentRequest(
            context, rendered.wire, rendered.model, digest, plan, self._name_by_log, self.turns.conversation
        )
        self.all.pop(rendered.wire, None)
        self.all[rendered.wire] = self.turns.rendered.add(
            rendered, sent, self._guard, by_agent=self._by_agent
        )

    def sent(self, provider: str | None, parameters: Mapping[str, Any] | None) -> None:
        """Keep a receipt of a request that is sent."""
        checked_type(parameters, Mapping | None, "the parameters of a request must be a mapping")
        request = self.find(provider)
        if request is None:
            to = f" for {cut(provider)!r}" if provider else ""
            raise InvalidValue(f"nothing of this context was rendered{to}: render it before it is sent")
        self.turns.keep_receipt(request, parameters)

    def find(self, provider: str | None) -> Request | None:
        """The latest request, or the latest one for a provider."""
        return _newest(self.all, provider)


class _RenderedRequests:
    """The requests of all renderings still in use, and the newest requests of each task or thread."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._by_rendering: dict[int, tuple[ReferenceType[Rendered], Request]] = {}  # by identity
        self._by_owner: WeakKeyDictionary[Any, dict[str, Request]] = WeakKeyDictionary()  # by provider
        self._last: Request | None = None

    def add(self, rendered: Rendered, sent: SentRequest, guard: Guard, *, by_agent: bool) -> Request:
        """Make the request of a rendering. Unless an agent made it, it becomes the newest of this task."""
        request = Request(copy(rendered), sent, guard)  # a copy, so that the rendering of the caller can go
        key, requests = id(rendered), self._by_rendering
        with self._lock:
            requests[key] = ref(rendered, lambda _: requests.pop(key, None)), request
            if not by_agent:
                task = _current_task()
                request.owner, own_requests = ref(task), self._by_owner.setdefault(task, {})
                own_requests.pop(rendered.wire, None)  # the last one is at the end
                own_requests[rendered.wire] = self._last = request
        return request

    def newest(self, provider: str | None) -> Request | None:
        """The newest request of this task, or its newest one for a provider.

        `InvalidValue` if no request of this task waits for an answer, and a request of another task does.
        `None` if this task has rendered nothing for the provider that the caller names: the caller has then
        built the request without Quire.
        """
        task = _current_task()
        with self._lock:
            own = _newest(self._by_owner.get(task, {}), provider)
            if (provider and own is None) or (own is not None and not own.is_answered):
                return own
            newest = [request for requests in self._by_owner.values() for request in requests.values()]
            rendered = [request for _, request in [*self._by_rendering.values()]]
            others = [*rendered, *newest, *([self._last] if self._last else [])]
        for other in others:
            is_waiting = other.owner is not None and other.owner() is not task and not other.is_answered
            if is_waiting and provider in (None, other.rendered.wire):
                raise InvalidValue(
                    "a request that another task or thread rendered waits for its answer: "
                    "name with `sent=` the context or rendering that this response answers"
                )
        return own

    def find(self, rendered: Rendered) -> Request | None:
        """The request of a rendering, by any task."""
        _, request = self._by_rendering.get(id(rendered), (None, None))
        return request


def _current_task() -> Any:
    """The running task, or the thread if no event loop runs in it."""
    with suppress(RuntimeError):
        return asyncio.current_task() or current_thread()
    return current_thread()


def _newest(requests: Mapping[str, Request], provider: str | None) -> Request | None:
    return requests.get(provider) if provider else next(reversed([*requests.values()]), None)


def _receipt_in(entries: Entries) -> str | None:
    """The id of the receipt among some entries."""
    return next((item.id for stream, item in entries if stream == RECEIPTS), None)


def _is_same_model(asked: str, answered: str) -> bool:
    """Whether two names mean one model: one may have a vendor at its start, or a date at its end."""
    first, second = (name.rpartition("/")[2].rpartition(":")[2].lower() for name in (asked, answered))
    return first.startswith(second) or second.startswith(first)


class _Build(NamedTuple):
    """The arguments of one build."""

    io: IO
    template: Template
    options: BuildOptions
    by_agent: bool
    """Whether the turn of an agent builds: it catches up itself, and passes the request of each response."""

    @property
    def model(self) -> str | None:
        """The model to count for; `None` if no model was named."""
        return self.options.get("model") or self.template.model


class _Gathered(NamedTuple):
    """The input and the output of the sections. The guard was made before they read anything."""

    ask: Ask
    pieces: tuple[Piece, ...]
    guard: Guard

    @property
    def history(self) -> Piece | None:
        """The first piece that shows the main transcript or a part of it."""
        for piece in self.pieces:
            if piece.origin is not None and piece.origin.log is self.ask.views[MAIN].log:
                return piece
        return None

    def room_for_history(self, over: OverBudget, counter: Counter) -> Room | None:
        """How many tokens the protected items of the history may take so that the context fits its budget.

        `None` if none are left for them.
        """
        if self.history is None:
            return None
        tokens = counter.total(sum(map(counter.count, self.history.protected()))) - over.over
        return Room(tokens, counter) if tokens > counter.total(0) else None


class Turns:
    """Builds contexts, remembers the requests rendered from them, and records the responses."""

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
        self, io: IO, template: Template, *, by_agent: bool = False, **options: Unpack[BuildOptions]
    ) -> Context:
        """The body of `Session.build`. `by_agent`: see `_Build`."""
        checked_type(template, Template, "a context must be built from a Template(History(), budget=8_000)")
        check_names(options, BuildOptions, "Session.build")
        for name, (kind, words) in _OPTION_TYPES.items():
            if options.get(name) is not None:
                checked_type(options.get(name), kind, f"Session.build({name}=…) must be {words}")
        building = Building(self._log.place, template)
        async with self._writer.hooks.around(building, may_wait=io.awaits_hooks) as fire_after:
            context = await self._built(_Build(io, template, options, by_agent))
            await fire_after(Built(self._log.place, context))
        root = self._log.root
        if root.is_checkpoint_due:  # the build may have counted many items: a checkpoint keeps the counts
            await io.do(root, root.save_checkpoint)
        return context

    async def _built(self, build: _Build) -> Context:
        await self._catch_up(build)
        if self.caps is not None:
            spent = self._log.root.state.spending + self._log.unmerged_spending
            check_caps(self.caps, spent, self.prices, build.model)
        if self._compaction.compactor is not None:
            await self._compaction.show_again(build.io, self._counter(build), build.template.budget.available)
        gathered, context = await self._fitted(build)
        if self._compaction.compactor is not None:
            context = await self._compacted(build, gathered, context)
        self._previous = (build.template, context)
        return context

    async def _compacted(self, build: _Build, gathered: _Gathered, context: Context) -> Context:
        """Begin a compaction if one is due, and return the context with notes about it in the receipt.

        A plain verb (not of `session.aio`) and a draft wait for the compaction, and return a context built
        after it: between plain verbs no event loop runs that could go on with it, and a draft ends soon.
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
        """Apply what others wrote, and finish their erasures, before anything is read."""
        root = self._log.root
        if not build.by_agent:
            await build.io.write(root, root.catch_up)
        if root.state.is_erasing:
            await build.io.do(root, lambda: finish_erasing(root))
        self._log.check_not_forgotten()

    async def _fitted(self, build: _Build) -> tuple[_Gathered, Context]:
        """Gather and fit. It is repeated until all quoted conversations are linked to this one."""
        gathered, context = await self._fit_or_compact(build)
        while not await self._linked(build.io, context):
            gathered, context = await self._fit_or_compact(build)
        return gathered, context

    async def _fit_or_compact(self, build: _Build) -> tuple[_Gathered, Context]:
        """Gather and fit; if the context is over budget, compact the main transcript first."""
        gathered = await self._gathered(build)
        # An agent moves new results that are too long into the pool itself.
        fit_shorter = partial(self._fit, gathered, build, shortens_new=not build.by_agent)
        try:
            has_compactor = self._compaction.compactor is not None
            fit = partial(self._fit, gathered, build) if has_compactor else fit_shorter
            return gathered, fit() if self._continues(build) else await build.io.do(self._log, fit)
        except OverBudget as over:
            room = gathered.room_for_history(over, self._counter(build))
            if room is None or self._compaction.compactor is None:
                raise
            view, by = gathered.ask.views[MAIN], self._compaction.compactor
            outcome = await self._compaction.make_room(view, gathered.guard, room, by)
            if not outcome and gathered.guard.is_intact:  # there was no plan, or it was discarded
                if outcome is not None:
                    over.add_note(f"it could not be compacted: {outcome.reason}")
                with suppress(OverBudget):
                    return gathered, await build.io.do(self._log, fit_shorter)
                raise
        gathered = await self._gathered(build)
        fit = partial(self._fit, gathered, build, shortens_new=not build.by_agent)
        return gathered, await build.io.do(self._log, fit)

    async def _gathered(self, build: _Build) -> _Gathered:
        guard, ask, redact = Guard(self._log), self._ask(build.options), self._writer.redact
        pieces = await _gather(build.template.sections, ask, self._read)
        if redact is not None:
            pieces = redacted_pieces(redact, pieces, ask.views.values())
        return _Gathered(ask, pieces, guard)

    async def _read(self, section: Section, ask: Ask) -> Content:
        """The content of a section; a section `Recall` fires hooks."""
        hooks, place = self._writer.hooks, self._log.place
        if not (hooks.all and isinstance(section, Recall)):
            return await section.items(ask)
        question = section.question(ask)
        async with hooks.around(Recalling(place, question)) as fire_after:
            content = await section.items(ask)
            await fire_after(Recalled(place, question, content.quotes))
            return content

    def _ask(self, options: BuildOptions) -> Ask:
        with self._log.applying:
            views, pool = self._log.views(), self._log.pool.fork()
        message, place, root = options.get("input"), self._log.place, self._log.root
        return Ask(
            views=views,
            pool=pool,
            tools=tuple(options.get("tools") or ()),
            scope=place.scope,
            conversation=place.conversation,
            input=_item_of(message, views[MAIN]) if isinstance(message, str) else message,
            inbox=tuple(options.get("inbox") or ()),
            now=now(),
            parameters=dict(options.get("parameters") or {}),
            memory=lambda: Memory.of(root.store, place.scope),
        )

    def _fit(self, gathered: _Gathered, build: _Build, *, shortens_new: bool = False) -> Context:
        counter, previous, template = self._counter(build), self._previous, build.template
        name_by_log = {id(view.log): name for name, view in gathered.ask.views.items()}
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
            observer=_ContextRequests(
                self, name_by_log, gathered.guard, by_agent=build.by_agent, continues=self._continues(build)
            ),
            output=build.options.get("output"),
            shortens_new=shortens_new,
        )

    def _selected(self, pieces: Sequence[Piece]) -> Selected:
        """The selection of the last request that was sent, if a section has candidates to select from."""
        if not any(isinstance(piece.content, Candidates) for piece in pieces):
            return {}
        last = Receipts(self._log)[-1:]
        return last[0].selected if last else {}

    @property
    def length(self) -> int:
        """How many items the main transcript has."""
        return len(self._log.state.transcripts[MAIN])

    def _continues(self, build: _Build) -> bool:
        """Whether this build only adds a few items to the last one, and reads none from the store.

        Then no thread is used: only the new items are counted and rendered.
        """
        if self._previous is None:
            return False
        template, last = self._previous
        if template is not build.template or last.model != build.model:
            return False
        requests, view = last.observer, self._log.state.transcripts[MAIN].view
        if not isinstance(requests, _ContextRequests) or not requests.all:
            return False
        has_few_new = self.length - requests.length <= MAX_INLINE_ITEMS
        return has_few_new and not any(segment.is_lazy for segment, _, _ in view.log.pieces(0, view.end))

    async def render(self, io: IO, context: Context, render: Callable[[], Rendered]) -> Rendered:
        """Render a context, in a thread if that may take long."""
        requests = context.observer
        is_quick = isinstance(requests, _ContextRequests) and requests.continues
        return render() if is_quick else await io.do(self._log, render)

    def _counter(self, build: _Build) -> Counter:
        name, counter = build.model or DEFAULT_MODEL, build.options.get("counter")
        if counter is not None:
            return checked_counter(counter)
        if name not in self._counters:
            self._counters[name] = Calibrated(counter_for(name))
        return self._counters[name]

    async def _linked(self, io: IO, context: Context) -> bool:
        """Link the conversations that a context quotes to this one; return whether all were linked before."""
        quotes = [quote for selection in quotes_in(context).values() for quote in selection.all_quotes]
        return not quotes or await io.do(self._log, lambda: link_sources(self._log, quotes))

    # Receipts

    def digest_of(self, rendered: Rendered, guard: Guard, *, catches_up: bool) -> Callable[[], str]:
        """A function that returns the digest of a payload; `Forgotten` if something was forgotten since."""
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
        """Keep the receipt of a request that is sent; without `rebases`, `Conflict` if others wrote first."""
        if parameters is not None:
            parameters = parameters_of(parameters, request.rendered.shared)
        if self._log.root is not self._log:
            self._log.root.catch_up()  # erasures are noted in the stored log
        written = self._writer.commit(partial(request.receipt_entries, parameters), rebases=rebases)
        request.mark_receipt(written, parameters)

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
            return await reply.record(reply.provider.parse(response, sent=reply.rendered))
        if hasattr(response, "__aiter__") and not io.is_offloaded:
            raise WrongType("an async stream must be recorded by `await session.aio.record(stream)`")
        async for _ in reply.pass_on(response):
            pass
        return reply.recorded

    def listen(
        self, io: IO, events: Any, provider: str | None, to: str, sent: Any, parameters: Any = None
    ) -> AsyncGenerator[Any, None]:
        """Pass on the events of a stream; record the response at its end, or when the generator is closed."""
        self._writer.check_open()
        checked_type(events, Iterable | AsyncIterable, "the events of a stream must be iterated")
        return _Reply(self, io, provider, to, sent, parameters).pass_on(events)

    def request_for(self, sent: Any, provider: str | None) -> Request | None:
        """The request that a response answers: that of `sent`, or the newest one of this task."""
        if isinstance(sent, Rendered):
            return self.rendered.find(sent) or Request(sent)
        if sent is None:
            return self.rendered.newest(provider)
        if not isinstance(sent, Context):
            raise WrongType(f"what was sent must be a context or its rendering, not {type(sent).__name__}")
        requests = sent.observer
        if not isinstance(requests, _ContextRequests) or requests.turns is not self or not requests.all:
            raise InvalidValue(
                "the context given as `sent` was not rendered by this session: call context.render(…) first"
            )
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
        """Record the items and the usage of a response; if a hook refuses the items, only the usage.

        The receipt of the request comes first, unless it was kept before. With `owns_calls`, a note says that
        the turn of an agent runs the calls. With `stage`, the entries are staged instead of written.
        """
        model = parsed.model or (None if request is None else request.rendered.model)
        if request is not None:
            request.is_answered = True
        staged: list[Item] = []
        unkept = request if request is not None and request.receipt_id is None else None

        def commit(items: Sequence[Item]) -> tuple[Item, ...]:
            def entries(state: State) -> Entries:
                if request is not None and request.guard is not None:
                    request.guard.check_not_removed()
                receipt = [] if unkept is None else unkept.receipt_entries(parameters, state)
                unique = _with_unique_calls(items, state.open_call_ids())
                if staged and unique != staged:  # the turn that staged them has begun to use their ids
                    raise Conflict("others recorded a call of the same id first")
                staged[:] = unique if stage is not None else []
                result = [*receipt, *(Written(to, item) for item in unique)]
                calls = [item.id for item in unique if isinstance(item, ToolCall)]
                if owns_calls and calls:
                    result.append(Written(CALLS, note_of(OwnedCalls(calls))))
                if parsed.usage is not None:
                    receipt_id = None if request is None else request.receipt_id or _receipt_in(receipt)
                    note = usage_note(parsed.usage, model, self.prices, receipt_id)
                    result.append(Written(USAGE, note))
                return result

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

        added = fire_added if self._writer.hooks.has_record_hooks else None
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
            '`input` must be an item, or the id of one in the main transcript: use `input=session.user("…")`'
        ) from None


async def _gather(sections: Sequence[Section], ask: Ask, read: Read) -> tuple[Piece, ...]:
    """The pieces of the sections. Independent sections run concurrently, the others in order."""
    shown = enabled_sections(sections)
    concurrent = {
        index: asyncio.ensure_future(gather_section(section, ask, read))
        for index, section in enumerate(shown)
        if settings_of(section).independent
    }
    try:
        in_order = {
            index: await gather_section(section, ask, read)
            for index, section in enumerate(shown)
            if index not in concurrent
        }
        return tuple([in_order[i] if i in in_order else await concurrent[i] for i in range(len(shown))])
    finally:
        for task in concurrent.values():
            task.cancel()
        await asyncio.gather(*concurrent.values(), return_exceptions=True)


def _parameters_with(request: Request | None, sent_parameters: Any) -> Mapping[str, Any] | None:
    """Check the parameters that come with a response, and return those for its receipt."""
    checked_type(sent_parameters, Mapping | None, "the parameters of a request must be a mapping")
    if sent_parameters is None:
        return None
    if request is None or request.sent is None:
        raise InvalidValue("parameters must be given with what was sent: a context that this session built")
    parameters = parameters_of(sent_parameters, request.rendered.shared)
    if request.receipt_id is not None and parameters != request.parameters:
        logger.warning("the receipt was kept with other parameters: give all of them to `context.sent`")
    return parameters


class _Reply:
    """One response, the request that it answers, and where it is recorded."""

    def __init__(
        self, turns: Turns, io: IO, provider: str | None, to: str, sent: Any, parameters: Any
    ) -> None:
        self._turns, self._io, self._to = turns, io, checked_name(to)
        checked_type(provider, str | None, "a provider must be named")
        self._request = turns.request_for(sent, provider)
        self._parameters = _parameters_with(self._request, parameters)
        self._name = provider or (None if self._request is None else self._request.rendered.wire)
        self.recorded = Parsed(())

    @property
    def provider(self) -> Provider:
        """The provider whose format the response has."""
        if not self._name:
            raise InvalidValue(
                "nothing was rendered in this task or thread that the response could answer: use "
                "`session.record(response, sent=context)`, or `provider=` for a request of your own"
            )
        return provider_for(self._name)

    @property
    def rendered(self) -> Rendered | None:
        """The rendering that the response answers."""
        return None if self._request is None else self._request.rendered

    async def pass_on(self, events: Any) -> AsyncGenerator[Any, None]:
        """Pass on events, then record the response. If they break off, it is recorded as interrupted."""
        reader = self.provider.stream(sent=self.rendered)
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
                log_refusal(refusal)  # a cancellation is raised instead of this error
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
        # The text of the provider may quote the request: only the caller may see it, and no log.
        fault = ModelFailed("the provider answered with an error: the notes of this exception say which")
        fault.add_note(parsed.error)
        raise fault
    if parsed.error is not None:
        logger.warning("a response of %d items ended in an error", len(parsed.items))


def _with_unique_calls(items: Sequence[Item], open_ids: Collection[str]) -> list[Item]:
    """The items, with a new call id for each call whose id an open call has: `a_2` for `a`.

    Some endpoints number the calls of each reply from the start, or repeat an id within one reply.
    """
    used, unique = set(open_ids), list[Item]()
    for item in items:
        if isinstance(item, ToolCall):
            if item.call_id in used:
                names = (f"{item.call_id}_{number}" for number in count(2))
                item = replace(item, call_id=next(name for name in names if name not in used))
            used.add(item.call_id)
        unique.append(item)
    return unique
