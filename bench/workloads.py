"""The work that every library is given, and the clock.

Each function of `WORKLOADS` measures one library at one size and checks what it did.
"""

import gc
import json
import signal
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from time import perf_counter
from typing import Any

from libraries import OURS, Adapter
from transcript import ONE_MORE, Entry, entries, messages, texts

Json = dict[str, Any]


# --- the clock -------------------------------------------------------------------------------------------


class TooSlow(BaseException):
    """One call took longer than it may. Not an `Exception`, because a library may swallow those."""


@dataclass(frozen=True)
class Patience:
    """How long to measure: fewest and most runs, seconds in all, and a limit for one call."""

    fewest: int = 5
    most: int = 200
    seconds: float = 2.0
    limit: float = 20.0


@dataclass(frozen=True)
class Clocked:
    """Seconds that one call took, and in how many runs that was found."""

    best: float
    median: float
    runs: int


def clocked(call: Callable[[Any], object], ready: Callable[[], Any], patience: Patience) -> Clocked:
    """Time `call(ready())` over and over; making ready and letting go of the result are not timed."""
    samples: list[float] = []
    spent = 0.0
    while not _enough(samples, spent, patience):
        start = perf_counter()
        samples.append(_once(call, ready(), patience.limit))
        spent += perf_counter() - start
    return Clocked(min(samples), median(samples), len(samples))


def clocked_in_a_row(call: Callable[[Any], object], ready: Callable[[], Any], patience: Patience) -> Clocked:
    """Time calls that follow one another, each on what was made ready for it before the first.

    Making ready and letting go of the results are not timed.
    """

    def row(things: list[Any]) -> list[float]:
        taken: list[float] = []
        results: list[object] = []
        for thing in things:
            start = perf_counter()
            result = call(thing)
            taken.append(perf_counter() - start)
            results.append(result)
        return taken

    samples: list[float] = []
    spent = 0.0
    while not _enough(samples, spent, patience):
        start = perf_counter()
        things = [ready() for _ in range(20)]
        gc.collect()
        samples.extend(row(things))
        spent += perf_counter() - start
    return Clocked(min(samples), median(samples), len(samples))


def clocked_in_bulk(call: Callable[[], object], patience: Patience) -> Clocked:
    """Time a call too short for the clock as the average of as many as fill two milliseconds."""
    number = max(1, int(0.002 / max(_once(lambda _: call(), None, patience.limit), 1e-7)))

    def many(_: object) -> None:
        for _ in range(number):
            call()

    found = clocked(many, lambda: None, patience)
    return Clocked(found.best / number, found.median / number, found.runs)


def _enough(samples: list[float], spent: float, patience: Patience) -> bool:
    if samples and sum(samples) > patience.limit / 2:
        return True  # so slow that the noise of the machine does not matter
    return len(samples) >= patience.most or (len(samples) >= patience.fewest and spent > patience.seconds)


def _once(call: Callable[[Any], object], argument: Any, limit: float) -> float:
    gc.collect()
    with _limited(limit):
        start = perf_counter()
        kept = call(argument)
        taken = perf_counter() - start
    del kept
    return taken


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    previous = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _stop(_number: int, _frame: object) -> None:
    raise TooSlow


# --- the work --------------------------------------------------------------------------------------------


def payload_fault(wire: str, turns: Sequence[Any], chat: Sequence[Entry]) -> str:
    """What is wrong with the messages of a payload: too few, too many, or a text that is not there."""
    fewest, most = _numbers(chat) if wire == "openai" else _numbers_in_turns(chat)
    if not fewest <= len(turns) <= most:
        return f"{len(chat)} messages became {len(turns)}"
    return _lost(turns, [text for role, text, *_ in chat if role != "system"])


def payload_difference(turns: Sequence[Json], messages: Sequence[Json]) -> str:
    """Where chat messages are not the same, the names of tools in results and of instructors aside."""
    for place, (turn, message) in enumerate(zip(map(_bare, turns), map(_bare, messages), strict=True)):
        if turn != message:
            return f"message {place} is not the same"
    return ""


def _numbers(chat: Sequence[Entry]) -> tuple[int, int]:
    """One message for each, or one for each text and call."""
    return len(chat), sum(bool(text) + len(calls) for _, text, calls, _, _ in chat)


def _numbers_in_turns(chat: Sequence[Entry]) -> tuple[int, int]:
    """From whole turns to one for each text and call; one may be added at either end."""
    spoken = [entry for entry in chat if entry[0] != "system"]
    turns = sum(1 for _ in groupby(spoken, key=lambda entry: entry[0] == "assistant"))
    return turns, _numbers(spoken)[1] + 2


def _lost(turns: Sequence[Any], texts: Sequence[str]) -> str:
    written, place = json.dumps(turns, default=_dumped), 0
    for number, text in enumerate(texts):
        found = written.find(json.dumps(text)[1:-1], place)
        if found < 0:
            return f"text {number} of {len(texts)} is not where it should be"
        place = found + len(text)
    return ""


