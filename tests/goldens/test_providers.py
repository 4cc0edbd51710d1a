"""The package `quire.providers` does what its golden corpora say.

Where a difference is meant: `python -m tests.goldens.record providers --diff` shows it by category, and the
same without `--diff` writes the corpus anew.
"""

import pytest

from tests.goldens.providers import CORPORA
from tests.goldens.record import summary


@pytest.mark.parametrize("corpus", CORPORA)
def test_the_outcomes_of_a_corpus_are_those_recorded(corpus: str) -> None:
    lines = summary([corpus], most=25)
    assert not lines, "\n".join(("the outcomes differ", *lines))
