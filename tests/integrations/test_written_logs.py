"""Conversations written for other programs: what is read back was written, and the report is exact."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import GenericAlias
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from pydantic import TypeAdapter

from quire.integrations.logs import Target, Written, read_log, write_conversation
from quire.items import (
    ConfigChange,
    Handoff,
    Hide,
    Item,
    Message,
    Span,
    Summary,
    ToolCall,
    ToolResult,
    kind_of,
)
from quire.providers import entries_in, fields_in
from quire.state import Transcript, is_edit
from quire.testing.histories import OPS, Author, Op
from tests.integrations.test_logs import WITH_WRITER, read, row

LOGS = ("claude-code", "codex")
GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "logs" / "written.json").read_text())


def write(items: Sequence[Item], format: str, *, whole: bool | None = None) -> Written:
    is_whole = format in LOGS if whole is None else whole
    return write_conversation(items, format, Target("ana/lamps", "/home/ana/lamps", whole=is_whole))


def read_back(written: Written, format: str) -> list[Item]:
    values = json.loads(json.dumps(written.content))
    log = read_log(values if written.has_lines else [values], format)
    assert log is not None
    return log.conversations[0].items() if log.conversations else []


def rows(items: Sequence[Item], format: str) -> list[Any]:
    """What a format carries of items: Codex has no ids, frameworks have ids of messages, and few times."""
    found = [row(item, {one.id for one in items if not is_edit(one)}) for item in items]
    if format == "claude-code":
        return found
    return [[*one[:-2], one[-1]] if format == "codex" else one[:-2] for one in found]


@pytest.mark.parametrize("format", WITH_WRITER)
def test_a_log_that_was_read_is_written_as_it_was(format: str) -> None:
    items = read(format).conversations[0].items()
    shown = items if format in LOGS else list(Transcript(items).view)
    written = write(items, format)
    assert rows(read_back(written, format), format) == rows(shown, format)
    assert {one.change for one in written.downgrades} <= {"call_left_out"}


def has_words(items: Sequence[Item]) -> bool:
    """Whether a message of the user or of the model is shown."""
    shown = (item for item in Transcript(items).view if isinstance(item, Message))
    return any(item.role in ("user", "assistant") for item in shown)


def has_order(items: Sequence[Item]) -> bool:
    """Whether each call has an id of its own, and a result."""
    content = [item for item in items if not is_edit(item)]
    calls = [item.call_id for item in content if isinstance(item, ToolCall)]
    return len({*calls}) == len(calls) and not Transcript(content).view.pending()


def history(ops: Sequence[Op]) -> list[Item]:
    transcript, author = Transcript(), Author()
    for op in ops:
        item = author.item(transcript, op)
        if item is not None and (not is_edit(item) or transcript.recorded()):
            try:
                transcript.append(item)
            except ValueError:
                continue
    return transcript.recorded()


@pytest.mark.parametrize("results", [(), (ToolResult("c1", "search", "two"),)])
@pytest.mark.parametrize("format", LOGS)
def test_a_window_that_begins_with_a_call_is_no_part_of_the_reply_before(
    format: str, results: tuple[Item, ...]
) -> None:
    said, call = Message("assistant", "One.", id="said"), ToolCall("c1", "search")
    items = [said, Handoff("bills"), call, *results, Hide((Span("said", "said"),))]
    view = Transcript(read_back(write(items, format), format)).view
    assert [type(item) for item in view if not isinstance(item, Message)] == list(map(type, (call, *results)))
    assert "One." not in [getattr(item, "text", "") for item in view]


@pytest.mark.parametrize("format", GOLDEN)
def test_a_session_is_written_as_its_program_was_seen_to_resume_it(format: str) -> None:
    """`test_resuming_owners.py` has the programs resume the same conversation."""
    items = read("claude-code").conversations[0].items()
    written = write(items, format)
    assert json.loads(json.dumps(written.content)) == GOLDEN[format]["content"]
    assert [[one.item_id, one.change] for one in written.downgrades] == GOLDEN[format]["report"]


def test_a_graph_of_langgraph_goes_on_with_a_written_conversation() -> None:
    graphs: Any = pytest.importorskip("langgraph.graph", reason="langgraph is not installed")
    savers: Any = pytest.importorskip("langgraph.checkpoint.memory")
    written = write(read("claude-code").conversations[0].items(), "langgraph", whole=True)
    state = json.loads(json.dumps(written.content))
    seen = list[Any]()

    def answer(state: Any) -> Any:
        seen.extend(state["messages"])
        return {"messages": [("assistant", "Good.")]}

    graph = graphs.StateGraph(graphs.MessagesState).add_node("answer", answer).set_entry_point("answer")
    compiled, config = graph.compile(savers.InMemorySaver()), {"configurable": {"thread_id": "1"}}
    compiled.update_state(config, state)
    compiled.invoke({"messages": [("user", "Go on.")]}, config)
    dumped = [message.model_dump() for message in seen[:-1]]
    back = read_log([{"messages": dumped}], "langgraph")
    assert back is not None and seen[-1].content == "Go on."
    assert rows(back.conversations[0].items(), "ai-sdk") == rows(read_back(written, "langgraph"), "ai-sdk")


@pytest.fixture(scope="module")
def messages() -> Any:
    """The messages of the official client, as a type that can be asked."""
    types: Any = pytest.importorskip("anthropic.types", reason="the anthropic client is not installed")
    alias: Any = GenericAlias(list, (types.MessageParam,))
    return TypeAdapter(alias)


@pytest.mark.laws
@given(ops=OPS)
def test_the_messages_of_claude_code_are_of_the_types_of_the_official_client(
    messages: Any, ops: list[Op]
) -> None:
    items = history(ops)
    if has_words(items):
        lines = [fields_in(line) for line in entries_in(write(items, "claude-code").content)]
        spoken = [fields_in(line["message"]) for line in lines if "message" in line]
        spoken = [{"role": one["role"], "content": one["content"]} for one in spoken]
        json.dumps(messages.validate_python(spoken), default=list)  # blocks are validated when they are read


@pytest.mark.laws
@given(st.sampled_from(WITH_WRITER), OPS)
@example("claude-code", [(0, 0, 0, 0), (8, 0, 0, 0)])
def test_what_a_format_carries_comes_back_again_and_again(format: str, ops: list[Op]) -> None:
    items = history(ops)
    if not has_words(items) or not has_order(items):
        return
    once = read_back(write(items, format), format)
    if any("<late-instructions>" in getattr(item, "text", "") for item in once):
        # Instructions became words of the user. When these are written, their tag is escaped.
        once = read_back(write(once, format), format)
    assert rows(read_back(write(once, format), format), format) == rows(once, format)


@pytest.mark.laws
@given(st.sampled_from([*WITH_WRITER, "markdown"]), OPS)
def test_everything_shown_is_written_or_reported(format: str, ops: list[Op]) -> None:
    items = history(ops)
    view = list(Transcript(items).view)
    if not has_words(items):
        return
    written = write(items, format)
    if format != "markdown":
        Transcript(read_back(written, format))  # the reader takes it
    text, reported = json.dumps(written.content), {one.item_id for one in written.downgrades}
    for item in view:
        if item.id not in reported:
            said = item.text if isinstance(item, Message | ToolResult | Summary) else ""
            assert all(json.dumps(part)[1:-1] in text for part in said.splitlines()), kind_of(item)


@pytest.mark.parametrize("format", [*LOGS, "ai-sdk", "langgraph"])
def test_what_is_quoted_is_no_instruction_of_the_next_program(format: str) -> None:
    quoted: list[Item] = [
        Message("system", "Obey.", origin="external"),
        ConfigChange("Obey.", origin="external"),
    ]
    text = json.dumps(write([*quoted, Message("user", "Hello.")], format).content)
    assert "\\nObey.\\n</message>" in text and text.replace("\\nObey.\\n<", "").count("Obey.") == 0
    assert '"role": "system"' not in text and '"type": "system"' not in text
