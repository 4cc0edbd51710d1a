"""`quire export`, `import`, `copy` and the check of a store."""

import json
from pathlib import Path
from typing import Any

import pytest

from quire.models import Scripted
from quire.providers import PROVIDERS
from quire.session import Session
from quire.stores import Store, Stored
from tests.cli.command_line import (
    ENDINGS,
    KEY,
    conversation,
    lines,
    ran,
    ran_json,
    refused,
    run,
    seeded,
    view_of,
    written,
)

HELLO = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("wire", PROVIDERS)
def test_every_wire_comes_in_and_goes_out(wire: str, ending: str, tmp_path: Path) -> None:
    store, there, back = (str(tmp_path / name) for name in (f"chats.{ending}", "there.json", "back.json"))
    ran("convert", "-", "--to", wire, "-o", there, given=conversation())
    for address, options in (("ana/q3", ("--trust",)), ("ana/named", ("--trust", "--format", wire))):
        done = ran("import", there, address, "--store", store, *options)
        assert done.stdout == f"{address}: 82 items from {there}, in the format {wire}\n"
        ran("export", address, "--store", store, "--format", wire, "-o", back)
        assert json.loads(Path(back).read_text()) == json.loads(Path(there).read_text())


def test_what_a_history_calls_its_user_is_trusted_only_if_the_importer_says_so(tmp_path: Path) -> None:
    store = str(tmp_path / "chats.db")
    given = [{"role": "system", "content": "Obey."}, {"role": "user", "content": "Hello."}]
    for address, options in (("ana/other", ()), ("ana/own", ("--trust",))):
        ran("import", "-", address, "--store", store, *options, given=given)
    with Store.open(store) as opened:
        views = [Session.open(address, store=opened).view() for address in ("ana/other", "ana/own")]
        assert [[item.origin for item in view] for view in views] == [["external"] * 2, [None] * 2]
    items = ran("export", "ana/own", "--store", store).stdout  # anybody can write our own format
    ran("import", "-", "ana/items", "--store", store, given=json.loads(items))
    with Store.open(store) as opened:
        assert {item.origin for item in Session.open("ana/items", store=opened).view()} == {"external"}
    assert "import it with --trust" in ran("import", "-", "ana/more", "--store", store, given=given).stderr
    framed = ran("export", "ana/other", "--store", store, "--format", "openai").stdout
    assert framed.count('<message origin=\\"external\\">') == 2 and '"system"' not in framed


def test_items_keep_their_ids_and_edits_and_a_fork_its_past(tmp_path: Path) -> None:
    store = seeded(tmp_path / "chats.db")
    text = ran("export", "ana/q3", "--store", store).stdout
    for layout, address in ((text, "bob/array"), (lines(json.loads(text)), "bob/lines")):
        ran("import", written(tmp_path / "items", layout), address, "--trust", "--store", store)
        assert view_of(store, address) == view_of(store)
        assert ran("export", address, "--store", store).stdout == text
    with Store.open(store) as opened:
        Session.open("ana/q3", store=opened).fork("kid").user("more")
    items = json.loads(ran("export", "ana/q3%2Fkid", "--store", store).stdout)
    assert len(items) == 6 and items[-1]["content"] == "more"


def test_import_of_a_broken_history_says_what_was_broken_and_what_is_repaired(tmp_path: Path) -> None:
    asked = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
    broken = [*HELLO, {"role": "assistant", "tool_calls": [asked]}, {"role": "user", "content": "well?"}]
    store = str(tmp_path / "chats.db")
    done = ran("import", "-", "ana/old", "--store", store, given=broken)
    fault = "messages[2].tool_calls[0].id: call 'c1' has no result (unanswered_call)"
    assert f"-: broken: {fault}\n" in done.stderr
    repair = "messages[2], assistant, call 'c1' of pay: the call has no result"
    assert f"-: repaired in each request: {repair} (result_added)\n" in done.stderr
    (row,) = ran_json("import", "-", "ana/again", "--store", store, given=broken)
    assert [fault["rule"] for fault in row["faults"]] == ["unanswered_call"] and row["repairs"] == [repair]
    assert ran("import", "-", "ana/whole", "--trust", "--store", store, given=HELLO).stderr == ""


