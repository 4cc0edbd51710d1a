"""`quire import` and `quire export`: conversations from every format and back."""

import json
import os
import pty
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from quire.providers import PROVIDERS
from tests.cli.conversing import TOOL, conversation, lines, ran, read, refused
from tests.cli.keeping import ENDINGS, KEY, conversation_in, ids_in, seeded, started

HELLO = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


def written(path: Path, value: Any) -> str:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("format", ["auto", "named"])
def test_every_wire_comes_in_and_goes_out(wire: str, format: str, ending: str, tmp_path: Path) -> None:
    store = str(tmp_path / f"chats.{ending}")
    there = tmp_path / "there.json"
    ran("convert", written(tmp_path / "h.json", conversation()), "--to", wire, "-o", str(there))
    asked = [] if format == "auto" else ["--format", wire]
    said = ran("import", str(there), "ana/q3", "--store", store, *asked).stdout
    assert said == f"ana/q3: 82 items from {there}\n"
    back = tmp_path / "back.json"
    ran("export", "ana/q3", "--store", store, "--format", wire, "-o", str(back))
    assert read(back) == read(there)
    as_openai = json.loads(ran("export", "ana/q3", "--store", store, "--format", "openai").stdout)
    roles = [message["role"] for message in as_openai["messages"]]
    assert len(roles) == 82 and roles[-1] == "user"


