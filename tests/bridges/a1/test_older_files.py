"""Files that A1 itself wrote: read as they are, and taken over where they are to be kept up."""

import json
from pathlib import Path
from typing import Any

import pytest

from quire.bridges.a1 import Context, Runtime, get_context
from quire.errors import Damaged
from tests.bridges.a1.talks import call, said

OLD: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": "what is it?",
        "timestamp": "2025-11-12T10:00:00.000001",
        "message_id": "0b5f4f1e6a5c4d0f9c5f3f9a8f2d6e10",
    },
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [call("1")],
        "timestamp": "2025-11-12T10:00:01",
        "message_id": "1b5f4f1e6a5c4d0f9c5f3f9a8f2d6e10",
    },
    {
        "role": "tool",
        "content": "4",
        "name": "search",
        "tool_call_id": "1",
        "timestamp": "2025-11-12T10:00:00.500000",
        "message_id": "2b5f4f1e6a5c4d0f9c5f3f9a8f2d6e10",
        "of_a_later_version": True,
    },
]


def written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, indent=2))
    return path


def ids(context: Context) -> list[str]:
    return [message.message_id for message in context]


def test_a_context_of_a1s_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "old.json", OLD)
    before = path.read_bytes()
    context = Context.from_file(path)
    assert said(context) == ["what is it?", "", "4"] and ids(context) == [m["message_id"] for m in OLD]
    assert [m.timestamp.isoformat() for m in context] == [m["timestamp"] for m in OLD]
    assert path.read_bytes() == before


def test_one_that_is_kept_up_is_taken_over_once(tmp_path: Path) -> None:
    path = written(tmp_path / "old.json", OLD)
    path.chmod(0o640)
    Context.from_file(path, keep_updated=True).assistant("it is 4")
    elements = json.loads(path.read_text())
    assert [element["kind"] for element in elements] == ["message", "tool_call", "tool_result", "message"]
    context = Context.from_file(path, keep_updated=True)
    assert ids(context)[:3] == [m["message_id"] for m in OLD] and len(context) == 4
    assert path.stat().st_mode & 0o777 == 0o640 and [f.name for f in tmp_path.iterdir()] == ["old.json"]


@pytest.mark.parametrize("keep_updated", [False, True])
def test_a_runtime_of_a1s_is_read_with_all_contexts(tmp_path: Path, keep_updated: bool) -> None:
    old = {"cache_dir": ".a1", "contexts": {"main": OLD, "attempt_a": OLD[:1], "empty": []}}
    path = written(tmp_path / "runtime.json", old)
    runtime = Runtime.from_file(path, keep_updated)
    assert set(runtime.CTX) == {"main", "attempt_a"} and len(get_context()) == 3
    assert len(runtime.get_full_context()) == 3, "the same message in two contexts is one"
    get_context().user("more")
    assert len(Runtime.from_file(path).CTX["main"]) == 3 + keep_updated


def test_a_message_that_cannot_be_read_is_named_by_its_place(tmp_path: Path) -> None:
    path = written(tmp_path / "old.json", [OLD[0], {"role": "user", "content": None}])
    with pytest.raises(Damaged, match=r"\$\.main\[1\]"):
        Context.from_file(path, keep_updated=True)
    path = written(path, [{"role": "user"}])
    with pytest.raises(Damaged, match=r"\$\.main\[0\]"):
        Context.from_file(path)


def test_an_empty_file_is_an_empty_context(tmp_path: Path) -> None:
    for text in ("", "[]", "[ ]\n"):
        (path := tmp_path / "empty.json").write_text(text)
        assert len(Context.from_file(path)) == 0
        assert path.read_text() == text
