"""Who listens to programs has no part in them: what fails in a listener is logged, and all goes on."""

import logging
from pathlib import Path

import pytest

from quire.programs import Event
from tests.programs.coding import ADDING, coder_of, run, said, solving


def closed(event: Event) -> None:
    raise RuntimeError("the window was closed")


def test_a_listener_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    printing = f"print('so far')\n{ADDING}"

    async def work() -> None:
        coder = coder_of("output = anser", printing, ADDING, kept=tmp_path)
        answer = await coder.answer(solving(), problem="?", tell=closed)
        assert answer.value == {"result": "4"} and [len(one.faults) for one in answer.attempts] == [1]
        ran = await coder.run(solving(), printing, problem="?", tell=closed)
        kept = await coder.keep(solving(), tell=closed)
        again = await coder.keep(solving(), tell=closed)
        assert ran.value == await kept.run(problem="?", tell=closed) == await again(problem="?")
        assert [kind for kind, _ in said(coder.session)] == ["user", "call", "result", "assistant"] * 3

    with caplog.at_level(logging.WARNING, "quire.programs"):
        run(work)
    assert "RuntimeError" in caplog.text and "window" not in caplog.text