def _dumped(thing: Any) -> Any:
    return repr(thing) if isinstance(thing, bytes) else thing.model_dump(exclude_none=True)


def _bare(message: Json) -> Json:
    kept = {name: value for name, value in message.items() if name != "name"}
    return kept | {"role": "system"} if message["role"] == "developer" else kept


PARTS = {"within a tenth": 10, "with all of it": 0}
"""The budget as a part of what the whole history takes; with none, it is more than that."""


def turn(library: Adapter, size: int, patience: Patience) -> dict[str, dict[str, Any]]:
    """Milliseconds for a turn on a history of so many messages.

    Who keeps its history goes on with the same one. Who cuts it in place is given a whole one for each turn,
    copied off the clock: otherwise there would be nothing left to cut after the first.
    """
    chat = entries(messages(size), library.parsed)
    found: dict[str, dict[str, Any]] = {}
    for way, part in PARTS.items():
        if f"turn {way}" in library.absent:
            continue
        history = library.filled(chat)
        whole = library.total(history) if library.by_tokens else library.length(history)
        limit = whole // part if part else 2 * whole + 100_000
        found[way] = _figures(_clocked(library, history, limit, patience))
    return found


def _clocked(library: Adapter, history: Any, limit: int, patience: Patience) -> Clocked:
    if library.keeps_history:
        taker = library.turns_of(history, limit)
        taker(history)  # the first cuts what was never cut before
        return clocked_in_a_row(taker, lambda: history, patience)
    taker = library.turns_of(history, limit)
    return clocked(taker, lambda: library.spare(history), patience)


def _figures(found: Clocked) -> dict[str, Any]:
    return {"best": found.best * 1e3, "median": found.median * 1e3, "runs": found.runs}


Found = dict[str, Any]
"""What was measured under one label: best, median and runs, and where it applies what was kept."""


class Wrong(Exception):
    """A library did not do what was asked, so its time means nothing."""


def append(library: Adapter, size: int, patience: Patience) -> dict[str, Found]:
    """Build the library's own objects and append them one by one; microseconds a message."""
    chat = entries(messages(size), library.parsed)
    _check_length(library, chat, library.filled(chat))
    found = clocked(lambda history: library.add(history, chat), library.new, patience)
    return {"": _found(found, 1e6 / size)}


def memory(library: Adapter, size: int, _patience: Patience) -> dict[str, Found]:
    """Bytes a message that a history takes over the text it was given."""
    written = json.dumps(messages(size))
    library.filled(entries(messages(50), library.parsed))  # what is made once is not the history's
    gc.collect()
    tracemalloc.start()
    chat = entries(json.loads(written), library.parsed)
    history = library.filled(chat)
    library.use(history)
    del chat
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    given = sum(map(sys.getsizeof, texts(entries(json.loads(written)))))
    _check_length(library, entries(json.loads(written), library.parsed), history)
    over = (held - given) / size
    return {"": {"best": over, "median": over, "runs": 1}}


def fork(library: Adapter, size: int, patience: Patience) -> dict[str, Found]:
    """Make one independent copy of a history and let go of it; microseconds."""
    history = library.filled(entries(messages(size), library.parsed))
    return {label: _fork(library, history, way, patience) for label, way in library.forks().items()}


