"""Which conversation a request continues, and which of its messages are new.

A request repeats its whole history. It continues the conversation with which it shares the longest prefix;
the messages after the prefix are new. If the conversation has other messages after the prefix, the request

- continues it nevertheless if it repeats or quotes a later reply of the conversation (the program edited,
  cleared or compacted its history), or if the conversation has just one message after the prefix, which is
  not a complete answer. Messages that the request no longer has are hidden;
- is a fork of it if the prefix has a reply of the model: an edited question, a retry, a parallel agent;
- otherwise begins a new conversation.

A conversation is named by the digest of its first message, so it is found after a restart without an index.
Each recorded item has the range of its messages, and a digest of all messages up to the end of that range.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import count, groupby
from typing import Any, NamedTuple

from msgspec.structs import replace

from quire.context import Template
from quire.errors import Conflict, InvalidValue, OutOfRange, QuireError
from quire.integrations.mirror import closing_results
from quire.items import Item, ToolCall, ToolResult, Unknown, new_id
from quire.providers import NO_NAME
from quire.proxy.exchange import Request, Unit, unit_of
from quire.sections import Instructions, Section
from quire.session import Session
from quire.state import is_user_message
from quire.stores import Place, Store, place_at
from quire.tokens import Budget

MARK = "proxy"
"""The key of `extras` for the messages that an item comes from, and their digest."""

_MAX_THREADS, _MAX_UNITS, _MAX_RECENT, _MAX_RETRIES = 500, 1_000_000, 200, 10
_MAX_FORKS = 100_000
_MIN_SUMMARY = 200
"""The length, in characters, from which an answer is recognised when another request quotes it."""

Open = Callable[[Place, Store], Session]


class Thread:
    """An open conversation: its session and its units. A unit is a reply of the model, or one other message.

    `open_requests` counts the requests without an answer. `last_answer` is the text of the latest answer;
    `is_answered` says whether that answer was complete.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.units: list[Unit] = []
        self.open_requests = 0
        self.last_answer, self.is_answered = "", False
        self._index_by_digest: dict[bytes, int] = {}
        self._templates: dict[tuple[Any, ...], Template] = {}

    def template(self, request: Request, size: int, *sections: Section) -> Template:
        """The template of some sections and the instructions of a request; the last few are cached."""
        key = (size, request.model, len(sections), *(message.text for message in request.instructions))
        if key not in self._templates:
            first = [Instructions(request.instructions)] if request.instructions else []
            new = Template(*first, *sections, budget=Budget(window=size), model=request.model)
            self._templates = {**dict([*self._templates.items()][-3:]), key: new}
        return self._templates[key]

    def set_units(self, units: Sequence[Unit], start: int) -> None:
        """Replace the units from an index on."""
        del self.units[start:]
        for unit in units:
            self.units.append(unit)
            if unit.digest:
                self._index_by_digest[unit.digest] = len(self.units) - 1

    def reload(self) -> None:
        """Read the units from the recorded items."""
        view = self.session.view()
        positions = (at for at in range(view.end) if view.fate_at(at).state != "hidden")
        runs = groupby(filter(_mark_of, map(view.log.item, positions)), _mark_of)
        self._index_by_digest.clear()
        self.set_units([_recorded_unit(mark, list(items)) for mark, items in runs if mark is not None], 0)
        if self.units:
            self._set_answer(self.units[-1])

    def _set_answer(self, unit: Unit) -> None:
        texts = (getattr(item, "text", "") for item in unit.items)
        self.last_answer = max(texts, key=len, default="").strip()
        is_broken = any(getattr(item, "interrupted", False) for item in unit.items)
        self.is_answered = unit.is_reply and not is_broken

    def answer_unit(self, items: Sequence[Item], response: str) -> Unit:
        """An answer as a unit, at the position that it will have when the next request repeats it."""
        start = self.units[-1].stop if self.units else 0
        unit = unit_of(items, start, start + 1, response=response)
        return unit._replace(items=marked(unit))

    def add_answer(self, unit: Unit, *, is_whole: bool) -> None:
        """Add an answer that was recorded."""
        self.set_units([unit], len(self.units))
        self._set_answer(unit)
        self.is_answered &= is_whole

    def compare(self, request: Request) -> "Match":
        """The longest prefix that this conversation shares with a request."""
        unit_count = message_count = 0
        for stop in range(len(request.digests), 0, -1):
            index = self._index_by_digest.get(request.digests[stop - 1])
            if index is not None and index < len(self.units):
                unit_count, message_count = index + 1, stop
                break
        while unit_count < len(self.units) and message_count < len(request.messages):
            unit = request.unit(message_count)  # an answer has no digest until a request repeats it
            if unit.content != self.units[unit_count].content:
                break
            unit_count, message_count = unit_count + 1, unit.stop
        return Match(self, unit_count, message_count)


