"""What is recorded of exchanges: items, receipts, usage, times; and what there is to warn of.

It runs in a process of its own: nothing that is read or stored keeps the bytes of a program waiting.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from quire.context import DEFAULT_MODEL, Context, Template
from quire.errors import ModelFailed
from quire.items import Item, Message, Note, Reasoning, ToolCall, ToolResult
from quire.providers import check, entries_in, fields_in
from quire.proxy.conversations import Conversations, Thread
from quire.proxy.exchange import Answer, Exchange, Json, Reply, Request, read_answer
from quire.proxy.fitting import Changed, Fitting, Sent, changed
from quire.reading.report import EXCHANGES as EXCHANGES, describe_break, find_waste
from quire.sections import History, Instructions
from quire.session import Session, before_of, compare_requests
from quire.stores import Place, Store, place_at
from quire.tokens import Budget, Counter, Usage, counter_for, facts_for

LOSSES = "proxy-losses"
"""The conversation that says what could not be recorded."""

_WINDOW = 128_000
_MOST_FAULTS, _MOST_COMPARED, _MOST_CHECKED = 5, 20, 2_000
_SIZE = "tokens"
"""Where an item without content says how large it was."""
_SAID: dict[Any, str] = {Message: "content", ToolResult: "content", ToolCall: "arguments", Reasoning: "text"}
"""Where an item has what was said."""


class Settings(NamedTuple):
    """Where a proxy records, what it leaves out there, and what it may change in requests."""

    store: str | Store = "quire.db"
    key: bytes | None = None
    has_content: bool = True
    patterns: tuple[str, ...] = ()
    fitting: Fitting = Fitting()


class Begun(NamedTuple):
    """What became of a request: the body to send in its place, and warnings."""

    body: bytes | None = None
    warnings: tuple[str, ...] = ()


class _Waiting:
    """A request that waits for its answer."""

    def __init__(self, request: Request, thread: Thread, sent: Sent, changed: Changed, caller: str) -> None:
        self.request, self.thread, self.sent, self.changed = request, thread, sent, changed
        self.caller = caller
        self.reply: Reply | None = None


class Observer:
    """Records exchanges in a store."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: Conversations | None = None
        self._waiting: dict[int, _Waiting] = {}
        self._warned: set[tuple[Place, str]] = set()
        self._patterns = tuple(re.compile(one) for one in settings.patterns)
        hides = self._patterns or not settings.has_content
        self._redact = partial(_redacted, self._patterns, settings.has_content) if hides else None

    @property
    def _conversations(self) -> Conversations:
        """The conversations of the store, which is opened when it is first needed."""
        if self._known is None:
            given = self._settings.store
            store = given if isinstance(given, Store) else Store.open(given, key=self._settings.key)
            self._known = Conversations(store, self._opened)
        return self._known

    def _opened(self, place: Place, store: Store) -> Session:
        return Session.open(str(place), store=store, redact=self._redact)

    # Requests

    def begin(self, exchange: Exchange) -> Begun:
        """Record a request, and return what to send in its place, if it is to be changed."""
        request = Request(exchange)
        thread = self._conversations.take(request, exchange.upstream, exchange.caller)
        context, fitting = self._build(thread, request), self._settings.fitting
        sent = Sent(context, context.render(request.wire))
        faults = check(_checked_part(request, fitting), request.wire, model=request.model)
        advice = [f"the provider will refuse this request: {one}" for one in faults[:_MOST_FAULTS]]
        receipt = context.receipt
        advice += find_waste(thread.session.view(), request.tools, receipt.schemas, receipt.tokens)
        other = changed(fitting, request, thread, context, faults) if fitting else Changed()
        for one in filter(None, (sent, other.sent)):
            one.context.receipt.advice += (*advice, *other.changes)
        if other.body is None:
            self._keep(sent, request)
        thread.open_requests += 1
        self._waiting[exchange.number] = _Waiting(request, thread, sent, other, exchange.caller)
        return Begun(other.body, self._warnings(thread, [*advice, *other.changes]))

    def _build(self, thread: Thread, request: Request) -> Context:
        """The context of a request as it is: all of it, whatever its size."""
        known = counter_for(request.model or DEFAULT_MODEL)
        counter: Counter = known if self._settings.has_content else _Sizes(known)
        size = facts_for(request.model or DEFAULT_MODEL).window or _WINDOW
        while size < 2 * thread.session.view().tokens(counter):
            size *= 2
        template = thread.template(request, size, lambda: _template(request, size))
        given = None if self._settings.has_content else counter
        return thread.session.build(template, tools=request.tools, model=request.model, counter=given)

    def _keep(self, sent: Sent, request: Request) -> None:
        """Keep the receipt of a request that is sent."""
        given = _cleaned(self._patterns, request.parameters)
        if not self._settings.has_content:
            given = {name: one for name, one in given.items() if isinstance(one, int | float)}
            given |= {"model": request.model}
        sent.context.sent(request.wire, parameters=given)

    # Answers

    def end(self, answer: Answer) -> tuple[str, ...] | None:
        """Record an answer, and return warnings; None if its request is not known."""
        waiting = self._waiting.get(answer.number)
        if waiting is None:
            return None
        thread = waiting.thread
        if waiting.reply is None:
            waiting.reply = self._record(waiting, answer)
        thread.session.append(self._note(waiting, waiting.reply, answer), to=EXCHANGES)
        del self._waiting[answer.number]
        usage = waiting.reply.parsed.usage
        return () if usage is None else self._warnings(thread, self._breaks(thread.session, usage))

    def _record(self, waiting: _Waiting, answer: Answer) -> Reply:
        request, thread, sent = waiting.request, waiting.thread, waiting.sent
        if answer.is_changed and waiting.changed.sent is not None:  # else it was ready too late
            sent = waiting.changed.sent
        if waiting.changed.body is not None:
            self._keep(sent, request)
        reply = read_answer(request.wire, answer, sent.rendered, request.model)
        is_whole = answer.is_whole and reply.parsed.error is None
        unit = thread.answer_unit(reply.parsed.items, reply.response)
        with suppress(ModelFailed):  # an answer that is only an error; what it used is recorded
            kept = thread.session.record(reply.parsed._replace(items=unit.items), sent=sent.rendered)
            unit = unit._replace(items=kept.items)
            self._conversations.answered(thread, unit, is_whole=is_whole, caller=waiting.caller)
        thread.open_requests -= 1
        return reply

    def _note(self, waiting: _Waiting, reply: Reply, answer: Answer) -> Note:
        """How a request was answered."""
        content: dict[str, Any] = {
            "status": answer.status,
            "first": reply.first,
            "seconds": reply.seconds,
            "whole": answer.is_whole,
            "changed": list(waiting.changed.changes) if answer.is_changed else [],
            "response": reply.response,
        }
        if reply.parsed.error:
            error = reply.parsed.error if self._settings.has_content else "an error"
            content["error"] = _cleaned(self._patterns, error)
        return Note(content, description=f"answered with {answer.status}")

    def note_loss(self, count: int, reason: str) -> None:
        """Record that so many exchanges could not be recorded."""
        self._opened(place_at(conversation=LOSSES), self._conversations.store).append(
            Note({"count": count, "reason": reason}, description="exchanges that were not recorded")
        )

    # Warnings

    def _breaks(self, session: Session, usage: Usage) -> list[str]:
        """What to say if a cache did not serve what it could."""
        if usage.cache_read > 0.9 * usage.input:
            return []
        kept = session.receipts[-_MOST_COMPARED:]
        before = before_of(kept[-1], kept[:-1])
        made = None if before is None else compare_requests(before, kept[-1])
        if before is None or made is None or made.cause is None:
            return []
        has_cache = any(one.spending.usage.cache_read for one in kept)  # some services have none
        is_said = has_cache or made.cause.name != "not served"
        return describe_break(before, kept[-1], made) if is_said else []

    def _warnings(self, thread: Thread, found: Sequence[str]) -> tuple[str, ...]:
        """Warnings that were not given in this conversation, each with its name."""
        place = thread.session.place
        new = [one for one in dict.fromkeys(found) if (place, one) not in self._warned]
        self._warned |= {(place, one) for one in new}
        return tuple(f"{place.conversation}: {one}" for one in new)


