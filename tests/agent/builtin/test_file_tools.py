"""The file operations as tools that a model calls."""

import asyncio
from pathlib import Path
from typing import Any

from quire.agent.builtin import file_tools
from quire.agent.tools import Outcome, Tool, run
from quire.session import Session
from quire.stores import MemoryStore


def by_name(root: Path, **options: Any) -> dict[str, Tool]:
    return {one.name: one for one in file_tools(root, **options)}


def called(tool: Tool, arguments: dict[str, Any], session: Session | None = None) -> Outcome:
    return asyncio.run(run(tool, arguments, session=session))


def test_there_are_nine_and_reading_may_be_run_again(tmp_path: Path) -> None:
    tools = by_name(tmp_path)
    assert list(tools) == [
        *("list_files", "read_file", "find_files", "search_files"),
        *("write_file", "edit_file", "copy_file", "move_file", "remove_file"),
    ]
    again = {name for name, one in tools.items() if one.is_idempotent}
    assert again == {"list_files", "read_file", "find_files", "search_files", "write_file"}


def test_a_model_hears_of_all_but_the_session(tmp_path: Path) -> None:
    for one in file_tools(tmp_path):
        schema = one.definition["parameters"]
        assert "session" not in schema["properties"]
        assert "session" not in one.description
        for name, parameter in schema["properties"].items():
            assert parameter["description"], (one.name, name)


def test_files_are_of_the_conversation_of_the_session(tmp_path: Path) -> None:
    tools = by_name(tmp_path)
    here = Session.open("ana/q3", store=MemoryStore())
    there = Session.open("ben/q3", store=MemoryStore())
    assert (
        called(tools["write_file"], {"path": "a.txt", "content": "one\n"}, here).content
        == "wrote a.txt: 4 bytes"
    )
    assert called(tools["read_file"], {"path": "a.txt"}, here).content == "     1\tone\n[lines 1 to 1 of 1]"
    refused = called(tools["read_file"], {"path": "a.txt"}, there)
    assert refused.is_error
    assert "a.txt does not exist" in str(refused.content)


def test_what_goes_wrong_is_a_result_and_tells_no_place(tmp_path: Path) -> None:
    tools = by_name(tmp_path, visibility="all")
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("read_file", {"path": "../../etc/passwd"}),
        ("read_file", {"path": "/etc/passwd"}),
        ("read_file", {"path": "none.txt"}),
        ("read_file", {"path": "a", "first": "x"}),
        ("read_file", {}),
        ("write_file", {"path": "", "content": "x"}),
        ("search_files", {"expression": "("}),
        ("find_files", {"pattern": "/*"}),
        ("remove_file", {"path": "."}),
    ]
    for name, arguments in wrong:
        outcome = called(tools[name], arguments)
        assert outcome.is_error, name
        assert str(tmp_path) not in str(outcome.content)


def test_a_session_is_needed_for_its_files(tmp_path: Path) -> None:
    outcome = called(by_name(tmp_path)["list_files"], {})
    assert outcome.is_error
    assert "need a session" in str(outcome.content)