class Match(NamedTuple):
    """A shared prefix: the first units of a conversation are the first messages of a request.

    If a request names its conversation and sends only new messages, `message_count` is 0.
    """

    thread: Thread
    unit_count: int
    message_count: int

    @property
    def rest(self) -> list[Unit]:
        """The units of the conversation after the prefix."""
        return self.thread.units[self.unit_count :]

    @property
    def has_reply(self) -> bool:
        """Whether the prefix has a reply of the model."""
        return any(unit.is_reply for unit in self.thread.units[: self.unit_count])


class Conversations:
    """The conversations that requests belong to. The least recently used are closed."""

    def __init__(self, store: Store, open_session: Open) -> None:
        self.store = store
        self._open = open_session
        self._threads: OrderedDict[Place, Thread] = OrderedDict()
        self._places_by_start: dict[tuple[str, bytes], dict[Place, None]] = {}
        self._place_by_key: dict[tuple[str, str], Place] = {}

    def record(self, request: Request, upstream: str, caller: str = "") -> Thread:
        """Record the new messages of a request in the conversation that it continues."""
        for _ in range(_MAX_RETRIES):
            match = self._find_named(request, upstream, caller) or self._find(request, upstream, caller)
            try:
                new = _record(request, match)
            except Conflict:  # another process wrote to it: compare again
                match.thread.session.refresh()
                match.thread.reload()
                continue
            self._index(match.thread, new, caller)
            first = caller, request.digests[0]
            self._places_by_start.setdefault(first, {})[match.thread.session.place] = None
            self._close_idle()
            return match.thread
        raise Conflict("other processes keep writing to the conversation")

    def add_answer(self, thread: Thread, unit: Unit, *, is_whole: bool, caller: str = "") -> None:
        """Add the recorded answer to the last request."""
        thread.add_answer(unit, is_whole=is_whole)
        self._index(thread, [unit], caller)

    # Finding a conversation

    def _find_named(self, request: Request, upstream: str, caller: str) -> Match | None:
        """The conversation that a request names, by its own id or by the id of one of its responses."""
        response, conversation = request.names
        if conversation:
            thread = self._thread(_place(f"{upstream}-{conversation}", caller), caller)
            return Match(thread, len(thread.units), 0)
        if response and (caller, response) not in self._place_by_key:
            self._load_recent(caller)
        place = self._place_by_key.get((caller, response)) if response else None
        if place is None:
            return None
        thread = self._thread(place, caller)
        stops = (n for n, unit in enumerate(thread.units, 1) if unit.response == response)
        match = Match(thread, next(stops, len(thread.units)), 0)
        return match if not match.rest else self._fork(match, copies=True)

    def _find(self, request: Request, upstream: str, caller: str) -> Match:
        """The conversation with the longest shared prefix, a fork of it, or a new one."""
        name = f"{upstream}-{request.digests[0].hex()[:16]}"
        matches = [thread.compare(request) for thread in self._candidates(name, request, caller)]
        best = max(matches, key=lambda match: (match.message_count, -len(match.rest)), default=None)
        if best is not None and self._continues(best, request):
            return best
        if best is None or not best.has_reply:
            by_reply = self._find_by_reply(request, caller)
            if by_reply is not None and self._continues(by_reply, request):
                return by_reply
        fork = self._fork(best) if best is not None and best.has_reply else None
        return fork or Match(self._new_thread(name, caller), 0, 0)

    def _continues(self, match: Match, request: Request) -> bool:
        """Whether a request continues this conversation; if not, it is a fork of it, or a new one."""
        thread, rest, new = match.thread, match.rest, list(request.units(match.message_count))
        if not rest:
            # While another request is open, the same prefix is a parallel agent, unless it has the answer.
            is_next = not thread.open_requests or any(unit.is_reply for unit in new)
            return bool(match.message_count) and is_next
        keys = {key for unit in rest for key in unit.keys}
        if any(key in keys for unit in new for key in unit.keys) or _quotes_answer(thread, new):
            return True
        was_answered = len(rest) > 1 or (rest[0].is_reply and thread.is_answered)
        return bool(match.message_count) and not was_answered and not thread.open_requests

    def _candidates(self, name: str, request: Request, caller: str) -> list[Thread]:
        """The conversations that begin with the same message as a request, and their forks."""
        first = (caller, request.digests[0])
        if first not in self._places_by_start:
            places = self._places_by_start[first] = {}
            for number in count(1):
                place = _place(_numbered(name, number), caller)
                if not self.store.version(place):
                    break
                prefix = place.conversation + "/"
                names = self.store.conversations(place.scope)
                forks = [place._replace(conversation=fork) for fork in names if fork.startswith(prefix)]
                places |= dict.fromkeys((place, *forks))
        return [self._thread(place, caller) for place in list(self._places_by_start[first])]

    def _find_by_reply(self, request: Request, caller: str) -> Match | None:
        """The conversation that shares a reply with a request, or whose last answer it quotes."""
        units = list(request.units(0))
        keys = ((caller, key) for unit in units if unit.is_reply for key in unit.keys)
        place = next((self._place_by_key[key] for key in keys if key in self._place_by_key), None)
        if place is not None:
            return self._thread(place, caller).compare(request)
        idle = (thread for thread in reversed(self._threads.values()) if not thread.open_requests)
        quoted = next((thread for thread in idle if _quotes_answer(thread, units)), None)
        return None if quoted is None else quoted.compare(request)

    def _load_recent(self, caller: str) -> None:
        """Open the latest conversations: one of them may have the response that a request names."""
        scope = _place("any", caller).given_scope  # the same for all conversations of a caller
        for place, *_ in self.store.recent(None)[:_MAX_RECENT]:
            if place.given_scope == scope and place not in self._threads:
                with suppress(QuireError):
                    self._thread(place, caller)

    # Opening and forking

    def _new_thread(self, name: str, caller: str) -> Thread:
        """A new conversation, under the first free name."""
        places = (_place(_numbered(name, number), caller) for number in count(1))
        free = (place for place in places if place not in self._threads and not self.store.version(place))
        return self._thread(next(free), caller)

    def _thread(self, place: Place, caller: str) -> Thread:
        thread = self._threads.pop(place, None)
        if thread is None:
            thread = Thread(self._open(place, self.store))
            thread.reload()
            self._index(thread, thread.units, caller)
        self._threads[place] = thread
        return thread

    def _fork(self, match: Match, *, copies: bool = False) -> Match | None:
        """A fork with the shared prefix of a conversation and a request; None if it has no reply.

        A last reply whose calls have no results yet is left out, or with `copies` appended under new ids.
        """
        units = match.thread.units
        stop = _end_of_blocks(units, match.unit_count)
        shared, waiting = units[:stop], units[stop : match.unit_count]
        last = next((unit.items[-1] for unit in reversed(shared) if unit.items), None)
        if last is None or not any(unit.is_reply for unit in shared):
            return None
        session = self._fork_session(match.thread.session, last.id)
        shown = {item.id for unit in shared for item in unit.items}
        if hidden := [item.id for item in session.view() if _mark_of(item) and item.id not in shown]:
            with suppress(QuireError):
                session.hide(*hidden)
        thread = self._threads[session.place] = Thread(session)
        thread.set_units(shared, 0)
        if copies:
            copied = [
                unit._replace(items=session.append(*(replace(item, id=new_id()) for item in unit.items)))
                for unit in waiting
            ]
            thread.set_units(copied, stop)
        return Match(thread, len(thread.units), min(match.message_count, shared[-1].stop))

    def _fork_session(self, parent: Session, at: str) -> Session:
        """A fork at an item, of the conversation that recorded it: this one or an ancestor."""
        for number in range(1, _MAX_FORKS):
            try:
                return parent.fork(str(number), at=at)
            except OutOfRange:  # the item is older than this fork
                ancestor = parent.place.conversation.rpartition("/")[0]
                parent = self._open(parent.place._replace(conversation=ancestor), self.store)
            except InvalidValue:  # the name is in use
                continue
        raise InvalidValue("the conversation has too many forks")

    def _index(self, thread: Thread, units: Sequence[Unit], caller: str) -> None:
        """Index a conversation by the keys and responses of some units."""
        for unit in units:
            for key in (*unit.keys, *filter(None, [unit.response])):
                self._place_by_key[caller, key] = thread.session.place

    def _close_idle(self) -> None:
        """Close the least recently used conversations if there are too many."""
        size = sum(len(thread.units) for thread in self._threads.values())
        for place, idle in list(self._threads.items())[:-1]:
            if len(self._threads) <= _MAX_THREADS and size <= _MAX_UNITS:
                break
            if not idle.open_requests:
                size -= len(idle.units)
                del self._threads[place]
        for index in (self._places_by_start, self._place_by_key):  # an entry that is missing is read again
            if len(index) > _MAX_UNITS:
                for name in list(index)[: _MAX_UNITS // 2]:
                    del index[name]  # type: ignore[arg-type]


# Recording


def _record(request: Request, match: Match) -> list[Unit]:
    """Record the new units of a request, hide those that it no longer has, and return the new ones."""
    thread, session, start, removed = match.thread, match.thread.session, match.message_count, list[Unit]()
    kept = thread.units[: match.unit_count]
    if match.rest:
        kept, removed, start = _align(match, request)
    # A request that names its conversation has only new messages: they are numbered after the kept ones.
    offset = kept[-1].stop if kept and not start else 0
    new = [_renumbered(unit, offset) if offset else unit for unit in request.units(start)]
    view = session.view()
    hidden = [view.get(item.id) for unit in removed for item in unit.items]
    calls = list(view.pending())
    recorded = list[Unit]()
    for unit in new:
        recorded.append(unit._replace(items=marked(_with_call_ids(unit, calls))))
        calls += [item for item in unit.items if isinstance(item, ToolCall)]
    added = [*closing_results(view, hidden), *(item for unit in recorded for item in unit.items)]
    if added:
        session.append(*added, expected=session.version)
    if hidden:
        _hide(session, hidden)
    start = len(kept) if offset else _renumber(kept, request)
    thread.set_units([*kept[start:], *recorded], start)
    thread.is_answered = False
    return recorded


def _renumbered(unit: Unit, offset: int) -> Unit:
    return unit._replace(start=unit.start + offset, stop=unit.stop + offset, digest=b"")


def _hide(session: Session, items: Sequence[Item]) -> None:
    """Hide items, except the last message of the user, which no edit may hide."""
    last = next(filter(is_user_message, reversed(session.view())), None)
    if free := [item for item in items if last is None or item.id != last.id]:
        session.hide(*free)


def _renumber(units: list[Unit], request: Request) -> int:
    """Give units the numbers and digests of their messages in a request; return the first changed index."""
    start = len(units)
    while start and not _is_numbered_as_in(units[start - 1], request):
        start -= 1
    at = units[start - 1].stop if start else 0
    for index in range(start, len(units)):
        stop = request.unit(at).stop
        units[index] = units[index]._replace(start=at, stop=stop, digest=request.digests[stop - 1])
        at = stop
    return start


def _is_numbered_as_in(unit: Unit, request: Request) -> bool:
    return unit.stop <= len(request.digests) and request.digests[unit.stop - 1] == unit.digest


def marked(unit: Unit) -> tuple[Item, ...]:
    """The items of a unit with their marks."""
    content = "" if unit.digest else unit.content.hex()  # the recorded text may be redacted
    mark = [unit.start, unit.stop, unit.digest.hex(), unit.response, content]
    known = (item for item in unit.items if not isinstance(item, Unknown))
    return tuple(replace(item, extras={**item.extras, MARK: mark}) for item in known)


def _mark_of(item: Item) -> Sequence[Any] | None:
    mark: Sequence[Any] | None = None if isinstance(item, Unknown) else item.extras.get(MARK)
    return mark


def _recorded_unit(mark: Sequence[Any], items: Sequence[Item]) -> Unit:
    start, stop, digest, response, content = mark
    unit = unit_of(items, start, stop, bytes.fromhex(digest), response)
    return unit._replace(content=bytes.fromhex(content)) if content else unit


def _with_call_ids(unit: Unit, calls: list[ToolCall]) -> Unit:
    """A unit whose results have the ids and names of their calls.

    Without an id, a result is that of the first open call with its name.
    """
    if not unit.has_results:
        return unit
    items = list[Item]()
    for item in unit.items:
        if isinstance(item, ToolResult):
            by_id = [call for call in calls if call.call_id == item.call_id][-1:]
            by_name = [call for call in calls if call.name == item.name][:1]
            for call in by_id or by_name:  # at most one
                calls.remove(call)
                name = call.name if item.name in ("", NO_NAME) else item.name
                item = replace(item, call_id=call.call_id, name=name)
        items.append(item)
    return unit._replace(items=tuple(items))


# Blocks: a reply and the results of its calls


def _end_of_blocks(units: Sequence[Unit], length: int) -> int:
    """The largest number of units, up to `length`, at which no block is split.

    A block that goes on after `length` does not count, nor a last reply whose calls have no results.
    """
    if length < len(units) and units[length].has_results:
        while length and units[length].has_results:
            length -= 1
        return length
    last = units[length - 1].items if length else ()
    return length - 1 if any(isinstance(item, ToolCall) for item in last) else length


def _align(match: Match, request: Request) -> tuple[list[Unit], list[Unit], int]:
    """The units to keep, the units to remove, and how many messages of the request the kept units cover.

    A block is kept whole: if a part of it is missing, all units from there on are recorded again.
    """
    units, at, length = match.thread.units, match.unit_count, match.message_count
    start_by_index = {index: unit.start for index, unit in enumerate(units[:at])}
    while length < len(request.messages):
        unit = request.unit(length)
        index = next((n for n in range(at, len(units)) if units[n].content == unit.content), None)
        if index is None:
            break
        start_by_index[index] = length
        at, length = index + 1, unit.stop
    for block in blocks(units):
        if 0 < len(start_by_index.keys() & {*block}) < len(block):  # only a part of it is kept
            length = min([length, *(start for n, start in start_by_index.items() if n >= block.start)])
            start_by_index = {n: start for n, start in start_by_index.items() if n < block.start}
            break
    kept = [unit for n, unit in enumerate(units) if n in start_by_index]
    return kept, [unit for n, unit in enumerate(units) if n not in start_by_index], length


def blocks(units: Sequence[Unit]) -> Iterator[range]:
    """The indexes of each block; a unit without results behind it is a block by itself."""
    start = 0
    for index, unit in enumerate(units):
        if index and not unit.has_results:
            yield range(start, index)
            start = index
    if units:
        yield range(start, len(units))


def _quotes_answer(thread: Thread, units: Sequence[Unit]) -> bool:
    """Whether the first message quotes the last answer: a program asked for a summary, and begins with it."""
    if len(thread.last_answer) < _MIN_SUMMARY or not units:
        return False
    return any(thread.last_answer in getattr(item, "text", "") for item in units[0].items)


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}.{number}"


def _place(name: str, caller: str) -> Place:
    """The place of a conversation of a caller; `place_at` appends the conversation to the scope."""
    return place_at(scope=f"{caller}/" if caller else "", conversation=name)
