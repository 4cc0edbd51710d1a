"""Commands on stores: which store, `ls`, `show`, `log`, `follow`, `undo`, `forget`, and wrong addresses."""

import hashlib
import json
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quire import Budget, Template
from quire.items import Hide, Span
from quire.memory import Recall
from quire.sections import History
from quire.session import Session, StoredReceipt, new_transcript
from quire.stores import Store, place_at
from tests.cli.command_line import (
    ENDINGS,
    KEY,
    NASTY,
    UNSAFE,
    killed_at_last,
    ran,
    ran_json,
    refused,
    run,
    seeded,
    started,
    view_of,
)
from tests.stores.keeping import FIRST


@pytest.fixture(params=ENDINGS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return seeded(tmp_path / f"chats.{request.param}")


def ids_in(path: str) -> list[str]:
    return [item.id for item in view_of(path)]


# Which store


def test_the_store_that_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "set QUIRE_STORE" in refused(2, "ls")
    seeded(tmp_path / "quire.db", "here/a")
    assert "here/a" in ran("ls").stdout
    monkeypatch.setenv("QUIRE_STORE", seeded(tmp_path / "other.jsonl", "there/b"))
    assert "there/b" in ran("ls").stdout
    assert "here/a" in ran("ls", "--store", f"sqlite:///{tmp_path}/quire.db").stdout


@pytest.mark.parametrize("url", ["none.db", "none.jsonl", "sqlite:///none.db", "none/none.db"])
def test_a_store_that_does_not_exist_is_not_made(url: str, tmp_path: Path) -> None:
    for verb in ("show", "log", "follow", "export", "undo"):
        assert "there is no store at" in refused(2, verb, "a/b", "--store", url)
    assert "there is no store at" in refused(2, "ls", "--store", url)
    assert "there is no store at" in refused(2, "forget", "a/b", "--all", "--yes", "--store", url)
    assert "there is no store at" in refused(2, "prune", "--idle", "30", "--store", url)
    assert "there is no store at" in refused(2, "copy", url, "new.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("memory:", "ends with the command"),
        ("mysql://root:hunter2@host/x", "a store is opened by"),
        ("bad.db", "is not a SQLite database"),
        ("bad.jsonl", "is damaged in its first line"),
        ("other.db", "another application"),
        ("postgresql://nobody:hunter2@127.0.0.1:1/none", ""),
    ],
)
def test_what_is_no_store_is_an_error_without_a_password(url: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "bad.db").write_bytes(b"not a database, " * 100)
    (tmp_path / "bad.jsonl").write_text('{"kind":"message"}\nnot an item\n{"kind":"message"}\n')
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE t (x)").connection.close()
    reported = refused(2, "ls", "--store", url)
    assert says in reported and "hunter2" not in reported and reported.count("\n") == 1


