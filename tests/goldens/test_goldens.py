"""The outcomes of all golden corpora are those recorded.

`python -m tests.goldens.record CORPUS --diff` prints all differences; without `--diff` it accepts them.
"""

import pytest

from tests.goldens.corpus import CORPORA
from tests.goldens.record import summary


@pytest.mark.parametrize("corpus", CORPORA)
def test_the_outcomes_of_a_corpus_are_those_recorded(corpus: str) -> None:
    lines = summary(corpus)
    assert not lines, "\n".join(lines[:50])
