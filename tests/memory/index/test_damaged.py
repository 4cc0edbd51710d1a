"""An index that lasts and is seen to be damaged is made anew, and finds what it found before."""

import random
import sqlite3
from pathlib import Path

import pytest

from quire.items import Message
from quire.memory import Memory
from quire.memory.index import opening
from quire.memory.index.lasting import Lasting
from quire.memory.index.lasting.sums import summed, unsummed
from quire.session import Session
from quire.stores import Store

QUESTIONS = ("word7 box", "gate 3", "word40", "lies in box 12")
SAID = {f"word{nth} lies in box {nth % 30} by the {nth % 7} gate" for nth in range(400)}
STATEMENTS = (
    "DELETE FROM bodies WHERE number % 3 = 0",
    "DELETE FROM leaves WHERE number % 3 = 0",
    "UPDATE marks SET mark = x'00'",
    "UPDATE marks SET mark = substr(mark, 1, 5)",
    "UPDATE marks SET place = x'ff'",
    "UPDATE bodies SET body = x'c1c1'",
    "UPDATE bodies SET body = zeroblob(length(body))",
    "UPDATE postings SET leaves = x'0102030405'",
    "UPDATE scopes SET changes = 'many'",
    "DROP TABLE postings",
    "DELETE FROM about",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with its index, both whole."""
    path = tmp_path_factory.mktemp("whole") / "chats.db"
    with pytest.MonkeyPatch.context() as patched, Store.open(path) as store:
        patched.setattr(opening, "SMALL", 0)
        session = Session.open("ana/one", store=store)
        session.append(*(Message("user", text) for text in sorted(SAID)))
        asked(store)
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(opening, "SMALL", 0)
    for ending in ("", "-index"):
        copied(f"{made}{ending}", str(tmp_path / f"chats.db{ending}"))
    return str(tmp_path / "chats.db")


def copied(source: str, target: str) -> None:
    with sqlite3.connect(source) as one, sqlite3.connect(target) as other:
        one.backup(other)
    other.close()
    one.close()


def asked(store: Store) -> list[list[str]]:
    memory = Memory(store, "ana")
    try:
        return [[hit.leaf.text for hit in memory.search(question).hits] for question in QUESTIONS]
    finally:
        index = memory._index  # pyright: ignore[reportPrivateUsage]
        assert isinstance(index, Lasting)
        index.close()


def heals(path: str, made: Path) -> bool:
    with Store.open(made) as store:
        whole = asked(store)
    with Store.open(path) as store:
        return asked(store) == whole == asked(store)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_rows_that_make_no_sense(
    path: str, made: Path, statement: str, caplog: pytest.LogCaptureFixture
) -> None:
    with sqlite3.connect(f"{path}-index") as connection:
        connection.execute(statement)
    connection.close()
    assert heals(path, made)
    assert "made anew" in caplog.text and "word7" not in caplog.text


@pytest.mark.parametrize("seed", range(8))
def test_bytes_that_a_disk_lost(path: str, made: Path, seed: int, caplog: pytest.LogCaptureFixture) -> None:
    """A lost key is a word that is not there, as far as one can see: what is found is true all the same."""
    drawn, file = random.Random(seed), Path(f"{path}-index")
    content = bytearray(file.read_bytes())
    for _ in range(20):
        content[drawn.randrange(4_096, len(content))] = drawn.randrange(256)
    first = 512 * drawn.randrange(8, len(content) // 512)
    content[first : first + 512] = bytes(512)
    file.write_bytes(content)
    with Store.open(made) as store:
        whole = asked(store)
    with Store.open(path) as store:
        found = {text for texts in asked(store) for text in texts}
        is_seen = "made anew" in caplog.text
        assert found <= SAID and (asked(store) == whole or not is_seen)


def test_a_sum_tells_what_is_not_as_it_was() -> None:
    kept = summed(b"dog")
    assert bytes(unsummed(kept)) == b"dog"
    for other in (b"", b"\0", bytes(4), bytes(64), kept[:-1], b"cat" + kept[3:]):
        with pytest.raises(ValueError, match="another sum"):
            unsummed(other)


@pytest.mark.parametrize("lost", [slice(0, 16), slice(64, 80), slice(0, 512), slice(0, 4_096)])
def test_an_index_that_lost_its_beginning_is_not_kept(
    path: str, made: Path, lost: slice, caplog: pytest.LogCaptureFixture
) -> None:
    """Else words that are forgotten would stay in a file that nobody looks into."""
    file = Path(f"{path}-index")
    content = bytearray(file.read_bytes())
    content[lost] = bytes(lost.stop - lost.start)
    file.write_bytes(content)
    assert heals(path, made)
    assert not list(file.parent.glob("*-aside-*")) and "made anew" in caplog.text


@pytest.mark.parametrize("content", [b"a text of somebody else", b"SQLite format 3\0" + bytes(5_000)])
def test_what_is_of_another_is_kept_and_told(
    path: str, made: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    file = Path(f"{path}-index")
    file.write_bytes(content)
    assert heals(path, made)
    assert Path(f"{file}-aside-1").read_bytes() == content and "where nothing is forgotten" in caplog.text
