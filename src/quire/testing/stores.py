"""The laws of a store: it behaves like a dictionary of lists, for any number of writers."""

import threading
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import pytest
from hypothesis import given, strategies as st

from quire.errors import Conflict, InvalidValue, OutOfRange, StoreDamaged, StoreFailed, WrongType
from quire.items import JSON, Item
from quire.stores import Entry, Opening, Place, Store, Stored
from quire.testing.examples import examples
from quire.testing.items import FIELDS, items, of_kind, same

HERE, THERE = Place("ana", "q3"), Place("", "")

_PLAIN = "|main|ana|Ana|ana |..|../ana|a/b|a%2Fb|%2F|%|/|\\|é|e\u0301"
_HOSTILE = """'; DROP TABLE entries; --|" OR ""="|' OR '1'='1|%_|*|{"at":{}}|🧵|名前"""
ODD_NAMES = [*_PLAIN.split("|"), *_HOSTILE.split("|"), "x" * 500]
STREAMS = ["main", "attempt_a", "a/b", "'", '"', "流", "x" * 500]


def entry(text: str, stream: str = "main") -> Entry:
    """An entry with a text."""
    return Entry(stream, f'{{"kind":"message","text":"{text}"}}'.encode())


def places() -> st.SearchStrategy[Place]:
    """A few places, with names that are easily confused."""
    return st.builds(Place, st.sampled_from(ODD_NAMES), st.sampled_from(ODD_NAMES))


def bodies() -> st.SearchStrategy[bytes]:
    """JSON objects; some look like the envelope that a store writes."""
    odd = [
        *(b"{}", b"{ }", b'{"at":{}}', b'{"at":1}', b'{"at":{"scope":"x"},"a":1}'),
        b'{ "at" : {} , "b" : [] }',
        b'{"at":{"scope":"","conversation":"","stream":"main","version":1,"sum":1}}',
        b'{"quire":2,"size":               0,"sum":"00000000"}',
    ]
    texts = st.text(st.characters(codec="utf-8", exclude_characters='"\\', min_codepoint=32), max_size=8)
    return st.sampled_from(odd) | texts.map(lambda text: f'{{"kind":"note","text":"{text}"}}'.encode())


def entries() -> st.SearchStrategy[Entry]:
    """An entry of any stream."""
    return st.builds(Entry, st.sampled_from(STREAMS), bodies())


class StoreUnderTest:
    """A folder of a store, opened once or several times, as by other processes."""

    def __init__(self, open_store: Callable[[], Store], folder: Path, *, is_lasting: bool = True) -> None:
        self._open, self.folder, self.is_lasting = open_store, folder, is_lasting
        self._stores: list[Store] = []
        self.store: Store = self.open()

    def open(self) -> Store:
        """Open the store once more; a store in memory is opened only once."""
        if not self._stores or self.is_lasting:
            self._stores.append(self._open())
        return self._stores[-1]

    def reopen(self) -> Store:
        """The store after a restart."""
        if self.is_lasting:
            self.close()
            self.store = self.open()
        return self.store

    def close(self) -> None:
        for store in self._stores:
            store.close()
        self._stores.clear()

    def files_with(self, words: bytes) -> list[str]:
        """The files that contain some bytes."""
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return [path.name for path in files if words in path.read_bytes()]


