"""`quire recall` and `quire knowledge`: what a question would bring back, and the documents of a scope."""

from pathlib import Path
from typing import Any

import pytest

from quire.memory import Knowledge, Memory, recalled
from quire.session import Session
from quire.stores import Store
from tests.cli.command_line import ENDINGS, ran, ran_json, refused, run

QUESTION = "What was the code of my locker?"


@pytest.fixture(autouse=True)
def _with_a_handbook(tmp_path: Path) -> None:
    (tmp_path / "handbook").mkdir()
    (tmp_path / "handbook" / "lamps.md").write_text("# Lamps\n\nEvery lamp is lit at dusk.")
    (tmp_path / "handbook" / "tides.txt").write_text("The tide is read twice a day.")


def lived(path: Path) -> str:
    """A store with a fact in one conversation, small talk in another, and a document."""
    with Store.open(path) as store:
        session = Session.open("ana/one", store=store)
        session.user("My locker code is the word heliotrope.")
        for turn in range(20):
            session.user(f"How is the weather in town {turn}?")
            session.assistant(f"In town {turn} it is sunny.")
        Session.open("ana/two", store=store).user("The harbour is closed.")
        Session.open("bob/one", store=store).user("The locker code of bob is secret-of-bob.")
        Knowledge(store, "ana").add_text("Lockers are opened at the desk.", source="handbook.md")
    return str(path)


