"""LangGraph's checkpoints in a store of Quire: each message of a thread is kept once.

A thread is one conversation of the store, and each `put` and `put_writes` is one note in its log. A note has
the values that the thread does not have yet; a list that goes on where another stopped is kept as what was
added. To delete, a note with all that remains begins the thread anew, and the notes before it are emptied.
"""

from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, wraps
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, cast
from zlib import compress, decompress

from msgspec import msgpack

from quire.errors import Conflict, InvalidValue, MissingExtra
from quire.integrations.langgraph_pieces import NO_LIST, Pieces, Typed
from quire.items import JSON, Note
from quire.stores import Entry, Place, Store, items_in, named_scope
from quire.stores.threads import STORE

try:
    from langchain_core.runnables import RunnableConfig as Config
    from langgraph.checkpoint import base
    from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata, CheckpointTuple
    from langgraph.checkpoint.serde.base import SerializerProtocol as Serde
except ImportError as fault:
    raise MissingExtra("langgraph", "langchain") from fault

__all__ = ["QuireSaver"]

Key = tuple[str, str]  # the namespace and the id of a checkpoint


class _Row(NamedTuple):
    """A checkpoint. It and its metadata are the piece `number`; `values` are the pieces of its channels."""

    parent: str | None
    number: int
    values: Mapping[str, int]


class _Thread:
    """A thread as its log tells it."""

    serde: Serde

    def __init__(self, place: Place) -> None:
        self.place, self.lock = place, Lock()
        self.begin()

    def begin(self) -> None:
        self.version, self.last = 0, b""
        self.pieces = Pieces()
        self.rows: dict[Key, _Row] = {}
        self.writes: dict[Key, dict[tuple[str, int], tuple[str, str, int]]] = {}
        self._lists: dict[Key, int] = {}  # the newest of each channel of a namespace

    def take(self, version: int, body: bytes, note: Mapping[str, Any]) -> None:
        """Take in the next note of the log."""
        if note.get("begins"):
            self.begin()
        self.version, self.last = version, body
        for piece in note.get("pieces", ()):
            self.pieces.read(piece)
        for ns, name, *fields in note.get("rows", ()):
            row = self.rows[ns, name] = _Row(*fields)
            self._lists |= {(ns, at): one for at, one in row.values.items() if self.pieces.is_list(one)}
        for ns, name, task, index, *fields in note.get("writes", ()):
            made = self.writes.setdefault((ns, name), {})
            if index < 0 or (task, index) not in made:
                made[task, index] = tuple(fields)

    def add(self, value: Any, ns: str = "", channel: str = "") -> int:
        """The number of a value. A list goes on where the newest list of the channel stopped."""
        if type(value) is not list:
            return self.pieces.add(self.serde.dumps_typed(value))
        elements = [self.pieces.add(self.serde.dumps_typed(one)) for one in cast(Sequence[Any], value)]
        return self.pieces.add_list(elements, self._lists.get((ns, channel), NO_LIST))

    def value(self, number: int) -> Any:
        if self.pieces.is_list(number):
            return [self.value(one) for one in self.pieces.elements(number)]
        return self.serde.loads_typed(cast(Typed, self.pieces.all[number]))

    def metadata(self, key: Key) -> CheckpointMetadata:
        return cast(CheckpointMetadata, self.value(self.rows[key].number)["metadata"])

    def keys(self, ns: str | None = None) -> list[Key]:
        """The checkpoints of a namespace or of all, newest first."""
        newest = sorted(self.rows, key=lambda key: key[1], reverse=True)
        return [key for key in newest if ns in (None, key[0])]

    def pending(self, key: Key) -> list[base.PendingWrite]:
        """What tasks wrote after a checkpoint, in the order in which it applies."""
        made = self.writes.get(key, {})
        order = sorted(made, key=lambda one: base.writes_sort_key(made[one][0], *one))
        return [(one[0], made[one][1], self.value(made[one][2])) for one in order]

    def sources(self, key: Key) -> Iterator[Key]:
        """The ancestors from which LangGraph reads the delta channels of a checkpoint."""
        while key in self.rows and self.metadata(key).get("counters_since_delta_snapshot"):
            key = (key[0], self.rows[key].parent or "")
            yield key

    def note_of(self, keys: set[Key]) -> dict[str, Any]:
        """The note that begins the thread anew with some of its checkpoints. Numbers of pieces stay.

        If the checkpoint b stays, and a, of which the pieces 0 and 1 are, does not:

            pieces: ("deleted", b"0"), ("deleted", b"1"), ("msgpack", b"…")
            rows:   ("", "b", "a", 2, {})
            writes: those of b, and those of checkpoints that are not put yet
        """
        rows = {key: row for key, row in self.rows.items() if key in keys}
        kept = [key for key in self.writes if key in keys or key not in self.rows]
        writes = [(*key, *one, *made) for key in kept for one, made in self.writes[key].items()]
        needed = {write[-1] for write in writes}
        needed.update(*((row.number, *row.values.values()) for row in rows.values()))
        told = [(*at, *row) for at, row in rows.items()]
        return {"begins": True, "pieces": self.pieces.only(needed), "rows": told, "writes": writes}