def truncate(library: Adapter, size: int, patience: Patience) -> dict[str, Found]:
    """Keep the newest tenth, by tokens where the library can; milliseconds, and the share that was kept."""
    history = library.filled(entries(messages(size), library.parsed))
    measure = library.total if library.by_tokens else library.length
    whole = measure(history)
    cut = lambda spare: library.truncate(spare, whole // 10)  # noqa: E731
    found = clocked(cut, lambda: library.spare(history), patience)
    kept = measure(library.truncate(library.spare(history), whole // 10)) if found.best < 5 else None
    if kept is not None and size >= 1000 and not 0.07 * whole <= kept <= 0.101 * whole:
        raise Wrong(f"kept {kept} of {whole}")
    share = {"kept": kept and round(kept / whole, 4)}
    if found.best > 0.01:  # what comes before makes no difference to a call that takes so long
        return {"": _found(found, 1e3) | share}
    row = clocked_in_a_row(cut, lambda: library.spare(history), patience)
    return {"": _found(row, 1e3) | share, "the same right after a collection": _found(found, 1e3) | share}


def tokens(library: Adapter, size: int, patience: Patience) -> dict[str, Found]:
    """Append one more message to a history that was counted before, and ask for the total; microseconds."""
    history = library.filled(entries(messages(size), library.parsed))
    way = next(iter(library.forks().values()))
    times = (
        50 if clocked(library.total, lambda: _grown(library, way(history)), Patience(1, 1)).best < 1e-4 else 1
    )

    def ask(child: Any) -> None:
        for _ in range(times):
            library.add(child, (ONE_MORE,))
            library.total(child)

    found = clocked(ask, lambda: _grown(library, way(history)), patience)
    return {"": _found(found, 1e6 / times)}


def codec(library: Adapter, size: int, patience: Patience) -> dict[str, Found]:
    """The whole history to JSON and back; milliseconds."""
    history = library.dumpable(library.filled(entries(messages(size), library.parsed)))
    data = library.dump(history)
    loaded = library.load(data)
    if library.length(loaded) != library.length(history) or library.dump(library.dumpable(loaded)) != data:
        raise Wrong("what was loaded is not what was dumped")
    del loaded
    return {
        "dump": _found(clocked(library.dump, lambda: history, patience), 1e3) | {"bytes": len(data)},
        "load": _found(clocked(library.load, lambda: data, patience), 1e3),
    }


def render(library: Adapter, size: int, patience: Patience) -> dict[str, Found]:
    """The whole payload of a history that was not rendered before, and OpenAI's after one more; ms."""
    said = messages(size)
    chat = entries(said, library.parsed)
    found: dict[str, Found] = {}
    history = library.unrendered(chat)
    for wire, write in library.renders().items():
        _check_payload(library, wire, write(library.forgetful(history)), said)
        found[wire] = _found(clocked(write, lambda: library.forgetful(history), patience), 1e3)
        if wire == "openai":
            found |= _one_more(library, chat, write, patience)
    return found


WORKLOADS: dict[str, Callable[[Adapter, int, Patience], dict[str, Found]]] = {
    "append": append,
    "memory": memory,
    "fork": fork,
    "truncate": truncate,
    "tokens": tokens,
    "codec": codec,
    "render": render,
    "turn": turn,
}
SIZES = {
    "append": (100, 1_000, 10_000, 100_000),
    "memory": (100, 1_000, 10_000, 100_000),
    "fork": (100, 1_000, 10_000, 100_000),
    "truncate": (100, 1_000, 10_000, 100_000),
    "tokens": (100, 1_000, 10_000, 100_000),
    "codec": (100, 1_000, 10_000, 100_000),
    "render": (100, 1_000, 10_000),
    "turn": (100, 1_000, 10_000, 100_000),
}
UNITS = {
    "append": "µs a message",
    "memory": "bytes a message over the text",
    "fork": "µs",
    "truncate": "ms",
    "tokens": "µs",
    "codec": "ms",
    "render": "ms",
    "turn": "ms",
    "import": "ms",
}


def _fork(library: Adapter, history: Any, way: Callable[[Any], Any], patience: Patience) -> Found:
    before, child = library.length(history), way(history)
    born = library.length(child)
    library.add(child, (ONE_MORE,))
    if not before <= born <= before + 1 or library.length(child) != born + 1:
        raise Wrong("the copy has another length")
    if library.length(history) != before:
        raise Wrong("the copy is not independent")
    del child
    return _found(clocked_in_bulk(lambda: way(history), patience), 1e6)


def _one_more(
    library: Adapter, chat: list[Entry], write: Callable[[Any], Any], patience: Patience
) -> dict[str, Found]:
    history = library.unrendered(chat)
    before = len(library.turns(write(history)))

    def grow(grown: Any) -> Any:
        library.add(grown, (ONE_MORE,))
        return library.again(grown, write)

    if len(library.turns(grow(history))) != before + 1:
        raise Wrong("one more message did not become one more")
    found = clocked(grow, lambda: history, patience)
    if found.best > 0.01:  # as with truncation
        return {"openai, one more": _found(found, 1e3)}
    row = clocked_in_a_row(grow, lambda: history, patience)
    after = {"openai, one more: the same right after a collection": _found(found, 1e3)}
    return {"openai, one more": _found(row, 1e3)} | after


def _check_payload(library: Adapter, wire: str, payload: Any, said: Sequence[dict[str, Any]]) -> None:
    turns = library.turns(payload)
    fault = payload_fault(wire, turns, entries(said))
    if not fault and wire == "openai" and library.name in OURS:
        fault = payload_difference(turns, said)
    if fault:
        raise Wrong(f"{wire}: {fault}")


def _grown(library: Adapter, history: Any) -> Any:
    before = library.total(history)
    library.add(history, (ONE_MORE,))
    if not before < library.total(history):
        raise Wrong("the total did not grow")
    return history


def _check_length(library: Adapter, chat: Sequence[Entry], history: Any) -> None:
    apart = sum(bool(text) + len(calls) for _, text, calls, _, _ in chat)
    if library.length(history) not in (len(chat), apart):
        raise Wrong(f"{len(chat)} messages became {library.length(history)} records")


def _found(clocked: Clocked, unit: float) -> Found:
    return {"best": clocked.best * unit, "median": clocked.median * unit, "runs": clocked.runs}
