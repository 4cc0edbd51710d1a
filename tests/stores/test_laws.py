"""The laws of keeping (4, 17, 18), and that each store is what a dictionary of lists would be."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from quire.errors import Conflict, InvalidValue, OutOfRange, StoreFailed, WrongType
from quire.items import JSON, Item
from quire.stores import Entry, Place, Store
from tests.items.strategies import FIELDS, items, of_kind, same
from tests.stores.keeping import HERE, NAMES, ODD_NAMES, Kept, Oracle, bodies, entries, entry, kept, places

pytestmark = pytest.mark.laws
EVERY = pytest.mark.parametrize("name", NAMES)
# Each example makes a store, and a server makes a database: a few go a long way.
FEW = settings(max_examples=max(5, settings().max_examples // 10))
FEWER = settings(max_examples=max(5, settings().max_examples // 20))


@EVERY
@FEW
@given(data=st.data())
def test_a_store_holds_what_a_dictionary_would(name: str, data: st.DataObject) -> None:
    with kept(name) as held:
        oracle = Oracle()
        few = data.draw(st.lists(places(), min_size=1, max_size=4, unique=True), "places")
        for _ in range(data.draw(st.integers(1, 15), "steps")):
            _step(held, oracle, data.draw(st.sampled_from(few)), data)
        oracle.check(held.store)
        held.reopen()
        oracle.check(held.store)
        assert held.store.reports == ()


def _step(held: Kept, oracle: Oracle, place: Place, data: st.DataObject) -> None:
    match data.draw(
        st.sampled_from(
            ["append", "append", "append", "stale", "read", "change", "remove", "scrub", "reopen"]
        )
    ):
        case "append":
            added = data.draw(st.lists(entries(), max_size=4))
            assert held.store.append(place, added, expected=oracle.version(place)) == (
                oracle.version(place) + len(added)
            )
            oracle.append(place, added)
        case "stale":
            _refuse(held.store, oracle, place, data)
        case "read":
            after = data.draw(st.integers(0, oracle.version(place) + 1))
            assert held.store.read(place, after=after) == oracle.read(place, after)
        case "change":
            _change(held.store, oracle, place, data)
        case "remove":
            held.store.remove(place)
            oracle.rows.pop(place, None)
            assert held.store.version(place) == 0
        case "scrub":
            held.store.scrub()
        case _:
            held.reopen()


def _refuse(store: Store, oracle: Oracle, place: Place, data: st.DataObject) -> None:
    found = oracle.version(place)
    expected = data.draw(st.integers(0, found + 3).filter(lambda at: at != found))
    with pytest.raises(Conflict) as refused:
        store.append(place, [entry("late")], expected=expected)
    assert (refused.value.expected, refused.value.found) == (expected, found)
    assert store.read(place) == oracle.read(place)


def _change(store: Store, oracle: Oracle, place: Place, data: st.DataObject) -> None:
    versions = st.integers(1, max(1, oracle.version(place)))
    others = data.draw(st.dictionaries(versions, bodies(), max_size=3)) if oracle.version(place) else {}
    store.replace(place, others)
    for version, body in others.items():
        row = oracle.rows[place]
        row[version - 1] = row[version - 1]._replace(body=body)
    assert store.read(place) == oracle.read(place)


@EVERY
@FEWER
@given(data=st.data())
def test_law_4_items_of_every_kind_come_back_byte_for_byte(name: str, data: st.DataObject) -> None:
    one_of_each: list[Item] = [data.draw(of_kind(kind)) for kind in FIELDS]
    more = data.draw(st.lists(items(), max_size=3))
    place = data.draw(places())
    written = [JSON.encode_item(item) for item in one_of_each + more]
    with kept(name) as held:
        version = held.store.append(place, [Entry("main", body) for body in written[:5]], expected=0)
        for body in written[5:]:
            version = held.store.append(place, [Entry("main", body)], expected=version)
        for store in (held.store, held.open()):
            back = [stored.body for stored in store.read(place)]
            assert back == written
            assert all(
                same(JSON.decode_item(body), item)
                for body, item in zip(back, one_of_each + more, strict=True)
            )


@EVERY
@pytest.mark.parametrize("size", [1, 3], ids=["single entries", "batches"])
def test_law_17_several_writers_lose_nothing_and_double_nothing(name: str, size: int) -> None:
    with kept(name) as held:
        stores = [held.open() for _ in range(2)]
        faults: list[BaseException] = []

        def write(writer: int) -> None:
            try:
                for number in range(12):
                    batch = [entry(f"{writer}.{number}.{part}") for part in range(size)]
                    _append_anyhow(stores[writer % 2], batch)
            except BaseException as fault:
                faults.append(fault)

        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        _check_written([held.store, *stores, held.open()], size)


def _append_anyhow(store: Store, batch: list[Entry]) -> None:
    version = store.version(HERE)
    while True:
        try:
            store.append(HERE, batch, expected=version)
            return
        except Conflict as late:
            assert late.found != late.expected
            version = late.found


def _check_written(stores: list[Store], size: int) -> None:
    rows = [store.read(HERE) for store in stores]
    assert all(row == rows[0] for row in rows)
    assert [stored.version for stored in rows[0]] == list(range(1, 4 * 12 * size + 1))
    found = [stored.body for stored in rows[0]]
    for writer in range(4):
        mine = [entry(f"{writer}.{number}.{part}").body for number in range(12) for part in range(size)]
        assert [body for body in found if body in set(mine)] == mine
    for at in range(0, len(found), size):  # nobody came in between
        assert len({body.rsplit(b".", 1)[0] for body in found[at : at + size]}) == 1


@EVERY
def test_law_18_nothing_of_one_scope_is_readable_from_another(name: str) -> None:
    with kept(name) as held:
        store, secret = held.store, Place("ana", "q3")
        store.append(secret, [entry("secret")], expected=0)
        others = [
            Place(scope, name) for scope in ODD_NAMES if scope != "ana" for name in ("q3", "ana/q3", "%")
        ]
        for place in [*others, Place("", "ana/q3"), Place("ana/", "q3"), Place("ana", "Q3"), Place("", "")]:
            assert store.read(place) == []
            assert store.version(place) == 0
            store.remove(place)
            assert store.wait(place, 0, 0.0) == 0
        for scope in ODD_NAMES:
            found = {name: at.version for name, at in store.conversations(scope).items()}
            assert found == ({"q3": 1} if scope == "ana" else {})
        assert [stored.body for stored in store.read(secret)] == [entry("secret").body]


@EVERY
def test_a_reader_hears_of_what_another_appends(name: str) -> None:
    with kept(name) as held:
        reader, heard = held.open(), list[int]()
        assert reader.wait(HERE, 0, 0.02) == 0
        assert reader.wait(HERE, 5, 10.0) == 0
        waiting = threading.Thread(target=lambda: heard.append(reader.wait(HERE, 0, 20.0)))
        waiting.start()
        time.sleep(0.03)
        held.store.append(HERE, [entry("now")], expected=0)
        waiting.join(20)
        assert heard == [1]
        assert reader.read(HERE) == held.store.read(HERE)


@EVERY
def test_what_is_forgotten_is_gone_for_every_opening(name: str) -> None:
    with kept(name) as held:
        other = held.open()
        held.store.append(HERE, [entry("one"), entry("two", "side")], expected=0)
        assert len(other.read(HERE)) == 2
        held.store.replace(HERE, {2: b'{"kind":"gone"}'})
        assert [stored[1:] for stored in other.read(HERE)] == [entry("one"), ("side", b'{"kind":"gone"}')]
        other.append(HERE, [entry("three")], expected=2)
        held.store.remove(HERE)
        assert other.version(HERE) == 0 and other.read(HERE) == [] and other.scopes() == []
        assert other.append(HERE, [entry("again")], expected=0) == 1
        assert held.store.read(HERE) == other.read(HERE)


@EVERY
def test_the_standings_of_a_scope_are_those_of_its_conversations(name: str) -> None:
    with kept(name) as held:
        store = held.store
        for conversation, many in (("q3", 2), ("q4", 1), ("", 3)):
            store.append(Place("ana", conversation), [entry("one")] * many, expected=0)
        store.append(Place("bo", "q3"), [entry("one")], expected=0)
        before = store.conversations("ana")
        assert {name: at.version for name, at in before.items()} == {"": 3, "q3": 2, "q4": 1}
        store.remove(Place("ana", "q3"))
        assert store.conversations("ana") == {name: before[name] for name in ("", "q4")}
        store.append(Place("ana", "q3"), [entry("one")] * 2, expected=0)
        again = store.conversations("ana")["q3"]
        assert again.version == 2 and (not again.log or again.log != before["q3"].log)


@EVERY
def test_what_is_wrong_is_refused_and_changes_nothing(name: str) -> None:
    with kept(name) as held:
        store = held.store
        store.append(HERE, [entry("fine")], expected=0)
        for stream in ("", "a\nb", "a\0", "x" * 501):
            with pytest.raises(InvalidValue):
                store.append(HERE, [entry("fine"), entry("not", stream)], expected=1)
        wrong: list[tuple[type[Exception], Any, Any, Any]] = [
            (WrongType, HERE, entry("not"), "1"),
            (WrongType, HERE, entry("not"), 1.0),
            (WrongType, HERE, entry("not"), True),
            (WrongType, HERE, ("main", "{}"), 1),
            (WrongType, HERE, (5, b"{}"), 1),
            (WrongType, Place(5, "q3"), entry("not"), 0),  # type: ignore[arg-type]
            (Conflict, HERE, entry("not"), -1),
            (Conflict, HERE, entry("not"), 2**62),
            (Conflict, HERE, entry("not"), 2**70),
            (InvalidValue, Place("a\0", "q3"), entry("not"), 0),
            (InvalidValue, Place("a\ud800", "q3"), entry("not"), 0),
        ]
        for error, place, one, expected in wrong:
            with pytest.raises(error):
                store.append(place, [one], expected=expected)
        with pytest.raises(Conflict):
            store.append(HERE, [], expected=0)
        assert store.read(HERE, after=2**80) == [] and len(store.read(HERE, after=-1)) == 1
        for version in (0, -1, 2, 1 << 40):
            with pytest.raises(OutOfRange):
                store.replace(HERE, {1: b"{}", version: b"{}"})
        text: Any = "ana/q3"
        verbs: list[Callable[[], Any]] = [
            *(lambda: store.read(text), lambda: store.version(text), lambda: store.remove(text)),
            *(lambda: store.replace(text, {1: b"{}"}), lambda: store.wait(text, 1, 0.0)),
            *(lambda: store.append(text, [entry("not")], expected=0), lambda: list(store.verify(text))),
            *(lambda: store.remove(Place(HERE, text)), lambda: store.read(HERE, after=text)),  # type: ignore[arg-type]
            *(lambda: store.replace(HERE, {1: text}), lambda: store.replace(HERE, {text: b"{}"})),
            *(lambda: store.append([text, text], [entry("not")], expected=1), lambda: store.conversations(5)),  # type: ignore[arg-type]
        ]
        for verb in verbs:
            with pytest.raises(WrongType):
                verb()
        assert store.scopes() == ["ana"] and [stored.body for stored in store.read(HERE)] == [
            entry("fine").body
        ]


@EVERY
def test_a_closed_store_says_so(name: str) -> None:
    with kept(name) as held:
        held.store.append(HERE, [entry("one")], expected=0)
        with held.store as store:
            pass
        store.close()
        for verb in (
            lambda: store.append(HERE, [entry("two")], expected=1),
            lambda: store.read(HERE),
            lambda: store.version(HERE),
            lambda: store.conversations("ana"),
            store.scopes,
            lambda: store.replace(HERE, {1: b"{}"}),
            lambda: store.remove(HERE),
            lambda: store.wait(HERE, 0, 0.01),
        ):
            with pytest.raises(StoreFailed, match="closed"):
                verb()