class Oracle:
    """The expected content of a store, as plain lists."""

    def __init__(self) -> None:
        self.rows: dict[Place, list[Entry]] = {}
        self.checkpoints: dict[Place, Opening] = {}
        self.parts: dict[Place, dict[int, bytes]] = {}

    def version(self, place: Place) -> int:
        return len(self.rows.get(place, []))

    def read(self, place: Place, after: int = 0) -> list[Stored]:
        row = self.rows.get(place, [])
        return [Stored(at, *entry) for at, entry in enumerate(row, 1) if at > after]

    def append(self, place: Place, entries: list[Entry]) -> None:
        if entries:
            self.rows.setdefault(place, []).extend(entries)

    def write_checkpoint(
        self, place: Place, version: int, head: bytes, needs: list[int], parts: dict[int, bytes]
    ) -> bool:
        existing = self.checkpoints.get(place)
        if version > self.version(place) or (existing is not None and existing.version > version):
            return False
        named = [item for item in self.read(place) if item.version in needs and item.version < version]
        versions, bodies = [item.version for item in named], b",".join(item.body for item in named)
        self.checkpoints[place] = Opening(version, head, [], versions, bodies)
        self.parts.setdefault(place, {}).update(parts)
        return True

    def open_checkpoint(self, place: Place) -> Opening | None:
        existing = self.checkpoints.get(place)
        return existing and existing._replace(entries=self.read(place, existing.version - 1))

    def drop_checkpoint(self, place: Place) -> None:
        self.checkpoints.pop(place, None)
        self.parts.pop(place, None)

    def check(self, store: Store) -> None:
        """Check that the store has the expected content and nothing else."""
        assert store.scopes() == sorted({place.scope for place in self.rows}), "scopes() is wrong"
        for scope in {place.scope for place in self.rows} | {"nobody's"}:
            names = sorted(place.conversation for place in self.rows if place.scope == scope)
            listed = store.conversations(scope)
            assert list(listed) == names, f"conversations({scope!r}) has other names"
            versions = [self.version(Place(scope, name)) for name in names]
            listed_versions = [listed[name].version for name in names]
            assert listed_versions == versions, f"conversations({scope!r}) has other versions"
            recent = {item.place: item.version for item in store.recent(scope)}
            expected = {place: self.version(place) for place in self.rows if place.scope == scope}
            assert recent == expected, f"recent({scope!r}) has other conversations or versions"
        for place in self.rows:
            assert store.version(place) == self.version(place), f"version({place}) is wrong"
            assert store.read(place) == self.read(place), f"read({place}) returns other entries"
            self.check_checkpoint(store, place)
        assert list(store.verify()) == [], "verify() finds faults in a store that is whole"
        whole = {(place, stored) for place in self.rows for stored in self.read(place)}
        assert set(store.recover()) == whole, "recover() returns other entries than there are"

    def check_checkpoint(self, store: Store, place: Place) -> None:
        """Check that the checkpoint is the newest since the last change."""
        opening = store.open_checkpoint(place)
        opening = opening and opening._replace(links=None)
        assert opening == self.open_checkpoint(place), "another checkpoint is opened"
        parts = self.parts.get(place, {})
        assert store.read_parts(place, [1, 2, 3, 4]) == parts, "read_parts() returns other parts"


