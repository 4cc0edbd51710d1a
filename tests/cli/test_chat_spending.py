"""What `/budget` says was spent, whoever answers."""

from pathlib import Path

import pytest

from quire.models import Scripted
from tests.cli.talking import Place


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Place:
    return Place(tmp_path / "chat.db", monkeypatch, capsys)


def nothing(*_: object) -> None:
    """What an endpoint tells of what an answer took, where it tells nothing."""


@pytest.mark.parametrize("tells", [True, False])
def test_requests_are_counted_also_where_nobody_tells_what_they_took(
    place: Place, monkeypatch: pytest.MonkeyPatch, tells: bool
) -> None:
    if not tells:
        monkeypatch.setattr(Scripted, "_usage", nothing)
    out = place.talk("Hello", "And?", "/budget", replies=["Good day.", "Well."]).out
    assert "spent so far: 2 requests, " in out
    assert ("not told" in out) is not tells
    again = place.talk("/budget", "More.", "/budget", replies=["Yes."]).out
    assert "spent so far: 2 requests, " in again and "spent so far: 3 requests, " in again
