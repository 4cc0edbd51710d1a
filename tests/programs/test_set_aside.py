"""Kept programs that are set aside by several at once: each file once, and never another's."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from quire.programs import Coder, Event, KeptProgram, NotKept, ProgramFault, SetAside, Task
from tests.programs.coding import coder_of, heard, run

LACKING = "output = bytes([65]).decode()"
WHOLE = "output = text"


def echoing() -> Task:
    return Task("echo", input={"text": str}, output=str)


async def failed(kept: KeptProgram, events: list[Event]) -> None:
    with pytest.raises(ProgramFault):
        await kept.run(text="a", tell=events.append)


async def kept_in(folder: Path, coder: Coder) -> tuple[KeptProgram, Path]:
    kept = await coder.keep(echoing())
    assert kept.path is not None and kept.path.parent == folder
    return kept, kept.path


def meanwhile(monkeypatch: pytest.MonkeyPatch, happens: Callable[[Path], None]) -> None:
    """Let something happen just before a file is given another name."""

    def rename(path: Path, other: Path) -> Path:
        happens(path)
        os.rename(path, other)
        return other

    monkeypatch.setattr(Path, "rename", rename)


def test_two_that_fail_at_once_leave_a_place_for_the_next(tmp_path: Path) -> None:
    async def work() -> None:
        events: list[Event] = []
        coder = coder_of(LACKING, WHOLE, kept=tmp_path)
        kept, path = await kept_in(tmp_path, coder)
        await asyncio.gather(*(failed(kept, events) for _ in range(3)))
        assert [type(event) for event in events if isinstance(event, SetAside | NotKept)] == [SetAside]
        assert (await coder.keep(echoing())).path == path
        assert sorted(tmp_path.iterdir()) == [path, path.with_suffix(".py.1")]

    run(work)


def test_a_file_that_another_moved_first_is_out_of_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        events: list[Event] = []
        coder = coder_of(LACKING, WHOLE, kept=tmp_path)
        kept, path = await kept_in(tmp_path, coder)
        meanwhile(monkeypatch, lambda moved: os.rename(moved, moved.with_suffix(".py.1")))
        await failed(kept, events)
        assert not {"SetAside", "NotKept"} & {*heard(events)}
        assert (await coder.keep(echoing())).path == path

    run(work)


def test_one_that_was_written_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        events: list[Event] = []
        _, path = await kept_in(tmp_path, coder_of(WHOLE, kept=tmp_path))
        text = path.read_text(encoding="utf-8")
        path.unlink()
        kept, _ = await kept_in(tmp_path, coder_of(LACKING, kept=tmp_path))

        def write(moved: Path) -> None:
            moved.write_text(text, encoding="utf-8")

        meanwhile(monkeypatch, write)
        await failed(kept, events)
        assert not {"SetAside", "NotKept"} & {*heard(events)}
        assert [one.read_text(encoding="utf-8") for one in tmp_path.iterdir()] == [text]
        assert (await coder_of(kept=tmp_path).keep(echoing())).path == path

    run(work)


def test_a_damaged_one_that_another_moved_first_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        _, path = await kept_in(tmp_path, coder_of(WHOLE, kept=tmp_path))
        path.write_text("of somebody else", encoding="utf-8")
        meanwhile(monkeypatch, lambda moved: os.rename(moved, moved.with_suffix(".py.1")))
        assert (await coder_of(WHOLE, kept=tmp_path).keep(echoing())).path == path

    run(work)