class StoreLaws:
    """The laws of a store. A subclass defines `open`, and pytest runs them."""

    is_lasting: ClassVar[bool] = True
    """False for a store that keeps its entries in memory: it is opened once, and has no files."""

    def open(self, folder: Path) -> Store:
        """Open the store in a folder, which is new and empty for every test.

        It is called several times with one folder, as by several processes: all see the same entries. A store
        on a server uses the name of the folder as the name of a database or a prefix.
        """
        raise NotImplementedError("a subclass of StoreLaws defines open(self, folder)")

    def drop(self, folder: Path) -> None:
        """Delete what `open` made outside the folder, such as a database. The folder is deleted too."""

    @contextmanager
    def opened(self) -> Generator[StoreUnderTest]:
        """A fresh store."""
        if self.is_lasting and not self._is_shared:
            self._check_shared()
        with TemporaryDirectory() as name:
            folder = Path(name)
            tested = StoreUnderTest(lambda: self.open(folder), folder, is_lasting=self.is_lasting)
            try:
                yield tested
            finally:
                tested.close()
                self.drop(folder)

    _is_shared: ClassVar[bool] = False

    def _check_shared(self) -> None:
        """Fail if two openings of a folder do not share entries: every law would fail for that reason."""
        with TemporaryDirectory() as name:
            folder = Path(name)
            stores = [self.open(folder), self.open(folder)]
            try:
                stores[0].append(HERE, [entry("one")], expected=0)
                assert stores[1].version(HERE) == 1, (
                    "of two stores that open(folder) returned, the second does not read what was appended to "
                    f"the first; for a store in memory, set {type(self).__name__}.is_lasting = False"
                )
            finally:
                for store in stores:
                    store.close()
                self.drop(folder)
        type(self)._is_shared = True

    @examples(10)
    @given(data=st.data())
    def test_it_behaves_like_a_dictionary_of_lists(self, data: st.DataObject) -> None:
        with self.opened() as tested:
            oracle = Oracle()
            drawn = data.draw(st.lists(places(), min_size=1, max_size=4, unique=True), "places")
            for _ in range(data.draw(st.integers(1, 15), "steps")):
                _step(tested, oracle, data.draw(st.sampled_from(drawn)), data)
            oracle.check(tested.store)
            tested.reopen()
            oracle.check(tested.store)
            assert tested.store.reports == (), "a store that is whole reports damage"

    @examples(20)
    @given(data=st.data())
    def test_items_of_every_kind_come_back_byte_for_byte(self, data: st.DataObject) -> None:
        with self.opened() as tested:
            one_of_each: list[Item] = [data.draw(of_kind(kind)) for kind in FIELDS]
            more = data.draw(st.lists(items(), max_size=3))
            place = data.draw(places())
            written = [JSON.encode_item(item) for item in one_of_each + more]
            version = tested.store.append(place, [Entry("main", body) for body in written[:5]], expected=0)
            for body in written[5:]:
                version = tested.store.append(place, [Entry("main", body)], expected=version)
            for store in (tested.store, tested.open()):
                back = [stored.body for stored in store.read(place)]
                assert back == written, "a body comes back changed"
                for body, item in zip(back, one_of_each + more, strict=True):
                    assert same(JSON.decode_item(body), item), f"{item} comes back changed"

    def test_an_append_that_expects_another_version_conflicts_and_adds_nothing(self) -> None:
        with self.opened() as tested:
            tested.store.append(HERE, [entry("first"), entry("second")], expected=0)
            for store in (tested.store, tested.open()):
                for expected in (0, 1, 3, -1, 2**62, 2**70):
                    _refuse(store, HERE, expected, found=2)
                with pytest.raises(Conflict):
                    store.append(HERE, [], expected=0)
                rows = [stored[1:] for stored in store.read(HERE)]
                assert rows == [entry("first"), entry("second")], "an append that conflicted changed entries"

    @pytest.mark.parametrize("size", [1, 3], ids=["single entries", "batches"])
    def test_concurrent_writers_lose_nothing_and_duplicate_nothing(self, size: int) -> None:
        with self.opened() as tested:
            stores = [tested.open() for _ in range(2)]
            faults: list[BaseException] = []
            together = threading.Barrier(4)  # all know the same version, so that all but one conflict

            def write(writer: int) -> None:
                store = stores[writer % 2]
                try:
                    for number in range(12):
                        batch = [entry(f"{writer}.{number}.{part}") for part in range(size)]
                        version = store.version(HERE)
                        together.wait(60)
                        _append_after(version, store, batch)
                except BaseException as fault:
                    together.abort()
                    faults.append(fault)

            threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert faults == [], "a writer failed"
            _check_written([tested.store, *stores, tested.open()], size)

    def test_concurrent_checkpoints_leave_the_newest_one_complete(self) -> None:
        with self.opened() as tested:
            stores = [tested.store, tested.open()]
            tested.store.append(HERE, [entry(str(number)) for number in range(40)], expected=0)
            if not tested.store.has_checkpoints:
                assert not tested.store.write_checkpoint(HERE, 1, b"", [], {}), "has_checkpoints is not set"
                return

            def write(writer: int) -> None:
                for version in range(1 + writer, 41, 2):
                    body = str(version).encode()
                    stores[writer].write_checkpoint(HERE, version, body, [1], {1: body, 2: body})

            def opened(store: Store) -> int:
                opening = store.open_checkpoint(HERE)
                if opening is None:
                    return 0
                version = opening.version
                assert opening.head == str(version).encode(), "the head is of another version"
                versions = [*opening.needs, *(item.version for item in opening.entries)]
                is_complete = versions == [1, *range(max(version, 2), 41)]
                assert is_complete, "a checkpoint is opened with other entries than it needs"
                return version

            with ThreadPoolExecutor(2) as threads:
                futures = [threads.submit(write, writer) for writer in range(2)]
                versions = [opened(stores[1])]
                while not all(future.done() for future in futures):
                    versions.append(opened(stores[1]))
            for future in futures:
                future.result()
            assert versions == sorted(versions), "an older checkpoint replaced a newer one"
            for store in (*stores, tested.open()):
                assert opened(store) == 40, "another checkpoint than the newest is there"
                parts = store.read_parts(HERE, [1, 2, 3])
                assert parts == {1: b"40", 2: b"40"}, "the parts are not those of the newest checkpoint"

    def test_nothing_of_one_scope_is_readable_from_another(self) -> None:
        with self.opened() as tested:
            store, secret = tested.store, Place("ana", "q3")
            store.append(secret, [entry("secret")], expected=0)
            scopes = [scope for scope in ODD_NAMES if scope != "ana"]
            others = [Place(scope, name) for scope in scopes for name in ("q3", "ana/q3", "%")]
            others += [Place("", "ana/q3"), Place("ana/", "q3"), Place("ana", "Q3"), Place("", "")]
            for place in others:
                assert store.read(place) == [], f"{secret} was read at {place}"
                assert store.version(place) == 0, f"{place} has the version of {secret}"
                store.remove(place)
                assert store.wait(place, 0, 0.0) == 0, f"{place} has the version of {secret}"
            for scope in ODD_NAMES:
                versions = {name: at.version for name, at in store.conversations(scope).items()}
                assert versions == ({"q3": 1} if scope == "ana" else {}), f"conversations({scope!r}) is wrong"
            bodies = [stored.body for stored in store.read(secret)]
            assert bodies == [entry("secret").body], f"removing other places changed {secret}"

    def test_a_waiting_reader_is_notified_of_an_append(self) -> None:
        with self.opened() as tested:
            reader, returned = tested.open(), list[int]()
            assert reader.wait(HERE, 0, 0.02) == 0, "wait() returns a version, and there are no entries"
            assert reader.wait(HERE, 5, 10.0) == 0, "wait() returns a version, and there are no entries"
            waiting = threading.Thread(target=lambda: returned.append(reader.wait(HERE, 0, 20.0)))
            waiting.start()
            time.sleep(0.03)
            tested.store.append(HERE, [entry("now")], expected=0)
            waiting.join(20)
            assert returned == [1], "wait() did not return the version of an append made meanwhile"
            assert reader.read(HERE) == tested.store.read(HERE), "two openings read different entries"

    def test_watchers_are_notified_of_changes_of_any_opening(self) -> None:
        with self.opened() as tested:
            reader, notified, other = tested.open(), threading.Event(), threading.Event()
            end = reader.watch(HERE, notified.set)
            assert notified.wait(20), "watch() does not notify once soon after it returns"
            reader.watch(HERE, other.set)
            for change in (
                lambda: tested.store.append(HERE, [entry("one")], expected=0),
                lambda: tested.store.append(HERE, [entry("two"), entry("three")], expected=1),
                lambda: tested.store.remove(HERE),
            ):
                assert other.wait(20)
                for event in (notified, other):
                    event.clear()
                change()
                assert notified.wait(20), "a watcher is not notified of a change"
            assert other.wait(20)
            for step in (end, end, other.clear, notified.clear):  # a watcher may end twice
                step()
            tested.store.append(HERE, [entry("four")], expected=0)
            assert other.wait(20) and not notified.is_set(), "a watcher that has ended is notified"

    def test_replaced_and_removed_entries_are_gone_for_every_opening(self) -> None:
        with self.opened() as tested:
            other = tested.open()
            tested.store.append(HERE, [entry("one"), entry("two", "side")], expected=0)
            assert len(other.read(HERE)) == 2, "another opening does not read what was appended"
            tested.store.write_checkpoint(HERE, 2, b"head", [1], {1: b"part"})
            moment = other.changes(HERE.scope).moment
            tested.store.replace(HERE, {2: b'{"kind":"gone"}'})
            changed = other.changes(HERE.scope, moment).versions
            assert HERE.conversation in changed, "changes() does not list a replacement"
            _check_no_checkpoint(other)
            rows = [stored[1:] for stored in other.read(HERE)]
            expected = [entry("one"), ("side", b'{"kind":"gone"}')]
            assert rows == expected, "another opening does not read a replacement"
            other.append(HERE, [entry("three")], expected=2)
            other.write_checkpoint(HERE, 1, b"head", [], {1: b"part"})
            tested.store.remove(HERE)
            is_gone = other.version(HERE) == 0 and other.read(HERE) == [] and other.scopes() == []
            assert is_gone, "another opening still has a removed conversation"
            version = other.append(HERE, [entry("again")], expected=0)
            assert version == 1, "a conversation does not begin anew after its removal"
            _check_no_checkpoint(other)
            assert tested.store.read(HERE) == other.read(HERE), "two openings read different entries"

    def test_scrubbed_content_is_in_no_file(self) -> None:
        """Checks the files of the folder. A store on a server needs its own test."""
        with self.opened() as tested:
            store = tested.store
            for number in range(300):  # enough that a database moves rows between its pages
                text = "swordfish " * (1 + number % 40) if number % 3 == 0 else "x" * (number * 7 % 900)
                for place in (HERE, THERE):
                    store.append(place, [entry(text)], expected=number)
                    if number % 20 == 0:
                        store.write_checkpoint(place, 1, b"swordfish" * 200, [], {number + 1: text.encode()})
            store.replace(HERE, dict.fromkeys(range(1, 301, 3), b'{"kind":"gone"}'))
            store.remove(THERE)
            store.scrub()
            assert tested.files_with(b"swordfish") == [], "files have content that was replaced or removed"
            versions = [stored.version for stored in store.read(HERE)]
            assert versions == list(range(1, 301)), "scrub() changed the versions of entries"
            assert list(store.verify()) == [], "verify() finds faults after scrub()"
            assert store.version(THERE) == 0, "scrub() brought a removed conversation back"

    def test_a_scope_lists_its_conversations_with_their_versions(self) -> None:
        with self.opened() as tested:
            store = tested.store
            for conversation, count in (("q3", 2), ("q4", 1), ("", 3)):
                store.append(Place("ana", conversation), [entry("one")] * count, expected=0)
            store.append(Place("bo", "q3"), [entry("one")], expected=0)
            before = store.conversations("ana")
            versions = {name: at.version for name, at in before.items()}
            assert versions == {"": 3, "q3": 2, "q4": 1}, "conversations() has other names or versions"
            store.remove(Place("ana", "q3"))
            left = {name: before[name] for name in ("", "q4")}
            assert store.conversations("ana") == left, "removing one conversation changed the others"
            store.append(Place("ana", "q3"), [entry("one")] * 2, expected=0)
            again = store.conversations("ana")["q3"]
            assert again.version == 2, "a removed conversation does not begin anew"
            assert not again.log or again.log != before["q3"].log, "a new conversation has the log of the old"
            store.replace(Place("ana", "q4"), {1: entry("two").body})
            checksum = store.conversations("ana")["q4"].checksum
            assert checksum is None or checksum != before["q4"].checksum, "checksum: not of the last entry"

    @examples(4)
    @given(data=st.data())
    def test_changes_since_a_moment_miss_nothing(self, data: st.DataObject) -> None:
        """A reader that applies the changes of all writers has all entries."""
        with self.opened() as tested:
            stores, known = [tested.store, tested.open()], dict[str, list[Stored]]()
            moment = None
            for _ in range(data.draw(st.integers(1, 8))):
                for _ in range(data.draw(st.integers(0, 3))):
                    store = data.draw(st.sampled_from(stores))
                    name, verb = data.draw(st.sampled_from("abc")), data.draw(st.sampled_from(_CHANGES))
                    place = Place(data.draw(st.sampled_from(["ana", "ana", "bo"])), name)
                    version = store.version(place)
                    if verb == "append":
                        store.append(place, [entry(name)], expected=version)
                    elif verb == "replace" and version:
                        store.replace(place, {version: entry(data.draw(st.sampled_from("xyz"))).body})
                    elif verb == "remove":
                        store.remove(place)
                changes = stores[0].changes("ana", moment)
                moment, there = changes.moment, stores[0].conversations("ana")
                if changes.is_all:
                    known = {name: known.get(name, []) for name in changes.versions}
                for name, log_version in changes.versions.items():
                    assert log_version == there[name], f"changes() has another version of {name}"
                    known[name] = stores[0].read(Place("ana", name))
                stored = {name: stores[1].read(Place("ana", name)) for name in there}
                assert known == stored, "changes() misses a write"

    def test_conversations_are_listed_by_their_last_activity(self) -> None:
        with self.opened() as tested:
            reader = tested.open()

            def add(place: Place, time_field: str) -> None:
                decoys = '"text":"\\"created_at\\":9","extras":{"created_at":8}'
                body = f'{{"kind":"message",{time_field}{decoys}}}'
                version = tested.store.version(place)
                tested.store.append(place, [Entry("main", body.encode())], expected=version)

            old, new, other, timeless = (Place("ana", "old"), Place("ana", "new"), HERE, Place("bo", ""))
            for place, created_at in ((old, 1.5), (new, 3), (other, 2.25), (old, 1.75)):
                add(place, f'"created_at":{created_at},')
            add(timeless, "")
            expected = [(new, 1, 3.0), (other, 1, 2.25), (old, 2, 1.75), (timeless, 1, None)]
            for store in (tested.store, reader):
                assert store.recent() == expected, "recent() has other conversations, or in another order"
                assert store.recent("ana") == expected[:3], "recent(scope) has other conversations"
                assert store.recent("nobody's") == [], "a scope without conversations has recent ones"
            add(old, '"created_at":4,')
            tested.store.replace(other, {1: b'{"kind":"message","created_at":3.5}'})
            expected = [(old, 3, 4.0), (other, 1, 3.5), (new, 1, 3.0), (timeless, 1, None)]
            for store in (tested.store, reader):
                assert store.recent() == expected, "recent() does not follow an append or a replacement"
            tested.store.replace(other, {1: b'{"kind":"message","created_at":2.25}'})
            tested.store.remove(new)
            expected = [(old, 3, 4.0), (other, 1, 2.25), (timeless, 1, None)]
            for store in (tested.store, reader):
                assert store.recent() == expected, "recent() does not follow writes of other openings"

    def test_wrong_arguments_are_refused_and_change_nothing(self) -> None:
        with self.opened() as tested:
            store = tested.store
            store.append(HERE, [entry("fine")], expected=0)
            for stream in ("", "a\nb", "a\0", "x" * 501):
                with pytest.raises(InvalidValue):
                    store.append(HERE, [entry("fine"), entry("not", stream)], expected=1)
            for error, place, item, expected in _wrong_appends():
                with pytest.raises(error):
                    store.append(place, [item], expected=expected)
            beyond, all_of_it = store.read(HERE, after=1_000_000), store.read(HERE, after=-1)
            assert beyond == [] and len(all_of_it) == 1, "read(after=…) returns the wrong entries"
            for version in (0, -1, 2, 1 << 40):
                with pytest.raises(OutOfRange):
                    store.replace(HERE, {1: b"{}", version: b"{}"})
            for verb in _wrong_calls(store):
                with pytest.raises(WrongType):
                    verb()
            assert store.scopes() == ["ana"], "a refused append made a scope"
            bodies = [stored.body for stored in store.read(HERE)]
            assert bodies == [entry("fine").body], "a refused call changed entries"

    def test_a_closed_store_raises_store_failed(self) -> None:
        with self.opened() as tested:
            tested.store.append(HERE, [entry("one")], expected=0)
            with tested.store as store:
                pass
            store.close()
            for verb in (
                lambda: store.append(HERE, [entry("two")], expected=1),
                lambda: store.read(HERE),
                lambda: store.read_at(HERE, [1]),
                lambda: store.versions_of(HERE, "main"),
                lambda: store.version(HERE),
                *(lambda: store.conversations("ana"), lambda: store.changes("ana")),
                store.scopes,
                store.recent,
                lambda: store.replace(HERE, {1: b"{}"}),
                lambda: store.remove(HERE),
                lambda: store.wait(HERE, 0, 0.01),
            ):
                with pytest.raises(StoreFailed, match="closed"):
                    verb()