def rows(*arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ran_json("recall", *arguments)["found"]
    return found


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_would_come_back_and_why(ending: str, tmp_path: Path) -> None:
    arguments = ("recall", QUESTION, "--scope", "ana", "--store", lived(tmp_path / f"chats.{ending}"))
    printed = ran(*arguments).stdout
    best = printed.split("\n\n")[0]
    assert "conversation one" in best and "heliotrope" in best and 'has "' in best and "fits" in best
    assert "secret-of-bob" not in printed and "handbook.md" in printed
    found = ran_json(*arguments)
    assert f"{found['tokens']} of 1,024 tokens" in printed
    assert found["tokens"] > sum(row["tokens"] for row in found["found"] if row["fits"])  # with its block


def test_it_is_what_the_section_would_show(tmp_path: Path) -> None:
    path = lived(tmp_path / "chats.db")
    with Store.open(path) as store:
        wanted = [quote.id for quote in recalled(Memory(store, "ana"), QUESTION, limit=5)]
    found = rows(QUESTION, "--scope", "ana", "--limit", "5", "--store", path)
    assert [row["id"] for row in found] == wanted[: len(found)] and len(found) >= 3
    assert [row["score"] for row in found] == sorted((row["score"] for row in found), reverse=True)


def test_the_budget_the_limit_and_the_tiers(tmp_path: Path) -> None:
    where = ("--scope", "ana", "--store", lived(tmp_path / "chats.db"))
    assert 0 < sum(row["fits"] for row in rows(QUESTION, *where, "--budget", "65")) < 3
    assert sum(row["fits"] for row in rows(QUESTION, *where, "--limit", "2")) == 2
    assert "none fits into a budget of 3 tokens" in ran("recall", QUESTION, *where, "--budget", "3").stdout
    two = (*where, "--conversation", "two", "--tier", "recent")
    (newest,) = rows("x", *two, "--limit", "1")
    assert newest["text"] == "user: The harbour is closed." and newest["score"] is None
    both = rows(QUESTION, *two, "--tier", "knowledge")
    assert "harbour" in both[0]["text"] and any("heliotrope" in row["text"] for row in both)


def test_where_there_is_nothing(tmp_path: Path) -> None:
    store = ("--store", lived(tmp_path / "chats.db"))
    reported = refused(1, "recall", QUESTION, *store)
    assert "name a scope" in reported and "'ana', 'bob'" in reported
    missing = refused(1, "recall", "x", "--scope", "ana", "--conversation", "none", *store)
    assert "no conversation" in missing
    assert "nothing was found" in refused(1, "recall", " ", "--scope", "ana", *store)
    assert "tiers must be" in refused(2, "recall", "x", "--tier", "attic", "--scope", "ana", *store)
    assert "there is no store at" in refused(2, "recall", "x", "--store", "none.db")


WHERE = ("--scope", "ana", "--store", "k.db")


def names(store: str = "k.db") -> list[str]:
    return [row["source"] for row in ran_json("knowledge", "ls", "--scope", "ana", "--store", store)]


@pytest.mark.parametrize("ending", ENDINGS)
def test_documents_are_added_updated_and_removed(ending: str, tmp_path: Path) -> None:
    store = f"k.{ending}"
    add = ("knowledge", "add", "handbook", "--name", "hb", "--scope", "ana", "--store", store)
    first = ran(*add)
    assert "added      hb/lamps.md" in first.stdout and first.stdout.endswith("2 added\n")
    assert first.stderr == ""
    (tmp_path / "handbook" / "lamps.md").write_text("# Lamps\n\nNo lamp is lit.")
    (tmp_path / "handbook" / "tides.txt").unlink()
    (tmp_path / "handbook" / "new.txt").write_text("New.")
    second = ran_json(*add)
    assert (second["added"], second["updated"]) == (["hb/new.txt"], ["hb/lamps.md"])
    third = ran(*add, "--prune").stdout
    assert "removed    hb/tides.txt" in third and third.endswith("2 unchanged, 1 removed\n")
    assert names(store) == ["hb/lamps.md", "hb/new.txt"]


def test_what_fails_has_a_reason_and_the_rest_is_kept(tmp_path: Path) -> None:
    (tmp_path / "handbook" / "picture.png").write_bytes(b"\x89PNG\x00")
    (tmp_path / "old.txt").write_bytes(b"caf\xe9 au lait")
    done = run("knowledge", "add", "old.txt", "handbook", *WHERE)
    assert done.exit_code == 1 and "picture.png  " in done.stdout and "binary" in done.stdout
    assert done.stdout.endswith("3 added, 1 failed\n") and "cp1252" in done.stderr
    assert len(names()) == 3


def test_mistakes_are_errors_before_anything_is_written() -> None:
    add = ("knowledge", "add", *WHERE)
    assert "one path" in refused(2, *add, "handbook", "handbook/lamps.md", "--name", "hb")
    assert "neither a file nor a folder" in refused(2, *add, "handbook", "none.txt")
    assert not Path("k.db").exists()
    assert "there is no store at" in refused(2, "knowledge", "ls", *WHERE)
    assert "which store?" in refused(2, "knowledge", "ls", "--scope", "ana")
    assert "--scope" in refused(2, "knowledge", "add", "handbook")
    assert (
        "quire.db is created in this folder" in ran("knowledge", "add", "handbook", "--scope", "ana").stderr
    )
    assert "is made" not in ran("knowledge", "add", "handbook", "--scope", "ana").stderr


def test_documents_are_listed_without_content_and_removed_together() -> None:
    ran("knowledge", "add", "handbook", "--name", "hb", *WHERE)
    printed = ran("knowledge", "ls", *WHERE).stdout
    assert "hb/lamps.md" in printed and "Lamps" in printed and "dusk" not in printed
    row = ran_json("knowledge", "ls", *WHERE)[0]
    assert (row["chunks"], row["title"]) == (1, "Lamps") and row["tokens"] > 3
    assert "nothing in the scope 'bob'" in refused(1, "knowledge", "ls", "--scope", "bob", "--store", "k.db")
    assert ran_json("ls", "--store", "k.db") == [] == ran_json("ls", "ana", "--store", "k.db")
    assert "'none'" in refused(1, "knowledge", "rm", "hb/lamps.md", "none", *WHERE)
    assert len(names()) == 2
    assert ran("knowledge", "rm", "hb/lamps.md", *WHERE).stdout == "hb/lamps.md: 1 chunk removed\n"
    assert names() == ["hb/tides.txt"] and b"dusk" not in Path("k.db").read_bytes()