def _template(request: Request, size: int) -> Template:
    first = [Instructions(request.instructions)] if request.instructions else []
    return Template(*first, History(), budget=Budget(window=size), model=request.model)


def _checked_part(request: Request, fitting: Fitting) -> Json:
    """The payload, or of a very long one the last turns, if nothing is to be changed: to check takes long."""
    start = len(request.messages) - _MOST_CHECKED
    if start <= 0 or fitting:
        return request.payload
    turns = (n for n in range(start, len(request.messages)) if request.messages[n].get("role") == "user")
    return {**request.payload, request.field: request.messages[next(turns, 0) :]}


# What is left out


class _Sizes:
    """Counts items without content by the size that they had."""

    def __init__(self, counter: Counter) -> None:
        self._counter, self.key = counter, f"{counter.key} of proxy"

    def count(self, item: Item) -> int:
        """The tokens of an item."""
        size = getattr(item, "extras", {}).get(_SIZE)
        return size if isinstance(size, int) else self._counter.count(item)

    def total(self, counted: int) -> int:
        """The tokens of a request."""
        return self._counter.total(counted)


def _redacted(patterns: Sequence[re.Pattern[str]], has_content: bool, item: Item) -> Item:
    """An item without what is not to be stored."""
    name = _SAID.get(type(item))
    if name is None:
        return item
    was: Any = getattr(item, name)
    if has_content:
        now = _cleaned(patterns, was if isinstance(was, str) else list(was))
        now = now if isinstance(was, str) else tuple(now)
        state = msgspec.json.encode(getattr(item, "state", None)).decode()  # it may repeat what was said
        if now == was and _cleaned(patterns, state) == state:
            return item
        changes: dict[str, Any] = {name: now}
    else:
        size = getattr(item, "extras", {}).get(_SIZE) or counter_for(DEFAULT_MODEL).count(item)
        changes = {name: "{}" if isinstance(item, ToolCall) else f"[{size:,} tokens]"}
        changes["extras"] = {**getattr(item, "extras", {}), _SIZE: size}
    return replace(item, **changes, **({"state": None} if hasattr(item, "state") else {}))


def _cleaned(patterns: Sequence[re.Pattern[str]], value: Any) -> Any:
    """A text, or what is in JSON, without what the patterns find."""
    if isinstance(value, str):
        for pattern in patterns:
            value = pattern.sub("[redacted]", value)
        return value
    if isinstance(value, dict):
        return {name: _cleaned(patterns, one) for name, one in fields_in(value).items()}
    return [_cleaned(patterns, one) for one in entries_in(value)] if isinstance(value, list) else value
