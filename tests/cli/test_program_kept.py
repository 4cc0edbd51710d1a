"""`quire program --keep` with an input: the answer is JSON whatever its type."""

import json
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from tests.cli.test_program import A1_AGENT, quire, written


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_the_answer_of_a_kept_program_may_be_a_model(options: tuple[str, ...], tmp_path: Path) -> None:
    arguments = ("--keep", "--input", "lamps=3", "--candidates", "1", *options)
    done = quire(written(tmp_path, A1_AGENT), *arguments, cwd=tmp_path)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    told = json.loads(done.stdout)
    assert (told["value"] if options else told) == {"total": 15}