_CHANGES = ["append", "append", "replace", "remove"]
_STEPS = [
    *("append", "append", "append", "stale", "read", "checkpoint", "checkpoint"),
    *("change", "remove", "scrub", "reopen"),
]


def _step(tested: StoreUnderTest, oracle: Oracle, place: Place, data: st.DataObject) -> None:
    version = oracle.version(place)
    match data.draw(st.sampled_from(_STEPS)):
        case "append":
            added = data.draw(st.lists(entries(), max_size=4))
            now = tested.store.append(place, added, expected=version)
            assert now == version + len(added), "append() returns another version"
            oracle.append(place, added)
        case "stale":
            expected = data.draw(st.integers(0, version + 3).filter(lambda at: at != version))
            _refuse(tested.store, place, expected, version)
            assert tested.store.read(place) == oracle.read(place), "an append that conflicted changed entries"
        case "read":
            after = data.draw(st.integers(0, version + 1))
            stored = tested.store.read(place, after=after)
            assert stored == oracle.read(place, after), f"read(after={after}) returns other entries"
            _read_some(tested.store, oracle, place, data)
        case "checkpoint":
            _write_checkpoint(tested.store, oracle, place, data)
        case "change":
            _change(tested.store, oracle, place, data)
        case "remove":
            tested.store.remove(place)
            oracle.rows.pop(place, None)
            oracle.drop_checkpoint(place)
            assert tested.store.version(place) == 0, "a removed conversation has a version"
        case "scrub":
            tested.store.scrub()
        case _:
            tested.reopen()