@pytest.mark.parametrize("layout", ["array", "lines"])
def test_items_keep_their_ids_and_edits(layout: str, tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db")
    text = ran("export", "ana/q3", "--store", store).stdout
    file = written(tmp_path / "items", text if layout == "array" else lines(json.loads(text)))
    ran("import", file, "bob/copy", "--store", store, "--format", "items")
    ran("import", file, "bob/guessed", "--store", store)
    assert conversation_in(store, "bob/copy") == conversation_in(store)
    assert ids_in(store, "bob/guessed") == ids_in(store)
    assert ran("export", "bob/copy", "--store", store).stdout == text


def test_a_fork_is_exported_with_its_past(tmp_path: Path) -> None:
    from quire.session import Session
    from quire.stores import Store

    store = seeded(tmp_path / "chats.db")
    with Store.open(store) as opened:
        Session.open("ana/q3", store=opened).fork("kid").user("more")
    items = json.loads(ran("export", "ana/q3%2Fkid", "--store", store).stdout)
    assert len(items) == 6 and items[-1]["content"] == "more"


def test_an_existing_conversation_is_added_to_only_if_asked(tmp_path: Path) -> None:
    store, file = str(tmp_path / "chats.db"), written(tmp_path / "h.json", HELLO)
    ask = ("import", file, "ana/q3", "--store", store)
    ran(*ask)
    assert "there is a conversation ana/q3 already" in refused(1, *ask)
    ran(*ask, "--append")
    ran(*ask, "--append", "--transcript", "attempt_a")
    assert [item.content for item in conversation_in(store)] == ["hi", "hello"] * 2
    assert json.loads(ran("show", "ana/q3", "--store", store, "--json").stdout)["transcripts"] == [
        "main",
        "attempt_a",
    ]


def test_several_histories_become_several_conversations(tmp_path: Path) -> None:
    store, folder = str(tmp_path / "chats.db"), tmp_path / "many"
    folder.mkdir()
    written(folder / "a b.json", HELLO)
    written(folder / "c.jsonl", lines([HELLO, {"messages": HELLO}]))
    written(folder / "notes.txt", "no history")
    done = json.loads(ran("import", str(folder), "ana/", "--store", store, "--json").stdout)
    assert [one["address"] for one in done] == ["ana/a%20b", "ana/c-1", "ana/c-2"]
    ran("import", str(folder / "c.jsonl"), "ana/old", "--store", store)
    listed = [row["conversation"] for row in json.loads(ran("ls", "ana", "--store", store, "--json").stdout)]
    assert listed == ["a b", "c-1", "c-2", "old-1", "old-2"]
    written(folder / "c-1.json", HELLO)
    assert "would both become new/c-1" in refused(2, "import", str(folder), "new/", "--store", store)


def test_of_several_nothing_is_written_where_one_is_bad(tmp_path: Path) -> None:
    store, folder = tmp_path / "chats.db", tmp_path / "many"
    folder.mkdir()
    written(folder / "a.json", HELLO)
    bad = written(folder / "b.json", [*HELLO, {"role": "user", "content": 5}])
    said = refused(2, "import", str(folder), "ana/", "--store", str(store))
    assert bad in said and "messages[2]" in said and said.count("\n") == 1
    assert not store.exists()


@pytest.mark.parametrize(
    ("text", "format", "says"),
    [
        ("", "auto", "nothing in it"),
        ("{", "auto", "not JSON"),
        ("[]", "auto", "no messages were found"),
        (lines([HELLO, []]), "auto", "line 2: no messages were found"),
        (lines([HELLO, [{"role": "user", "content": 5}]]), "auto", "line 2"),
        (json.dumps(HELLO), "items", "$[0]"),
        (json.dumps(HELLO), "csv", "no format 'csv'"),
        ('[{"kind":"message","role":"user","content":5,"id":"a"}]', "auto", "$[0]"),
        (
            '[{"kind":"message","role":"user","content":"x","id":"a","created_at":1},'
            '{"kind":"undo","target":"\\u001b[31m","id":"b","created_at":2}]',
            "items",
            "item 2: ",
        ),
        ('[{"kind":"note","content":1,"id":"a"},{"kind":"note","content":1,"id":"a"}]', "items", "item 2: "),
    ],
)
def test_bad_files_say_where(text: str, format: str, says: str, tmp_path: Path) -> None:
    store = tmp_path / "chats.jsonl"
    file = written(tmp_path / "bad.json", text)
    said = refused(2, "import", file, "ana/q3", "--store", str(store), "--format", format)
    assert says in said and said.count("\n") == 1 and "\x1b" not in said
    assert not store.exists() or json.loads(ran("ls", "--store", str(store), "--json").stdout) == []


def test_standard_input_tools_and_missing_files(tmp_path: Path) -> None:
    store = str(tmp_path / "chats.db")
    done = ran("import", "-", "ana/q3", "--store", store, given={"messages": HELLO, "tools": [TOOL]})
    assert "1 tool definition" in done.stderr and len(ids_in(store)) == 2
    none = str(tmp_path / "none.json")
    assert "cannot be read" in refused(2, "import", none, "ana/b", "--store", store)
    (tmp_path / "empty").mkdir()
    said = refused(2, "import", str(tmp_path / "empty"), "ana/b", "--store", store)
    assert "no file in" in said


def test_export_says_what_is_lost_and_where_it_cannot_write(tmp_path: Path) -> None:
    store = str(tmp_path / "chats.db")
    audio = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    ran("import", "-", "a/b", "--store", store, given=[{"role": "user", "content": [audio]}])
    assert "media_as_text" in ran("export", "a/b", "--store", store, "--format", "anthropic").stderr
    away = str(tmp_path / "none" / "x.json")
    assert "cannot be written" in refused(2, "export", "a/b", "--store", store, "-o", away)
    assert "no format 'auto'" in refused(2, "export", "a/b", "--store", store, "--format", "auto")


def test_progress_is_shown_on_a_terminal(tmp_path: Path) -> None:
    file = written(tmp_path / "h.json", HELLO * 3_000)
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    command = ("import", file, "a/b", "--store", str(tmp_path / "chats.db"))
    process = started(*command, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # that is how a terminal says that nobody writes any more
        while some := os.read(ours, 65_536):
            shown += some
    os.close(ours)
    assert "6,000 items" in process.communicate(timeout=300)[0]
    assert b"%" in shown and b"writing" in shown


def test_into_a_sealed_store(tmp_path: Path) -> None:
    store, key = str(tmp_path / "chats.jsonl"), tmp_path / "key"
    key.write_bytes(KEY)
    file = written(tmp_path / "h.json", HELLO)
    ran("import", file, "a/b", "--store", store, "--key-file", str(key))
    assert "hello" not in Path(store).read_text()
    assert len(conversation_in(store, "a/b", key=KEY)) == 2
    assert "give its key" in refused(2, "import", file, "a/b", "--append", "--store", store)
