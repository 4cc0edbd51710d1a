"""What a crash tears is cut and told; what is damaged is told and left as it is."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from quire.errors import StoreDamaged
from quire.stores import Place, Store
from tests.stores.files import BOTH, HERE, THERE, entry, items_of, texts


def torn_states(before: bytes, after: bytes) -> Iterator[bytes]:
    """A file after every number of bytes that an append could have written when it was killed."""
    same = next((at for at, byte in enumerate(before) if byte != after[at]), len(before))
    for done in range(same + 1, len(after)):
        yield after[:done] + before[done:]
        yield after[:done]  # the system cut the file where writing stopped
        yield after[:done] + bytes(len(after) - done)  # the size came to the disk, and not all that is there
    for zeros in (1, 511, 5_000):
        yield before + bytes(zeros)
        yield before.rstrip(b"\n]") + bytes(zeros)


@BOTH
@pytest.mark.parametrize(
    ("place", "size", "earlier"), [(HERE, 1, 0), (HERE, 3, 2), (THERE, 1, 2), (THERE, 2, 0)]
)
def test_an_append_torn_at_any_byte(
    tmp_path: Path, ending: str, place: Place, size: int, earlier: int
) -> None:
    path = tmp_path / f"kept.{ending}"
    with Store.open(path) as store:
        for number in range(earlier):
            store.append(place, [entry(f"o{number}")], expected=number)
        before = path.read_bytes()
        store.append(place, [entry(f"é{number}") for number in range(size)], expected=earlier)
    old, new = [f"o{number}" for number in range(earlier)], [f"é{number}" for number in range(size)]
    for torn in torn_states(before, path.read_bytes()):
        path.write_bytes(torn)
        with Store.open(path) as store:
            found = texts(store, place)
            assert found in (old, old + new)
            assert len(items_of(path)) == len(found)
            assert found == old + new or store.reports or torn == before
            store.append(place, [entry("next")], expected=len(found))
        with Store.open(path) as store:
            assert texts(store, place) == [*found, "next"]
            assert store.reports == ()


@BOTH
def test_a_torn_end_is_reported_in_numbers_and_never_in_words(
    tmp_path: Path, ending: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / f"kept.{ending}"
    with Store.open(path) as store:
        store.append(HERE, [entry("one")], expected=0)
        size = path.stat().st_size
        store.append(HERE, [entry("secret")], expected=1)
    os.truncate(path, size + 20)
    with caplog.at_level(logging.WARNING, "quire.stores"), Store.open(path) as store:
        (report,) = store.reports
    assert path.stat().st_size == size
    for told in (report, caplog.text):
        assert "never returned" in told and "1 entries stay" in told and "secret" not in told


@BOTH
def test_a_writer_that_is_open_mends_what_another_tore(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"kept.{ending}"
    with Store.open(path) as store:
        store.append(HERE, [entry("one")], expected=0)
        with path.open("ab") as file:
            file.write(b'{"kind":"mess')
        if ending == "json":  # as an append leaves it: the bracket is overwritten
            path.write_bytes(path.read_bytes().replace(b"\n]\n", b",\n"))
        store.append(HERE, [entry("two")], expected=1)
        assert texts(store) == ["one", "two"] and len(store.reports) == 1
        assert len(items_of(path)) == 2


@BOTH
def test_zeros_after_a_loss_of_power_are_cut_off(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"kept.{ending}"
    with Store.open(path, durable="power") as store:
        store.append(HERE, [entry("one")], expected=0)
        store.append(HERE, [entry("two")], expected=1)
    whole = path.read_bytes()
    at = whole.index(b"two")
    path.write_bytes(whole[:at] + bytes(len(whole) - at) + bytes(4096))
    with Store.open(path) as store:
        assert texts(store) == ["one"] and store.reports
        assert len(items_of(path)) == 1


@BOTH
@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("batch", [False, True], ids=["singles", "batch"])
def test_damage_is_told_with_its_place_and_nothing_is_changed(
    tmp_path: Path, ending: str, number: int, batch: bool
) -> None:
    path = tmp_path / f"kept.{ending}"
    said = [entry(f"secret {number}") for number in range(4)]
    with Store.open(path) as store:
        for at, added in enumerate([said] if batch else [[one] for one in said]):
            store.append(THERE, added, expected=at)
    whole = path.read_bytes()
    at = whole.index(f"secret {number}".encode())
    for damage in (b'"', b"\x00", b"\n", b"\xff"):
        spoiled = whole[:at] + damage + whole[at + 1 :]
        path.write_bytes(spoiled)
        with pytest.raises(StoreDamaged, match=f"kept.{ending} is damaged at byte [0-9,]+, after") as told:
            Store.open(path)
        assert "secret" not in str(told.value)
        assert path.read_bytes() == spoiled
        assert os.listdir(tmp_path) == [path.name]


@BOTH
def test_a_lost_separator_is_damage(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"kept.{ending}"
    with Store.open(path) as store:
        for number in range(3):
            store.append(HERE, [entry(str(number))], expected=number)
    whole = path.read_bytes()
    for at in (whole.index(b"}") + 1, whole.rindex(b"{") - 1, whole.rindex(b"}") + 1):
        path.write_bytes(whole[:at] + b"x" + whole[at + 1 :])
        with pytest.raises(StoreDamaged):
            Store.open(path)


def test_damage_while_open_is_told_each_time_and_passes_when_mended(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    with Store.open(path) as store:
        store.append(HERE, [entry("one")], expected=0)
        whole = path.read_bytes()
        path.write_bytes(whole + b"nonsense\n" + entry("two").body + b"\n")
        for _ in range(2):
            with pytest.raises(StoreDamaged):
                store.read(HERE)
        path.write_bytes(whole + entry("two").body + b"\n")
        assert texts(store) == ["one", "two"]