def _refuse(store: Store, place: Place, expected: int, found: int) -> None:
    with pytest.raises(Conflict) as refused:
        store.append(place, [entry("late")], expected=expected)
    versions = (refused.value.expected, refused.value.found)
    assert versions == (expected, found), "Conflict has other versions: expected, found"


def _read_some(store: Store, oracle: Oracle, place: Place, data: st.DataObject) -> None:
    whole = oracle.read(place)
    wanted = data.draw(st.lists(st.sampled_from(whole), max_size=4)) if whole else []
    rows = store.read_at(place, [stored.version for stored in wanted])
    assert rows == sorted(set(wanted)), "read_at() returns other entries than read()"
    with pytest.raises(StoreDamaged):
        store.read_at(place, [len(whole) + 1])
    stream, limit = data.draw(st.sampled_from(STREAMS)), data.draw(st.none() | st.integers(0, 3))
    before = data.draw(st.none() | st.integers(0, len(whole) + 2))
    below = whole if before is None else [stored for stored in whole if stored.version < before]
    versions = [stored.version for stored in below if stored.stream == stream]
    expected = versions if limit is None else versions[max(len(versions) - limit, 0) :]
    returned = store.versions_of(place, stream, before=before, limit=limit)
    assert returned == expected, "versions_of() returns other versions than read()"