@pytest.mark.parametrize("key", [KEY, KEY.hex().encode() + b"\n"], ids=["bytes", "digits"])
def test_a_sealed_store_needs_its_key(key: bytes, tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db", key=KEY)
    (tmp_path / "key").write_bytes(key)
    assert "And Q4?" in ran("show", "ana/q3", "--store", store, "--key-file", "key").stdout
    done = run("ls", "--store", store, "--json")
    assert done.exit_code == 2 and "is sealed: open its store with its key" in done.stderr
    (row,) = json.loads(done.stdout)
    assert row["version"] == 8 and "tokens" not in row  # names and times are readable, content is not
    for verb in ("show", "log", "export", "undo"):
        assert "there is no conversation ana/none" in refused(1, verb, "ana/none", "--store", store)
        assert "is sealed: open its store with its key" in refused(2, verb, "ana/q3", "--store", store)
    archive = tmp_path / "all.zip"
    refused(2, "export", "--scope", "ana", "--output", str(archive), "--store", store)
    assert not archive.exists()
    (tmp_path / "wrong").write_bytes(KEY[::-1])
    assert "another key" in refused(2, "show", "ana/q3", "--store", store, "--key-file", "wrong")
    for data in (b"", b"x" * 64, KEY + b"\n"):
        (tmp_path / "no-key").write_bytes(data)
        assert "must have 32 bytes or 64" in refused(2, "ls", "--store", store, "--key-file", "no-key")
    assert "cannot be read" in refused(2, "ls", "--store", store, "--key-file", "none")
    ran("forget", "ana/q3", "--store", store, "--all", "--yes")  # also without the key
    assert ran_json("ls", "--store", store) == []


def test_help_loads_neither_sessions_nor_stores() -> None:
    loaded = "{'quire.session', 'quire.stores', 'quire.providers', 'sqlite3', 'mcp'} & {*sys.modules}"
    run_help = "import sys, quire.cli; sys.argv = ['quire', '--help']\ntry: quire.cli.main()"
    code = f"{run_help}\nfinally: print({loaded})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.endswith("set()\n") and "knowledge" in done.stdout, done.stderr


# ls


def test_conversations_with_their_figures(store: str) -> None:
    (row,) = ran_json("ls", "--store", store)
    figures = (row["address"], row["version"], row["items"], row["tokens"])
    assert figures == ("ana/q3", 8, 4, 32)
    shown = ran("ls", "--store", store).stdout
    assert "ana/q3" in shown and "32" in shown and "Q4" not in shown


def test_a_scope_and_a_conversation_with_its_forks(tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db")
    seeded(tmp_path / "chats.db", "bob/q3")
    seeded(tmp_path / "chats.db", "ana")  # a conversation of the empty scope, named like a scope
    with Store.open(store) as opened:
        Session.open("ana/q3", store=opened).fork("kid").user("more")

    def listed(*arguments: str) -> list[str]:
        return [row["address"] for row in ran_json("ls", *arguments, "--store", store)]

    assert listed() == ["ana/q3%2Fkid", "/ana", "bob/q3", "ana/q3"]  # the latest first
    assert listed("ana") == ["/ana", "ana/q3%2Fkid", "ana/q3"]
    assert listed("ana/q3") == ["ana/q3%2Fkid", "ana/q3"] and listed("bob") == ["bob/q3"]
    assert "neither a scope nor a conversation" in refused(1, "ls", "eve", "--store", store)


def test_damage_and_repairs_are_reported(tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db")
    seeded(tmp_path / "chats.db", "bob/q3")
    with sqlite3.connect(store) as database:
        database.execute(f"UPDATE entries SET body = ? WHERE at = {FIRST} + 2", (b"{",))
    database.close()
    done = run("ls", "--store", store, "--json")
    assert done.exit_code == 2 and "ana/q3 is damaged after version 1: entry 2" in done.stderr
    whole, damaged = json.loads(done.stdout)
    assert (damaged["version"], damaged.get("items"), whole["items"]) == (8, None, 4)
    for verb in ("show", "log", "export"):
        assert "is damaged after version 1: entry 2" in refused(2, verb, "ana/q3", "--store", store)
    torn = seeded(tmp_path / "chats.jsonl")
    with open(torn, "ab") as file:
        file.write(b'{"at":{"scope":"ana"')
    assert "had an unfinished end" in ran("ls", "--store", torn).stderr


# show


def shown(store: str, *more: str) -> Any:
    return ran_json("show", "ana/q3", "--store", store, *more)


def test_what_the_view_shows_now_and_at_a_version(store: str) -> None:
    text = ran("show", "ana/q3", "--store", store).stdout
    assert "main at version 8: 4 items shown, 5 entries recorded" in text
    assert "They spoke of Q3." in text and "How did" not in text
    data = shown(store)
    assert [row["item"]["id"] for row in data["items"]] == ids_in(store)
    assert data["tokens"] > sum(row["tokens"] for row in data["items"]) > 0
    assert (data["version"], data["transcript"], data["transcripts"]) == (8, "main", ["main"])
    assert [row["item"]["content"] for row in shown(store, "--at", "3")["items"]] == ["Be brief.", NASTY]
    assert shown(store, "--at", "0")["items"] == []
    show = ("show", "ana/q3", "--store", store)
    assert "versions are 0 to 8" in refused(1, *show, "--at", "9")
    assert "no transcript 'b'" in refused(1, *show, "--transcript", "b")
    assert "no transcript 'b'" in refused(1, *show, "--transcript", "b", "--at", "2")


def test_what_a_model_saw(store: str) -> None:
    payload = shown(store, "--receipt", "last")
    assert payload == shown(store, "--receipt", "3")
    with Store.open(store) as opened:
        (kept,) = Session.open("ana/q3", store=opened).receipts
        assert payload == kept.payload().payload
        assert kept.digest == hashlib.sha256(msgspec.json.encode(payload)).hexdigest()
    text = ran("show", "ana/q3", "--store", store, "--receipt", "last").stdout
    assert kept.digest in text and "Be brief." in text and "openai gpt-5.6" in text
    assert "parameters: unknown" in text and str(kept) in text
    assert text == ran("show", "ana/q3", "--store", store, "--receipt", "-1").stdout
    for wrong in ("1", "-2", "first"):
        reported = refused(1, "show", "ana/q3", "--store", store, "--receipt", wrong)
        assert "no request was kept at version" in reported and "the last are 3" in reported


def test_why_a_model_saw_it(tmp_path: Path) -> None:
    store = str(tmp_path / "chats.db")
    with Store.open(store) as opened:
        session = Session.open("ana/q3", store=opened)
        for n in range(9):
            session.user(f"question {n} " * 20)
            session.assistant("Well. " * 20)
        context = session.build(Template(History(), budget=Budget(window=500), model="gpt-5.6"))
        context.render("openai")
        context.sent(parameters={"temperature": 0.2})
        (kept,) = session.receipts
        session.user("And then?")
    text = ran("show", "ana/q3", "--store", store, "--receipt", "last").stdout
    left_out = [entry for entry in kept.entries if entry.fate == "left out"]
    assert 'parameters: {"temperature":0.2}' in text
    for reason in (left_out[0].reason, left_out[-1].reason):
        ids = [entry.item_id for entry in left_out if entry.reason == reason]
        which = ids[0] if len(ids) == 1 else f"{ids[0]} to {ids[-1]}"
        assert f"of history left out: {which}; {reason}" in text
    asked = ("--store", store, "--scope", "ana", "--conversation", "q3", "--receipt", str(kept.version))
    for entry in kept.entries:
        (row,) = ran_json("why", entry.item_id, *asked)
        assert row["entry"] == context.explain(entry.item_id)._asdict()
        assert row["is_seen"] == (entry.fate == "shown") and row["request"]["version"] == kept.version
    within = ("--store", store, "--scope", "ana")
    first = ran("why", "question 0", *within).stdout
    assert "seen in none of 1 request" in first and "is left out: it is bef" in first
    (seen,) = ran_json("why", "Question 8", *within)
    assert (seen["seen_in"], seen["requests"], seen["since"]) == (1, 1, None)
    (later,) = ran_json("why", "And then", *within)
    assert later["requests"] == 0 and f"after the request at version {kept.version}" in later["fault"]
    assert ran_json("why", later["item"]["id"], *within) == [later]
    assert "nothing here has 'x'" in refused(1, "why", "x", *asked)
    assert "nothing in the scope 'eve'" in refused(1, "why", "x", "--store", store, "--scope", "eve")


def test_why_finds_the_requests_of_another_conversation_that_quoted_an_item(tmp_path: Path) -> None:
    store = str(tmp_path / "chats.db")
    template = Template(History(), Recall(tokens=300), budget=Budget(window=1_000), model="gpt-5.6")
    with Store.open(store) as opened:
        old = Session.open("ana/old", store=opened)
        fact = old.user("I live in Oslo.")
        old.assistant("Noted.")
        old.user("My cat likes fish.")
        old.assistant("Nice.")
        receipts = list[StoredReceipt]()
        for name, question in (("new", "Where do I live?"), ("other", "Does the cat like fish?")):
            session = Session.open(f"ana/{name}", store=opened)
            session.user(question)
            context = session.build(template)
            context.render("openai")
            context.sent()
            receipts.append(session.receipts[-1])
        kept, other = receipts
        assert kept.explain(fact).fate == "shown" and "Oslo" in str(kept.request()) and kept.shows(fact)
        assert "fish" in str(other.request()) and other.shows(fact) is False
    asked = ("why", "live in Oslo", "--scope", "ana", "--store", store)
    (row,) = ran_json(*asked)
    last = {"version": kept.version, "at": kept.created_at, "question": "Where do I live?"}
    assert row["elsewhere"] == [{"address": "ana/new", "seen_in": 1, "last": last}]
    assert ran_json("why", fact.id, *asked[2:], "--conversation", "old") == [row]
    text = ran(*asked).stdout
    assert "no request of this conversation was sent since it was recorded" in text
    assert f"seen in 1 request of ana/new, the last at version {kept.version} (Where do I live?)" in text


def test_a_request_that_was_changed_or_forgotten_is_not_shown(tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db")
    asked = ("show", "ana/q3", "--store", store, "--receipt", "last")
    with Store.open(store) as opened:
        place = place_at("ana/q3")
        first = opened.read(place)[0]
        opened.replace(place, {1: first.body.replace(b"Be brief.", b"Be bold.")})
    assert "cannot be rendered as it was" in refused(2, *asked)
    ran("forget", "ana/q3", json.loads(first.body)["id"], "--store", store)
    assert "showed was forgotten" in refused(1, *asked)


@pytest.mark.parametrize(
    "command",
    [
        *("show --at 2", "show --receipt last", "show --receipt last --json", "show --at 2 --json"),
        *("log", "log --json", "export"),
    ],
)
def test_no_message_drives_a_terminal(command: str, store: str) -> None:
    verb, *options = command.split()
    text = ran(verb, "ana/q3", *options, "--store", store).stdout
    assert not any(sign in text for sign in UNSAFE) and "[bold]:smile:" in text


# log and follow


def test_the_log_has_every_entry_and_what_edits_do(store: str) -> None:
    log = ("log", "ana/q3", "--store", store)
    entries = ran(*log).stdout.splitlines()
    assert [line.split()[0] for line in entries] == [str(version) for version in range(1, 9)]
    assert ".receipts" in entries[2] and 'usage: {"usage":{"input":30' in entries[4]
    assert "report: the figures" in entries[5] and "replaces" in entries[7] and "[undone]" not in entries[7]
    assert ran(*log, "--after", "7").stdout.splitlines() == entries[7:]
    data = ran_json(*log)
    assert [entry["version"] for entry in data] == list(range(1, 9)) and data[1]["item"]["content"] == NASTY
    assert {entry["stream"] for entry in data} == {"main", ".receipts", ".usage", ".pool"}


def test_undone_edits_are_marked(tmp_path: Path) -> None:
    path = str(tmp_path / "chats.db")
    with Store.open(path) as opened:
        session = Session.open("a/b", store=opened)
        first, second = session.user("one"), session.assistant("two")
        session.user("three")
        assert second is not None
        session.append(hidden := Hide((Span(first.id, second.id),)))
        session.undo(session.undo(hidden.id).id)  # so the cut is in force again
        new_transcript(session, "attempt")
    data = ran_json("log", "a/b", "--store", path)
    assert [entry["undone"] for entry in data] == [False, False, False, False, True, False, False]
    entries = ran("log", "a/b", "--store", path).stdout.splitlines()
    assert f"hides {first.id} to {second.id}" in entries[3] and "[undone] undoes" in entries[4]
    assert 'named: {"name":"attempt_a"' in entries[6]


def test_what_another_process_adds_is_followed_until_an_interrupt(tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db")
    follow = started("follow", "ana/new", "--store", store, "--json", stdin=subprocess.DEVNULL)
    with killed_at_last(follow) as process, Store.open(store) as opened:
        assert process.stdout is not None and process.stderr is not None
        assert "ana/new: there is nothing yet" in process.stderr.readline()
        session = Session.open("ana/new", store=opened)
        session.user(NASTY)
        line = process.stdout.readline()
        assert json.loads(line)["item"]["content"] == NASTY and not any(sign in line for sign in UNSAFE)
        opened.remove(session.place)
        assert "ana/new was forgotten" in process.stderr.readline()
        Session.open("ana/new", store=opened).user("two")
        assert "two" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.communicate() == ("", "") and process.returncode == 0


# undo and forget


def test_the_last_edit_or_one_by_its_id_is_undone(store: str) -> None:
    summary = view_of(store)[1]
    told = ran("undo", "ana/q3", "--store", store).stdout
    assert f"{summary.id} is undone: 4 items are shown, 4 before" in told
    assert summary.id not in ids_in(store)
    assert "no edit to undo" in refused(1, "undo", "ana/q3", "--store", store)
    with Store.open(store) as opened:
        session = Session.open("ana/q3", store=opened)
        one = session.user("one", to="attempt_a")
        session.user("two", to="attempt_a")
        session.append(hidden := Hide((Span(one.id, one.id),)), to="attempt_a")
    done = ran_json("undo", "ana/q3", hidden.id, "--store", store)
    assert (done["undone"], done["shown"], done["before"]) == (hidden.id, 2, 1)
    before = ids_in(store)
    assert "no item 'none' at revision" in refused(1, "undo", "ana/q3", "none", "--store", store)
    refused(1, "undo", "ana/q3", before[0], "--store", store)  # it is no edit
    assert ids_in(store) == before


def test_items_are_forgotten_and_their_content_is_nowhere(store: str) -> None:
    asked = view_of(store)[-1]
    before = ran("log", "ana/q3", "--store", store).stdout
    assert "no item 'none' in ana/q3" in refused(1, "forget", "ana/q3", asked.id, "none", "--store", store)
    spent = next(line for line in before.splitlines() if ".usage" in line).split()[5]
    assert "that can be forgotten" in refused(1, "forget", "ana/q3", spent, "--store", store)
    assert ran("log", "ana/q3", "--store", store).stdout == before
    assert "1 item of ana/q3 forgotten" in ran("forget", "ana/q3", asked.id, "--store", store).stdout
    assert view_of(store)[-1].content == "[forgotten]"
    files = [path for path in Path(store).parent.iterdir() if path.name.startswith("chats")]
    assert files and not any(b"And Q4?" in path.read_bytes() for path in files)
    assert ".forgotten" in ran("log", "ana/q3", "--store", store).stdout


def test_a_whole_conversation_is_forgotten_once_somebody_is_sure(store: str) -> None:
    with Store.open(store) as opened:
        Session.open("ana/q3", store=opened).fork("kid").user("more")
        Session.open("ana/q3%2Fno-fork", store=opened).user("named like one")
    ask = ("forget", "ana/q3", "--store", store, "--all")
    assert "one of the two" in refused(2, "forget", "ana/q3", "--store", store)
    assert "one of the two" in refused(2, *ask, "some-id")
    assert "forget them first: ana/q3%2Fkid\n" in refused(1, *ask, "--yes")
    kid = ran_json("forget", "ana/q3%2Fkid", "--store", store, "--all", "--yes")
    assert kid == {"address": "ana/q3%2Fkid", "forgotten": "all"}
    for given in ("n\n", ""):
        done = run(*ask, given=given)
        assert done.exit_code == 1 and "for ever?" in done.stderr
    assert len(ids_in(store)) == 4
    assert "ana/q3 forgotten: 8 entries" in run(*ask, given="y\n").stdout
    assert "no conversation ana/q3" in refused(1, *ask)
    assert [row["address"] for row in ran_json("ls", "--store", store)] == ["ana/q3%2Fno-fork"]
