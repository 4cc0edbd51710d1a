"""What is removed or replaced is gone from the bytes of the files, also where somebody was interrupted."""

from pathlib import Path

import pytest

from quire.errors import StoreFailed, UnknownId, UnknownKey
from quire.items import Message
from quire.memory.knowledge import Knowledge
from quire.session import Session
from quire.stores import JSONStore, Place, SQLiteStore, Store
from tests.memory.knowledge.folders import all_said, guide

FILES = pytest.mark.parametrize("name", ["kept.db", "kept.json", "kept.jsonl"])
SECRETS = [b"walrus", b"diary", b"Heligoland"]


def bytes_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


@FILES
def test_a_removed_source_is_gone_from_the_bytes(tmp_path: Path, name: str) -> None:
    with Store.open(tmp_path / name) as store:
        knowledge = Knowledge(store, "ana")
        knowledge.add_text(guide("walrus", "tide"), source="diary.md", title="Heligoland")
        knowledge.add_text(guide("lamp"), source="other.md")
        gone = knowledge.chunks("diary.md")[0].id
        assert knowledge.remove("diary.md") == 2
        assert all_said(knowledge) == {"other.md": ["Part lamp\nAbout lamp, and lamp alone."]}
        with pytest.raises(UnknownId):
            knowledge.read(gone)
        with pytest.raises(UnknownKey, match=r"no source 'diary.md' in ana/~knowledge"):
            knowledge.remove("diary.md")
    found = bytes_in(tmp_path)
    assert not [secret for secret in SECRETS if secret in found] and b"lamp" in found


@FILES
def test_what_an_update_replaced_is_gone_from_the_bytes(tmp_path: Path, name: str) -> None:
    with Store.open(tmp_path / name) as store:
        knowledge = Knowledge(store, "ana")
        knowledge.add_text(guide("walrus", "tide"), source="guide.md", title="Heligoland")
        knowledge.add_text(guide("lamp", "tide"), source="guide.md")
    found = bytes_in(tmp_path)
    assert b"walrus" not in found and b"Heligoland" not in found
    assert b"lamp" in found and b"tide" in found


class _Interrupted(SQLiteStore):
    """A store that fails when something is to be forgotten."""

    fails = True

    def forget(self, place: Place, bodies: object = None) -> None:
        if self.fails:
            raise StoreFailed("no space left")
        super().forget(place, bodies)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_what_was_not_wiped_is_wiped_by_whoever_opens_it_next(tmp_path: Path) -> None:
    with _Interrupted(tmp_path / "kept.db") as store:
        knowledge = Knowledge(store, "ana")
        knowledge.add_text(guide("walrus"), source="diary.md")
        with pytest.raises(StoreFailed):
            knowledge.remove("diary.md")
        assert knowledge.sources() == []
    assert b"walrus" in bytes_in(tmp_path)
    with Store.open(tmp_path / "kept.db") as store:
        assert Knowledge(store, "ana").sources() == []
    found = bytes_in(tmp_path)
    assert not [secret for secret in SECRETS if secret in found]


def test_a_store_that_failed_is_asked_again(tmp_path: Path) -> None:
    store = _Interrupted(tmp_path / "kept.db")
    with store:
        knowledge = Knowledge(store, "ana")
        knowledge.add_text(guide("walrus"), source="diary.md")
        with pytest.raises(StoreFailed):
            knowledge.remove("diary.md")
        store.fails = False
        with pytest.raises(UnknownKey):
            knowledge.remove("diary.md")
    assert b"walrus" not in bytes_in(tmp_path)


def test_a_source_that_comes_back_is_there_again(tmp_path: Path) -> None:
    with JSONStore(tmp_path / "kept.json") as store:
        knowledge = Knowledge(store, "ana")
        ids: set[str] = set()
        for _ in range(3):
            knowledge.add_text(guide("tide"), source="a.md")
            before = knowledge.follow()
            ids |= {chunk.id for chunk in before.added}
            knowledge.remove("a.md")
            assert knowledge.follow(before.version, before.log).gone == (before.added[0].id,)
        knowledge.add_text(guide("tide"), source="a.md")
        assert [chunk.id for chunk in knowledge.follow().added] == list(ids)


def test_conversations_beside_it_are_left_alone(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "kept.db")
    with (
        store,
        Session.open("ana/q3", store=store) as talk,
        Session.open("ana/~knowledge", store=store) as odd,
    ):
        talk.user("How did Q3 go?")
        odd.user("Whoever opens this conversation as their own loses nothing.")
        knowledge = Knowledge(store, "ana")
        knowledge.add_text(guide("tide"), source="a.md")
        odd.user("And goes on.")
        knowledge.add_text(guide("lamp"), source="a.md")
        knowledge.remove("a.md")
        said = [item.text for item in odd.view() if isinstance(item, Message)]
        assert said == ["Whoever opens this conversation as their own loses nothing.", "And goes on."]
        assert len(talk.view()) == 1 and knowledge.sources() == []
