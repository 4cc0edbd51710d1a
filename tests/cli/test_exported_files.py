"""Files that `quire export` writes: as closed to others as the store that they come from."""

import os
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from quire import Session
from tests.cli.conversing import ran


@pytest.mark.skipif(os.name == "nt", reason="modes are of POSIX")
@pytest.mark.parametrize("before", [None, 0o640])
def test_a_new_file_is_its_owners_alone(tmp_path: Path, before: int | None) -> None:
    store, out = tmp_path / "kept.db", tmp_path / "out.json"
    Session.open("ana/q3", store=store).user("hello")
    if before is not None:
        out.touch()
        out.chmod(before)
    ran("export", "ana/q3", "--store", str(store), "-o", str(out))
    assert "hello" in out.read_text() and out.stat().st_mode & 0o777 == (before or 0o600)
