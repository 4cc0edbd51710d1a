"""The observer: records exchanges as items, receipts, usage and times, and returns warnings.

It runs in a process of its own, so that no request waits for it.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from quire.context import DEFAULT_MODEL, Context
from quire.errors import ModelFailed
from quire.items import Item, Message, Note, Reasoning, ToolCall, ToolResult
from quire.providers import check, entries_in, fields_in
from quire.proxy.changes import AllowedChanges, Built, Change, change_request
from quire.proxy.conversations import Conversations, Thread
from quire.proxy.exchange import Answer, Exchange, Json, Reply, Request, read_answer
from quire.reading.report import EXCHANGES as EXCHANGES, describe_break, find_waste
from quire.sections import History
from quire.session import Session, before_of, compare_requests
from quire.stores import Place, Store, place_at
from quire.tokens import Counter, Usage, counter_for, facts_for

LOSSES = "proxy-losses"
"""The conversation with the number of exchanges that could not be recorded."""

_DEFAULT_WINDOW = 128_000
_MAX_FAULTS, _MAX_COMPARED_RECEIPTS, _MAX_CHECKED_MESSAGES = 5, 20, 2_000
_SIZE = "tokens"
"""The key of `extras` for the size of an item that is stored without content."""
_CONTENT_FIELDS: dict[Any, str] = {
    Message: "content",
    ToolResult: "content",
    ToolCall: "arguments",
    Reasoning: "text",
}
"""The field of an item with its content."""


class Settings(NamedTuple):
    """Where a proxy records, what it redacts, and what it may change in requests.

    `key` opens a sealed store. What the `patterns` match is redacted; without `has_content`, all content is.
    """

    store: str | Store = "quire.db"
    key: bytes | None = None
    has_content: bool = True
    patterns: tuple[str, ...] = ()
    allowed: AllowedChanges = AllowedChanges()


class Outcome(NamedTuple):
    """The outcome of recording a request: the body to send in its place, if any, and warnings."""

    body: bytes | None = None
    warnings: tuple[str, ...] = ()


class _OpenRequest:
    """A request that waits for its answer."""

    def __init__(self, request: Request, thread: Thread, built: Built, change: Change, caller: str) -> None:
        self.request, self.thread, self.built, self.change = request, thread, built, change
        self.caller = caller
        self.reply: Reply | None = None


class Observer:
    """Records exchanges in a store."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened: Conversations | None = None
        self._open_requests: dict[int, _OpenRequest] = {}  # by the numbers of their exchanges
        self._warned: set[tuple[Place, str]] = set()
        self._patterns = tuple(re.compile(pattern) for pattern in settings.patterns)
        must_redact = self._patterns or not settings.has_content
        self._redact = partial(_redact, self._patterns, settings.has_content) if must_redact else None

    @property
    def _conversations(self) -> Conversations:
        """The conversations of the store, which is opened on first use."""
        if self._opened is None:
            url = self._settings.store
            store = url if isinstance(url, Store) else Store.open(url, key=self._settings.key)
            self._opened = Conversations(store, self._session)
        return self._opened

    def _session(self, place: Place, store: Store) -> Session:
        return Session.open(str(place), store=store, redact=self._redact)

    # Requests

    def begin(self, exchange: Exchange) -> Outcome:
        """Record a request, and change it if that is allowed and needed."""
        request = Request(exchange)
        thread = self._conversations.record(request, exchange.upstream, exchange.caller)
        context, allowed = self._build(thread, request), self._settings.allowed
        built = Built(context, context.render(request.wire))
        faults = check(_part_to_check(request, allowed), request.wire, model=request.model)
        advice = [f"the provider will refuse this request: {fault}" for fault in faults[:_MAX_FAULTS]]
        receipt = context.receipt
        advice += find_waste(thread.session.view(), request.tools, receipt.schemas, receipt.tokens)
        change = change_request(allowed, request, thread, context, faults) if allowed else Change()
        for sendable in filter(None, (built, change.built)):
            sendable.context.receipt.advice += (*advice, *change.descriptions)
        if change.body is None:
            self._record_receipt(built, request)
        thread.open_requests += 1
        opened = _OpenRequest(request, thread, built, change, exchange.caller)
        self._open_requests[exchange.number] = opened
        return Outcome(change.body, self._warnings(thread, [*advice, *change.descriptions]))

    def _build(self, thread: Thread, request: Request) -> Context:
        """The context of the whole request, whatever its size."""
        exact = counter_for(request.model or DEFAULT_MODEL)
        counter: Counter = exact if self._settings.has_content else _SizeCounter(exact)
        size = facts_for(request.model or DEFAULT_MODEL).window or _DEFAULT_WINDOW
        while size < 2 * thread.session.view().tokens(counter):
            size *= 2
        template = thread.template(request, size, History())
        own = None if self._settings.has_content else counter
        return thread.session.build(template, tools=request.tools, model=request.model, counter=own)

    def _record_receipt(self, built: Built, request: Request) -> None:
        """Record the receipt of a request that is sent."""
        parameters = _cleaned(self._patterns, request.parameters)
        if not self._settings.has_content:
            numbers = {name: value for name, value in parameters.items() if isinstance(value, int | float)}
            parameters = {**numbers, "model": request.model}
        built.context.sent(request.wire, parameters=parameters)

    # Answers

    def end(self, answer: Answer) -> tuple[str, ...] | None:
        """Record an answer, and return warnings; None if its request is unknown."""
        opened = self._open_requests.get(answer.number)
        if opened is None:
            return None
        thread = opened.thread
        if opened.reply is None:  # else this is a retry
            opened.reply = self._record(opened, answer)
        thread.session.append(self._note(opened, opened.reply, answer), to=EXCHANGES)
        del self._open_requests[answer.number]
        usage = opened.reply.parsed.usage
        return () if usage is None else self._warnings(thread, self._breaks(thread.session, usage))

    def _record(self, opened: _OpenRequest, answer: Answer) -> Reply:
        request, thread, built = opened.request, opened.thread, opened.built
        if answer.is_changed and opened.change.built is not None:  # else the change came too late
            built = opened.change.built
        if opened.change.body is not None:
            self._record_receipt(built, request)
        reply = read_answer(request.wire, answer, built.rendered, request.model)
        is_whole = answer.is_whole and reply.parsed.error is None
        unit = thread.answer_unit(reply.parsed.items, reply.response)
        with suppress(ModelFailed):  # the answer is only an error; its usage is recorded
            recorded = thread.session.record(reply.parsed._replace(items=unit.items), sent=built.rendered)
            unit = unit._replace(items=recorded.items)
            self._conversations.add_answer(thread, unit, is_whole=is_whole, caller=opened.caller)
        thread.open_requests -= 1
        return reply

    def _note(self, opened: _OpenRequest, reply: Reply, answer: Answer) -> Note:
        """The note that says how a request was answered."""
        content: dict[str, Any] = {
            "status": answer.status,
            "first": reply.first_seconds,
            "seconds": reply.seconds,
            "whole": answer.is_whole,
            "changed": list(opened.change.descriptions) if answer.is_changed else [],
            "response": reply.response,
        }
        if reply.parsed.error:
            error = reply.parsed.error if self._settings.has_content else "an error"
            content["error"] = _cleaned(self._patterns, error)
        return Note(content, description=f"answered with {answer.status}")

    def note_loss(self, count: int, reason: str) -> None:
        """Record that `count` exchanges could not be recorded."""
        self._session(place_at(conversation=LOSSES), self._conversations.store).append(
            Note({"count": count, "reason": reason}, description="exchanges that were not recorded")
        )

    # Warnings

    def _breaks(self, session: Session, usage: Usage) -> list[str]:
        """Warnings about a cache that served less than it could."""
        if usage.cache_read > 0.9 * usage.input:
            return []
        receipts = session.receipts[-_MAX_COMPARED_RECEIPTS:]
        *earlier, last = receipts
        before = before_of(last, earlier)
        comparison = None if before is None else compare_requests(before, last)
        if before is None or comparison is None or comparison.cause is None:
            return []
        has_cache = any(receipt.spending.usage.cache_read for receipt in receipts)  # some services have none
        is_break = has_cache or comparison.cause.name != "not served"
        return describe_break(before, last, comparison) if is_break else []

    def _warnings(self, thread: Thread, texts: Sequence[str]) -> tuple[str, ...]:
        """The warnings that are new in this conversation, each with its name."""
        place = thread.session.place
        new = [text for text in dict.fromkeys(texts) if (place, text) not in self._warned]
        self._warned |= {(place, text) for text in new}
        return tuple(f"{place.conversation}: {text}" for text in new)


