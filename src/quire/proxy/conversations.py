"""Which conversation a request continues, and what of it is new.

A request repeats all that was said. It continues the conversation with which it shares the longest beginning,
up to its end: what follows is new. Where it departs before the end, it

- goes on in the same conversation if a later reply of the model is in both, or if the model had not answered:
  the program edited, cleared or compacted its history, and what is not sent any more is hidden;
- is a fork if they share a reply of the model: an edited question, another try, an agent beside it;
- is a conversation of its own if they do not.

A conversation is named by the digest of its first message, so it is found again after a restart without an
index. Each item says which messages it stands for, and the digest of all messages up to there.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, NamedTuple

from msgspec.structs import replace

from quire.context import Template
from quire.errors import Conflict, InvalidValue, OutOfRange, QuireError
from quire.integrations.mirror import closing_results
from quire.items import Item, ToolCall, ToolResult, Unknown, new_id
from quire.providers import NO_NAME
from quire.proxy.exchange import Request, Unit, unit_of
from quire.session import Session
from quire.state import is_user_message
from quire.stores import Place, Store, place_at

MARK = "proxy"
"""Where an item says which messages of a request it stands for."""

_MOST_THREADS, _MOST_UNITS, _MOST_RECENT, _MOST_TRIES = 500, 1_000_000, 200, 10
_MOST_FORKS = 100_000
_LEAST_SUMMARY = 200
"""The length from which an answer that stands in another request is recognised there, in characters."""

Open = Callable[[Place, Store], Session]


class Thread:
    """A conversation as a program continues it: its session, and the units that it consists of now.

    `open_requests` counts those that wait for their answers. `said` is the text of the last answer, and
    `is_answered` says whether that came whole.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.units: list[Unit] = []
        self.open_requests = 0
        self.said, self.is_answered = "", False
        self._places: dict[bytes, int] = {}
        self._templates: dict[tuple[Any, ...], Template] = {}

    def template(self, request: Request, size: int, make: Callable[[], Template]) -> Template:
        """The template for requests with these instructions; it is made once."""
        key = (size, request.model, *(one.text for one in request.instructions))
        if key not in self._templates:
            self._templates = {**dict([*self._templates.items()][-3:]), key: make()}
        return self._templates[key]

    def set_units(self, units: Sequence[Unit], start: int) -> None:
        """Put other units in place of those from an index on."""
        del self.units[start:]
        for unit in units:
            self.units.append(unit)
            if unit.digest:
                self._places[unit.digest] = len(self.units) - 1

    def reload(self) -> None:
        """Read the units from what is recorded."""
        view, runs = self.session.view(), list[tuple[Sequence[Any], list[Item]]]()
        for position in range(view.end):
            item = view.log.item(position)
            mark = _mark_of(item)
            if mark is not None and view.fate_at(position).state != "hidden":
                if not runs or runs[-1][0] != mark:
                    runs.append((mark, []))
                runs[-1][1].append(item)
        self._places.clear()
        self.set_units([_recorded_unit(mark, items) for mark, items in runs], 0)
        if self.units:
            self._set_answer(self.units[-1])

    def _set_answer(self, unit: Unit) -> None:
        self.said = max((getattr(item, "text", "") for item in unit.items), key=len, default="").strip()
        is_broken = any(getattr(item, "interrupted", False) for item in unit.items)
        self.is_answered = unit.is_reply and not is_broken

    def answer_unit(self, items: Sequence[Item], response: str) -> Unit:
        """The unit of the answer to the last request: it says which message will repeat it."""
        start = self.units[-1].stop if self.units else 0
        unit = unit_of(items, start, start + 1, response=response)
        return unit._replace(items=marked(unit))

    def add_answer(self, unit: Unit, *, is_whole: bool) -> None:
        """Take in an answer that was recorded."""
        self.set_units([unit], len(self.units))
        self._set_answer(unit)
        self.is_answered &= is_whole

    def compare(self, request: Request) -> "Match":
        """How much of a request is known here, from its beginning."""
        units = length = 0
        for stop in range(len(request.digests), 0, -1):
            place = self._places.get(request.digests[stop - 1])
            if place is not None and place < len(self.units):
                units, length = place + 1, stop
                break
        while units < len(self.units) and length < len(request.messages):
            unit = request.unit(length)  # an answer is first known by what it says
            if unit.content != self.units[units].content:
                break
            units, length = units + 1, unit.stop
        return Match(self, units, length)


class Match(NamedTuple):
    """So many units of a conversation, and so many messages of a request, are the same beginning."""

    thread: Thread
    units: int
    length: int

    @property
    def rest(self) -> list[Unit]:
        """What the conversation has and the request has not, or not there."""
        return self.thread.units[self.units :]

    @property
    def has_reply(self) -> bool:
        """Whether the model said something of what is the same."""
        return any(unit.is_reply for unit in self.thread.units[: self.units])


