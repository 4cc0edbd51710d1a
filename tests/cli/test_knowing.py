"""`quire knowledge`: documents are added, listed and removed, and every failure has a reason."""

import json
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from quire.memory import Knowledge
from quire.stores import Store
from tests.cli.conversing import ran, refused, run
from tests.cli.keeping import ENDINGS, KEY, seeded, started


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("QUIRE_STORE", raising=False)
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "lamps.md").write_text("# Lamps\n\nEvery lamp is lit at dusk.")
    (folder / "tides.txt").write_text("The tide is read twice a day.")


def added(*arguments: str) -> str:
    return ran("knowledge", "add", *arguments, "--store", "k.db", "--scope", "ana").stdout


def names(scope: str = "ana", store: str = "k.db") -> list[str]:
    listed = ran("knowledge", "ls", "--scope", scope, "--store", store, "--json").stdout
    return [row["source"] for row in json.loads(listed)]


@pytest.mark.parametrize("ending", ENDINGS)
def test_added_updated_unchanged_removed(ending: str, tmp_path: Path) -> None:
    store = f"k.{ending}"
    add = ("knowledge", "add", "handbook", "--name", "hb", "--scope", "ana", "--store", store)
    first = ran(*add).stdout
    assert "added      hb/lamps.md" in first and first.endswith("2 added\n")
    (tmp_path / "handbook" / "lamps.md").write_text("# Lamps\n\nNo lamp is lit.")
    (tmp_path / "handbook" / "tides.txt").unlink()
    (tmp_path / "handbook" / "new.txt").write_text("New.")
    second = json.loads(ran(*add, "--json").stdout)
    assert (second["added"], second["updated"]) == (["hb/new.txt"], ["hb/lamps.md"])
    third = ran(*add, "--prune").stdout
    assert "removed    hb/tides.txt" in third and third.endswith("2 unchanged, 1 removed\n")
    assert names(store=store) == ["hb/lamps.md", "hb/new.txt"]


def test_what_fails_has_a_reason_and_the_rest_is_kept(tmp_path: Path) -> None:
    (tmp_path / "handbook" / "picture.png").write_bytes(b"\x89PNG\x00")
    done = run("knowledge", "add", "handbook", "--name", "hb", "--scope", "ana", "--store", "k.db")
    assert done.exit_code == 1
    assert "failed     hb/picture.png  " in done.stdout and "binary" in done.stdout
    assert done.stdout.endswith("2 added, 1 failed\n")
    assert names() == ["hb/lamps.md", "hb/tides.txt"]


def test_several_paths_and_notes(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_bytes(b"caf\xe9 au lait")
    done = run("knowledge", "add", "old.txt", "handbook", "--scope", "ana", "--store", "k.db")
    assert done.exit_code == 0 and done.stdout.endswith("3 added\n")
    assert "cp1252" in done.stderr
    assert len(names()) == 3 and names()[-1] == str(tmp_path / "old.txt")


def test_what_cannot_be_asked(tmp_path: Path) -> None:
    add = ("knowledge", "add", "--store", "k.db", "--scope", "ana")
    assert "one path" in refused(2, *add, "handbook", "handbook/lamps.md", "--name", "hb")
    assert "neither a file nor a folder" in refused(2, *add, "handbook", "none.txt")
    assert not Path("k.db").exists()
    assert "there is no store at" in refused(2, "knowledge", "ls", "--store", "k.db")
    assert "there is no store at" in refused(2, "knowledge", "rm", "x", "--store", "k.db")


def test_listed_with_figures_and_without_content() -> None:
    added("handbook", "--name", "hb")
    told = ran("knowledge", "ls", "--scope", "ana", "--store", "k.db").stdout
    assert "hb/lamps.md" in told and "Lamps" in told and "dusk" not in told
    (row, _) = json.loads(ran("knowledge", "ls", "--scope", "ana", "--store", "k.db", "--json").stdout)
    assert row["chunks"] == 1 and row["tokens"] > 3 and row["title"] == "Lamps"
    done = run("knowledge", "ls", "--scope", "bob", "--store", "k.db")
    assert done.exit_code == 0 and "no documents in the scope 'bob'" in done.stderr


def test_removed_together_or_not_at_all() -> None:
    added("handbook", "--name", "hb")
    where = ("--scope", "ana", "--store", "k.db")
    assert "'none'" in refused(1, "knowledge", "rm", "hb/lamps.md", "none", *where)
    assert len(names()) == 2
    told = ran("knowledge", "rm", "hb/lamps.md", "hb/lamps.md", *where).stdout
    assert told == "hb/lamps.md: 1 chunk removed\n"
    assert names() == ["hb/tides.txt"] and b"dusk" not in Path("k.db").read_bytes()


def test_the_list_of_conversations_does_not_show_where_documents_are_kept(tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db")
    with Store.open(store) as opened:
        Knowledge(opened, "ana").add_text("Words.", source="w")
        Knowledge(opened, "doc").add_text("Words.", source="w")

    def listed(*arguments: str) -> list[str]:
        return [
            row["address"] for row in json.loads(ran("ls", *arguments, "--store", store, "--json").stdout)
        ]

    assert listed() == ["ana/q3"] == listed("ana")
    assert listed("doc") == []  # a scope that has documents and no conversation
    assert listed("ana/~knowledge") == ["ana/~knowledge"]  # who asks for it by name sees it
    assert "neither a scope" in refused(1, "ls", "eve", "--store", store)


def test_a_sealed_store_needs_its_key(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(KEY)
    sealed = ("--scope", "ana", "--store", "s.db")
    ran("knowledge", "add", "handbook", *sealed, "--key-file", "key")
    assert "lamps.md" in ran("knowledge", "ls", *sealed, "--key-file", "key").stdout
    assert "--key-file" in refused(2, "knowledge", "ls", *sealed)
    assert "--key-file" in refused(2, "knowledge", "rm", "x", *sealed)
    assert "--key-file" in refused(2, "knowledge", "add", "handbook", *sealed)


def test_no_bar_where_nobody_watches() -> None:
    process = started("knowledge", "add", "handbook", "--name", "hb", "--store", "k.db")
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0 and errors == "" and "2 added" in out


def test_without_a_store_the_one_of_this_folder_is_made_and_that_is_said() -> None:
    add = ("knowledge", "add", "handbook", "--name", "hb", "--scope", "ana")
    assert "which store?" in refused(2, "knowledge", "ls")
    assert not Path("quire.db").exists()
    assert "quire.db is made in this folder" in ran(*add).stderr
    assert "is made" not in ran(*add).stderr
    assert names(store="quire.db") == ["hb/lamps.md", "hb/tides.txt"]
