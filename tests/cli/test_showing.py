"""`quire show` and `quire log`: what a conversation shows, what a model saw, and what was recorded."""

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from quire import Budget, Template
from quire.items import Hide, Mask, Pin, Span, ToolCall, ToolResult
from quire.sections import History, Instructions
from quire.session import Session
from quire.stores import Store, place_at
from tests.cli.conversing import ran, refused
from tests.cli.keeping import ENDINGS, NASTY, conversation_in, seeded

UNSAFE = ("\x1b", "\x9b", "\u202e")


@pytest.fixture(params=ENDINGS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return seeded(tmp_path / f"chats.{request.param}")


def shown(store: str, *more: str) -> Any:
    return json.loads(ran("show", "ana/q3", "--store", store, "--json", *more).stdout)


def test_what_the_view_shows(store: str) -> None:
    text = ran("show", "ana/q3", "--store", store).stdout
    assert "main at version 8: 4 items" in text
    assert "They spoke of Q3." in text and "How did" not in text
    data = shown(store)
    view = conversation_in(store)
    assert [row["item"]["id"] for row in data["items"]] == [item.id for item in view]
    assert data["tokens"] > sum(row["tokens"] for row in data["items"]) > 0
    assert (data["version"], data["transcript"], data["transcripts"]) == (8, "main", ["main"])


def test_what_it_showed_at_a_version(store: str) -> None:
    assert [row["item"]["content"] for row in shown(store, "--at", "3")["items"]] == ["Be brief.", NASTY]
    assert shown(store, "--at", "0")["items"] == []
    assert "versions 0 to 8" in refused(1, "show", "ana/q3", "--store", store, "--at", "9")
    assert "no transcript 'b'" in refused(1, "show", "ana/q3", "--store", store, "--transcript", "b")
    asked = ("show", "ana/q3", "--store", store, "--transcript", "b", "--at", "2")
    assert "no transcript 'b'" in refused(1, *asked)


def test_what_is_masked_or_pinned_is_marked(tmp_path: Path) -> None:
    path = tmp_path / "tools.db"
    with Store.open(path) as opened:
        session = Session.open("a/b", store=opened)
        session.user("Look.")
        session.append(ToolCall("c", "look", "{}"), result := ToolResult("c", "look", "long " * 50))
        session.append(Mask(result.id, "[cut]"))
        last = session.user("So?")
        session.append(Pin(last.id))
    states = {row["item"]["kind"]: row["state"] for row in json.loads(_show(path, "--json"))["items"]}
    assert states == {"message": "pinned", "tool_call": "shown", "tool_result": "masked"}
    assert "tool result, masked" in _show(path) and "[cut]" in _show(path)


def _show(path: Path, *more: str) -> str:
    return ran("show", "a/b", "--store", str(path), *more).stdout


def test_what_a_model_saw(store: str) -> None:
    payload = shown(store, "--receipt", "last")
    assert payload == shown(store, "--receipt", "3")
    with Store.open(store) as opened:
        (kept,) = Session.open("ana/q3", store=opened).receipts
        assert payload == kept.payload().payload
        assert kept.digest == hashlib.sha256(msgspec.json.encode(payload)).hexdigest()
    text = ran("show", "ana/q3", "--store", store, "--receipt", "last").stdout
    assert kept.digest in text and "Be brief." in text and "openai gpt-5.6" in text
    for wrong in ("1", "-1", "first", "99"):
        said = refused(1, "show", "ana/q3", "--store", store, "--receipt", wrong)
        assert "no request was kept at version" in said and "the last are 3" in said


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


def test_no_requests_at_all(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as opened:
        Session.open("a/b", store=opened).user("hi")
    said = refused(1, "show", "a/b", "--store", str(tmp_path / "a.db"), "--receipt", "last")
    assert "no request was kept in a/b" in said


def test_the_log_says_which_name_was_taken(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as opened:
        session = Session.open("a/b", store=opened)
        session.new("attempt")
        (line,) = ran("log", "a/b", "--store", str(tmp_path / "a.db")).stdout.splitlines()
        assert line.endswith("takes the name attempt_a")


def test_the_log_has_every_entry_and_what_edits_do(store: str) -> None:
    lines = ran("log", "ana/q3", "--store", store).stdout.splitlines()
    assert [line.split()[0] for line in lines] == [str(version) for version in range(1, 9)]
    assert "request of" in lines[2] and "spent 32 tokens" in lines[4] and "report: the figures" in lines[5]
    assert "stands for" in lines[7] and "[undone]" not in lines[7]
    assert ran("log", "ana/q3", "--store", store, "--after", "7").stdout.splitlines() == lines[7:]
    entries = json.loads(ran("log", "ana/q3", "--store", store, "--json").stdout)
    assert [entry["version"] for entry in entries] == list(range(1, 9))
    assert entries[1]["item"]["content"] == NASTY
    assert {entry["stream"] for entry in entries} == {"main", ".receipts", ".usage", ".pool"}


def test_what_is_kept_for_requests_is_told(tmp_path: Path) -> None:
    path, tools = tmp_path / "chats.db", [{"name": "look", "parameters": {"type": "object"}}]
    with Store.open(path) as opened:
        session = Session.open("a/b", store=opened)
        session.user("one")
        template = Template(Instructions("Be exact."), History(), budget=Budget(window=800), model="gpt-5.6")
        session.build(template, tools=tools).render("openai")
    lines = ran("log", "a/b", "--store", str(path)).stdout.splitlines()
    assert "kept for requests: Be exact." in lines[1] and "request of" in lines[-1]
    text = ran("show", "a/b", "--store", str(path), "--receipt", "last").stdout
    assert "Be exact." in text and "one" in text


def test_edits_that_are_taken_back_are_marked(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    with Store.open(path) as opened:
        session = Session.open("a/b", store=opened)
        first, second = session.user("one"), session.assistant("two")
        session.user("three")
        assert second is not None
        session.append(hidden := Hide((Span(first.id, second.id),)))
        undone = session.undo(hidden.id)
        session.undo(undone.id)  # so the cut is in force again
    entries = json.loads(ran("log", "a/b", "--store", str(path), "--json").stdout)
    assert [entry["undone"] for entry in entries] == [False, False, False, False, True, False]
    lines = ran("log", "a/b", "--store", str(path)).stdout.splitlines()
    assert f"hides {first.id} to {second.id}" in lines[3] and "[undone] takes back" in lines[4]


@pytest.mark.parametrize(
    "command",
    [
        ["show", "ana/q3", "--at", "2"],
        ["show", "ana/q3", "--receipt", "last"],
        ["show", "ana/q3", "--receipt", "last", "--json"],
        ["show", "ana/q3", "--at", "2", "--json"],
        ["log", "ana/q3"],
        ["log", "ana/q3", "--json"],
        ["export", "ana/q3"],
        ["ls"],
    ],
)
def test_no_message_drives_a_terminal(command: list[str], store: str) -> None:
    text = ran(*command, "--store", store).stdout
    assert not any(sign in text for sign in UNSAFE)
    if command[0] != "ls":
        assert "[bold]:smile:" in text  # no markup and no picture is made of it


@pytest.mark.parametrize("verb", ["show", "log", "export", "undo"])
@pytest.mark.parametrize(
    ("address", "status", "says"),
    [
        ("ana/none", 1, "there is no conversation ana/none"),
        ("eve/q3", 1, "there is no conversation eve/q3"),
        ("a/b/c", 2, "a slash within a part is written %2F"),
        ("%ff", 2, "not UTF-8"),
        ("a%1b[31m/b", 2, "printable characters"),
        ("../ana/q3", 2, "%2F"),
        ("x" * 600, 2, "the limit is 500"),
    ],
)
def test_wrong_addresses(verb: str, address: str, status: int, says: str, tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db")
    said = refused(status, verb, address, "--store", store)
    assert says in said and said.count("\n") == 1


def test_a_conversation_that_is_damaged_is_a_sentence(tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db")
    with sqlite3.connect(store) as database:
        database.execute("UPDATE entries SET body = ? WHERE at & 4294967295 = 2", (b'{"kind":"message"}',))
    database.close()
    for verb in ("show", "log", "export"):
        assert "is damaged after version 1: entry 2" in refused(2, verb, "ana/q3", "--store", store)
