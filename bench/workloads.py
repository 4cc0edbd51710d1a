"""The work that every library is given: each function measures one library at one size and checks it."""

import gc
import json
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import spoken
from libraries import OURS, Adapter
from timing import Clocked, Patience, clocked, clocked_in_a_row, clocked_in_bulk
from transcript import ONE_MORE, Entry, entries, messages, texts
from turns import turn

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
    fault = spoken.fault(wire, turns, entries(said))
    if not fault and wire == "openai" and library.name in OURS:
        fault = spoken.differs(turns, said)
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