def test_an_existing_conversation_is_added_to_only_with_append(tmp_path: Path) -> None:
    store, file = str(tmp_path / "chats.db"), written(tmp_path / "h.json", HELLO)
    ask = ("import", file, "ana/q3", "--store", store)
    ran(*ask)
    assert "there is a conversation ana/q3 already" in refused(1, *ask)
    ran(*ask, "--append")
    assert [item.content for item in view_of(store)] == ["hi", "hello"] * 2


def test_several_histories_become_several_conversations_or_none(tmp_path: Path) -> None:
    store, many = str(tmp_path / "chats.db"), tmp_path / "many.jsonl"
    written(many, lines([HELLO, {"messages": HELLO}]))
    done = ran_json("import", str(many), "ana/", "--store", store)
    assert [one["address"] for one in done] == ["ana/1", "ana/2"]
    ran("import", str(many), "ana/old", "--store", store)
    listed = sorted(row["conversation"] for row in ran_json("ls", "ana", "--store", store))
    assert listed == ["1", "2", "old-1", "old-2"]
    bad = written(many, lines([HELLO, [*HELLO, {"role": "user", "content": 5}]]))
    reported = refused(2, "import", bad, "new/", "--store", str(tmp_path / "new.db"))
    assert f"{bad}, line 2" in reported and "messages[2]" in reported and not (tmp_path / "new.db").exists()


def test_export_reports_losses_and_its_file_is_the_owners_alone(tmp_path: Path) -> None:
    store, out = str(tmp_path / "chats.db"), tmp_path / "out.json"
    audio = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    ran("import", "-", "a/b", "--store", store, given=[{"role": "user", "content": [audio]}])
    assert "media_as_text" in ran("export", "a/b", "--store", store, "--format", "anthropic").stderr
    away = str(tmp_path / "none" / "x.json")
    assert "cannot be written" in refused(2, "export", "a/b", "--store", store, "-o", away)
    ran("export", "a/b", "--store", store, "-o", str(out))
    assert out.stat().st_mode & 0o777 == 0o600
    out.chmod(0o640)
    ran("export", "a/b", "--store", store, "-o", str(out))
    assert out.stat().st_mode & 0o777 == 0o640


def test_a_session_moves_from_program_to_program(tmp_path: Path) -> None:
    store, log = str(tmp_path / "chats.db"), Path(__file__).parents[1] / "integrations/logs/claude-code.jsonl"
    ran("import", str(log), "ana/", "--trust", "--store", store)
    places = {"codex": ".codex/sessions/2026/03/04/rollout-", "claude-code": ".claude/projects/"}
    for format, place in places.items():
        moved = tmp_path / f"{format}.jsonl"
        done = ran("export", "ana/3", "--store", store, "--format", format, "-o", str(moved))
        assert (place in done.stderr and "left_out" in done.stderr) or "state_foreign" in done.stderr
        (row,) = ran_json("import", str(moved), f"ana/{format}", "--trust", "--store", store)
        assert row["format"] == format
        shown = [getattr(item, "text", "") for item in view_of(store, f"ana/{format}")]
        assert shown == [getattr(item, "text", "") for item in view_of(store, "ana/3")]
    page = ran("export", "ana/3", "--store", store, "--format", "markdown", "--log").stdout
    assert page.startswith("# ana/3\n\n## User\n") and "Which lamps cost more than 40?" in page
    assert "Which lamps" not in ran("export", "ana/3", "--store", store, "--format", "ai-sdk").stdout
    assert "no format 'pdf' is written" in refused(2, "export", "ana/3", "--store", store, "--format", "pdf")


def test_a_log_is_continued_in_a_chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, file = str(tmp_path / "chats.db"), written(tmp_path / "lamps.json", HELLO)
    for said, replies in (("And now?", ["Now too."]), ("Once more.", ["Again."])):
        model = Scripted(replies)
        monkeypatch.setattr("quire.cli.continued.model_named", {None: model}.get)
        done = ran("continue", file, "--store", store, given=f"{said}\n")
        assert done.stdout == f"{replies[0]}\n"
    contents = [message["content"] for message in model.requests[0]["messages"]]
    assert contents[1:] == ["hi", "hello", "And now?", "Now too.", "Once more."]
    items = written(tmp_path / "items.json", ran("export", "me/lamps", "--store", store).stdout)
    monkeypatch.setattr("quire.cli.continued.model_named", {None: Scripted(["Fine."])}.get)
    done = ran("continue", items, "--format", "items", "--store", store, given="How are you?\n")
    assert done.stdout == "Fine.\n"
    written(tmp_path / "lamps.json", [{"role": "user", "content": "Other."}])
    assert "name another address with --as" in refused(1, "continue", file, "--store", store)


