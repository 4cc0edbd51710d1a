"""`quire ls`, and which store a command is about."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from quire.session import Session
from quire.stores import Store
from tests.cli.conversing import ran, refused, run
from tests.cli.keeping import ENDINGS, KEY, seeded


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("QUIRE_STORE", raising=False)


@pytest.mark.parametrize("ending", ENDINGS)
def test_conversations_with_their_figures(ending: str, tmp_path: Path) -> None:
    store = seeded(tmp_path / f"chats.{ending}")
    (row,) = json.loads(ran("ls", "--store", store, "--json").stdout)
    figures = (row["address"], row["version"], row["items"], row["tokens"], row["damage"])
    assert figures == ("ana/q3", 8, 5, 32, None)
    shown = ran("ls", "--store", store).stdout
    assert "ana/q3" in shown and "32" in shown and "Q4" not in shown


def test_a_scope_a_conversation_with_its_forks_and_nothing_of_the_rest(tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db")
    seeded(tmp_path / "chats.db", "bob/q3")
    seeded(tmp_path / "chats.db", "ana")  # a conversation of the empty scope, called as a scope is
    with Store.open(store) as opened:
        Session.open("ana/q3", store=opened).fork("kid").user("more")

    def listed(*arguments: str) -> list[str]:
        return [row["address"] for row in json.loads(ran("ls", *arguments, "--json").stdout)]

    everything = ["/ana", "ana/q3", "ana/q3%2Fkid", "bob/q3"]
    assert listed("--store", store) == everything
    assert listed("ana", "--store", store) == ["ana/q3", "ana/q3%2Fkid", "/ana"]
    assert listed("ana/q3", "--store", store) == ["ana/q3", "ana/q3%2Fkid"]
    assert listed("bob", "--store", store) == ["bob/q3"]
    assert "neither a scope nor a conversation" in refused(1, "ls", "eve", "--store", store)


def test_the_store_that_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "set QUIRE_STORE" in refused(2, "ls")
    seeded(tmp_path / "quire.db", "here/a")
    assert "here/a" in ran("ls").stdout
    monkeypatch.setenv("QUIRE_STORE", seeded(tmp_path / "other.jsonl", "there/b"))
    assert "there/b" in ran("ls").stdout
    assert "here/a" in ran("ls", "--store", f"sqlite:///{tmp_path}/quire.db").stdout


@pytest.mark.parametrize("url", ["none.db", "none.json", "none.jsonl", "sqlite:///none.db", "none/none.db"])
@pytest.mark.parametrize(
    "verb",
    [
        ["ls"],
        ["show", "a/b"],
        ["log", "a/b"],
        ["follow", "a/b"],
        ["export", "a/b"],
        ["undo", "a/b"],
        ["forget", "a/b", "--all", "--yes"],
    ],
    ids=lambda verb: str(verb[0]),
)
def test_a_store_that_is_not_there_is_not_made(url: str, verb: list[str], tmp_path: Path) -> None:
    assert "there is no store at" in refused(2, *verb, "--store", url)
    assert "there is no store at" in refused(2, "migrate", url, "new.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("memory:", "gone when a command ends"),
        ("mysql://root:hunter2@host/x", "a store is opened by"),
        ("chats.txt", "there is no store at"),
        ("postgresql://nobody:hunter2@127.0.0.1:1/none", ""),
    ],
)
def test_addresses_that_are_no_stores(url: str, says: str) -> None:
    said = refused(2, "ls", "--store", url)
    assert says in said and "hunter2" not in said and said.count("\n") == 1


def test_broken_stores_are_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "bad.db").write_bytes(b"not a database, " * 100)
    (tmp_path / "bad.jsonl").write_text('{"kind":"message"}\nnot an item\n{"kind":"message"}\n')
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE t (x)").connection.close()
    assert "is not a SQLite database" in refused(2, "ls", "--store", "bad.db")
    assert "is damaged in line" in refused(2, "ls", "--store", "bad.jsonl")
    assert "another application" in refused(2, "ls", "--store", "other.db")


def test_a_damaged_conversation_does_not_hide_the_others(tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db")
    seeded(tmp_path / "chats.db", "bob/q3")
    with sqlite3.connect(store) as database:
        database.execute("UPDATE entries SET body = ? WHERE at & 4294967295 = 2 AND at >> 32 = 1", (b"{",))
    database.close()
    done = run("ls", "--store", store, "--json")
    assert done.exit_code == 2 and "ana/q3 is damaged after version 1: entry 2" in done.stderr
    damaged, whole = json.loads(done.stdout)
    assert (damaged["version"], damaged["items"], whole["items"]) == (8, None, 5)


def test_a_torn_end_is_mended_and_said(tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.jsonl")
    with open(store, "ab") as file:
        file.write(b'{"at":{"scope":"ana"')
    done = run("ls", "--store", store)
    assert done.exit_code == 0 and "had an unfinished end" in done.stderr


@pytest.mark.parametrize("key", [KEY, KEY.hex().encode() + b"\n"], ids=["bytes", "digits"])
def test_sealed_stores_need_their_key(key: bytes, tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db", key=KEY)
    (tmp_path / "key").write_bytes(key)
    assert "And Q4?" in ran("show", "ana/q3", "--store", store, "--key-file", "key").stdout
    (row,) = json.loads(ran("ls", "--store", store, "--json").stdout)
    assert (row["version"], row["tokens"]) == (8, None)  # names and times are readable, what is said is not
    for verb in ("show", "log", "export", "undo"):
        assert "give its key with --key-file" in refused(2, verb, "ana/q3", "--store", store)
    (tmp_path / "wrong").write_bytes(KEY[::-1])
    assert "another key" in refused(2, "show", "ana/q3", "--store", store, "--key-file", "wrong")


@pytest.mark.parametrize("data", [b"", b"short", b"x" * 64, KEY + b"\n"])
def test_a_file_that_is_no_key(data: bytes, tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db")
    (tmp_path / "key").write_bytes(data)
    assert "neither 32 bytes nor 64" in refused(2, "ls", "--store", store, "--key-file", "key")
    assert "cannot be read" in refused(2, "ls", "--store", store, "--key-file", "none")


def test_help_needs_neither_sessions_nor_stores() -> None:
    code = "import sys, quire.cli.main; print({'quire.session', 'quire.stores', 'sqlite3'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout == "set()\n", done.stderr
