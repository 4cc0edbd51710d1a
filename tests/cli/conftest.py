"""Each command runs in a folder of its own, and no store is named."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("QUIRE_STORE", raising=False)