def contents(url: str | Path) -> dict[str, list[Stored]]:
    with Store.open(url) as store:
        return {str(place): store.read(place) for place in store.places()}


def two(path: Path) -> str:
    seeded(path, "/a%2Fb")
    return seeded(path, "ana/q3")


@pytest.mark.parametrize("source", ENDINGS)
@pytest.mark.parametrize("target", ENDINGS)
def test_every_entry_is_copied_byte_for_byte(source: str, target: str, tmp_path: Path) -> None:
    one, other = two(tmp_path / f"one.{source}"), str(tmp_path / f"other.{target}")
    before = contents(one)
    assert ran("copy", one, other).stdout == "2 conversations copied, 16 entries, all verified\n"
    assert contents(other) == contents(one) == before
    assert ran_json("copy", one, other) == {"copied": 0, "entries": 0, "there": 2}


def test_nothing_is_overwritten_or_copied_into_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two(tmp_path / "one.db"), seeded(tmp_path / "other.jsonl")
    before = contents(other)
    assert "other conversations of the same names: ana/q3\n" in refused(1, "copy", one, other)
    assert contents(other) == before
    monkeypatch.chdir(tmp_path)
    for same in (one, "one.db", "sqlite:///one.db", f"{tmp_path}/../{tmp_path.name}/one.db"):
        assert "into itself" in refused(2, "copy", one, same)


def test_a_sealed_store_stays_sealed_or_changes_its_key(tmp_path: Path) -> None:
    one = seeded(tmp_path / "one.db", key=KEY)
    (tmp_path / "key").write_bytes(KEY)
    (tmp_path / "other").write_bytes(KEY[::-1])
    ran("copy", one, str(tmp_path / "same.db"))
    assert view_of(tmp_path / "same.db", key=KEY) == view_of(one, key=KEY)
    opened, sealed = str(tmp_path / "open.jsonl"), str(tmp_path / "new.db")
    ran("copy", one, opened, "--key-file", str(tmp_path / "key"))
    assert view_of(opened) == view_of(one, key=KEY)
    ran("copy", opened, sealed, "--target-key-file", str(tmp_path / "other"))
    assert view_of(sealed, key=KEY[::-1]) == view_of(opened)


def test_a_store_is_checked_and_salvaged(tmp_path: Path) -> None:
    one, other = two(tmp_path / "one.jsonl"), str(tmp_path / "other.db")
    before = contents(one)
    assert ran("check", one).stdout == "the store is whole\n"
    rows: list[Any] = (tmp_path / "one.jsonl").read_bytes().splitlines(keepends=True)
    rows[5] = rows[5].replace(b'"kind"', b'"find"', 1)
    (tmp_path / "one.jsonl").write_bytes(b"".join(rows))
    done = run("check", one, "--salvage", other)
    assert done.exit_code == 1 and "is damaged at byte" in done.stdout
    assert "15 entries of 2 conversations written, 1 lost" in done.stdout
    kept = {stored for some in contents(other).values() for stored in some if stored.stream != ".lost"}
    assert kept < {stored for some in before.values() for stored in some} and len(kept) == 15
    assert ran_json("check", other) == {"damage": [], "salvaged": None}
    assert "there is no store at" in refused(2, "check", str(tmp_path / "none.db"))


@pytest.mark.parametrize(("log", "tokens"), [("claude-code.jsonl", 6 * 16_217), ("requests.jsonl", 130)])
def test_what_the_answers_of_a_log_used_is_spent(tmp_path: Path, log: str, tokens: int) -> None:
    store, path = str(tmp_path / "chats.db"), Path(__file__).parent.parent / "integrations" / "logs" / log
    ran("import", str(path), "ana/", "--store", store)
    rows = ran_json("ls", "--store", store)
    assert sum(row["tokens"] for row in rows) == tokens and all(row["cost"] > 0 for row in rows)
    assert all(row["at"] < 1_790_000_000 for row in rows)  # the times of the log, not of the import
