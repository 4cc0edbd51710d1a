"""LangGraph's checkpoints in a store of Quire: each message of a thread is stored once.

A thread is one conversation of the store, and each `put` and `put_writes` appends one note to its log. The
note has only the values that are new to the thread. Of a list that extends an earlier list, it has only the
new elements. To delete checkpoints, one note with all remaining data starts the thread again, and all notes
before it are erased.
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
    """A checkpoint. Piece `number` is the checkpoint and its metadata, without the values of channels."""

    parent: str | None
    number: int
    values: Mapping[str, int]
    """The number of each channel's value, by channel."""


class _Thread:
    """A thread in memory: the content of its log up to a version."""

    serde: Serde

    def __init__(self, place: Place) -> None:
        self.place, self.lock = place, Lock()
        self.clear()

    def clear(self) -> None:
        self.version, self.last_body = 0, b""
        self.pieces = Pieces()
        self.rows: dict[Key, _Row] = {}
        self.writes: dict[Key, dict[tuple[str, int], tuple[str, str, int]]] = {}
        """By checkpoint, then by task and index: the path of the task, the channel, and the piece written."""
        self._lists: dict[Key, int] = {}  # the newest list, by namespace and channel

    def apply(self, version: int, body: bytes, note: Mapping[str, Any]) -> None:
        """Apply the next note of the log."""
        if note.get("begins"):
            self.clear()
        self.version, self.last_body = version, body
        for piece in note.get("pieces", ()):
            self.pieces.load(piece)
        for ns, name, *fields in note.get("rows", ()):
            row = self.rows[ns, name] = _Row(*fields)
            lists = {channel: n for channel, n in row.values.items() if self.pieces.is_list(n)}
            self._lists |= {(ns, channel): number for channel, number in lists.items()}
        for ns, name, task, index, *fields in note.get("writes", ()):
            writes = self.writes.setdefault((ns, name), {})
            if index < 0 or (task, index) not in writes:
                writes[task, index] = tuple(fields)

    def add(self, value: Any, ns: str = "", channel: str = "") -> int:
        """Add a value and return its number. A list is stored as its difference to the channel's newest."""
        if type(value) is not list:
            return self.pieces.add(self.serde.dumps_typed(value))
        elements = [self.pieces.add(self.serde.dumps_typed(row)) for row in cast(Sequence[Any], value)]
        return self.pieces.add_list(elements, self._lists.get((ns, channel), NO_LIST))

    def value(self, number: int) -> Any:
        if self.pieces.is_list(number):
            return [self.value(element) for element in self.pieces.elements(number)]
        return self.serde.loads_typed(cast(Typed, self.pieces.all[number]))

    def metadata(self, key: Key) -> CheckpointMetadata:
        return cast(CheckpointMetadata, self.value(self.rows[key].number)["metadata"])

    def keys(self, ns: str | None = None) -> list[Key]:
        """The checkpoints of a namespace or of all, newest first."""
        newest = sorted(self.rows, key=lambda key: key[1], reverse=True)
        return [key for key in newest if ns in (None, key[0])]

    def pending(self, key: Key) -> list[base.PendingWrite]:
        """The writes of tasks after a checkpoint, in the order in which LangGraph applies them."""
        writes = self.writes.get(key, {})
        rows = [(task, index, *fields) for (task, index), fields in writes.items()]
        rows.sort(key=lambda row: base.writes_sort_key(row[2], row[0], row[1]))
        return [(task, channel, self.value(number)) for task, _, _, channel, number in rows]

    def sources(self, key: Key) -> Iterator[Key]:
        """The ancestors from which LangGraph reads the delta channels of a checkpoint."""
        while key in self.rows and self.metadata(key).get("counters_since_delta_snapshot"):
            key = (key[0], self.rows[key].parent or "")
            yield key

    def restart_note(self, keys: set[Key]) -> dict[str, Any]:
        """The note that starts the thread again with only these checkpoints. Numbers of pieces stay.

        If the pieces 0 and 1 belong to the checkpoint a, and only b remains:

            pieces: ("deleted", b"0"), ("deleted", b"1"), ("msgpack", b"…")
            rows:   ("", "b", "a", 2, {})
            writes: those of b, and those of checkpoints that are not put yet
        """
        rows_by_key = {key: row for key, row in self.rows.items() if key in keys}
        remaining = [key for key in self.writes if key in keys or key not in self.rows]
        writes = [(*key, *task, *fields) for key in remaining for task, fields in self.writes[key].items()]
        needed = {write[-1] for write in writes}
        for row in rows_by_key.values():
            needed.update((row.number, *row.values.values()))
        pieces = self.pieces.erased_except(needed)
        rows = [(*key, *row) for key, row in rows_by_key.items()]
        return {"begins": True, "pieces": pieces, "rows": rows, "writes": writes}


