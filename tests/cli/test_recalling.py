"""`quire recall`: what would be brought back, in the order of worth, and why."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from quire.items import ToolCall, ToolResult
from quire.memory import Knowledge, Memory, recalled
from quire.session import Session
from quire.stores import Store
from tests.cli.conversing import ran, refused, run
from tests.cli.keeping import ENDINGS, KEY, NASTY, seeded

QUESTION = "What was the code of my locker?"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("QUIRE_STORE", raising=False)


def lived(path: Path) -> str:
    """A store with a secret in one conversation, small talk in another, and a document."""
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
    found: list[dict[str, Any]] = json.loads(ran("recall", *arguments, "--json").stdout)["found"]
    return found


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_would_come_back_and_why(ending: str, tmp_path: Path) -> None:
    store = lived(tmp_path / f"chats.{ending}")
    told = ran("recall", QUESTION, "--scope", "ana", "--store", store).stdout
    best = told.split("\n\n")[0]
    assert "conversation one" in best and "heliotrope" in best and 'has "' in best and "fits" in best
    assert "of 1,024 tokens" in told and "secret-of-bob" not in told
    assert "handbook.md" in told


def test_it_is_what_the_section_would_tell(tmp_path: Path) -> None:
    path = lived(tmp_path / "chats.db")
    with Store.open(path) as store:
        wanted = [quote.id for quote in recalled(Memory(store, "ana"), QUESTION, limit=5)]
    found = rows(QUESTION, "--scope", "ana", "--limit", "5", "--store", path)
    assert [row["id"] for row in found] == wanted[: len(found)] and len(found) >= 5
    assert [row["score"] for row in found] == sorted((row["score"] for row in found), reverse=True)
    assert set(found[0]) == {
        *("id", "ids", "from", "source", "at", "tokens", "fits", "score", "reason", "text")
    }


def test_what_all_of_it_takes_is_counted_with_its_days_and_its_block(tmp_path: Path) -> None:
    arguments = ("recall", QUESTION, "--scope", "ana", "--store", lived(tmp_path / "chats.db"))
    found = json.loads(ran(*arguments, "--json").stdout)
    assert found["tokens"] > sum(row["tokens"] for row in found["found"] if row["fits"])
    assert f"{found['tokens']} of 1,024 tokens" in ran(*arguments).stdout


def test_of_what_is_long_the_part_is_told_that_would_be(tmp_path: Path) -> None:
    lines = [f"line {number}: nothing of note on that day" for number in range(3_000)]
    lines[2_000] = "line 2000: the locker of Ferris opens with heliotrope"
    path = str(tmp_path / "chats.db")
    with Store.open(path) as store:
        session = Session.open("ana/one", store=store)
        session.append(ToolCall("c1", "read_log", "{}"), ToolResult("c1", "read_log", "\n".join(lines)))
    arguments = ("Which word opens the locker of Ferris?", "--scope", "ana", "--store", path)
    (row,) = rows(*arguments)
    assert "Ferris opens with heliotrope" in row["text"] and "[an excerpt" in row["text"]
    assert row["fits"] and row["tokens"] <= 512 and row["reason"].endswith("quoted in part")
    told = ran("recall", *arguments).stdout
    assert "Ferris opens with heliotrope" in told and "quoted in part" in told
    assert "assistant: [called" in told


def test_the_budget_and_the_limit(tmp_path: Path) -> None:
    store = lived(tmp_path / "chats.db")
    few = rows(QUESTION, "--scope", "ana", "--budget", "45", "--store", store)
    assert 0 < sum(row["fits"] for row in few) < 3
    assert sum(row["fits"] for row in rows(QUESTION, "--scope", "ana", "--limit", "2", "--store", store)) == 2
    none = ran("recall", QUESTION, "--scope", "ana", "--budget", "3", "--store", store).stdout
    assert "nothing of it fits" in none


def test_tiers_of_one_conversation(tmp_path: Path) -> None:
    store = lived(tmp_path / "chats.db")
    newest = rows(
        "x", "--tier", "recent", "--scope", "ana", "--conversation", "two", "--limit", "1", "--store", store
    )
    assert [row["text"] for row in newest] == ["user: The harbour is closed."]
    assert newest[0]["score"] is None and newest[0]["reason"] == "among the newest"
    two = ("--tier", "recent", "--tier", "knowledge")
    both = rows(QUESTION, *two, "--scope", "ana", "--conversation", "two", "--store", store)
    assert "harbour" in both[0]["text"] and any("heliotrope" in row["text"] for row in both)


def test_where_there_is_nothing(tmp_path: Path) -> None:
    store = lived(tmp_path / "chats.db")
    said = refused(1, "recall", QUESTION, "--store", store)
    assert "nothing in the scope ''" in said and "'ana', 'bob'" in said
    assert "nothing in the scope 'eve'" in refused(1, "recall", QUESTION, "--scope", "eve", "--store", store)
    said = refused(1, "recall", "x", "--scope", "ana", "--conversation", "none", "--store", store)
    assert "no conversation" in said
    assert "nothing was found" in refused(1, "recall", " ", "--scope", "ana", "--store", store)
    assert "tiers are" in refused(2, "recall", "x", "--tier", "attic", "--scope", "ana", "--store", store)
    assert "there is no store at" in refused(2, "recall", "x", "--store", "none.db")
    assert "set QUIRE_STORE" in refused(2, "recall", "x")
    assert not Path("none.db").exists()


def test_nothing_of_what_is_quoted_drives_a_terminal(tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db")
    for more in ((), ("--json",)):
        told = ran("recall", "Q3", "--scope", "ana", "--store", store, *more).stdout
        assert "\x1b" not in told and "\u202e" not in told and "smile" in told
    assert any(NASTY in row["text"] for row in rows("Q3", "--scope", "ana", "--store", store))


def test_a_sealed_store_needs_its_key(tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db", key=KEY)
    (tmp_path / "key").write_bytes(KEY)
    assert "Q3" in ran("recall", "Q3", "--scope", "ana", "--store", store, "--key-file", "key").stdout
    done = run("recall", "Q3", "--scope", "ana", "--store", store)
    assert done.exit_code == 2 and "--key-file" in done.stderr


def test_an_escaped_scope_and_a_fork(tmp_path: Path) -> None:
    with Store.open(tmp_path / "chats.db") as store:
        parent = Session.open("a%2Fb/q3", store=store)
        parent.user("The kettle is blue.")
        parent.fork("kid").user("The kettle is green.")
    arguments = ("--scope", "a%2Fb", "--conversation", "q3%2Fkid", "--tier", "recent", "--store", "chats.db")
    assert "The kettle is green." in ran("recall", "kettle", *arguments).stdout