def _write_checkpoint(store: Store, oracle: Oracle, place: Place, data: st.DataObject) -> None:
    count = oracle.version(place)
    version, head = data.draw(st.integers(1, count + 2)), data.draw(st.binary(max_size=4))
    needs = data.draw(st.lists(st.integers(1, max(count, 1)), max_size=3))
    parts = data.draw(st.dictionaries(st.integers(1, 3), st.binary(max_size=4), max_size=2))
    expected = store.has_checkpoints and oracle.write_checkpoint(place, version, head, needs, parts)
    written = store.write_checkpoint(place, version, head, needs, parts)
    assert written == expected, f"write_checkpoint() of version {version} of {count} returns {written}"
    oracle.check_checkpoint(store, place)


def _check_no_checkpoint(store: Store) -> None:
    is_gone = store.open_checkpoint(HERE) is None and store.read_parts(HERE, [1]) == {}
    assert is_gone, "a checkpoint outlives the entries that it was made from"


def _change(store: Store, oracle: Oracle, place: Place, data: st.DataObject) -> None:
    versions = st.integers(1, max(1, oracle.version(place)))
    others = data.draw(st.dictionaries(versions, bodies(), max_size=3)) if oracle.version(place) else {}
    store.replace(place, others)
    oracle.drop_checkpoint(place)
    for version, body in others.items():
        row = oracle.rows[place]
        row[version - 1] = row[version - 1]._replace(body=body)
    assert store.read(place) == oracle.read(place), "replace() left other entries"


