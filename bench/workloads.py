"""The work that every library is given, and the clock. Each workload checks what the library did."""

import gc
import json
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter, process_time
from typing import Any

from libraries import Adapter
from transcript import ONE_MORE, Entry, entries, messages, texts

Figures = dict[str, float]
"""The best of the runs, and their median."""

SECONDS = 1.0
_BATCH = 20


class Wrong(Exception):
    """A library did not do what was asked, so its time means nothing."""


def clocked(call: Callable[[Any], object], ready: Callable[[], Any], unit: float, times: int = 1) -> Figures:
    """Take the CPU time of `call(ready())` for a second, after a garbage collection for each batch.

    Short calls are timed in batches of things that were made ready before; `times` is how often the call
    repeats its work by itself.
    """
    samples: list[float] = []
    until, batch = perf_counter() + SECONDS, 1
    while len(samples) < 3 or perf_counter() < until:
        things = [ready() for _ in range(batch)]
        kept: list[object] = []
        gc.collect()
        for thing in things:
            start = process_time()
            result = call(thing)
            samples.append(process_time() - start)
            kept.append(result)  # letting go of a result is not timed
        if samples[-1] > SECONDS:
            break  # the noise of the machine does not matter any more
        batch = _BATCH if samples[-1] < 0.001 else 1
    scale = unit / times
    return {"best": min(samples) * scale, "median": median(samples) * scale}


def append(library: Adapter, size: int) -> dict[str, Figures]:
    """Make the library's own objects and append them one by one; microseconds a message."""
    chat = entries(messages(size), library.parsed)
    apart = sum(bool(text) + len(calls) for _, text, calls, _, _ in chat)
    if library.length(library.filled(chat)) not in (len(chat), apart):
        raise Wrong("the history has another length")
    return {"": clocked(lambda history: library.add(history, chat), library.new, 1e6 / size)}


def memory(library: Adapter, size: int) -> dict[str, Figures]:
    """Bytes a message that a history takes, beyond the text it was given."""
    written = json.dumps(messages(size))
    library.filled(entries(messages(50), library.parsed))  # what is made once is not the history's
    gc.collect()
    tracemalloc.start()
    history = library.filled(entries(json.loads(written), library.parsed))
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    given = sum(map(sys.getsizeof, texts(entries(json.loads(written)))))
    over = (held - given) / size if library.length(history) else 0.0
    return {"": {"best": over, "median": over}}


def fork(library: Adapter, size: int) -> dict[str, Figures]:
    """Make an independent copy of a history and let go of it; microseconds."""
    history = library.filled(entries(messages(size), library.parsed))
    before, child = library.length(history), library.fork(history)
    library.add(child, (ONE_MORE,))
    if library.length(history) != before or library.length(child) <= before:
        raise Wrong("the copy is not independent")

    def many(_: object) -> None:
        for _ in range(100):
            library.fork(history)

    return {"": clocked(many, lambda: None, 1e6, times=100)}


def truncate(library: Adapter, size: int) -> dict[str, Figures]:
    """Keep the newest tenth, by tokens where the library can; milliseconds."""
    history = library.filled(entries(messages(size), library.parsed))
    measure = library.total if library.by_tokens else library.length
    limit = measure(history) // 10
    kept = measure(library.truncate(library.spare(history), limit))
    if size >= 1_000 and not 0.7 * limit <= kept <= 1.01 * limit:
        raise Wrong(f"kept {kept}, where the limit is {limit}")
    return {"": clocked(lambda spare: library.truncate(spare, limit), lambda: library.spare(history), 1e3)}


def tokens(library: Adapter, size: int) -> dict[str, Figures]:
    """Append one more message to a history that was counted before, and ask for the total; microseconds."""
    history = library.filled(entries(messages(size), library.parsed))
    before = library.total(history)

    def ask(history: Any) -> int:
        library.add(history, (ONE_MORE,))
        return library.total(history)

    if ask(history) <= before:
        raise Wrong("the total did not grow")
    return {"": clocked(ask, lambda: history, 1e6)}


def codec(library: Adapter, size: int) -> dict[str, Figures]:
    """The whole history to JSON and back; milliseconds."""
    history = library.dumpable(library.filled(entries(messages(size), library.parsed)))
    data = library.dump(history)
    if library.dump(library.dumpable(library.load(data))) != data:
        raise Wrong("what was loaded is not what was dumped")
    return {
        "dump": clocked(library.dump, lambda: history, 1e3),
        "load": clocked(library.load, lambda: data, 1e3),
    }


def render(library: Adapter, size: int) -> dict[str, Figures]:
    """The whole payload of a history not rendered before, and OpenAI's after one more message; ms."""
    chat = entries(messages(size), library.parsed)
    history, found = library.filled(chat), dict[str, Figures]()
    for wire, write in library.renders().items():
        _check_payload(library.messages(write(library.forgetful(history))), entries(messages(size)), wire)
        found[wire] = clocked(write, lambda: library.forgetful(history), 1e3)
    write = library.renders()["openai"]
    before = len(library.messages(write(history)))

    def grow(grown: Any) -> Any:
        library.add(grown, (ONE_MORE,))
        return library.again(grown, write)

    if len(library.messages(grow(history))) != before + 1:
        raise Wrong("one more message did not become one more")
    return found | {"openai, one more": clocked(grow, lambda: history, 1e3)}


def turn(library: Adapter, size: int) -> dict[str, Figures]:
    """A turn: one more message, cut if due, the payload for OpenAI; milliseconds.

    A library that cuts in place is given a whole history for each turn, copied off the clock.
    """
    chat = entries(messages(size), library.parsed)
    found: dict[str, Figures] = {}
    for way, part in (("within a tenth", 10), ("with all of it", 0)):
        history = library.filled(chat)
        whole = library.total(history) if library.by_tokens else library.length(history)
        take = library.turns_of(whole // part if part else 2 * whole + 100_000)
        ready = (lambda h=history: h) if library.keeps_history else (lambda h=history: library.spare(h))
        take(ready())  # the first turn cuts what was never cut before, and loads what is loaded once
        found[way] = clocked(take, ready, 1e3)
    return found


def _check_payload(turns: Sequence[Any], chat: Sequence[Entry], wire: str) -> None:
    """Every text of the history is in the payload, in order."""
    written, place = json.dumps(turns, default=_dumped), 0
    for role, text, _, _, _ in chat:
        if role == "system" or not text:
            continue  # some wires have the instructions elsewhere
        found = written.find(json.dumps(text)[1:-1], place)
        if found < 0:
            raise Wrong(f"{wire}: a text is missing or in another place")
        place = found + len(text)


def _dumped(thing: Any) -> Any:
    return repr(thing) if isinstance(thing, bytes) else thing.model_dump(exclude_none=True)


WORKLOADS: dict[str, Callable[[Adapter, int], dict[str, Figures]]] = {
    work.__name__: work for work in (append, memory, fork, truncate, tokens, codec, render, turn)
}
