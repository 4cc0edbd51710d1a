"""Logs of other programs: each format is found, and becomes conversations with ids, times and edits.

`logs/` holds a log of each format; `logs/expected.json` is what is read from it.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.errors import QuireError
from quire.integrations.logs import FORMATS, Conversation, Log, read_log
from quire.items import Hide, Item, Message, Reasoning, ToolCall, ToolResult, Undo, kind_of, use_clock
from quire.providers import check, entries_in, fields_in, provider_for
from quire.state import Transcript, groups

LOGS = {
    path.stem: path for path in sorted((Path(__file__).parent / "logs").iterdir()) if path.stem in FORMATS
}
EXPECTED: dict[str, Any] = json.loads((Path(__file__).parent / "logs" / "expected.json").read_text())
WITH_WRITER = [name for name, one in FORMATS.items() if one.write is not None]


def values_in(name: str) -> list[Any]:
    """The lines of a log, or the one value of a file of JSON."""
    text = LOGS[name].read_text()
    return [json.loads(line) for line in (text.splitlines() if LOGS[name].suffix == ".jsonl" else [text])]


def read(name: str) -> Log:
    log = read_log(values_in(name))
    assert log is not None
    return log


def row(item: Item, own_ids: set[str]) -> list[Any]:
    """An item in short: what it is, what it says, its id if the log has one, and its time."""
    match item:
        case Message():
            said: list[Any] = [item.role, item.text]
        case ToolCall():
            said = [item.call_id, item.name, item.arguments]
        case ToolResult():
            said = [item.call_id, item.name, item.text, item.is_error]
        case Reasoning():
            said = [item.text, item.state is not None and item.state.model]
        case _:
            said = []
    return [kind_of(item), *said, item.id if item.id in own_ids else None, round(item.created_at, 3)]


def outcome(name: str) -> Any:
    with use_clock(lambda: 1772614800.0):  # of items without a time
        return _outcome(read(name))


def _outcome(log: Log) -> Any:
    found = list[Any]()
    for one in log.conversations:
        own_ids = {entry.id for window in one.windows for entry in window.entries if entry.id is not None}
        faults = [str(fault) for fault in check(one.payload, one.wire)]
        items = [row(item, own_ids) for item in one.items()]
        found.append(
            {"wire": one.wire, "line": one.number, "head": one.head, "faults": faults, "items": items}
        )
    return {"log": str(log), "conversations": found}


def test_there_is_a_log_of_every_format() -> None:
    assert set(LOGS) == set(FORMATS) == set(EXPECTED)


@pytest.mark.parametrize("name", FORMATS)
def test_a_log_is_recognised_and_read(name: str) -> None:
    assert outcome(name) == EXPECTED[name]
    assert [other for other in FORMATS if other != name and read_log(values_in(name), other)] == []


@pytest.mark.parametrize("name", FORMATS)
def test_every_conversation_can_go_on(name: str) -> None:
    for one in read(name).conversations:
        view = Transcript(one.items()).view
        rendered = provider_for(one.wire).render(list(view), model=one.head.get("model"))
        assert check(rendered.payload, one.wire) == []


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_a_compaction_hides_what_it_replaced_and_can_be_undone(name: str) -> None:
    items = read(name).conversations[0].items()
    transcript = Transcript(items)
    (edit,) = (item for item in items if isinstance(item, Hide))
    shown = [item for item in transcript.view if not (isinstance(item, Message) and item.role == "system")]
    assert shown[0].created_at >= edit.created_at  # the replacement comes first
    transcript.append(Undo(edit.id))
    assert len(transcript.view) == len(items) - 1


def test_a_sub_agent_in_a_file_of_its_own_is_a_conversation() -> None:
    lines = [line for line in values_in("claude-code") if line.get("isSidechain")]
    log = read_log([{**line, "agentId": "a1"} for line in lines])
    assert log is not None and [len(one.items()) for one in log.conversations] == [2]


def test_the_lines_of_one_answer_of_claude_code_are_one_group() -> None:
    head, ids = {"id": "msg_1", "model": "claude-opus-4-5"}, ("c0", "c1")
    first, second = ({"type": "thinking", "thinking": text, "signature": "sig"} for text in ("Hm.", "So."))
    calls: list[Any] = [{"type": "tool_use", "id": one, "name": "Read", "input": {}} for one in ids]
    results = [{"type": "tool_result", "tool_use_id": one, "content": "x"} for one in ids]
    answer: list[Any] = [first, {"type": "text", "text": "I look."}, second, *calls]
    said: list[tuple[str, Any]] = [("user", "Go."), *(("assistant", [block]) for block in answer)]
    said += [*(("user", [result]) for result in results), ("user", "And?")]
    lines = [
        {
            "type": role,
            "uuid": f"u-{number}",
            "parentUuid": f"u-{number - 1}" if number else None,
            "message": {"role": role, "content": content, **(head if role == "assistant" else {})},
        }
        for number, (role, content) in enumerate(said)
    ]
    log = read_log(lines)
    assert log is not None
    (one,) = log.conversations
    items = one.items(head["model"])
    assert [len(group.items) for group in groups(items)] == [1, len(answer) + len(results), 1]
    rendered = provider_for("anthropic").render(items, model=head["model"])
    assert rendered.payload["messages"][1]["content"] == answer
    assert {one.change for one in rendered.downgrades} <= {"tools_added"}


def test_a_request_that_is_asked_again_after_an_error_is_one_conversation() -> None:
    first, second, *_ = values_in("requests")
    failed = {**first, "response": {"error": {"message": "overloaded"}}}
    log = read_log([failed, first, second])
    assert log is not None
    (one,) = log.conversations
    assert [kind_of(item) for item in one.items()] == [
        *("message", "message", "tool_call", "tool_result", "message")
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_the_command_line_takes_a_log_and_says_what_it_is(name: str, tmp_path: Path) -> None:
    pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")
    from tests.cli.command_line import ran, ran_json, run, view_of

    file, store, log = str(LOGS[name]), str(tmp_path / "chats.db"), read(name)
    checked = run("check", file, "--json")
    faults = [fault for one in log.conversations for fault in check(one.payload, one.wire)]
    assert [fault["rule"] for fault in json.loads(checked.stdout)] == [fault.rule for fault in faults]
    for options in (
        ("fit", file, "--budget", "9000"),
        ("simulate", file, "--budget", "9000", "--model", "gpt-5.6"),
    ):
        assert f"{file}: {log}" in ran(*options, "--from", name).stderr
    assert f"{file}: {log}" in checked.stderr
    rows = ran_json("import", file, "ana/log", "--store", store)
    assert {row["format"] for row in rows} == {name}
    for row, one in zip(rows, log.conversations, strict=True):
        shown = [kind_of(item) for item in view_of(store, row["address"])]
        assert shown == [kind_of(item) for item in Transcript(one.items()).view]
    fixed = json.loads(run("check", file, "--fix", "-o", str(tmp_path / "f.json"), "--json").stdout)
    assert len(fixed) == len(faults) and ran("check", str(tmp_path / "f.json")).exit_code == 0


def test_converting_a_compacted_log_writes_what_was_sent_after_it() -> None:
    pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")
    from tests.cli.command_line import ran

    written = json.loads(ran("convert", str(LOGS["codex"]), "--to", "openai").stdout)["messages"]
    assert [message["role"] for message in written] == ["developer", "user", "user", "assistant"]


ANY: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=3)
    | st.sampled_from(["user", "tool", "u-01"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "role", "content", "parts", "id", "message"]), inner, max_size=3
        )
    ),
    max_leaves=5,
)


def changed(value: Any, choose: st.DataObject) -> Any:
    """A value with something else in one place."""
    keys: list[Any] = [*range(len(entries_in(value))), *fields_in(value)]
    if not keys or choose.draw(st.integers(0, 5)) == 0:
        return choose.draw(ANY)
    key = choose.draw(st.sampled_from(keys))
    copy: Any = fields_in(value).copy() or entries_in(value).copy()
    copy[key] = changed(value[key], choose)
    return copy


@pytest.mark.laws
@given(st.sampled_from(list(FORMATS)), st.data())
def test_a_damaged_log_is_read_or_refused_with_a_sentence(name: str, choose: st.DataObject) -> None:
    values = values_in(name)
    number = choose.draw(st.integers(0, len(values) - 1))
    values[number] = changed(values[number], choose)
    try:
        log = read_log(values)
        found: list[Conversation] = log.conversations if log is not None else []
        for one in found:
            Transcript(one.items())
            check(one.payload, one.wire)
    except QuireError:
        pass