def _append_after(version: int, store: Store, batch: list[Entry]) -> None:
    """Append, and retry after each conflict."""
    while True:
        try:
            store.append(HERE, batch, expected=version)
            return
        except Conflict as late:
            assert late.found != late.expected, "Conflict, although the version was the expected one"
            version = late.found


def _check_written(stores: list[Store], size: int) -> None:
    rows = [store.read(HERE) for store in stores]
    assert all(row == rows[0] for row in rows), "two openings read different entries"
    versions = [stored.version for stored in rows[0]]
    count = 4 * 12 * size
    assert len(versions) == count, f"{count} entries were appended, and {len(versions)} are read"
    assert versions == list(range(1, count + 1)), "the versions of entries do not rise by one"
    bodies = [stored.body for stored in rows[0]]
    for writer in range(4):
        own = [entry(f"{writer}.{number}.{part}").body for number in range(12) for part in range(size)]
        assert [body for body in bodies if body in set(own)] == own, "a writer's entries are out of order"
    for at in range(0, len(bodies), size):
        batch = {body.rsplit(b".", 1)[0] for body in bodies[at : at + size]}
        assert len(batch) == 1, "entries of another writer are between the entries of one append"


def _wrong_appends() -> Iterable[tuple[type[Exception], Any, Any, Any]]:
    """Appends to a conversation of one entry: the error, the place, the entry and the expected version."""
    number: Any = 5
    return [
        (WrongType, HERE, entry("not"), "1"),
        (WrongType, HERE, entry("not"), 1.0),
        (WrongType, HERE, entry("not"), True),
        (WrongType, HERE, ("main", "{}"), 1),
        (WrongType, HERE, (5, b"{}"), 1),
        (WrongType, Place(number, "q3"), entry("not"), 0),
        (InvalidValue, Place("a\0", "q3"), entry("not"), 0),
        (InvalidValue, Place("a\ud800", "q3"), entry("not"), 0),
    ]


