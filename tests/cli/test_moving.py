"""`quire migrate`: from every kind of store into every other, nothing written over."""

import json
import sqlite3
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from quire.cli.copying import places_of
from quire.stores import Store, Stored
from tests.cli.conversing import ran, refused, run
from tests.cli.keeping import ENDINGS, KEY, conversation_in, seeded


def contents(url: str | Path) -> dict[str, list[Stored]]:
    with Store.open(url) as store:
        return {str(place): store.read(place) for place in places_of(store)}


def two(path: Path) -> str:
    seeded(path, "/a%2Fb")
    return seeded(path, "ana/q3")


@pytest.mark.parametrize("source", ENDINGS)
@pytest.mark.parametrize("target", ENDINGS)
def test_every_entry_byte_for_byte(source: str, target: str, tmp_path: Path) -> None:
    one, other = two(tmp_path / f"one.{source}"), str(tmp_path / f"other.{target}")
    before = contents(one)
    said = ran("migrate", one, other).stdout
    assert said == "2 conversations copied, 16 entries, all alike\n"
    assert contents(other) == contents(one) == before
    again = json.loads(ran("migrate", one, other, "--json").stdout)
    assert again == {"copied": 0, "entries": 0, "there": 2}  # a copy that was broken off goes on so


def test_to_a_database_server_and_back(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    from tests.stores.server import database

    one, other = two(tmp_path / "one.db"), str(tmp_path / "other.jsonl")
    with database() as url:
        ran("migrate", one, url)
        ran("migrate", url, other)
        assert "PostgreSQL, at version" in ran("migrate", url).stdout
        assert "ana/q3" in ran("ls", "--store", url).stdout
    assert contents(other) == contents(one)


def test_nothing_is_written_over(tmp_path: Path) -> None:
    one, other = two(tmp_path / "one.db"), seeded(tmp_path / "other.jsonl")
    before = contents(other)
    said = refused(1, "migrate", one, other)
    assert "other conversations of the same names: ana/q3\n" in said
    assert contents(other) == before


def test_not_into_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = two(tmp_path / "one.db")
    monkeypatch.chdir(tmp_path)
    for other in (one, "one.db", "sqlite:///one.db", f"{tmp_path}/../{tmp_path.name}/one.db"):
        assert "into itself" in refused(2, "migrate", one, other)


def test_sealed_stores_stay_sealed_or_change_their_key(tmp_path: Path) -> None:
    one = seeded(tmp_path / "one.db", key=KEY)
    (tmp_path / "key").write_bytes(KEY)
    (tmp_path / "other").write_bytes(KEY[::-1])
    ran("migrate", one, str(tmp_path / "same.db"))
    assert conversation_in(tmp_path / "same.db", key=KEY) == conversation_in(one, key=KEY)
    opened, sealed = str(tmp_path / "open.jsonl"), str(tmp_path / "new.db")
    ran("migrate", one, opened, "--key-file", str(tmp_path / "key"))
    assert conversation_in(opened) == conversation_in(one, key=KEY)
    ran("migrate", opened, sealed, "--target-key-file", str(tmp_path / "other"))
    assert conversation_in(sealed, key=KEY[::-1]) == conversation_in(opened)


@pytest.mark.parametrize(
    ("ending", "says"),
    [("db", "SQLite, at version 3, the newest"), ("jsonl", "JSON lines, at version 2")],
)
def test_which_version_a_store_has(ending: str, says: str, tmp_path: Path) -> None:
    one = two(tmp_path / f"one.{ending}")
    said = ran("migrate", one).stdout
    assert says in said and "2 scopes, 2 conversations" in said
    data = json.loads(ran("migrate", one, "--json").stdout)
    assert data["conversations"] == 2 and f"version {data['version']}" in says


def test_a_store_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    one = two(tmp_path / "one.db")
    with sqlite3.connect(one) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    assert "is of version 99" in refused(2, "migrate", one)
    assert "is of version 99" in refused(2, "migrate", one, str(tmp_path / "new.db"))
    assert not (tmp_path / "new.db").exists()


def test_a_store_is_checked_and_salvaged(tmp_path: Path) -> None:
    one, other = two(tmp_path / "one.jsonl"), str(tmp_path / "other.db")
    before = contents(one)
    assert ran("check", one).stdout == "the store is whole\n"
    lines = (tmp_path / "one.jsonl").read_bytes().splitlines(keepends=True)
    lines[5] = lines[5].replace(b'"kind"', b'"find"', 1)
    (tmp_path / "one.jsonl").write_bytes(b"".join(lines))
    done = run("check", one, "--salvage", other)
    assert done.exit_code == 1 and "is damaged at byte" in done.stdout
    assert "15 entries of 2 conversations written, 1 lost" in done.stdout
    kept = {stored for rows in contents(other).values() for stored in rows if stored.stream != ".lost"}
    assert kept < {stored for rows in before.values() for stored in rows} and len(kept) == 15
    assert ran("check", other).stdout == "the store is whole\n"