def _named(config: Config) -> tuple[str, str, str | None]:
    named = config.get("configurable", {})
    return str(named["thread_id"]), named.get("checkpoint_ns") or "", named.get("checkpoint_id")


def _config(thread_id: str, ns: str, name: str) -> Config:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": name}}


def _body(note: Mapping[str, Any]) -> bytes:
    return JSON.encode_item(Note(compress(msgpack.encode(note))))


def _awaited(verb: Callable[..., Any]) -> Any:
    @wraps(verb)
    async def call(*args: Any, **named: Any) -> Any:
        return await STORE.do(verb, *args, **named)

    return call


class QuireSaver(base.BaseCheckpointSaver[int]):
    """A checkpointer on a store: SQLite, PostgreSQL, JSON lines or memory.

    `store` is an address or an open store. Threads are the conversations of `scope`. What the checkpoints of
    a thread share is kept once, so a thread grows with what happens in it, and not with its square.
    """

    def __init__(
        self, store: str | Path | Store = "quire.db", *, scope: str = "langgraph", serde: Serde | None = None
    ) -> None:
        super().__init__(serde=serde)
        self.store, self.scope = Store.open(store), named_scope(scope)
        self._threads = lru_cache(64)(_Thread)  # those that were used last

    def get_tuple(self, config: Config) -> CheckpointTuple | None:
        """The checkpoint that a config names, or else the newest of its thread and namespace."""
        thread_id, ns, name = _named(config)
        with self._current(thread_id) as thread:
            name = name or next((newest for _, newest in thread.keys(ns)), "")
            row = thread.rows.get((ns, name))
            if row is None:
                return None
            kept = thread.value(row.number)
            kept["checkpoint"]["channel_values"] = {at: thread.value(one) for at, one in row.values.items()}
            return CheckpointTuple(
                _config(thread_id, ns, name),
                kept["checkpoint"],
                kept["metadata"],
                _config(thread_id, ns, row.parent) if row.parent else None,
                thread.pending((ns, name)),
            )

    def list(
        self,
        config: Config | None,
        *,
        filter: dict[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """The checkpoints of a thread, or of all threads of the scope, newest first."""
        wanted = (config or {}).get("configurable", {})
        only, end = wanted.get("checkpoint_id"), (before or {}).get("configurable", {}).get("checkpoint_id")
        found: Sequence[tuple[str, str, str]] = ()
        for thread_id in (str(wanted["thread_id"]),) if wanted else self.store.conversations(self.scope):
            with self._current(thread_id) as thread:
                found = *found, *((at, ns, thread_id) for ns, at in thread.keys(wanted.get("checkpoint_ns")))
        left = len(found) if limit is None else limit
        for name, ns, thread_id in sorted(found, reverse=True):
            if left > 0 and only in (None, name) and (end is None or name < end):
                one = self.get_tuple(_config(thread_id, ns, name))
                if one and all(one.metadata.get(key) == value for key, value in (filter or {}).items()):
                    left -= 1
                    yield one

    def put(
        self, config: Config, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: Any
    ) -> Config:
        """Keep a checkpoint."""
        thread_id, ns, parent = _named(config)

        def note(thread: _Thread) -> dict[str, Any]:
            values = {at: thread.add(value, ns, at) for at, value in checkpoint["channel_values"].items()}
            own, about = {**checkpoint, "channel_values": {}}, base.get_checkpoint_metadata(config, metadata)
            number = thread.add({"checkpoint": own, "metadata": about})
            return {"rows": [(ns, checkpoint["id"], parent, number, values)]}

        self._write(thread_id, note)
        return _config(thread_id, ns, checkpoint["id"])

    def put_writes(
        self, config: Config, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task wrote after a checkpoint."""
        thread_id, ns, name = _named(config)
        ats = [base.WRITES_IDX_MAP.get(channel, at) for at, (channel, _) in enumerate(writes)]

        def note(thread: _Thread) -> dict[str, Any]:
            made = ((at, task_path, one[0], thread.add(one[1])) for at, one in zip(ats, writes, strict=True))
            return {"writes": [(ns, name, task_id, *one) for one in made]}

        self._write(thread_id, note)

    def delete_thread(self, thread_id: str) -> None:
        """Remove all that is kept of a thread."""
        self.store.remove(self._place(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete what runs made in any thread, except what delta channels of others are read from."""
        for thread_id in self.store.conversations(self.scope):
            self._keep(thread_id, lambda thread, key: thread.metadata(key).get("run_id") not in run_ids)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all checkpoints, or with `keep_latest` all but the newest and what it is read from."""
        for thread_id in thread_ids:
            if strategy == "keep_latest":
                self._keep(thread_id, lambda thread, key: key == thread.keys(key[0])[0])
            elif strategy == "delete":
                self.delete_thread(thread_id)
            else:
                raise InvalidValue("the strategy of prune is keep_latest or delete")

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread to one that does not exist yet."""
        entries = [Entry(*entry[1:]) for entry in self.store.read(self._place(source_thread_id))]
        self.store.append(self._place(target_thread_id), entries, expected=0)

    aget_tuple = _awaited(get_tuple)
    aput = _awaited(put)
    aput_writes = _awaited(put_writes)
    adelete_thread = _awaited(delete_thread)
    adelete_for_runs = _awaited(delete_for_runs)
    aprune = _awaited(prune)
    acopy_thread = _awaited(copy_thread)

    async def alist(self, config: Config | None, **options: Any) -> AsyncIterator[CheckpointTuple]:
        """The same as `list`, to be awaited."""
        for one in await STORE.do(lambda: [*self.list(config, **options)]):
            yield one

    def _place(self, thread_id: str) -> Place:
        return Place(self.scope, str(thread_id))

    @contextmanager
    def _current(self, thread_id: str) -> Generator[_Thread, None, None]:
        """A thread with all that others wrote, for the caller alone."""
        thread = self._threads(self._place(thread_id))
        with thread.lock:
            thread.serde = self.serde  # a copy of this saver, which shares its threads, may have another
            entries = self.store.read(thread.place, after=max(thread.version - 1, 0))
            if entries and thread.version and entries[0].body == thread.last:
                entries = entries[1:]
            elif thread.version:  # another deleted from it
                thread.begin()
                entries = self.store.read(thread.place)
            for entry, item in zip(entries, items_in(thread.place, entries), strict=True):
                note = msgpack.decode(decompress(cast(Note, item).content))
                thread.take(entry.version, entry.body, note)
            try:
                yield thread
            except BaseException:
                thread.begin()  # it may have pieces that are not in the log
                raise

    def _write(self, thread_id: str, note_for: Callable[[_Thread], dict[str, Any]]) -> int:
        """Add a note to the log of a thread, and return its version."""
        while True:
            with suppress(Conflict), self._current(thread_id) as thread:
                known = len(thread.pieces.all)
                note = note_for(thread)
                entry = Entry("checkpoints", _body({"pieces": thread.pieces.all[known:], **note}))
                version = self.store.append(thread.place, [entry], expected=thread.version)
                thread.take(version, entry.body, note)
                return version

    def _keep(self, thread_id: str, stays: Callable[[_Thread, Key], bool]) -> None:
        """Delete the checkpoints of a thread that do not stay, unless those that stay are read from them."""
        with self._current(thread_id) as thread:
            if all(stays(thread, key) for key in thread.rows):
                return

        def note(thread: _Thread) -> dict[str, Any]:
            staying = {key for key in thread.rows if stays(thread, key)}
            return thread.note_of(staying.union(*map(thread.sources, staying)) & thread.rows.keys())

        version = self._write(thread_id, note)
        self.store.replace(self._place(thread_id), dict.fromkeys(range(1, version), _body({})))