def _wrong_calls(store: Store) -> Iterable[Callable[[], Any]]:
    """Calls with an argument of a wrong type."""
    text: Any = "ana/q3"
    here: Any = HERE
    pair: Any = [text, text]
    return [
        *(lambda: store.read(text), lambda: store.version(text), lambda: store.remove(text)),
        *(lambda: store.replace(text, {1: b"{}"}), lambda: store.wait(text, 1, 0.0)),
        lambda: store.watch(text, list),
        *(lambda: store.append(text, [entry("not")], expected=0), lambda: list(store.verify(text))),
        *(lambda: store.remove(Place(here, text)), lambda: store.read(HERE, after=text)),
        *(lambda: store.replace(HERE, {1: text}), lambda: store.replace(HERE, {text: b"{}"})),
        *(lambda: store.read_at(text, [1]), lambda: store.read_at(HERE, [text])),
        *(lambda: store.versions_of(text, "main"), lambda: store.versions_of(HERE, here)),
        *(lambda: store.open_checkpoint(text), lambda: store.read_parts(HERE, [text])),
        *(lambda: store.write_checkpoint(HERE, 1, text, [], {}), lambda: store.read_parts(text, [1])),
        *(lambda: store.write_checkpoint(HERE, text, b"", [], {}),),
        *(lambda: store.write_checkpoint(HERE, 1, b"", [text], {1: text}),),
        lambda: store.append(pair, [entry("not")], expected=1),
        *(lambda: store.conversations(here), lambda: store.changes(here), lambda: store.recent(here)),
    ]