def _part_to_check(request: Request, allowed: AllowedChanges) -> Json:
    """The payload, or only the last turns of a very long one that is not changed: a check takes long."""
    start = len(request.messages) - _MAX_CHECKED_MESSAGES
    if start <= 0 or allowed:
        return request.payload
    turns = (n for n in range(start, len(request.messages)) if request.messages[n].get("role") == "user")
    return {**request.payload, request.field: request.messages[next(turns, 0) :]}


# Redaction


class _SizeCounter:
    """Counts items that are stored without content by their original size."""

    def __init__(self, counter: Counter) -> None:
        self._counter, self.key = counter, f"{counter.key} of proxy"

    def count(self, item: Item) -> int:
        """The tokens of an item."""
        size = getattr(item, "extras", {}).get(_SIZE)
        return size if isinstance(size, int) else self._counter.count(item)

    def total(self, counted: int) -> int:
        """The tokens of a request."""
        return self._counter.total(counted)


def _redact(patterns: Sequence[re.Pattern[str]], has_content: bool, item: Item) -> Item:
    """An item without the content that is not to be stored."""
    name = _CONTENT_FIELDS.get(type(item))
    if name is None:
        return item
    content: Any = getattr(item, name)
    if has_content:
        clean = _cleaned(patterns, content if isinstance(content, str) else list(content))
        clean = clean if isinstance(content, str) else tuple(clean)
        state = msgspec.json.encode(getattr(item, "state", None)).decode()  # it may repeat the content
        if clean == content and _cleaned(patterns, state) == state:
            return item
        changes: dict[str, Any] = {name: clean}
    else:
        size = getattr(item, "extras", {}).get(_SIZE) or counter_for(DEFAULT_MODEL).count(item)
        changes = {name: "{}" if isinstance(item, ToolCall) else f"[{size:,} tokens]"}
        changes["extras"] = {**getattr(item, "extras", {}), _SIZE: size}
    return replace(item, **changes, **({"state": None} if hasattr(item, "state") else {}))


def _cleaned(patterns: Sequence[re.Pattern[str]], value: Any) -> Any:
    """A JSON value whose texts are without the matches of some patterns."""
    if isinstance(value, str):
        for pattern in patterns:
            value = pattern.sub("[redacted]", value)
        return value
    if isinstance(value, dict):
        return {name: _cleaned(patterns, field) for name, field in fields_in(value).items()}
    return [_cleaned(patterns, entry) for entry in entries_in(value)] if isinstance(value, list) else value
