"""What a tool gives: words, media, notes, and more than a model can read."""

import asyncio
import datetime
import enum
import json
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import msgspec
import pydantic
import pytest
from hypothesis import given, strategies as st

from quire.agent.tools import Outcome, output as gathering_module, run, tool
from quire.items import MAX_TEXT, Image, Note, ToolResult
from quire.session import Session
from quire.stores import MemoryStore
from tests.agent.tools.running import ran


@dataclass
class Point:
    x: int
    when: datetime.date


class Struct(msgspec.Struct):
    y: int


class Model(pydantic.BaseModel):
    z: float


class Word(str, enum.Enum):  # noqa: UP042  # people have these
    A = "a"


class Plain:
    def __str__(self) -> str:
        return "an object of ours"


PICTURE = Image(url="https://example.com/a.png")
DAY = datetime.date(2026, 5, 1)


def giving(value: Any, **options: Any) -> Outcome:
    async def give() -> Any:
        return value

    def give_too() -> Any:
        return value

    awaited, plain = ran(tool(give, **options)), ran(tool(give_too, **options))
    assert json.dumps(str(awaited.content))[:200] == json.dumps(str(plain.content))[:200] or awaited.notes
    return awaited


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("words", "words"),
        ("", ""),
        (None, "Done."),
        (3, "3"),
        (True, "true"),
        (math.nan, "NaN"),
        ({"a": [1, None]}, '{"a": [1, null]}'),
        ({1: "x"}, '{"1": "x"}'),
        (["a", "b"], '["a", "b"]'),
        ([], "[]"),
        (Point(1, DAY), '{"x": 1, "when": "2026-05-01"}'),
        ([Struct(2), Model(z=1.5), Plain()], '[{"y": 2}, {"z": 1.5}, "an object of ours"]'),
        (Model(z=2), '{"z": 2.0}'),
        (Word.A, '"a"'),
        (Plain(), "an object of ours"),
        (b"bytes", "bytes"),
        ("half \ud800", "half \ufffd"),
        ("żółw", "żółw"),
        (PICTURE, (PICTURE,)),
        (("see", PICTURE), ("see", PICTURE)),
        ([PICTURE, "and", "this"], (PICTURE, "and\nthis")),
    ],
)
def test_values_become_what_a_model_reads(value: Any, content: Any) -> None:
    outcome = giving(value)
    assert outcome.content == content and not outcome.is_error and outcome.notes == ()


def test_values_that_hold_themselves_become_text() -> None:
    holds: list[Any] = [1]
    holds.append(holds)
    assert giving(holds).content == "[1, [...]]"


@given(st.recursive(st.none() | st.integers() | st.text() | st.floats(), st.lists, max_leaves=9))
def test_any_value_gives_a_result_that_can_be_kept(value: Any) -> None:
    async def give() -> Any:
        return value

    result = ToolResult("c", "give", ran(give).content)
    result.text.encode()


def test_notes_that_are_returned_are_left_to_the_caller() -> None:
    keyed, loose = Note("a", key="k", description="about a"), Note("b", description="about b")
    outcome = giving([keyed, loose])
    assert outcome.notes == (keyed, loose) and outcome.routed == ()
    assert outcome.content == "[kept as k: about a]\n[noted: about b]"
    assert (
        giving(keyed).notes == (keyed,)
        and giving((keyed, "and words")).content == "[kept as k: about a]\nand words"
    )


def test_notes_that_are_yielded_are_kept_at_once() -> None:
    session = Session.open("ana/q3", store=MemoryStore())

    async def steps(session: Session) -> AsyncIterator[Any]:
        yield Note("a", key="k")
        assert "k" in session.pool
        yield "words"
        yield [Note("b")]
        assert [item.content for item in session.view() if isinstance(item, Note)] == ["b"]

    outcome = ran(steps, session=session)
    assert not outcome.is_error, outcome.content
    assert outcome.notes == () and [note.content for note in outcome.routed] == ["a", "b"]
    assert outcome.content == "[kept as k]\nwords\n[noted]"


def test_a_note_that_cannot_be_kept_is_told(tmp_path: Any) -> None:
    session = Session.open("ana/q3", store=f"sqlite:///{tmp_path}/x.db")

    async def steps() -> AsyncIterator[Note]:
        yield Note(object(), key="k")

    outcome = ran(steps, session=session)
    assert outcome.is_error and "a note was not kept: Unencodable" in str(outcome.content)


@given(st.text(min_size=1, max_size=300), st.integers(1, 100))
def test_nothing_of_long_output_is_lost(text: str, most: int) -> None:
    async def give() -> str:
        return text

    outcome = ran(tool(give, max_output=most))
    if len(text) <= most:
        assert outcome.content == text and not outcome.notes
        return
    (note,) = outcome.notes
    content = str(outcome.content)
    assert note.content == text and note.key and note.key in content
    assert content.startswith(text[: most - most // 3]) and content.endswith(text[len(text) - most // 3 :])


def test_fifty_megabytes_of_output_are_kept_in_notes() -> None:
    large = "0123456789" * 5_242_880
    outcome = giving(large)
    assert len(str(outcome.content)) < 51_000 and not outcome.is_error
    assert len(outcome.notes) == 2 and all(len(note.content) <= MAX_TEXT for note in outcome.notes)
    assert "".join(note.content for note in outcome.notes) == large
    keys = [str(note.key) for note in outcome.notes]
    assert keys[1] == f"{keys[0]}-2" and all(key in str(outcome.content) for key in keys)
    session = Session.open("ana/q3", store=MemoryStore())
    for note in outcome.notes:
        session.pool.keep(note)
    session.append(ToolResult("c", "t", outcome.content))


def test_bytes_that_are_no_text_are_kept() -> None:
    outcome = giving(b"\xff\x00" * 10)
    assert outcome.notes[0].content == b"\xff\x00" * 10
    assert outcome.content == f"[20 bytes that are no text, kept as {outcome.notes[0].key}]"


def test_long_output_beside_media_and_errors() -> None:
    async def steps() -> AsyncIterator[Any]:
        yield "x" * 100
        yield PICTURE
        raise ValueError("y" * 5_000)

    outcome = ran(tool(steps, max_output=30))
    assert isinstance(outcome.content, tuple)
    text, picture, fault = outcome.content
    assert picture == PICTURE and str(text).startswith("x" * 20) and str(fault).startswith("ValueError: yyy")
    assert sorted(len(note.content) for note in outcome.notes) == [100, 5_012]


def test_a_generator_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering_module, "MAX_GATHERED", 1_000_000)
    closed: list[bool] = []

    async def endless() -> AsyncIterator[str]:
        try:
            while True:
                yield "x" * 1000
        finally:
            closed.append(True)

    outcome = ran(endless)
    assert outcome.is_error and "was stopped there" in str(outcome.content) and closed == [True]
    assert sum(len(note.content) for note in outcome.notes) >= 1_000_000


def test_an_outcome_says_how_long_it_took() -> None:
    async def main() -> Outcome:
        async def nap() -> None:
            await asyncio.sleep(0.02)

        return await run(tool(nap))

    assert asyncio.run(main()).seconds >= 0.01
