"""A SQLite store whose file was deleted, moved or replaced acknowledges nothing more, and shows nothing."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quire import Session
from quire.errors import StoreFailed
from quire.stores import Entry, Place, Store
from quire.stores.sqlite import SQLiteStore

HERE = Place("ana", "q3")
NOTE = Entry("main", b'{"kind":"note"}')


def files_of(path: Path) -> list[Path]:
    return [found for found in path.parent.iterdir() if found.name.startswith(path.name)]


def delete(path: Path) -> None:
    for file in files_of(path):
        file.unlink()


def move(path: Path) -> None:
    for file in files_of(path):
        file.rename(path.with_name(file.name.replace("kept", "moved")))


def replace(path: Path) -> None:
    move(path)
    SQLiteStore(path).close()


WAYS = [delete, move, replace]
VERBS: dict[str, Callable[[Store], Any]] = {
    "append": lambda store: store.append(HERE, [NOTE], expected=2),
    "append several": lambda store: store.append(HERE, [NOTE, NOTE], expected=2),
    "read": lambda store: store.read(HERE),
    "version": lambda store: store.version(HERE),
    "scopes": lambda store: store.scopes(),
    "forget": lambda store: store.forget(HERE, {1: b"{}"}),
    "forget all": lambda store: store.forget(HERE),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_refused(tmp_path: Path, way: Callable[[Path], None], verb: str) -> None:
    path = tmp_path / "kept.db"
    with SQLiteStore(path) as store:
        store.append(HERE, [NOTE], expected=0)
        store.append(HERE, [NOTE], expected=1)
        way(path)
        with pytest.raises(StoreFailed, match="deleted, moved or replaced"):
            VERBS[verb](store)


def test_who_closes_it_leaves_what_another_writes_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    with SQLiteStore(path) as store:
        store.append(HERE, [NOTE], expected=0)
        delete(path)
        with SQLiteStore(path) as other:
            other.append(HERE, [NOTE, NOTE, NOTE], expected=0)
            store.close()
            assert other.version(HERE) == 3
        with SQLiteStore(path) as again:
            assert again.version(HERE) == 3


@pytest.mark.parametrize("ending", ["db", "json", "jsonl"])
def test_a_path_is_opened_anew_once_its_file_is_gone(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"kept.{ending}"
    before = Session.open("ana/q3", store=path)
    before.user("old")
    delete(path)
    after = Session.open("ana/q3", store=path)
    assert list(after.view()) == []
    after.user("new")
    assert path.exists() and b"new" in b"".join(file.read_bytes() for file in files_of(path))
    assert Session.open("ana/q3", store=path).view()[-1].id == after.view()[-1].id


def test_a_path_is_opened_anew_once_it_leads_to_another_file(tmp_path: Path) -> None:
    path, other = tmp_path / "kept.db", tmp_path / "other.db"
    before = Session.open("ana/q3", store=path)
    before.user("old")
    with SQLiteStore(other) as store:
        Session.open("ana/q3", store=store).user("restored")
    delete(path)
    shutil.copy(other, path)
    assert [str(item.text) for item in Session.open("ana/q3", store=path).view()] == ["restored"]  # type: ignore[union-attr]  # pyright: ignore
    with pytest.raises(StoreFailed):
        before.user("lost")


def test_a_file_by_another_name_is_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    path.with_name("link.db").symlink_to(path)
    with SQLiteStore(tmp_path / "link.db") as store:
        store.append(HERE, [NOTE], expected=0)
        os.utime(path)
        path.chmod(0o640)
        assert store.append(HERE, [NOTE], expected=1) == 2