def _key_of(config: Config) -> tuple[str, str, str | None]:
    """The thread, the namespace and the checkpoint that a config names; the checkpoint may be None."""
    fields = config.get("configurable", {})
    return str(fields["thread_id"]), fields.get("checkpoint_ns") or "", fields.get("checkpoint_id")


def _config(thread_id: str, ns: str, name: str) -> Config:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": name}}


def _body(note: Mapping[str, Any]) -> bytes:
    return JSON.encode_item(Note(compress(msgpack.encode(note))))


def _awaited(verb: Callable[..., Any]) -> Any:
    @wraps(verb)
    async def call(*args: Any, **kwargs: Any) -> Any:
        return await STORE.do(verb, *args, **kwargs)

    return call


class QuireSaver(base.BaseCheckpointSaver[int]):
    """A checkpointer on a store: SQLite, PostgreSQL, JSON lines or memory.

    `store` is an address or an open store. Threads are the conversations of `scope`. Values that checkpoints
    of a thread share are stored once, so that a thread's size grows linearly with its messages.
    """

    def __init__(
        self, store: str | Path | Store = "quire.db", *, scope: str = "langgraph", serde: Serde | None = None
    ) -> None:
        super().__init__(serde=serde)
        self.store, self.scope = Store.open(store), named_scope(scope)
        self._threads = lru_cache(64)(_Thread)

    def get_tuple(self, config: Config) -> CheckpointTuple | None:
        """The checkpoint that a config names, or else the newest of its thread and namespace."""
        thread_id, ns, name = _key_of(config)
        with self._current(thread_id) as thread:
            name = name or next((newest for _, newest in thread.keys(ns)), "")
            row = thread.rows.get((ns, name))
            if row is None:
                return None
            stored = thread.value(row.number)
            values = {channel: thread.value(number) for channel, number in row.values.items()}
            stored["checkpoint"]["channel_values"] = values
            return CheckpointTuple(
                _config(thread_id, ns, name),
                stored["checkpoint"],
                stored["metadata"],
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
        only_id = wanted.get("checkpoint_id")
        end_id = (before or {}).get("configurable", {}).get("checkpoint_id")
        keys: Sequence[tuple[str, str, str]] = ()  # the id first: checkpoints sort by it
        for thread_id in (str(wanted["thread_id"]),) if wanted else self.store.conversations(self.scope):
            with self._current(thread_id) as thread:
                thread_keys = thread.keys(wanted.get("checkpoint_ns"))
                keys = *keys, *((name, ns, thread_id) for ns, name in thread_keys)
        remaining = len(keys) if limit is None else limit
        for name, ns, thread_id in sorted(keys, reverse=True):
            if remaining > 0 and only_id in (None, name) and (end_id is None or name < end_id):
                stored = self.get_tuple(_config(thread_id, ns, name))
                if stored and all(stored.metadata.get(key) == value for key, value in (filter or {}).items()):
                    remaining -= 1
                    yield stored

    def put(
        self, config: Config, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: Any
    ) -> Config:
        """Store a checkpoint."""
        thread_id, ns, parent = _key_of(config)

        def note(thread: _Thread) -> dict[str, Any]:
            channels = checkpoint["channel_values"].items()
            values = {channel: thread.add(value, ns, channel) for channel, value in channels}
            bare = {**checkpoint, "channel_values": {}}
            full_metadata = base.get_checkpoint_metadata(config, metadata)
            number = thread.add({"checkpoint": bare, "metadata": full_metadata})
            return {"rows": [(ns, checkpoint["id"], parent, number, values)]}

        self._write(thread_id, note)
        return _config(thread_id, ns, checkpoint["id"])

    def put_writes(
        self, config: Config, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote after a checkpoint."""
        thread_id, ns, name = _key_of(config)

        def note(thread: _Thread) -> dict[str, Any]:
            rows = [
                (base.WRITES_IDX_MAP.get(channel, index), task_path, channel, thread.add(value))
                for index, (channel, value) in enumerate(writes)
            ]
            return {"writes": [(ns, name, task_id, *row) for row in rows]}

        self._write(thread_id, note)

    def delete_thread(self, thread_id: str) -> None:
        """Remove a thread from the store."""
        self.store.remove(self._place(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of these runs in all threads.

        A checkpoint stays if the delta channels of a remaining one are read from it.
        """
        for thread_id in self.store.conversations(self.scope):
            self._retain(thread_id, lambda thread, key: thread.metadata(key).get("run_id") not in run_ids)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete the checkpoints of threads: `delete` deletes all of them.

        `keep_latest` leaves the newest of each namespace, and those from which its delta channels are read.
        """
        for thread_id in thread_ids:
            if strategy == "keep_latest":
                self._retain(thread_id, lambda thread, key: key == thread.keys(key[0])[0])
            elif strategy == "delete":
                self.delete_thread(thread_id)
            else:
                raise InvalidValue(f"prune's strategy must be keep_latest or delete, not {strategy!r}")

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread to one that does not exist yet."""
        stored = self.store.read(self._place(source_thread_id))
        entries = [Entry(entry.stream, entry.body) for entry in stored]
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
        for checkpoint in await STORE.do(lambda: [*self.list(config, **options)]):
            yield checkpoint

    def _place(self, thread_id: str) -> Place:
        return Place(self.scope, str(thread_id))

    @contextmanager
    def _current(self, thread_id: str) -> Generator[_Thread, None, None]:
        """A locked thread that is up to date with the store."""
        thread = self._threads(self._place(thread_id))
        with thread.lock:
            thread.serde = self.serde  # copies of this saver share its threads, and may have another serde
            entries = self.store.read(thread.place, after=max(thread.version - 1, 0))
            if entries and thread.version and entries[0].body == thread.last_body:
                entries = entries[1:]
            elif thread.version:  # another writer has deleted from the thread: read it again
                thread.clear()
                entries = self.store.read(thread.place)
            for entry, item in zip(entries, items_in(thread.place, entries), strict=True):
                note = msgpack.decode(decompress(cast(Note, item).content))
                thread.apply(entry.version, entry.body, note)
            try:
                yield thread
            except BaseException:
                thread.clear()  # it may have pieces that are not in the log
                raise

    def _write(self, thread_id: str, note_for: Callable[[_Thread], dict[str, Any]]) -> int:
        """Add a note to the log of a thread, and return its version."""
        while True:
            with suppress(Conflict), self._current(thread_id) as thread:
                known_count = len(thread.pieces.all)
                note = note_for(thread)
                entry = Entry("checkpoints", _body({"pieces": thread.pieces.all[known_count:], **note}))
                version = self.store.append(thread.place, [entry], expected=thread.version)
                thread.apply(version, entry.body, note)
                return version

    def _retain(self, thread_id: str, is_retained: Callable[[_Thread, Key], bool]) -> None:
        """Delete the checkpoints of a thread, except those that `is_retained` chooses and their sources."""
        with self._current(thread_id) as thread:
            if all(is_retained(thread, key) for key in thread.rows):
                return

        def note(thread: _Thread) -> dict[str, Any]:
            retained = {key for key in thread.rows if is_retained(thread, key)}
            return thread.restart_note(retained.union(*map(thread.sources, retained)) & thread.rows.keys())

        version = self._write(thread_id, note)
        self.store.replace(self._place(thread_id), dict.fromkeys(range(1, version), _body({})))
