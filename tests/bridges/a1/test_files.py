"""Contexts and runtimes in files: valid after each message, there again, untouched when only read."""

import json
import multiprocessing
import re
import tempfile
from pathlib import Path

import pytest

from quire.bridges.a1 import Context, Message, Runtime, get_context, get_runtime, new_context, no_context
from quire.bridges.a1.files import ArrayFile
from quire.errors import InvalidValue, StoreDamaged
from quire.session import Session
from tests.bridges.a1.talks import call, said, talk

ENDINGS = ["json", "jsonl", "db"]


def test_after_each_message_the_file_is_an_array_that_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "talk.json"
    context = Context.from_file(path, keep_updated=True)
    assert json.loads(path.read_text()) == []
    for n in range(5):
        context.user(f"{n}")
        elements = json.loads(path.read_text())
        assert len(elements) == n + 1 and elements[-1]["content"] == f"{n}"


def test_an_append_writes_its_own_bytes_alone(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    context = Context.from_file(path, keep_updated=True)
    context.extend([Message(role="user", content="x" * 1000) for _ in range(200)])
    before = path.read_bytes()
    context.user("one more")
    after = path.read_bytes()
    kept = before.rstrip(b"]\n")
    assert after.startswith(kept) and len(after) - len(before) < 200


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_was_kept_is_there_again(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"talk.{ending}"
    context = talk(Context.from_file(str(path), keep_updated=True), 3)
    context.assistant("both", tool_calls=[call("a"), {**call("b"), "index": 1}])
    again = Context.from_file(path)
    assert again.messages == context.messages and len(again) == 13
    assert Context.from_file(path, keep_updated=True).messages == context.messages


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_is_not_kept_up_is_only_read(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"talk.{ending}"
    assert len(Context.from_file(path)) == 0 and not path.exists()
    Context.from_file(path, keep_updated=True).user("kept")
    before = path.read_bytes()
    context = Context.from_file(path)
    context.user("not kept")
    context.clear()
    assert path.read_bytes() == before and said(Context.from_file(path)) == ["kept"]


def test_what_is_only_read_is_copied_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "there is none"))
    for ending in ("json", "jsonl"):
        path = tmp_path / f"talk.{ending}"
        talk(Context.from_file(path, keep_updated=True), 1)
        assert len(Context.from_file(path)) == 4
        path.write_bytes(b"")
        assert len(Context.from_file(path)) == 0


def test_a_damaged_file_is_told_by_its_own_name(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    Context.from_file(path, keep_updated=True).user("kept")
    path.write_bytes(damaged := path.read_bytes() + b"garbage\n")
    with pytest.raises(StoreDamaged, match=re.escape(str(path))):
        Runtime.from_file(path)
    assert path.read_bytes() == damaged


def test_clearing_and_leaving_out_are_kept_too(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    context = talk(Context.from_file(path, keep_updated=True), 2)
    context.messages = context.messages[4:]
    assert said(Context.from_file(path))[0] == "question 1"
    context.clear()
    assert len(Context.from_file(path)) == 0
    context.user("again")
    assert said(Context.from_file(path)) == ["again"]
    assert all("kind" in element for element in json.loads(path.read_text()))


def test_two_that_keep_up_one_file_see_the_same(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    one, two = (Context.from_file(path, keep_updated=True) for _ in range(2))
    one.user("a")
    two.user("b")
    one.clear()
    two.user("c")
    assert said(one) == said(two) == ["c"]


def test_what_is_said_after_another_process_cleared_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    with ArrayFile(path) as mine, ArrayFile(path) as theirs:
        one = Context.over(Session.open(store=mine), "main")
        one.user("a")
        two = Context.over(Session.open(store=theirs), "main")
        two.clear()
        one.user("b")
        two.session.refresh()
        assert said(one) == said(two) == ["b"]


def test_a_relative_path_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        Context.from_file("talk.json", keep_updated=True).user(folder)
    for folder in ("here", "there"):
        assert said(Context.from_file(tmp_path / folder / "talk.json")) == [folder]


def test_a_file_that_is_no_store_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"\.json"):
        Context.from_file(tmp_path / "talk.txt", keep_updated=True)
    for text in ('["a"]', '{"a": 1}', "[{]"):
        (path := tmp_path / "bad.json").write_text(text)
        for keep_updated in (False, True):
            with pytest.raises(StoreDamaged):
                Context.from_file(path, keep_updated)
        assert path.read_text() == text


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_runtime_comes_back_with_all_contexts_and_is_at_work(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"runtime.{ending}"
    with Runtime.from_file(path, keep_updated=True) as first:
        talk(get_context("main"), 1)
        get_context("debug").user("why?")
        new_context("attempt", branch_from=get_context("main")).user("try")
        no_context().user("nowhere")
    second = Runtime.from_file(path)
    assert get_runtime() is second is not first
    assert {name: c.messages for name, c in second.CTX.items()} == {
        name: c.messages for name, c in first.CTX.items()
    }
    assert len(get_context("main")) == 4 and said(get_context("attempt_a"))[-1] == "try"
    assert second.get_full_context() == first.get_full_context() and len(first.get_full_context()) == 6
    assert new_context("attempt").transcript == "attempt_b"


def test_a_runtime_that_is_not_kept_up_is_only_read(tmp_path: Path) -> None:
    path = tmp_path / "runtime.json"
    Runtime.from_file(path, keep_updated=True)
    get_context().user("kept")
    before = path.read_bytes()
    Runtime.from_file(path)
    get_context().user("not kept")
    assert path.read_bytes() == before
    assert Runtime.from_file(tmp_path / "none.json").CTX == {} and not (tmp_path / "none.json").exists()


def test_nothing_else_is_left_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Context.from_file("talk.json", keep_updated=True).user("x")
    Runtime.from_file("runtime.json", keep_updated=True)
    get_context().user("x")
    no_context().user("x")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["runtime.json", "talk.json"]


def _append(path: Path) -> None:
    context = Context.from_file(path, keep_updated=True)
    for n in range(30):
        context.user(f"{n}")


def test_several_processes_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_append, args=(path,)) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(json.loads(path.read_text())) == 60 == len(Context.from_file(path))