class Conversations:
    """The conversations that requests belong to. Those that were not used for long are read again."""

    def __init__(self, store: Store, open_session: Open) -> None:
        self.store = store
        self._open = open_session
        self._threads: OrderedDict[Place, Thread] = OrderedDict()
        self._by_first: dict[tuple[str, bytes], dict[Place, None]] = {}
        self._by_key: dict[tuple[str, str], Place] = {}

    def take(self, request: Request, upstream: str, caller: str = "") -> Thread:
        """Record what is new in a request, in the conversation that it continues."""
        for _ in range(_MOST_TRIES):
            match = self._named(request, upstream, caller) or self._find(request, upstream, caller)
            try:
                new = _record(request, match)
            except Conflict:  # another proxy writes to this store: compare again
                match.thread.session.refresh()
                match.thread.reload()
                continue
            self._register(match.thread, new, caller)
            self._by_first.setdefault((caller, request.digests[0]), {})[match.thread.session.place] = None
            self._drop_idle()
            return match.thread
        raise Conflict("others wrote to the conversation each time that it was compared")

    def answered(self, thread: Thread, unit: Unit, *, is_whole: bool, caller: str = "") -> None:
        """Know what was recorded as the answer to the last request."""
        thread.add_answer(unit, is_whole=is_whole)
        self._register(thread, [unit], caller)

    # Finding

    def _named(self, request: Request, upstream: str, caller: str) -> Match | None:
        """The conversation that a request names by the id of a response or of a conversation."""
        response, conversation = request.names
        if conversation:
            thread = self._opened(_place(f"{upstream}-{conversation}", caller), caller)
            return Match(thread, len(thread.units), 0)
        if response and (caller, response) not in self._by_key:
            self._load_recent(caller)
        place = self._by_key.get((caller, response)) if response else None
        if place is None:
            return None
        known = self._opened(place, caller)
        which = (n for n, unit in enumerate(known.units, 1) if unit.response == response)
        match = Match(known, next(which, len(known.units)), 0)
        return match if not match.rest else self._fork(match, copies=True)

    def _find(self, request: Request, upstream: str, caller: str) -> Match:
        """The conversation with the longest beginning in common, a fork of it, or a new one."""
        name = f"{upstream}-{request.digests[0].hex()[:16]}"
        matches = [thread.compare(request) for thread in self._candidates(name, request, caller)]
        best = max(matches, key=lambda match: (match.length, -len(match.rest)), default=None)
        if best is not None and self._goes_on(best, request):
            return best
        if best is None or not best.has_reply:
            kin = self._kin(request, caller)
            if kin is not None and self._goes_on(kin, request):
                return kin
        fork = self._fork(best) if best is not None and best.has_reply else None
        return fork or Match(self._begin(name, caller), 0, 0)

    def _goes_on(self, match: Match, request: Request) -> bool:
        """Whether a request continues a conversation itself, and no branch of it."""
        thread, rest, new = match.thread, match.rest, list(request.units(match.length))
        if not rest:
            is_next = not thread.open_requests or any(unit.is_reply for unit in new)
            return bool(match.length) and is_next
        keys = {key for unit in rest for key in unit.keys}
        if any(key in keys for unit in new for key in unit.keys) or _tells_of(thread, new):
            return True
        was_answered = len(rest) > 1 or (rest[0].is_reply and thread.is_answered)
        return bool(match.length) and not was_answered and not thread.open_requests

    def _candidates(self, name: str, request: Request, caller: str) -> list[Thread]:
        """The conversations that begin with the first message of a request."""
        first = (caller, request.digests[0])
        if first not in self._by_first:
            known = self._by_first[first] = {}
            for number in count(1):
                place = _place(_numbered(name, number), caller)
                if not self.store.version(place):
                    break
                within = place.conversation + "/"
                names = self.store.conversations(place.scope)
                forks = [place._replace(conversation=one) for one in names if one.startswith(within)]
                known |= dict.fromkeys((place, *forks))
        return [self._opened(place, caller) for place in list(self._by_first[first])]

    def _kin(self, request: Request, caller: str) -> Match | None:
        """The conversation that has a reply in common with a request, or whose summary it begins with."""
        units = list(request.units(0))
        keys = ((caller, key) for unit in units if unit.is_reply for key in unit.keys)
        place = next((self._by_key[key] for key in keys if key in self._by_key), None)
        if place is not None:
            return self._opened(place, caller).compare(request)
        recent = (one for one in reversed(self._threads.values()) if not one.open_requests)
        known = next((one for one in recent if _tells_of(one, units)), None)
        return None if known is None else known.compare(request)

    def _load_recent(self, caller: str) -> None:
        """Read the latest conversations: one of them may have the response that a request names."""
        scope = _place("any", caller).named
        for one in self.store.recent(None)[:_MOST_RECENT]:
            if one.place.named == scope and one.place not in self._threads:
                with suppress(QuireError):
                    self._opened(one.place, caller)

    # Making

    def _begin(self, name: str, caller: str) -> Thread:
        """A new conversation, under the first name that is free."""
        places = (_place(_numbered(name, number), caller) for number in count(1))
        free = (one for one in places if one not in self._threads and not self.store.version(one))
        return self._opened(next(free), caller)

    def _opened(self, place: Place, caller: str) -> Thread:
        thread = self._threads.pop(place, None)
        if thread is None:
            thread = Thread(self._open(place, self.store))
            thread.reload()
            self._register(thread, thread.units, caller)
        self._threads[place] = thread
        return thread

    def _fork(self, match: Match, *, copies: bool = False) -> Match | None:
        """A fork with what a conversation and a request share; None if no reply is left of it.

        Calls go with their results. With `copies`, those that wait for one are recorded again.
        """
        units = match.thread.units
        stop = _end_of_blocks(units, match.units)
        kept, again = units[:stop], units[stop : match.units]
        last = next((unit.items[-1] for unit in reversed(kept) if unit.items), None)
        if last is None or not any(unit.is_reply for unit in kept):
            return None
        session = self._forked(match.thread.session, last.id)
        own = {item.id for unit in kept for item in unit.items}
        if hidden := [item.id for item in session.view() if _mark_of(item) and item.id not in own]:
            with suppress(QuireError):
                session.hide(*hidden)
        thread = self._threads[session.place] = Thread(session)
        thread.set_units(kept, 0)
        if copies:
            copied = [session.append(*(replace(one, id=new_id()) for one in unit.items)) for unit in again]
            thread.set_units(
                [unit._replace(items=each) for unit, each in zip(again, copied, strict=True)], stop
            )
        return Match(thread, len(thread.units), min(match.length, kept[-1].stop))

    def _forked(self, parent: Session, at: str) -> Session:
        """A fork at an item: of the conversation in which it was recorded."""
        for number in range(1, _MOST_FORKS):
            try:
                return parent.fork(str(number), at=at)
            except OutOfRange:  # it is from before this fork began
                before = parent.place.conversation.rpartition("/")[0]
                parent = self._open(parent.place._replace(conversation=before), self.store)
            except InvalidValue:  # the name is taken
                continue
        raise InvalidValue("the conversation has too many forks")

    def _register(self, thread: Thread, units: Sequence[Unit], caller: str) -> None:
        """Make a conversation known by what is in no other."""
        for unit in units:
            for key in (*unit.keys, *filter(None, [unit.response])):
                self._by_key[caller, key] = thread.session.place

    def _drop_idle(self) -> None:
        """Let go of the conversations that were not used for longest."""
        size = sum(len(one.units) for one in self._threads.values())
        for place, idle in list(self._threads.items())[:-1]:
            if len(self._threads) <= _MOST_THREADS and size <= _MOST_UNITS:
                break
            if not idle.open_requests:
                size -= len(idle.units)
                del self._threads[place]
        for index in (self._by_first, self._by_key):  # what is forgotten here is read again, or begins anew
            if len(index) > _MOST_UNITS:
                for name in list(index)[: _MOST_UNITS // 2]:
                    del index[name]  # type: ignore[arg-type]


# Recording


def _record(request: Request, match: Match) -> list[Unit]:
    """Record the units of a request that are new, and hide those that it has no more."""
    thread, session, length, gone = match.thread, match.thread.session, match.length, list[Unit]()
    kept = thread.units[: match.units]
    if match.rest:
        kept, gone, length = _aligned(match, request)
    offset = kept[-1].stop if kept and not length else 0  # the request names what comes before
    new = [_moved(unit, offset) if offset else unit for unit in request.units(length)]
    view = session.view()
    away = [view.get(item.id) for unit in gone for item in unit.items]
    calls = list(view.pending())  # those that results may answer
    recorded = list[Unit]()
    for unit in new:
        recorded.append(unit._replace(items=marked(_settled(unit, calls))))
        calls += [item for item in unit.items if isinstance(item, ToolCall)]
    added = [*closing_results(view, away), *(item for unit in recorded for item in unit.items)]
    if added:
        session.append(*added, expected=session.version)
    if away:
        _hide(session, away)
    start = len(kept) if offset else _renumber(kept, request)
    thread.set_units([*kept[start:], *recorded], start)
    thread.is_answered = False
    return recorded


def _moved(unit: Unit, offset: int) -> Unit:
    return unit._replace(start=unit.start + offset, stop=unit.stop + offset, digest=b"")


def _hide(session: Session, items: Sequence[Item]) -> None:
    """Hide items, but not the last message of the user, which is to be shown."""
    last = next(filter(is_user_message, reversed(session.view())), None)
    if free := [item for item in items if last is None or item.id != last.id]:
        session.hide(*free)


def _renumber(kept: list[Unit], request: Request) -> int:
    """Give units the numbers and digests of the messages that they stand for; returns the first changed."""
    start = len(kept)
    while start and not _is_at_place(kept[start - 1], request):
        start -= 1
    at = kept[start - 1].stop if start else 0
    for place in range(start, len(kept)):
        stop = request.unit(at).stop
        kept[place] = kept[place]._replace(start=at, stop=stop, digest=request.digests[stop - 1])
        at = stop
    return start


def _is_at_place(unit: Unit, request: Request) -> bool:
    return unit.stop <= len(request.digests) and request.digests[unit.stop - 1] == unit.digest


def marked(unit: Unit) -> tuple[Item, ...]:
    """The items of a unit, which say which messages they stand for."""
    content = "" if unit.digest else unit.content.hex()  # what is recorded may be redacted
    extra = [unit.start, unit.stop, unit.digest.hex(), unit.response, content]
    known = (item for item in unit.items if not isinstance(item, Unknown))
    return tuple(replace(item, extras={**item.extras, MARK: extra}) for item in known)


def _mark_of(item: Item) -> Sequence[Any] | None:
    mark: Sequence[Any] | None = None if isinstance(item, Unknown) else item.extras.get(MARK)
    return mark


def _recorded_unit(mark: Sequence[Any], items: Sequence[Item]) -> Unit:
    start, stop, digest, response, content = mark
    unit = unit_of(items, start, stop, bytes.fromhex(digest), response)
    return unit._replace(content=bytes.fromhex(content)) if content else unit


def _settled(unit: Unit, calls: list[ToolCall]) -> Unit:
    """A unit in which a result without a name or an id is that of the first open call like it."""
    if not unit.has_results:
        return unit
    found = list[Item]()
    for item in unit.items:
        if isinstance(item, ToolResult):
            alike = [call for call in calls if call.call_id == item.call_id][-1:]
            for call in alike or [call for call in calls if call.name == item.name][:1]:
                calls.remove(call)
                name = call.name if item.name in ("", NO_NAME) else item.name
                item = replace(item, call_id=call.call_id, name=name)
        found.append(item)
    return unit._replace(items=tuple(found))


# Forks and blocks


def _end_of_blocks(units: Sequence[Unit], length: int) -> int:
    """The end of the last whole block among so many units: a reply with calls, and all of their results."""
    if length < len(units) and units[length].has_results:
        while length and units[length].has_results:
            length -= 1
        return length
    last = units[length - 1].items if length else ()
    return length - 1 if any(isinstance(item, ToolCall) for item in last) else length


def _aligned(match: Match, request: Request) -> tuple[list[Unit], list[Unit], int]:
    """The units that stay, those that go, and how many messages of the request the former stand for.

    Calls and results stay together: where a part of a block goes, all from there on is recorded again.
    """
    units, at, length = match.thread.units, match.units, match.length
    kept = [(place, unit.start) for place, unit in enumerate(units[:at])]
    while length < len(request.messages):
        unit = request.unit(length)
        found = next((n for n in range(at, len(units)) if units[n].content == unit.content), None)
        if found is None:
            break
        kept.append((found, length))
        at, length = found + 1, unit.stop
    places = {place for place, _ in kept}
    split = next((block.start for block in _blocks(units) if 0 < len(places & {*block}) < len(block)), None)
    if split is not None:
        length = min([length, *(start for place, start in kept if place >= split)])
        places = {place for place in places if place < split}
    stay = [unit for place, unit in enumerate(units) if place in places]
    return stay, [unit for place, unit in enumerate(units) if place not in places], length


def _blocks(units: Sequence[Unit]) -> Iterator[range]:
    """The runs of a reply and the results of its calls; a unit that is in no such run is one by itself."""
    start = 0
    for place, unit in enumerate(units):
        if place and not unit.has_results:
            yield range(start, place)
            start = place
    if units:
        yield range(start, len(units))


def _tells_of(thread: Thread, units: Sequence[Unit]) -> bool:
    """Whether the first message has the last answer in it, as a summary that a program asked for."""
    if len(thread.said) < _LEAST_SUMMARY or not units:
        return False
    return any(thread.said in getattr(item, "text", "") for item in units[0].items)


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}.{number}"


def _place(name: str, caller: str) -> Place:
    """Each conversation is a scope of its own: nothing of one is recalled in another."""
    return place_at(scope=f"{caller}/" if caller else "", conversation=name)
