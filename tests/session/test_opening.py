"""Stores by their addresses: one for each file, however it is spelled."""

import os
from pathlib import Path

import pytest

from quire import Session
from quire.session.opening import shared_store


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, with a link to itself."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path)
    return tmp_path


def test_a_database_is_one_store_however_it_is_spelled(folder: Path) -> None:
    spelled: list[str | Path] = [
        "chats.db",
        "./chats.db",
        Path("chats.db"),
        folder / "chats.db",
        "sqlite:///chats.db",
        f"sqlite:///{folder}/chats.db",
        "link/chats.db",
        "sqlite:///link/link/chats.db",
    ]
    [store] = {shared_store(one, None, None) for one in spelled}
    assert store is shared_store("chats.db", "process", None)


@pytest.mark.parametrize("ending", ["jsonl"])
def test_a_file_is_one_store_however_it_is_spelled(folder: Path, ending: str) -> None:
    spelled: list[str | Path] = [f"chats.{ending}", folder / f"chats.{ending}", f"link/chats.{ending}"]
    assert len({shared_store(one, None, None) for one in spelled}) == 1


def test_files_and_what_is_asked_of_them_are_told_apart(folder: Path) -> None:
    (folder / "below").mkdir()
    here = shared_store("chats.db", None, None)
    others = [shared_store("chats.db", "power", None), shared_store("other.db", None, None)]
    os.chdir("below")
    others.append(shared_store("chats.db", None, None))
    assert len({here, *others}) == 4


def test_a_memory_that_is_asked_for_anew_is_a_new_one() -> None:
    assert shared_store("memory:", None, None) is not shared_store("memory:", None, None)


def test_two_who_spell_it_differently_see_each_other(folder: Path) -> None:
    one, other = (
        Session.open("ana/one", store="chats.db"),
        Session.open("ana/one", store="sqlite:///chats.db"),
    )
    one.user("Hello!")
    assert [item.text for item in other.view()] == ["Hello!"]  # type: ignore[union-attr]
