"""Conversations written for other programs: what is read back was written, and the report is exact."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.integrations.logs import Target, Written, read_log, write_conversation
from quire.items import (
    Item,
    Message,
    Summary,
    ToolResult,
    kind_of,
)
from quire.state import Transcript, is_edit
from quire.testing.histories import OPS, Author, Op
from tests.integrations.test_logs import WITH_WRITER, read, row

LOGS = ("claude-code", "codex")


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


@pytest.mark.laws
@given(st.sampled_from(WITH_WRITER), OPS)
def test_what_a_format_carries_comes_back_again_and_again(format: str, ops: list[Op]) -> None:
    items = history(ops)
    if not has_words(items):
        return
    once = read_back(write(items, format), format)
    assert rows(read_back(write(once, format), format), format) == rows(once, format)


@pytest.mark.laws
@given(st.sampled_from([*WITH_WRITER, "markdown"]), OPS)
def test_everything_shown_is_written_or_reported(format: str, ops: list[Op]) -> None:
    items = history(ops)
    view = list(Transcript(items).view)
    if not has_words(items):
        return
    written = write(items, format)
    text, reported = json.dumps(written.content), {one.item_id for one in written.downgrades}
    for item in view:
        if item.id not in reported:
            said = item.text if isinstance(item, Message | ToolResult | Summary) else ""
            assert all(json.dumps(part)[1:-1] in text for part in said.splitlines()), kind_of(item)
