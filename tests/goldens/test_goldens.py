"""The outcomes of all golden corpora are those recorded.

`python -m tests.goldens.record CORPUS --diff` prints all differences; without `--diff` it accepts them.
Of corpora whose rows take long to compute, only some rows are compared here.
"""

import json
import lzma
from pathlib import Path

import pytest

from tests.goldens import keeping, programs
from tests.goldens.corpus import CORPORA
from tests.goldens.record import summary


@pytest.mark.parametrize("corpus", CORPORA)
def test_the_outcomes_of_a_corpus_are_those_recorded(corpus: str) -> None:
    lines = summary(corpus, every=programs.EVERY.get(corpus, 1))
    assert not lines, "\n".join(lines[:50])


@pytest.mark.parametrize("kind", keeping.STORES)
def test_a_store_that_was_written_before_shows_the_same(kind: str, tmp_path: Path) -> None:
    expected = json.loads(lzma.decompress((keeping.WRITTEN / "expected.json.xz").read_bytes()))
    with keeping.stored(kind, tmp_path) as store:
        found = json.loads(json.dumps(keeping.look(store, {})))
    assert found.keys() == expected.keys()
    for place, one in expected.items():
        assert found[place] == one, place


@pytest.mark.parametrize("kind", keeping.STORES)
def test_a_store_that_was_written_before_can_be_written_to(kind: str, tmp_path: Path) -> None:
    with keeping.stored(kind, tmp_path) as store:
        assert keeping.continued(store, "ana", "c0", "And on it goes.")[-1][2] == "And on it goes."
